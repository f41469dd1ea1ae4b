"""What a version of MEMORY.md that comes from a proposal must keep, and what it says of itself."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from app.engine.errors import UserError
from app.engine.memory import provenance
from app.engine.memory.diff import difference
from app.engine.memory.outline import lines_of
from app.engine.memory.proposals import Stored
from app.engine.workspace.history import History

BY_PERSON = "decided by a person"
BY_POLICY = "applied by policy"


def pins_hold(pins: Iterable[str], base: str, text: str) -> None:
    """Raises `UserError` naming a pinned line of `base` that `text` no longer holds."""
    present = {line.strip() for line in lines_of(text)}
    had = {line.strip() for line in lines_of(base)}
    for line in pins:
        if line.strip() in had and line.strip() not in present:
            raise UserError(
                f"A pinned line would be lost: {line.strip()[:80]}",
                "Reject that change, or take the pin off first.",
            )


def told_of(stored: Stored, text: str, history: History, when: datetime) -> dict[str, Any]:
    """The arguments of a version written for a proposal: cause, run, model, inputs, origins."""
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
        "provenance": provenance.to_record(origins),
        "note": BY_POLICY if stored.automatic else BY_PERSON,
    }
