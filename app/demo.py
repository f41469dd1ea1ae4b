"""The demo workspace: a small greenhouse, played through the engine from `resources/demo`.

Every file of it is made by the code that makes a person's own files; only the clock is moved, so
that the days stand before today. One proposal waits for review, so that the main act is learned in
a minute. The folder is built beside its place and moved there whole.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tomllib
from collections.abc import AsyncIterator
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, cast

from app import places
from app.engine.config import MemoryConfig, ToolResultEvictionConfig
from app.engine.context.eviction import ToolResultEvictor
from app.engine.context.extractive import extractive_summary
from app.engine.context.summaries import summary_message
from app.engine.context.tokens import Counter
from app.engine.llm.endpoint import Answer, Delta, Request
from app.engine.memory import provenance
from app.engine.memory.apply import Review
from app.engine.memory.consolidation import MemoryConsolidator
from app.engine.memory.diff import difference
from app.engine.memory.proposals import ProposalStore, RefusedClaims
from app.engine.records import Message, ToolCall, Window
from app.engine.session import entries as e
from app.engine.session.recorder import Kit
from app.engine.session.session import Session
from app.engine.session.store import SessionStore
from app.engine.workspace.daily_log import append_section
from app.engine.workspace.evictions import Evictions
from app.engine.workspace.layout import Layout, ensure
from app.engine.workspace.memory_file import MemoryWriter
from app.engine.workspace.sections import SectionStates

EVICT_ABOVE = 4_000  # characters: the demo's probe log is a page, not a book


async def build(folder: Path, now: datetime) -> None:
    """Make the demo in `folder`, which must not exist. `now` is aware, in the local zone."""
    beside = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        await _Play(beside, now).run()
        beside.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


class _Play:
    """One playing of the script. Invariant: the clock only goes forward."""

    def __init__(self, folder: Path, now: datetime) -> None:
        source = places.resources_dir() / "demo"
        self._script = tomllib.loads((source / "demo.toml").read_text(encoding="utf-8"))
        self._source = source
        self._now = now
        self._clock = now
        self._ids = 0
        self._layout = Layout.at(folder)
        self._writer = MemoryWriter(self._layout)
        self._evictions = Evictions(self._layout)
        self._store = SessionStore(
            self._layout, fsync="never", kit=Kit(now=lambda: self._tick(), new_id=self._id)
        )

    async def run(self) -> None:
        await asyncio.to_thread(self._past)
        await self._propose()

    def _past(self) -> None:
        ensure(self._layout)
        for name in ("AGENTS.md", "knowledge"):
            place = self._source / name
            copy = shutil.copytree if place.is_dir() else shutil.copy
            copy(place, self._layout.root / name)
        steps = [(self._at(one), "memory", one) for one in self._script["memory"]]
        steps += [(self._at(one), "session", one) for one in self._script["session"]]
        for when, kind, one in sorted(steps, key=lambda step: step[0]):
            self._clock = when
            (self._remember if kind == "memory" else self._talk)(one)

    # ------------------------------------------------------------------ clock and ids

    def _at(self, one: dict[str, Any]) -> datetime:
        day: date = self._now.date() - timedelta(days=one["day"])
        return datetime.combine(day, time.fromisoformat(one["time"]), self._now.tzinfo)

    def _tick(self) -> datetime:
        self._clock += timedelta(seconds=21)
        return self._clock

    def _id(self) -> str:
        self._ids += 1
        return f"d{self._ids:05d}"

    # ------------------------------------------------------------------ conversations

    def _talk(self, one: dict[str, Any]) -> None:
        session = self._store.create(one["id"], strategy="background", model="demo script")
        first = ""
        lines = one["flush"]
        for number, turn in enumerate(cast("list[dict[str, str]]", one["turns"]), 1):
            question = session.add(Message(self._id(), "user", turn["user"]))
            first = first or question.id
            if "tool" in turn:
                self._call(session, turn)
            else:
                session.add(Message(self._id(), "assistant", turn["assistant"]))
            if number == one.get("compact_after"):
                self._flush(session, lines, first)
                self._compact(session)
                first, lines = "", one["flush_after"]
        self._flush(session, lines, first)
        if title := one.get("title"):
            session.rename(title)
        session.close()

    def _call(self, session: Session, turn: dict[str, str]) -> None:
        call = ToolCall(self._id(), turn["tool"], turn["arguments"])
        session.add(Message(self._id(), "assistant", turn["assistant"], calls=(call,)))
        text = probe_log() if turn["result"] == "@probe-log" else turn["result"]
        result = session.add_result(call.id, call.name, text, seconds=0.2)
        config = ToolResultEvictionConfig(max_result_chars=EVICT_ABOVE, preview_chars=600)
        done = asyncio.run(ToolResultEvictor(config, self._evictions.write).evict(result))
        if done is not None:
            moment = self._clock.timestamp()
            os.utime(self._layout.root / done.path, (moment, moment))
            session.append(
                e.Eviction(
                    target=done.target,
                    in_context=done.message.content,
                    file=done.path,
                    chars=done.chars,
                    sha256=done.sha256,
                )
            )
        session.add(Message(self._id(), "assistant", turn["after"]))

    def _compact(self, session: Session) -> None:
        count = Counter().messages
        context = session.context
        covered = context[:-2]
        summary = extractive_summary(covered, 1_500)
        log = self._layout.relative(self._layout.session_log(session.id))
        message = summary_message(summary, log_path=log)
        session.commit_compaction(
            summary=summary,
            message=message,
            covered=[one.id for one in covered],
            reason="messages",
            format="four_part",
            before=count(context),
            after=count([message, *context[-2:]]),
        )

    def _flush(self, session: Session, lines: list[str], first: str) -> None:
        run, last = self._id(), session.context[-1].id
        section = append_section(
            self._layout,
            kind="flush",
            text="\n".join(f"- {line}" for line in lines),
            now=self._tick(),
            run=run,
            session=session.id,
            first=first,
            last=last,
            origin="user",
        )
        path = self._layout.relative(self._layout.daily(self._clock.date()))
        session.append(
            e.Flush(from_=first, to=last, path=path, run=run, bullets=len(section.lines))
        )

    # ------------------------------------------------------------------ memory

    def _remember(self, one: dict[str, Any]) -> None:
        text = one["text"].strip() + "\n"
        states = SectionStates(self._layout, when=self._clock)
        waiting = states.waiting()
        before = self._writer.read().text
        found = difference(before, text).changes
        origins = provenance.carried(
            text,
            found,
            provenance.from_record(self._writer.history.provenance() or {}),
            provenance.of_changes(found, provenance.Matcher(waiting)),
        )
        run = self._id() if one["cause"] == "consolidation" else ""
        self._writer.write(
            text,
            base_sha256=None,
            cause=one["cause"],
            when=self._clock,
            run=run,
            model="demo script" if run else "",
            inputs=tuple(dict.fromkeys(section.path for section in waiting)) if run else (),
            provenance=provenance.to_record(origins),
        )
        if run:
            keys = [section.key for section in waiting]
            states.set(keys, "merged", when=self._clock, run=run, reason="Merged into MEMORY.md.")

    async def _propose(self) -> None:
        script = self._script["proposal"]
        states = await asyncio.to_thread(SectionStates, self._layout, when=self._now)
        review = Review(
            self._layout,
            self._writer,
            states,
            ProposalStore(self._layout),
            RefusedClaims(self._layout),
        )
        consolidator = MemoryConsolidator(
            self._layout,
            self._writer,
            states,
            review,
            MemoryConfig(policy="review"),
            endpoint=_Script(script["model"], script["text"].strip() + "\n"),
        )
        made = await consolidator.consolidate(max(self._clock, self._now - timedelta(minutes=20)))
        # Opened once: a run after the person's first chat must not take its place.
        await asyncio.to_thread(review.keep, made.run, ())


class _Script:
    """A model that has one thing to say."""

    host = ""
    fit_for_memory = True
    supports_tools = False

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        yield Answer(self._text, model=self.name)

    async def window(self) -> Window:
        return Window(32_768, "setting")

    async def close(self) -> None:
        return None


def probe_log() -> str:
    """A night of readings: long enough to be put aside, and the drift is really in it."""
    rows = ["time   bed1  bed2  bed3  bed4   note"]
    for minute in range(0, 9 * 60, 4):
        hour, rest = divmod(21 * 60 + minute, 60)
        inside = 2 * 60 <= (21 * 60 + minute) % (24 * 60) <= 5 * 60
        drift = ((21 * 60 + minute) % (24 * 60) - 120) * 13 // 180 if inside else 0
        beds = [62 + minute % 3, 61 + drift, 60 + (minute // 8) % 3, 63 - minute % 2]
        note = "drift" if drift > 6 else ""
        cells = "  ".join(f"{bed:>4}" for bed in beds)
        rows.append(f"{hour % 24:02d}:{rest:02d} {cells}   {note}".rstrip())
    return "\n".join(rows)
