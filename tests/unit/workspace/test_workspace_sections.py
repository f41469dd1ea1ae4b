"""States of sections and the watermark."""

from __future__ import annotations

import logging
import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from app.engine.records import DailySection
from app.engine.workspace.archive import archive
from app.engine.workspace.daily_log import append_section, read_day, section_text
from app.engine.workspace.layout import Layout, ensure
from app.engine.workspace.sections import (
    EPOCH,
    SectionStates,
    key_of,
    read_watermark,
    write_watermark,
)

NOW = datetime(2026, 6, 20, 12, tzinfo=UTC)
MARK = datetime(2026, 6, 15, 12, tzinfo=UTC)


@pytest.fixture
def at(tmp_path: Path) -> Layout:
    layout = Layout.at(tmp_path / "w")
    ensure(layout)
    return layout


def put(at: Layout, day: date, text: str, mtime: datetime | None = None) -> DailySection:
    now = datetime(day.year, day.month, day.day, 9, tzinfo=UTC)
    section = append_section(at, kind="flush", text=text, now=now)
    if mtime:
        os.utime(at.daily(day), (mtime.timestamp(), mtime.timestamp()))
    return section


def texts(states: SectionStates) -> list[str]:
    return [section_text(found.section) for found in states.waiting()]


# ---------------------------------------------------------------------------- watermark


@pytest.mark.case("CON-1")
def test_no_state_file_is_the_epoch(at: Layout) -> None:
    assert read_watermark(at).instant == EPOCH
    assert read_watermark(at).warning == ""
    at.consolidation_state.write_text(" \n")
    assert read_watermark(at).instant == EPOCH
    assert read_watermark(at).warning == ""


@pytest.mark.case("CON-2")
def test_the_watermark_is_read_as_it_was_written(at: Layout) -> None:
    instant = datetime.fromisoformat("2026-06-15T14:00:00.123456+02:00")
    write_watermark(at, instant)
    assert read_watermark(at).instant == instant
    data = (at.root / "memory" / ".consolidation_state").read_bytes()
    assert data == b"2026-06-15T12:00:00.123456+00:00"


def test_other_writers_instants_are_read(at: Layout) -> None:
    at.consolidation_state.write_text("2026-06-15T12:00:00.123456789Z\n")
    assert read_watermark(at).instant == MARK.replace(microsecond=123456)


