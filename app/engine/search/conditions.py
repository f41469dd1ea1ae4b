"""Filters of a query as conditions of an SQL statement. Pure.

Invariant: what a person typed travels as a bound value only, never as part of the statement.
"""

from __future__ import annotations

from typing import Any

from app.engine.search.documents import ERROR, EVICTED
from app.engine.search.query import Filters

SLOTS = 12
"""Bits of a row id below the millisecond of its document."""


def conditions(
    workspace: str, match: str, without: str, filters: Filters
) -> tuple[list[str], list[Any]]:
    """Conditions on `terms t`, `docs d` and `files f`, and the values they bind."""
    where, values = ["f.workspace=?"], [workspace]
    if match and without:
        where.append("t.terms MATCH ?")
        values.append(f"({match}) NOT ({without})")
    elif match:
        where.append("t.terms MATCH ?")
        values.append(match)
    elif without:
        where.append("d.id NOT IN (SELECT rowid FROM terms WHERE terms MATCH ?)")
        values.append(without)
    for column, yes, no in (
        ("f.layer", filters.layers, filters.not_layers),
        ("d.role", filters.roles, filters.not_roles),
        ("lower(d.tool)", filters.tools, filters.not_tools),
    ):
        for names, operator in ((yes, "IN"), (no, "NOT IN")):
            if names:
                where.append(f"{column} {operator} ({','.join('?' * len(names))})")
                values += sorted(names)
    number = "t.rowid" if match else "d.id"
    return [*where, *_more(filters, number)], [*values, *_more_values(filters)]


def _more(filters: Filters, number: str) -> list[str]:
    where: list[str] = []
    if filters.sessions:
        where.append("(" + " OR ".join(["f.session GLOB ?"] * len(filters.sessions)) + ")")
    if filters.after is not None:
        where.append(f"{number}>=?")
    if filters.before is not None:
        where.append(f"{number}<?")
    for name in sorted(filters.has):
        where.append("d.tool<>''" if name == "tool" else "d.flags&?<>0")
    return where


def _more_values(filters: Filters) -> list[Any]:
    values: list[Any] = [f"{_glob(name)}*" for name in sorted(filters.sessions)]
    values += [
        max(0, int(instant.timestamp() * 1000)) << SLOTS
        for instant in (filters.after, filters.before)
        if instant is not None
    ]
    flags = {"evicted": EVICTED, "error": ERROR}
    return [*values, *(flags[name] for name in sorted(filters.has) if name in flags)]


def _glob(text: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)
