"""The log as things on a timeline (`records.TranscriptItem`). Pure.

Invariant: every line of the log that a person may care about is there, also what was compacted
away, what was refused a place in the context, and lines that could not be read, each at its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec

from app.engine.records import TEXT_LIMIT, ItemKind, TranscriptItem
from app.engine.session import entries as e
from app.engine.session.messages import INTERRUPTED, call_of, owner, role_of
from app.engine.session.text import cut_text


def items(entries: Iterable[e.Entry | e.BadLine], limit: int = TEXT_LIMIT) -> list[TranscriptItem]:
    """Timeline items of entries in log order; texts cut at `limit` characters (0: not at all)."""
    made = _Timeline(limit)
    for entry in entries:
        made.take(entry)
    return made.finished()


def full_text(entries: Iterable[e.Entry | e.BadLine], item_id: str) -> str:
    """The whole text of one item (a tool's result when it has one). Raises `KeyError`."""
    for item in items(entries, 0):
        if item.id == item_id:
            return item.result if item.kind == "tool" and item.result is not None else item.text
    raise KeyError(item_id)


class _Timeline:
    """Items so far, and where the ones lie that later entries change."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: list[TranscriptItem] = []
        self._where: dict[str, int] = {}  # item id or message id -> place
        self._calls: dict[str, int] = {}  # open call id -> place of its tool item
        self._parts: dict[str, list[int]] = {}  # message id -> places of all its items
        self._live: list[int] = []  # places of what is in the model's view, in order
        self._summaries: dict[str, e.Summary] = {}

    def take(self, entry: e.Entry | e.BadLine) -> None:
        if isinstance(entry, e.BadLine):
            detail = {"raw": entry.raw, "torn": entry.torn}
            self._put(f"gap-{entry.seq}", entry.seq, None, "gap", entry.reason, detail=detail)
            return
        handler = self._handlers.get(type(entry))
        if handler is not None:
            handler(self, entry)

    def finished(self) -> list[TranscriptItem]:
        return self._items

    # ------------------------------------------------------------------ making items

    def _put(self, id: str, seq: int, when: Any, kind: ItemKind, text: str, **more: Any) -> int:
        text, cut = self._cut(text)
        more["cut"] = max(cut, int(more.get("cut", 0)))
        at = len(self._items)
        self._items.append(TranscriptItem(id=id, seq=seq, kind=kind, when=when, text=text, **more))
        self._where[id] = at
        return at

    def _note(self, entry: e.Entry, kind: ItemKind, text: str, **more: Any) -> int:
        return self._put(entry.id, entry.seq, entry.when, kind, text, **more)

    def _change(self, at: int, **fields: Any) -> None:
        self._items[at] = msgspec.structs.replace(self._items[at], **fields)

    def _cut(self, text: str) -> tuple[str, int]:
        return cut_text(text, self._limit) if self._limit else (text, 0)

    def _speak(self, message_id: str, at: int) -> None:
        self._parts.setdefault(message_id, []).append(at)
        self._live.append(at)

    # ------------------------------------------------------------------ conversation

    def _message(self, entry: e.MessageEntry) -> None:
        role = role_of(entry.role)
        if role == "tool":
            self._answer(entry, entry.tool_call_id, entry.name, entry.content or "", False, None)
            return
        known = self._where.get(entry.id)
        if known is not None:
            self._join(known, entry)
            return
        detail: dict[str, Any] = {}
        if entry.origin:
            detail["origin"] = entry.origin
        if entry.block_types:
            detail["block_types"] = list(entry.block_types)
        if entry.images:
            detail["images"] = len(entry.images)
        if entry.name:
            detail["name"] = entry.name
        text = entry.content or ""
        reasoning, _ = self._cut(entry.reasoning)
        at = self._note(entry, role, text, reasoning=reasoning, detail=detail)
        self._speak(entry.id, at)

    def _join(self, at: int, entry: e.MessageEntry) -> None:
        item = self._items[at]
        if item.kind != "assistant":
            return
        text, content = item.text, entry.content or ""
        if content and content != text:
            text = f"{text}\n{content}" if text else content
        reasoning = item.reasoning or entry.reasoning
        text, cut = self._cut(text)
        self._change(at, text=text, reasoning=self._cut(reasoning)[0], cut=cut or item.cut)

    def _use(self, entry: e.ToolUse) -> None:
        call = call_of(entry)
        if entry.id in self._where:
            return
        arguments, cut = self._cut(call.arguments)
        at = self._note(entry, "tool", "", tool=call.name, arguments=arguments, cut=cut)
        if entry.truncated:
            self._change(at, detail={"truncated": True, "original_size": entry.original_size})
        self._calls[call.id] = at
        self._speak(owner(entry.id), at)

    def _result(self, entry: e.ToolResult) -> None:
        self._answer(
            entry, entry.tool_call_id, entry.name, entry.output, entry.is_error, entry.seconds
        )

    def _answer(
        self, entry: e.Entry, call_id: str, name: str, output: str, bad: bool, took: float | None
    ) -> None:
        text, cut = self._cut(output)
        at = self._calls.pop(call_id, None)
        if at is None:  # its call lies elsewhere, or it was answered before
            at = self._note(
                entry, "tool", "", tool=name, result=text, is_error=bad, cut=cut, seconds=took,
                detail={"result_id": entry.id, "call_id": call_id, "without_call": True},
            )  # fmt: skip
        else:
            item = self._items[at]
            detail = {**item.detail, "result_id": entry.id, "result_seq": entry.seq}
            self._change(
                at, result=text, is_error=bad, cut=max(cut, item.cut), detail=detail,
                seconds=took if took is not None else _between(item, entry),
            )  # fmt: skip
            self._where[entry.id] = at
        self._speak(entry.id, at)

    def _interrupted(self, entry: e.Interrupted) -> None:
        for call_id in entry.tool_call_ids:
            at = self._calls.pop(call_id, None)
            if at is not None:
                self._change(at, result=INTERRUPTED, is_error=True)
                self._speak(f"{entry.id}:interrupted:{call_id}", at)
        detail = {"calls": list(entry.tool_call_ids)}
        self._note(entry, "interrupted", entry.reason, detail=detail)

    # ------------------------------------------------------------------ compaction

    def _summary(self, entry: e.Summary) -> None:
        self._summaries[entry.id] = entry

    def _compaction(self, entry: e.Compaction) -> None:
        summary = self._summaries.get(entry.summary_entry_id)
        if summary is None:  # the fold ignores it, too
            self._note(entry, "note", "", detail={"type": "compaction", "unfinished": True})
            return
        covered = self._covered(entry)
        for at in covered:
            if not self._items[at].covered_by:
                self._change(at, covered_by=entry.id)
        at = self._note(
            entry,
            "compaction",
            summary.summary,
            detail={
                "before": entry.before, "after": entry.after, "kept": entry.kept,
                "covered": len(covered if entry.covered is None else entry.covered),
                "number": entry.number, "reason": entry.reason, "pending": entry.pending,
            },
        )  # fmt: skip
        gone = set(covered)
        self._live = [at, *(n for n in self._live if n not in gone)]
        message_id = summary.message.id if summary.message is not None else summary.id
        self._parts[message_id] = [at]

    def _covered(self, entry: e.Compaction) -> list[int]:
        if entry.covered is not None:
            ids = [*entry.covered, *([entry.pending] if entry.pending else [])]
            return [at for i in ids for at in self._parts.get(i, ())]
        kept = entry.first_kept_entry_id
        if not kept:
            return list(self._live)
        first = self._where.get(kept, self._where.get(owner(kept)))
        return [] if first is None else [at for at in self._live if at < first]

    # ------------------------------------------------------------------ what the engine did

    def _eviction(self, entry: e.Eviction) -> None:
        at = self._where.get(entry.target)
        if at is not None:
            self._change(at, target=entry.file)
        detail = {"chars": entry.chars, "sha256": entry.sha256, "of": entry.target}
        self._note(entry, "eviction", "", target=entry.file, detail=detail)

    def _flush(self, entry: e.Flush) -> None:
        detail = {
            "from": entry.from_, "to": entry.to, "run": entry.run, "bullets": entry.bullets,
            **entry.extra,
        }  # fmt: skip
        self._note(entry, "flush", entry.reason, target=entry.path, detail=detail)

    def _consolidation(self, entry: e.Consolidation) -> None:
        detail = {"run": entry.run, **entry.extra}
        self._note(entry, "consolidation", entry.reason, target=entry.proposal, detail=detail)

    def _recall(self, entry: e.Recall) -> None:
        self._note(entry, "recall", entry.text, detail={"query": entry.query, **entry.extra})

    def _overflow(self, entry: e.Overflow) -> None:
        detail = {"requested": entry.requested, "window": entry.window, **entry.extra}
        self._note(entry, "overflow", entry.reason, detail=detail)

    def _failed(self, entry: e.CompactionFailed) -> None:
        self._note(entry, "failure", entry.reason, detail={"raw": entry.raw, **entry.extra})

    def _reset(self, entry: e.Reset) -> None:
        self._live.clear()
        self._calls.clear()
        detail = {"messages": entry.messages, "compactions": entry.compactions}
        self._note(entry, "reset", "", detail=detail)

    def _fork(self, entry: e.Fork) -> None:
        detail = {"parent_entry": entry.parent_entry, "messages": len(entry.messages)}
        self._note(entry, "fork", "", target=entry.parent_session, detail=detail)

    def _prompt(self, entry: e.SystemPrompt) -> None:
        self._note(entry, "system", entry.system_prompt)

    def _model(self, entry: e.ModelChange) -> None:
        self._note(entry, "note", entry.model, detail={"type": "model_change"})

    def _forms(self, entry: e.InContext) -> None:
        targets = [target for target, _ in entry.forms()]
        detail = {"type": e.type_of(entry), "targets": targets}
        self._note(entry, "note", "", detail=detail)

    def _recovery(self, entry: e.Recovery) -> None:
        detail = {"type": "recovery", "bytes": entry.bytes}
        self._note(entry, "note", entry.reason, target=entry.file, detail=detail)

    def _raw(self, entry: e.RawEntry) -> None:
        detail = {"type": entry.type_name, "fields": dict(entry.extra)}
        self._note(entry, "note", entry.type_name, detail=detail)

    def _mark(self, entry: e.Mark) -> None:
        for message_id in entry.ids():
            for at in self._parts.get(owner(message_id), ()):
                detail = dict(self._items[at].detail)
                if entry.do_not_remember is not None:
                    detail["do_not_remember"] = entry.do_not_remember
                if entry.deleted:
                    detail["deleted"] = True
                self._change(at, detail=detail)
                if entry.edited is not None:
                    text, cut = self._cut(entry.edited)
                    self._change(at, text=text, cut=cut, detail={**detail, "edited": True})

    _handlers: ClassVar[dict[type[e.Entry], Any]] = {
        e.MessageEntry: _message, e.ToolUse: _use, e.ToolResult: _result, e.Summary: _summary,
        e.Compaction: _compaction, e.Interrupted: _interrupted, e.Eviction: _eviction,
        e.Flush: _flush, e.Consolidation: _consolidation, e.Recall: _recall,
        e.Overflow: _overflow, e.CompactionFailed: _failed, e.Reset: _reset, e.Fork: _fork,
        e.SystemPrompt: _prompt, e.ModelChange: _model, e.ToolTruncation: _forms,
        e.ArgsTruncation: _forms, e.Prune: _forms, e.Recovery: _recovery, e.RawEntry: _raw,
        e.Mark: _mark,
    }  # fmt: skip


def _between(item: TranscriptItem, entry: e.Entry) -> float | None:
    """How long a call took, by the clock; never less than nothing (times may run backwards)."""
    if item.when is None or entry.when is None or entry.when < item.when:
        return None
    return (entry.when - item.when).total_seconds()
