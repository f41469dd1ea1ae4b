"""The keys of the memory place. One key means one thing; which, follows from what is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.gui.look.text import tr
from app.gui.panes.memory.conflicts import Choice
from app.gui.widgets.action import Action

if TYPE_CHECKING:
    from app.gui.panes.memory.pane import MemoryPane

HERE = "pane:memory"


def memory_actions(pane: MemoryPane) -> list[Action]:
    """All of them, for keys, menu, palette and F1."""

    def only(*modes: str) -> Callable[[], str]:
        def off() -> str:
            if pane.mode in modes:
                return ""
            return {
                "review": tr("Open a proposal first."),
                "file": tr("Go back to MEMORY.md first."),
                "version": tr("Show an earlier version first."),
                "compare": tr("Compare two versions, or list what was lost, first."),
                "lists": tr("List what was refused first."),
            }[modes[0]]

        return off

    review = only("review")

    def no_hits() -> str:
        off = only("file", "version")()
        return off or ("" if pane.file.finds() else tr("Nothing is being looked for."))

    def act(name: str, title: str, icon: str, run: object, key: str = "", **more: object) -> Action:
        return Action(f"memory.{name}", title, icon, run, key, when=HERE, menu="Memory", **more)  # type: ignore[arg-type]

    def choosing(key: Choice) -> Callable[[], None]:
        return lambda: pane.choose(key)

    chosen: tuple[tuple[Choice, str, str, str], ...] = (
        ("now", "1", tr("Conflict: what the file has now"), "file-text"),
        ("theirs", "2", tr("Conflict: what the proposal says"), "git-pull-request-arrow"),
        ("both", "3", tr("Conflict: both; again for the other order"), "list-plus"),
        ("neither", "4", tr("Conflict: neither"), "list-x"),
    )
    return [
        act("review", tr("Open the waiting review"), "git-pull-request-arrow", pane.show_waiting,
            "G, R"),
        act("next", tr("Next change or line"), "arrow-down", lambda: pane.step(1), "J",
            also=("F7",)),
        act("previous", tr("Previous change or line"), "arrow-up", lambda: pane.step(-1), "K",
            also=("Shift+F7",)),
        act("accept", tr("Accept the change"), "check", lambda: pane.decide("accept"), "A",
            off=review),
        act("reject", tr("Reject the change, or restore the version shown"), "x",
            pane.reject_or_restore, "R", off=only("review", "version")),
        act("edit", tr("Edit the change before accepting, or MEMORY.md"), "pencil", pane.edit, "E",
            off=only("file", "review")),
        *(
            act(f"choose_{key}", title, icon, choosing(key), cap, off=review)
            for key, cap, title, icon in chosen
        ),
        act("undecide", tr("Take the decision back"), "undo-2", pane.take_back, "U", off=review),
        act("accept_rest", tr("Accept the rest, but no loss"), "check-check", pane.accept_rest,
            "Shift+A", off=review),
        act("reject_all", tr("Reject the whole proposal"), "circle-x", pane.reject_all, "Shift+R",
            off=review),
        act("apply", tr("Apply what was decided"), "check-check", pane.apply, "Ctrl+Enter",
            also=("Ctrl+Return",),
            off=lambda: review() or pane.why_not_apply()),
        act("apart", tr("Take a merge or split apart, or put it together again"), "ungroup",
            pane.turn_apart, "T", off=review),
        act("again", tr("Run again with another model, or compare the two"), "repeat-2",
            pane.run_again, "M", off=only("review", "compare")),
        act("columns", tr("Conflicts in three columns, or in the list"), "columns-3",
            pane.turn_columns, "C", off=review),
        act("turn", tr("Side by side or inline; changes or result when narrow"), "columns-2",
            pane.turn, "D", off=only("review", "closed")),
        act("sources", tr("Go to the source in the daily log"), "calendar-days", pane.go_source,
            "G, P", off=only("file", "review")),
        act("message", tr("Go to the message behind it"), "message-square", pane.go_message,
            "G, M", off=only("file", "review")),
        act("why", tr("Why is this line here?"), "circle-question-mark", pane.show_why, "W",
            off=only("file")),
        act("origins", tr("Show where each line came from"), "rotate-ccw-clock",
            pane.toggle_origins, "B", off=only("file"), checked=lambda: pane.origins_on),
        act("pin", tr("Pin or unpin the line"), "pin", pane.pin, "P", off=only("file")),
        act("older", tr("Older version"), "skip-back", lambda: pane.step_version(-1), ","),
        act("newer", tr("Newer version"), "skip-forward", lambda: pane.step_version(1), ";"),
        act("compare", tr("Compare the two versions"), "git-compare", pane.compare_pair, "V"),
        act("bring_back", tr("Bring the lost line back"), "plus", pane.bring_back, "+",
            off=only("compare", "lists")),
        act("queue", tr("All proposals"), "list-checks", lambda: pane.show_list("proposals"), "L"),
        act("losses", tr("What was lost, to be brought back"), "archive-restore",
            lambda: pane.show_list("losses"), "Shift+L"),
        act("refused", tr("What was refused and is not proposed again"), "ban",
            lambda: pane.show_list("refused"), "Shift+Q"),
        act("hit", tr("Next hit"), "arrow-down", lambda: pane.file.walk(1), "N", also=("F3",),
            off=no_hits),
        act("hit.back", tr("Previous hit"), "arrow-up", lambda: pane.file.walk(-1), "Shift+N",
            also=("Shift+F3",), off=no_hits),
        act("quality", tr("Repeated, outdated and contradicting lines"), "spell-check",
            lambda: pane.show_list("quality"), "Q"),
        act("forget_refusal", tr("Let the refused claim be proposed again"), "rotate-ccw",
            pane.forget_refusal, "Del", off=only("lists")),
        act("save", tr("Save MEMORY.md"), "save", pane.save_edit, "Ctrl+S",
            off=lambda: "" if pane.mode == "edit" else tr("Nothing is being edited.")),
        act("copy", tr("Copy the lines"), "copy", pane.copy_lines, "Ctrl+C"),
        act("consolidate", tr("Consolidate now"), "wand-sparkles", pane.consolidate_or_say,
            "Shift+C"),
    ]  # fmt: skip
