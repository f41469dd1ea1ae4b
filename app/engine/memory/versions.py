"""What a version of MEMORY.md that comes from a proposal must keep, and what it says of itself."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from app.engine.errors import UserError
from app.engine.memory import provenance
from app.engine.memory.diff import difference
from app.engine.memory.proposals import Stored
from app.engine.records import Decision, Version
from app.engine.workspace.history import History
from app.engine.workspace.pins import broken

BY_PERSON = "decided by a person"
BY_POLICY = "applied by policy"


def pins_hold(pins: Collection[str], base: str, text: str) -> None:
    """Raises `UserError` when `text` touches a line or section of `base` that is pinned."""
    if said := broken(base, text, pins):
        raise UserError(said, "Reject that change, or take the pin off first.")


def told_of(stored: Stored, text: str, history: History, when: datetime) -> dict[str, Any]:
    """The arguments of a version written for a proposal: cause, run, model, inputs, decisions,
    origins."""
    before = provenance.from_record(history.provenance())
    changes = difference(stored.base, text).changes
    origins = provenance.carried(text, changes, before, stored.origins)
    return {
        "cause": "consolidation",
        "when": when,
        "run": stored.id,
        "model": stored.model,
        "prompt_hash": stored.prompt_hash,
        "inputs": [f"{i.path}#{i.ordinal}" for i in stored.inputs],
        "decisions": ", ".join(_said(decision) for decision in stored.decisions),
        "provenance": provenance.to_record(origins),
        "note": BY_POLICY if stored.automatic else BY_PERSON,
    }


def undone_at(history: History, number: int) -> tuple[Version, int]:
    """The version whose text undo `number` took out or brought back, and how many undos in a row
    that makes: an odd one takes it out, an even one brings it back."""
    times = 1
    while (taken := history.version(number - times)).cause == "undo" and taken.number > 1:
        times += 1
    return taken, times


def _said(decision: Decision) -> str:
    """A decision as the history keeps it; own words stand in the version itself."""
    if decision.verdict == "reject":
        return f"{decision.n} rejected"
    return f"{decision.n} {'accepted' if decision.text is None else 'edited'}"
