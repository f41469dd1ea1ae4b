"""From talk to today's log: each range once, whole or not at all, and nobody waits for it."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from app.engine.config import FlushTrigger, MemoryConfig
from app.engine.context.tokens import Heuristic
from app.engine.errors import ContextOverflow, ModelUnavailable, StorageError
from app.engine.events import Activity, Bus
from app.engine.jobs import JobQueue, MemoryJournal
from app.engine.llm.endpoint import Answer, Request
from app.engine.memory.curators import ExtractiveCurator, LlmCurator
from app.engine.memory.flush import MemoryFlushManager
from app.engine.memory.flush_request import origin_of
from app.engine.memory.gate import Gate
from app.engine.records import Message, ToolCall, Window
from app.engine.session.entries import Flush
from app.engine.session.session import Session
from app.engine.session.store import SessionStore
from app.engine.workspace.daily_log import append_section, read_day, section_text
from app.engine.workspace.layout import Layout, ensure

ZONE = timezone(timedelta(hours=2))
START = datetime(2026, 6, 2, 3, 15, 9, tzinfo=ZONE)


class Scripted:
    """A model that answers from a list, its last answer again and again; errors are raised."""

    name, host, fit_for_memory, supports_tools = "scripted", "", True, False

    def __init__(self, *answers: str | Answer | Exception, window: int = 32_000) -> None:
        self.answers = list(answers) or ["- a fact"]
        self.requests: list[Request] = []
        self.tokens = window
        self.hold: asyncio.Event | None = None
        self.active = self.most_active = 0

    async def stream(self, request: Request):
        self.requests.append(request)
        self.active += 1
        self.most_active = max(self.active, self.most_active)
        try:
            if self.hold is not None:
                await self.hold.wait()
            await asyncio.sleep(0)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(answer, Exception):
                raise answer
            yield Answer(answer) if isinstance(answer, str) else answer
        finally:
            self.active -= 1

    async def window(self) -> Window:
        return Window(self.tokens)

    async def close(self) -> None:
        return None


class Access:
    """One session, its work in threads, as the agent's live session does it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._lock = asyncio.Lock()

    async def do(self, work):
        async with self._lock:
            return await asyncio.to_thread(work, self.session)

    write = do


class House:
    """A workspace with everything a flush needs."""

    def __init__(self, root: Path, *answers, **options) -> None:
        self.layout = Layout.at(root)
        ensure(self.layout)
        self.now = START
        self.bus = Bus()
        self.heard: list[Activity] = []
        self.bus.subscribe(lambda e: self.heard.append(e) if isinstance(e, Activity) else None)
        self.model = Scripted(*answers, window=options.pop("window", 32_000))
        self.store = SessionStore(self.layout)
        self.live: dict[str, Access] = {}
        self.config = MemoryConfig(**options.pop("config", {}))
        self.enabled = options.pop("enabled", True)
        self.journal = options.pop("journal", MemoryJournal())
        self.indexed: list[str] = []
        self.index_error: Exception | None = None
        self.asked = 0
        self.extractive = options.pop("extractive", False)
        assert not options

    async def open(self) -> House:
        self.jobs = JobQueue(self.bus, self.journal, look_every=0)

        async def session(session_id: str) -> Access:
            if session_id not in self.live:
                self.live[session_id] = Access(self.store.open(session_id))
            return self.live[session_id]

        async def index(path: str) -> None:
            if self.index_error is not None:
                raise self.index_error
            self.indexed.append(path)

        async def after() -> None:
            self.asked += 1

        self.flush = MemoryFlushManager(
            self.layout,
            bus=self.bus,
            jobs=self.jobs,
            gate=Gate(self.layout, clock=lambda: self.now),
            open_session=session,
            curator=lambda: ExtractiveCurator() if self.extractive else LlmCurator(self.model),
            config=lambda: self.config,
            enabled=lambda: self.enabled,
            index=index,
            after=after,
            clock=lambda: self.now,
        )
        await self.jobs.start()
        return self

    def session(self, *messages: Message, id: str = "s-1") -> Session:
        session = self.store.create(id)
        for message in messages:
            session.add(message)
        self.live[id] = Access(session)
        return session

    async def run(self, session_id: str = "s-1"):
        """Ask by hand and wait; the job as it ended."""
        job = self.flush.request(session_id, "asked for")
        assert job is not None
        return await self.jobs.ended(job.id)

    def today(self) -> Path:
        return self.layout.daily(self.now.date())

    def sections(self):
        return read_day(self.layout, self.layout.relative(self.today())).sections

    async def close(self) -> None:
        await self.jobs.close(timeout=0.05)
        for access in self.live.values():
            access.session.close()


