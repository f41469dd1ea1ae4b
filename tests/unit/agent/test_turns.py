"""Turns through the facade, over real HTTP: what is asked, what is kept, what is said."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.engine.agent.tools import tool
from app.engine.config import AgentConfig, CompactionConfig, EngineConfig, ToolResultEvictionConfig
from app.engine.errors import WorkspaceBusy
from app.engine.events import TurnEvent
from tests.helpers.fake_server import Reply, call, error, overflow, say, use
from tests.helpers.waiting import run
from tests.helpers.workspaces import engine_on, without_memory


def quiet(**parts) -> EngineConfig:
    return without_memory(EngineConfig(**parts))


def test_a_turn_streams_is_kept_and_survives_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        async with engine_on(tmp_path, say("Hel", "lo"), config=quiet()) as desk:
            result = await desk.send("Hi there")
            assert (result.state, result.reply) == ("finished", "Hello")
            assert desk.said("text") == ["Hel", "lo"]
            assert desk.said("finished") == ["Hello"]
            session = desk.session
        async with engine_on(tmp_path, say("again"), config=quiet()) as desk:
            desk.session = session
            await desk.send("And now?")
            spoken = [(m["role"], m["content"]) for m in desk.sent()[1:]]
            assert spoken == [("user", "Hi there"), ("assistant", "Hello"), ("user", "And now?")]

    run(main())


@pytest.mark.case("SES-14")
def test_a_message_is_kept_when_the_model_fails(tmp_path: Path) -> None:
    async def main() -> None:
        failing = error(401, {"error": {"message": "bad key"}})
        async with engine_on(tmp_path, failing, config=quiet()) as desk:
            result = await desk.send("Keep this")
            assert result.state == "failed"
            assert result.remedy
            assert desk.said("failed") == [result.error]
            session = desk.session
        async with engine_on(tmp_path, config=quiet()) as desk:
            items = await desk.engine.ask.transcript(session)
            assert [i.text for i in items if i.kind == "user"] == ["Keep this"]

    run(main())


def echo_tool(output: str = "3 running"):
    async def work(arguments: dict) -> str:
        if arguments.get("fail"):
            raise RuntimeError("it broke")
        return output

    return tool("execute", "Run a command.", work, cmd=("string", "what to run"))


def test_tools_run_and_their_results_go_back(tmp_path: Path) -> None:
    async def main() -> None:
        scripts = (use(call("execute", {"cmd": "ls"}, id="c9")), say("Three are running."))
        async with engine_on(tmp_path, *scripts, config=quiet(), tools=[echo_tool()]) as desk:
            result = await desk.send("How many?")
            assert result.reply == "Three are running."
            last = desk.sent()[-1]
            assert (last["role"], last["tool_call_id"], last["content"]) == (
                "tool",
                "c9",
                "3 running",
            )
            items = await desk.engine.ask.transcript(desk.session)
            shown = next(i for i in items if i.kind == "tool")
            assert (shown.tool, shown.result) == ("execute", "3 running")

    run(main())


@pytest.mark.case("MOT-99")
def test_a_tool_that_raises_gives_an_error_result(tmp_path: Path) -> None:
    async def main() -> None:
        scripts = (use(call("execute", {"fail": True}, id="c1")), say("Sorry."))
        async with engine_on(tmp_path, *scripts, config=quiet(), tools=[echo_tool()]) as desk:
            await desk.send("Do it")
            last = desk.sent()[-1]
            assert last["tool_call_id"] == "c1"
            assert "it broke" in last["content"]
            assert '"isError":true' in desk.log()

    run(main())


def test_unknown_tools_and_bad_arguments_are_told_to_the_model(tmp_path: Path) -> None:
    async def main() -> None:
        scripts = (
            use(call("nonsense", {}, id="c1"), call("execute", "[1]", id="c2", index=1)),
            say("I see."),
        )
        async with engine_on(tmp_path, *scripts, config=quiet(), tools=[echo_tool()]) as desk:
            assert (await desk.send("Go")).state == "finished"
            results = {m["tool_call_id"]: m["content"] for m in desk.sent() if m["role"] == "tool"}
            assert "no tool named nonsense" in results["c1"]
            assert "must be an object" in results["c2"]

    run(main())


@pytest.mark.case("EVI-10")
def test_a_long_result_is_put_aside_at_once_but_never_one_of_read_file(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "notes.txt").write_text("n" * 5_000, encoding="utf-8")
        config = quiet(eviction=ToolResultEvictionConfig(max_result_chars=1_000, preview_chars=50))
        scripts = (
            use(
                call("execute", {}, id="c1"),
                call("read_file", {"path": "notes.txt"}, id="c2", index=1),
            ),
            say("Done."),
        )
        tools = [echo_tool("x" * 5_000)]
        async with engine_on(tmp_path, *scripts, config=config, tools=tools) as desk:
            await desk.send("Go")
            results = {m["tool_call_id"]: m["content"] for m in desk.sent() if m["role"] == "tool"}
            assert "put aside" in results["c1"]
            assert "put aside" not in results["c2"]
            evicted = await desk.engine.ask.evicted()
            assert [one.tool for one in evicted] == ["execute"]
            assert (tmp_path / evicted[0].path).read_text(encoding="utf-8") == "x" * 5_000
            page = await desk.engine.ask.evicted_page(evicted[0].path, 0, 100)
            assert (page.text, page.total) == ("x" * 100, 5_000)

    run(main())


def test_stopping_closes_open_calls_and_drops_the_half_answer(tmp_path: Path) -> None:
    async def main() -> None:
        slow = say("One ", "two ", "three", pause=0.3)
        async with engine_on(tmp_path, slow, say("Fresh."), config=quiet()) as desk:
            session = await desk.engine.do.new_session()
            desk.session = session
            turn = asyncio.create_task(desk.send("Count"))
            while not desk.said("text"):
                await asyncio.sleep(0.02)
            await desk.engine.do.stop(session)
            assert (await turn).state == "stopped"
            assert '"type":"interrupted"' in desk.log()
            assert "One " not in desk.log()
            assert (await desk.send("Again")).reply == "Fresh."
            assert [m["content"] for m in desk.sent()[1:]] == ["Count", "Again"]

    run(main())


def test_a_second_send_to_a_busy_session_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with engine_on(tmp_path, say("slow", pause=0.5), config=quiet()) as desk:
            turn = asyncio.create_task(desk.send("One"))
            while not desk.said("started"):
                await asyncio.sleep(0.01)
            with pytest.raises(WorkspaceBusy):
                await desk.send("Two")
            assert (await turn).state == "finished"

    run(main())


@pytest.mark.parametrize(("allow", "exists"), [(True, True), (False, False)])
def test_writing_asks_first(tmp_path: Path, allow: bool, exists: bool) -> None:
    async def main() -> None:
        scripts = (
            use(call("write_file", {"path": "plan.md", "content": "# Plan"}, id="w1")),
            say("Ok."),
        )
        async with engine_on(tmp_path, *scripts, config=quiet()) as desk:
            turn = asyncio.create_task(desk.send("Write it"))
            while not desk.said("approval"):
                await asyncio.sleep(0.01)
            assert not (tmp_path / "plan.md").exists()
            await desk.engine.do.answer_approval(desk.session, "w1", allow)
            await turn
            assert (tmp_path / "plan.md").exists() is exists

    run(main())


@pytest.mark.case("OVF-3", "OVF-6", "MOT-103")
def test_an_overflow_is_compacted_and_sent_once_more(tmp_path: Path) -> None:
    async def main() -> None:
        compaction = CompactionConfig(trigger_messages=0, trigger_tokens=0)
        scripts = [say(f"answer {n}") for n in range(12)]
        summary = say("SESSION INTENT: talk\nSUMMARY: we talked\nARTIFACTS: None\nNEXT STEPS: None")
        scripts += [overflow(2_400, 2_300), summary, say("recovered")]
        async with engine_on(tmp_path, *scripts, config=quiet(compaction=compaction)) as desk:
            for n in range(12):
                await desk.send(f"question {n}")
            result = await desk.send("the long one")
            assert (result.state, result.reply) == ("finished", "recovered"), result.error
            assert len(desk.server.requests) == 15
            assert [m["content"] for m in desk.sent()].count("the long one") == 1
            assert desk.log().count('"the long one"') == 1
            assert "we talked" in str(desk.sent())
            items = await desk.engine.ask.transcript(desk.session)
            assert [i.kind for i in items].count("compaction") == 1

    run(main())


@pytest.mark.case("OVF-4")
def test_a_second_overflow_surfaces(tmp_path: Path) -> None:
    async def main() -> None:
        too_long = overflow(3_600, 3_400)
        scripts = [say("a"), say("b"), say("c"), too_long, say("SUMMARY: short"), too_long]
        async with engine_on(tmp_path, *scripts, config=quiet()) as desk:
            for n in range(3):
                await desk.send(f"{n} " + "word " * 800)
            result = await desk.send("again")
            assert result.state == "failed"
            assert "window" in result.error or "context" in result.error
            assert len(desk.server.requests) == 6

    run(main())


@pytest.mark.case("OVF-2")
def test_without_compaction_the_original_error_surfaces(tmp_path: Path) -> None:
    async def main() -> None:
        config = without_memory(EngineConfig(agent=AgentConfig(compaction=False)))
        async with engine_on(tmp_path, say("a"), overflow(1_500, 1_400), config=config) as desk:
            await desk.send("one")
            result = await desk.send("two")
            assert result.state == "failed"
            assert "1,500 tokens does not fit" in result.error
            assert len(desk.server.requests) == 2
            assert '"type":"compaction"' not in desk.log()

    run(main())


@pytest.mark.case("OVF-7")
def test_an_overflow_inside_a_stream_is_recovered_when_nothing_was_shown(tmp_path: Path) -> None:
    async def main() -> None:
        body = {"error": {"message": "Context size has been exceeded", "code": 400}}
        in_stream = Reply(events=[body])
        scripts = [say("a"), say("b"), in_stream, say("SUMMARY: short"), say("fine")]
        async with engine_on(tmp_path, *scripts, config=quiet()) as desk:
            await desk.send("one")
            await desk.send("two")
            assert (await desk.send("three")).reply == "fine"

    run(main())


@pytest.mark.case("CMP-1", "CMP-29")
def test_compaction_by_message_count(tmp_path: Path) -> None:
    async def main() -> None:
        compaction = CompactionConfig(trigger_messages=6, trigger_tokens=0, keep_messages=2)
        scripts = [say("a"), say("b"), say("c"), say("SUMMARY: all of it"), say("d")]
        async with engine_on(tmp_path, *scripts, config=quiet(compaction=compaction)) as desk:
            for n in range(3):
                await desk.send(f"q{n}")
            assert len(desk.server.requests) == 3, "five messages before the third answer: nothing"
            await desk.send("q3")
            sent = desk.sent()
            assert "all of it" in sent[1]["content"]
            assert [m["content"] for m in sent[2:]] == ["c", "q3"]
            context = await desk.engine.ask.context(desk.session)
            assert [p.kind for p in context.parts if p.kind == "summary"] == ["summary"]

    run(main())


def test_a_model_without_tools_is_helped_by_search(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "memory").mkdir()
        fact = "- The spare key hangs behind the clock\n"
        note = f"\n## Memory Flush — 2026-06-02T03:15:09+00:00\n{fact}"
        (tmp_path / "memory/2026-06-02.md").write_text(note, encoding="utf-8")
        refusing = error(400, {"error": {"message": "fake-model does not support tools"}})
        scripts = (refusing, say("Hello."), say("Behind the clock."))
        async with engine_on(tmp_path, *scripts, config=quiet()) as desk:
            await desk.engine.index_ready()
            await desk.send("Hello")
            await desk.send("Where is the spare key?")
            assert "hangs behind the clock" in desk.sent()[-1]["content"]
            assert "tools" not in desk.server.requests[-1].body
            assert '"type":"recall"' in desk.log()

    run(main())


def test_events_come_in_order(tmp_path: Path) -> None:
    async def main() -> None:
        scripts = (use(call("execute", {}, id="c1")), say("Done."))
        async with engine_on(tmp_path, *scripts, config=quiet(), tools=[echo_tool()]) as desk:
            await desk.send("Go")
            kinds = [e.kind for e in desk.events if isinstance(e, TurnEvent)]
            assert kinds[0] == "started"
            assert kinds[-1] == "finished"
            assert kinds.index("item") < kinds.index("text")

    run(main())
