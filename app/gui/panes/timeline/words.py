"""What a block says: names, words, links, and the sentence that is spoken. Pure.

Words are made for the rows that are seen. Everything an item brings is foreign text and stays
plain.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from app.engine.records import TranscriptItem
from app.gui.look.calls import call_line
from app.gui.look.text import (
    clock,
    compact,
    day,
    number,
    plural,
    preview,
    seconds,
    sentence,
    short_day,
    size,
    tr,
)  # fmt: skip
from app.gui.panes.timeline.blocks import Block

AGENT = "Palimpsest"
LEAST_TIME = 0.05  # seconds below which a call says no time: "0.0 s" tells nothing


@dataclass(frozen=True)
class Part:
    """A text of a block's body. `style`: read, soft, code; `label` stands above it."""

    text: str
    style: str = "read"
    label: str = ""


@dataclass(frozen=True)
class Shown:
    """The words of one block. `link` and `button` name their act; `act` is what they do.

    `folds` says that the body is hidden until it is opened.
    """

    title: str = ""
    words: str = ""
    code: str = ""
    right: str = ""
    right_icon: str = ""
    right_color: str = "ok"
    mark: str = ""
    icon: str = ""
    color: str = "text"
    link: str = ""
    button: str = ""
    act: str = ""
    body: tuple[Part, ...] = ()
    folds: bool = False
    spoken: str = ""


def _line(text: str, most: int) -> str:
    """Foreign text as one safe line; "" stays "" (`preview` would name it)."""
    return preview(text, most) if text.strip() else ""


def words(block: Block, today: date) -> Shown:
    """What a block says."""
    if block.form == "day" and block.day is not None:
        return Shown(title=day(block.day, today), spoken=day(block.day, today))
    if block.form == "older":
        text = tr("Show earlier entries")
        return Shown(link=text, act="older", spoken=text)
    if block.form == "newer":
        text = tr("Show later entries")
        return Shown(link=text, act="newer", spoken=text)
    if block.form == "more":
        text = plural(block.count, "Show {n} more message", "Show {n} more messages")
        return Shown(link=text, act="fold", spoken=text)
    item = block.item
    if item is None:
        return Shown()
    if block.form == "calls":
        text = _calls_line(block, item)
        return Shown(words=text, act="fold", folds=True, spoken=text)
    if item.kind == "flush":
        return _flush(item, today)
    return _BY_KIND.get(item.kind, _note)(item)


def _calls_line(block: Block, item: TranscriptItem) -> str:
    rest = block.count - 1
    return plural(rest, "{name}, {n} more call", "{name}, {n} more calls", name=item.tool)


def _said(who: str, item: TranscriptItem) -> Shown:
    body = [Part(item.text)] if item.text else []
    if item.reasoning:
        body.insert(0, Part(item.reasoning, "soft", tr("Reasoning")))
    extra = []
    if item.detail.get("edited"):
        extra.append(tr("edited"))
    if item.detail.get("deleted"):
        extra.append(tr("deleted"))
    if item.detail.get("do_not_remember"):
        extra.append(tr("not to be remembered"))
    if images := item.detail.get("images"):
        extra.append(plural(int(images), "{n} image", "{n} images"))
    said = preview(item.text, 400, blank=tr("no text"))
    return Shown(
        title=who,
        words=sentence([clock(item.when), *extra]),
        body=tuple(body),
        spoken=f"{who}, {clock(item.when)}: {said}",
    )


def _user(item: TranscriptItem) -> Shown:
    return _said(tr("You"), item)


def _assistant(item: TranscriptItem) -> Shown:
    return _said(AGENT, item)


def _pretty(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False, indent=2)
    except ValueError:
        return arguments


TOOL_ICONS = {
    "read_file": "file-text", "shell": "square-terminal", "execute": "square-terminal",
    "memory_search": "search", "session_search": "search", "memory_get": "book-open",
    "memory_save": "bookmark",
}  # fmt: skip


