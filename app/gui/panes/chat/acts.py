"""What can be done with a session and with selected text: the acts of the chat pane."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QTextEdit, QWidget

from app.engine.records import CompactionReport
from app.gui.look.icons import icon
from app.gui.look.text import compact, number, plural, preview, tr
from app.gui.panes.chat.blocks import kind_of
from app.gui.panes.chat.model import as_text
from app.gui.panes.chat.rows import Row
from app.gui.widgets.action import Action
from app.gui.widgets.dialogs import ask, ask_text
from app.gui.widgets.notices import Act
from app.gui.widgets.pane import Target

if TYPE_CHECKING:
    from app.gui.panes.chat.pane import ChatPane

REMEMBER_LIMIT = 600  # characters of one fact


class SessionActs:
    """Acts of a chat pane; each a coroutine or a plain call, as its `Action` runs it."""

    def __init__(self, pane: ChatPane) -> None:
        self.pane = pane
        self._compacting = False

    # ------------------------------------------------------------------ session

    async def rename(self) -> None:
        pane, session_id = self.pane, self.pane.session_id
        title = await ask_text(
            pane.window(), tr("Name of this session"), tr("Name"), pane.session_title(),
            act=tr("Rename"), text=tr("An empty name takes the first line again."),
        )  # fmt: skip
        if title is not None:
            await pane.desk.engine.do.rename_session(session_id, title, initiator=pane)
            await pane.read_title()

    async def trash(self) -> None:
        """Into the trash, and on to another session; Undo brings it back."""
        pane, session_id = self.pane, self.pane.session_id
        title = preview(pane.session_title(), 40)
        await pane.desk.engine.do.trash_session(session_id, initiator=pane)
        if pane.session_id == session_id:  # else somebody went elsewhere meanwhile
            await pane.enter_any(but=session_id)

        async def back() -> None:
            before = pane.session_id
            await pane.desk.engine.do.restore_session(session_id, initiator=pane)
            if pane.session_id == before:
                await pane.open(Target("chat", session_id=session_id))

        undo = Act(tr("Undo"), lambda: pane.tasks.latest("restore", back()))
        pane.bar.show_act(tr("{title} is in the trash", title=title), (undo,))

    async def compact(self) -> None:
        """Compact now, whatever the gain, and say what came of it."""
        pane, session_id = self.pane, self.pane.session_id
        if self._compacting:
            return
        self._compacting = True
        pane.panel.set_busy(True)
        try:
            report = await pane.desk.engine.do.compact(session_id, initiator=pane)
        finally:
            self._compacting = False
            pane.panel.set_busy(False)
        if session_id != pane.session_id:
            return  # what is said here is of the session that is shown
        if report.covered:
            pane.bar.show_act(_compacted(report))
        else:
            pane.bar.show_act(report.reason or tr("There was nothing to compact."), tone="info")
        pane.watch.now()

    async def preview(self) -> None:
        """What would be summarised, what stays, what is not flushed yet."""
        pane, session_id = self.pane, self.pane.session_id
        engine = pane.desk.engine
        report = await engine.ask.compaction_preview(session_id)
        view = await engine.ask.context(session_id)
        if session_id != pane.session_id:
            return
        history = [p for p in view.parts if p.kind in ("history", "summary")]
        lines: list[str] = []
        for at, part in enumerate(history[: report.covered + report.kept]):
            verb = tr("summarised") if at < report.covered else tr("stays")
            who = {"user": tr("You"), "assistant": "Palimpsest"}.get(part.role, part.note or "")
            what = tr("the summary so far") if kind_of(part) == "summary" else who
            lines.append(f"{verb}: {what}: {preview(part.text, 90, blank=tr('a call'))}")
        facts = [
            plural(
                report.covered,
                "{n} message would be summarised",
                "{n} messages would be summarised",
            )
            + tr(", {n} stay.", n=number(report.kept)),
            tr("{a} tokens now.", a=number(report.before)),
        ]
        if report.unflushed:
            facts.append(
                plural(
                    report.unflushed,
                    "{n} is not flushed yet and goes to today's log first.",
                    "{n} are not flushed yet and go to today's log first.",
                )
            )
        said = await ask(
            pane.window(), tr("If compaction ran now"),
            " ".join(facts) if report.covered else report.reason,
            (("", tr("Close"), "plain"), ("compact", tr("Compact now"), "primary")),
            code="\n".join(lines), width=620,
        )  # fmt: skip
        if said == "compact":
            await self.compact()

    async def flush(self) -> None:
        pane = self.pane
        await pane.desk.engine.do.flush(pane.session_id, initiator=pane)
        show = Act(tr("Show"), lambda: pane.go.emit(Target("activity")))
        pane.bar.show_act(tr("A flush is queued; the reply never waits for it"), (show,))

    # ------------------------------------------------------------------ text

    def selection(self) -> tuple[str, str]:
        """(selected text of the transcript, id of the item it lies in); ("", "") for none."""
        for row in self.pane.view.rows():
            for widget in (*row.findChildren(QTextEdit), *row.findChildren(QPlainTextEdit)):
                cursor = widget.textCursor()
                if cursor.hasSelection() and widget.isVisible():
                    return cursor.selection().toPlainText().strip(), _item_id(row)
        return "", ""

    async def remember(self) -> None:
        """Save the selected text as a fact, with the message it came from."""
        pane = self.pane
        text, entry_id = self.selection()
        fact = " ".join(text.split())
        if len(fact) > REMEMBER_LIMIT:
            pane.notice(
                tr("That is more than one fact"),
                tr("Select at most {n} characters.", n=number(REMEMBER_LIMIT)),
                key="remember",
            )
            return
        done = await pane.desk.engine.do.remember(
            fact, session_id=pane.reading.session_id, entry_id=entry_id, initiator=pane
        )
        count = max(done.added, 1)
        said = plural(count, "{n} line saved to memory", "{n} lines saved to memory")
        show = Act(tr("Show"), lambda: pane.go.emit(Target("memory")))
        undo = Act(tr("Undo"), lambda: pane.tasks.latest("undo", self._undo_memory()), key="Ctrl+Z")
        pane.bar.show_act(f"{said}: {preview(fact, 60)}", (show, undo))

    async def undo_saved(self) -> None:
        """Take a saved fact back, when nothing has changed the memory since."""
        pane = self.pane
        newest = await pane.desk.engine.ask.versions(1)
        if newest and newest[0].cause == "saved":
            await self._undo_memory()
            return
        show = Act(tr("Show"), lambda: pane.go.emit(Target("memory")))
        said = tr("The memory has changed since; take the line out in Memory")
        pane.bar.show_act(said, (show,), tone="info")

    async def _undo_memory(self) -> None:
        pane = self.pane
        done = await pane.desk.engine.do.undo(initiator=pane)
        show = Act(tr("Show"), lambda: pane.go.emit(Target("memory")))
        pane.bar.show_act(tr("Undone: version {n} written", n=done.version), (show,))

    def copy_answer(self) -> None:
        answers = [i for i in self.pane.items if i.kind == "assistant" and i.text.strip()]
        if answers:
            QGuiApplication.clipboard().setText(answers[-1].text)
            self.pane.bar.show_act(tr("The last answer is copied"))

    def copy_all(self) -> None:
        QGuiApplication.clipboard().setText(as_text(self.pane.items))
        self.pane.bar.show_act(tr("What is loaded of this session is copied"))

    # ------------------------------------------------------------------ catalogue

    def actions(self) -> list[Action]:
        """The pane's part of the action catalogue."""
        pane = self.pane

        def talk() -> str:
            return "" if pane.items else tr("This session is empty.")

        def idle() -> str:
            if pane.talk.busy(pane.session_id):
                return tr("A reply is being made; stop it or wait.")
            return talk()

        def covers() -> str:
            seen = pane.panel.isVisible()  # else what it last said may be long ago
            return idle() or (pane.panel.nothing if seen else "")

        def selected() -> str:
            return "" if self.selection()[0] else tr("Select some text of the transcript first.")

        def running() -> str:
            busy = pane.talk.busy(pane.session_id)
            return "" if busy else tr("No reply is being made.")

        def asked() -> str:
            return "" if pane.talk.asks() else tr("No tool call waits for your word.")

        def one(name: str, title: str, sign: str, run: Callable[[], object], key: str = "",
                off: Callable[[], str] = talk, menu: str = "Session") -> Action:  # fmt: skip
            return Action(
                f"chat.{name}", title, sign, run, key=key, when="pane:chat", menu=menu, off=off
            )

        return [
            one("stop", tr("Stop the reply"), "circle-stop", pane.stop, "Ctrl+.", running),
            one("allow", tr("Allow the tool call that waits"), "check",
                lambda: pane.talk.answer_first(True), "Ctrl+Alt+A", asked),
            one("refuse", tr("Refuse the tool call that waits"), "x",
                lambda: pane.talk.answer_first(False), "Ctrl+Alt+N", asked),
            one("rename", tr("Rename this session"), "pencil", self.rename, "F2"),
            one("timeline", tr("Show this session on the timeline"), "chart-gantt",
                pane.show_timeline, "Ctrl+T"),
            one("compact", tr("Compact now"), "fold-vertical", self.compact, "Ctrl+Shift+K",
                covers),
            one("compact.preview", tr("Preview the next compaction"), "eye", self.preview,
                "Ctrl+Alt+K"),
            one("flush", tr("Flush now: facts to today's log"), "arrow-down-to-line", self.flush,
                "Ctrl+Shift+L"),
            one("remember", tr("Remember the selected text"), "bookmark-plus", self.remember,
                "Ctrl+M", selected, "Memory"),
            one("copy", tr("Copy the last answer"), "copy", self.copy_answer, "Ctrl+Shift+C"),
            one("copy.all", tr("Copy the conversation"), "copy", self.copy_all, "Ctrl+Alt+C"),
            one("earlier", tr("Earlier messages"), "arrow-up", pane.view.show_earlier,
                "Ctrl+Home"),
            one("newest", tr("Newest message"), "arrow-down", pane.view.show_newest, "Ctrl+End"),
            one("trash", tr("Move this session to the trash"), "trash", self.trash,
                "Ctrl+Shift+Del"),
            one("steps", tr("First steps"), "footprints",
                lambda: pane.tasks.latest("guide", pane.guide.show()), "Ctrl+Alt+F",
                lambda: "", "Help"),
        ]  # fmt: skip

    def show_menu(self, under: QWidget) -> None:
        """The acts behind "more"."""
        menu = QMenu(self.pane)
        menu.setAccessibleName(tr("Session"))
        menu.setToolTipsVisible(True)
        menu.aboutToHide.connect(menu.deleteLater)
        for action in self.actions():
            if action.menu not in ("Session", "Memory"):
                continue
            entry = menu.addAction(icon(action.icon), action.title)
            if action.key:
                entry.setText(f"{action.title}\t{action.key}")
            reason = action.off()
            entry.setEnabled(not reason)
            entry.setToolTip(reason)
            entry.triggered.connect(lambda _=False, a=action: self.pane.run(a))
        menu.popup(under.mapToGlobal(QPoint(0, under.height() + 2)))


def _compacted(report: CompactionReport) -> str:
    covered = plural(report.covered, "{n} message summarised", "{n} messages summarised")
    return tr(
        "{covered}: {a} to {b} tokens",
        covered=covered, a=compact(report.before), b=compact(report.after),
    )  # fmt: skip


def _item_id(row: Row) -> str:
    return row.piece.item.id if row.piece.kind not in ("live", "waiting", "broken") else ""
