"""Putting a computed compaction into its session, or into its log why there is none.

One way for every owner of a session: the engine's keeper and a memory of one's own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from app.engine.context.compaction import Compaction, NotCompacted, Outcome
from app.engine.context.compactor import ConversationCompactor
from app.engine.events import Activity
from app.engine.session import entries as e
from app.engine.session.session import Session

MOVED = "The conversation moved on meanwhile; its compaction was thrown away."

T = TypeVar("T")


class Run(Protocol):
    """Carries out work on the session, in a thread, one at a time."""

    def __call__(self, work: Callable[[Session], T], /) -> Awaitable[T]: ...


async def commit(
    compactor: ConversationCompactor,
    outcome: Outcome,
    session_id: str,
    run: Run,
    emit: Callable[[Activity], object],
) -> Compaction | None:
    """The compaction if it counts now; None when there was none, or the context moved meanwhile."""
    if isinstance(outcome, NotCompacted):
        if outcome.kind in ("failed", "no_gain"):
            failed = e.CompactionFailed(reason=outcome.reason, raw=outcome.raw[:10_000])
            await run(lambda session: session.append(failed))
        return None
    made = outcome
    done = await run(
        lambda session: session.commit_compaction(
            summary=made.summary,
            message=made.message,
            covered=[i for i in made.covered if i != made.pending],
            pending=made.pending,
            reason=made.reason,
            format=made.profile,
            before=made.before,
            after=made.after,
        )
    )
    if done is None:
        emit(Activity("compaction", "skipped", session_id, reason=MOVED))
        return None
    await compactor.committed(made, done.number)
    return made
