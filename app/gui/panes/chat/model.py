"""What the transcript shows, worked out from items and the running reply. Pure, without widgets.

Invariant: each piece has a stable key. An item that changes keeps its piece, and a streamed text
becomes the answer that is stored, in the same place; so nothing is taken away to be drawn again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from app.engine.records import TranscriptItem
from app.gui.look.calls import call_line
from app.gui.look.text import compact, number, plural, preview, sentence, short_day, tr

ANSWERS = ("assistant", "tool", "live", "waiting", "approval", "saved")
HIDDEN = ("system", "eviction")
SAME = 400  # characters that tell whether a streamed text and a stored answer are the same


@dataclass(frozen=True)
class Piece:
    """One row of the transcript.

    `kind` is an item's kind, or `live` (streaming text), `waiting`, `approval`, `broken` (text of a
    reply that ended without being kept). `lead`: the first row of an answer, which carries the
    name. `aside` is how many characters of a tool's result were put aside. `running`: a call
    without a result whose reply is still being made.
    """

    key: str
    kind: str
    item: TranscriptItem
    lead: bool = False
    aside: int = 0
    running: bool = False


@dataclass
class Stretch:
    """A stretch of a running reply: streaming text, or a call as it was announced."""

    key: str
    text: list[str] = field(default_factory=list)
    item: TranscriptItem | None = None
    closed: bool = False

    def whole(self) -> str:
        if len(self.text) > 1:
            self.text = ["".join(self.text)]
        return self.text[0] if self.text else ""


# ---------------------------------------------------------------------------- pieces


def pieces(
    items: Sequence[TranscriptItem],
    tail: Sequence[Stretch] = (),
    *,
    running: bool = False,
    asks: Collection[str] = (),
) -> list[Piece]:
    """Rows for `items` (oldest first), then what of a running reply is not among them.

    `asks` are ids of calls that wait for a person's word.
    """
    aside = {
        str(i.detail.get("of", "")): int(i.detail.get("chars", 0) or 0)
        for i in items
        if i.kind == "eviction"
    }
    last_open = _first_open(items) if running else len(items)
    rows: list[Piece] = []
    for at, item in enumerate(items):
        if not shown(item):
            continue
        cut = 0
        if item.kind == "tool":
            cut = aside.get(str(item.detail.get("result_id", "")), 0) or aside.get(item.id, 0)
        open_call = item.kind == "tool" and item.result is None and at >= last_open
        kind = "approval" if item.id in asks and open_call else item.kind
        rows.append(Piece(item.id, kind, item, aside=cut, running=open_call))
        if (saved := saved_line(item)) is not None:
            rows.append(saved)
    known = {item.id for item in items}
    for stretch in tail:
        if stretch.item is not None and stretch.item.id not in known:
            kind = "approval" if stretch.item.id in asks else "tool"
            rows.append(Piece(stretch.item.id, kind, stretch.item, running=running))
        elif stretch.item is None and stretch.text:
            kind = "live" if running else "broken"
            text = TranscriptItem(stretch.key, 0, "assistant")
            rows.append(Piece(stretch.key, kind, text))
    return led(rows)


def saved_line(item: TranscriptItem) -> Piece | None:
    """The quiet line after a call that saved a fact."""
    if item.tool != "memory_save" or item.is_error or not item.result:
        return None
    proposed = "MEMORY.md and" not in item.result  # the engine's own sentence says which
    note = TranscriptItem(
        f"{item.id}:saved", item.seq, "note", item.when, text=call_line(item.arguments),
        detail={"type": "saved", "proposed": proposed},
    )  # fmt: skip
    return Piece(note.id, "saved", note)


def led(rows: Sequence[Piece]) -> list[Piece]:
    """`rows` with the first of each answer marked."""
    out: list[Piece] = []
    before = ""
    for row in rows:
        answers = row.kind in ANSWERS or row.kind == "broken"
        lead = answers and before not in (*ANSWERS, "broken")
        out.append(replace(row, lead=lead) if lead != row.lead else row)
        before = row.kind
    return out


def shown(item: TranscriptItem) -> bool:
    """Whether an item is a row of its own."""
    if item.kind in HIDDEN or item.detail.get("deleted"):
        return False
    if item.kind == "assistant":
        return bool(item.text.strip() or item.reasoning.strip())
    if item.kind == "note":
        return item.detail.get("type") in ("recovery", "model_change")
    return True


def _first_open(items: Sequence[TranscriptItem]) -> int:
    """Where the running reply begins: after the last thing the person said."""
    for at in range(len(items) - 1, -1, -1):
        if items[at].kind == "user":
            return at
    return 0


def settle(items: Sequence[TranscriptItem], tail: Sequence[Stretch]) -> dict[str, str]:
    """Keys of streamed texts that are stored now, with the ids of the items they became."""
    stored = [i for i in items[_first_open(items) :] if i.kind == "assistant" and i.text.strip()]
    out: dict[str, str] = {}
    at = 0
    for stretch in tail:
        if stretch.item is not None or not stretch.text:
            continue
        text = stretch.whole().strip()[:SAME]
        for n in range(at, len(stored)):
            if stored[n].text.strip()[:SAME] == text:
                out[stretch.key] = stored[n].id
                at = n + 1
                break
    return out


def merge(
    old: Sequence[TranscriptItem], page: Sequence[TranscriptItem], limit: int
) -> list[TranscriptItem]:
    """What is loaded, with its newest part replaced by a page that was read again.

    A page shorter than `limit` is the whole session.
    """
    if not page or len(page) < limit:
        return list(page)
    first = page[0].seq
    return [*(i for i in old if i.seq < first), *page]


# ---------------------------------------------------------------------------- words


def arguments_text(item: TranscriptItem) -> str:
    """Arguments to read: one per line when they are an object, else as they came."""
    try:
        given = json.loads(item.arguments or "{}")
    except ValueError:
        return item.arguments
    if not isinstance(given, dict):
        return item.arguments
    lines: list[str] = []
    for name, value in given.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines.append(f"{name}: {text}")
    return "\n".join(lines)


def outcome(item: TranscriptItem) -> str:
    """How a call ended, in a few words: "3,211 lines", "failed", "no result"."""
    if item.result is None:
        return tr("no result")
    if item.is_error:
        return tr("failed")
    if not item.result.strip():
        return tr("nothing came back")
    if item.cut > len(item.result):
        return plural(item.cut, "{n} character", "{n} characters")
    lines = item.result.count("\n") + (not item.result.endswith("\n"))
    if lines > 1:
        return plural(lines, "{n} line", "{n} lines")
    return plural(len(item.result), "{n} character", "{n} characters")


TOOL_ICONS = {
    "read_file": "file-text", "write_file": "file-pen", "edit_file": "file-pen",
    "list_files": "folder", "glob_files": "folder-search", "grep_files": "text-search",
    "execute": "terminal", "memory_search": "search", "memory_get": "book-open",
    "memory_save": "bookmark", "session_list": "message-square",
    "session_history": "message-square", "session_search": "search",
}  # fmt: skip


def tool_icon(name: str) -> str:
    return TOOL_ICONS.get(name, "wrench")


def compaction_line(item: TranscriptItem) -> str:
    """ "Compaction 3 ran: 41 messages summarised, 20 kept, 26.9k to 8.4k tokens"."""
    detail = item.detail
    count = int(detail.get("number", 0) or 0)
    head = tr("Compaction {n} ran", n=count) if count else tr("Compaction ran")
    covered = int(detail.get("covered", 0) or 0)
    kept = detail.get("kept")
    facts = [plural(covered, "{n} message summarised", "{n} messages summarised")]
    if isinstance(kept, int):
        facts.append(tr("{n} kept", n=number(kept)))
    before, after = detail.get("before"), detail.get("after")
    if isinstance(before, int) and isinstance(after, int) and before:
        facts.append(tr("{a} to {b} tokens", a=compact(before), b=compact(after)))
    return f"{head}: {sentence(facts)}"


def quiet_line(item: TranscriptItem, today: date | None = None) -> str:
    """What the engine did, in one line; days are named from `today`."""
    if item.kind == "flush":
        return _flush(item, today)
    maker = _LINES.get(item.kind)
    return maker(item) if maker else preview(item.text or item.kind, 160)


def _flush(item: TranscriptItem, today: date | None) -> str:
    count = int(item.detail.get("bullets", 0) or 0)
    if not count:
        return preview(item.text, 120, blank=tr("Nothing of this was kept"))
    name = item.target.rsplit("/", 1)[-1].removesuffix(".md")[:10]
    try:
        of = date.fromisoformat(name)
    except ValueError:
        return plural(count, "{n} line added to the daily log", "{n} lines added to the daily log")
    if of == today:
        return plural(count, "{n} line added to today's log", "{n} lines added to today's log")
    if today is not None and of == today - timedelta(days=1):
        return plural(
            count, "{n} line added to yesterday's log", "{n} lines added to yesterday's log"
        )
    named = short_day(of, today) if today is not None else name
    return plural(
        count,
        "{n} line added to the log of {day}",
        "{n} lines added to the log of {day}",
        day=named,
    )


def _consolidation(item: TranscriptItem) -> str:
    return preview(item.text, 160, blank=tr("A proposal for MEMORY.md was made"))


def _recall(item: TranscriptItem) -> str:
    count = len([line for line in item.text.splitlines() if line.strip()])
    return plural(count, "{n} line of memory recalled", "{n} lines of memory recalled")


def _overflow(item: TranscriptItem) -> str:
    asked, window = item.detail.get("requested"), item.detail.get("window")
    if isinstance(asked, int) and isinstance(window, int) and asked and window:
        said = tr("The request had {a} tokens, the window {b}", a=number(asked), b=number(window))
    else:
        said = tr("The request was longer than the model's window")
    return f"{said}: {preview(item.text, 120)}" if item.text.strip() else said


def _interrupted(item: TranscriptItem) -> str:
    calls = item.detail.get("calls") or ()
    if not calls:
        return tr("Stopped; what was not complete is not kept")
    return plural(
        len(calls),
        "Stopped; {n} open call has the result interrupted",
        "Stopped; {n} open calls have the result interrupted",
    )


def _failure(item: TranscriptItem) -> str:
    return tr("Compaction did not work: {why}", why=preview(item.text, 160, blank=tr("no reason")))


def _gap(item: TranscriptItem) -> str:
    why = preview(item.text, 120, blank=tr("damaged"))
    return tr("A line of the log cannot be read: {why}", why=why)


def _reset(item: TranscriptItem) -> str:
    return tr("The context was emptied here")


def _fork(item: TranscriptItem) -> str:
    return tr("This session goes on from {id}", id=preview(item.target, 60, blank=tr("another")))


def _note(item: TranscriptItem) -> str:
    if item.detail.get("type") == "saved":
        said = preview(item.text, 80)
        if item.detail.get("proposed"):
            return tr("Saved to today's log, proposed for memory: “{said}”", said=said)
        return tr("Memory changed: 1 line saved, “{said}”", said=said)
    if item.detail.get("type") == "model_change":
        return tr("From here on with {model}", model=preview(item.text, 80))
    lost = int(item.detail.get("bytes", 0) or 0)
    said = plural(lost, "{n} byte of a torn line set aside", "{n} bytes of a torn line set aside")
    return f"{said}: {preview(item.text, 100)}" if item.text.strip() else said


_LINES = {
    "consolidation": _consolidation, "recall": _recall, "overflow": _overflow,
    "interrupted": _interrupted, "failure": _failure, "gap": _gap, "reset": _reset, "fork": _fork,
    "note": _note,
}  # fmt: skip


def details(item: TranscriptItem) -> str:
    """What a quiet line unfolds to; "" for nothing."""
    if item.kind == "recall":
        return item.text
    if item.kind == "gap":
        raw = item.detail.get("raw", "")
        return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
    if item.kind == "failure":
        return str(item.detail.get("raw", "") or "")
    return ""


def as_text(items: Sequence[TranscriptItem]) -> str:
    """A conversation as plain text for the clipboard."""
    out: list[str] = []
    for item in items:
        if item.kind == "user":
            out.append(f"{tr('You')}: {item.text}")
        elif item.kind == "assistant" and item.text.strip():
            out.append(f"Palimpsest: {item.text}")
    return "\n\n".join(out)
