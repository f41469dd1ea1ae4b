"""Would a compaction help, and if not, what is in the way?

Pure arithmetic on one configuration. Invariant: a plan is only followed when, with a summary of
ordinary length, it makes the whole request smaller by the share that is asked for; so no model is
asked for a summary that would be thrown away. Specification, section 7; bug case B65.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.engine.config import CompactionConfig
from app.engine.context.compaction import Frame, NotCompacted, Plan
from app.engine.context.tokens import Counter
from app.engine.context.units import Keep
from app.engine.records import Message

LEAST_SUMMARY = 150  # tokens a summary is taken to have before there is one
LARGEST_NAMED = 3

MakePlan = Callable[[Sequence[Message], Keep], Plan | None]
_WHOSE = {"tool": "a tool result", "user": "a message of yours", "assistant": "an answer"}


class Gain:
    """Weighs plans against a trigger. `plan` cuts a context with a given keep."""

    def __init__(
        self,
        config: CompactionConfig,
        counter: Counter,
        frame: Frame,
        trigger: int,
        plan: MakePlan,
    ) -> None:
        self._config = config
        self._counter = counter
        self._frame = frame
        self._trigger = trigger
        self._plan = plan

    def total(self, context: Sequence[Message]) -> int:
        """What the trigger is compared with: messages, system prompt, and tools if not deducted."""
        tools = 0 if self._config.trigger_tokens == "auto" else self._frame.tool_tokens
        return self._counter.messages(context) + self._frame.system_tokens + tools

    def enough(self, before: Sequence[Message], after: Sequence[Message]) -> bool:
        """Whether a finished compaction saved the share that is asked for."""
        whole = self.total(before)
        return whole - self.total(after) >= whole * self._config.min_gain_ratio

    def predicted(self, plan: Plan) -> int:
        """Tokens of the messages afterwards, with a summary of a tenth of what it covers."""
        prefix = self._counter.messages(plan.prefix)
        summary = min(prefix, max(LEAST_SUMMARY, prefix // 10))
        return self._counter.messages((*plan.system, *plan.tail)) + summary

    def helpful(self, context: Sequence[Message], plan: Plan) -> Plan | None:
        """The plan, its tail halved until it would help; None when no tail does.

        Best is one that gets below the trigger; else the one with the shortest tail that saves.
        """
        before = self._counter.messages(context)
        fixed = self.total(context) - before
        least = (before + fixed) * self._config.min_gain_ratio
        found: Plan | None = None
        tried: Plan | None = plan
        while tried is not None:
            after = self.predicted(tried)
            if before - after >= least:
                found = tried
                if after + fixed < self._trigger:
                    return tried
            tried = self.smaller(context, tried)
        return found

    def smaller(self, context: Sequence[Message], plan: Plan) -> Plan | None:
        """The plan with half the tail; None when the tail cannot become shorter."""
        size = len(plan.tail)
        for messages in (size // 2, size // 4, 0):
            found = self._plan(context, Keep(messages=messages)) if messages < size else None
            if found is not None and len(found.tail) < size:
                return found
        return None

    def still_over(self, after: Sequence[Message]) -> str:
        """A sentence when the new context is above the trigger too; "" when it is not."""
        if self.total(after) < self._trigger:
            return ""
        return f"The context is still above its threshold. {self._large(after)}"

    def none(self, context: Sequence[Message]) -> NotCompacted:
        """What is told when no plan helps: what is large, and what a person can do."""
        by_size = sorted(context, key=self._counter.message, reverse=True)
        return NotCompacted(
            "no_gain",
            f"Compacting would not make enough room. {self._large(context)}",
            "Shorten what is large, raise the threshold, or start a new session.",
            largest=tuple(message.id for message in by_size[:LARGEST_NAMED]),
        )

    def _large(self, context: Sequence[Message]) -> str:
        if self._frame.system_tokens >= self._counter.messages(context):
            return (
                f"The system prompt with the injected memory takes {self._frame.system_tokens} "
                "tokens by itself."
            )
        one = max(context, key=self._counter.message)
        what = _WHOSE.get(one.role, "a system message")
        return f"The largest part is {what} of {self._counter.message(one)} tokens."
