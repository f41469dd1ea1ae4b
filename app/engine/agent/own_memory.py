"""A turn over a memory that was handed to the agent (`memory=`): it decides what the model sees.

The engine injects, runs tools and puts long results aside as ever; taking messages in, choosing
what is shown and making room is the memory's business. Nothing is asked of a memory but what
`BaseMemory` has: `add_message`, `get_context`, `compact`. Specification, section 1.
"""

from __future__ import annotations

import asyncio

from app.engine.agent.assembly import Assembled, surroundings
from app.engine.agent.keeper import ContextKeeper
from app.engine.agent.live import LiveSession
from app.engine.agent.parts import AgentParts
from app.engine.errors import ContextOverflow
from app.engine.llm.endpoint import Endpoint
from app.engine.memory.base import BaseMemory
from app.engine.memory.compaction_base import CompactionBase
from app.engine.memory.compaction_memory import BackgroundMemory
from app.engine.records import CompactionReport, Message
from app.engine.session import entries as e
from app.engine.session.outgoing import outgoing


class MemoryKeeper(ContextKeeper):
    """As `ContextKeeper`, for a session with a memory of its own."""

    def __init__(self, parts: AgentParts, live: LiveSession, memory: BaseMemory) -> None:
        super().__init__(parts, live)
        self._memory = memory
        if isinstance(memory, CompactionBase):
            memory.set_model(client=parts.endpoints, model_name=parts.endpoints.roles.chat)
            memory.listen(parts.bus.publish)
        if isinstance(memory, BackgroundMemory):
            memory.use_flush(self._flush_first)

    async def _flush_first(self, prefix: tuple[Message, ...]) -> None:
        if self._parts.config.agent.memory_hooks:
            self._parts.flush(self._live, "before compaction")

    # ------------------------------------------------------------------ the conversation

    async def add(self, message: Message, seconds: float | None = None) -> Message:
        """Hand a message to the memory. The message as it stands, whatever the memory returns."""
        before = len(self._live.session.fold)
        await self._memory.add_message(message)
        fold = self._live.session.fold
        last = fold.last
        if last is None or len(fold) <= before or last.role != message.role:
            return message
        return last

    async def history(self) -> list[Message]:
        """What the memory shows, without its system prompt."""
        context = self._memory.get_context()
        sent = context[1:] if context and context[0].role == "system" else context
        return await asyncio.to_thread(outgoing, sent)

    def _prompt(self) -> str:
        context = self._memory.get_context()
        return context[0].content if context and context[0].role == "system" else ""

    # ------------------------------------------------------------------ keeping it small

    async def before_request(self, endpoint: Endpoint, *, recovered: bool = False) -> Assembled:
        """Long results are put aside; a compacting memory looks at its threshold."""
        around = await surroundings(self._parts, self._live, endpoint, self._prompt())
        await self.evict(around)
        if isinstance(self._memory, CompactionBase) and not recovered:
            system = sum(part.tokens for part in around.injected.parts)
            ratio = self._parts.endpoints.gauge.ratio(endpoint.name)
            self._memory.surround(system, around.tool_tokens, ratio)
            await self._memory.compact_if_due()
        return around

    def recovers(self, around: Assembled) -> bool:
        """Any memory may make room; one that cannot lets the first error stand."""
        return True

    async def recover(self, around: Assembled, endpoint: Endpoint, error: ContextOverflow) -> None:
        """After an overflow: let the memory compact. The overflow again if that changed nothing."""
        if isinstance(self._memory, CompactionBase):
            self._memory.note_overflow(error)
        entry = e.Overflow(requested=error.requested, window=error.window, reason=str(error))
        before = self._memory.get_context()
        await self._live.write(lambda session: session.append(entry))
        await self._memory.compact()
        if self._memory.get_context() == before:
            raise error

    async def preview(self, endpoint: Endpoint) -> CompactionReport:
        """A memory of one's own does not tell beforehand what it would do."""
        messages = self._memory.messages
        total = self._parts.counter_for(endpoint).messages(messages)
        return CompactionReport(
            0,
            len(messages),
            total,
            total,
            dry_run=True,
            reason="This session has a memory of its own, which cannot be asked beforehand.",
        )

    async def compact(self, endpoint: Endpoint) -> CompactionReport:
        """By hand: the memory's own compaction."""
        counter, before = self._parts.counter_for(endpoint), self._memory.messages
        summary = await self._memory.compact()
        after = self._memory.messages
        kept = sum(1 for message in after if message in before)
        return CompactionReport(
            covered=len(before) - kept,
            kept=kept,
            before=counter.messages(before),
            after=counter.messages(after),
            summary=summary or "",
            reason="" if after != before else "The memory of this session had nothing to compact.",
        )
