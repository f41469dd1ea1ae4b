"""Earlier versions in the memory place: showing one, comparing two, going back to the file now.

Mixed into `MemoryPane`. The text is asked for at each step of the scrubber; an older answer that
comes late is dropped.
"""

from __future__ import annotations

from typing import Any

from app.engine.errors import Unreadable
from app.gui.look.text import number, tr


class Versions:
    """Mixed into `MemoryPane`."""

    def step_version(self: Any, by: int) -> None:
        if self.mode in ("file", "version"):
            self.scrubber.line.step(by)

    def _on_version_shown(self: Any, wanted: int) -> None:
        newest = self.versions[0].number if self.versions else 0
        if wanted == newest:
            self.leave_version()
        elif self.mode == "compare":
            self.show_compare(*self.scrubber.pair())
        else:
            self.give_up()
            self.tasks.start("version", self._show_version(wanted))

    async def open_version(self: Any, wanted: int) -> None:
        """Show one version in place of the file. Raises `Unreadable` when it is not known."""
        if self.versions and wanted == self.versions[0].number:
            self.show_mode("file")
            self.leave_version()
            return
        await self._reach(wanted)
        if not any(version.number == wanted for version in self.versions):
            raise Unreadable(
                tr("Version {n} is not in the history any more.", n=number(wanted)),
                tr("Look for its words in the versions there are."),
            )
        self.scrubber.stand_at(wanted)
        await self._show_version(wanted)

    async def _reach(self: Any, wanted: int) -> None:
        """Have that version on the line, also when it is older than those that are looked at."""
        if not self.versions or wanted >= self.versions[-1].number:
            return
        self.far_back = self.versions[0].number - wanted + 2  # with the one before it, to compare
        self.versions = await self.desk.engine.ask.versions(self.far_back)
        self.scrubber.set_versions(self.versions, self.desk.now(), bool(self.waiting()))

    async def _show_version(self: Any, wanted: int) -> None:
        version = next((v for v in self.versions if v.number == wanted), None)
        text = await self.desk.engine.ask.version_text(wanted)
        if version is None or self.scrubber.line.shows != wanted:
            return
        self.file.show_version(version, text, self.desk.now())
        if self.mode == "version":
            self.settle_head()
        else:
            self.show_mode("version")

    def leave_version(self: Any) -> None:
        """Back to the file as it is."""
        self.tasks.cancel("version")
        self.scrubber.to_newest()
        if self.mode == "version" or self.file.version:
            self.show_mode("file")

    def compare_pair(self: Any) -> None:
        old, new = self.scrubber.pair()
        if old and new:
            self.show_compare(old, new)

    def show_compare(self: Any, old: int, new: int) -> None:
        self.give_up()
        self.tasks.start("compare", self._compare(old, new))

    async def _compare(self: Any, old: int, new: int) -> None:
        changes = await self.desk.engine.ask.compare(old, new)
        marks = await self.marks_of(changes)
        self.compare.show_changes(old, new, changes, marks)
        self.scrubber.show_pair(old, new)
        self.show_mode("compare")
