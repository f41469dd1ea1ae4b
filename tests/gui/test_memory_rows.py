"""What the rows of a review say: groups, words, signs, and where losses stand in the result."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from app.engine.memory.diff import changes, difference, word_marks
from app.engine.memory.review import preview
from app.engine.records import Change, Decision, Version
from app.gui.panes.memory.change_rows import ChangeRow, ReviewRows
from app.gui.panes.memory.deciding import Deciding, group_of
from app.gui.panes.memory.file_page import as_it_was
from app.gui.panes.memory.lines import shown
from app.gui.panes.memory.overview import Overview
from app.gui.panes.memory.pieces import inline, pairs, pieces_of
from app.gui.panes.memory.result import Result, accepted, result_of, tints
from app.gui.panes.memory.result_panel import ResultPanel

BASE = """# Memory

## People

- Ines reviews anything that touches calibration
- Prefers short answers
- Wants the command first

## Tern

- Release 2.4 is frozen until 12 December
- Sensor 7 reads 3 cm high since the storm on 9 November
- 对账脚本每周一 07:00 运行
"""
CANDIDATE = """# Memory

## People

- Ines reviews anything that touches calibration
- Prefers short answers, wants the command first

## Tern

- Sensor 7 reads 2.4 cm high since the storm on 9 November
- 对账脚本每周一 06:30 运行
- Tide heights are meant above chart datum
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Sensor 7 reads 3 cm high", "Sensor 7 reads 2.4 cm high, recalibrated"),
        ("对账脚本每周一 07:00 运行", "对账脚本每周一 06:30 运行，失败时发邮件"),
        ("a  b", "a b"),
        ("", "all new"),
        ("all gone", ""),
        ("😀 x", "x 😀"),
    ],
)
def test_inline_holds_both_texts_in_order(old: str, new: str) -> None:
    text, runs = inline(old, new, word_marks(old, new))
    lost = "".join(text[r.start : r.end] for r in runs if r.look == "lost")
    kept, at = [], 0
    for run in [*runs]:
        kept.append(text[at : run.start])
        if run.look == "added":
            kept.append(text[run.start : run.end])
        at = run.end
    kept.append(text[at:])
    assert "".join(kept).replace(" ", "") == new.replace(" ", "")
    assert all(ch in old for ch in lost)


def test_groups_put_losses_before_all_that_can_be_seen() -> None:
    deciding = Deciding(changes(BASE, CANDIDATE))
    groups = [group for group, _ in deciding.groups]
    assert groups == ["dropped", "merged", "reworded", "added"]
    rows = ReviewRows(deciding, {})
    assert [r.title for r in rows if r.head] == ["Losses", "Merged", "Reworded", "Added"]
    first = rows[1]
    assert isinstance(first, ChangeRow)
    assert first.spoken.startswith("Lost, in Tern: Release 2.4 is frozen")


@pytest.mark.parametrize(
    ("old", "new", "group"),
    [
        ("- Log format is JSONL.", "- log format is jsonl", "wording"),
        ("- 周报用中文写，周五发出", "- 周报用中文写,周五发出。", "wording"),
        ("- Likes tea, coffee and rum", "- Likes tea, rum and coffee", "wording"),
        ("- tea, coffee and rum", "- Rum, tea, coffee", "wording"),
        ("- Ines asks Bo", "- Bo asks Ines", "reworded"),
        ("- Pump at 7:00", "- Pump at 70:0", "reworded"),
        ("- It is not on", "- It is on", "reworded"),
        ("- Costs 1,5 euros", "- Costs 15 euros", "reworded"),
    ],
)
def test_only_what_means_the_same_stands_apart_as_wording(old: str, new: str, group: str) -> None:
    assert group_of(Change(1, "reworded", (old,), (new,))) == group


def test_only_pairs_of_texts_ask_for_marks() -> None:
    found = pairs(changes(BASE, CANDIDATE))
    assert {old[:8] for _, old, _ in found} == {"Sensor 7", "对账脚本每周一 "}


