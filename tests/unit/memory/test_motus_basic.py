"""The Motus-shaped face: what every memory does, and the one that only appends."""

from __future__ import annotations

import inspect
import socket
import threading
from collections import Counter as Tally
from pathlib import Path
from typing import Any

import pytest

from app.engine.context.tokens import Counter, Heuristic
from app.engine.memory.base import BaseMemory, BasicMemory
from app.engine.memory.compaction_memory import BackgroundMemory, CompactionMemory
from app.engine.memory.motus_settings import CompactionMemoryConfig
from app.engine.records import Message
from app.engine.session.log import MemoryLog
from tests.helpers.memories import bot, calling, compacting, config, result, said, user
from tests.helpers.waiting import run


def basic(**values: Any) -> BasicMemory:
    return BasicMemory(counter=Counter(), **values)


async def filled(memory: BaseMemory, *messages: Any) -> Any:
    for message in messages:
        await memory.add_message(message)
    return memory


@pytest.mark.case("MOT-1")
def test_the_base_class_cannot_be_made() -> None:
    with pytest.raises(TypeError):
        BaseMemory()  # type: ignore[abstract]


@pytest.mark.case("MOT-2")
def test_all_memories_are_base_memories() -> None:
    assert isinstance(basic(), BaseMemory)
    assert isinstance(compacting(), BaseMemory)
    assert isinstance(BackgroundMemory(counter=Counter()), BaseMemory)


@pytest.mark.case("MOT-3")
def test_a_basic_memory_has_no_model() -> None:
    assert not hasattr(basic(), "set_model")
    assert hasattr(compacting(), "set_model")


def test_only_adding_and_compacting_are_async() -> None:
    for made in (BasicMemory, CompactionMemory):
        assert inspect.iscoroutinefunction(made.add_message)
        assert inspect.iscoroutinefunction(made.compact)
        for plain in ("get_context", "get_memory_trace", "reset", "get_session_state"):
            assert not inspect.iscoroutinefunction(getattr(made, plain))


@pytest.mark.case("MOT-4")
def test_one_message(tmp_path: Path) -> None:
    memory = run(filled(basic(), user("Hello")))
    assert said(memory) == [("user", "Hello")]


def test_messages_may_come_in_the_chat_form() -> None:
    call = {"id": "k1", "type": "function", "function": {"name": "scan", "arguments": '{"h":1}'}}
    memory = run(
        filled(
            basic(),
            {"role": "user", "content": [{"type": "text", "text": "list the ports"}]},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "k1", "content": "22,80"},
        )
    )
    assert said(memory) == [("user", "list the ports"), ("assistant", ""), ("tool", "22,80")]
    assert memory.messages[1].calls[0].arguments == '{"h":1}'
    assert memory.messages[2].name == "scan"
    with pytest.raises(ValueError, match="role"):
        run(memory.add_message({"role": "narrator", "content": "x"}))


@pytest.mark.case("MOT-5")
def test_the_context_begins_with_one_system_message() -> None:
    memory = run(filled(basic(system_prompt="Be brief."), user("Hello")))
    assert [(m.role, m.content) for m in memory.get_context()] == [
        ("system", "Be brief."),
        ("user", "Hello"),
    ]
    assert [(m.role, m.content) for m in basic().get_context()] == [("system", "")]


@pytest.mark.case("MOT-6")
def test_cleared_messages() -> None:
    memory = run(filled(basic(), user("Hello"), bot("Hi")))
    memory.clear_messages()
    assert memory.messages == []


@pytest.mark.case("MOT-7")
def test_a_changed_prompt() -> None:
    memory = basic(system_prompt="Old.")
    memory.set_system_prompt("New.")
    assert memory.construct_system_prompt() == "New."
    assert memory.get_context()[0].content == "New."


@pytest.mark.case("MOT-8")
def test_messages_are_a_copy() -> None:
    memory = run(filled(basic(), user("Hello")))
    memory.messages.append(user("smuggled"))
    assert said(memory) == [("user", "Hello")]


# ---------------------------------------------------------------------------- trace


@pytest.mark.case("MOT-34")
def test_the_trace_of_one_message() -> None:
    trace = run(filled(basic(), user("Hello"))).get_memory_trace()
    assert trace["total_events"] == 1
    assert trace["events"][0]["role"] == "user"
    assert trace["total_compactions"] == 0


@pytest.mark.case("MOT-35")
def test_the_trace_counts_compactions() -> None:
    memory = run(filled(compacting(), user("Hello"), bot("Hi")))
    run(memory.compact())
    assert memory.get_memory_trace()["total_compactions"] == 1


@pytest.mark.case("MOT-36", "MOT-37")
def test_the_trace_names_tools() -> None:
    memory = run(
        filled(basic(), user("Go"), calling("c1", tool="scan"), result("c1", "22", "scan"))
    )
    asked, answered = memory.get_memory_trace()["events"][1:]
    assert asked["tool_calls"] == ["scan"]
    assert answered["tool_name"] == "scan"


@pytest.mark.case("MOT-38")
def test_reset_empties_the_trace() -> None:
    for memory in (basic(), compacting()):
        run(filled(memory, user("Hello"), bot("Hi")))
        memory.reset()
        trace = memory.get_memory_trace()
        assert (trace["total_events"], trace["events"]) == (0, [])


@pytest.mark.case("MOT-39", "MOT-40")
def test_reset_counts_what_left() -> None:
    for memory in (basic(), compacting()):
        run(filled(memory, user("Hello"), bot("Hi")))
        assert memory.reset() == {"messages": 2}
        assert memory.messages == []
    memory = run(filled(compacting(), user("Hello"), bot("Hi")))
    run(memory.compact())
    memory.reset()
    assert (memory.compaction_count, memory.summaries, memory.messages) == (0, (), [])