def drive(root: Path, scenario, *answers, **options) -> House:
    house = House(root, *answers, **options)

    async def main():
        await house.open()
        try:
            await scenario(house)
        finally:
            await house.close()

    asyncio.run(main())
    return house


def turn(n: int, said: str = "", answer: str = "") -> tuple[Message, Message]:
    return (
        Message(f"u-{n}", "user", said or f"Question {n}"),
        Message(f"a-{n}", "assistant", answer or f"Answer {n}"),
    )


def flushes(session: Session) -> list[Flush]:
    return [e for e in session.entries() if isinstance(e, Flush)]


# ------------------------------------------------------------------ what is written


def test_bullets_come_to_todays_log_with_where_they_came_from(tmp_path: Path):
    async def scenario(h: House):
        session = h.session(*turn(1, "Ines prefers answers in Portuguese"))
        job = await h.run()
        (section,) = h.sections()
        assert section_text(section) == "- Ines prefers answers in Portuguese"
        assert (section.kind, section.session_id, section.run) == ("flush", "s-1", job.id)
        assert (section.first_entry, section.last_entry) == ("u-1", "a-1")
        assert section.origin == "user"
        assert section.when == START
        assert (job.state, job.target) == ("done", "memory/2026-06-02.md")
        assert job.result == "1 line in memory/2026-06-02.md"
        (entry,) = flushes(session)
        assert (entry.from_, entry.to, entry.path, entry.bullets) == (
            "u-1", "a-1", "memory/2026-06-02.md", 1,
        )  # fmt: skip
        assert h.indexed == ["memory/2026-06-02.md"]
        assert h.asked == 1
        states = [(a.step, a.state) for a in h.heard if a.step == "flush"]
        assert states == [("flush", "started"), ("flush", "finished")]

    drive(tmp_path, scenario, "- Ines prefers answers in Portuguese")


@pytest.mark.case("FLU-5")
def test_two_flushes_make_two_sections_and_the_first_stays(tmp_path: Path):
    async def scenario(h: House):
        session = h.session(*turn(1))
        await h.run()
        before = h.today().read_bytes()
        for message in turn(2):
            session.add(message)
        await h.run()
        assert h.today().read_bytes().startswith(before)
        assert len(h.sections()) == 2

    drive(tmp_path, scenario, "- the same answer")


@pytest.mark.case("B04")
@pytest.mark.parametrize("site", ["end of call", "by hand", "overflow", "compaction", "close"])
def test_a_flush_never_replaces_the_days_file(tmp_path: Path, site: str):
    """Whichever trigger ran, the morning's entries are byte-identical afterwards."""

    async def scenario(h: House):
        morning = "# Notes\n\n- one\n- two\n- three"
        h.today().write_text(morning, "utf-8")
        h.session(*turn(1))
        asked = {
            "end of call": lambda: h.flush.after_call("s-1"),
            "by hand": lambda: _now(h.flush.request("s-1", "asked for")),
            "overflow": lambda: _now(h.flush.request("s-1", "after an overflow")),
            "compaction": lambda: h.flush.before_compaction("s-1"),
            "close": lambda: _now(h.flush.request("s-1", "session closed")),
        }[site]
        assert await asked() is not None
        assert await h.jobs.drain(5)
        assert h.today().read_bytes().startswith(morning.encode())
        assert section_text(h.sections()[-1]) == "- new entry"

    drive(tmp_path, scenario, "- new entry")


async def _now(value):
    return value