@pytest.mark.case("CON-3")
@pytest.mark.parametrize(
    "data", [b"yesterday", b"2026-06-15T12:00:00", b"\xff\xfe1", b"2026-13-01T00:00:00Z"]
)
def test_a_corrupt_state_is_the_epoch_and_a_warning(
    at: Layout, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    at.consolidation_state.write_bytes(data)
    with caplog.at_level(logging.WARNING):
        found = read_watermark(at)
    assert found.instant == EPOCH
    assert found.warning
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert at.consolidation_state.read_bytes() == data


# ---------------------------------------------------------------------------- first opening


def test_first_opening_takes_only_files_newer_than_the_watermark(at: Layout) -> None:
    put(at, date(2026, 6, 18), "- newest", NOW)
    put(at, date(2026, 6, 14), "- older", MARK - timedelta(days=1))
    put(at, date(2026, 6, 15), "- equal", MARK)
    put(at, date(2026, 6, 16), "- newer", MARK + timedelta(microseconds=1))
    write_watermark(at, MARK)
    states = SectionStates(at, when=NOW)
    assert texts(states) == ["- newer", "- newest"]
    assert [section_text(found.section) for found in states.known("merged")] == [
        "- older",
        "- equal",
    ]


def test_without_a_watermark_everything_waits_sorted_by_name(at: Layout) -> None:
    for day in (3, 1, 2):
        put(at, date(2026, 6, day), f"- day {day}")
    assert texts(SectionStates(at, when=NOW)) == ["- day 1", "- day 2", "- day 3"]


def test_the_watermark_counts_once(at: Layout) -> None:
    put(at, date(2026, 6, 14), "- older", MARK - timedelta(days=1))
    write_watermark(at, MARK)
    SectionStates(at, when=NOW)
    put(at, date(2026, 6, 14), "- appended", MARK - timedelta(days=1))
    write_watermark(at, NOW)
    assert texts(SectionStates(at, when=NOW)) == ["- appended"]


# ---------------------------------------------------------------------------- states


def test_a_section_leaves_the_queue_with_run_and_reason(at: Layout) -> None:
    first = put(at, date(2026, 6, 18), "- one")
    second = put(at, date(2026, 6, 18), "- two")
    states = SectionStates(at, when=NOW)
    path = "memory/2026-06-18.md"
    states.set([key_of(path, first)], "rejected", when=NOW, run="r-7", reason="You said no.")
    assert texts(states) == ["- two"]
    again = SectionStates(at, when=NOW)
    assert texts(again) == ["- two"]
    lines = [s.lines[0] for s in again.overlay(read_day(at, path)).sections]
    assert [(x.state, x.proposal, x.reason) for x in lines] == [
        ("rejected", "r-7", "You said no."),
        ("waiting", "", ""),
    ]
    assert again.state(path, first).run == "r-7"
    assert again.state(path, second).state == "waiting"
    again.set([key_of(path, first), key_of(path, second)], "waiting", when=NOW)
    assert texts(states) == ["- one", "- two"]


def test_equal_sections_have_their_own_states(at: Layout) -> None:
    first = put(at, date(2026, 6, 18), "- same")
    put(at, date(2026, 6, 18), "- same")
    states = SectionStates(at, when=NOW)
    states.set([key_of("memory/2026-06-18.md", first)], "merged", when=NOW)
    assert [found.section.ordinal for found in states.waiting()] == [2]


def test_an_edited_section_waits_again_and_a_shifted_one_does_not(at: Layout) -> None:
    day = date(2026, 6, 18)
    for text in ("- one", "- two"):
        put(at, day, text)
    states = SectionStates(at, when=NOW)
    states.set([found.key for found in states.waiting()], "merged", when=NOW)
    path = at.daily(day)
    path.write_text("by hand, in front\n" + path.read_text().replace("- two", "- two, edited"))
    assert texts(states) == ["by hand, in front", "- two, edited"]


def test_archived_sections_keep_their_state(at: Layout) -> None:
    one = put(at, date(2026, 6, 1), "- merged")
    put(at, date(2026, 6, 1), "- waits")
    states = SectionStates(at, when=NOW)
    states.set([key_of("memory/2026-06-01.md", one)], "merged", when=NOW)
    assert archive(at, "memory/2026-06-01.md") == "memory/archive/2026-06-01.md"
    assert texts(states) == ["- waits"]
    again = put(at, date(2026, 6, 1), "- merged later")
    states.set([key_of("memory/2026-06-01.md", again)], "merged", when=NOW)
    assert archive(at, "memory/2026-06-01.md") == "memory/archive/2026-06-01-2.md"
    assert texts(states) == ["- waits"]
    assert texts(SectionStates(at, when=NOW)) == ["- waits"]
    assert len(states.known("merged")) == 2


def test_an_archive_before_the_first_opening_begins_no_states(at: Layout) -> None:
    put(at, date(2026, 6, 1), "- a")
    archive(at, "memory/2026-06-01.md")
    put(at, date(2026, 6, 1), "- b", MARK - timedelta(days=1))
    write_watermark(at, MARK)
    archive(at, "memory/2026-06-01.md")
    assert texts(SectionStates(at, when=NOW)) == ["- a"]


def test_torn_and_foreign_lines_are_passed_over(at: Layout) -> None:
    one = put(at, date(2026, 6, 1), "- a")
    states = SectionStates(at, when=NOW)
    with at.sections.open("ab") as file:
        file.write(b'42\n{"state":"unheard of","file":"x"}\n\xff\xfe\n{"file":"2026-06')
    states.set([key_of("memory/2026-06-01.md", one)], "left_out", when=NOW)
    assert texts(states) == []
    again = SectionStates(at, when=NOW)
    assert again.waiting() == []
    assert again.skipped == 4
