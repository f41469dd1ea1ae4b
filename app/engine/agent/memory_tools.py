"""`memory_search`, `memory_get`, `memory_save`: the model's own access to what is kept.

Outputs are plain text in the form of the specification, section 14; the formatting is pure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from app.engine.agent.tools import Tool, ToolFailed, number_argument, text_argument, tool
from app.engine.records import Hit, Layer, Query, SearchResult
from app.engine.workspace.layout import Layout
from app.engine.workspace.paging import memory_lines

Search = Callable[[Query], Awaitable[SearchResult]]
Save = Callable[[str], Awaitable[str]]

MEMORY: frozenset[Layer] = frozenset({"memory", "daily"})
MOST_HITS = 30
MOST_PLACES = 3
OWN_SEARCHES = frozenset({"memory_search", "session_search"})
"""Tools whose calls and results hold every word that was ever looked for."""


def question(query: str, layers: frozenset[Layer], limit: int, context: int = 0) -> Query:
    """A model's words as a question; its own searches are no answers."""
    return Query(query, "natural", layers, limit=limit, context=context, skip_tools=OWN_SEARCHES)


async def found_for(
    search: Search, query: str, layers: frozenset[Layer], limit: int, context: int = 0
) -> SearchResult:
    """The answer to a model's query: as a question, or letter by letter when that finds nothing."""
    wanted = question(query, layers, limit, context)
    found = await search(wanted)
    if found.hits:
        return found
    exact = await search(replace(wanted, mode="literal"))
    return exact if exact.hits else found


def nothing_found(query: str, result: SearchResult) -> str:
    """The note for a query without hits: why, and which words there are instead."""
    nearest = ", ".join(result.nearest)
    parts = [f"Nothing found for {query!r}.", result.remark, nearest and f"Near: {nearest}."]
    return " ".join(filter(None, parts))


def format_hits(query: str, result: SearchResult) -> str:
    """A count line, an empty line, one `Source:` line per hit; what is left out is counted."""
    if not result.hits:
        return nothing_found(query, result)
    hits = result.hits[:MOST_HITS]
    lines = [f"{result.total} found for {query!r}:", ""]
    lines += [f"Source: {hit.path}#{hit.line}: {hit.text.strip()}{_also(hit)}" for hit in hits]
    left = result.total - sum(1 + len(hit.places) for hit in hits)
    if left > 0:
        lines += ["", f"{left} more are not shown; ask more precisely."]
    return "\n".join(lines)


def _also(hit: Hit) -> str:
    """Where else the same line stands."""
    others = ", ".join(f"{place.path}#{place.line}" for place in hit.places[:MOST_PLACES])
    return f" (also {others})" if others else ""


def _get(layout: Layout, arguments: dict[str, Any]) -> str:
    end = arguments.get("endLine")
    return memory_lines(
        layout,
        text_argument(arguments, "path"),
        number_argument(arguments, "startLine", 1),
        None if end is None else number_argument(arguments, "endLine", 0),
    )


def memory_tools(layout: Layout, search: Search, save: Save) -> list[Tool]:
    """The three tools over one workspace. `save` returns the sentence the model is told."""

    async def run_search(arguments: dict[str, Any]) -> str:
        query = text_argument(arguments, "query").strip()
        if not query:
            return "Nothing to search for: the query is blank."
        return format_hits(query, await found_for(search, query, MEMORY, MOST_HITS))

    async def run_get(arguments: dict[str, Any]) -> str:
        return await asyncio.to_thread(_get, layout, arguments)

    async def run_save(arguments: dict[str, Any]) -> str:
        content = text_argument(arguments, "content").strip()
        if not content:
            raise ToolFailed("There is nothing to save: the content is blank.")
        return await save(content)

    return [
        tool(
            "memory_search",
            "Search long-term memory and the daily logs. Plain words or a question.",
            run_search,
            required=("query",),
            query=("string", "What to look for."),
        ),
        tool(
            "memory_get",
            "Read lines of MEMORY.md or of a daily log under memory/.",
            run_get,
            required=("path",),
            path=("string", "MEMORY.md or memory/YYYY-MM-DD.md"),
            startLine=("integer", "First line, from 1."),
            endLine=("integer", "Last line, included."),
        ),
        tool(
            "memory_save",
            "Keep a fact for good. One Markdown bullet per fact.",
            run_save,
            required=("content",),
            content=("string", "The facts, as Markdown bullets."),
        ),
    ]
