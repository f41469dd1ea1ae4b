"""`session_search`, `session_list`, `session_history`: earlier conversations, for the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from app.engine.agent.memory_tools import Search, found_for, nothing_found, question
from app.engine.agent.tools import Tool, ToolFailed, number_argument, text_argument, tool
from app.engine.records import Hit, Layer, SearchResult, SessionInfo, TranscriptItem

Sessions = Callable[[str], Awaitable[list[SessionInfo]]]
Transcript = Callable[[str, int, str], Awaitable[list[TranscriptItem]]]

SESSIONS: frozenset[Layer] = frozenset({"sessions"})
SNIPPET = 200
MOST_RESULTS = 100
MOST_PAGES = 20
"""Pages of that many hits that are looked through for those of one agent."""
HISTORY_SNIPPET = 500


def cut(text: str, most: int) -> str:
    """The text on one line, at most `most` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def format_session(info: SessionInfo) -> str:
    when = info.last.strftime("%Y-%m-%d %H:%M") if info.last else "no date"
    return f"{info.id}: {cut(info.title, 80)} ({when}, {info.messages} messages)"


def format_found(query: str, result: SearchResult, most: int) -> str:
    """A count line, an empty line, and each hit with the entries around it, best first."""
    if not result.hits:
        return nothing_found(query, result)
    lines = [f"{result.total} found for {query!r}:", ""]
    for hit in result.hits[:most]:
        lines += _with_context(hit)
    left = result.total - sum(1 + len(hit.places) for hit in result.hits[:most])
    if left > 0:
        lines += ["", f"{left} more are not shown; raise maxResults or ask more precisely."]
    return "\n".join(lines)


def _with_context(hit: Hit) -> list[str]:
    """A hit as lines of at most `SNIPPET` characters of text each."""
    who = hit.tool or hit.role or "entry"
    return [
        *(f"    before: {cut(text, SNIPPET)}" for text in hit.before),
        f"{hit.session_id} {who}: {cut(hit.text, SNIPPET)}",
        *(f"    after: {cut(text, SNIPPET)}" for text in hit.after),
    ]


async def _of_agent(
    search: Search, query: str, found: SearchResult, agent: str, most: int
) -> SearchResult:
    """The hits in one agent's sessions, which may stand pages behind those of others."""
    hits: list[Hit] = []
    for _ in range(MOST_PAGES):
        hits += [hit for hit in found.hits if hit.path.startswith(f"agents/{agent}/")]
        if len(hits) >= most or not found.next:
            break
        following = question(query, SESSIONS, MOST_RESULTS, context=1)
        found = await search(replace(following, mode=found.mode, start=found.next))
    reason = found.reason or ("" if hits else f"The agent {agent!r} has said nothing of it.")
    return replace(found, hits=tuple(hits), total=len(hits), reason=reason)


def session_tools(search: Search, sessions: Sessions, transcript: Transcript) -> list[Tool]:
    """The three tools. `sessions(agent)` gives an agent's sessions, of "" this one's;
    `transcript(session_id, n, agent)` the newest n items of one, oldest first."""

    async def run_search(arguments: dict[str, Any]) -> str:
        query = text_argument(arguments, "query").strip()
        if not query:
            return "Nothing to search for: the query is blank."
        most = min(MOST_RESULTS, max(1, number_argument(arguments, "maxResults", 10)))
        agent = _agent(arguments)
        wide = MOST_RESULTS if agent else most
        found = await found_for(search, query, SESSIONS, wide, context=1)
        if agent:
            found = await _of_agent(search, query, found, agent, most)
        return format_found(query, found, most)

    async def run_list(arguments: dict[str, Any]) -> str:
        agent = _agent(arguments)
        known = await sessions(agent)
        whose = f"Of the agent {agent!r} there" if agent else "There"
        return "\n".join(map(format_session, known[:100])) or f"{whose} are no sessions yet."

    async def run_history(arguments: dict[str, Any]) -> str:
        session_id, agent = text_argument(arguments, "sessionId"), _agent(arguments)
        if session_id not in {one.id for one in await sessions(agent)}:
            raise ToolFailed(f"There is no session {session_id!r}. session_list names them.")
        count = max(1, number_argument(arguments, "lastN", 20))
        items = [i for i in await transcript(session_id, count * 3, agent) if i.kind in _SPOKEN]
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
            agentId=("string", "The agent whose sessions are meant; empty means all agents."),
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


def _agent(arguments: dict[str, Any]) -> str:
    """The agent whose sessions are meant; "" for this one."""
    return str(arguments.get("agentId") or "")


_SPOKEN = {"user": "user", "assistant": "assistant", "tool": "tool"}