@pytest.mark.case("FLU-6")
def test_memory_md_is_only_read(tmp_path: Path):
    async def scenario(h: House):
        h.layout.memory_md.write_bytes(b"# Memory\r\n\r\n- old\r\n")
        h.session(*turn(1))
        job = await h.run()
        assert job.state == "done"
        assert h.layout.memory_md.read_bytes() == b"# Memory\r\n\r\n- old\r\n"

    drive(tmp_path, scenario)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(" \n NO_REPLY \n ", marks=pytest.mark.case("FLU-3")),
        pytest.param("  \n", marks=pytest.mark.case("FLU-4")),
        pytest.param("", marks=pytest.mark.case("FLU-4")),
        pytest.param("NO_REPLY", marks=pytest.mark.case("FLU-16")),
    ],
)
def test_nothing_to_keep_makes_no_file(tmp_path: Path, answer: str):
    async def scenario(h: House):
        session = h.session(*turn(1))
        job = await h.run()
        assert job.state == "done"
        assert not h.today().exists()
        assert h.asked == 0
        assert [e.to for e in flushes(session)] == ["a-1"]  # and it is not looked at again

    drive(tmp_path, scenario, answer)


@pytest.mark.case("FLU-16")
def test_a_sentinel_among_other_text_is_taken_out(tmp_path: Path):
    async def scenario(h: House):
        h.session(*turn(1))
        await h.run()
        assert section_text(h.sections()[0]) == "- a\n- b"

    drive(tmp_path, scenario, "- a\nNO_REPLY\n- b")


def test_secrets_are_masked_and_said(tmp_path: Path):
    async def scenario(h: House):
        h.session(*turn(1))
        await h.run()
        text = h.today().read_text("utf-8")
        assert "ghp_" not in text
        assert "[masked: token]" in text
        finished = next(a for a in h.heard if (a.step, a.state) == ("flush", "finished"))
        assert finished.detail["masked"] == ["token"]

    drive(tmp_path, scenario, "- the key is ghp_abcdefghijklmnopqrstuv123456")


def test_the_day_is_that_of_the_moment_of_writing(tmp_path: Path):
    async def scenario(h: House):
        session = h.session(*turn(1))
        h.now = datetime(2026, 6, 2, 23, 58, tzinfo=ZONE)
        await h.run()
        for message in turn(2):
            session.add(message)
        h.now = datetime(2026, 6, 3, 0, 10, tzinfo=ZONE)
        await h.run()
        assert [d.name for d in sorted(h.layout.memory_dir.glob("2026*"))] == [
            "2026-06-02.md", "2026-06-03.md",
        ]  # fmt: skip

    drive(tmp_path, scenario)


# ------------------------------------------------------------------ what is asked


@pytest.mark.case("FLU-7")
def test_one_system_and_one_user_message_with_both_references(tmp_path: Path):
    async def scenario(h: House):
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
    async def scenario(h: House):
        h.layout.memory_md.write_text(" \n", "utf-8")
        h.session(*turn(1))
        await h.run()
        assert "MEMORY.md" not in h.model.requests[0].messages[0].content

    drive(tmp_path, scenario)


@pytest.mark.case("FLU-8")
def test_arguments_are_cut_at_500_and_results_at_1000(tmp_path: Path):
    async def scenario(h: House):
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
    async def scenario(h: House):
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
    async def scenario(h: House):
        h.session(
            Message("s-1", "user", "A SUMMARY", origin="summary"),
            Message("s-2", "user", "GOES ON", origin="continuation"),
        )
        job = await h.run()
        assert job.state == "skipped"
        assert h.model.requests == []

    drive(tmp_path, scenario)


@pytest.mark.case("FLU-17")
def test_a_range_is_flushed_once(tmp_path: Path):
    async def scenario(h: House):
        session = h.session(*turn(1, "old words"))
        await h.run()
        assert (await h.run()).state == "skipped"
        assert len(h.model.requests) == 1
        for message in turn(2, "new words"):
            session.add(message)
        await h.run()
        conversation = h.model.requests[1].messages[0].content.split("## The conversation")[1]
        assert "new words" in conversation
        assert "old words" not in conversation
        session.close()
        h.live["s-1"] = Access(h.store.open("s-1"))  # and also after a restart
        assert (await h.run()).state == "skipped"
        assert len(h.model.requests) == 2

    drive(tmp_path, scenario)


