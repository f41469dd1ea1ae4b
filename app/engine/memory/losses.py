"""What MEMORY.md once held and holds no more, and how one line of it comes back.

Every version is kept, so every loss can be listed with the run that took it out. A line comes back
under its old section (made again when that is gone), beside the neighbours that still stand. All of
it blocks (it reads the history): call it in a thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from app.engine.errors import BaseChanged, UserError
from app.engine.memory.checks import lost
from app.engine.memory.outline import Block, bullet_key, bullets, lines_of, normal, outline
from app.engine.records import Loss, Version
from app.engine.workspace.history import History
from app.engine.workspace.memory_file import SAVED_END, SAVED_START, MemoryWriter, with_saved

_TRIES = 3


class NothingToBringBack(UserError, ValueError):
    """That place of that version holds no fact, or the file has it."""

    remedy = "Choose a line from the list of losses."


class Losses:
    """The losses of one workspace. What a version dropped is worked out once."""

    def __init__(self, writer: MemoryWriter) -> None:
        self._writer = writer
        self._dropped: dict[str, tuple[Block, ...]] = {}  # by the id of the version that did

    def find(self, limit: int = 1_000) -> list[Loss]:
        """Facts that one of the newest `limit` versions dropped and that the file lacks now.

        Newest loss first; a fact dropped twice stands once. What was reworded, moved or merged into
        another line is no loss.
        """
        found: list[Loss] = []
        present = {normal(b.text) for b in bullets(self._writer.read().text)}
        for newer, older in pairwise(self._writer.history.versions(limit + 1)):
            for block in self._dropped_by(newer, older):
                if (key := normal(block.text)) not in present:
                    present.add(key)
                    place = block.start + 1
                    found.append(Loss(block.text, older.number, place, newer, block.section))
        return found

    def _dropped_by(self, newer: Version, older: Version) -> tuple[Block, ...]:
        if newer.id not in self._dropped:
            text = self._writer.history.text
            self._dropped[newer.id] = lost(text(older.number), text(newer.number))
        return self._dropped[newer.id]


def bring_back(writer: MemoryWriter, number: int, line: int, when: datetime) -> Version:
    """Write the fact at a 1-based line of an earlier version into the file, as a version.

    Raises `VersionNotFound`, `NothingToBringBack`, `BaseChanged`, `Unreadable`, `StorageError`; the
    file is then unchanged.
    """
    old = writer.history.text(number)
    block = next((b for b in outline(old) if b.start < line <= b.end), None)
    if block is None or block.kind in ("blank", "comment"):
        raise NothingToBringBack(f"Line {line} of version {number} holds no fact.")
    for left in reversed(range(_TRIES)):
        now = writer.read()
        if normal(block.text) in {normal(b.text) for b in outline(now.text)}:
            raise NothingToBringBack("MEMORY.md holds that line.", "Nothing needs to be done.")
        try:
            return writer.write(
                with_line(now.text, old, block),
                base_sha256=now.sha256,
                cause="restored",
                when=when,
                provenance=_origins(writer.history, number, block),
                note=f"brings back line {line} of version {number}",
            )
        except BaseChanged:  # written between reading and writing: place it anew
            if not left:
                raise
    raise AssertionError("unreachable")


def _origins(history: History, number: int, block: Block) -> dict[str, object]:
    """The newest version's provenance, with that of the line as it was then."""
    key, kept = bullet_key(block.text), history.provenance()
    then = history.provenance(number).get(key)
    return kept if then is None else {**kept, key: then}


# ---------------------------------------------------------------------------- pure


def with_line(text: str, old: str, block: Block) -> str:
    """`text` with `block` of the version `old`, at its old place as far as that still stands.

    Directly below the nearest line above it that stands in the same section, else directly above
    the nearest below it, else at the section's end. A section that is gone is made again after the
    one that preceded it; without any, at the end.
    """
    blocks, before = outline(text), outline(old)
    if block.kind == "heading":
        return _with_section(text, blocks, before, block, ())
    home = [b for b in before if _same_place(b, block)]
    here = [b for b in blocks if b.section == block.section and b.kind not in ("blank", "comment")]
    if not here and not block.section:
        return "\n".join([block.text, *([""] if text.strip() else []), text])
    if not here:
        if _is_saved(before, block):
            return with_saved(text, lines_of(block.text))
        heading = next(b for b in reversed(before[: before.index(block)]) if b.kind == "heading")
        return _with_section(text, blocks, before, heading, lines_of(block.text))
    return _insert(text, _line_for(home, here, block), lines_of(block.text))


def _same_place(one: Block, block: Block) -> bool:
    return one.section == block.section and one.kind not in ("blank", "heading", "comment")


def _line_for(home: Sequence[Block], here: Sequence[Block], block: Block) -> int:
    """The 0-based line before which the block goes; `here` is its section as it stands."""
    stands = {normal(b.text): b for b in here if b.kind != "heading"}
    at = home.index(block)
    for above in reversed(home[:at]):
        if (found := stands.get(normal(above.text))) is not None:
            return found.end
    for below in home[at + 1 :]:
        if (found := stands.get(normal(below.text))) is not None:
            return found.start
    return here[-1].end


def _is_saved(before: Sequence[Block], block: Block) -> bool:
    """Whether the block stood in the saved block of its version."""
    marks = [b.text.strip() for b in before if b.kind == "comment" and b.start < block.start]
    return next((m == SAVED_START for m in reversed(marks) if m in (SAVED_START, SAVED_END)), False)


def _with_section(
    text: str,
    blocks: Sequence[Block],
    before: Sequence[Block],
    heading: Block,
    lines: Sequence[str],
) -> str:
    """`text` with a section made again: after the nearest one before it that still stands."""
    made = (heading.text, *lines)
    standing = {normal(b.text): b for b in blocks if b.kind == "heading"}
    for above in reversed(before[: before.index(heading)]):
        if above.kind == "heading" and (found := standing.get(normal(above.text))) is not None:
            last = _last_of(blocks, found)
            return _insert(text, last.end, ("", *made))
    body = text.rstrip("\n")
    return "\n".join([*([body, ""] if body.strip() else []), *made, ""])


def _last_of(blocks: Sequence[Block], heading: Block) -> Block:
    """The last block of a heading's own section that is not blank."""
    last = heading
    for block in blocks[blocks.index(heading) + 1 :]:
        if block.kind == "heading":
            break
        if block.kind != "blank":
            last = block
    return last


def _insert(text: str, at: int, new: Iterable[str]) -> str:
    lines = lines_of(text)
    return "\n".join([*lines[:at], *new, *lines[at:]])
