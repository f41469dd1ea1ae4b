"""MEMORY.md and its single writer; pins; the saved section.

Idea: whoever wants to change the file (consolidation, `memory_save`, the editor, undo) goes through
one `MemoryWriter`, which holds a lock between processes, compares what the caller had read, writes
whole, and adds a version. Invariants: a file that cannot be read is never rewritten; a hand edit
made elsewhere becomes a version of its own before ours; newline style, BOM and a link stay.
Specification, sections 3.2, 3.7 and 10.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from msgspec import Struct

from app.engine.errors import BaseChanged, PathRefused, Unreadable, UserError
from app.engine.records import FileState, Version
from app.engine.workspace.confine import same_file, write_target
from app.engine.workspace.documents import rewrite
from app.engine.workspace.files import (
    NO_FILE_SHA256,
    decode,
    lock,
    read_bytes,
    read_text,
    well_formed,
    write_atomic,
)
from app.engine.workspace.history import History
from app.engine.workspace.layout import Layout
from app.engine.workspace.pins import pinned_lines, section_of
from app.engine.workspace.secrets import mask

SAVED_START = "<!-- palimpsest:saved -->"
SAVED_END = "<!-- /palimpsest:saved -->"
_MASKED_CAUSES = frozenset({"consolidation", "saved"})


class MemoryFile(Struct, frozen=True):
    """MEMORY.md as read. `text` is "" unless `state` is present or empty; `sha256` of the bytes."""

    state: FileState
    text: str = ""
    sha256: str = NO_FILE_SHA256
    newline: str = "\n"
    bom: bool = False
    problem: str = ""
    remedy: str = ""


class Spelling(Struct, frozen=True):
    """Another spelling of MEMORY.md or memory/ beside the real one; `same` when it is one file."""

    name: str
    same: bool


class Pinned(UserError):
    """A line's pin is that of its section, so it cannot be taken off by itself."""

    remedy = "Take the pin off the heading."


