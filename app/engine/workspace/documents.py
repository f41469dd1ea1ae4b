"""Texts that people keep in a workspace: rewritten with their newlines, BOM and links as they were.

Idea: MEMORY.md, AGENTS.md and knowledge files belong to a person and to their other programs, so a
save changes the words and nothing else. Invariant: a file that cannot be read is never rewritten.
Specification, sections 3.2 and 10.
"""

from __future__ import annotations

from pathlib import Path

from app.engine.errors import BaseChanged
from app.engine.workspace.confine import inside, write_target
from app.engine.workspace.files import NO_FILE_SHA256, encode, read_text, write_atomic
from app.engine.workspace.layout import Layout


def rewrite(layout: Layout, path: Path, text: str, *, base_sha256: str | None = None) -> None:
    """Replace a text file of the workspace, through a link when it is one; make it when absent.

    `base_sha256` as for the memory writer: "" for an absent file, None for whatever is there.
    Raises `Unreadable`, `BaseChanged`, `PathRefused` (a link that leaves, or that leads into
    `.palimpsest/`), `StorageError`; the file is then unchanged.
    """
    target = write_target(layout.root, path)
    inside(layout.root, layout.relative(target))
    now = read_text(target)
    if base_sha256 is not None and base_sha256 != (now.sha256 if now else NO_FILE_SHA256):
        raise BaseChanged(f"{path.name} was changed elsewhere meanwhile.", "Look at it again.")
    newline, bom = (now.newline, now.bom) if now else ("\n", False)
    write_atomic(target, encode(text, newline=newline, bom=bom))
