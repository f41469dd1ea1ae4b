"""Conversation logs of Motus, read without loss (interop: import). Read-only towards the source.

Motus rebuilds a session by putting a summary in the place of everything before it; its log says
more: how many messages each summary stands for. Folding that keeps the tail. Invariant: file order
rules, every line ends up in our log, also those we do not understand, each at its place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from app.engine.context.summaries import continuation_message
from app.engine.context.tokens import Counter
from app.engine.context.trimming import cut_to_tokens
from app.engine.errors import Unreadable, UserError
from app.engine.memory.motus_settings import RESULT_NOTE, CompactionMemoryConfig
from app.engine.records import Message
from app.engine.session import entries as e
from app.engine.session.chat_form import from_chat
from app.engine.session.codec import parse_json
from app.engine.session.fold import Fold
from app.engine.session.messages import derive, entry_id, pack, tidy
from app.engine.workspace.files import BOM

TOOL = "Motus"
VERIFIED = "2026-11-30"  # when this reader was last compared with the tool's own logs
SUFFIX = ".jsonl"
_MESSAGE_FIELDS = {
    "role", "content", "tool_calls", "tool_call_id", "name", "reasoning", "base64_image",
}  # fmt: skip


class Imported(Struct, frozen=True):
    """What became of one file.

    `bad_lines` were no records, `unknown` counts records of kinds we do not know; both are kept in
    our log as they were. `flags` are sentences about what the file cannot tell. `problem` is a
    sentence when nothing was taken over.
    """

    file: str
    session_id: str = ""
    messages: int = 0
    compactions: int = 0
    blank_lines: int = 0
    bad_lines: int = 0
    unknown: dict[str, int] = {}
    flags: tuple[str, ...] = ()
    problem: str = ""


def logs_in(path: Path) -> list[Path]:
    """The logs of a base folder, by name; a file stands for itself. Links out of it are left out.

    Raises `Unreadable` when there is no such file or folder.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise Unreadable(f"There is no file or folder {path.name!r}.", "Check the path.")
    root = path.resolve()
    found = (p for p in path.iterdir() if p.suffix == SUFFIX and p.is_file())
    return sorted((p for p in found if p.resolve().is_relative_to(root)), key=lambda p: p.stem)


def read(path: Path, counter: Counter | None = None) -> tuple[list[e.Entry], Imported]:
    """One log as entries of ours, ready to be appended to a new session's log. Blocks.

    Raises `Unreadable` when the file cannot be read, or holds no record of Motus at all.
    """
    reader = _Reader(path.name)
    try:
        with path.open("rb") as file:
            for n, line in enumerate(file):  # binary: splits at 0x0A alone
                raw = line.removeprefix(BOM) if n == 0 else line
                if raw.strip():
                    reader.take(raw)
                else:
                    reader.blank_lines += 1
    except OSError as error:
        raise Unreadable(f"{path.name} cannot be read.", "Mend its permissions.") from error
    if not reader.recognised:
        raise Unreadable(f"{path.name} is no conversation log of Motus.", "Choose another file.")
    reader.limit_results(counter or Counter())
    report = Imported(
        file=path.name,
        session_id=reader.session_id or path.stem,
        messages=reader.messages,
        compactions=reader.fold.compactions,
        blank_lines=reader.blank_lines,
        bad_lines=reader.bad_lines,
        unknown=reader.unknown,
        flags=tuple(reader.flags),
    )
    return [reader.opening(report), *reader.entries], report


