"""Filters of a query as conditions of an SQL statement. Pure.

Invariant: what a person typed travels as a bound value only, never as part of the statement.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from app.engine.search.query import Filters
from app.engine.search.rows import ERROR, EVICTED


def conditions(
    workspace: str, match: str, without: str, filters: Filters, late: int
) -> tuple[list[str], list[Any]]:
    """Conditions on `terms t`, `docs d` and `files f`, and the values they bind.

    `late` is by how many seconds a row id may lie behind its document's moment. (`folded` is no
    function of SQLite's: the connection has it from us.)
    """
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
        ("d.tool", filters.tools, filters.not_tools),
    ):
        for names, operator in ((yes, "IN"), (no, "NOT IN")):
            if names:
                marks = ",".join("?" * len(names))
                if column != "f.layer":
                    marks = f"SELECT id FROM names WHERE folded(name) IN ({marks})"
                where.append(f"{column} {operator} ({marks})")
                values += sorted(names)
    for more, more_values in (
        within(filters, "t.rowid" if match else "d.id", late),
        _more(filters),
    ):
        where += more
        values += more_values
    return where, values


def within(filters: Filters, number: str, late: int) -> tuple[list[str], list[Any]]:
    """The times of a query as conditions on the row id, called `number`: quick, but not exact."""
    where: list[str] = []
    values: list[Any] = []
    if filters.after is not None:
        where.append(f"{number}>=?")
        values.append(max(0, int(filters.after.timestamp())))
    if filters.before is not None:
        where.append(f"{number}<?")
        values.append(ceil(filters.before.timestamp()) + late + 1)
    return where, values


def _more(filters: Filters) -> tuple[list[str], list[Any]]:
    where: list[str] = []
    values: list[Any] = [f"{_glob(name)}*" for name in sorted(filters.sessions)]
    if values:
        where.append("(" + " OR ".join(["f.session GLOB ?"] * len(values)) + ")")
    for instant, sign in ((filters.after, ">="), (filters.before, "<")):
        if instant is not None:
            where.append(f"d.id*1000+d.part{sign}?")
            values.append(ceil(instant.timestamp() * 1000))
    flags = {"evicted": EVICTED, "error": ERROR}
    for name in sorted(filters.has):
        where.append("d.tool<>0" if name == "tool" else "d.flags&?<>0")
        values += [flags[name]] if name in flags else []
    return where, values


def _glob(text: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)