def test_the_range_ends_where_it_ended_when_the_job_was_queued(tmp_path: Path):
    async def scenario(h: House):
        session = h.session(*turn(1, "first words"))
        h.model.hold = asyncio.Event()
        h.session(*turn(7), id="s-0")
        h.flush.request("s-0", "keeps the queue busy")
        first = h.flush.request("s-1", "end of call", "a-1")
        for message in turn(2, "second words"):
            session.add(message)
        second = h.flush.request("s-1", "end of call", "a-2")
        h.model.hold.set()
        assert await h.jobs.drain(5)
        assert first
        assert second
        texts = [r.messages[0].content.split("## The conversation")[1] for r in h.model.requests]
        assert "second words" not in texts[1]
        assert "first words" not in texts[2]
        assert "second words" in texts[2]
        assert [(e.from_, e.to) for e in flushes(session)] == [("u-1", "a-1"), ("u-2", "a-2")]

    drive(tmp_path, scenario)


def test_turns_a_person_marked_are_not_sent(tmp_path: Path):
    async def scenario(h: House):
        session = h.session(*turn(1, "my secret"), *turn(2, "fine to keep"))
        session.mark(["u-1"], do_not_remember=True)
        await h.run()
        text = h.model.requests[0].messages[0].content
        assert "my secret" not in text
        assert "fine to keep" in text

    drive(tmp_path, scenario)


def test_too_much_goes_in_batches_and_each_message_once(tmp_path: Path):
    async def scenario(h: House):
        messages = [m for n in range(40) for m in turn(n, f"<{n}> " + "word " * 60)]
        messages.insert(20, Message("u-big", "user", "BIG" + "x" * 9_000 + "END"))
        session = h.session(*messages)
        job = await h.run()
        assert job.state == "done"
        assert len(h.model.requests) > 3
        whole = "".join(
            r.messages[0].content.split("## The conversation")[1] for r in h.model.requests
        )
        for n in range(40):
            assert whole.count(f"<{n}>") == 1
        assert whole.replace("\n", "").count("x") == 9_000
        limit = h.model.tokens * 3
        assert all(len(r.messages[0].content) < limit for r in h.model.requests)
        marks = flushes(session)
        assert marks[-1].to == "a-39"
        assert session.unflushed() is None

    drive(tmp_path, scenario, window=4_096)


def test_a_failure_in_the_second_batch_keeps_the_first(tmp_path: Path):
    async def scenario(h: House):
        session = h.session(*[m for n in range(40) for m in turn(n, f"<{n}> " + "word " * 60)])
        job = await h.run()
        assert job.state == "failed"
        done = flushes(session)[-1].to
        await h.run()
        rest = h.model.requests[2].messages[0].content.split("## The conversation")[1]
        assert f"<{done.removeprefix('a-')}>" not in rest
        assert f"<{int(done.removeprefix('a-')) + 1}>" in rest

    drive(tmp_path, scenario, "- first", ModelUnavailable("gone"), "- later", window=4_096)


@pytest.mark.case("FLU-14")
def test_a_custom_prompt_is_used_at_every_site(tmp_path: Path):
    async def scenario(h: House):
        session = h.session(*turn(1))
        await h.flush.after_call("s-1")
        await h.jobs.drain(5)
        for n, ask in ((2, h.flush.before_compaction), (3, None)):
            for message in turn(n):
                session.add(message)
            if ask:
                await ask("s-1")
            else:
                h.flush.request("s-1", "after an overflow")
            await h.jobs.drain(5)
        assert [r.system for r in h.model.requests] == ["MY OWN PROMPT"] * 3

    drive(tmp_path, scenario, config={"flush_prompt": "MY OWN PROMPT"})


def test_a_window_smaller_than_said_makes_smaller_batches(tmp_path: Path):
    async def scenario(h: House):
        h.session(*[m for n in range(30) for m in turn(n, f"<{n}> " + "word " * 60)])
        job = await h.run()
        assert job.state == "done"
        assert len(h.model.requests) > 4
        texts = [r.messages[0].content.split("## The conversation")[1] for r in h.model.requests]
        for n in range(30):
            assert sum(text.count(f"<{n}>") for text in texts[2:]) == 1

    long = ContextOverflow("too long")
    drive(tmp_path, scenario, long, long, "- a fact", window=8_192)


