"""The engine's asking half as far as the search place needs it, with a few hits of each layer."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.engine.errors import Unreadable
from app.engine.records import (
    Cause,
    DailyLine,
    DailySection,
    DayInfo,
    DayLog,
    EvictedInfo,
    Hit,
    IndexState,
    LeftOut,
    MemoryView,
    Query,
    SearchResult,
    SessionInfo,
    Span,
    TextPage,
    TranscriptItem,
)
from app.gui.panes.search.pane import SearchPane
from app.gui.widgets.pane import Desk
from tests.helpers.panes import on_desk, targets

DAY = datetime(2026, 11, 28, 17, 20, tzinfo=UTC)


def hit(layer="daily", text="- After the upload fix", start=12, **other) -> Hit:
    given = {"path": "memory/2026-11-28.md", "line": 11, "when": DAY} | other
    word = text[start : start + 6]
    spans = (Span(start, start + len(word)),)
    return Hit(layer=layer, text=text, spans=spans, score=1.0, **given)


HITS = (
    hit("sessions", "upload failed at night", 0, path="agents/a/sessions/s-1.log.jsonl", line=7,
        session_id="s-1", entry_id="e7", role="user"),
    hit("memory", "- uploads are retried twice", 2, path="MEMORY.md", line=3),
    hit(),
    hit("evicted", "tern upload --dry-run", 5, path="large_tool_results/a/c1-00", line=2,
        tool="execute"),
)  # fmt: skip


class Ask:
    """The engine's asking half as far as this place needs it. `answers` may be replaced."""

    def __init__(self) -> None:
        self.asked: list[Query] = []
        self.hits: tuple[Hit, ...] = HITS
        self.reason = ""
        self.causes: frozenset[Cause] = frozenset()
        self.gate: asyncio.Event | None = None
        self.cancelled = 0
        self.built = 0

    complete = True
    note = ""
    misread = ""  # what of the query was not taken as it may have been meant
    nearest: tuple[str, ...] = ()

    async def search(self, query: Query) -> SearchResult:
        self.asked.append(query)
        if self.gate is not None:
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        hits = [h for h in self.hits if not query.layers or h.layer in query.layers]
        counts: dict[str, int] = {}
        for one in hits:
            counts[one.layer] = counts.get(one.layer, 0) + 1
        mode = "words" if query.mode == "auto" else query.mode
        end = query.start + query.limit
        return SearchResult(
            tuple(hits[query.start : end]), len(hits), counts, mode,
            self.note if hits else self.reason, 0.006, self.complete,
            end if end < len(hits) else 0, () if hits else self.nearest,
            self.misread, frozenset() if hits else self.causes,
        )  # fmt: skip

    async def search_meaning(self, text: str) -> str:
        return f"Searching for “{text}”."

    async def sessions(self):
        return [SessionInfo("s-1", "Upload fix", DAY, DAY, 9, 9, 900)]

    async def days(self):
        return [DayInfo("memory/2026-11-28.md", date(2026, 11, 28), 1, 3, 100)]

    put_aside: Sequence[EvictedInfo] = ()

    async def evicted(self) -> Sequence[EvictedInfo]:
        return self.put_aside

    async def tools(self):
        return ["execute", "grep"]

    files: Sequence[LeftOut] = ()
    state = IndexState("ready", total=1204, done=1204)

    async def left_out(self) -> Sequence[LeftOut]:
        return self.files

    async def index(self) -> IndexState:
        return self.state

    async def reindex(self, *, rebuild: bool, initiator: object) -> str:
        self.built += rebuild
        return "j-1"

    async def memory(self):
        text = "# Memory\n\n- uploads are retried twice\n- No calls before 10:00"
        return MemoryView(text, "present", "x", 20, 1000, version=31)

    async def why(self, line: int):
        raise Unreadable("Nothing is known.")

    async def day(self, path: str):
        lines = tuple(
            DailyLine(n, text, "merged")
            for n, text in ((10, "- Retries of an upload stop"), (11, "- After the upload fix"))
        )
        section = DailySection(1, "flush", 8, DAY, lines, "h", session_id="s-1", first_entry="e1")
        return DayLog(path, date(2026, 11, 28), (section,))

    async def transcript(self, session_id, *, around="", limit=0):
        return [
            TranscriptItem("e6", 6, "assistant", DAY, "The upload runs."),
            TranscriptItem("e7", 7, "user", DAY, "upload failed at night"),
        ]

    async def evicted_page(self, path, start=0, length=40_000):
        text = "$ run\ntern upload --dry-run\ndone"
        return TextPage(text[start : start + length], start, len(text), len(text))


def asked_on(desk: Desk) -> Ask:
    """The desk's engine answers with those hits."""
    return on_desk(desk, Ask())


def shown_search(desk: Desk, qtbot: QtBot, qloop: AbstractEventLoop) -> Iterator[SearchPane]:
    """The search place on screen, for a fixture; `went` is where it asked to go, and its tasks are
    ended at the end."""
    made = SearchPane(desk)
    qtbot.addWidget(made)
    made.resize(1_076, 772)
    made.show()
    made.went = targets(made)  # type: ignore[attr-defined]
    yield made
    qloop.run_until_complete(made.tasks.end())


def listed(pane: SearchPane) -> list[str]:
    """The layers of the hits that are listed, in their order."""
    return [e.layer for e in pane.list.hits.entries() if isinstance(e, Hit)]


def settle(qloop, until, pane, condition) -> None:
    qloop.run_until_complete(until(condition))
    QApplication.processEvents()


def searched(qloop, until, pane, text: str) -> None:
    pane.field.set_query(text)
    answer = pane.results
    settle(qloop, until, pane, lambda: answer.answer and answer.answer.asked.text == text
           and not pane.tasks.running("search"))  # fmt: skip
