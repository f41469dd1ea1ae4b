"""What can be done in the search place, as data for menus, keys and the palette."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.gui.look.text import tr
from app.gui.widgets.action import Action

if TYPE_CHECKING:
    from app.gui.panes.search.pane import SearchPane

HERE = "pane:search"


def search_actions(pane: SearchPane) -> list[Action]:
    """All of them; "back to the results" holds everywhere once a hit was opened."""
    walk = [
        Action("search.next_hit", tr("Next hit in the place"), "arrow-down",
               lambda: pane.preview.walk(1), "N", also=("F3",), when=HERE),
        Action("search.previous_hit", tr("Previous hit in the place"), "arrow-up",
               lambda: pane.preview.walk(-1), "Shift+N", also=("Shift+F3",), when=HERE),
        Action("search.parent", tr("Go to where the hit came from"), "corner-up-left",
               lambda: pane.follow("G, P"), "G, P", when=HERE, menu="Go",
               off=lambda: _no_way(pane, "G, P")),
        Action("search.child", tr("Go to what the hit became"), "corner-down-right",
               lambda: pane.follow("G, C"), "G, C", when=HERE, menu="Go",
               off=lambda: _no_way(pane, "G, C")),
        Action("search.back", tr("Back to the search results"), "undo",
               pane.back_to_list, "Backspace", when="window", off=pane.why_not_back),
    ]  # fmt: skip
    ask = [
        Action("search.field", tr("Type another search"), "search",
               pane.field.setFocus, "/", when=HERE),
        Action("search.mode", tr("Search in the next mode"), "case-sensitive",
               pane.next_mode, "Ctrl+L", when=HERE),
        Action("search.meaning", tr("Say what was searched for, and what can be typed"),
               "circle-question-mark", pane.turn_meaning, "?", also=("Ctrl+?",), when=HERE),
        Action("search.again", tr("Search again"), "refresh-cw",
               pane.search_again, "F5", when=HERE, off=lambda: _no_query(pane)),
        Action("search.filter", tr("Add a filter"), "list-filter",
               pane.parts.suggest.offer, "Ctrl+Space", when=HERE),
        Action("search.next_layer", tr("Show hits of the next place"), "chevron-right",
               lambda: pane.next_layer(1), "Ctrl+PgDown", when=HERE),
        Action("search.previous_layer", tr("Show hits of the previous place"), "chevron-left",
               lambda: pane.next_layer(-1), "Ctrl+PgUp", when=HERE),
        Action("search.order", tr("Turn the order: best or newest first"), "arrow-up-down",
               pane.turn_order, "Ctrl+Shift+O", when=HERE),
        Action("search.grouping", tr("Turn the groups: by place or by day"), "rows-3",
               pane.turn_grouping, "Ctrl+Shift+G", when=HERE),
        Action("search.similar", tr("Search for what is similar to this hit"), "sparkles",
               pane.similar, "Alt+Return", when=HERE, off=lambda: _no_hit(pane)),
        Action("search.copy", tr("Copy the text of the hit"), "copy",
               pane.copy_hit, "Ctrl+C", when=HERE, off=lambda: _no_hit(pane)),
        Action("search.save", tr("Save this search, or no longer"), "star",
               pane.save_search, "Ctrl+S", when=HERE, off=lambda: _no_query(pane)),
    ]  # fmt: skip
    ways = [
        Action(f"search.way{n}", tr("Take way out {n} of an empty result", n=n), "signpost",
               lambda n=n: pane.parts.none.take(n), f"Alt+{n}", when=HERE,
               off=lambda n=n: _no_out(pane, n))
        for n in range(1, 5)
    ]  # fmt: skip
    return [*ask, *walk, *ways]


def _no_query(pane: SearchPane) -> str:
    return "" if pane.asked().text else tr("Type something to search for first.")


def _no_hit(pane: SearchPane) -> str:
    return "" if pane.list.current() is not None else tr("There is no hit to do this with.")


def _no_way(pane: SearchPane, key: str) -> str:
    return "" if pane.preview.way(key) is not None else tr("Nothing is known of that.")


def _no_out(pane: SearchPane, n: int) -> str:
    there = pane.parts.none.isVisible() and n <= len(pane.parts.none.ways)
    return "" if there else tr("There is no such way out now.")