@pytest.mark.case("MOT-45")
def test_long_texts_are_whole_in_trace_and_log(tmp_path: Path) -> None:
    text = "0123456789" * 50
    memory = compacting(config=config(session_id="s-1", log_base_path=tmp_path))
    run(filled(memory, user(text)))
    assert memory.get_memory_trace()["events"][0]["content"] == text
    assert text in (tmp_path / "s-1.log.jsonl").read_text(encoding="utf-8")


# ---------------------------------------------------------------------------- figures


@pytest.mark.case("MOT-41")
def test_estimates_grow() -> None:
    async def main() -> None:
        memory = basic()
        seen = []
        for n in range(4):
            await memory.add_message(user(f"message number {n}"))
            seen.append(memory.estimate_tokens())
        assert seen[0] > 0
        assert seen == sorted(set(seen))

    run(main())


class Counting(Heuristic):
    """Remembers how often each text was counted."""

    def __init__(self) -> None:
        self.seen: Tally[str] = Tally()

    def text(self, text: str) -> int:
        self.seen[text] += 1
        return super().text(text)


@pytest.mark.case("MOT-100")
def test_counting_is_offline_and_once_per_message(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        def refused(*_args: Any, **_more: Any) -> None:
            raise AssertionError("the network was asked")

        monkeypatch.setattr(socket.socket, "connect", refused)
        monkeypatch.setattr(socket, "getaddrinfo", refused)
        counting = Counting()
        memory = CompactionMemory(
            CompactionMemoryConfig(token_threshold=10_000_000), counter=Counter(counting)
        )
        for n in range(1_000):
            await memory.add_message(user(f"message number {n}"))
            assert memory.estimate_tokens() > 0
        assert {counting.seen[f"message number {n}"] for n in range(1_000)} == {1}

    run(main())


@pytest.mark.case("MOT-96")
def test_images_and_reasoning_are_counted() -> None:
    async def estimate(message: Message) -> int:
        memory = await filled(basic(), message)
        return memory.estimate_tokens()

    bare = Message(id="m", role="assistant", content="Look")
    thought = Message(id="m", role="assistant", content="Look", reasoning="Because of the light.")
    shown = Message(id="m", role="assistant", content="Look", images=("data:image/png;base64,AA",))
    assert run(estimate(thought)) > run(estimate(bare))
    assert run(estimate(shown)) >= run(estimate(bare)) + 1_000


# ---------------------------------------------------------------------------- long results


@pytest.mark.case("MOT-75")
def test_long_results_are_cut_in_the_context() -> None:
    counter = Counter()
    text = "one two three four five six seven eight nine ten " * 20

    async def cut(**values: Any) -> str:
        memory = basic(**values)
        await filled(memory, user("Go"), calling("c1"), result("c1", text))
        assert memory.get_memory_trace()["events"][-1]["content"] == text
        return memory.messages[-1].content

    short = run(cut(max_tool_result_tokens=40, tool_result_truncation_suffix=" [cut]"))
    assert short.endswith(" [cut]")
    assert text.startswith(short.removesuffix(" [cut]"))
    assert 30 < counter.text(short) <= 40
    head = run(cut(max_tool_result_tokens=5, tool_result_truncation_suffix="a long note " * 9))
    assert head
    assert text.startswith(head)
    assert counter.text(head) <= 5
    assert run(cut(max_tool_result_tokens=0)) == text


@pytest.mark.case("MOT-76")
def test_a_cut_result_keeps_the_rest_of_it() -> None:
    memory = basic(max_tool_result_tokens=10)
    image = "data:image/png;base64,AA"
    full = Message(
        id="", role="tool", content="word " * 500, call_id="c1", name="look", images=(image,)
    )
    run(filled(memory, user("Go"), calling("c1"), full))
    kept = memory.messages[-1]
    assert len(kept.content) < 500
    assert (kept.images, kept.name, kept.call_id) == ((image,), "look", "c1")


@pytest.mark.case("MOT-102")
def test_file_work_is_not_done_on_the_loops_thread() -> None:
    threads: set[int] = set()

    class Watched(MemoryLog):
        def append(self, entries: Any) -> Any:
            threads.add(threading.get_ident())
            return super().append(entries)

    class Store:
        def exists(self, session_id: str) -> bool:
            return False

        def log(self, session_id: str) -> Watched:
            return Watched()

        def sessions(self) -> list[str]:
            return []

    async def main() -> None:
        memory = compacting(log_store=Store())
        await filled(memory, user("Hello"), bot("Hi"))
        await memory.compact()
        assert threads
        assert threading.get_ident() not in threads

    run(main())


# ---------------------------------------------------------------------------- one's own strategy


class Newest(BaseMemory):
    """As the seed's documentation shows it: the list itself is worked on."""

    async def compact(self, **kwargs: Any) -> str | None:
        self._messages = self._messages[-2:]
        return "kept two"

    def reset(self) -> dict[str, int]:
        count = len(self._messages)
        self._messages.clear()
        return {"messages": count}


def test_a_subclass_works_on_its_messages_and_the_log_knows() -> None:
    async def main() -> None:
        memory = Newest(counter=Counter())
        await filled(memory, user("a"), bot("b"), user("c"))
        await memory.compact()
        assert said(memory) == [("assistant", "b"), ("user", "c")]
        del memory._messages[0]
        memory._messages[0] = user("C")
        memory._messages.append(bot("d"))
        assert said(memory) == [("user", "C"), ("assistant", "d")]
        kinds = [type(entry).__name__ for entry in memory.session.entries()]
        assert kinds.count("Fork") == 4
        assert memory.reset() == {"messages": 2}
        assert said(memory) == []

    run(main())
