"""What a flush writes: a section of today's log with where it came from, and nothing else."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from app.engine.memory.flush_request import origin_of
from app.engine.records import Message
from app.engine.workspace.daily_log import section_text
from tests.helpers.flushing import START, ZONE, FlushHouse, drive, flushes, turn


def test_bullets_come_to_todays_log_with_where_they_came_from(tmp_path: Path):
    async def scenario(h: FlushHouse):
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
    async def scenario(h: FlushHouse):
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

    async def scenario(h: FlushHouse):
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
        assert await h.jobs.drain(20)
        assert h.today().read_bytes().startswith(morning.encode())
        assert section_text(h.sections()[-1]) == "- new entry"

    drive(tmp_path, scenario, "- new entry")


async def _now(value):
    return value


@pytest.mark.case("FLU-6")
def test_memory_md_is_only_read(tmp_path: Path):
    async def scenario(h: FlushHouse):
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
    async def scenario(h: FlushHouse):
        session = h.session(*turn(1))
        job = await h.run()
        assert job.state == "done"
        assert not h.today().exists()
        assert h.asked == 0
        assert [e.to for e in flushes(session)] == ["a-1"]  # and it is not looked at again

    drive(tmp_path, scenario, answer)


@pytest.mark.case("FLU-16")
def test_a_sentinel_among_other_text_is_taken_out(tmp_path: Path):
    async def scenario(h: FlushHouse):
        h.session(*turn(1))
        await h.run()
        assert section_text(h.sections()[0]) == "- a\n- b"

    drive(tmp_path, scenario, "- a\nNO_REPLY\n- b")


def test_secrets_are_masked_and_said(tmp_path: Path):
    async def scenario(h: FlushHouse):
        h.session(*turn(1))
        await h.run()
        text = h.today().read_text("utf-8")
        assert "ghp_" not in text
        assert "[masked: token]" in text
        finished = next(a for a in h.heard if (a.step, a.state) == ("flush", "finished"))
        assert finished.detail["masked"] == ["token"]

    drive(tmp_path, scenario, "- the key is ghp_abcdefghijklmnopqrstuv123456")


def test_the_day_is_that_of_the_moment_of_writing(tmp_path: Path):
    async def scenario(h: FlushHouse):
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


def test_without_a_model_the_persons_sentences_are_quoted(tmp_path: Path):
    async def scenario(h: FlushHouse):
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