def test_result_shows_signs_and_a_rule_where_a_line_went() -> None:
    diff = difference(BASE, CANDIDATE)
    decisions = [Decision(c.n, "accept") for c in diff.changes]
    deciding = Deciding(diff.changes, decisions)
    rows = result_of(BASE, preview(diff, decisions), accepted(deciding)).rows
    seen = [(r.sign or "gone" * bool(r.gone), r.shown.text[:8]) for r in rows if r.sign or r.gone]
    assert seen == [
        ("⊃", "Prefers "),
        ("gone", ""),
        ("~", "Sensor 7"),
        ("~", "对账脚本每周一 "),
        ("+", "Tide hei"),
    ]


def test_focus_is_tinted_where_it_stands_now_and_where_it_will() -> None:
    diff = difference(BASE, CANDIDATE)
    deciding = Deciding(diff.changes)
    reworded = next(c for c in diff.changes if any("Sensor" in line for line in c.before))
    deciding.focus = reworded.n
    result = result_of(BASE, preview(diff, ()), accepted(deciding))
    assert tinted(result, deciding) == ["Sensor 7 reads 3 cm high since the storm on 9 November"]
    deciding.moves_on = False
    deciding.decide([reworded.n], "accept")
    result = result_of(BASE, preview(diff, deciding.decisions()), accepted(deciding))
    assert tinted(result, deciding) == ["Sensor 7 reads 2.4 cm high since the storm on 9 November"]


def tinted(result: Result, deciding: Deciding) -> list[str]:
    focus = deciding.change(deciding.focus)
    found = tints(result, focus, deciding.decision(deciding.focus))
    return [row.shown.text for row in result.rows if row.id in found]


def test_selection_is_decided_as_one_and_the_same_key_takes_it_back() -> None:
    deciding = Deciding(changes(BASE, CANDIDATE))
    chosen = deciding.order[:3]
    assert deciding.decide(chosen, "reject")
    assert {d.n: d.verdict for d in deciding.decisions()} == dict.fromkeys(chosen, "reject")
    assert deciding.focus not in chosen
    assert not deciding.decide(chosen, "reject")
    assert deciding.decisions() == ()


def test_walking_past_the_end_goes_to_what_is_undecided_then_to_apply() -> None:
    deciding = Deciding(changes(BASE, CANDIDATE))
    for n in deciding.order[1:]:
        deciding.decide([n], "accept")
    deciding.focus = deciding.order[-1]
    assert deciding.step(1) == deciding.order[0]
    deciding.decide([deciding.order[0]], "reject")
    deciding.focus = deciding.order[-1]
    assert deciding.step(1) == 0


def test_lines_are_shown_as_text_whatever_they_hold() -> None:
    assert shown("## Head ##").text == "Head"
    code = shown("- Deploys with `make ship`, never `x`")
    assert code.text == "Deploys with make ship, never x"
    assert [code.text[r.start : r.end] for r in code.runs] == ["make ship", "x"]
    assert shown("- <img src=x>").text == "<img src=x>"
    assert shown("- \u202egnirts").text == "gnirts"
    assert shown("   ").blank


def test_side_by_side_each_line_of_a_merge_has_its_sign() -> None:
    merged = next(c for c in changes(BASE, CANDIDATE) if c.kind == "merged")
    pieces = pieces_of(merged, None, side=True, text=None)
    assert [(p.column, p.sign, p.text[:7]) for p in pieces] == [
        (1, "−", "Prefers"), (2, "+", "Prefers"), (1, "−", "Wants t"), (2, "", ""),
    ]  # fmt: skip


def test_a_heading_that_goes_is_a_section_lost_and_a_moved_line_says_from_where() -> None:
    gone = Change(1, "dropped", ("## People",), (), "People")
    moved = Change(2, "moved", ("- A",), ("- A",), "Tern", came_from="Folk")
    renamed = Change(3, "section_renamed", ("## Folk",), ("## People",), "People")
    rows = [r for r in ReviewRows(Deciding((gone, moved, renamed)), {}) if not r.head]
    assert [(r.word, r.section) for r in rows if isinstance(r, ChangeRow)] == [
        ("Section lost", "People"), ("Renamed", ""), ("Moved", "Folk → Tern"),
    ]  # fmt: skip


