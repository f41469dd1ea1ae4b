"""Why a line is there: found by the engine, kept through rewording, honest when it is broken."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from app.engine.memory.provenance import Entry, Matcher, explain
from app.engine.memory.review import accept_all
from tests.helpers.consolidating import START, Desk

BASE = "# Memory\n\n- Bo is the designer of the studio\n"
LOG = "- Ines told us that she prefers all answers in Portuguese"
FACT = "- Ines prefers answers in Portuguese"
DAY = "memory/2026-06-02.md"


def consolidated(root: Path, answer: str, *lines: str) -> Desk:
    desk = Desk(root, answer, prepare=BASE, policy="review")
    desk.flush(*lines)
    run = asyncio.run(desk.run()).run
    shown = desk.review.show(run)
    desk.review.apply(run, accept_all(shown.changes), when=START)
    return desk


def test_a_bullet_leads_to_its_daily_line_and_its_session_entries(tmp_path: Path) -> None:
    desk = consolidated(tmp_path, BASE + FACT, "- The printer is new", LOG)
    found = explain(desk.writer, desk.states, 4)
    (source,) = found.sources
    assert (found.text, found.broken) == (FACT, "")
    assert (source.path, source.text) == (DAY, LOG)
    assert (tmp_path / DAY).read_text().split("\n")[source.line - 1] == LOG
    assert (source.session_id, source.entry_id) == ("s-1", "u-1")
    assert found.since is not None
    assert (found.since.cause, found.since.run) == ("consolidation", "r-1")


def test_a_change_shows_its_sources_before_it_is_decided(tmp_path: Path) -> None:
    desk = Desk(tmp_path, BASE + FACT, prepare=BASE, policy="review")
    desk.flush("- The printer is new", LOG)
    (change,) = desk.review.show(asyncio.run(desk.run()).run).changes
    assert [(s.path, s.session_id) for s in change.sources] == [(DAY, "s-1")]


def test_it_survives_rewording_and_merging(tmp_path: Path) -> None:
    desk = consolidated(tmp_path, BASE + FACT, LOG)
    reworded = FACT.replace("answers", "short answers")
    merged = f"# Memory\n\n- Bo is the designer of the studio and {reworded[2:]}"
    for n, text in enumerate([BASE + reworded, merged]):
        at = START + timedelta(hours=n + 1)
        desk.flush(f"- note {n} about something else", at=at)
        desk.model.replies = [text]
        run = asyncio.run(desk.run(at + timedelta(minutes=1))).run
        desk.review.apply(run, accept_all(desk.review.show(run).changes), when=at)
    found = explain(desk.writer, desk.states, 3)
    assert LOG in [source.text for source in found.sources]


def test_it_survives_the_archive_and_lines_put_before_it(tmp_path: Path) -> None:
    desk = consolidated(tmp_path, BASE + FACT, LOG)
    day = tmp_path / DAY
    day.write_text("written by hand\n" + day.read_text())
    (tmp_path / "memory" / "archive").mkdir()
    day.rename(tmp_path / "memory" / "archive" / day.name)
    (source,) = explain(desk.writer, desk.states, 4).sources
    assert source.path == "memory/archive/2026-06-02.md"
    lines = (tmp_path / source.path).read_text().split("\n")
    assert lines[source.line - 1] == LOG == source.text


def test_a_broken_link_says_so(tmp_path: Path) -> None:
    desk = consolidated(tmp_path, BASE + FACT, LOG)
    (tmp_path / DAY).unlink()
    found = explain(desk.writer, desk.states, 4)
    assert found.sources == ()
    assert "no longer be found" in found.broken
    hand = explain(desk.writer, desk.states, 3)
    assert hand.sources == ()
    assert "by hand" in hand.broken
    assert explain(desk.writer, desk.states, 99).broken


def test_no_text_is_kept_in_the_record(tmp_path: Path) -> None:
    desk = consolidated(tmp_path, BASE + FACT, LOG)
    assert "Portuguese" not in str(desk.writer.history.provenance())


def test_chinese_is_matched_by_pairs_of_characters(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.flush("- 团队在六月进行数据库迁移", "- 会议室的钥匙在前台")
    matcher = Matcher(desk.states.waiting())
    assert [o.line for o in matcher.origins("- 数据库迁移定在六月")] == [4]
    assert matcher.origins("- 用户喜欢爬山") == ()


def test_the_entry_that_is_most_like_the_line_says_whose_words_they_are(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.flush(FACT, "- The page says that writes need no review", origin="mixed")
    entries = [
        Entry("u-1", "user", "please answer in Portuguese, Ines prefers that"),
        Entry("t-1", "tool", "documentation: writes need no review, says the page"),
    ]
    matcher = Matcher(desk.states.waiting(), lambda _session, _first, _last: entries)
    assert [(o.entry, o.role) for o in matcher.origins(FACT)] == [("u-1", "user")]
    (tool,) = matcher.origins("- Writes need no review")
    assert (tool.entry, tool.role) == ("t-1", "tool")
    without = Matcher(desk.states.waiting())
    assert [o.role for o in without.origins(FACT)] == [""]