def _tool(item: TranscriptItem) -> Shown:
    right, icon, color = "", "check", "ok"
    if item.result is None:
        right, icon, color = tr("no result"), "circle-dashed", "text_faint"
    elif item.is_error:
        right, icon, color = tr("failed"), "circle-x", "lost"
    else:
        lines = item.result.count("\n") + 1 if item.result else 0
        right = plural(lines, "{n} line", "{n} lines") if lines != 1 else _chars(len(item.result))
        if item.cut:
            right = _chars(item.cut)
    spent = item.seconds or 0.0
    took = seconds(spent) if spent >= LEAST_TIME else ""
    body = [Part(_pretty(item.arguments), "code", tr("Arguments"))] if item.arguments else []
    if item.result is not None:
        body.append(Part(item.result, "code", tr("Result")))
    code = call_line(item.arguments)
    spoken = tr("Call of {tool}", tool=item.tool)
    return Shown(
        title=item.tool or tr("a tool"),
        code=code,
        right=f"{right}   {took}" if took else right,
        right_icon=icon,
        right_color=color,
        icon=TOOL_ICONS.get(item.tool, "wrench"),
        color="kind_tool",
        act="toggle",
        body=tuple(body),
        folds=True,
        spoken=sentence([spoken, code, right, took]),
    )


def _chars(count: int) -> str:
    return plural(count, "{n} character", "{n} characters")


def _eviction(item: TranscriptItem) -> Shown:
    chars = int(item.detail.get("chars") or 0)
    name = item.target.rpartition("/")[2]
    said = tr("{chars}. The model saw the beginning and the end.", chars=_chars(chars))
    title = tr("A result was put aside")
    return Shown(
        title=title, words=said if chars else name, mark="eviction",
        button=tr("Open the full text"), act="evicted", spoken=f"{title}. {said}",
    )  # fmt: skip


_REASONS = {
    "messages": "by messages", "tokens": "by tokens", "manual": "by hand", "by hand": "by hand",
    "overflow": "after an overflow", "message_count": "by messages",
}  # fmt: skip


def _compaction(item: TranscriptItem) -> Shown:
    detail = item.detail
    count = int(detail.get("number") or 0)
    name = tr("Compaction {n}", n=count) if count else tr("Compaction")
    said = tr("{name} at {time}", name=name, time=clock(item.when)) if item.when else name
    reason = str(detail.get("reason") or "")
    reason = tr(_REASONS.get(reason, "")) if reason in _REASONS else _line(reason, 60)
    before, after = int(detail.get("before") or 0), int(detail.get("after") or 0)
    figures = tr("{a} to {b}", a=compact(before), b=compact(after)) if before else ""
    said = sentence([said, reason])
    said = f"{said}: {figures}" if figures else said
    covered = int(detail.get("covered") or 0)
    spoken = plural(covered, "{n} message summarised", "{n} messages summarised")
    return Shown(
        title=said, mark="compaction", link=tr("The summary"), act="toggle",
        body=(Part(item.text, "read"),), folds=True, spoken=sentence([said, spoken]),
    )  # fmt: skip


def summary_head(item: TranscriptItem) -> str:
    """What stands beside the title of a summary's card: tokens after it, or its messages."""
    after = int(item.detail.get("after") or 0)
    if after:
        return tr("{n} tokens", n=compact(after))
    covered = int(item.detail.get("covered") or 0)
    return plural(covered, "{n} message", "{n} messages")


def _said_once(reason: str) -> str:
    """Why a flush wrote nothing, as its title: the log's own sentence, once."""
    return tr("Flush: {why}", why=reason[:1].lower() + reason[1:].rstrip("."))


def _day_of(path: str, today: date) -> str:
    """The day that a daily log is named after; another file's own name."""
    name = path.rpartition("/")[2].removesuffix(".md")
    try:
        return short_day(date.fromisoformat(name), today)
    except ValueError:
        return name


def _flush(item: TranscriptItem, today: date) -> Shown:
    bullets = int(item.detail.get("bullets") or 0)
    said = _line(item.text, 120)
    if not item.target:
        title, said = _said_once(said) if said else tr("Flush: nothing worth keeping"), ""
    else:
        name = _day_of(item.target, today)
        title = plural(bullets, "Flush: {n} line, {day}", "Flush: {n} lines, {day}", day=name)
    link = tr("Show the day") if item.target else ""
    said = sentence([clock(item.when), said])
    return Shown(
        title=title,
        words=said,
        mark="flush",
        link=link,
        act="daily",
        spoken=sentence([title, said]),
    )


