"""Keeping a session's context within its limits: eviction, trimming, compaction, overflow.

Each step computes off to the side, in a thread as a long history takes a while, and commits one
durable entry; if the context moved meanwhile, the result is thrown away.
Order of work: specification, section 5.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

import msgspec

from app.engine.agent.assembly import Assembled, frame, surroundings
from app.engine.agent.live import LiveSession
from app.engine.agent.parts import AgentParts
from app.engine.config import CompactionConfig
from app.engine.context.committing import MOVED, commit
from app.engine.context.compactor import (
    Compaction,
    ConversationCompactor,
    Flush,
    NotCompacted,
    Outcome,
)
from app.engine.context.eviction import Eviction, ToolResultEvictor
from app.engine.context.overflow import Recovery, forced, plan_recovery
from app.engine.context.pace import Pace
from app.engine.context.summaries import SummaryAnswer, SummaryRequest
from app.engine.context.trimming import Cut, prune, truncate_args
from app.engine.context.units import Keep
from app.engine.context.window import reserved_tokens
from app.engine.errors import ContextOverflow, QuestionTooLong
from app.engine.events import Activity
from app.engine.llm.endpoint import Endpoint, Request, complete
from app.engine.llm.gauge import corrected_limit
from app.engine.records import CompactionReport, Message
from app.engine.session import entries as e
from app.engine.session.outgoing import outgoing


class ContextKeeper:
    """One session's keeper; it lives as long as the session is open."""

    def __init__(self, parts: AgentParts, live: LiveSession) -> None:
        self._parts = parts
        self._live = live
        self.pace = Pace()

    # ------------------------------------------------------------------ the conversation

    async def add(self, message: Message, seconds: float | None = None) -> Message:
        """Take a message in, durably; as it now stands. `seconds` is how long a call took."""
        return await self._live.write(lambda session: session.add(message, seconds=seconds))

    async def history(self) -> list[Message]:
        """The messages to send, as a strict provider accepts them."""
        return await asyncio.to_thread(outgoing, self._live.session.context)

    def recovers(self, around: Assembled) -> bool:
        """Whether an overflow may be answered by making room and asking once more."""
        return around.config.agent.compaction and around.config.agent.strategy != "basic"

    # ------------------------------------------------------------------ before a request

    async def before_request(self, endpoint: Endpoint, *, recovered: bool = False) -> Assembled:
        """Make the context fit to be sent; the surroundings of the request.

        `recovered`: room was made for this very request just now, and once is enough.
        """
        around = await surroundings(self._parts, self._live, endpoint)
        await self.evict(around)
        await self._trim(around)
        if self.recovers(around) and not recovered:
            await self._compact_if_due(around, endpoint)
            await self._fit(around, endpoint)
        return around

    async def _fit(self, around: Assembled, endpoint: Endpoint) -> None:
        """Make room for what does not fit into a window that is known, instead of sending it: some
        servers would cut it in silence (model-servers, section 4)."""
        window = around.window.tokens
        size = await self._tokens(around)
        room = window - reserved_tokens(around.config.compaction, window)
        if around.window.source == "default" or size <= room:
            return
        if size <= window and (await self._plan(around, room)).hopeless:
            return  # tight, but a short answer may fit
        words = f"The request of about {size:,} tokens does not fit into the window of {window:,}."
        await self.recover(around, endpoint, ContextOverflow(words, window=window))

    def _fixed(self, around: Assembled) -> int:
        """Tokens of a request beside its history."""
        return sum(part.tokens for part in around.injected.parts) + around.tool_tokens

    async def _tokens(self, around: Assembled) -> int:
        """Tokens of a request with its history."""
        context = self._live.session.context
        return self._fixed(around) + await asyncio.to_thread(around.counter.messages, context)

    async def _plan(self, around: Assembled, limit: int, keep: Keep | None = None) -> Recovery:
        return await asyncio.to_thread(
            plan_recovery,
            self._live.session.context,
            around.counter,
            limit=limit,
            fixed=self._fixed(around),
            keep=keep,
            may_evict=self._evictor(around).may,
        )

    async def evict(self, around: Assembled, also: Sequence[str] = ()) -> None:
        """Put long tool results aside; `also` names results that go whatever their length."""
        if not around.config.agent.tool_result_eviction:
            return
        evictor = self._evictor(around)
        done = await evictor.apply(self._live.session.context, also=also)
        for eviction in done.evictions:
            await self._live.write(lambda session, one=eviction: session.append(_evicted(one)))
        if done.evictions:
            self._parts.bus.changed("evicted", ids=(self._live.id,))

    def _evictor(self, around: Assembled) -> ToolResultEvictor:
        return ToolResultEvictor(
            around.config.eviction,
            self._parts.evictions.write,
            emit=self._parts.bus.publish,
            session_id=self._live.id,
        )

    async def _trim(self, around: Assembled) -> None:
        config, counter = around.config.compaction, around.counter
        context = self._live.session.context
        cut = await asyncio.to_thread(truncate_args, context, config.truncate_args, counter)
        await self._shorten(e.ArgsTruncation, cut.cuts)
        context = self._live.session.context
        cut = await asyncio.to_thread(prune, context, config.prune, counter)
        await self._shorten(e.Prune, cut.cuts)

    async def _shorten(
        self, kind: type[e.ArgsTruncation] | type[e.Prune], cuts: tuple[Cut, ...]
    ) -> None:
        if cuts:
            entry = kind(
                targets=tuple(cut.target for cut in cuts),
                in_context=tuple(cut.text for cut in cuts),
            )
            await self._live.write(lambda session: session.append(entry))

    # ------------------------------------------------------------------ compaction

    async def _compact_if_due(self, around: Assembled, endpoint: Endpoint) -> None:
        compactor = await self._compactor(around, endpoint)
        outcome = await compactor.compact_if_due(
            self._live.session.context, flush=self._flusher(around), offload=self._offload
        )
        if outcome is not None:
            await self._settle(compactor, outcome)

    async def compact(self, endpoint: Endpoint) -> CompactionReport:
        """Compact now, whatever the gain."""
        around = await surroundings(self._parts, self._live, endpoint)
        compactor = await self._compactor(around, endpoint)
        outcome = await compactor.compact(
            self._live.session.context, flush=self._flusher(around), offload=self._offload
        )
        done = await self._settle(compactor, outcome)
        if done is None:
            total = await self._tokens(around) - self._fixed(around)
            kept = len(self._live.session.context)
            reason = outcome.reason if isinstance(outcome, NotCompacted) else MOVED
            return CompactionReport(0, kept, total, total, reason=reason)
        return done.report()

    async def preview(self, endpoint: Endpoint) -> CompactionReport:
        """What `compact` would do; asks no model."""
        around = await surroundings(self._parts, self._live, endpoint)
        compactor = await self._compactor(around, endpoint)
        report = await asyncio.to_thread(compactor.preview, self._live.session.context)
        waiting = await self._live.do(lambda session: session.unflushed())
        unflushed = len(waiting.messages) if waiting else 0
        return msgspec.structs.replace(report, unflushed=min(unflushed, report.covered))

    async def _settle(
        self, compactor: ConversationCompactor, outcome: Outcome
    ) -> Compaction | None:
        """Commit what was computed, or log why there is nothing; the compaction if it counts."""
        made = await commit(
            compactor, outcome, self._live.id, self._live.write, self._parts.bus.publish
        )
        if made is not None:
            self._parts.bus.changed("context", ids=(self._live.id,))
        return made

    async def _compactor(
        self, around: Assembled, endpoint: Endpoint, config: CompactionConfig | None = None
    ) -> ConversationCompactor:
        config = config or around.config.compaction
        model = self._parts.endpoints.role("compaction", config.model)
        other = model is not endpoint
        summary_window = (await model.window()).tokens if other else 0

        async def summarise(request: SummaryRequest) -> SummaryAnswer:
            answer = await complete(
                model, Request(request.messages, request.system, (), request.max_output)
            )
            return SummaryAnswer(answer.text, answer.finish)

        # A model that cannot be trusted with memory cannot be trusted with a summary either: its
        # text would stand for the history. The extractive summary then does the work.
        trusted = model.fit_for_memory or not config.extractive_fallback
        return ConversationCompactor(
            config,
            around.counter,
            frame(self._parts, self._live, around, summary_window),
            summarise=summarise if trusted else None,
            summary_counter=self._parts.counter_for(model),
            pace=self.pace,
            emit=self._parts.bus.publish,
        )

    def _flusher(self, around: Assembled) -> Flush:
        config = around.config

        async def flush(prefix: tuple[Message, ...]) -> None:
            if not config.agent.memory_hooks or config.agent.strategy != "background":
                return
            if config.compaction.flush_wait:
                await self._parts.flush_now(self._live, "before compaction")
            else:
                self._parts.flush(self._live, "before compaction")

        return flush

    async def _offload(self) -> None:
        await self._live.do(lambda session: session.sync())

    # ------------------------------------------------------------------ overflow

    async def recover(self, around: Assembled, endpoint: Endpoint, error: ContextOverflow) -> None:
        """After an overflow: put aside and compact until the request should fit (section 8).

        Raises the overflow again, with a sentence of its own, when nothing can help.
        """
        window = await endpoint.window()
        estimated = await self._tokens(around)
        size = error.window or window.tokens
        room = size - reserved_tokens(around.config.compaction, size)
        limit = corrected_limit(room, estimated, error.requested or 0)
        entry = e.Overflow(requested=error.requested, window=error.window, reason=str(error))
        await self._live.write(lambda session: session.append(entry))
        self._emit("started", str(error))
        config = forced(around.config.compaction)
        compactor = await self._compactor(around, endpoint, config)
        plan = await self._plan(around, limit, compactor.thresholds.keep)
        if plan.hopeless:
            self._emit("failed", plan.hopeless)
            kind = QuestionTooLong if plan.too_large else ContextOverflow
            raise kind(
                plan.hopeless, plan.remedy, requested=error.requested, window=size, raw=error.raw
            ) from error
        if around.config.agent.memory_hooks and around.config.agent.strategy == "background":
            self._parts.flush(self._live, "after an overflow")
        await self.evict(around, also=plan.evict)
        if plan.keep is not None:
            await self._forced(compactor, plan.keep, limit, error)
        self._emit("finished", "")

    async def _forced(
        self, compactor: ConversationCompactor, keep: Keep, limit: int, error: ContextOverflow
    ) -> None:
        outcome = await compactor.compact(
            self._live.session.context,
            reason="overflow",
            keep=keep,
            most=limit,
            offload=self._offload,
        )
        if await self._settle(compactor, outcome) is None:
            self._emit("failed", str(error))
            raise error

    def _emit(self, state: Literal["started", "finished", "failed"], reason: str) -> None:
        self._parts.bus.publish(Activity("overflow", state, self._live.id, reason=reason))


def _evicted(eviction: Eviction) -> e.Eviction:
    return e.Eviction(
        target=eviction.target,
        in_context=eviction.message.content,
        file=eviction.path,
        chars=eviction.chars,
        sha256=eviction.sha256,
    )
