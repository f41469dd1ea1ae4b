"""From daily logs to a proposal for MEMORY.md.

One run: take the start instant, gather what waits, ask a curator (in batches when it is much),
judge the answer, check the candidate, store it as a proposal, and let the policy decide. Nothing
new means no model call. Whatever goes wrong leaves file, watermark and section states as they were.
A file that cannot be read stops the run; a blank or missing one with merged sections is rebuilt
from all daily logs (specification, section 10).

`MemoryConsolidator` is async; disk work runs in threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Literal
from uuid import uuid4

import msgspec
from msgspec import Struct

from app.engine.config import MemoryConfig
from app.engine.errors import BaseChanged, UserError
from app.engine.events import Activity, Bus
from app.engine.llm.endpoint import Endpoint
from app.engine.memory import checks, provenance
from app.engine.memory.apply import Review
from app.engine.memory.consolidation_request import CHARACTERS_PER_TOKEN, Count, parts_of
from app.engine.memory.curation import (
    EXTRACTIVE,
    FATAL,
    Asking,
    Extract,
    Made,
    Record,
    Task,
    without_model,
)
from app.engine.memory.curators import extractive_consolidation
from app.engine.memory.diff import difference
from app.engine.memory.outline import bullet_key, bullets
from app.engine.memory.policy import approved, held_back
from app.engine.memory.proposals import Input, Stored, counted
from app.engine.memory.provenance import Entries, Matcher
from app.engine.memory.review import resolved
from app.engine.records import Change, Decision, ModelCall
from app.engine.workspace.layout import Layout
from app.engine.workspace.memory_file import MemoryFile, MemoryWriter
from app.engine.workspace.secrets import mask
from app.engine.workspace.sections import SectionStates, WaitingSection, read_watermark

LONGEST_PAUSE = timedelta(hours=24)

State = Literal["nothing", "pausing", "failed", "unchanged", "proposed", "applied"]


class Outcome(Struct, frozen=True):
    """How a run ended. `reason` is a sentence for everything but a plain success.

    nothing: there was nothing new, no model was asked. pausing: it failed lately and waits.
    unchanged: the curator kept the file as it is. proposed: a proposal waits for a person.
    """

    state: State
    run: str = ""
    reason: str = ""
    remedy: str = ""
    rebuild: bool = False
    version: int = 0


def _unrecorded(call: ModelCall) -> None:
    """For tests and tools that keep no `runs.jsonl`."""
    del call


class MemoryConsolidator:
    """Consolidation of one workspace. One run at a time; a second waits for the first.

    `config`, `endpoint` (None: no model) and `extract` may be replaced between runs.
    """

    def __init__(
        self,
        layout: Layout,
        writer: MemoryWriter,
        states: SectionStates,
        review: Review,
        config: MemoryConfig,
        *,
        endpoint: Endpoint | None = None,
        extract: Extract | None = extractive_consolidation,
        record: Record = _unrecorded,
        entries: Entries | None = None,
        count: Count = lambda text: len(text.encode()) // 3 + 1,
        bus: Bus | None = None,
        new_run: Callable[[], str] = lambda: f"r-{uuid4().hex[:12]}",
    ) -> None:
        self._layout = layout
        self._writer = writer
        self._states = states
        self._review = review
        self._store = review.store
        self.config = config
        self.endpoint = endpoint
        self.extract = extract
        self._record = record
        self._entries = entries
        self._count = count
        self._bus = bus or Bus()
        self._new_run = new_run
        self._lock = asyncio.Lock()

    async def consolidate(self, now: datetime, *, manual: bool = False) -> Outcome:
        """One run, starting at `now` (aware). A `manual` one does not wait after a failure.

        Never raises for what a model or a disk does (`failed` says it); cancellation passes.
        """
        async with self._lock:
            try:
                outcome = await self._run(now, manual=manual)
            except UserError as error:
                outcome = Outcome("failed", reason=str(error), remedy=error.remedy)
        self._say(outcome)
        return outcome

    async def _run(self, now: datetime, *, manual: bool) -> Outcome:
        task = await asyncio.to_thread(self._gather, now, manual)
        if isinstance(task, Outcome):
            return task
        said = _REBUILT if task.rebuild else ""
        self._bus.publish(Activity("consolidation", "started", job_id=task.run, reason=said))
        made = await self._curate(task)
        return await asyncio.to_thread(self._conclude, task, made)

    async def _curate(self, task: Task) -> Made:
        endpoint = self.endpoint
        if self.config.curator == EXTRACTIVE or endpoint is None or not endpoint.fit_for_memory:
            return await asyncio.to_thread(without_model, task, self.extract)
        return await Asking(task, endpoint, self.config, self._count, self._record).run()

    # ------------------------------------------------------------------ what there is to do

    def _gather(self, now: datetime, manual: bool) -> Task | Outcome:
        file = self._writer.read()
        if file.state == "unreadable":
            return Outcome("failed", reason=file.problem, remedy="Mend MEMORY.md first.")
        rebuild = file.state in ("absent", "empty") and bool(self._states.known("merged"))
        if rebuild:
            sections = self._states.known("waiting", "merged", "left_out")
        else:
            sections = self._states.waiting()
        known = self._store.all()
        sections, why = _free(sections, known, file)
        if not sections:
            return Outcome("nothing", reason=why)
        if not manual and (until := self._pause(known, now)) is not None:
            return Outcome("pausing", reason=f"The last try failed; the next is after {until}.")
        return Task(
            run=self._new_run(),
            start=now,
            file=file,
            sections=tuple(sections),
            parts=tuple(parts_of(sections)),
            rebuild=rebuild,
            pins=self._writer.pins(),
            refused=tuple(claim.text for claim in self._review.refused.all()),
            watermark=read_watermark(self._layout).instant,
        )

    def _pause(self, known: Sequence[Stored], now: datetime) -> str | None:
        """When the next automatic try may be, if that is later than `now`."""
        failures: list[Stored] = []
        for stored in known:
            if not (stored.state == "failed" or _refusal(stored)):
                break
            failures.append(stored)
        if not failures:
            return None
        wait = self.config.consolidation_min_gap * 2 ** min(len(failures) - 1, 20)
        last = failures[0].when
        until = last + min(wait, LONGEST_PAUSE)
        return until.isoformat(timespec="minutes") if last <= now < until else None

    # ------------------------------------------------------------------ what came of it

    def _conclude(self, task: Task, made: Made) -> Outcome:
        judged = made.judged
        text = mask(judged.text).text.replace("\r\n", "\n")
        unfit = judged.problem in FATAL or judged.nothing
        if made.error or unfit or not made.done or not text.strip():
            return self._failed(task, made)
        text = self._without_refused(task, text)
        if text.strip() == task.file.text.strip():
            inputs = _inputs(made.done)
            self._review.settle_unchanged(task.run, inputs, task.file.text, when=task.start)
            said = "The file holds all that was worth keeping already."
            return Outcome("unchanged", task.run, said, rebuild=task.rebuild)
        found = difference(task.file.text, text).changes
        stored = self._proposal(task, made, text, found)
        self._supersede(stored)
        self._store.add(stored)
        return self._by_policy(stored, found)

    def _proposal(self, task: Task, made: Made, text: str, found: tuple[Change, ...]) -> Stored:
        done = {found.key for found in made.done}
        candidate = checks.Candidate(
            judged=msgspec.structs.replace(made.judged, text=text),
            base=task.file.text,
            approved=approved(self._writer.history) or task.file.text,
            inputs=tuple(part.text for part in task.parts if part.source.key in done),
            pinned=task.pins,
            eroded=made.eroded,
            limit=self.config.consolidation_max_tokens * CHARACTERS_PER_TOKEN,
            loss_limit=self.config.loss_limit,
            source_min_overlap=self.config.source_min_overlap,
        )
        return Stored(
            id=task.run,
            state="proposed",
            when=task.start,
            model=made.model,
            curator=EXTRACTIVE if made.model == EXTRACTIVE else "llm",
            base=task.file.text,
            base_sha256=task.file.sha256,
            candidate=text,
            raw=made.raw,
            inputs=_inputs(made.done),
            checks=checks.run_checks(candidate, found),
            prompt_hash=made.prompt_hash,
            rebuild=task.rebuild,
            note=_note(task, made),
            origins=provenance.of_changes(found, Matcher(made.done, self._entries)),
            counts=counted(found),
        )

    def _without_refused(self, task: Task, text: str) -> str:
        """Claims that were refused and come back are taken out again, by code."""
        refused = {bullet_key(claim) for claim in task.refused}
        if not refused:
            return text
        diff = difference(task.file.text, text)
        back = {
            c.n
            for c in diff.changes
            if c.kind == "added"
            and (facts := bullets("\n".join(c.after)))
            and all(bullet_key(b.text) in refused for b in facts)
        }
        if not back:
            return text
        return resolved(diff, [Decision(c.n, "accept") for c in diff.changes if c.n not in back])

    def _supersede(self, new: Stored) -> None:
        """A new run takes the place of proposals that nobody has opened and that it covers."""
        covered = {i.key for i in new.inputs}
        for old in self._store.all():
            if old.state == "proposed" and covered.issuperset(i.key for i in old.inputs):
                self._store.update(old, state="superseded", note="A newer run took its place.")

    def _failed(self, task: Task, made: Made) -> Outcome:
        """Kept with its raw answer; file, watermark and section states stay as they are."""
        reason = made.error or made.judged.detail or "The model gave an empty answer."
        shape = checks.Candidate(made.judged, task.file.text, task.file.text, ())
        stored = Stored(
            id=task.run,
            state="failed",
            when=task.start,
            model=made.model,
            curator=EXTRACTIVE if made.model == EXTRACTIVE else "llm",
            base=task.file.text,
            base_sha256=task.file.sha256,
            candidate=task.file.text,
            raw=made.raw,
            inputs=_inputs(task.sections),
            checks=checks.answer_checks(shape.judged) if made.raw else (),
            prompt_hash=made.prompt_hash,
            rebuild=task.rebuild,
            error=reason,
        )
        self._store.add(stored)
        remedy = made.remedy or "It is tried again later; the raw answer is kept."
        return Outcome("failed", task.run, reason, remedy, task.rebuild)

    def _by_policy(self, stored: Stored, found: Sequence[Change]) -> Outcome:
        waits = held_back(self.config.policy, stored, found)
        if not waits:
            try:
                done = self._review.apply_all(stored.id, when=stored.when)
            except BaseChanged as error:
                waits = str(error)
            else:
                return Outcome("applied", stored.id, "", "", stored.rebuild, done.version)
        return Outcome("proposed", stored.id, waits, rebuild=stored.rebuild)

    def _say(self, outcome: Outcome) -> None:
        state: Literal["finished", "failed", "skipped"] = "finished"
        if outcome.state == "failed":
            state = "failed"
        elif outcome.state in ("nothing", "pausing"):
            state = "skipped"
        self._bus.publish(
            Activity(
                "consolidation",
                state,
                job_id=outcome.run,
                reason=" ".join(
                    s for s in (_REBUILT if outcome.rebuild else "", outcome.reason) if s
                ),
                remedy=outcome.remedy,
                detail={"state": outcome.state, "rebuild": outcome.rebuild},
            )
        )
        if outcome.state in ("proposed", "failed", "applied"):
            self._bus.changed("proposals", ids=(outcome.run,))
        if outcome.state in ("applied", "unchanged"):
            self._bus.changed("memory", "versions", "daily")


# ---------------------------------------------------------------------------- pure

_REBUILT = "MEMORY.md was missing or blank, so it is rebuilt from all daily logs."


def _free(
    sections: Sequence[WaitingSection], known: Sequence[Stored], file: MemoryFile
) -> tuple[list[WaitingSection], str]:
    """The sections to work on, or why there are none.

    What lies in a review somebody has begun stays there. When all the rest is in a proposal for
    the same file that nobody has opened yet, asking again would give the same.
    """
    opened = {i.key for p in known if p.state == "in_review" for i in p.inputs}
    free = [found for found in sections if found.key not in opened]
    if not free:
        said = "All of it is in a proposal that waits for review."
        return [], said if sections else "There is nothing new in the daily logs."
    same = {
        i.key
        for p in known
        if p.state == "proposed" and p.base_sha256 == file.sha256 and not _refusal(p)
        for i in p.inputs
    }
    if all(found.key in same for found in free):
        return [], "All of it is in a proposal that waits for review."
    return free, ""


def _refusal(stored: Stored) -> bool:
    return any(c.name == "refusal" and not c.ok for c in stored.checks)


def _inputs(sections: Sequence[WaitingSection]) -> tuple[Input, ...]:
    return tuple(
        Input(found.path, found.key.file, found.key.ordinal, found.key.hash) for found in sections
    )


def _note(task: Task, made: Made) -> str:
    lost = len(made.eroded)
    said = (
        _REBUILT if task.rebuild else "",
        made.note,
        f"Later batches left out {lost} lines of earlier ones: {made.eroded[0]}" if lost else "",
    )
    return " ".join(part for part in said if part)