def _consolidation(item: TranscriptItem) -> Shown:
    title = tr("Consolidation: a proposal for MEMORY.md")
    said = sentence([clock(item.when), _line(item.text, 120)])
    link = tr("Show the proposal") if item.target else ""
    return Shown(
        title=title, words=said, mark="consolidation", link=link, act="proposal",
        spoken=sentence([title, said]),
    )  # fmt: skip


def _gap(item: TranscriptItem) -> Shown:
    raw = item.detail.get("raw", "")
    raw = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
    title = tr("A line of the log could not be read")
    return Shown(
        title=title, words=_line(item.text, 200), icon="unlink", color="warn",
        act="toggle", body=(Part(raw, "code"),) if raw else (), folds=True,
        spoken=f"{title}. {preview(item.text, 200, blank='')}",
    )  # fmt: skip


def _failed(item: TranscriptItem) -> Shown:
    title = {
        "failure": tr("The compaction failed"),
        "overflow": tr("The request was longer than the model's window"),
        "interrupted": tr("The reply was stopped"),
    }.get(item.kind, item.kind)
    figures = ""
    if item.kind == "overflow" and item.detail.get("requested"):
        figures = tr(
            "{a} of {b} tokens", a=number(int(item.detail["requested"])),
            b=number(int(item.detail.get("window") or 0)),
        )  # fmt: skip
    said = sentence([clock(item.when), figures, _line(item.text, 200)])
    stopped = item.kind == "interrupted"
    return Shown(
        title=title, words=said, icon="circle-stop" if stopped else "circle-x",
        color="text_soft" if stopped else "lost", spoken=sentence([title, said]),
    )  # fmt: skip


def _reset(item: TranscriptItem) -> Shown:
    title = tr("A fresh start: what is above is no longer in the context")
    return Shown(title=title, icon="rotate-ccw", color="text_soft", spoken=title)


def _fork(item: TranscriptItem) -> Shown:
    title = tr("Forked from another session")
    link = tr("Show it") if item.target else ""
    return Shown(title=title, words=clock(item.when), icon="git-fork", color="text_soft",
                 link=link, act="parent", spoken=title)  # fmt: skip


def _folded(name: str) -> Callable[[TranscriptItem], Shown]:
    def make(item: TranscriptItem) -> Shown:
        said = sentence([tr(name), clock(item.when), size(len(item.text.encode()))])
        return Shown(words=said, act="toggle", body=(Part(item.text, "soft"),), folds=True,
                     spoken=said)  # fmt: skip

    return make


def _note(item: TranscriptItem) -> Shown:
    kind = str(item.detail.get("type") or item.kind)
    names = {
        "model_change": tr("Model: {name}", name=_line(item.text, 80)),
        "recovery": tr("The end of the log was torn; it was kept beside the log"),
        "tool_truncation": tr("Older results were shortened in the context"),
        "args_truncation": tr("Older arguments were shortened in the context"),
        "prune": tr("Older results were taken out of the context"),
        "compaction": tr("A compaction that was not finished"),
    }
    title = names.get(kind, tr("Entry of an unknown kind: {kind}", kind=preview(kind, 60)))
    fields = item.detail.get("fields")
    body = (Part(json.dumps(fields, ensure_ascii=False, indent=2, default=str), "code"),)
    return Shown(
        words=sentence([title, clock(item.when)]), body=body if fields else (),
        folds=bool(fields), act="toggle" if fields else "", spoken=title,
    )  # fmt: skip


_BY_KIND: dict[str, Callable[[TranscriptItem], Shown]] = {
    "user": _user, "assistant": _assistant, "tool": _tool, "eviction": _eviction,
    "compaction": _compaction, "consolidation": _consolidation, "gap": _gap,
    "failure": _failed, "overflow": _failed, "interrupted": _failed, "reset": _reset,
    "fork": _fork, "system": _folded("Rules for the model"), "recall": _folded("Recalled memory"),
    "note": _note,
}  # fmt: skip


def whole_text(block: Block) -> str:
    """What copying a block gives: its own text, a call with its arguments and its result."""
    item = block.item
    if item is None:
        return ""
    if item.kind == "tool":
        return "\n".join(p for p in (f"{item.tool} {item.arguments}".strip(), item.result) if p)
    return item.text or words(block, date.min).spoken
