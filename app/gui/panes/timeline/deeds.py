"""What can be done with a session: rename, trash, remember, copy, export. Each with its undo."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from app.engine.errors import StorageError
from app.engine.records import SessionInfo
from app.gui.look.text import preview, tr, without_escapes
from app.gui.panes.timeline.blocks import Block
from app.gui.panes.timeline.words import whole_text
from app.gui.widgets.dialogs import Overlay, ask_text
from app.gui.widgets.labels import T
from app.gui.widgets.notices import Act, UndoBar
from app.gui.widgets.paged import PagedText
from app.gui.widgets.pane import Target
from app.gui.widgets.prose import plain

if TYPE_CHECKING:
    from app.gui.panes.timeline.pane import TimelinePane


class Deeds:
    """The acts of a timeline pane."""

    def __init__(self, pane: TimelinePane) -> None:
        self._pane = pane
        self.bar = UndoBar(pane)

    async def rename(self, session: SessionInfo) -> None:
        pane = self._pane
        name = await ask_text(
            pane.window(), tr("Rename this session"), tr("Name"), session.title, act=tr("Rename")
        )
        if name is None or name.strip() == session.title:
            return
        await pane.desk.engine.do.rename_session(session.id, name, initiator=pane)
        await pane.look_again()

    async def trash(self, session: SessionInfo) -> None:
        pane = self._pane
        await pane.desk.engine.do.trash_session(session.id, initiator=pane)
        title = preview(session.title, 40)
        self.bar.show_act(
            tr("“{title}” is in the trash", title=title),
            (Act(tr("Undo"), lambda: pane.tasks.start("undo", self._restore(session.id))),),
        )
        await pane.look_again()

    async def _restore(self, session_id: str) -> None:
        await self._pane.desk.engine.do.restore_session(session_id, initiator=self._pane)
        await self._pane.look_again(session_id)

    async def remember(self, session_id: str, block: Block, marked: str) -> None:
        """Save a fact of the person's choice, with where it came from."""
        pane = self._pane
        text = marked.strip() or whole_text(block).strip()
        if len(text) > 300 or "\n" in text or not marked.strip():
            text = await ask_text(
                pane.window(), tr("Remember this"), tr("As one sentence"),
                preview(text, 300) if text else "", act=tr("Remember"),
            ) or ""  # fmt: skip
        if not text.strip():
            return
        entry = block.item.id if block.item is not None else ""
        await pane.desk.engine.do.remember(
            text.strip(), session_id=session_id, entry_id=entry, initiator=pane
        )
        self.bar.show_act(
            tr("Remembered: {what}", what=preview(text, 60)),
            (
                Act(tr("Show"), lambda: pane.go.emit(Target("memory"))),
                Act(tr("Undo"), lambda: pane.tasks.start("undo", pane.desk.engine.do.undo())),
            ),
        )

    def copy(self, blocks: list[Block], marked: str) -> None:
        """The marked text, else the chosen blocks, without terminal codes."""
        text = marked or "\n\n".join(t for t in map(whole_text, blocks) if t)
        if text:
            QGuiApplication.clipboard().setText(plain(text))

    async def read(self, session_id: str, block: Block, part: int) -> None:
        """The whole text of a part, in a reader of its own."""
        item = block.item
        if item is None:
            return
        text = item.text if item.kind != "tool" else item.result or ""
        if item.kind == "tool" and (part == 0 and item.arguments):
            text = item.arguments
        elif item.reasoning and part == 0 and item.kind == "assistant":
            text = item.reasoning
        elif item.cut:
            text = await self._pane.desk.engine.ask.full_text(session_id, item.id)
        over = Overlay(self._pane.window(), 920, 64)
        over.setAccessibleName(tr("The whole text"))
        over.box.addWidget(T(item.tool or tr("The whole text"), "head", elide="right"))
        view = PagedText(tr("The whole text"))
        view.setMinimumHeight(max(self._pane.window().height() - 220, 240))
        view.set_text(text)
        over.box.addWidget(view, 1)
        over.open(view)

    async def export(self, session: SessionInfo) -> None:
        """Write the whole session as Markdown, where the person says."""
        name = "".join(c if c.isalnum() or c in " -_" else "-" for c in session.title)[:60].strip()
        dialog = QFileDialog(self._pane.window(), tr("Export as Markdown"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("md")
        dialog.selectFile(f"{name or session.id}.md")
        chosen: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def done(code: int) -> None:
            if not chosen.done():
                chosen.set_result(dialog.selectedFiles()[0] if code else "")

        dialog.finished.connect(done)
        dialog.open()
        try:
            path = await chosen
        finally:
            dialog.deleteLater()
        if not path:
            return
        text = await self._pane.desk.engine.ask.document([session.id])

        def write() -> None:
            Path(path).write_text(without_escapes(text), "utf-8")

        try:
            await asyncio.to_thread(write)
        except OSError as error:
            raise StorageError(tr("The export was not written: {why}.", why=error.strerror or "")) \
                from error  # fmt: skip
        self.bar.show_act(tr("Written: {name}", name=Path(path).name))
