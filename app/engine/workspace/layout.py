"""Names and places of a workspace, and which day a moment belongs to.

Idea: every path of the specification's section 2 is spelled here and nowhere else. `Layout` is a
pure value: it never looks at the disk; only `ensure` does. Invariant: the agent's name is the same
safe id in every path.
"""

from __future__ import annotations

import os
import re
from datetime import date, datetime, tzinfo
from pathlib import Path

from msgspec import Struct

from app.engine.errors import PathRefused, StorageError
from app.engine.workspace.files import make_folder, read_text, write_atomic

FORMAT = 1
SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
SEED_INDEX = "seed_v1_location"


def valid_session_id(text: str) -> bool:
    """Whether `text` may name a session (section 2)."""
    return SESSION_ID.fullmatch(text) is not None


def safe_name(text: str) -> str:
    """Each character outside ASCII letters, digits, `_` and `-` becomes `_` (section 3.6)."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", text)


def local_day(instant: datetime, tz: tzinfo | None = None) -> date:
    """The local calendar day an aware moment belongs to; `tz` None is this computer's zone."""
    if instant.tzinfo is None:
        raise ValueError("a moment without a zone belongs to no day")
    return instant.astimezone(tz).date()


class Layout(Struct, frozen=True):
    """Where everything of one workspace lies. Make one with `Layout.at`."""

    root: Path
    agent: str

    @staticmethod
    def at(root: Path | str, agent: str = "palimpsest") -> Layout:
        """The layout of the workspace in `root` (made absolute, links followed)."""
        name = safe_name(agent)
        if not name:
            raise ValueError("an agent needs a name")
        return Layout(Path(root).expanduser().resolve(), name)

    # ------------------------------------------------------------------ what people read

    @property
    def agents_md(self) -> Path:
        return self.root / "AGENTS.md"

    @property
    def memory_md(self) -> Path:
        return self.root / "MEMORY.md"

    @property
    def memory_dir(self) -> Path:
        return self.root / "memory"

    def daily(self, day: date) -> Path:
        """The daily log of one local calendar day."""
        return self.memory_dir / f"{day.isoformat()}.md"

    @property
    def archive_dir(self) -> Path:
        return self.memory_dir / "archive"

    @property
    def consolidation_state(self) -> Path:
        return self.memory_dir / ".consolidation_state"

    @property
    def knowledge_dir(self) -> Path:
        return self.root / "knowledge"

    @property
    def knowledge(self) -> Path:
        """The knowledge entry file; the other files of its folder are only listed."""
        return self.knowledge_dir / "KNOWLEDGE.md"

    # ------------------------------------------------------------------ sessions

    @property
    def sessions_dir(self) -> Path:
        return self.root / "agents" / self.agent / "sessions"

    @property
    def sessions_index(self) -> Path:
        return self.sessions_dir / "sessions.json"

    def session_log(self, session_id: str) -> Path:
        """The event log. Raises `PathRefused` for an id that could leave the folder."""
        return self.sessions_dir / f"{_checked_id(session_id)}.log.jsonl"

    def session_view(self, session_id: str) -> Path:
        """The compacted, derived view. Raises `PathRefused` as `session_log` does."""
        return self.sessions_dir / f"{_checked_id(session_id)}.jsonl"

    def eviction_dir(self, base: str = "large_tool_results") -> Path:
        """Where evicted results go: `base` (relative or absolute, trailing slashes trimmed)."""
        trimmed = base.rstrip("/\\") or base[:1]
        return self.root / trimmed / self.agent

    # ------------------------------------------------------------------ the engine's own folder

    @property
    def dot(self) -> Path:
        return self.root / ".palimpsest"

    @property
    def format_file(self) -> Path:
        return self.dot / "format"

    @property
    def config_file(self) -> Path:
        return self.dot / "config.toml"

    def index(self, index_path: str = "") -> Path:
        """The search index: in the workspace, at the seed's old place, or where it was told."""
        if index_path == SEED_INDEX:
            return self.root.parent / "memory_index.db"
        return self.root / index_path if index_path else self.dot / "index.db"

    @property
    def history(self) -> Path:
        return self.dot / "history.git"

    @property
    def jobs(self) -> Path:
        return self.dot / "jobs.jsonl"

    @property
    def proposals_dir(self) -> Path:
        return self.dot / "proposals"

    def proposal(self, run: str) -> Path:
        """One proposal's file. Raises `PathRefused` for an id that could leave the folder."""
        return self.proposals_dir / f"{_checked_id(run)}.json"

    @property
    def sections(self) -> Path:
        return self.dot / "sections.jsonl"

    @property
    def refused(self) -> Path:
        return self.dot / "refused.jsonl"

    @property
    def pins(self) -> Path:
        return self.dot / "pins.json"

    @property
    def notes(self) -> Path:
        return self.dot / "notes.jsonl"

    @property
    def gates(self) -> Path:
        return self.dot / "gates.json"

    @property
    def windows(self) -> Path:
        return self.dot / "windows.json"

    @property
    def runs(self) -> Path:
        return self.dot / "runs.jsonl"

    @property
    def blobs_dir(self) -> Path:
        return self.dot / "blobs"

    def blob(self, sha256: str) -> Path:
        """A stored text, by the lower-case hex of its SHA-256."""
        if not re.fullmatch(r"[0-9a-f]{64}", sha256):
            raise PathRefused("A stored text is named by its SHA-256.")
        return self.blobs_dir / sha256

    @property
    def trash_dir(self) -> Path:
        return self.dot / "trash"

    def trash_run(self, run: str) -> Path:
        """The trash folder of one run. Raises `PathRefused` for an unfit id."""
        return self.trash_dir / _checked_id(run)

    @property
    def locks_dir(self) -> Path:
        return self.dot / "locks"

    def lock_file(self, name: str) -> Path:
        """The lock of that name (`memory`, `jobs`, `session-<id>` …)."""
        return self.locks_dir / f"{_checked_id(name)}.lock"

    # ------------------------------------------------------------------ names

    def relative(self, path: Path) -> str:
        """`path` as the workspace names it: with `/`, or absolute when it lies outside."""
        try:
            return path.relative_to(self.root).as_posix()
        except ValueError:
            return path.as_posix()