def test_a_model_that_never_has_room_is_a_failure(tmp_path: Path):
    async def scenario(h: House):
        h.session(*turn(1))
        assert (await h.run()).state == "failed"
        assert len(h.model.requests) < 8

    drive(tmp_path, scenario, ContextOverflow("too long"))


def test_chinese_talk_fits_the_window_too(tmp_path: Path):
    async def scenario(h: House):
        h.session(
            *[m for n in range(60) for m in turn(n, "我们决定把数据库迁移到新的服务器。" * 10)]
        )
        assert (await h.run()).state == "done"
        for request in h.model.requests:
            tokens = Heuristic().text(request.system + request.messages[0].content)
            assert tokens < h.model.tokens * 3 / 4

    drive(tmp_path, scenario, window=4_096)


def test_a_section_that_was_never_noted_is_not_written_twice(tmp_path: Path):
    """The program went away between the daily log and the session's log."""

    async def scenario(h: House):
        session = h.session(*turn(1))
        append_section(
            h.layout, kind="flush", text="- a fact", now=START, run="r-0", session="s-1",
            first="u-1", last="a-1",
        )  # fmt: skip
        before = h.today().read_bytes()
        assert (await h.run()).state == "skipped"
        assert h.model.requests == []
        assert h.today().read_bytes() == before
        assert [(e.to, e.run, e.bullets) for e in flushes(session)] == [("a-1", "r-0", 1)]
        for message in turn(2):
            session.add(message)
        assert (await h.run()).state == "done"
        assert len(h.sections()) == 2

    drive(tmp_path, scenario)


def test_a_flush_that_waits_already_is_not_queued_twice(tmp_path: Path):
    async def scenario(h: House):
        h.session(*turn(1))
        h.session(*turn(2), id="s-2")
        h.model.hold = asyncio.Event()
        h.flush.request("s-2", "keeps the queue busy")
        await asyncio.sleep(0.02)
        first = h.flush.request("s-1", "end of call")
        again = h.flush.request("s-1", "before compaction")
        assert first
        assert again
        assert first.id == again.id
        h.model.hold.set()
        assert await h.jobs.drain(5)
        assert len(h.model.requests) == 2

    drive(tmp_path, scenario)


# ------------------------------------------------------------------ when it runs


@pytest.mark.case("GATE-1")
@pytest.mark.parametrize(
    ("trigger", "count"), [(FlushTrigger.always(), 5), (FlushTrigger.never(), 0)]
)
def test_always_and_never(tmp_path: Path, trigger: FlushTrigger, count: int):
    async def scenario(h: House):
        session = h.session()
        for n in range(5):
            for message in turn(n):
                session.add(message)
            await h.flush.after_call("s-1")
            await h.jobs.drain(5)
        assert len(h.model.requests) == count
        assert len(flushes(session)) == count

    drive(tmp_path, scenario, config={"flush_trigger": trigger})


@pytest.mark.case("FLU-13")
def test_the_gate_holds_only_the_flush_at_the_end_of_a_call(tmp_path: Path):
    async def scenario(h: House):
        session = h.session(*turn(1))
        assert await h.flush.after_call("s-1") is not None
        await h.jobs.drain(5)
        for message in turn(2):
            session.add(message)
        assert await h.flush.after_call("s-1") is None
        assert any(a.step == "gate" and a.state == "skipped" for a in h.heard)
        assert await h.flush.before_compaction("s-1") is not None
        await h.jobs.drain(5)
        assert len(h.model.requests) == 2
        assert [e.to for e in flushes(session)] == ["a-1", "a-2"]  # the log has both, too
        ids = [e.id for e in h.store.open("s-1").entries()]
        assert {"u-1", "a-1", "u-2", "a-2"} <= set(ids)

    drive(tmp_path, scenario, config={"flush_trigger": FlushTrigger.throttled(3_600)})


