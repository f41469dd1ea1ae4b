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
from datetime import datetime
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
from app.engine.memory.gathering import free, inputs_of, pause, same_again
from app.engine.memory.policy import approved, held_back
from app.engine.memory.proposals import Stored, counted
from app.engine.memory.provenance import Entries, Matcher
from app.engine.memory.refusals import without_refused
from app.engine.memory.topics import Topics
from app.engine.records import Change, ModelCall
from app.engine.workspace.layout import Layout
from app.engine.workspace.memory_file import MemoryFile, MemoryWriter
from app.engine.workspace.secrets import mask
from app.engine.workspace.sections import SectionStates, WaitingSection, read_watermark

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
        return await self._told(lambda: self._gather(now, manual), self._fit_endpoint)

    async def again(self, proposal_id: str, endpoint: Endpoint | None, now: datetime) -> Outcome:
        """The run behind a proposal once more, by another model (None: without one).

        The same file and the same sections make a second proposal beside the first. A person chose
        the model, so its fitness is not asked for; and no policy ever applies what it says.
        """
        return await self._told(lambda: self._gather_again(proposal_id, now), lambda: endpoint)

    async def _told(
        self, gather: Callable[[], Task | Outcome], endpoint: Callable[[], Endpoint | None]
    ) -> Outcome:
        async with self._lock:
            try:
                outcome = await self._run(gather, endpoint)
            except UserError as error:
                outcome = Outcome("failed", reason=str(error), remedy=error.remedy)
        self._say(outcome)
        return outcome

    async def _run(
        self, gather: Callable[[], Task | Outcome], endpoint: Callable[[], Endpoint | None]
    ) -> Outcome:
        task = await asyncio.to_thread(gather)
        if isinstance(task, Outcome):
            return task
        said = _REBUILT if task.rebuild else ""
        self._bus.publish(Activity("consolidation", "started", job_id=task.run, reason=said))
        made = await self._curate(task, endpoint())
        return await asyncio.to_thread(self._conclude, task, made)

    def _fit_endpoint(self) -> Endpoint | None:
        """The model that may be trusted with memory, if the settings want one."""
        endpoint = self.endpoint
        fit = endpoint is not None and endpoint.fit_for_memory
        return endpoint if fit and self.config.curator != EXTRACTIVE else None

    async def _curate(self, task: Task, endpoint: Endpoint | None) -> Made:
        if endpoint is None:
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
        sections, why = free(sections, known, file)
        if not sections:
            return Outcome("nothing", reason=why)
        until = None if manual else pause(known, self.config.consolidation_min_gap, now)
        if until is not None:
            said = f"The last try failed; the next is after {until.isoformat(timespec='minutes')}."
            return Outcome("pausing", reason=said)
        return self._task(now, file, sections, rebuild)

    def _gather_again(self, proposal_id: str, now: datetime) -> Task:
        stored = self._store.load(proposal_id)
        file, sections = same_again(stored, self._states.known())
        return self._task(now, file, sections, stored.rebuild, again_of=stored.id)

    def _task(
        self,
        now: datetime,
        file: MemoryFile,
        sections: Sequence[WaitingSection],
        rebuild: bool,
        again_of: str = "",
    ) -> Task:
        never = Topics(self.config.never_remember)
        shown = never.hidden(sections)
        return Task(
            run=self._new_run(),
            start=now,
            file=file,
            sections=tuple(shown),
            parts=tuple(parts_of(shown)),
            rebuild=rebuild,
            pins=self._writer.pins(),
            refused=tuple(self._review.refused.all()),
            never=never.words,
            watermark=read_watermark(self._layout).instant,
            again_of=again_of,
        )

    # ------------------------------------------------------------------ what came of it

    def _conclude(self, task: Task, made: Made) -> Outcome:
        judged = made.judged
        text = mask(judged.text).text.replace("\r\n", "\n")
        unfit = judged.problem in FATAL or judged.nothing
        if made.error or unfit or not made.done or not text.strip():
            return self._failed(task, made)
        matcher = Matcher(made.done, self._entries)
        text, back = without_refused(
            task.file.text,
            with_ends_of(task.file.text, text),
            self._review.refused.all(),
            lambda fact: (origin.section for origin in matcher.origins(fact)),
        )
        if text.strip() == task.file.text.strip():
            return self._unchanged(task, made)
        found = difference(task.file.text, text).changes
        stored = self._proposal(task, made, text, found, matcher, back)
        if not stored.again_of:
            self._supersede(stored)
        self._store.add(stored)
        return self._by_policy(stored, found)

    def _unchanged(self, task: Task, made: Made) -> Outcome:
        """Nothing to decide. The sections of a run made again stay with the first proposal."""
        said = "The file holds all that was worth keeping already."
        if task.again_of:
            said = f"{made.model} would keep the file as it was."
        else:
            inputs = inputs_of(made.done)
            self._review.settle_unchanged(task.run, inputs, task.file.text, when=task.start)
        return Outcome("unchanged", task.run, said, rebuild=task.rebuild)

    def _proposal(
        self,
        task: Task,
        made: Made,
        text: str,
        found: tuple[Change, ...],
        matcher: Matcher,
        back: int,
    ) -> Stored:
        done = {found.key for found in made.done}
        candidate = checks.Candidate(
            judged=msgspec.structs.replace(made.judged, text=text),
            base=task.file.text,
            approved=approved(self._writer.history) or task.file.text,
            inputs=tuple(part.text for part in task.parts if part.source.key in done),
            pinned=task.pins,
            never=task.never,
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
            inputs=inputs_of(made.done),
            checks=checks.run_checks(candidate, found),
            prompt_hash=made.prompt_hash,
            rebuild=task.rebuild,
            note=_note(task, made, back),
            origins=provenance.of_changes(found, matcher),
            counts=counted(found),
            again_of=task.again_of,
        )

    def _supersede(self, new: Stored) -> None:
        """A new run takes the place of proposals that nobody has opened and that it covers."""
        covered = {i.key for i in new.inputs}
        for old in self._store.all():
            if old.state == "proposed" and covered.issuperset(i.key for i in old.inputs):
                self._store.update(old, state="superseded", note="A newer run took its place.")

    def _failed(self, task: Task, made: Made) -> Outcome:
        """Kept with its raw answer; file, watermark and section states stay as they are."""
        reason = made.error or made.judged.detail or "The model gave an empty answer."
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
            inputs=inputs_of(task.sections),
            checks=checks.answer_checks(made.judged) if made.raw else (),
            prompt_hash=made.prompt_hash,
            rebuild=task.rebuild,
            error=reason,
            again_of=task.again_of,
        )
        self._store.add(stored)
        remedy = made.remedy or "It is tried again later; the raw answer is kept."
        return Outcome("failed", task.run, reason, remedy, task.rebuild)

    def _by_policy(self, stored: Stored, found: Sequence[Change]) -> Outcome:
        waits = held_back(self.config.policy, stored, found)
        if not waits and self._review.taken_back(stored.inputs):
            waits = "A person took lines of it out of memory before."
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


def with_ends_of(file: str, text: str) -> str:
    """`text` within the blank lines that `file` begins and ends with; as it is for a blank file.

    An answer is judged stripped (specification, section 10), but nobody asked for the file's own
    final newline to go: it stays as newline style and BOM do, and so does its absence.
    """
    kept = file.strip()
    if not kept:
        return text
    start = file.index(kept)
    return file[:start] + text.strip() + file[start + len(kept) :]


def _note(task: Task, made: Made, back: int) -> str:
    """What a reviewer should know; `back` counts refused claims that came back."""
    lost = len(made.eroded)
    said = (
        _REBUILT if task.rebuild else "",
        made.note,
        f"Later batches left out {lost} lines of earlier ones: {made.eroded[0]}" if lost else "",
        f"Refused before and left out again: {back}." if back else "",
    )
    return " ".join(part for part in said if part)
