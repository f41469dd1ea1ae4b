"""Who picks what is remembered: a model, rules without a model, or a function of the embedder.

A flush curator looks at one batch of conversation and answers with bullets or with nothing; what it
says is judged the same way whoever it is. The extractive curator needs no model and invents
nothing: its flush quotes sentences of the person (`sentences.py`), its consolidation keeps
MEMORY.md as it is and adds waiting bullets that are not there yet under their day. The extractive
summary of a compaction lives in `context/extractive.py`. Specification, section 10 ("Curators").
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from app.engine.context.tokens import Heuristic
from app.engine.errors import ModelError
from app.engine.llm.endpoint import Endpoint, complete
from app.engine.memory.answers import SENTINEL, Judged, judge
from app.engine.memory.flush_request import Batch, References, build, fitted
from app.engine.memory.outline import bullets, normal
from app.engine.memory.sameness import Known
from app.engine.memory.sentences import facts
from app.engine.records import Message, ModelCall, Usage
from app.engine.workspace.daily_log import day_of, section_text, source_text
from app.engine.workspace.memory_file import SAVED_START
from app.engine.workspace.sections import WaitingSection

ANSWER_TOKENS = 2_048
NO_BUDGET = 1_000_000_000
_HEURISTIC = Heuristic().text


class FlushTask(Struct, frozen=True):
    """One batch to be looked at. `run` names the job in `runs.jsonl`."""

    run: str
    prompt: str
    references: References
    batch: Batch


class FlushCurator(Protocol):
    """What a flush asks. `budget` is the most of a conversation in one batch, as `size` counts."""

    name: str

    async def budget(self) -> int: ...

    def size(self, text: str) -> int: ...

    async def flush(self, task: FlushTask) -> Judged:
        """The judged answer for one batch. Raises `ModelError` kinds."""
        ...


class LlmCurator:
    """A model behind an endpoint. Every call is kept through `record`, also a failed one.

    `count` gives tokens of a text.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        count: Callable[[str], int] = _HEURISTIC,
        record: Callable[[ModelCall], None] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = endpoint.name
        self._endpoint = endpoint
        self._count = count
        self._record = record
        self._clock = clock

    async def budget(self) -> int:
        return (await self._room()) // 2

    def size(self, text: str) -> int:
        return self._count(text)

    async def _room(self) -> int:
        """Tokens a request may have beside the prompt and the answer, with a tenth to spare."""
        window = (await self._endpoint.window()).tokens
        tokens = window - min(ANSWER_TOKENS, window // 4) - min(1_024, window // 4)
        return max(200, tokens * 9 // 10)

    async def flush(self, task: FlushTask) -> Judged:
        left = (await self._room()) - self._count(task.batch.text)
        shown = fitted(task.references, left, self._count)
        request = build(task.prompt, shown, task.batch.text)
        begun, when = time.monotonic(), self._clock()
        text, usage, error = "", Usage(), ""
        try:
            answer = await complete(self._endpoint, request)
            text, usage = answer.text, answer.usage or Usage()
            judged = judge(answer.text, answer.finish, reasoning=answer.reasoning)
            error = judged.detail
        except ModelError as failure:
            text, error = failure.raw, str(failure)
            raise
        finally:
            if self._record is not None:
                seconds = time.monotonic() - begun
                prompt = f"{request.system}\n\n{request.messages[0].content}"
                call = ModelCall(
                    task.run, "flush", self.name, when, seconds, prompt, text, usage, error
                )
                await asyncio.to_thread(self._record, call)
        return judged


class ExtractiveCurator:
    """Rules instead of a model: quotes the person's sentences that state something lasting."""

    name = "extractive"

    async def budget(self) -> int:
        return NO_BUDGET

    def size(self, text: str) -> int:
        return len(text)

    async def flush(self, task: FlushTask) -> Judged:
        text = await asyncio.to_thread(extractive_flush, task.batch.messages, task.references)
        return Judged(text, nothing=not text)


# ---------------------------------------------------------------------------- without a model


def extractive_flush(messages: Sequence[Message], references: References) -> str:
    """Bullets that quote the person, in order; "" when nothing qualifies. Pure.

    What MEMORY.md or today's log hold already, word for word, is not said again.
    """
    known = {normal(block.text) for text in (references.curated, references.log)
             for block in bullets(text)}  # fmt: skip
    lines: list[str] = []
    for message in messages:
        if message.role != "user" or message.origin:
            continue
        for sentence in facts(message.content):
            key = normal(sentence)
            if key not in known:
                known.add(key)
                lines.append(f"- {sentence}")
    return "\n".join(lines)


def extractive_consolidation(current: str, sections: Sequence[WaitingSection]) -> str:
    """MEMORY.md with the waiting bullets it does not hold yet, each under its day. Pure.

    Nothing that is there is changed or moved. A day's heading (`## 2026-11-30`) is made when it is
    missing, before the block of saved lines; bullets join a heading that exists.
    """
    known = Known(block.text for block in bullets(current))
    added: dict[str, list[str]] = {}
    for found in sections:
        for line in _lines(found):
            if known.add(line):
                added.setdefault(_day(found), []).append(line)
    text = current
    for day in sorted(added):
        text = _under_heading(text, day, added[day])
    return text


def _lines(found: WaitingSection) -> Iterable[str]:
    """The facts of a section, each as one bullet; of foreign sections only real bullets."""
    foreign = found.section.kind == "foreign"
    for block in bullets(source_text(section_text(found.section))):
        if block.kind == "fence" or (foreign and block.kind != "bullet"):
            continue
        body = " ".join(block.body.split())
        if body and body != SENTINEL and not body.startswith("|"):
            yield f"- {body}"


def _day(found: WaitingSection) -> str:
    day, _ = day_of(Path(found.path).name)
    if day is None and found.section.when is not None:
        day = found.section.when.date()
    return day.isoformat() if day else Path(found.path).stem


def _under_heading(text: str, day: str, lines: Sequence[str]) -> str:
    rows = text.split("\n")
    heading = f"## {day}"
    if heading in rows:
        at = rows.index(heading) + 1
        while at < len(rows) and not rows[at].startswith(("#", "<!-- palimpsest:")):
            at += 1
        while rows[at - 1].strip() == "":
            at -= 1
        return "\n".join([*rows[:at], *lines, *rows[at:]])
    end = rows.index(SAVED_START) if SAVED_START in rows else len(rows)
    head = "\n".join(rows[:end]).rstrip("\n")
    block = "\n".join([heading, *lines])
    tail = "\n".join(rows[end:])
    parts = [part for part in (head if head.strip() else "", block, tail) if part]
    return "\n\n".join(parts) + ("" if tail else "\n")
