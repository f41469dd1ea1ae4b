"""What becomes of the sections a run was given, and when the watermark moves.

A section is `merged` when a line of MEMORY.md traces to it or already held its content, `rejected`
when the change that stems from it was refused, `left_out` otherwise; an open question keeps its
section `waiting`, and an undone apply makes what it merged wait again. The watermark moves to a
run's start when nothing earlier waits (specification, section 10). Blocks: call it in a thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from app.engine.memory.outline import bullet_key, bullets, normal
from app.engine.memory.proposals import Input, Stored
from app.engine.memory.provenance import Origin
from app.engine.records import Change, Decision
from app.engine.workspace.layout import Layout
from app.engine.workspace.sections import (
    SectionKey,
    SectionStates,
    State,
    WaitingSection,
    write_watermark,
)

Fate = tuple[State, str]
_TAKEN_BACK = "The apply was taken back; it waits to be decided again."


class Settling:
    """Section states and watermark of one workspace, as a run leaves them."""

    def __init__(self, layout: Layout, states: SectionStates) -> None:
        self._layout = layout
        self._states = states

    def settle(
        self,
        run: str,
        inputs: Sequence[Input],
        text: str,
        *,
        when: datetime,
        kept: frozenset[str] = frozenset(),
        undecided: frozenset[str] = frozenset(),
        refused: frozenset[str] = frozenset(),
    ) -> None:
        """Record what became of `inputs` now that MEMORY.md is `text`.

        The sets hold hashes of sections: those a line of the text, an undecided change, a refused
        change traces to.
        """
        wanted = {i.key for i in inputs}
        here = {found.key: found for found in self._states.known() if found.key in wanted}
        present = frozenset(normal(b.text) for b in bullets(text))
        fates: dict[SectionKey, Fate] = {}
        for one in inputs:
            if one.hash in undecided:
                fates[one.key] = ("waiting", "A change that stems from it is not decided yet.")
            elif one.hash in kept:
                fates[one.key] = ("merged", "")
            elif one.hash in refused or self._refused(here.get(one.key), run):
                fates[one.key] = ("rejected", "The change that stems from it was refused.")
            elif _held(here.get(one.key), present):
                fates[one.key] = ("merged", "MEMORY.md held it already.")
            else:
                fates[one.key] = ("left_out", "Nothing of it was taken into MEMORY.md.")
        for fate in dict.fromkeys(fates.values()):
            keys = [key for key, its in fates.items() if its == fate]
            self._states.set(keys, fate[0], when=when, run=run, reason=fate[1])

    def _refused(self, found: WaitingSection | None, run: str) -> bool:
        """Did an earlier part of the same run refuse it?"""
        if found is None:
            return False
        its = self._states.state(found.path, found.section)
        return (its.state, its.run) == ("rejected", run)

    def reject(self, run: str, inputs: Sequence[Input], reason: str, when: datetime) -> None:
        """All of a run's sections were refused."""
        self._states.set([i.key for i in inputs], "rejected", when=when, run=run, reason=reason)

    def take_back(self, run: str, text: str, kept: frozenset[str], when: datetime) -> None:
        """A run's apply was undone: what it merged and MEMORY.md, now `text`, lacks waits again.

        Nobody refused it. `kept` are hashes of the sections that a line of the text traces to.
        """
        present = frozenset(normal(b.text) for b in bullets(text))
        gone = [
            found.key
            for found, _ in self._of(run, "merged")
            if found.section.hash not in kept and not _held(found, present)
        ]
        self._states.set(gone, "waiting", when=when, run=run, reason=_TAKEN_BACK)

    def bring_back(self, run: str, when: datetime) -> None:
        """The undo of a run's apply was undone."""
        back = [found.key for found, its in self._of(run, "waiting") if its == _TAKEN_BACK]
        self._states.set(back, "merged", when=when, run=run)

    def _of(self, run: str, state: State) -> Iterator[tuple[WaitingSection, str]]:
        """The sections that a run left in a state, each with the reason."""
        if not run:
            return
        for found in self._states.known(state):
            its = self._states.state(found.path, found.section)
            if its.run == run:
                yield found, its.reason

    def taken_back(self, inputs: Iterable[Input]) -> bool:
        """Was an apply of any of these sections undone, and not decided again since?"""
        wanted = {i.key for i in inputs}
        return any(
            self._states.state(found.path, found.section).reason == _TAKEN_BACK
            for found in self._states.waiting()
            if found.key in wanted
        )

    def mark(self, start: datetime) -> None:
        """Move the watermark to `start`, unless something earlier is still waiting."""
        if not any(self._began(found) <= start for found in self._states.waiting()):
            write_watermark(self._layout, start)

    def _began(self, found: WaitingSection) -> datetime:
        """When a section was written: its heading says, else its file's time."""
        if found.section.when is not None:
            return found.section.when
        stamp = (self._layout.root / found.path).stat().st_mtime
        return datetime.fromtimestamp(stamp, UTC)


def _held(found: WaitingSection | None, present: frozenset[str]) -> bool:
    if found is None:
        return False
    facts = [normal(b.text) for b in bullets("\n".join(line.text for line in found.section.lines))]
    return bool(facts) and all(fact in present for fact in facts)


# ---------------------------------------------------------------------------- pure


def bullets_in(text: str) -> list[str]:
    """The facts of a text, each with its continuation lines."""
    return [block.text for block in bullets(text)]


def facts_of(changes: Iterable[Change]) -> list[str]:
    """The facts that changes would bring."""
    return [fact for change in changes for fact in bullets_in("\n".join(change.after))]


def traced(stored: Stored, facts: Iterable[str]) -> frozenset[str]:
    """Hashes of the sections that these facts stem from."""
    return frozenset(
        origin.section for fact in facts for origin in stored.origins.get(bullet_key(fact), ())
    )


def with_edits(
    origins: Mapping[str, tuple[Origin, ...]],
    changes: Sequence[Change],
    decisions: Iterable[Decision],
) -> dict[str, tuple[Origin, ...]]:
    """A person's own wording of a change stems from what the change stems from."""
    made = dict(origins)
    by_number = {c.n: c for c in changes}
    for decision in decisions:
        if decision.verdict != "accept" or decision.text is None or decision.n not in by_number:
            continue
        facts = bullets_in("\n".join(by_number[decision.n].after))
        old = tuple(o for fact in facts for o in origins.get(bullet_key(fact), ()))
        for fact in bullets_in(decision.text):
            made[bullet_key(fact)] = tuple(dict.fromkeys((*made.get(bullet_key(fact), ()), *old)))
    return made
