"""How often people accepted what a model proposed, per model, curator and prompt. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from app.engine.memory.proposals import Stored
from app.engine.records import Acceptance

Tally = tuple[int, int, int]
"""Changes accepted, rejected, and edited (accepted in other words)."""


def tallied(stored: Stored) -> Tally:
    """What has been decided and carried out of one proposal so far.

    A proposal that was applied in parts keeps the earlier ones in `Stored.tally`; decisions that
    are not applied yet do not count, and neither does what a policy did.
    """
    if stored.automatic:
        return stored.tally
    if stored.state == "rejected":
        return _plus(stored.tally, (0, stored.counts[0], 0))
    if stored.state in ("applying", "applied", "partly_applied"):
        return _plus(stored.tally, _of_decisions(stored))
    return stored.tally


def acceptance(proposals: Iterable[Stored]) -> list[Acceptance]:
    """One row for each model, curator and prompt; those with the most decisions first."""
    rows: dict[tuple[str, str, str], Acceptance] = {}
    for stored in proposals:
        if stored.state == "failed":
            continue
        key = (stored.model, stored.curator, stored.prompt_hash)
        row = rows.get(key, Acceptance(*key, 0, 0, 0, 0))
        accepted, rejected, edited = tallied(stored)
        rows[key] = Acceptance(
            *key,
            proposals=row.proposals + 1,
            accepted=row.accepted + accepted,
            rejected=row.rejected + rejected,
            edited=row.edited + edited,
        )
    return sorted(rows.values(), key=lambda row: -(row.accepted + row.rejected))


def _of_decisions(stored: Stored) -> Tally:
    verdicts = [d.verdict for d in stored.decisions]
    edited = sum(1 for d in stored.decisions if d.verdict == "accept" and d.text is not None)
    return verdicts.count("accept"), verdicts.count("reject"), edited


def _plus(one: Tally, other: Tally) -> Tally:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]
