"""The layer `history`: what MEMORY.md once gained and lost, and what proposals offered it.

Idea: a version is searched by the lines that came and went with it, not by its whole text; so every
line stands in the index once for its coming and once for its going. These texts are in no file of
their own: the index keeps them. Their paths name no files: `history:12` is version 12 of MEMORY.md,
`proposal:<id>` a proposal; `history:` stands for all versions together. The role of such a document
is `added`, `dropped` or `proposed`, its line the one in that version (a dropped one's: in the
version before; a proposed one's: in the proposal's text).

Invariant: the rows of versions are those of the newest version's chain of commits. Synchronous.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from app.engine.records import Version
from app.engine.search.documents import plain_line
from app.engine.search.rows import LAST, Document, FileRow, moment
from app.engine.workspace.history import History
from app.engine.workspace.layout import Layout
from app.engine.workspace.secrets import KeyBlocks, mask

HISTORY, PROPOSAL = "history:", "proposal:"
PAST = (HISTORY, PROPOSAL)
"""How paths begin that name no file."""

Line = tuple[int, str, str]  # its number, its role, its text


class _Proposal(Struct):
    when: datetime
    base: str
    candidate: str
    started: str | None = None
    wanted: str | None = None


_DECODER = msgspec.json.Decoder(_Proposal)


def is_version(path: str) -> bool:
    """Whether a path is that of one version (`history:` is that of all)."""
    return path.startswith(HISTORY) and path != HISTORY


def file_of(root: Path, path: str) -> Path:
    """The file whose size and time tell whether something changed behind a path of this layer."""
    dot = root / ".palimpsest"
    if path == HISTORY:
        return dot / "history.git" / "refs" / "heads" / "main"
    return dot / "proposals" / f"{path.removeprefix(PROPOSAL)}.json"


def being_rewritten(root: Path) -> bool:
    """Whether the history's owner is putting a new one in its place, where for a moment none is.

    What the index knows of the history stays meanwhile: the next look finds it whole.
    """
    return (root / ".palimpsest" / "history-old.git").exists()


def paths(root: Path) -> Iterator[tuple[str, Path]]:
    """The paths of this layer that a walk over the workspace finds, with their files."""
    yield HISTORY, file_of(root, HISTORY)
    for file in (root / ".palimpsest" / "proposals").glob("*.json"):
        yield f"{PROPOSAL}{file.stem}", file


def kept(row: FileRow, lines: list[Line]) -> list[Document]:
    """The documents of `lines`; their texts go into `row.text`, as no file holds them, and without
    secrets."""
    blocks = KeyBlocks()
    lines = [(n, role, mask(line).text) for n, role, line in lines if not blocks.covers(line)]
    when = moment(row.mtime_ns / 1e9) or LAST
    made: list[Document] = []
    offset = 0
    for order, (number, role, line) in enumerate(lines):
        size = len(line.encode()) + 1
        text = plain_line(line.rstrip("\r"))
        made.append(Document(order, number, offset, size, text, when, "", role))
        offset += size
    row.text = "".join(f"{line}\n" for _, _, line in lines)
    row.docs, row.offset = len(made), offset
    return made


# ---------------------------------------------------------------------------- versions


def versions(root: Path, known: Mapping[str, FileRow]) -> Iterator[tuple[FileRow, list[Line]]]:
    """Each version that is not known as it is now, and a row without lines for one that is gone.

    Raises `UserError` when the history cannot be read.
    """
    seen: set[str] = set()
    newer: tuple[Version, str] | None = None
    for version, text in History(Layout.at(root)).walk():
        if newer is not None:
            yield _row_of(newer[0]), _changed(text, newer[1])
        newer = (version, text)
        row = _row_of(version)
        seen.add(row.path)
        if row.path in known and known[row.path].crc == row.crc:
            first = version.number  # an id vouches for everything before it
            newer = None
            break
    else:
        first = 0
    if newer is not None:
        yield _row_of(newer[0]), _changed("", newer[1])
    for path in known:
        if is_version(path) and path not in seen and int(path.removeprefix(HISTORY)) > first:
            yield FileRow(path, "history", problem="gone"), []


def _row_of(version: Version) -> FileRow:
    ns = int(version.when.timestamp() * 1000) * 1_000_000
    crc = int(version.id[:8], 16)
    return FileRow(f"{HISTORY}{version.number}", "history", mtime_ns=ns, crc=crc)


def _changed(before: str, after: str) -> list[Line]:
    return [*_lines(after, before, "added"), *_lines(before, after, "dropped")]


def _lines(text: str, other: str, role: str) -> Iterator[Line]:
    """The lines of `text` that `other` has not, or has fewer of."""
    left = Counter(other.split("\n"))
    for number, line in enumerate(text.split("\n"), 1):
        left[line] -= 1
        if left[line] < 0 and line.strip():
            yield number, role, line


# ---------------------------------------------------------------------------- proposals


def proposal(data: bytes) -> tuple[int, list[Line]]:
    """When a proposal was made (nanoseconds) and the lines it offered; none when not understood."""
    try:
        found = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return 0, []
    base = found.base if found.started is None else found.started
    wanted = found.candidate if found.wanted is None else found.wanted
    lines = list(_lines(wanted.replace("\r\n", "\n"), base.replace("\r\n", "\n"), "proposed"))
    return int(found.when.timestamp() * 1000) * 1_000_000, lines
