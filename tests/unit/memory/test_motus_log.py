"""`CompactionMemory` and its log: written, restored, forked, snapshotted; one truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.context.tokens import Counter
from app.engine.errors import PathRefused, StorageError
from app.engine.memory.compaction_memory import CompactionMemory
from app.engine.memory.log_store import InMemoryConversationLogStore, LocalConversationLogStore
from app.engine.session.snapshot import CompactionSessionState
from tests.helpers.memories import bot, calling, compacting, config, result, user
from tests.helpers.waiting import run


async def filled(memory: Any, *messages: Any) -> Any:
    for message in messages:
        await memory.add_message(message)
    return memory


def logged(folder: Path, **values: Any) -> CompactionMemory:
    return compacting(config=config(session_id="s-1", log_base_path=folder), **values)


def restored(folder: Path, session_id: str = "s-1", **values: Any) -> CompactionMemory:
    return CompactionMemory.restore_from_log(session_id, folder, counter=Counter(), **values)


def rows(folder: Path, session_id: str = "s-1") -> list[dict[str, Any]]:
    text = (folder / f"{session_id}.log.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.case("MOT-62")
def test_ids_and_stores(tmp_path: Path) -> None:
    one, two = compacting(), compacting()
    assert one.session_id
    assert one.session_id != two.session_id
    assert one.log_store is None
    memory = logged(tmp_path)
    assert memory.session_id == "s-1"
    assert isinstance(memory.log_store, LocalConversationLogStore)


@pytest.mark.case("MOT-42", "MOT-43", "MOT-44")
def test_the_log_begins_with_the_first_message(tmp_path: Path) -> None:
    memory = logged(tmp_path, system_prompt="Be brief.")
    assert list(tmp_path.iterdir()) == []
    run(filled(memory, user("Hello"), bot("Hi")))
    first, *messages = rows(tmp_path)
    assert (first["type"], first["sessionId"]) == ("session_open", "s-1")
    assert first["systemPrompt"] == "Be brief."
    assert first["config"]["safety_ratio"] == 0.75
    assert [(m["type"], m["role"], m["content"]) for m in messages] == [
        ("message", "USER", "Hello"),
        ("message", "ASSISTANT", "Hi"),
    ]
    assert all(m["timestamp"] for m in messages)


@pytest.mark.case("MOT-46")
def test_a_compaction_is_one_entry_with_its_summary_beside_it(tmp_path: Path) -> None:
    memory = run(filled(logged(tmp_path), user("Hello"), bot("Hi")))
    run(memory.compact())
    (entry,) = [r for r in rows(tmp_path) if r["type"] == "compaction"]
    (summary,) = [r for r in rows(tmp_path) if r["type"] == "summary"]
    assert entry["number"] == 1
    assert len(entry["covered"]) == 2
    assert entry["summaryEntryId"] == summary["id"]
    assert summary["summary"] == "2 messages"


@pytest.mark.case("MOT-63", "MOT-64", "MOT-65", "MOT-68")
def test_a_restored_memory_is_what_it_was(tmp_path: Path) -> None:
    values = config(
        session_id="s-1", log_base_path=tmp_path, safety_ratio=0.6, token_threshold=5_000
    )
    memory = compacting(config=values, system_prompt="Be brief.")
    run(filled(memory, user("a"), bot("b"), user("c")))
    memory.close()
    again = restored(tmp_path)
    assert [m.content for m in again.messages] == ["a", "b", "c"]
    assert again.construct_system_prompt() == "Be brief."
    assert (again.config.safety_ratio, again.config.token_threshold) == (0.6, 5_000)
    assert again.session_id == "s-1"


@pytest.mark.case("MOT-66", "MOT-67", "MOT-79", "MOT-80")
@pytest.mark.parametrize(
    "unit",
    [(user("and now?"),), (calling("c1"), result("c1", "found")), (bot("Done."),)],
    ids=["A", "B", "C"],
)
def test_a_restored_context_equals_the_live_one(tmp_path: Path, unit: Any) -> None:
    async def main() -> None:
        memory = await filled(logged(tmp_path), user("Hello"), bot("Hi"), *unit)
        await memory.compact()
        await filled(memory, bot("one more"))
        for expected in (1, 2):
            again = restored(tmp_path)
            assert again.get_context() == memory.get_context()
            assert again.compaction_count == len(again.summaries) == expected
            text = again.messages[0].content + "".join(m.content for m in again.messages[1:])
            if expected == 1 and unit[0].role == "user":
                assert "<pending_request>\nand now?" in again.messages[0].content
            if expected == 1 and unit[0].calls:
                assert [m.role for m in again.messages] == [
                    "user",
                    "assistant",
                    "tool",
                    "assistant",
                ]
            assert "one more" in text or expected == 2
            await memory.compact()
        memory.close()

    run(main())


@pytest.mark.case("MOT-69", "MOT-98")
def test_a_restored_memory_goes_on_in_the_same_log(tmp_path: Path) -> None:
    values = config(session_id="s-1", log_base_path=tmp_path, token_threshold=1_000_000)
    memory = run(filled(compacting(config=values), user("a"), bot("b"), user("c")))
    memory.close()
    before = (tmp_path / "s-1.log.jsonl").read_bytes()
    # Restored with a threshold far below what is there: loading is not adding.
    again = restored(tmp_path, config=config(token_threshold=1), compact_fn=lambda *_: "S")
    assert (tmp_path / "s-1.log.jsonl").read_bytes() == before
    assert again.compaction_count == 0
    again = restored(tmp_path)
    run(filled(again, bot("d")))
    assert [m.content for m in again.messages] == ["a", "b", "c", "d"]
    assert rows(tmp_path)[-1]["content"] == "d"
    again.close()


@pytest.mark.case("MOT-70")
def test_an_unknown_session(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nobody"):
        restored(tmp_path, "nobody")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.case("MOT-71", "MOT-88")
def test_explicit_values_override_the_stored_ones(tmp_path: Path) -> None:
    memory = run(filled(logged(tmp_path, system_prompt="Stored."), user("a")))
    memory.close()
    again = restored(tmp_path, system_prompt="Given.", config=config(safety_ratio=0.5))
    assert again.construct_system_prompt() == "Given."
    assert again.config.safety_ratio == 0.5
    assert restored(tmp_path).construct_system_prompt() == "Stored."
    assert restored(tmp_path, system_prompt="").construct_system_prompt() == ""


@pytest.mark.case("MOT-59", "MOT-87")
def test_a_fork_goes_its_own_way(tmp_path: Path) -> None:
    async def main() -> None:
        memory = await filled(logged(tmp_path), user("a"), bot("b"))
        await memory.compact()
        await filled(memory, user("c"), bot("d"), user("e"))
        fork = memory.fork()
        assert fork.session_id != memory.session_id
        assert fork.log_store is memory.log_store
        assert (fork.summaries, fork.compaction_count) == ((), 0)
        assert len(memory.summaries) == 1
        await filled(fork, bot("f"), user("g"))
        fork.close()
        memory.close()
        again = restored(tmp_path, fork.session_id)
        assert len(again.messages) == 6
        assert again.get_context() == fork.get_context()
        assert [m.content for m in again.messages[1:]] == ["c", "d", "e", "f", "g"]
        assert len(restored(tmp_path).messages) == 4

    run(main())


@pytest.mark.case("MOT-60")
def test_a_fork_without_a_log() -> None:
    memory = run(filled(compacting(), user("a")))
    fork = memory.fork()
    assert fork.session_id != memory.session_id
    assert fork.log_store is None
    assert [m.content for m in fork.messages] == ["a"]


@pytest.mark.case("MOT-61", "MOT-86")
def test_reset_keeps_the_file_and_what_was_cleared_stays_away(tmp_path: Path) -> None:
    async def main() -> None:
        memory = await filled(logged(tmp_path), user("secret plan"), bot("b"))
        await memory.compact()
        await filled(memory, user("more"))
        size = (tmp_path / "s-1.log.jsonl").stat().st_size
        memory.reset()
        assert memory.summaries == ()
        assert (tmp_path / "s-1.log.jsonl").stat().st_size > size
        memory.close()
        again = restored(tmp_path)
        assert (again.messages, again.summaries) == ([], ())
        await filled(again, user("secret plan"))  # said again, it is there again
        assert [m.content for m in again.messages] == ["secret plan"]
        again.close()

    run(main())


@pytest.mark.case("MOT-77", "MOT-85")
def test_bad_lines_and_a_torn_tail(tmp_path: Path) -> None:
    memory = run(filled(logged(tmp_path), user("a")))
    memory.close()
    path = tmp_path / "s-1.log.jsonl"
    with path.open("ab") as file:
        file.write(b'not json\n[1, 2]\n{"type":"message","id":"x"}\n{"type":"mess')
    again = restored(tmp_path)
    assert [m.content for m in again.messages] == ["a"]
    assert again.session.counters.bad >= 3
    run(filled(again, bot("whole")))
    again.close()
    assert [m.content for m in restored(tmp_path).messages] == ["a", "whole"]
    text = path.read_text(encoding="utf-8")
    assert '"type":"recovery"' in text
    assert [p.read_text() for p in tmp_path.glob("*.torn-*")] == ['{"type":"mess']


@pytest.mark.case("MOT-78")
def test_a_snapshot_to_a_dict_and_back() -> None:
    async def main() -> None:
        memory = compacting(config=config(safety_ratio=0.6), system_prompt="Be brief.")
        await filled(memory, user("a"), bot("b"))
        await memory.compact()
        await filled(memory, user("c"), calling("c1", "c2"), result("c1"))
        state = memory.get_session_state()
        data = json.loads(json.dumps(state.to_dict()))
        again = CompactionMemory.from_session_state(
            CompactionSessionState.read(data), counter=Counter()
        )
        assert again.get_context() == memory.get_context()
        assert again.config.safety_ratio == 0.6
        assert again.compaction_count == 1
        assert again.summaries == memory.summaries
        assert again.open_calls == memory.open_calls == ("c2",)
        with pytest.raises(ValueError, match="unheard-of"):
            CompactionSessionState.from_dict({**data, "type": "unheard-of"})

    run(main())


@pytest.mark.case("MOT-82")
def test_a_cut_result_is_restored_cut_and_logged_whole(tmp_path: Path) -> None:
    values = config(session_id="s-1", log_base_path=tmp_path, max_tool_result_tokens=20)
    text = "many words in one result " * 50
    memory = run(filled(compacting(config=values), user("Go"), calling("c1"), result("c1", text)))
    memory.close()
    assert len(memory.messages[-1].content) < len(text)
    assert restored(tmp_path).messages == memory.messages
    (entry,) = [r for r in rows(tmp_path) if r["type"] == "tool_result"]
    assert entry["output"] == text


@pytest.mark.case("MOT-83")
def test_open_calls_are_restored(tmp_path: Path) -> None:
    memory = run(filled(logged(tmp_path), user("Go"), calling("c1", "c2")))
    memory.close()
    again = restored(tmp_path)
    run(filled(again, result("c2")))
    assert not again.at_boundary()
    run(filled(again, result("c1")))
    assert again.at_boundary()
    again.close()


@pytest.mark.case("MOT-94")
def test_an_id_that_leaves_the_folder(tmp_path: Path) -> None:
    inner = tmp_path / "logs"
    inner.mkdir()
    with pytest.raises(PathRefused):
        compacting(config=config(session_id="../x", log_base_path=inner))
    with pytest.raises(PathRefused):
        restored(inner, "../x")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["logs"]


def test_a_session_that_exists_is_not_begun_anew(tmp_path: Path) -> None:
    memory = run(filled(logged(tmp_path), user("a")))
    memory.close()
    with pytest.raises(StorageError, match="already"):
        logged(tmp_path)


def test_a_store_in_memory_serves_alike() -> None:
    store = InMemoryConversationLogStore()
    memory = compacting(config=config(session_id="s-1"), log_store=store)
    run(filled(memory, user("a"), bot("b")))
    again = CompactionMemory.restore_from_log("s-1", log_store=store, counter=Counter())
    assert again.messages == memory.messages
    assert store.sessions() == ["s-1"]


@pytest.mark.case("MOT-108")
def test_one_log_for_all_strategies(tmp_path: Path) -> None:
    from app.engine.memory.base import BasicMemory
    from app.engine.memory.compaction_memory import BackgroundMemory
    from app.engine.session.session import Session

    async def main() -> None:
        store = LocalConversationLogStore(tmp_path)
        first = BasicMemory(session=Session.create("s-1", store.log("s-1")), counter=Counter())
        await filled(first, user("basic"))
        first.session.close()
        second = restored(tmp_path, compact_fn=lambda *_: "S")
        await filled(second, bot("compact"))
        await second.compact()
        second.close()
        third = BackgroundMemory(session=Session.load("s-1", store.log("s-1")), counter=Counter())
        await filled(third, user("background"))
        third.session.close()
        assert third.messages[0].origin == "continuation"
        assert third.messages[-1].content == "background"
        assert restored(tmp_path).messages == third.messages
        assert store.sessions() == ["s-1"]

    run(main())


# ---------------------------------------------------------------------------- any series

steps = st.lists(
    st.sampled_from(["user", "bot", "call", "results", "compact", "reset", "prompt", "long"]),
    max_size=14,
)


@pytest.mark.case("MOT-81")
@settings(max_examples=25, deadline=None)
@given(steps)
def test_any_series_restores_to_the_live_context(series: list[str]) -> None:
    async def main() -> None:
        store = InMemoryConversationLogStore()
        values = config(session_id="s-1", max_tool_result_tokens=12)
        memory = compacting(config=values, log_store=store)
        for n, step in enumerate(series):
            match step:
                case "user" | "long":
                    await memory.add_message(user(f"{step} {n} " * (30 if step == "long" else 1)))
                case "bot":
                    await memory.add_message(bot(f"answer {n}"))
                case "call":
                    await memory.add_message(calling(f"c{n}", f"d{n}"))
                case "results":
                    for call in memory.open_calls:
                        await memory.add_message(result(call, f"output {n} " * 20))
                case "compact":
                    await memory.compact()
                case "reset":
                    memory.reset()
                case _:
                    memory.set_system_prompt(f"prompt {n}")
            again = (
                CompactionMemory.restore_from_log("s-1", log_store=store, counter=Counter())
                if store.exists("s-1")
                else None
            )
            if again is not None:
                assert again.messages == memory.messages
                assert again.open_calls == memory.open_calls
        if memory.messages:
            fork = memory.fork("s-2")
            assert fork.messages == memory.messages
            again = CompactionMemory.restore_from_log("s-2", log_store=store, counter=Counter())
            assert again.messages == memory.messages

    run(main())