@pytest.mark.case("B23")
def test_three_compactions_are_three_full_flushes(tmp_path: Path):
    """Before anything is cut the whole range is recorded; three of three, also under a gate."""

    async def scenario(h: House):
        session = h.session()
        for n in range(3):
            big = Message("", "tool", f"<result {n}> " + "r" * 8_000, name="run", call_id=f"c{n}")
            for message in (
                Message(f"u-{n}", "user", f"<ask {n}>"),
                Message(f"a-{n}", "assistant", calls=(ToolCall(f"c{n}", "run", "{}"),)),
                big,
            ):
                session.add(message)
            site = "after an overflow" if n == 1 else "before compaction"
            assert h.flush.request("s-1", site) is not None
            session.commit_compaction(  # the context is cut at once, before the job has run
                summary=f"summary {n}",
                message=Message(f"sum-{n}", "user", f"summary {n}", origin="summary"),
                covered=[m.id for m in session.context],
            )
            await h.jobs.drain(5)
        assert len(h.model.requests) == 3
        for n, request in enumerate(h.model.requests):
            text = request.messages[0].content
            assert f"<ask {n}>" in text
            assert f"<result {n}>" in text

    drive(tmp_path, scenario, config={"flush_trigger": FlushTrigger.never()})


def test_flush_wait_waits_for_the_flush(tmp_path: Path):
    async def scenario(h: House):
        session = h.session(*turn(1))
        await h.flush.before_compaction("s-1", wait=True)
        assert len(flushes(session)) == 1

    drive(tmp_path, scenario)


@pytest.mark.case("FLU-15")
def test_memory_switched_off_writes_nothing_and_spends_nothing(tmp_path: Path):
    async def scenario(h: House):
        session = h.session(*turn(1), *turn(2))
        assert await h.flush.before_compaction("s-1", wait=True) is None
        assert await h.flush.after_call("s-1") is None
        assert h.flush.request("s-1", "after an overflow") is None
        assert session.commit_compaction(
            summary="s",
            message=Message("sum", "user", "s", origin="summary"),
            covered=["u-1", "a-1"],
        )
        await h.jobs.drain(5)
        assert h.model.requests == []
        assert not h.today().exists()
        assert flushes(session) == []

    drive(tmp_path, scenario, enabled=False)


@pytest.mark.case("FLU-12")
def test_two_flushes_of_one_session_never_overlap(tmp_path: Path):
    async def scenario(h: House):
        session = h.session(*turn(1))
        one = asyncio.create_task(h.flush.flush("s-1"))
        two = asyncio.create_task(h.flush.flush("s-1"))
        await asyncio.gather(one, two)
        assert h.model.most_active == 1
        assert len(h.model.requests) == 1  # the second found nothing left
        assert len(flushes(session)) == 1

    drive(tmp_path, scenario)


# ------------------------------------------------------------------ when it fails


BAD = [
    "<think>hm</think>- a fact",
    "I'm sorry, but I can't help with that.",
    "<html><head><title>404 Not Found</title></head></html>",
    '{"error": {"message": "slow down"}}',
    '{"facts": [{"a": 1}]}',
    Answer("- cut in the mid", finish="length"),
    Answer("", reasoning="I thought for long"),
]


@pytest.mark.case("B13")
@pytest.mark.parametrize("answer", BAD)
def test_an_unfit_answer_writes_nothing_and_moves_nothing(tmp_path: Path, answer):
    async def scenario(h: House):
        session = h.session(*turn(1))
        job = await h.run()
        assert job.state == "failed"
        assert job.reason
        assert job.remedy
        assert not h.today().exists()
        assert flushes(session) == []
        h.model.answers = ["- a fact"]
        assert (await h.run()).state == "done"  # the next round works
        assert section_text(h.sections()[0]) == "- a fact"

    drive(tmp_path, scenario, answer)


