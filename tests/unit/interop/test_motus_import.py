"""Motus logs become sessions of ours, with their tail, their text, and what nobody understands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.engine.context.tokens import Counter
from app.engine.memory.compaction_memory import CompactionMemory
from app.engine.memory.log_store import LocalConversationLogStore
from app.engine.records import Message
from tests.helpers.fake_server import say
from tests.helpers.memories import bot, calling, compacting, result, user
from tests.helpers.waiting import run
from tests.helpers.workspaces import EngineDesk, engine_on, without_memory

TIME = "2030-01-01T10:00:0{}.00{}+00:00"


def meta(**values: Any) -> dict[str, Any]:
    config = {
        "safety_ratio": 0.6, "token_threshold": 900, "compact_model_name": None,
        "max_tool_result_tokens": 50_000,
    }  # fmt: skip
    return {
        "type": "session_meta", "ts": TIME.format(0, 2), "session_id": "demo",
        "system_prompt": "Be brief.", "config": config, "parent_session_id": None, **values,
    }  # fmt: skip


def record(message: Message) -> dict[str, Any]:
    inner: dict[str, Any] = {"role": message.role}
    if message.content:
        inner["content"] = message.content
    if message.calls:
        inner["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in message.calls
        ]
    if message.call_id:
        inner |= {"tool_call_id": message.call_id, "name": message.name}
    return {"type": "message", "ts": TIME.format(0, 1), "message": inner}


def compaction(number: int, count: int, summary: str) -> dict[str, Any]:
    return {
        "type": "compaction", "ts": TIME.format(9, 0), "compaction_number": number,
        "messages_compacted": count, "summary": summary,
    }  # fmt: skip


def write(folder: Path, *rows: Any, name: str = "demo") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return path


def opened(desk: EngineDesk, session: str = "demo") -> CompactionMemory:
    folder = next(desk.folder.glob("agents/*/sessions"))
    return CompactionMemory.restore_from_log(
        session, log_store=LocalConversationLogStore(folder), counter=Counter()
    )


def shape(memory: CompactionMemory) -> list[tuple[Any, ...]]:
    return [
        (m.role, m.content, tuple(c.id for c in m.calls), m.call_id, m.origin)
        for m in memory.get_context()
    ]


@pytest.mark.case("MOT-109")
@pytest.mark.parametrize(
    "last",
    [[user("and now?")], [calling("k2", "k3"), result("k2", "a"), result("k3", "b")], [bot("ok")]],
    ids=["A", "B", "C"],
)
def test_the_context_is_that_of_the_live_session(tmp_path: Path, last: list[Message]) -> None:
    """The live session is played with our own memory; its log is written down in Motus's form."""

    async def main() -> None:
        rows: list[Any] = [meta()]
        stats: list[dict[str, Any]] = []
        live = compacting(on_compact=stats.append, system_prompt="Be brief.")

        async def say_all(*messages: Message) -> None:
            for message in messages:
                await live.add_message(message)
                rows.append(record(message))

        async def compact() -> None:
            await live.compact()
            told = stats[-1]
            counts = told["compaction_number"], told["messages_compacted"], told["summary"]
            rows.append(compaction(*counts))

        await say_all(user("list the ports"), calling("k1"), result("k1", "22,80"), *last)
        await compact()
        await say_all(bot("Going on."), user("more"), bot("Sure."), *last)
        await compact()
        await say_all(bot("The end."))
        write(tmp_path / "logs", *rows)
        async with engine_on(tmp_path / "ws", config=without_memory()) as desk:
            (done,) = await desk.engine.do.import_motus(tmp_path / "logs")
            assert (done.problem, done.flags, done.compactions) == ("", (), 2)
            assert shape(opened(desk)) == shape(live)
            assert opened(desk).summaries == live.summaries
            assert opened(desk).config.token_threshold == 900

    run(main())


def test_the_example_of_the_specification(tmp_path: Path) -> None:
    async def main() -> None:
        path = write(
            tmp_path,
            meta(),
            record(user("list the ports")),
            record(calling("k1", tool="scan")),
            record(result("k1", "22,80", "scan")),
            compaction(1, 1, "User wants ports of host a."),
        )
        async with engine_on(tmp_path / "ws", config=without_memory()) as desk:
            await desk.engine.do.import_motus(path)
            first, asked, answered = opened(desk).messages
            assert first.origin == "continuation"
            assert "User wants ports of host a." in first.content
            assert (asked.calls[0].name, answered.content) == ("scan", "22,80")

    run(main())


@pytest.mark.case("MOT-110")
def test_a_summary_of_more_than_there_is(tmp_path: Path) -> None:
    async def main() -> None:
        rows = (
            meta(), record(user("first text")), record(bot("second text")),
            compaction(1, 7, "What nobody logged."), record(user("third text")),
        )  # fmt: skip
        async with engine_on(tmp_path / "ws", config=without_memory()) as desk:
            (done,) = await desk.engine.do.import_motus(write(tmp_path, *rows))
            (flag,) = done.flags
            assert "7 messages" in flag
            first, last = opened(desk).messages
            assert "What nobody logged." in first.content
            assert last.content == "third text"
            items = await desk.engine.ask.transcript("demo")
            text = " ".join(item.text for item in items)
            assert all(part in text for part in ("first text", "second text", "third text"))
            assert flag in json.loads(desk.log("demo").splitlines()[0])["imported"]["flags"]

    run(main())


