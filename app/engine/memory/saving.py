"""`memory_save`: a fact kept on request.

The fact goes to today's log at once. Into MEMORY.md it goes at once only when a person asked for it
or policy and pins allow; otherwise it becomes a proposal of its own, so that nothing enters the
curated file unseen. No argument of a model decides which (specification, section 14; case TOL-4).
Everything here blocks: call it in a thread.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import uuid4

from msgspec import Struct

from app.engine.config import MemoryConfig
from app.engine.errors import UserError
from app.engine.memory import checks, provenance
from app.engine.memory.answers import Judged
from app.engine.memory.diff import difference
from app.engine.memory.gathering import inputs_of
from app.engine.memory.outline import bullet_key, bullets
from app.engine.memory.policy import approved
from app.engine.memory.proposals import SAVED, ProposalStore, Stored, counted
from app.engine.memory.provenance import Matcher
from app.engine.memory.topics import Topics
from app.engine.records import Version
from app.engine.workspace.daily_log import append_section
from app.engine.workspace.layout import Layout
from app.engine.workspace.memory_file import MemoryWriter, bullets_of, with_saved
from app.engine.workspace.pins import broken
from app.engine.workspace.sections import SectionStates, WaitingSection


class Wish(Struct, frozen=True):
    """What is to be kept, who wants it, and where it was said.

    `by_person` is set only for what a person asked for through the program itself.
    """

    content: str
    by_person: bool
    when: datetime
    session_id: str = ""
    entry_id: str = ""


class Saved(Struct, frozen=True):
    """Where it went: `version` of MEMORY.md (None under review) or the id of a proposal."""

    path: str
    count: int
    version: Version | None = None
    proposal: str = ""


class NeverRemember(UserError):
    """The fact is about a topic that a person put on the list of those never to be remembered."""

    remedy = "It was not saved. Take the topic off the list in Settings to allow it."


class MemorySaver:
    """Saves facts of one workspace."""

    def __init__(
        self,
        layout: Layout,
        writer: MemoryWriter,
        states: SectionStates,
        proposals: ProposalStore,
    ) -> None:
        self._layout = layout
        self._writer = writer
        self._states = states
        self._proposals = proposals

    def save(self, wish: Wish, memory: MemoryConfig) -> Saved:
        """Keep a wish as policy and topics of `memory` allow. Raises `ValueError` when it is blank,
        `NeverRemember` when it is about such a topic, else as the writers do."""
        if topic := Topics(memory.never_remember).of(wish.content):
            raise NeverRemember(f"This is about “{topic}”, which is never to be remembered here.")
        run = f"save-{uuid4().hex[:12]}"
        lines = bullets_of(wish.content)
        text = "\n".join(lines)
        section = append_section(
            self._layout,
            kind="save",
            text=text,
            now=wish.when,
            run=run,
            session=wish.session_id,
            first=wish.entry_id,
            last=wish.entry_id,
            origin="user" if wish.by_person else "model",
        )
        path = self._layout.relative(self._layout.daily(wish.when.date()))
        found = WaitingSection(path, section)
        count = max(1, sum(line.lstrip().startswith("-") for line in lines))
        if wish.by_person or (memory.policy != "review" and self._free(lines)):
            version, _ = self._writer.save(
                wish.content, when=wish.when, run=run, provenance=self._traced(found, lines)
            )
            self._states.set(
                [found.key], "merged", when=wish.when, run=run, reason="Saved on request."
            )
            return Saved(path, count, version=version)
        return Saved(path, count, proposal=self._propose(run, found, lines, wish.when))

    def _free(self, lines: list[str]) -> bool:
        """Whether no pin keeps the saved block from growing."""
        text = self._writer.read().text
        return not broken(text, with_saved(text, lines), self._writer.pins())

    def _traced(self, found: WaitingSection, saved: list[str]) -> dict[str, Any]:
        """What the lines so far stem from, and the saved ones: from the section just written."""
        origins = provenance.from_record(self._writer.history.provenance())
        matcher = Matcher([found])
        for block in bullets("\n".join(saved)):
            origins[bullet_key(block.text)] = matcher.origins(block.text)
        return provenance.to_record(origins)

    def _propose(self, run: str, found: WaitingSection, lines: list[str], when: datetime) -> str:
        """A proposal that adds these lines to the saved block."""
        file = self._writer.read()
        candidate = with_saved(file.text, lines)
        changes = difference(file.text, candidate).changes
        looked_at = checks.Candidate(
            judged=Judged(candidate),
            base=file.text,
            approved=approved(self._writer.history) or file.text,
            inputs=("\n".join(line.text for line in found.section.lines),),
            pinned=self._writer.pins(),
        )
        self._proposals.add(
            Stored(
                id=run,
                state="proposed",
                when=when,
                model="memory_save",
                curator=SAVED,
                base=file.text,
                base_sha256=file.sha256,
                candidate=candidate,
                inputs=inputs_of((found,)),
                checks=checks.run_checks(looked_at, changes),
                note="The agent asked to keep this.",
                origins=provenance.of_changes(changes, Matcher([found])),
                counts=counted(changes),
            )
        )
        return run
