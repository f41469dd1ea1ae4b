"""`ConversationCompactor`: a long history becomes a summary and its newest part.

It works on values, in threads as a long history takes a while to count, and returns a value; the
session is changed by whoever asked, with one durable commit, and only that commit is a success.
Invariant: on any failure the caller still holds the whole history, and no call is ever parted from
its result. Specification, section 7.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from app.engine.config import CompactionConfig
from app.engine.context.compaction import Compaction, Frame, NotCompacted, Outcome, Plan, Reason
from app.engine.context.extractive import extractive_summary
from app.engine.context.gain import Gain
from app.engine.context.pace import Pace
from app.engine.context.summaries import continuation_message, for_flush, summary_message
from app.engine.context.summariser import Summarise, Summariser, Summary, SummaryFailed
from app.engine.context.tokens import Counter
from app.engine.context.units import Keep, choose_cut, open_calls, units
from app.engine.context.window import Thresholds, reserved_tokens, thresholds
from app.engine.errors import interruption
from app.engine.events import Activity
from app.engine.records import CompactionReport, Message

log = logging.getLogger(__name__)

Flush = Callable[[tuple[Message, ...]], Awaitable[object]]
Offload = Callable[[], Awaitable[object]]
Emit = Callable[[Activity], None]
EXTRACTED, LEAST_EXTRACTED = 12_000, 100  # characters of a summary without a model
FILLED = 0.9  # of the trigger, after such a summary: the next message must not meet it at once


class ConversationCompactor:
    """One configuration and one model. Cheap to make; a session keeps only its `Pace`.

    `summary_counter` counts in the tokens of the model that summarises, where that is another one.
    """

    def __init__(
        self,
        config: CompactionConfig,
        counter: Counter,
        frame: Frame,
        *,
        summarise: Summarise | None = None,
        summary_counter: Counter | None = None,
        pace: Pace | None = None,
        emit: Emit | None = None,
    ) -> None:
        self._config = config
        self._counter = counter
        self._frame = frame
        self._pace = pace or Pace()
        self._emit_to = emit
        self.thresholds: Thresholds = thresholds(config, frame.window, frame.tool_tokens)
        self._gain = Gain(
            config,
            counter,
            frame,
            self.thresholds.trigger,
            lambda context, keep: self.plan(context, keep=keep),
        )
        size = frame.summary_window or frame.window.tokens
        self._summariser = Summariser(
            config,
            summary_counter or counter,
            summarise,
            window=size,
            reserved=reserved_tokens(config, size),
            system=frame.system_prompt,
        )

    # ------------------------------------------------------------------ deciding

    def tokens(self, context: Sequence[Message]) -> int:
        """What the token trigger is compared with: messages, system prompt, tools."""
        return self._gain.total(context)

    def due(self, context: Sequence[Message]) -> Literal["", "messages", "tokens"]:
        """Which trigger fires; the tokens count more, as they are the ones that hurt."""
        trigger = self.thresholds.trigger
        if trigger > 0 and self.tokens(context) >= trigger:
            return "tokens"
        spoken = sum(1 for message in context if message.role != "system")
        if 0 < self._config.trigger_messages <= spoken:
            return "messages"
        return ""

    def plan(
        self, context: Sequence[Message], *, keep: Keep | None = None, whole: bool = False
    ) -> Plan | None:
        """Where the history would be cut; None when there is nothing to cut."""
        lead = 1 if context and context[0].role == "system" else 0
        system, body = tuple(context[:lead]), tuple(context[lead:])
        cut = choose_cut(body, keep or self.thresholds.keep, self._counter.message, whole=whole)
        if cut <= 0:
            return None
        tail = body[cut:]
        embeds = (
            self._config.prompt_profile == "working_state"
            and len(tail) == 1
            and tail[0].role == "user"
        )
        return Plan(system, body[:cut], tail, tail[0] if embeds else None)

    def preview(self, context: Sequence[Message]) -> CompactionReport:
        """What a compaction by hand would do now. Asks no model; `after` is an estimate."""
        before = self._counter.messages(context)
        plan = self.plan(context, whole=True)
        if plan is None:
            kept = len(context)
            reason = self._nothing(context).reason
            return CompactionReport(0, kept, before, before, dry_run=True, reason=reason)
        return CompactionReport(
            covered=len(plan.prefix) + (plan.pending is not None),
            kept=len(plan.kept),
            before=before,
            after=self._gain.predicted(plan),
            unflushed=len(for_flush(plan.prefix)),
            dry_run=True,
        )

    # ------------------------------------------------------------------ doing

    async def compact_if_due(
        self,
        context: Sequence[Message],
        *,
        flush: Flush | None = None,
        offload: Offload | None = None,
    ) -> Outcome | None:
        """The automatic run: None when no trigger fires. Only interruptions are raised."""
        due = await asyncio.to_thread(self.due, context)
        if not due:
            return None
        steps, total = await asyncio.to_thread(self._size, context)
        refused = self._pace.refuses(self._config, steps, total)
        if refused:
            return NotCompacted("waiting", refused)
        outcome = await self.compact(context, reason=due, flush=flush, offload=offload)
        if isinstance(outcome, Compaction):
            self._pace.succeeded()
            if outcome.note:
                size = await asyncio.to_thread(self._size, outcome.context)
                self._pace.did_not_help(self._config, *size)
        elif outcome.kind == "failed":
            self._pace.failed(self._config, steps)
        elif outcome.kind == "no_gain":
            self._pace.did_not_help(self._config, steps, total)
        return outcome

    async def compact(
        self,
        context: Sequence[Message],
        *,
        reason: Reason = "manual",
        keep: Keep | None = None,
        most: int = 0,
        flush: Flush | None = None,
        offload: Offload | None = None,
    ) -> Outcome:
        """Compact now. By hand and on overflow the gain is not asked for. See `Outcome`.

        `most` is how many tokens a request may have afterwards, where that is not the window's.
        """
        plan = await asyncio.to_thread(self._planned, context, keep, reason)
        if isinstance(plan, NotCompacted):
            return self._told(plan) if plan.kind == "no_gain" else plan
        self._emit("started", reason=reason)
        ended = False
        try:
            outcome = await self._carry_out(context, plan, reason, flush, offload, most)
            ended = True
        finally:
            if not ended:
                self._emit("skipped", reason="It was interrupted; the history is as it was.")
        return self._told(outcome)

    async def _carry_out(
        self,
        context: Sequence[Message],
        plan: Plan,
        reason: Reason,
        flush: Flush | None,
        offload: Offload | None,
        most: int,
    ) -> Outcome:
        """Summaries are made until one helps, with a shorter tail each time, while tries last."""
        handed: set[int] = set()
        while True:
            if reason in ("messages", "tokens"):
                self._pace.started()
            await self._flush(plan.prefix, flush, handed)
            log_path = await self._offload(offload)
            try:
                summary, extractive = await self._summary(plan, most)
            except SummaryFailed as failed:
                return NotCompacted("failed", failed.reason, failed.remedy, failed.raw)
            made = await asyncio.to_thread(
                self._made, context, plan, summary, extractive, log_path, reason
            )
            if await asyncio.to_thread(self._enough, context, made, reason):
                return made
            smaller = await asyncio.to_thread(self._gain.smaller, context, plan)
            if smaller is None or not self._pace.may_try(self._config):
                return await asyncio.to_thread(self._gain.none, context)
            plan = smaller

    def _enough(self, context: Sequence[Message], made: Compaction, reason: Reason) -> bool:
        return not self._must_gain(reason) or self._gain.enough(context, made.context)

    def _planned(
        self, context: Sequence[Message], keep: Keep | None, reason: Reason
    ) -> Plan | NotCompacted:
        """Where to cut, or why there is nothing to do."""
        plan = self.plan(context, keep=keep, whole=reason == "manual")
        if plan is None:
            return self._nothing(context)
        if self._must_gain(reason):
            plan = self._gain.helpful(context, plan)
        return plan or self._gain.none(context)

    def _size(self, context: Sequence[Message]) -> tuple[int, int]:
        """Units and tokens."""
        return len(units(context)), self.tokens(context)

    def _must_gain(self, reason: Reason) -> bool:
        """Whether the run is only worth its while when it saves; a share of 0 asks for nothing."""
        return reason == "tokens" and self._config.min_gain_ratio > 0

    async def committed(self, compaction: Compaction, number: int) -> None:
        """To be called once the compaction is on disk: says so, and calls `on_compact`."""
        self._emit(
            "finished",
            reason=compaction.note,
            detail={
                "number": number,
                "covered": len(compaction.covered),
                "kept": len(compaction.kept),
                "before": compaction.before,
                "after": compaction.after,
                "requests": compaction.requests,
                "extractive": compaction.extractive,
            },
        )
        told = self._config.on_compact
        if told is None:
            return
        try:
            made = told(compaction.stats(number))
            if inspect.isawaitable(made):
                await made
        except Exception as error:
            self._unless_interrupted(error, "The function called after a compaction failed")

    # ------------------------------------------------------------------ steps

    async def _flush(
        self, prefix: Sequence[Message], flush: Flush | None, handed: set[int]
    ) -> None:
        fresh = tuple(m for m in for_flush(prefix) if id(m) not in handed)
        if flush is None or not self._config.flush_before_compact or not fresh:
            return
        handed.update(id(message) for message in fresh)
        try:
            await flush(fresh)
        except Exception as error:
            self._unless_interrupted(error, "The facts could not be written down first")

    async def _offload(self, offload: Offload | None) -> str:
        """The log's path for the summary; "" when it could not be made durable."""
        if not self._config.offload_before_compact:
            return ""
        try:
            if offload is not None:
                await offload()
        except Exception as error:
            self._unless_interrupted(error, "The session's log could not be made durable first")
            return ""
        return self._frame.log_path

    async def _summary(self, plan: Plan, most: int) -> tuple[Summary, bool]:
        def progress(done: int, total: int) -> None:
            self._emit("progress", reason=f"Part {done} of {total}", done=done, total=total)

        try:
            return await self._summariser.of(plan.prefix, progress), False
        except SummaryFailed as failed:
            if not self._config.extractive_fallback:
                raise
            self._emit("progress", reason=f"{failed.reason} Sentences are picked without it.")
            return Summary(await asyncio.to_thread(self._extracted, plan, most)), True

    def _extracted(self, plan: Plan, most: int) -> str:
        """A summary without a model, so short that it fits beside what stays: in a small window,
        and in a language of many tokens, that is less than its usual length."""
        stays = self._counter.messages((*plan.system, *plan.tail))
        fixed = self._frame.system_tokens + self._frame.tool_tokens
        limits = (most, self.thresholds.limit, self.thresholds.trigger)
        room = int(min(filter(None, limits)) * FILLED) - fixed - stays
        limit = max(LEAST_EXTRACTED, min(EXTRACTED, self.thresholds.window))
        while True:
            text = extractive_summary(plan.prefix, limit)
            made = summary_message(text, log_path=self._frame.log_path)
            if limit <= LEAST_EXTRACTED or self._counter.uncached(made) <= room:
                return text
            limit = max(LEAST_EXTRACTED, limit * 3 // 4)

    def _made(
        self,
        context: Sequence[Message],
        plan: Plan,
        summary: Summary,
        extractive: bool,
        log_path: str,
        reason: Reason,
    ) -> Compaction:
        if self._config.prompt_profile == "working_state":
            message = continuation_message(summary.text, pending=plan.pending, log_path=log_path)
        else:
            message = summary_message(summary.text, log_path=log_path)
        after = (*plan.system, message, *plan.kept)
        covered = [m.id for m in plan.prefix]
        if plan.pending is not None:
            covered.append(plan.pending.id)
        return Compaction(
            message=message,
            context=after,
            covered=tuple(covered),
            kept=tuple(m.id for m in plan.kept),
            pending=plan.pending.id if plan.pending is not None else "",
            summary=summary.text,
            profile=self._config.prompt_profile,
            reason=reason,
            before=self._counter.messages(context),
            after=self._counter.messages(after),
            compacted=len(plan.prefix),
            replayed=len(plan.tail),
            summary_tokens=self._counter.text(summary.text),
            requests=summary.requests,
            extractive=extractive,
            note=self._gain.still_over(after) if reason == "tokens" else "",
        )

    # ------------------------------------------------------------------ saying so

    def _nothing(self, context: Sequence[Message]) -> NotCompacted:
        if not any(message.role != "system" for message in context):
            return NotCompacted("nothing", "There is no conversation yet.")
        if open_calls(context):
            return NotCompacted("nothing", "A tool call is still open; it must stay as it is.")
        return NotCompacted("nothing", "Everything is within the newest part that is kept.")

    def _told(self, outcome: Outcome) -> Outcome:
        """A failure is announced at once; a success only when it is committed (B64)."""
        if isinstance(outcome, NotCompacted):
            state = "failed" if outcome.kind == "failed" else "skipped"
            self._emit(state, reason=outcome.reason, remedy=outcome.remedy)
        return outcome

    def _unless_interrupted(self, error: Exception, what: str) -> None:
        if interruption(error) is not None:
            raise error
        log.warning("%s: %s", what, error)
        self._emit("progress", reason=f"{what}: {error}")

    def _emit(
        self,
        state: Literal["started", "progress", "finished", "failed", "skipped"],
        *,
        reason: str = "",
        remedy: str = "",
        done: int = 0,
        total: int = 0,
        detail: dict[str, Any] | None = None,
    ) -> None:
        if self._emit_to is None:
            return
        self._emit_to(
            Activity(
                step="compaction",
                state=state,
                session_id=self._frame.session_id,
                reason=reason,
                remedy=remedy,
                done=done,
                total=total,
                detail=detail or {},
            )
        )
