"""What a flush asks the model: which messages, in what form, in how many batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.engine.context.tokens import Heuristic
from app.engine.errors import ContextOverflow, ModelUnavailable
from app.engine.records import Message, ToolCall
from tests.helpers.flushing import FlushHouse, drive, flushes, turn


@pytest.mark.case("FLU-7")
def test_one_system_and_one_user_message_with_both_references(tmp_path: Path):
    async def scenario(h: FlushHouse):
        h.layout.memory_md.write_text("# Memory\n- Tom owns the index\n", "utf-8")
        session = h.session(*turn(1, "I live in Porto", "Nice"))
        await h.run()
        (request,) = h.model.requests
        assert request.system.strip()
        assert [m.role for m in request.messages] == ["user"]
        assert not request.tools
        text = request.messages[0].content
        assert "Tom owns the index" in text
        assert "today's log" not in text  # there is none yet
        assert "[user] I live in Porto\n[assistant] Nice" in text
        for message in turn(2):
            session.add(message)
        await h.run()
        text = h.model.requests[1].messages[0].content
        assert "a first fact" in text
        assert "palimpsest:flush" not in text  # our comments are not shown
        assert text.index("Tom owns") < text.index("a first fact") < text.index("[user] Question 2")

    drive(tmp_path, scenario, "- a first fact")


def test_blank_references_are_left_out(tmp_path: Path):
    async def scenario(h: FlushHouse):
        h.layout.memory_md.write_text(" \n", "utf-8")
        h.session(*turn(1))
        await h.run()
        assert "MEMORY.md" not in h.model.requests[0].messages[0].content

    drive(tmp_path, scenario)


@pytest.mark.case("FLU-8")
def test_arguments_are_cut_at_500_and_results_at_1000(tmp_path: Path):
    async def scenario(h: FlushHouse):
        arguments = '{"x":"' + "A" * 592 + '"}'
        assert len(arguments) == 600
        h.session(
            Message("u-1", "user", "go"),
            Message("a-1", "assistant", calls=(ToolCall("c1", "run", arguments),)),
            Message("", "tool", "R" * 1_200, name="run", call_id="c1"),
            Message("a-2", "assistant", "done"),
        )
        await h.run()
        text = h.model.requests[0].messages[0].content
        assert arguments[:500] in text
        assert arguments[:501] not in text
        assert "R" * 1_000 in text
        assert "R" * 1_001 not in text

    drive(tmp_path, scenario)


@pytest.mark.case("FLU-1")
def test_summaries_are_not_sent_and_real_messages_are(tmp_path: Path):
    async def scenario(h: FlushHouse):
        session = h.session(*turn(1, "the first real message"), *turn(2), *turn(3))
        session.commit_compaction(
            summary="A SUMMARY",
            message=Message("sum", "user", "A SUMMARY", origin="summary"),
            covered=["u-1", "a-1", "u-2", "a-2"],
        )
        session.add(Message("r-1", "user", "RECALLED LINE", origin="recall"))
        session.add(Message("c-1", "user", "SESSION CONTEXT", origin="session_context"))
        await h.run()
        text = h.model.requests[0].messages[0].content
        assert "the first real message" in text
        assert "Answer 3" in text
        for hidden in ("A SUMMARY", "RECALLED LINE", "SESSION CONTEXT"):
            assert hidden not in text

    drive(tmp_path, scenario)


@pytest.mark.case("FLU-2")
def test_only_summaries_make_no_model_call(tmp_path: Path):
    async def scenario(h: FlushHouse):
        h.session(
            Message("s-1", "user", "A SUMMARY", origin="summary"),
            Message("s-2", "user", "GOES ON", origin="continuation"),
        )
        job = await h.run()
        assert job.state == "skipped"
        assert h.model.requests == []

    drive(tmp_path, scenario)


def test_turns_a_person_marked_are_not_sent(tmp_path: Path):
    async def scenario(h: FlushHouse):
        session = h.session(*turn(1, "my secret"), *turn(2, "fine to keep"))
        session.mark(["u-1"], do_not_remember=True)
        await h.run()
        text = h.model.requests[0].messages[0].content
        assert "my secret" not in text
        assert "fine to keep" in text

    drive(tmp_path, scenario)


def test_too_much_goes_in_batches_and_each_message_once(tmp_path: Path):
    async def scenario(h: FlushHouse):
        messages = [m for n in range(40) for m in turn(n, f"<{n}> " + "word " * 60)]
        messages.insert(20, Message("u-big", "user", "BIG" + "x" * 9_000 + "END"))
        session = h.session(*messages)
        job = await h.run()
        assert job.state == "done"
        assert len(h.model.requests) > 3
        whole = "".join(h.conversations())
        for n in range(40):
            assert whole.count(f"<{n}>") == 1
        assert whole.replace("\n", "").count("x") == 9_000
        limit = h.model.size.tokens * 3
        assert all(len(r.messages[0].content) < limit for r in h.model.requests)
        marks = flushes(session)
        assert marks[-1].to == "a-39"
        assert session.unflushed() is None

    drive(tmp_path, scenario, window=4_096)


def test_a_failure_in_the_second_batch_keeps_the_first(tmp_path: Path):
    async def scenario(h: FlushHouse):
        session = h.session(*[m for n in range(40) for m in turn(n, f"<{n}> " + "word " * 60)])
        job = await h.run()
        assert job.state == "failed"
        done = flushes(session)[-1].to
        await h.run()
        rest = h.conversations()[2]
        assert f"<{done.removeprefix('a-')}>" not in rest
        assert f"<{int(done.removeprefix('a-')) + 1}>" in rest

    drive(tmp_path, scenario, "- first", ModelUnavailable("gone"), "- later", window=4_096)


@pytest.mark.case("FLU-14")
def test_a_custom_prompt_is_used_at_every_site(tmp_path: Path):
    async def scenario(h: FlushHouse):
        session = h.session(*turn(1))
        await h.flush.after_call("s-1")
        await h.jobs.drain(20)
        for n, ask in ((2, h.flush.before_compaction), (3, None)):
            for message in turn(n):
                session.add(message)
            if ask:
                await ask("s-1")
            else:
                h.flush.request("s-1", "after an overflow")
            await h.jobs.drain(20)
        assert [r.system for r in h.model.requests] == ["MY OWN PROMPT"] * 3

    drive(tmp_path, scenario, flush_prompt="MY OWN PROMPT")


def test_a_window_smaller_than_said_makes_smaller_batches(tmp_path: Path):
    async def scenario(h: FlushHouse):
        h.session(*[m for n in range(30) for m in turn(n, f"<{n}> " + "word " * 60)])
        job = await h.run()
        assert job.state == "done"
        assert len(h.model.requests) > 4
        texts = h.conversations()
        for n in range(30):
            assert sum(text.count(f"<{n}>") for text in texts[2:]) == 1

    long = ContextOverflow("too long")
    drive(tmp_path, scenario, long, long, "- a fact", window=8_192)


def test_a_model_that_never_has_room_is_a_failure(tmp_path: Path):
    async def scenario(h: FlushHouse):
        h.session(*turn(1))
        assert (await h.run()).state == "failed"
        assert len(h.model.requests) < 8

    drive(tmp_path, scenario, ContextOverflow("too long"))


def test_chinese_talk_fits_the_window_too(tmp_path: Path):
    async def scenario(h: FlushHouse):
        h.session(
            *[m for n in range(60) for m in turn(n, "我们决定把数据库迁移到新的服务器。" * 10)]
        )
        assert (await h.run()).state == "done"
        for request in h.model.requests:
            tokens = Heuristic().text(request.system + request.messages[0].content)
            assert tokens < h.model.size.tokens * 3 / 4

    drive(tmp_path, scenario, window=4_096)