class MemoryWriter:
    """The one writer of a workspace's MEMORY.md. Synchronous; safe between threads, processes."""

    def __init__(self, layout: Layout, history: History | None = None) -> None:
        self._layout = layout
        self.history = history or History(layout)

    # ------------------------------------------------------------------ reading

    def read(self) -> MemoryFile:
        """The file now; never raises for what is wrong with it (`state`, `problem`, `remedy`)."""
        try:
            path = write_target(self._layout.root, self._layout.memory_md)
            data = read_bytes(path)
            if data is None:
                return MemoryFile("absent")
            file = decode(data, "MEMORY.md")
        except (Unreadable, PathRefused) as error:
            return MemoryFile("unreadable", problem=str(error), remedy=error.remedy)
        state: FileState = "empty" if file.blank else "present"
        return MemoryFile(state, file.text, file.sha256, file.newline, file.bom)

    def readable(self) -> MemoryFile:
        """As `read`, for whoever cannot go on without it. Raises `Unreadable`."""
        now = self.read()
        if now.state == "unreadable":
            raise Unreadable(now.problem, now.remedy)
        return now

    def other_spellings(self) -> list[Spelling]:
        """Names such as `memory.md` or `Memory/` beside ours: reported, never merged (B25)."""
        ours = {"memory.md": self._layout.memory_md, "memory": self._layout.memory_dir}
        try:
            names = sorted(entry.name for entry in self._layout.root.iterdir())
        except OSError:
            return []
        return [
            Spelling(name, real.exists() and same_file(self._layout.root / name, real))
            for name in names
            if (real := ours.get(name.lower())) is not None and name != real.name
        ]

    # ------------------------------------------------------------------ writing

    def write(
        self,
        text: str,
        *,
        base_sha256: str | None,
        cause: str,
        when: datetime,
        run: str = "",
        model: str = "",
        prompt_hash: str = "",
        inputs: Sequence[str] = (),
        decisions: str = "",
        provenance: Mapping[str, Any] | None = None,
        note: str = "",
    ) -> Version:
        """Replace the file and add a version.

        `base_sha256` is `MemoryFile.sha256` of what the caller had read ("" when it was absent);
        None writes whatever is there. Text equal to the file adds nothing and returns the newest
        version. Secrets are masked when a model or tool wrote the text. Raises `BaseChanged`,
        `Unreadable`, `PathRefused`, `StorageError`; the file is then unchanged.
        """
        with lock(self._layout.lock_file("memory")):
            now = self.readable()
            if base_sha256 is not None and base_sha256 != now.sha256:
                raise BaseChanged("MEMORY.md was changed while this was being prepared.")
            external = self._notice(now, when)
            text = _clean(text, cause)
            latest = external or self.history.latest()
            if text == now.text and now.state != "absent" and latest is not None:
                return latest
            return self._written(
                text, cause=cause, when=when, provenance=provenance, run=run, model=model,
                prompt_hash=prompt_hash, inputs=inputs, decisions=decisions, note=note,
            )  # fmt: skip

    def save(
        self,
        content: str,
        *,
        when: datetime,
        run: str = "",
        note: str = "",
        provenance: Mapping[str, Any] | None = None,
    ) -> tuple[Version, int]:
        """Append to the saved block at the end (section 3.2), made when absent.

        The version and the number of bullets written (at least 1). A blank content raises
        `ValueError`; else as `write`.
        """
        bullets = bullets_of(_clean(content, "saved"))
        with lock(self._layout.lock_file("memory")):
            now = self.readable()
            self._notice(now, when)
            text = with_saved(now.text, bullets)
            version = self._written(
                text, cause="saved", when=when, provenance=provenance, run=run, note=note
            )
        return version, max(1, sum(1 for line in bullets if line.startswith("-")))

    def undo(self, *, when: datetime) -> Version:
        """Take the newest version back by a new one.

        Before a first version that the program wrote there was nothing; a file that a person began
        with has no version before it: `VersionNotFound`.
        """
        with lock(self._layout.lock_file("memory")):
            now = self.readable()
            self._notice(now, when)
            latest = self.history.latest()
            number = latest.number if latest else 0
            note = f"takes back version {number}"
            if latest is not None and number == 1 and latest.cause not in ("start", "external"):
                return self._written("", cause="undo", when=when, note=note, provenance={})
            return self._written(
                self.history.text(number - 1), cause="undo", when=when, note=note,
                provenance=self.history.provenance(number - 1),
            )  # fmt: skip

    def restore(self, number: int, *, when: datetime) -> Version:
        """Write an earlier version back as a new one, with its provenance."""
        return self.write(
            self.history.text(number), base_sha256=None, cause="restored", when=when,
            provenance=self.history.provenance(number), note=f"version {number}",
        )  # fmt: skip

    def notice_external(
        self, *, when: datetime, cause: str = "external", run: str = ""
    ) -> Version | None:
        """Add a version when the file is not what the newest version says; else None.

        An unreadable file is left for later. The first version of a file is its `start`. After a
        crash between write and commit the caller who knows better passes its own `cause`.
        """
        with lock(self._layout.lock_file("memory")):
            now = self.read()
            return None if now.state == "unreadable" else self._notice(now, when, cause, run)

    # ------------------------------------------------------------------ pins

    def pins(self) -> tuple[str, ...]:
        """Pinned lines and headings, verbatim. Raises `Unreadable` when the file makes no sense."""
        file = read_text(self._layout.pins)
        if file is None or file.blank:
            return ()
        try:
            record = json.loads(file.text)
            lines, form = record["pins"], record.get("version", 1)
            if form != 1 or not isinstance(lines, list):
                raise TypeError
            pins = cast("list[Any]", lines)
            if not all(isinstance(line, str) for line in pins):
                raise TypeError
            return tuple(pins)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Unreadable(
                "pins.json is not understood; it is left as it is.", "Mend or remove it."
            ) from None

    def set_pins(self, lines: Sequence[str]) -> None:
        """Replace the pinned lines (trailing white space dropped, each once, in order)."""
        with lock(self._layout.lock_file("pins")):
            self.pins()  # a file not understood is never rewritten
            self._write_pins(lines)

    def pin(self, line: str, on: bool) -> None:
        """Pin a line, or take its pin off. Raises `Pinned` when it is pinned by its section."""
        with lock(self._layout.lock_file("pins")):
            pins = self.pins()
            others = [pin for pin in pins if pin != line.rstrip()]
            own = on or len(others) < len(pins)
            if not own and (heading := section_of(self.read().text, line, pins)):
                raise Pinned(f"The line is pinned by its section “{heading}”.")
            self._write_pins([*others, line] if on else others)

    def _write_pins(self, lines: Sequence[str]) -> None:
        pins = list(dict.fromkeys(well_formed(line.rstrip()) for line in lines if line.strip()))
        record = json.dumps({"version": 1, "pins": pins}, ensure_ascii=False, indent=1)
        write_atomic(self._layout.pins, record.encode() + b"\n")

    def pinned_lines(self, text: str) -> tuple[int, ...]:
        """The 1-based numbers of the lines of `text` that are pinned, alone or by their section."""
        return pinned_lines(text, self.pins())

    # ------------------------------------------------------------------ within the lock

    def _notice(
        self, now: MemoryFile, when: datetime, cause: str = "external", run: str = ""
    ) -> Version | None:
        known = self.history.latest_text()
        if known == now.text or (known is None and now.state == "absent"):
            return None
        note = "MEMORY.md was removed" if now.state == "absent" else ""
        first = known is None and cause == "external"
        return self.history.commit(
            now.text, cause="start" if first else cause, when=when, run=run, note=note
        )

    def _written(self, text: str, **told: Any) -> Version:
        """Replace the file and add the version; a file whose version cannot be added is put back,
        so that nothing stands in it that nobody has told of."""
        target = write_target(self._layout.root, self._layout.memory_md)
        before = read_bytes(target)
        rewrite(self._layout, self._layout.memory_md, text)
        try:
            return self.history.commit(text, **told)
        except Exception:
            with contextlib.suppress(UserError, OSError):
                if before is not None:
                    write_atomic(target, before)
                else:
                    target.unlink()
            raise