def _checked_id(text: str) -> str:
    if not valid_session_id(text):
        raise PathRefused(
            "An id may hold only letters, digits, dot, underscore and hyphen, and at most 128.",
            "Use another id.",
        )
    return text


class Opened(Struct, frozen=True):
    """What `ensure` found. `problem` is a sentence when the workspace may only be read."""

    read_only: bool = False
    problem: str = ""


def ensure(layout: Layout) -> Opened:
    """Make the engine's folders (0700) and its `format` file ("1").

    A workspace of a newer format, or one whose `format` is not understood, opens read-only and
    nothing in it is touched; so does one on a disk that cannot be written. Raises `StorageError`
    when `root` cannot be made at all.
    """
    try:
        found = read_text(layout.format_file)
    except (OSError, StorageError) as error:
        return Opened(True, f"The workspace's format cannot be read: {error}")
    if found is not None and found.text.strip():
        text = found.text.strip()
        if not text.isascii() or not text.isdigit():
            return Opened(True, "The workspace's format file is not understood.")
        if int(text) > FORMAT:
            return Opened(True, "This workspace was written by a newer version of the program.")
    make_folder(layout.root)
    try:
        for folder in (
            layout.memory_dir, layout.sessions_dir, layout.dot, layout.proposals_dir,
            layout.blobs_dir, layout.trash_dir, layout.locks_dir,
        ):  # fmt: skip
            make_folder(folder)
            if not folder.resolve().is_relative_to(layout.root):
                return Opened(True, f"{layout.relative(folder)} is a link out of the workspace.")
            if not os.access(folder, os.W_OK):
                return Opened(True, f"{layout.relative(folder)} cannot be written.")
        if found is None or not found.text.strip():
            write_atomic(layout.format_file, str(FORMAT).encode())
    except StorageError as error:
        return Opened(True, f"The workspace cannot be written: {error}")
    return Opened()