def test_a_version_of_today_is_named_by_its_time() -> None:
    now = datetime(2026, 11, 30, 14, 6, tzinfo=UTC)
    today = Version(3, "x", now - timedelta(minutes=6), "hand")
    before = Version(2, "x", now - timedelta(days=15), "hand")
    assert as_it_was(today, now).startswith("As it was at ")
    assert as_it_was(before, now).startswith("As it was on 15 Nov")


def test_rows_of_a_result_are_found_by_their_names() -> None:
    diff = difference(BASE, CANDIDATE)
    decisions = [Decision(c.n, "accept") for c in diff.changes]
    told = preview(diff, decisions)
    rows = result_of(BASE, told, accepted(Deciding(diff.changes, decisions))).rows
    assert [rows.place_of(row.id) for row in rows] == list(range(len(rows)))
    assert [rows.place_of(name) for name in ("", "l0", "l99", "g0", "x1")] == [-1] * 5
    assert [row.data for row in rows if row.number] == told.text.splitlines()


def test_nothing_before_the_first_row_that_differs_says_something_else() -> None:
    diff = difference(BASE, CANDIDATE)
    numbers = [c.n for c in diff.changes]
    before = None
    for many in range(1 << len(numbers)):
        decisions = [Decision(n, "accept") for at, n in enumerate(numbers) if many >> at & 1]
        deciding = Deciding(diff.changes, decisions)
        now = result_of(BASE, preview(diff, decisions), accepted(deciding), before=before)
        if before is not None:
            assert now.first < len(now.rows) or len(now.rows) < len(before)
            assert list(now.rows)[: now.first] == list(before)[: now.first]
            assert list(now.rows)[now.first :] != list(before)[now.first :]
        before = now.rows


def test_a_result_that_follows_another_keeps_the_line_that_was_chosen(qtbot: QtBot) -> None:
    diff = difference(BASE, CANDIDATE)
    panel = ResultPanel()
    qtbot.addWidget(panel)
    tester = QAbstractItemModelTester(
        panel.lines.rows_model, QAbstractItemModelTester.FailureReportingMode.Fatal, panel
    )
    said = [Decision(c.n, "accept") for c in diff.changes]
    for decided in ([], said, said[1:], [*said[:1], *said[2:]], []):
        before = panel.result.rows if panel.result is not None else None
        deciding = Deciding(diff.changes, decided)
        told = preview(diff, decided)
        panel.show_result(result_of(BASE, told, accepted(deciding), before=before))
        if before is None:
            panel.lines.select("l5", quiet=True)
        row = panel.lines.current_row()
        assert row is not None
        assert row.title.startswith("Ines reviews")
        shown_now = [row.data for row in panel.lines.rows_model.rows() if row.data is not None]
        assert shown_now == told.text.splitlines()
    tester.deleteLater()


def test_the_strip_draws_after_each_decision_what_a_fresh_one_draws(qtbot: QtBot) -> None:
    draw = random.Random(3)
    kinds = ("dropped", "added", "reworded")
    found = tuple(Change(n, draw.choice(kinds), ("- a",), ("- b",)) for n in range(1, 701))
    deciding = Deciding(found)
    strip, fresh = Overview(), Overview()
    for one in (strip, fresh):
        qtbot.addWidget(one)
    for turn in range(30):
        chosen = draw.sample(deciding.order, draw.choice((1, 2, 80)))
        deciding.decide(chosen, draw.choice(("accept", "reject")))
        fresh.deleteLater()
        fresh = Overview()
        for one in (strip, fresh):
            one.resize(18, 620 + turn // 10)
            one.show_deciding(deciding)
        assert strip.grab().toImage() == fresh.grab().toImage()
