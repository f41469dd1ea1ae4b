"""Results that were put aside, read back by the model; and writes that go through another name."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from app.engine.agent.tools import tool
from app.engine.config import CompactionConfig, EngineConfig, MemoryConfig
from app.engine.records import Query
from tests.helpers.fake_server import Reply, Seen, call, say, use
from tests.helpers.workspaces import EngineDesk, engine_on, without_memory

LONG = json.dumps({"rows": ["你好, 世界 😀 and a line of a table"] * 9_000}, ensure_ascii=False)


def run(main: Any) -> None:
    asyncio.run(asyncio.wait_for(main, 60))


def roomy() -> EngineConfig:
    return without_memory(
        EngineConfig(compaction=CompactionConfig(trigger_messages=0, trigger_tokens=0))
    )


def giving(output: str) -> Any:
    async def work(_arguments: dict[str, Any]) -> str:
        return output

    return tool("execute", "Run a command.", work)


def evicted_path(desk: EngineDesk) -> str:
    rows = [json.loads(line) for line in desk.log().splitlines()]
    return next(row["file"] for row in rows if row["type"] == "eviction")


class Reader:
    """A model that puts a long result aside and then pages through it, as it is told to go on."""

    def __init__(self, first: dict[str, Any]) -> None:
        self.first = first
        self.placeholder = ""
        self.pages: list[str] = []

    def __call__(self, seen: Seen) -> Reply:
        last = seen.body["messages"][-1]
        if last["role"] == "user":
            return use(call("execute", {}, id="c0"))
        content = last["content"]
        if not self.placeholder:
            self.placeholder = content
            path = re.search(r'path "([^"]+)"', content)
            assert path is not None
            self.first["path"] = path.group(1)
            if not self.first.keys() - {"path"}:  # nothing chosen: what the placeholder advises
                for name in ("charOffset", "charLimit"):
                    self.first[name] = advised(content, name)
            return use(call("read_file", self.first, id="c1"))
        page, _, hint = content.partition("\n\n[Characters ")
        self.pages.append(page)
        onward = re.search(r"charOffset=(\d+)", hint)
        if onward is None:
            return say("All read.")
        more = {"path": self.first["path"], "charOffset": int(onward.group(1))}
        return use(call("read_file", more, id=f"c{len(self.pages) + 1}"))


def advised(placeholder: str, name: str) -> int:
    found = re.search(rf"{name} (\d+)", placeholder)
    assert found is not None
    return int(found.group(1))


@pytest.mark.case("B71")
@pytest.mark.parametrize("by", ["lines", "advice"])
def test_an_evicted_line_is_read_back_in_pages(tmp_path: Path, by: str) -> None:
    async def main() -> None:
        # The placeholder shows the first 2,000 characters and says to go on from there.
        model = Reader({"offset": 1, "limit": 1} if by == "lines" else {})
        async with engine_on(
            tmp_path, model, config=roomy(), tools=[giving(LONG)], window=400_000
        ) as desk:
            done = await desk.send("Read it all")
            assert done.reply == "All read.", done.error
            assert len(LONG.encode()) > 400_000
            assert "\n" not in LONG
            assert advised(model.placeholder, "charOffset") == 2_000
            start = "" if by == "lines" else LONG[:2_000]
            assert start + "".join(model.pages) == LONG
            assert start in model.placeholder
            limit = EngineConfig().eviction.max_result_chars
            sent = [m["content"] for m in desk.sent() if m["role"] == "tool"]
            assert max(map(len, sent)) <= limit
            assert desk.log().count('"type":"eviction"') == 1

    run(main())


@pytest.mark.case("B72")
def test_the_tool_the_placeholder_names_is_there_and_a_missing_file_is_told(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        home, elsewhere, changed = (tmp_path / name for name in ("home", "elsewhere", "changed"))
        model = Reader({"charOffset": 0, "charLimit": 100})
        async with engine_on(home, model, config=roomy(), tools=[giving(LONG)]) as desk:
            await desk.send("Go")
            offered = [t["function"]["name"] for t in desk.server.requests[1].body["tools"]]
            assert "read_file" in offered
            assert model.pages[0] == LONG[:100]
            session, path = desk.session, evicted_path(desk)

        async def read_again(folder: Path) -> str:
            shutil.copytree(home / "agents", folder / "agents")
            again = use(call("read_file", {"path": path, "charLimit": 50}, id="d1"))
            async with engine_on(folder, again, say("Hm."), config=roomy()) as desk:
                await desk.engine.do.send(session, "Once more")
                return str(desk.sent()[-1]["content"])

        # On another machine: the log came along, the file did not. What the log holds is enough.
        assert (await read_again(elsewhere)).startswith(LONG[:50])
        assert (elsewhere / path).read_text(encoding="utf-8") == LONG
        # A log that no longer holds that text: an honest answer, nothing invented.
        for log in home.glob("agents/*/sessions/*.log.jsonl"):
            log.write_text(log.read_text(encoding="utf-8").replace("table", "fable"), "utf-8")
        told = await read_again(changed)
        assert "table" not in told
        assert "fable" not in told
        assert "no" in told.lower()
        assert not (changed / path).exists()

    run(main())


def linked(folder: Path, name: str, target: str) -> None:
    (folder / name).symlink_to(target)


def test_a_write_tool_through_an_alias_of_memory(tmp_path: Path) -> None:
    async def main() -> None:
        memory = "# Memory\n\n- The boat is called Selkie\n"
        (tmp_path / "MEMORY.md").write_text(memory, encoding="utf-8")
        linked(tmp_path, "notes.md", "MEMORY.md")
        scripts = (
            use(
                call("edit_file", {"path": "notes.md", "old": "Selkie", "new": "Kelpie"}, id="w1"),
                call("write_file", {"path": "notes.md", "content": "gone"}, id="w2", index=1),
            ),
            say("I could not."),
        )
        async with engine_on(tmp_path, *scripts, config=roomy()) as desk:
            turn = asyncio.create_task(desk.send("Change it"))
            for call_id in ("w1", "w2"):
                while call_id not in desk.said("approval"):
                    assert not turn.done()
                    await asyncio.sleep(0.01)
                await desk.engine.do.answer_approval(desk.session, call_id, True)
            await turn
            results = [m["content"] for m in desk.sent() if m["role"] == "tool"]
            assert len(results) == 2
            assert all("writer of its own" in text for text in results)
        assert (tmp_path / "MEMORY.md").read_text(encoding="utf-8") == memory
        assert (tmp_path / "notes.md").is_symlink()

    run(main())


FACT = "Ines prefers answers in Portuguese"


def remembering(seen: Seen) -> Reply:
    system = str(seen.body["messages"][0]["content"])
    if "NO_REPLY" in system:
        return say(f"- {FACT}")
    if "sole owner" in system:
        return say(f"# Memory\n\n- {FACT}")
    return say("Claro.")


@pytest.mark.parametrize("inside", [True, False])
def test_a_consolidation_into_a_linked_memory(tmp_path: Path, inside: bool) -> None:
    """The rule: a link to a file of the workspace is kept and written through; others refused."""

    async def main() -> None:
        folder, outside = tmp_path / "ws", tmp_path / "outside.md"
        (folder / "knowledge").mkdir(parents=True)
        target = folder / "knowledge" / "memory.md" if inside else outside
        target.write_text("# Memory\n", encoding="utf-8")
        linked(folder, "MEMORY.md", "knowledge/memory.md" if inside else str(outside))
        config = EngineConfig(memory=MemoryConfig(policy="auto"))
        async with engine_on(folder, remembering, config=config) as desk:
            await desk.send(f"{FACT}.")
            await desk.engine.drain()
        assert (folder / "MEMORY.md").is_symlink()
        assert (FACT in target.read_text(encoding="utf-8")) is inside

    run(main())


ODD = "one\u2028two\u2029three\u0085four\vfive\fsix\x1cseven\x1deight\x1enine"


def test_a_text_with_other_line_separators_is_one_record(tmp_path: Path) -> None:
    async def main() -> None:
        before = f"# Memory\n\n- odd {ODD}\n- The boat is called Selkie\n"
        (tmp_path / "MEMORY.md").write_bytes(before.encode())
        config = EngineConfig(memory=MemoryConfig(policy="review"))

        def model(seen: Seen) -> Reply:
            system = str(seen.body["messages"][0]["content"])
            if "NO_REPLY" in system:
                return say("- The boat is called Kelpie now")
            if "sole owner" in system:
                return say(before.replace("called Selkie", "called Kelpie now"))
            return say("Ok.")

        async with engine_on(tmp_path, model, config=config) as desk:
            await desk.engine.index_ready()
            await desk.send(f"The boat is called Kelpie now. {ODD}")
            await desk.engine.drain()
            raw = desk.log().split("\n")
            rows = [json.loads(line) for line in raw if line]
            (said,) = [r for r in rows if r["type"] == "message" and r["role"] == "USER"]
            assert said["content"].endswith(ODD)
            items = await desk.engine.ask.transcript(desk.session)
            assert [i.text for i in items if i.kind == "user"] == [said["content"]]
            assert not [i for i in items if i.kind == "gap"]
            # MEMORY.md: search, the diff of the review, and provenance mean the same line.
            found = await desk.engine.ask.search(Query("Selkie", layers=frozenset({"memory"})))
            assert [hit.line for hit in found.hits] == [4]
            (waiting,) = await desk.engine.ask.proposals(waiting=True)
            proposal = await desk.engine.ask.proposal(waiting.id)
            (change,) = proposal.changes
            assert change.base_line == change.result_line == 4
            assert (await desk.engine.ask.why(4)).text == "- The boat is called Selkie"

    run(main())
