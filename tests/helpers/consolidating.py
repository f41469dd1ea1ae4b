"""A workspace with everything consolidation needs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from app.engine.config import MemoryConfig
from app.engine.events import Bus
from app.engine.llm.endpoint import Request
from app.engine.memory.apply import Review
from app.engine.memory.consolidation import MemoryConsolidator, Outcome
from app.engine.memory.journal import RunLog
from app.engine.memory.proposals import ProposalStore, RefusedClaims
from app.engine.records import DailySection, Window
from app.engine.workspace.daily_log import append_section
from app.engine.workspace.layout import Layout, ensure
from app.engine.workspace.memory_file import MemoryWriter
from app.engine.workspace.sections import SectionStates, read_watermark
from tests.helpers.models import Reply, ScriptedModel

START = datetime(2026, 6, 2, 9, 0, tzinfo=UTC)


class Desk:
    """One workspace and the parts that work on its memory. Nothing in it is a double."""

    def __init__(
        self, root: Path, *replies: Reply, window: int = 128_000, prepare: str = "", **config: Any
    ) -> None:
        self.layout = Layout.at(root)
        ensure(self.layout)
        if prepare:
            self.layout.memory_md.write_text(prepare, encoding="utf-8")
        self.model = ScriptedModel(*(replies or ("",)), window=Window(window, "setting"))
        self.bus = Bus()
        self.events: list[Any] = []
        self.bus.subscribe(self.events.append)
        self.indexed: list[str] = []
        self.on_index: Callable[[str], None] = self.indexed.append
        self.config = MemoryConfig(**config)
        self.open()

    def open(self) -> None:
        """Make every part anew, as at the start of the program."""
        self.writer = MemoryWriter(self.layout)
        self.states = SectionStates(self.layout, when=START)
        self.store = ProposalStore(self.layout)
        self.refused = RefusedClaims(self.layout)
        self.review = Review(
            self.layout, self.writer, self.states, self.store, self.refused,
            lambda path: self.on_index(path),
        )  # fmt: skip
        self.runs = RunLog(self.layout)
        self._number = getattr(self, "_number", 0)
        self.consolidator = MemoryConsolidator(
            self.layout, self.writer, self.states, self.review, self.config,
            endpoint=self.model, record=self.runs.record_call, bus=self.bus,
            new_run=self._new_run,
        )  # fmt: skip

    def _new_run(self) -> str:
        self._number += 1
        return f"r-{self._number}"

    def flush(
        self, *lines: str, at: datetime = START - timedelta(hours=1), origin: str = "user"
    ) -> DailySection:
        """A daily-log section of these bullets."""
        return append_section(
            self.layout, kind="flush", text="\n".join(lines), now=at, run="r-0", session="s-1",
            first="u-1", last="a-1", origin=origin,
        )  # fmt: skip

    async def run(self, at: datetime = START, *, manual: bool = False) -> Outcome:
        return await self.consolidator.consolidate(at, manual=manual)

    @property
    def memory(self) -> str:
        """MEMORY.md's bytes as text."""
        return self.layout.memory_md.read_bytes().decode()

    @property
    def watermark(self) -> datetime:
        return read_watermark(self.layout).instant

    def fates(self) -> list[str]:
        """The state of every section, in order."""
        return [self.states.state(found.path, found.section).state for found in self.states.known()]


def echo(request: Request) -> str:
    """A model that hands back the file and every bullet of the logs, each once."""
    text = request.messages[0].content
    seen: list[str] = []
    for line in text.split("\n"):
        if line.startswith(("- ", "older", "fresh")) and line not in seen:
            seen.append(line)
    return "\n".join(seen)
