"""Sessions and their items in memory, asked in pages as the real ones are, for the timeline."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from pytestqt.qtbot import QtBot

from app.engine.records import SessionInfo, TranscriptItem
from app.gui.panes.timeline.blocks import place_of_entry
from app.gui.panes.timeline.pane import TimelinePane
from app.gui.widgets.pane import Desk
from tests.helpers.panes import Until, in_window, settled

NOW = datetime(2026, 11, 30, 14, 6, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return NOW - timedelta(minutes=60) + timedelta(minutes=minutes)


def said(n: int, kind: str = "user", **more: object) -> TranscriptItem:
    fields: dict[str, object] = {"text": f"text {n}", "when": at(n), **more}
    return TranscriptItem(id=f"e{n}", seq=n, kind=kind, **fields)  # type: ignore[arg-type]


def conversation() -> list[TranscriptItem]:
    """Two compacted messages, an eviction between them, their compaction, and what came after."""
    return [
        said(1, covered_by="e5"),
        TranscriptItem(id="e2", seq=2, kind="eviction", when=at(2), target="evicted/a.txt",
                       detail={"chars": 28_400}),
        said(3, "assistant", covered_by="e5"),
        said(4),
        TranscriptItem(id="e5", seq=5, kind="compaction", when=at(5), text="## GOAL\nWhat was said",
                       detail={"before": 26_900, "after": 8_400, "number": 3, "covered": 2}),
        TranscriptItem(id="e6", seq=6, kind="tool", when=at(6), tool="shell",
                       arguments='{"command": "ls -l"}', result="a\nb\nc",
                       detail={"result_id": "e7"}),
        TranscriptItem(id="e8", seq=8, kind="tool", when=at(8), tool="shell", result="boom",
                       is_error=True),
        TranscriptItem(id="e9", seq=9, kind="gap", when=None, text="not JSON",
                       detail={"raw": "{torn"}),
        TranscriptItem(id="e10", seq=10, kind="flush", when=at(10), target="memory/2026-11-30.md",
                       detail={"bullets": 2, "run": "r1"}),
        TranscriptItem(id="e11", seq=11, kind="consolidation", when=at(11), target="p1"),
        said(12, "assistant", text="**Done** in `x`"),
    ]  # fmt: skip


def session(id: str, **more: object) -> SessionInfo:
    fields: dict[str, object] = {
        "title": f"Session {id}", "first": at(0), "last": at(20), "entries": 20, "messages": 6,
        "bytes": 1_400, **more,
    }  # fmt: skip
    return SessionInfo(id=id, **fields)  # type: ignore[arg-type]


class Engine:
    """Sessions and their items in memory, asked in pages as the real one is."""

    def __init__(self) -> None:
        self.items = {"a": conversation(), "b": [said(1, text="中文的一行")]}
        self.list = [session("a", compactions=1, flushes=1), session("b", last=at(-3_000))]
        self.done: list[tuple[object, ...]] = []
        self.asked: list[tuple[object, ...]] = []

    async def sessions(self) -> list[SessionInfo]:
        return list(self.list)

    async def transcript(
        self, session_id: str, *, before: int | None = None, around: str = "", limit: int = 2_000
    ) -> list[TranscriptItem]:
        self.asked.append((session_id, around or before, limit))
        items = self.items[session_id]
        if around:
            place = place_of_entry(items, around)
            first = max(place - limit // 2, 0)
            return items[first : first + limit] if place >= 0 else []
        return [i for i in items if before is None or i.seq < before][-limit:]

    async def full_text(self, session_id: str, item_id: str) -> str:
        return "whole"

    async def rename_session(self, session_id: str, title: str, *, initiator: object) -> None:
        self.done.append(("rename", session_id, title))

    async def trash_session(self, session_id: str, *, initiator: object) -> None:
        self.done.append(("trash", session_id))
        self.list = [s for s in self.list if s.id != session_id]

    async def restore_session(self, session_id: str, *, initiator: object) -> None:
        self.done.append(("restore", session_id))
        self.list = [session(session_id), *self.list]

    async def remember(self, text: str, *, session_id: str, entry_id: str, initiator: object):
        self.done.append(("remember", text, session_id, entry_id))

    async def undo(self) -> None:
        self.done.append(("undo",))


def shown_pane(desk: Desk, qtbot: QtBot, qloop: AbstractEventLoop) -> Iterator[TimelinePane]:
    """A timeline in a shown window, for a fixture; its tasks are ended at the end."""
    yield from in_window(TimelinePane(desk), qtbot, qloop)


def started(pane: TimelinePane, qloop: AbstractEventLoop, until: Until) -> None:
    """Show the newest session, and wait until all is at rest."""
    pane.activate()
    qloop.run_until_complete(until(lambda: pane.page.items))
    qloop.run_until_complete(settled(pane, until))