def _clean(text: str, cause: str) -> str:
    text = well_formed(text).replace("\r\n", "\n")
    return mask(text).text if cause in _MASKED_CAUSES else text


# ---------------------------------------------------------------------------- the saved block


def bullets_of(content: str) -> list[str]:
    """What a save writes: hyphen lines as they are, other lines as parts of the bullet before.

    So that no saved text can open a heading or end the block. A blank content raises `ValueError`.
    """
    bullets: list[str] = []
    for line in content.strip().split("\n"):
        if not line.strip():
            continue
        if line.startswith("- ") or re.match(r"\s+\S", line):
            bullets.append(line.rstrip())
        else:
            bullets.append(f"  {line.rstrip()}")
    if not bullets:
        raise ValueError("there is nothing to save")
    if not bullets[0].startswith("- "):
        bullets[0] = f"- {bullets[0].strip()}"
    return bullets


def with_saved(text: str, bullets: Sequence[str]) -> str:
    """`text` with `bullets` at the end of its saved block; one is made at the end when absent."""
    lines = text.split("\n")
    plain = [line.strip() for line in lines]
    end = len(plain) - 1 - plain[::-1].index(SAVED_END) if SAVED_END in plain else -1
    if end >= 0 and SAVED_START in plain[:end]:
        return "\n".join([*lines[:end], *bullets, *lines[end:]])
    body = text.rstrip("\n")
    lead = f"{body}\n\n" if body.strip() else ""
    return lead + "\n".join([SAVED_START, "## Saved", *bullets, SAVED_END, ""])
