"""`ConversationCompactor`: a long history becomes a summary and its newest part.

It works on values and returns a value; the session is changed by whoever asked, with one durable
commit, and only that commit is a success. Invariant: on any failure the caller still holds the
whole history, and no call is ever parted from its result. Specification, section 7.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from msgspec import Struct

from app.engine.config import CompactionConfig
from app.engine.context.extractive import extractive_summary
from app.engine.context.pace import Pace
from app.engine.context.summaries import continuation_message, for_flush, summary_message
from app.engine.context.summariser import Summarise, Summariser, Summary, SummaryFailed
from app.engine.context.tokens import Counter
from app.engine.context.units import Keep, choose_cut, open_calls, units
from app.engine.context.window import Thresholds, reserved_tokens, thresholds
from app.engine.errors import interruption
from app.engine.events import Activity
from app.engine.records import CompactionReport, Message, Window

log = logging.getLogger(__name__)

Reason = Literal["messages", "tokens", "manual", "overflow"]
Flush = Callable[[tuple[Message, ...]], Awaitable[object]]
Offload = Callable[[], Awaitable[object]]
Emit = Callable[[Activity], None]

LEAST_SUMMARY = 150  # tokens a summary is taken to have before there is one
LARGEST_NAMED = 3


class Frame(Struct, frozen=True):
    """What surrounds a history: windows, the fixed parts of a request, and where its log lies.

    `system_tokens` are those of the system prompt with everything injected, `tool_tokens` those of
    the tool schemas. `summary_window` 0 means that the main model summarises. `log_path` is
    relative to the workspace.
    """

    window: Window
    summary_window: int = 0
    system_prompt: str = ""
    system_tokens: int = 0
    tool_tokens: int = 0
    log_path: str = ""
    session_id: str = ""


class Compaction(Struct, frozen=True):
    """A compaction that is ready to be committed. Tokens are those of the messages alone.

    `covered` are the ids the message stands for, in order, with the pending one when there is;
    `context` is the whole new context, `message` in it. `note` is a sentence when more would be
    needed than was reached.
    """

    message: Message
    context: tuple[Message, ...]
    covered: tuple[str, ...]
    kept: tuple[str, ...]
    pending: str
    summary: str
    profile: str
    reason: Reason
    before: int
    after: int
    compacted: int
    replayed: int
    summary_tokens: int
    requests: int = 1
    extractive: bool = False
    note: str = ""

    @property
    def first_kept(self) -> str:
        """Id of the first message that stays, "" when none does."""
        return self.kept[0] if self.kept else ""

    def stats(self, number: int) -> dict[str, Any]:
        """What `on_compact` gets; `number` counts from 1."""
        return {
            "messages_compacted": self.compacted,
            "messages_replayed": self.replayed,
            "summary_tokens": self.summary_tokens,
            "compaction_number": number,
            "summary": self.summary,
        }

    def report(self) -> CompactionReport:
        return CompactionReport(
            covered=len(self.covered),
            kept=len(self.kept),
            before=self.before,
            after=self.after,
            summary=self.summary,
            reason=self.note,
        )


class NotCompacted(Struct, frozen=True):
    """Why the history stays as it is.

    `kind`: nothing (there is nothing to cut), waiting (a pause after an earlier try; not worth a
    word to people), failed (no usable summary), no_gain (it would not help). `reason` and `remedy`
    are sentences, `raw` is what the model or server said, `largest` names message ids.
    """

    kind: Literal["nothing", "waiting", "failed", "no_gain"]
    reason: str
    remedy: str = ""
    raw: str = ""
    largest: tuple[str, ...] = ()


Outcome = Compaction | NotCompacted


class Plan(Struct, frozen=True):
    """A history cut in three: the first system message, what is summarised, what stays."""

    system: tuple[Message, ...]
    prefix: tuple[Message, ...]
    tail: tuple[Message, ...]
    pending: Message | None = None

    @property
    def kept(self) -> tuple[Message, ...]:
        """The tail without a message that the continuation takes in."""
        return self.tail if self.pending is None else ()


class ConversationCompactor:
    """One configuration and one model. Cheap to make; a session keeps only its `Pace`."""

    def __init__(
        self,
        config: CompactionConfig,
        counter: Counter,
        frame: Frame,
        *,
        summarise: Summarise | None = None,
        pace: Pace | None = None,
        emit: Emit | None = None,
    ) -> None:
        self._config = config
        self._counter = counter
        self._frame = frame
        self._pace = pace or Pace()
        self._emit_to = emit
        self.thresholds: Thresholds = thresholds(config, frame.window, frame.tool_tokens)
        size = frame.summary_window or frame.window.tokens
        self._summariser = Summariser(
            config,
            counter,
            summarise,
            window=size,
            reserved=reserved_tokens(config, size),
            system=frame.system_prompt,
        )

    # ------------------------------------------------------------------ deciding

    def tokens(self, context: Sequence[Message]) -> int:
        """What the trigger is compared with: messages, system prompt, and tools if not deducted."""
        tools = 0 if self._config.trigger_tokens == "auto" else self._frame.tool_tokens
        return self._counter.messages(context) + self._frame.system_tokens + tools

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
            after=self._predicted(plan),
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
        due = self.due(context)
        if not due:
            return None
        steps = len(units(context))
        total = self.tokens(context)
        refused = self._pace.refuses(self._config, steps, total)
        if refused:
            return NotCompacted("waiting", refused)
        outcome = await self.compact(context, reason=due, flush=flush, offload=offload)
        if isinstance(outcome, Compaction):
            self._pace.succeeded()
            if outcome.note:
                left = self.tokens(outcome.context)
                self._pace.did_not_help(self._config, len(units(outcome.context)), left)
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
        flush: Flush | None = None,
        offload: Offload | None = None,
    ) -> Outcome:
        """Compact now. By hand and on overflow the gain is not asked for. See `Outcome`."""
        plan = self.plan(context, keep=keep, whole=reason == "manual")
        if plan is None:
            return self._nothing(context)
        self._pace.started()
        self._emit("started", reason=reason)
        handed: set[int] = set()
        while True:
            if reason == "tokens":
                shrunk = self._shrunk(context, plan)
                if shrunk is None:
                    return self._no_gain(context)
                plan = shrunk
            await self._flush(plan.prefix, flush, handed)
            log_path = await self._offload(offload)
            try:
                summary, extractive = await self._summary(plan.prefix)
            except SummaryFailed as failed:
                self._emit("failed", reason=failed.reason, remedy=failed.remedy)
                return NotCompacted("failed", failed.reason, failed.remedy, failed.raw)
            made = self._made(context, plan, summary, extractive, log_path, reason)
            if reason != "tokens" or self._gain(context, made.context) >= self._least_gain():
                return made
            smaller = self._smaller(context, plan)
            if smaller is None or self._pace.refuses(self._config, 1 << 30, 1 << 60):
                return self._no_gain(context)
            self._pace.started()
            plan = smaller

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

    async def _summary(self, prefix: Sequence[Message]) -> tuple[Summary, bool]:
        def progress(done: int, total: int) -> None:
            self._emit("progress", reason=f"Part {done} of {total}", done=done, total=total)

        try:
            return await self._summariser.of(prefix, progress), False
        except SummaryFailed as failed:
            if not self._config.extractive_fallback:
                raise
            self._emit("progress", reason=f"{failed.reason} Sentences are picked without it.")
            limit = max(800, min(12_000, self.thresholds.window))
            return Summary(extractive_summary(prefix, limit)), True

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
            note=self._still_over(after) if reason == "tokens" else "",
        )

    # ------------------------------------------------------------------ does it help?

    def _least_gain(self) -> float:
        return self._config.min_gain_ratio

    def _gain(self, before: Sequence[Message], after: Sequence[Message]) -> float:
        whole = self.tokens(before)
        return (whole - self.tokens(after)) / whole if whole else 0.0

    def _predicted(self, plan: Plan) -> int:
        """Tokens of the messages afterwards, with a summary of a tenth of what it covers."""
        prefix = self._counter.messages(plan.prefix)
        summary = min(prefix, max(LEAST_SUMMARY, prefix // 10))
        rest = (*plan.system, *plan.tail)
        return self._counter.messages(rest) + summary

    def _shrunk(self, context: Sequence[Message], plan: Plan) -> Plan | None:
        """The plan, its tail halved until it would help; None when no tail does."""
        best: Plan | None = plan
        before = self._counter.messages(context)
        fixed = self.tokens(context) - before
        helpful: Plan | None = None
        while best is not None:
            after = self._predicted(best)
            if (before - after) / max(1, before + fixed) >= self._least_gain():
                helpful = best
                if after + fixed < self.thresholds.trigger:
                    return best
            best = self._smaller(context, best)
        return helpful

    def _smaller(self, context: Sequence[Message], plan: Plan) -> Plan | None:
        """The plan with half the tail; None when the tail cannot become shorter."""
        size = len(plan.tail)
        for messages in (size // 2, size // 4, 0):
            if messages >= size:
                continue
            smaller = self.plan(context, keep=Keep(messages=messages))
            if smaller is not None and len(smaller.tail) < size:
                return smaller
        return None

    def _still_over(self, after: Sequence[Message]) -> str:
        if self.tokens(after) < self.thresholds.trigger:
            return ""
        return "The context is still above its threshold. " + self._large(after)

    def _large(self, context: Sequence[Message]) -> str:
        """A sentence on what takes the room."""
        if self._frame.system_tokens >= self._counter.messages(context):
            return (
                f"The system prompt with the injected memory takes {self._frame.system_tokens} "
                "tokens by itself."
            )
        one = max(context, key=self._counter.message)
        kind = {"tool": "a tool result", "user": "a message of yours"}.get(one.role, "a message")
        return f"The largest part is {kind} of {self._counter.message(one)} tokens."

    def _no_gain(self, context: Sequence[Message]) -> NotCompacted:
        by_size = sorted(context, key=self._counter.message, reverse=True)
        reason = f"Compacting would not make enough room. {self._large(context)}"
        remedy = "Shorten what is large, raise the threshold, or start a new session."
        self._emit("skipped", reason=reason, remedy=remedy)
        return NotCompacted(
            "no_gain", reason, remedy, largest=tuple(m.id for m in by_size[:LARGEST_NAMED])
        )

    def _nothing(self, context: Sequence[Message]) -> NotCompacted:
        if not any(message.role != "system" for message in context):
            return NotCompacted("nothing", "There is no conversation yet.")
        if open_calls(context):
            return NotCompacted("nothing", "A tool call is still open; it must stay as it is.")
        return NotCompacted("nothing", "Everything is within the newest part that is kept.")

    # ------------------------------------------------------------------ saying so

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