@pytest.mark.case("FLU-9")
def test_a_model_error_leaves_everything_as_it_was(tmp_path: Path):
    async def scenario(h: House):
        session = h.session(*turn(1, answer="the delivered reply"))
        before = h.layout.session_log("s-1").read_bytes()
        assert await h.flush.after_call("s-1") is not None  # the caller goes on at once
        await h.jobs.drain(5)
        assert session.context[-1].content == "the delivered reply"
        assert h.layout.session_log("s-1").read_bytes() == before
        assert not h.today().exists()
        failed = [a for a in h.heard if (a.step, a.state) == ("flush", "failed")]
        assert [a.reason for a in failed] == ["No server answers."]

    drive(tmp_path, scenario, ModelUnavailable("No server answers."))


def test_after_a_failure_the_end_of_call_flush_pauses(tmp_path: Path):
    async def scenario(h: House):
        h.session(*turn(1))
        for _ in range(5):  # five turns in a row pay once
            await h.flush.after_call("s-1")
            await h.jobs.drain(5)
        assert len(h.model.requests) == 1
        h.now += timedelta(minutes=1, seconds=1)
        await h.flush.after_call("s-1")
        await h.jobs.drain(5)
        assert len(h.model.requests) == 2
        h.now += timedelta(minutes=1, seconds=1)  # twice as long now
        assert await h.flush.after_call("s-1") is None
        assert h.flush.request("s-1", "asked for") is not None  # a person need not wait

    drive(tmp_path, scenario, "<html>404</html>")


@pytest.mark.case("B22")
def test_a_flush_cut_off_by_closing_is_done_at_the_next_start(tmp_path: Path):
    journal = MemoryJournal()

    async def closing(h: House):
        h.session(*turn(1))
        h.model.hold = asyncio.Event()
        await h.flush.after_call("s-1", "a-1")
        await asyncio.sleep(0.05)
        begin = asyncio.get_running_loop().time()
        await h.jobs.close(timeout=0.1)
        assert asyncio.get_running_loop().time() - begin < 2

    first = drive(tmp_path / "one", closing, journal=journal)
    assert not first.today().exists()

    async def elsewhere(h: House):  # another workspace meanwhile has nothing to do with it
        h.session(*turn(5))
        assert await h.jobs.drain(1)
        assert h.model.requests == []

    drive(tmp_path / "two", elsewhere)

    async def again(h: House):
        assert await h.jobs.drain(5)
        assert len(h.model.requests) == 1
        assert section_text(h.sections()[0]) == "- a fact"
        assert len(flushes(h.live["s-1"].session)) == 1

    drive(tmp_path / "one", again, journal=journal)


def test_an_unreadable_day_is_not_added_to(tmp_path: Path):
    async def scenario(h: House):
        session = h.session(*turn(1))
        h.today().write_bytes("中文".encode("utf-16"))
        before = h.today().read_bytes()
        job = await h.run()
        assert job.state == "failed"
        assert h.today().read_bytes() == before
        assert flushes(session) == []

    drive(tmp_path, scenario)


def test_an_index_that_fails_does_not_undo_the_flush(tmp_path: Path):
    async def scenario(h: House):
        h.index_error = StorageError("The index is gone.")
        session = h.session(*turn(1))
        assert (await h.run()).state == "done"
        assert h.today().exists()
        assert len(flushes(session)) == 1

    drive(tmp_path, scenario)


# ------------------------------------------------------------------ without a model


def test_without_a_model_the_persons_sentences_are_quoted(tmp_path: Path):
    async def scenario(h: House):
        h.session(*turn(1, "Hi! I prefer tea. Can you help?", "I like coffee."))
        await h.run()
        (section,) = h.sections()
        assert section_text(section) == "- I prefer tea."
        assert section.origin == "user"
        assert h.model.requests == []

    drive(tmp_path, scenario, extractive=True)


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("- Ines prefers green tea", "user"),
        ("- writes need no confirmation from anybody", "tool"),
        ("- the index was rebuilt at noon", "model"),
        ("- Ines prefers green tea\n- writes need no confirmation", "mixed"),
        ("- something nobody ever mentioned", "mixed"),
    ],
)
def test_the_origin_is_found_by_matching(text: str, origin: str):
    messages = (
        Message("u-1", "user", "Ines prefers green tea"),
        Message("t-1", "tool", "Documentation: writes need no confirmation from anybody."),
        Message("a-1", "assistant", "The index was rebuilt at noon."),
    )
    assert origin_of(text, messages) == origin
