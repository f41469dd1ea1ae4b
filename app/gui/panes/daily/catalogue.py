"""The acts of the daily logs as data: names, keys, and when they cannot be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.gui.look.text import tr
from app.gui.widgets.action import Action

if TYPE_CHECKING:
    from app.gui.panes.daily.pane import DailyPane

HERE = "pane:daily"


def daily_actions(pane: DailyPane) -> list[Action]:
    """What can be done in the daily logs."""

    def no_line() -> str:
        row = pane.cards.current()
        return "" if row is not None and row.line is not None else tr("Choose a line first.")

    def no_session() -> str:
        row = pane.cards.current()
        there = row is not None and row.section is not None and row.section.session_id
        return "" if there else tr("This was not written by a session.")

    def no_review() -> str:
        row = pane.cards.current()
        there = row is not None and row.line is not None and row.line.proposal
        return "" if there else tr("No review has seen this line yet.")

    def not_archived() -> str:
        return "" if pane.in_archive() else tr("What is shown is not in the archive.")

    def no_hits() -> str:
        return "" if pane.page.has_hits() else tr("Nothing is being looked for.")

    def no_earlier() -> str:
        return "" if pane.can_step(-1) else tr("There is no earlier day.")

    def no_later() -> str:
        return "" if pane.can_step(1) else tr("There is no later day.")

    def busy(kind: str) -> str:
        return tr("One is running.") if pane.jobs.running(kind) else ""

    return [
        Action("daily.before", tr("Previous day"), "chevron-left", lambda: pane.step(-1), "Left",
               when=HERE, menu="Go", off=no_earlier),
        Action("daily.after", tr("Next day"), "chevron-right", lambda: pane.step(1), "Right",
               when=HERE, menu="Go", off=no_later),
        Action("daily.today", tr("Go to today"), "calendar-days", pane.show_today, ".", when=HERE,
               menu="Go"),
        Action("daily.why", tr("Why is this line here"), "circle-question-mark", pane.why, "W",
               when=HERE, off=no_line),
        Action("daily.parent", tr("To the session it came from"), "corner-left-up",
               pane.to_session, "G, P", when=HERE, off=no_session),
        Action("daily.children", tr("To the review of this line"), "corner-right-down",
               pane.to_proposal, "G, C", when=HERE, off=no_review),
        Action("daily.flush", tr("Flush the newest session now"), "arrow-down-to-line", pane.flush,
               "F", when=HERE, menu="Memory", off=lambda: busy("flush")),
        Action("daily.consolidate", tr("Consolidate now"), "combine", pane.consolidate, "C",
               when=HERE, menu="Memory", off=lambda: busy("consolidate")),
        Action("daily.bring_back", tr("Bring back from the archive"), "archive-restore",
               pane.bring_back, "B", when=HERE, off=not_archived),
        Action("daily.copy", tr("Copy the line"), "copy", pane.copy, "Ctrl+C", when=HERE,
               off=no_line),
        Action("daily.hit", tr("Next hit"), "arrow-down", lambda: pane.page.walk_hits(1), "N",
               also=("F3",), when=HERE, off=no_hits),
        Action("daily.hit.back", tr("Previous hit"), "arrow-up", lambda: pane.page.walk_hits(-1),
               "Shift+N", also=("Shift+F3",), when=HERE, off=no_hits),
        Action("daily.side", tr("Show or hide calendar and files"), "panel-left", pane.toggle_side,
               "L", when=HERE),
        Action("daily.escape", tr("Close find"), "x", pane.escape, "Esc", when=HERE),
    ]  # fmt: skip
