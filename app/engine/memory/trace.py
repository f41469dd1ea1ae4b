"""The trace of a memory: its log since the last reset, as plain values. Pure.

One event per message and one per compaction, in order; texts are whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.engine.session import entries as e
from app.engine.session.messages import owner, role_of


def trace_of(entries: Iterable[e.Entry | e.BadLine]) -> dict[str, Any]:
    """`events`, `total_events` and `total_compactions` of the entries of one log."""
    events: list[dict[str, Any]] = []
    by_id: dict[str, dict[str, Any]] = {}
    summaries: dict[str, str] = {}
    for entry in entries:
        match entry:
            case e.Reset():
                events.clear()
                by_id.clear()
            case e.MessageEntry() | e.ToolUse() | e.ToolResult():
                _take(entry, events, by_id)
            case e.Summary():
                summaries[entry.id] = entry.summary
            case e.Compaction():
                events.append({
                    "type": "compaction",
                    "ts": entry.timestamp,
                    "compaction_number": entry.number,
                    "messages_compacted": len(entry.covered or ()),
                    "summary": summaries.get(entry.summary_entry_id, ""),
                })  # fmt: skip
            case _:
                pass
    compactions = sum(1 for event in events if event["type"] == "compaction")
    return {
        "events": events,
        "total_events": len(events),
        "total_compactions": compactions,
    }


def _take(
    entry: e.MessageEntry | e.ToolUse | e.ToolResult,
    events: list[dict[str, Any]],
    by_id: dict[str, dict[str, Any]],
) -> None:
    known = by_id.get(owner(entry.id))
    if known is None:
        known = dict[str, Any]()
        known |= {"type": "message", "id": owner(entry.id), "ts": entry.timestamp, "content": ""}
        by_id[owner(entry.id)] = known
        events.append(known)
    match entry:
        case e.MessageEntry():
            known |= {"role": role_of(entry.role), "content": entry.content or ""}
        case e.ToolUse():
            known.setdefault("role", "assistant")
            known.setdefault("tool_calls", []).append(entry.name)
        case e.ToolResult():
            known |= {
                "role": "tool",
                "content": entry.output,
                "tool_name": entry.name,
                "tool_call_id": entry.tool_call_id,
            }
