"""One curator at work: a model, in batches, or rules without one.

Each batch is merged into the result of those before it. What a model answered is judged before it
becomes the base of the next batch; a batch that fails leaves what was done before it. A window that
turns out smaller than it was said to be makes the batches smaller, never the input.
Specification, section 10.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct

from app.engine.config import MemoryConfig
from app.engine.errors import ContextOverflow, UserError
from app.engine.llm.endpoint import Endpoint, Request, complete, user
from app.engine.memory import consolidation_request as asked
from app.engine.memory.answers import Judged, judge
from app.engine.memory.checks import lost
from app.engine.memory.consolidation_request import Count, Part
from app.engine.memory.outline import bullets, normal
from app.engine.records import ModelCall, Refused, Usage
from app.engine.workspace.memory_file import MemoryFile
from app.engine.workspace.pins import pinned_lines
from app.engine.workspace.sections import WaitingSection

EXTRACTIVE = "extractive"
FATAL = frozenset({"empty", "truncated", "error_page", "not_text", "reasoning_trace"})
_LEAST_BATCH = 256  # tokens; a window that holds less than this cannot be worked with
_WINDOW_SHARE = 0.8  # tokens are estimated

Extract = Callable[[str, Sequence[WaitingSection]], str]
"""The curator without a model: (MEMORY.md, sections) -> the new MEMORY.md. Pure."""

Record = Callable[[ModelCall], None]
"""Keeps a model call (`runs.jsonl`); blocks."""


class Task(Struct, frozen=True):
    """What one run works on. `parts` are the sections that have something to show.

    `never` are topics that are not to be remembered; `again_of` names the proposal whose run this
    one repeats with another model.
    """

    run: str
    start: datetime
    file: MemoryFile
    sections: tuple[WaitingSection, ...]
    parts: tuple[Part, ...]
    rebuild: bool
    pins: tuple[str, ...]
    refused: tuple[Refused, ...]
    never: tuple[str, ...]
    watermark: datetime
    again_of: str = ""


class Made(Struct, frozen=True):
    """What the curator made of the task: the last answer, and the sections it has dealt with."""

    judged: Judged
    raw: str
    done: tuple[WaitingSection, ...]
    model: str
    prompt_hash: str = ""
    note: str = ""
    error: str = ""
    remedy: str = ""
    eroded: tuple[str, ...] = ()  # facts of earlier batches that a later one left out again


class Asking:
    """One run of a model over a task."""

    def __init__(
        self, task: Task, endpoint: Endpoint, config: MemoryConfig, count: Count, record: Record
    ) -> None:
        self._task = task
        self._endpoint = endpoint
        self._count = count
        self._record = record
        self._prompt = config.consolidation_prompt or asked.built_in_prompt()
        self._system = asked.filled(self._prompt, config.consolidation_max_tokens)
        self._judged = Judged(task.file.text)
        self._raw = ""
        self._done: list[WaitingSection] = []
        self._eroded: list[str] = []

    async def run(self) -> Made:
        """Ask until all is dealt with or something fails. Raises only what ends the program's
        work on purpose (`CancelledError`, `Interrupted`)."""
        parts = list(self._task.parts)
        shown = {part.source.key for part in parts}
        self._done = [s for s in self._task.sections if s.key not in shown]  # comments alone
        window = (await self._endpoint.window()).tokens
        while parts:
            budget = self._budget(window)
            group, rest = await asyncio.to_thread(asked.take, parts, budget, self._count)
            try:
                judged, raw = await self._ask(group)
            except ContextOverflow as error:
                if budget <= _LEAST_BATCH:
                    return self._stopped(Judged(""), "", str(error), error.remedy)
                window = min(error.window or window, window) * 3 // 4
                continue
            except UserError as error:
                return self._stopped(Judged(""), "", str(error), error.remedy)
            if judged.problem in FATAL or judged.nothing or not judged.text.strip():
                return self._stopped(judged, raw, judged.detail or "The model kept nothing at all.")
            await asyncio.to_thread(self._took, group, judged, raw)
            parts = rest
        return self._made()

    def _took(self, group: Sequence[Part], judged: Judged, raw: str) -> None:
        if self._raw:  # what the file lacks shows in the difference; what a batch lost does not
            self._eroded += [block.text for block in lost(self._judged.text, judged.text)]
        self._judged, self._raw = judged, raw
        self._done += [part.source for part in group if part.last]

    async def _ask(self, group: Sequence[Part]) -> tuple[Judged, str]:
        """One model call, recorded whatever comes of it."""
        task = self._task
        text = asked.message(
            self._judged.text,
            group,
            watermark=task.watermark,
            pinned=_pinned(self._judged.text, task.pins),
            refused=[one.text for one in task.refused if one.what == "claim"],
            kept=_kept(self._judged.text, task.refused),
            never=task.never,
        )
        request = Request(messages=(user(text),), system=self._system)
        began = time.monotonic()
        answer, error, usage = "", "", Usage()
        try:
            got = await complete(self._endpoint, request)
            answer, usage = got.text, got.usage or usage
            return judge(got.text, got.finish, reasoning=got.reasoning), got.text
        except UserError as failure:
            error = str(failure)
            raise
        finally:
            call = ModelCall(
                run=task.run,
                step="consolidation",
                model=self._endpoint.name,
                when=task.start,
                seconds=time.monotonic() - began,
                prompt=f"{self._system}\n\n{text}",
                answer=answer,
                usage=usage,
                error=error,
            )
            await asyncio.to_thread(self._record, call)

    def _budget(self, window: int) -> int:
        """Tokens the next batch may have: the window holds prompt, file, batch, and an answer that
        is the file again with half of the batch."""
        room = int(window * _WINDOW_SHARE) - self._count(self._system)
        return max(_LEAST_BATCH, (room - 2 * self._count(self._judged.text)) * 2 // 3)

    def _stopped(self, judged: Judged, raw: str, error: str, remedy: str = "") -> Made:
        """What was done before the failure is a proposal of its own; else the run failed."""
        if self._raw:
            return self._made(f"Only a part of the daily logs is in it: {error}")
        return Made(judged, raw, (), self._endpoint.name, self._hash(), error=error, remedy=remedy)

    def _made(self, note: str = "") -> Made:
        return Made(
            judged=self._judged,
            raw=self._raw,
            done=tuple(self._done),
            model=self._endpoint.name,
            prompt_hash=self._hash(),
            note=note,
            eroded=tuple(self._eroded),
        )

    def _hash(self) -> str:
        return asked.prompt_hash(self._prompt)


def without_model(task: Task, extract: Extract | None) -> Made:
    """The extractive curator's answer, or why there is none."""
    if extract is None:
        return Made(
            Judged(""),
            "",
            (),
            EXTRACTIVE,
            error="There is no model that may be trusted with memory.",
            remedy="Choose another memory model in Settings.",
        )
    text = extract(task.file.text, task.sections)
    return Made(Judged(text), text, task.sections, EXTRACTIVE)


def _kept(text: str, refused: Sequence[Refused]) -> list[str]:
    """The lines of the file whose loss was refused."""
    lost = {normal(one.text) for one in refused if one.what == "loss"}
    return [b.text for b in bullets(text) if normal(b.text) in lost] if lost else []


def _pinned(text: str, pins: Sequence[str]) -> list[str]:
    """The pinned lines of the file, those of pinned sections among them, as the model is told."""
    lines = text.split("\n")
    return [lines[n - 1] for n in pinned_lines(text, pins)]
