"""Getting a summary out of a model, in as many requests as its window asks for.

The model is a callable, so this room knows no endpoint. Invariant: what is returned is a whole,
plausible summary of the whole prefix; everything else raises `SummaryFailed`. Cancellation and
`Interrupted` pass through untouched. Specification, section 7, step 5.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from msgspec import Struct, structs

from app.engine.config import CompactionConfig
from app.engine.context.summaries import (
    SummaryAnswer,
    SummaryRequest,
    problem_with,
    render,
    request,
    said,
    summary_message,
)
from app.engine.context.tokens import Counter
from app.engine.context.units import units
from app.engine.errors import ContextOverflow, ModelError, interruption
from app.engine.records import Message

Summarise = Callable[[SummaryRequest], Awaitable[SummaryAnswer]]
Progress = Callable[[int, int], None]  # requests done, requests expected

MARGIN = 0.95  # of the summary model's window: counts are estimates
SHRINKS = 4  # how often a window may turn out smaller than it was said to be


class SummaryFailed(Exception):
    """No summary came. `reason` is a sentence for people, `raw` what the model or server said."""

    def __init__(self, reason: str, remedy: str = "", raw: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.raw = raw


class Summary(Struct, frozen=True):
    """The text, and how many requests it took."""

    text: str
    requests: int = 1


class Summariser:
    """One summary model with its window, for one configuration."""

    def __init__(
        self,
        config: CompactionConfig,
        counter: Counter,
        summarise: Summarise | None,
        *,
        window: int,
        reserved: int,
        system: str = "",
    ) -> None:
        self._config = config
        self._counter = counter
        self._summarise = summarise
        self._window = window
        self._reserved = reserved
        self._system = system

    async def of(self, prefix: Sequence[Message], progress: Progress | None = None) -> Summary:
        """The summary of a prefix, earlier summaries included. Raises `SummaryFailed`."""
        try:
            if self._config.compact_fn is not None:
                return Summary(await self._by_function(prefix))
            if self._summarise is None:
                raise SummaryFailed(
                    "There is no model that could summarise.", "Choose a model in Settings."
                )
            return await self._in_parts(prefix, progress or (lambda _done, _of: None))
        except SummaryFailed:
            raise
        except Exception as error:
            if interruption(error) is not None:
                raise
            remedy = error.remedy if isinstance(error, ModelError) else ""
            raw = (error.raw if isinstance(error, ModelError) else "") or repr(error)
            said = str(error) or type(error).__name__
            raise SummaryFailed(f"The summary failed: {said}", remedy, raw) from error

    async def _by_function(self, prefix: Sequence[Message]) -> str:
        made: Any = cast("Callable[..., Any]", self._config.compact_fn)(list(prefix), self._system)
        if inspect.isawaitable(made):
            made = await made
        text = made.strip() if isinstance(made, str) else ""
        if not text:
            raise SummaryFailed("The compaction function gave an empty summary.", raw=repr(made))
        return text

    # ------------------------------------------------------------------ in parts

    async def _in_parts(self, prefix: Sequence[Message], progress: Progress) -> Summary:
        groups = [list(prefix[unit.start : unit.end]) for unit in units(prefix)]
        sizes = await asyncio.to_thread(lambda: [self._of_group(group) for group in groups])
        budget = max(1, int((self._window - self._reserved) * MARGIN))
        carried: list[Message] = []
        text, done, at, shrinks = "", 0, 0, 0
        while at < len(groups) or not done:
            part, taken = await asyncio.to_thread(self._next, groups, sizes, at, carried, budget)
            try:
                text = await self._ask([*carried, *part])
            except ContextOverflow as error:
                shrinks += 1
                budget = self._smaller(budget, error)
                if shrinks > SHRINKS or budget < 64:
                    raise
                carried = await asyncio.to_thread(self._squeezed, carried, [], budget // 2)
                continue
            done, at = done + 1, at + max(1, taken)
            if at < len(groups):
                progress(done, done + max(1, -(-sum(sizes[at:]) // max(1, budget // 2))))
                made = [summary_message(text)]
                carried = await asyncio.to_thread(self._squeezed, made, [], budget // 2)
        return Summary(text, done)

    def _next(
        self,
        groups: list[list[Message]],
        sizes: list[int],
        at: int,
        carried: list[Message],
        budget: int,
    ) -> tuple[list[Message], int]:
        """The next part from unit `at` on, made to fit, and how many units it is of."""
        taken = self._fitting(groups, sizes, at, carried, budget)
        part = [message for group in groups[at : at + taken] for message in group]
        if taken == 1 or not part:
            part = self._squeezed(part, carried, budget)
        return part, taken

    async def _ask(self, messages: Sequence[Message]) -> str:
        asked = await asyncio.to_thread(self._request, messages)
        answer = await cast("Summarise", self._summarise)(asked)
        problem = problem_with(answer)
        if problem:
            raise SummaryFailed(problem, "The history is kept as it is.", answer.text)
        return said(answer)

    def _request(self, messages: Sequence[Message]) -> SummaryRequest:
        asked = request(
            self._config.prompt_profile,
            messages,
            prompt=self._config.summary_prompt,
            system=self._system,
        )
        return structs.replace(asked, max_output=self._reserved or None)

    def _tokens(self, messages: Sequence[Message]) -> int:
        asked = self._request(messages)
        return self._counter.text(asked.system) + sum(
            self._counter.uncached(message) for message in asked.messages
        )

    def _of_group(self, group: Sequence[Message]) -> int:
        if self._as_text():
            return self._counter.text(render(group)) + 2
        return sum(self._counter.message(message) for message in group)

    def _as_text(self) -> bool:
        return self._config.prompt_profile == "four_part" or bool(self._config.summary_prompt)

    def _fitting(
        self,
        groups: list[list[Message]],
        sizes: list[int],
        at: int,
        carried: list[Message],
        budget: int,
    ) -> int:
        """How many units from `at` on fit beside what is carried: at least one."""
        used = self._tokens(carried)
        taken = 0
        for size in sizes[at:]:
            used += size
            if used > budget and taken:
                break
            taken += 1
            if used > budget:
                break
        while taken > 1:  # the sum is a little below the whole: look at the real request
            part = [message for group in groups[at : at + taken] for message in group]
            if self._tokens([*carried, *part]) <= budget:
                break
            taken -= 1
        return taken

    def _squeezed(self, part: list[Message], carried: list[Message], budget: int) -> list[Message]:
        """The same messages with their texts shortened until the request fits."""
        if not part or self._tokens([*carried, *part]) <= budget:
            return part
        limit = max(len(m.content) + sum(len(c.arguments) for c in m.calls) for m in part)
        squeezed = part
        while limit > 64:
            limit //= 2
            squeezed = [shortened(message, limit) for message in part]
            if self._tokens([*carried, *squeezed]) <= budget:
                break
        return squeezed

    def _smaller(self, budget: int, error: ContextOverflow) -> int:
        """The budget after an overflow: what the server said its window is, else half."""
        if not error.window:
            return budget // 2
        self._reserved = min(self._reserved, error.window // 8)
        return min(int((error.window - self._reserved) * MARGIN), budget * 3 // 4)


def shortened(message: Message, limit: int) -> Message:
    """A message whose texts keep both ends within `limit` characters each; ids stay."""
    calls = tuple(
        structs.replace(call, arguments=json.dumps({"shortened": call.arguments[:limit]}))
        if len(call.arguments) > limit
        else call
        for call in message.calls
    )
    return structs.replace(
        message,
        content=both_ends(message.content, limit),
        calls=calls,
        images=(),
        reasoning="",
    )


def both_ends(text: str, limit: int, note: str = "\n… [{left} characters left out] …\n") -> str:
    """The first and the last half of `limit` characters, with a note between them."""
    if len(text) <= limit:
        return text
    head = limit // 2
    tail = limit - head
    return text[:head] + note.format(left=len(text) - limit) + text[len(text) - tail :]
