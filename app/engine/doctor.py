"""`doctor`: what is wrong with a workspace, each with a remedy. It changes nothing."""

from __future__ import annotations

import asyncio

from app.engine.errors import UserError
from app.engine.records import Finding
from app.engine.rooms import Rooms
from app.engine.session import entries as e
from app.engine.workspace.daily_log import list_days, read_day


async def examine(rooms: Rooms) -> list[Finding]:
    """Findings on files, history, index and model, the worst first."""
    found = await asyncio.to_thread(_on_disk, rooms)
    index = await rooms.index.check()
    if index.state in ("stale", "unavailable"):
        found.append(
            Finding("warning", "index", index.note or index.state, "Run: palimpsest index")
        )
    told = {finding.where for finding in found}
    found += [
        Finding("warning", one.path, f"It is not searched: it {one.why}.", "Make it UTF-8 text.")
        for one in await rooms.index.left_out()
        if one.path not in told
    ]
    try:
        rooms.endpoints.role("chat")
    except UserError as error:
        found.append(Finding("warning", "model", str(error), error.remedy))
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda finding: order[finding.severity])


def _on_disk(rooms: Rooms) -> list[Finding]:
    return [
        *(Finding("warning", "workspace", problem) for problem in rooms.problems),
        *_memory(rooms),
        *_days(rooms),
        *_sessions(rooms),
        *_proposals(rooms),
    ]


def _memory(rooms: Rooms) -> list[Finding]:
    found: list[Finding] = []
    file = rooms.writer.read()
    if file.state == "unreadable":
        found.append(Finding("error", "MEMORY.md", file.problem, "Save it as UTF-8 text."))
    for other in rooms.writer.other_spellings():
        if not other.same:
            remedy = "Move what you need into MEMORY.md."
            found.append(Finding("warning", other.name, "It is not used.", remedy))
    try:
        rooms.writer.pins()
        rooms.history.versions(1)
    except UserError as error:
        found.append(Finding("error", "history", str(error), error.remedy))
    if not rooms.layout.agents_md.exists():
        found.append(Finding("note", "AGENTS.md", "There is none.", "Write one in Settings."))
    return found


def _days(rooms: Rooms) -> list[Finding]:
    found: list[Finding] = []
    for info in list_days(rooms.layout):
        if problem := read_day(rooms.layout, info.path).problem:
            found.append(Finding("error", info.path, problem, "Save it as UTF-8 text."))
    return found


def _sessions(rooms: Rooms) -> list[Finding]:
    found: list[Finding] = []
    for info in rooms.store.list():
        path = rooms.layout.relative(rooms.layout.session_log(info.id))
        bad = [line.entry for line in rooms.store.log(info.id).read()]
        damaged = sum(isinstance(entry, e.BadLine) and not entry.torn for entry in bad)
        if damaged:
            said = f"{damaged} lines are no entries; they are skipped."
            found.append(Finding("warning", path, said, "Look at them in the timeline."))
        if any(isinstance(entry, e.BadLine) and entry.torn for entry in bad):
            said = "The last line is torn; it is set aside before the next message."
            found.append(Finding("note", path, said))
    return found


def _proposals(rooms: Rooms) -> list[Finding]:
    rooms.proposals.all()
    return [
        Finding("warning", f"proposals/{name}", "It is not understood and left alone.")
        for name in rooms.proposals.damaged
    ]
