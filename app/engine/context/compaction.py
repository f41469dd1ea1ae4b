"""The values a compaction works with: what surrounds it, where it cuts, and how it came out.

Frozen, and without any behaviour but their own forms for the log, the callback and the window.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from app.engine.records import CompactionReport, Message, Window

Reason = Literal["messages", "tokens", "manual", "overflow"]


class Frame(Struct, frozen=True):
    """What surrounds a history: windows, the fixed parts of a request, and where its log lies.

    `system_tokens` are those of the system prompt with everything injected, `tool_tokens` those of
    the tool schemas. `summary_window` 0 means that the main model summarises. `log_path` is
    relative to the workspace.
    """

    window: Window
    summary_window: int = 0
    system_prompt: str = ""
    system_tokens: int = 0
    tool_tokens: int = 0
    log_path: str = ""
    session_id: str = ""


class Compaction(Struct, frozen=True):
    """A compaction that is ready to be committed. Tokens are those of the messages alone.

    `covered` are the ids the message stands for, in order, with the pending one when there is;
    `context` is the whole new context, `message` in it. `note` is a sentence when more would be
    needed than was reached.
    """

    message: Message
    context: tuple[Message, ...]
    covered: tuple[str, ...]
    kept: tuple[str, ...]
    pending: str
    summary: str
    profile: str
    reason: Reason
    before: int
    after: int
    compacted: int
    replayed: int
    summary_tokens: int
    requests: int = 1
    extractive: bool = False
    note: str = ""

    @property
    def first_kept(self) -> str:
        """Id of the first message that stays, "" when none does."""
        return self.kept[0] if self.kept else ""

    def stats(self, number: int) -> dict[str, Any]:
        """What `on_compact` gets; `number` counts from 1."""
        return {
            "messages_compacted": self.compacted,
            "messages_replayed": self.replayed,
            "summary_tokens": self.summary_tokens,
            "compaction_number": number,
            "summary": self.summary,
        }

    def report(self) -> CompactionReport:
        return CompactionReport(
            covered=len(self.covered),
            kept=len(self.kept),
            before=self.before,
            after=self.after,
            summary=self.summary,
            reason=self.note,
        )


class NotCompacted(Struct, frozen=True):
    """Why the history stays as it is.

    `kind`: nothing (there is nothing to cut), waiting (a pause after an earlier try; not worth a
    word to people), failed (no usable summary), no_gain (it would not help). `reason` and `remedy`
    are sentences, `raw` is what the model or server said, `largest` names message ids.
    """

    kind: Literal["nothing", "waiting", "failed", "no_gain"]
    reason: str
    remedy: str = ""
    raw: str = ""
    largest: tuple[str, ...] = ()


class Plan(Struct, frozen=True):
    """A history cut in three: the first system message, what is summarised, what stays."""

    system: tuple[Message, ...]
    prefix: tuple[Message, ...]
    tail: tuple[Message, ...]
    pending: Message | None = None

    @property
    def kept(self) -> tuple[Message, ...]:
        """The tail without a message that the continuation takes in."""
        return self.tail if self.pending is None else ()


Outcome = Compaction | NotCompacted
