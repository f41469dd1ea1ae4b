"""`memory_search`, `memory_get`, `memory_save`: the model's own access to what is kept.

Outputs are plain text in the form of the specification, section 14; the formatting is pure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from app.engine.agent.tools import Tool, ToolFailed, number_argument, text_argument, tool
from app.engine.records import Query, SearchResult
from app.engine.workspace.layout import Layout
from app.engine.workspace.paging import memory_lines

Search = Callable[[Query], Awaitable[SearchResult]]
Save = Callable[[str], Awaitable[str]]

MOST_HITS = 30


def format_hits(query: str, result: SearchResult) -> str:
    """A count line, an empty line, one `Source:` line per hit; what is left out is counted."""
    if not result.hits:
        reason = f" {result.reason}" if result.reason else ""
        return f"Nothing found for {query!r}.{reason}"
    hits = result.hits[:MOST_HITS]
    lines = [f"{result.total} found for {query!r}:", ""]
    lines += [f"Source: {hit.path}#{hit.line}: {hit.text.strip()}" for hit in hits]
    if result.total > len(hits):
        lines += ["", f"{result.total - len(hits)} more are not shown; ask more precisely."]
    return "\n".join(lines)


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
        wanted = Query(query, mode="auto", layers=frozenset({"memory", "daily"}), limit=MOST_HITS)
        return format_hits(query, await search(wanted))

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
