"""The acts of the timeline as data: names, keys, and when they cannot be done."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from app.engine.records import SessionInfo
from app.gui.look.text import tr
from app.gui.widgets.action import Action

if TYPE_CHECKING:
    from app.gui.panes.timeline.pane import TimelinePane

HERE = "pane:timeline"
EVERY = (0, 1, 2, 3, 4, 5)


def timeline_actions(pane: TimelinePane) -> list[Action]:
    """What can be done in the timeline."""
    return [*_walking(pane), *_axis(pane), *_session(pane)]


def _no_session(pane: TimelinePane) -> str:
    return "" if pane.page.session is not None else tr("No session is shown.")


def _act(
    pane: TimelinePane, name: str, title: str, icon: str, run: Callable[[], object], key: str = "",
    *, also: tuple[str, ...] = (), off: Callable[[], str] | None = None, menu: str = "",
) -> Action:  # fmt: skip
    return Action(
        f"timeline.{name}", title, icon, run, key, also, when=HERE, menu=menu,
        off=off or (lambda: _no_session(pane)),
    )  # fmt: skip


def _walking(pane: TimelinePane) -> list[Action]:
    page = pane.page

    def walk(kind: str, by: int) -> Callable[[], object]:
        return lambda: page.walk(by, kind)

    def marks(by: int, lanes: tuple[int, ...]) -> Callable[[], object]:
        return lambda: page.walk_marks(by, lanes)

    def no_hits() -> str:
        return "" if page.finder.hits else tr("Nothing is being looked for.")

    return [
        _act(pane, "prompt", tr("Next prompt"), "message-square", walk("user", 1), "P"),
        _act(pane, "prompt.back", tr("Previous prompt"), "message-square", walk("user", -1),
             "Shift+P"),
        _act(pane, "tool", tr("Next tool call"), "wrench", walk("tool", 1), "T"),
        _act(pane, "tool.back", tr("Previous tool call"), "wrench", walk("tool", -1), "Shift+T"),
        _act(pane, "error", tr("Next error"), "circle-x", walk("error", 1), "X"),
        _act(pane, "error.back", tr("Previous error"), "circle-x", walk("error", -1), "Shift+X"),
        _act(pane, "mark", tr("Next mark on the axis"), "arrow-right-to-line",
             marks(1, EVERY), "]"),
        _act(pane, "mark.back", tr("Previous mark on the axis"), "arrow-left-to-line",
             marks(-1, EVERY), "["),
        _act(pane, "message", tr("Next message on the axis"), "message-square",
             marks(1, (0,)), "M"),
        _act(pane, "flush", tr("Next flush"), "download", marks(1, (2,)), "F"),
        _act(pane, "compaction", tr("Next compaction"), "diamond", marks(1, (3,)), "C"),
        _act(pane, "eviction", tr("Next result put aside"), "archive", marks(1, (4,)), "E"),
        _act(pane, "memory", tr("Next memory mark"), "book-open", marks(1, (5,)), "Shift+M"),
        _act(pane, "hit", tr("Next hit"), "arrow-down", lambda: page.finder.walk(1), "N",
             also=("F3",),
             off=no_hits),
        _act(pane, "hit.back", tr("Previous hit"), "arrow-up", lambda: page.finder.walk(-1),
             "Shift+N", also=("Shift+F3",), off=no_hits),
    ]  # fmt: skip


def _axis(pane: TimelinePane) -> list[Action]:
    page = pane.page
    return [
        _act(pane, "zoom.in", tr("Zoom into the axis"), "zoom-in", lambda: page.axis.zoom(1.6), "+",
             also=("=",)),
        _act(pane, "zoom.out", tr("Zoom out of the axis"), "zoom-out",
             lambda: page.axis.zoom(1 / 1.6), "-"),
        _act(pane, "zoom.fit", tr("Show the whole axis"), "maximize", page.axis.fit, "0"),
        _act(pane, "range.right", tr("Brush to the next mark"), "chevrons-right",
             lambda: page.axis.extend(1), "Shift+Right"),
        _act(pane, "range.left", tr("Brush back to the mark before"), "chevrons-left",
             lambda: page.axis.extend(-1), "Shift+Left"),
        _act(pane, "escape", tr("Close find, clear the range"), "x", pane.escape, "Esc",
             off=lambda: ""),
        _act(pane, "order", tr("By time or by order"), "arrow-down-up",
             lambda: page.set_by_order(not page.by_order), "O"),
        _act(pane, "view", tr("Full log or what the model saw"), "eye",
             lambda: page.set_mode("log" if page.mode == "model" else "model"), "V"),
    ]  # fmt: skip


def _session(pane: TimelinePane) -> list[Action]:
    page, deeds, tasks = pane.page, pane.deeds, pane.tasks

    def with_session(
        name: str, deed: Callable[[SessionInfo], Coroutine[Any, Any, None]]
    ) -> Callable[[], object]:
        def run() -> None:
            if page.session is not None:
                tasks.latest(name, deed(page.session))

        return run

    def no_block() -> str:
        return "" if page.sheet.current() is not None else tr("Choose an entry first.")

    def no_target() -> str:
        block = page.sheet.current()
        there = block is not None and block.item is not None and block.item.target
        return "" if there else tr("Nothing came of this entry yet.")

    def no_parent() -> str:
        there = page.session is not None and page.session.parent
        return "" if there else tr("This session is not a fork.")

    def remember() -> None:
        block = page.sheet.current()
        if page.session is not None and block is not None:
            marked = page.sheet.marked_text()
            tasks.latest("remember", deeds.remember(page.session.id, block, marked))

    return [
        _act(pane, "continue", tr("Continue in Chat"), "message-square", pane.continue_in_chat,
             "Shift+C"),
        _act(pane, "children", tr("What came of this entry"), "arrow-down-right", pane.follow,
             "G, C", off=no_target),
        _act(pane, "parent", tr("The session it was forked from"), "git-fork", pane.follow_parent,
             "G, P", off=no_parent),
        _act(pane, "remember", tr("Remember this"), "bookmark-plus", remember, "Ctrl+M",
             off=no_block),
        _act(pane, "copy", tr("Copy the entry"), "copy",
             lambda: deeds.copy(page.sheet.chosen(), page.sheet.marked_text()), "Ctrl+C",
             off=no_block),
        _act(pane, "rename", tr("Rename this session"), "pencil",
             with_session("rename", deeds.rename), "F2",
             menu="Session"),
        _act(pane, "trash", tr("Move this session to the trash"), "trash",
             with_session("trash", deeds.trash), "Del",
             menu="Session"),
        _act(pane, "export", tr("Export as Markdown"), "share",
             with_session("export", deeds.export),
             "Ctrl+E", menu="Session"),
        _act(pane, "filter", tr("Filter the sessions"), "list-filter", pane.side.filter.setFocus,
             "/", off=lambda: ""),
        _act(pane, "list", tr("Show or hide the sessions"), "panel-left", pane.toggle_list, "L",
             off=lambda: ""),
    ]  # fmt: skip
