"""Looking through the files themselves, when the index cannot answer.

Idea: the same documents, read one after another, newest files first, until the time or the hits
run out. Invariant: bounded, whatever the size of the workspace; stops within one document of
`halt()`. Synchronous.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from msgspec import Struct

from app.engine.records import Layer
from app.engine.search.documents import (
    Encoding,
    documents,
    layer_of,
    open_for_reading,
    place_of,
    session_of,
)
from app.engine.search.query import Filters
from app.engine.search.rows import ERROR, EVICTED, Cursor, Document, moment
from app.engine.search.scanner import newest_first, scan
from app.engine.search.terms import fold

MOST = 5_000
"""Matches collected at most, so that memory stays flat."""


class Stopped(Exception):
    """A newer query took this one's place."""


class Found(Struct, frozen=True):
    """One document that matches, and where."""

    layer: Layer
    path: str
    line: int
    text: str
    places: list[tuple[int, int]]
    when: datetime | None
    session: str
    entry: str
    role: str
    tool: str


def scan_files(
    root: Path, filters: Filters, judge: Callable[[str], list[tuple[int, int]] | None], *,
    limit: int, seconds: float, halt: Callable[[], bool], zone: tzinfo = UTC, beside: str = "",
) -> tuple[list[Found], bool]:  # fmt: skip
    """Documents that `judge` accepts, and whether everything was looked at. Raises `Stopped`.

    `seconds` bounds the work; what was found until then is the answer.
    """
    end = time.monotonic() + seconds
    found: list[Found] = []
    marks = scan(root, beside=beside).marks
    for path in newest_first(marks):
        layer = layer_of(path, beside)
        if layer is None or not _wants_file(filters, layer, session_of(path)):
            continue
        with suppress(OSError, Encoding), open_for_reading(place_of(root, path)) as file:
            written = moment(marks[path].mtime_ns / 1e9)
            for document in documents(file, layer, path, Cursor(), zone):
                if halt():
                    raise Stopped
                if time.monotonic() > end or len(found) >= max(limit, MOST):
                    return found, False
                if not isinstance(document, Document):
                    continue
                when = document.when or written
                if not _wants(filters, document, when):
                    continue
                places = judge(document.text)
                if places is not None:
                    found.append(_found(layer, path, document, when, places))
    return found, True


def _found(
    layer: Layer, path: str, doc: Document, when: datetime | None, places: list[tuple[int, int]]
) -> Found:
    return Found(
        layer, path, doc.line, doc.text, places, when, session_of(path), doc.entry, doc.role,
        doc.tool,
    )  # fmt: skip


def _wants_file(filters: Filters, layer: str, session: str) -> bool:
    if (filters.layers and layer not in filters.layers) or layer in filters.not_layers:
        return False
    return not filters.sessions or any(session.startswith(name) for name in filters.sessions)


def _wants(filters: Filters, doc: Document, when: datetime | None) -> bool:
    tool = fold(doc.tool)
    return not (
        (filters.roles and doc.role not in filters.roles)
        or doc.role in filters.not_roles
        or (filters.tools and tool not in filters.tools)
        or tool in filters.not_tools
        or (filters.after and (when is None or when < filters.after))
        or (filters.before and (when is None or when >= filters.before))
        or ("tool" in filters.has and not doc.tool)
        or ("error" in filters.has and not doc.flags & ERROR)
        or ("evicted" in filters.has and not doc.flags & EVICTED)
    )