@pytest.mark.case("MOT-111")
def test_file_order_rules(tmp_path: Path) -> None:
    async def main() -> None:
        # As Motus writes it: the first line's time is later than that of the first message.
        early = {**record(user("one")), "ts": TIME.format(0, 1)}
        late = {**record(bot("two")), "ts": TIME.format(5, 0)}
        back = {**record(user("three")), "ts": TIME.format(3, 0)}
        path = write(tmp_path, meta(ts=TIME.format(0, 9)), early, late, back)
        async with engine_on(tmp_path / "ws", config=without_memory()) as desk:
            await desk.engine.do.import_motus(path)
            assert [m.content for m in opened(desk).messages] == ["one", "two", "three"]
            rows = [json.loads(line) for line in desk.log("demo").splitlines()]
            assert [r["timestamp"] for r in rows] == [
                TIME.format(0, 9), TIME.format(0, 1), TIME.format(5, 0), TIME.format(3, 0),
            ]  # fmt: skip

    run(main())


def test_what_is_not_understood_is_counted_and_kept(tmp_path: Path) -> None:
    async def main() -> None:
        odd = {**record(user("hi")), "message": {"role": "user", "content": "hi", "user_params": 7}}
        path = write(
            tmp_path,
            meta(),
            "",
            "not json at all",
            [1, 2],
            {"type": "message"},
            {"type": "hologram", "ts": TIME.format(1, 0), "beam": 3},
            {"type": "compaction", "summary": "no count"},
            odd,
        )
        before = path.read_bytes()
        async with engine_on(tmp_path / "ws", config=without_memory()) as desk:
            (done,) = await desk.engine.do.import_motus(path)
            assert (done.blank_lines, done.bad_lines, done.unknown) == (1, 4, {"hologram": 1})
            assert done.messages == 1
            assert [m.content for m in opened(desk).messages] == ["hi"]
            log = desk.log("demo")
            assert "not json at all" in log
            assert '"beam":3' in log
            assert '"user_params":7' in log
            assert not [f for f in await desk.engine.ask.doctor() if f.severity == "error"]
        assert path.read_bytes() == before
        assert sorted(p.name for p in tmp_path.iterdir()) == ["demo.jsonl", "ws"]

    run(main())


def test_long_results_are_cut_again_and_kept_whole(tmp_path: Path) -> None:
    async def main() -> None:
        text = "a long line of output " * 200
        config = {**meta()["config"], "max_tool_result_tokens": 30}
        rows = (meta(config=config), record(user("go")), record(calling("k1")))
        path = write(tmp_path, *rows, record(result("k1", text)))
        async with engine_on(tmp_path / "ws", config=without_memory()) as desk:
            await desk.engine.do.import_motus(path)
            assert len(opened(desk).messages[-1].content) < 300
            assert text in desk.log("demo")

    run(main())


def test_an_imported_session_goes_on_and_open_calls_are_closed(tmp_path: Path) -> None:
    async def main() -> None:
        path = write(tmp_path, meta(), record(user("go")), record(calling("k1")))
        async with engine_on(tmp_path / "ws", say("On we go."), config=without_memory()) as desk:
            await desk.engine.do.import_motus(path)
            done = await desk.engine.do.send("demo", "well?")
            assert done.reply == "On we go."
            system, *sent = desk.sent()
            assert "Be brief." in system["content"]
            assert [m["role"] for m in sent] == ["user", "assistant", "tool", "user"]
            assert "Interrupted" in sent[2]["content"]

    run(main())


def test_a_folder_twice_takes_over_only_what_is_new(tmp_path: Path) -> None:
    async def main() -> None:
        folder = tmp_path / "logs"
        write(folder, meta(session_id="b/..\\b"), record(user("two")), name="b")
        write(folder, meta(session_id="a"), record(user("one")), name="a")
        write(folder, {"type": "other tool"}, name="c")
        outside = write(tmp_path, meta(session_id="x"), record(user("outside")), name="x")
        (folder / "link.jsonl").symlink_to(outside)
        os.mkfifo(folder / "pipe.jsonl")
        async with engine_on(tmp_path / "ws", config=without_memory()) as desk:
            done = await desk.engine.do.import_motus(folder)
            assert [one.file for one in done] == ["a.jsonl", "b.jsonl", "c.jsonl"]
            assert [one.session_id for one in done[:2]] == ["a", "b_.._b"]
            assert "no conversation log of Motus" in done[2].problem
            first = desk.log("a")
            again = await desk.engine.do.import_motus(folder)
            assert all(one.problem for one in again)
            assert desk.log("a") == first
            assert {s.id for s in await desk.engine.ask.sessions()} == {"a", "b_.._b"}

    run(main())


def cli(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    known = {k: v for k, v in os.environ.items() if not k.startswith(("PALIMPSEST_", "OPENAI_"))}
    env = {**known, "PALIMPSEST_DATA": str(folder / "d"), "PALIMPSEST_CONFIG": str(folder / "c")}
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        capture_output=True, text=True, env=env, timeout=60,
    )  # fmt: skip


def test_import_from_the_command_line(tmp_path: Path) -> None:
    path = write(tmp_path, meta(), record(user("list the ports")), compaction(1, 1, "Ports."))
    ws = str(tmp_path / "ws")
    assert cli(tmp_path, "init", ws).returncode == 0
    done = cli(tmp_path, "import", "motus", str(path), ws, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["imported"] == 1
    assert (told["sessions"][0]["messages"], told["sessions"][0]["compactions"]) == (1, 1)
    again = cli(tmp_path, "import", "motus", str(path), ws)
    assert again.returncode == 1
    assert "already" in again.stderr
    missing = cli(tmp_path, "import", "motus", str(tmp_path / "nowhere"), ws)
    assert missing.returncode == 1
    assert "Traceback" not in missing.stderr
    assert cli(tmp_path, "import", "papyrus", str(path), ws).returncode == 2
