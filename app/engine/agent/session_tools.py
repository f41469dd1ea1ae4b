"""`session_search`, `session_list`, `session_history`: earlier conversations, for the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from app.engine.agent.memory_tools import Search
from app.engine.agent.tools import Tool, ToolFailed, number_argument, text_argument, tool
from app.engine.records import Query, SessionInfo, TranscriptItem

Sessions = Callable[[], Awaitable[list[SessionInfo]]]
Transcript = Callable[[str, int], Awaitable[list[TranscriptItem]]]

SNIPPET = 200
HISTORY_SNIPPET = 500


def cut(text: str, most: int) -> str:
    """The text on one line, at most `most` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def format_session(info: SessionInfo) -> str:
    when = info.last.strftime("%Y-%m-%d %H:%M") if info.last else "no date"
    return f"{info.id}: {cut(info.title, 80)} ({when}, {info.messages} messages)"


def session_tools(search: Search, sessions: Sessions, transcript: Transcript) -> list[Tool]:
    """The three tools. `transcript(session_id, n)` gives the newest n items, oldest first."""

    async def run_search(arguments: dict[str, Any]) -> str:
        query = text_argument(arguments, "query").strip()
        if not query:
            return "Nothing to search for: the query is blank."
        most = max(1, number_argument(arguments, "maxResults", 10))
        wanted = Query(query, mode="auto", layers=frozenset({"sessions"}), limit=most)
        found = await search(wanted)
        if not found.hits:
            return f"Nothing found for {query!r}. {found.reason}".strip()
        lines = [f"{found.total} found for {query!r}:", ""]
        for hit in found.hits[:most]:
            who = hit.tool or hit.role or "entry"
            lines.append(f"{hit.session_id} {who}: {cut(hit.text, SNIPPET)}")
        return "\n".join(lines)

    async def run_list(arguments: dict[str, Any]) -> str:
        known = await sessions()
        return "\n".join(map(format_session, known[:100])) or "There are no sessions yet."

    async def run_history(arguments: dict[str, Any]) -> str:
        session_id = text_argument(arguments, "sessionId")
        if session_id not in {one.id for one in await sessions()}:
            raise ToolFailed(f"There is no session {session_id!r}. session_list names them.")
        count = max(1, number_argument(arguments, "lastN", 20))
        items = [i for i in await transcript(session_id, count * 3) if i.kind in _SPOKEN]
        return "\n".join(
            f"[{_SPOKEN[i.kind]}] {cut(i.text or i.result or i.arguments, HISTORY_SNIPPET)}"
            for i in items[-count:]
        )

    agent = ("string", "The agent whose sessions are meant; empty is this one.")
    return [
        tool(
            "session_search",
            "Search all earlier conversations: messages, tool inputs and outputs.",
            run_search,
            required=("query",),
            query=("string", "What to look for."),
            agentId=agent,
            maxResults=("integer", "How many hits at most (10)."),
        ),
        tool("session_list", "List earlier conversations, newest first.", run_list, agentId=agent),
        tool(
            "session_history",
            "The last messages of one conversation.",
            run_history,
            required=("sessionId",),
            agentId=agent,
            sessionId=("string", "The session's id, from session_list."),
            lastN=("integer", "How many messages (20)."),
        ),
    ]


_SPOKEN = {"user": "user", "assistant": "assistant", "tool": "tool"}
