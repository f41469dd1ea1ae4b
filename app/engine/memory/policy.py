"""What may be written without a person, and what a person last stood behind. Pure but for reading
the history. Specification, section 10 (policies)."""

from __future__ import annotations

from collections.abc import Sequence

from app.engine.memory import checks
from app.engine.memory.likeness import words
from app.engine.memory.outline import bullet_key, bullets
from app.engine.memory.proposals import Stored
from app.engine.memory.versions import BY_POLICY
from app.engine.records import Change
from app.engine.workspace.history import History

_LOOK_BACK = 500  # versions


def held_back(policy: str, stored: Stored, found: Sequence[Change]) -> str:
    """Why a policy may not apply this proposal, in a sentence; "" when it may."""
    if policy == "review":
        return "It waits for your review."
    if stored.again_of:
        return "It stands beside the first one, for you to compare."
    bad = checks.failed(stored.checks)
    if bad:
        return f"A check failed: {bad[0].detail}"
    if any(c.kind == "dropped" for c in found):
        return "It drops a line."
    if any(_unfounded(stored, change) for change in found):
        return "New words stem from a tool or from an unknown source."
    if policy == "auto_additions" and any(c.kind != "added" for c in found):
        return "It does more than add lines."
    return ""


def _unfounded(stored: Stored, change: Change) -> bool:
    """Whether a change brings words that no person or model is known to have said.

    A line that was reworded, merged or parted counts when it holds a word its old lines lack.
    """
    if change.kind in ("moved", "section_renamed"):
        return False
    had = words("\n".join(change.before)) if change.before else frozenset[str]()
    for block in bullets("\n".join(change.after)):
        origins = stored.origins.get(bullet_key(block.text), ())
        if not words(block.text) <= had and (not origins or origins[0].role in ("", "tool")):
            return True
    return False


def approved(history: History) -> str:
    """The text of the last version a person stood behind; "" when there is none lately."""
    for version in history.versions(_LOOK_BACK):
        if version.cause == "saved":
            continue
        if version.cause != "consolidation" or version.note != BY_POLICY:
            return history.text(version.number)
    return ""