class _Reader:
    """Records of one file, folded as they come."""

    def __init__(self, file: str) -> None:
        self.entries: list[e.Entry] = []
        self.fold = Fold()
        self.session_id = ""
        self.messages = self.blank_lines = self.bad_lines = 0
        self.unknown: dict[str, int] = {}
        self.flags: list[str] = []
        self.recognised = False
        self._file = file
        self._meta: dict[str, Any] = {}
        self._meta_time: str | int | float | None = None
        self._live: list[Message] = []  # Motus's own list, also what our fold would leave out

    # ------------------------------------------------------------------ records

    def take(self, raw: bytes) -> None:
        """One line that is not blank."""
        found = parse_json(raw)
        if isinstance(found, e.BadLine) or not isinstance(found, dict):
            self._unread("motus_bad_line", raw.decode("utf-8", "replace").rstrip("\r\n"), bad=True)
            return
        record = cast("dict[str, Any]", found)
        kind = record.get("type")
        try:
            match kind:
                case "session_meta":
                    self._take_meta(record)
                case "message":
                    self._take_message(record)
                case "compaction":
                    self._take_compaction(record)
                case _:
                    name = kind if isinstance(kind, str) and kind else "without a type"
                    self.unknown[name] = self.unknown.get(name, 0) + 1
                    self._unread("motus_unknown", record, time=_time(record))
                    return
        except ValueError:
            self._unread("motus_bad_line", record, bad=True, time=_time(record))
            return
        self.recognised = True

    def _take_meta(self, record: dict[str, Any]) -> None:
        if self._meta:  # a second one says nothing new of what was said before it
            self._unread("motus_unknown", record, time=_time(record))
            return
        self._meta, self._meta_time = record, _time(record)
        if isinstance(record.get("session_id"), str):
            self.session_id = record["session_id"]

    def _take_message(self, record: dict[str, Any]) -> None:
        inner = record.get("message")
        if not isinstance(inner, dict):
            raise ValueError("a message record without its message")
        value = cast("dict[str, Any]", inner)
        self.messages += 1
        message = tidy(from_chat(value, f"motus-{self.messages}"))
        message = msgspec.structs.replace(message, id=entry_id(message.id, message))
        more = {k: v for k, v in value.items() if k not in _MESSAGE_FIELDS}
        made = derive(message)
        for n, entry in enumerate(made):
            extra = {"motus": more} if more and n == 0 else {}
            self._put(msgspec.structs.replace(entry, timestamp=_time(record), extra=extra))
        self._live.append(message)

    def _take_compaction(self, record: dict[str, Any]) -> None:
        count, summary = record.get("messages_compacted"), record.get("summary")
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ValueError("a compaction that does not say how many messages it covers")
        if not isinstance(summary, str):
            raise ValueError("a compaction without its summary")
        self._check(count, record.get("compaction_number"))
        covered, tail = self._live[:count], self._live[count:]
        pending = tail[0] if tail and tail[0].role == "user" else None
        message = continuation_message(summary, pending=pending)
        number, when = self.fold.compactions + 1, _time(record)
        # Two compactions with the same words are two messages.
        put = msgspec.structs.replace(message, id=f"{message.id}:{number}")
        name = f"motus-summary-{number}"
        self._put(
            e.Summary(
                id=name, summary=summary, format="working_state", message=pack(put), timestamp=when
            )
        )
        rest = tail[1:] if pending is not None else tail
        self._put(
            e.Compaction(
                id=f"motus-compaction-{number}",
                summary_entry_id=name,
                first_kept_entry_id=rest[0].id if rest else None,
                number=number,
                reason="motus",
                covered=tuple(m.id for m in covered),
                kept=len(rest),
                pending=pending.id if pending is not None else "",
                timestamp=when,
            )
        )
        self._live = [put, *rest]

    def _check(self, count: int, number: Any) -> None:
        """What does not add up is said: the file then lacks something that happened."""
        if count > len(self._live):
            parent = self._meta.get("parent_session_id")
            why = (
                f"what came before the fork is in the log of {parent}"
                if isinstance(parent, str) and parent
                else "something that was not logged happened before"
            )
            self.flags.append(
                f"A summary covers {count} messages where the file has {len(self._live)}: {why}. "
                "All text is kept; the conversation starts anew from that summary."
            )
        elif isinstance(number, int) and number <= self.fold.compactions:
            self.flags.append(
                f"The compactions begin again at number {number}: the session was reset, which its "
                "log does not say."
            )

    def _put(self, entry: e.Entry) -> None:
        self.entries.append(entry)
        self.fold.apply(entry)

    def _unread(
        self, kind: str, raw: Any, *, bad: bool = False, time: str | int | float | None = None
    ) -> None:
        self.bad_lines += bad
        at = f"motus-line-{len(self.entries) + 1}"
        self.entries.append(e.RawEntry(id=at, type_name=kind, extra={"motus": raw}, timestamp=time))

    # ------------------------------------------------------------------ the whole

    def limit_results(self, counter: Counter) -> None:
        """Results longer than the stored limit get their short form again, the default note too."""
        limit = self._config().max_tool_result_tokens
        for message in self.fold.context:
            if message.role != "tool":
                continue
            shorter = cut_to_tokens(message.content, limit, RESULT_NOTE, counter)
            if shorter != message.content:
                self._put(e.ToolTruncation(target=message.id, in_context=shorter))

    def opening(self, report: Imported) -> e.SessionOpen:
        """The first line of our log: what the file's own first line says, and its origin."""
        prompt, parent = self._meta.get("system_prompt"), self._meta.get("parent_session_id")
        source: dict[str, Any] = {
            "tool": TOOL,
            "file": self._file,
            "session": report.session_id,
            "blank_lines": report.blank_lines,
            "bad_lines": report.bad_lines,
            "unknown": report.unknown,
            "flags": list(report.flags),
        }
        known = {"type", "ts", "session_id", "system_prompt", "config", "parent_session_id"}
        more = {k: v for k, v in self._meta.items() if k not in known}
        return e.SessionOpen(
            strategy="compact",
            config=self._config().stored(),
            system_prompt=prompt if isinstance(prompt, str) else "",
            parent=parent if isinstance(parent, str) else "",
            timestamp=self._meta_time,
            extra={"imported": {**source, **({"motus": more} if more else {})}},
        )

    def _config(self) -> CompactionMemoryConfig:
        stored = self._meta.get("config")
        plain = cast("dict[str, Any]", stored) if isinstance(stored, dict) else {}
        known = {
            k: v
            for k, v in plain.items()
            if v is not None and CompactionMemoryConfig.field_named(k) is not None
        }
        try:
            return CompactionMemoryConfig.load(known)
        except UserError:
            return CompactionMemoryConfig()


def _time(record: dict[str, Any]) -> str | int | float | None:
    """The time as it was written; None when there is none of a usable kind."""
    value = record.get("ts")
    good = isinstance(value, str | int | float) and not isinstance(value, bool)
    return value if good and e.parse_time(value) is not None else None
