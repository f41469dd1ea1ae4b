"""Timeline: the list of sessions beside one session's page.

The pane owns what goes on (tasks, events, targets); what is shown lives in its parts.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QMenu, QStackedWidget, QVBoxLayout, QWidget

from app.engine.errors import SessionNotFound
from app.engine.events import Changed, TurnEvent
from app.engine.records import SessionInfo
from app.gui.look.icons import icon
from app.gui.look.text import tr
from app.gui.panes.timeline.blocks import Block
from app.gui.panes.timeline.catalogue import timeline_actions
from app.gui.panes.timeline.deeds import Deeds
from app.gui.panes.timeline.page import SessionPage
from app.gui.panes.timeline.parts import LIST_WIDTH, SessionSide
from app.gui.panes.timeline.sessions import session_rows
from app.gui.widgets.action import Action
from app.gui.widgets.buttons import IconButton
from app.gui.widgets.pane import Desk, Pane, Target
from app.gui.widgets.rings import Loading
from app.gui.widgets.rows import Row
from app.gui.widgets.surfaces import EmptyState, Splitter

NARROW = 900  # px of pane below which the list folds
SOON = 100  # ms in which changes are gathered


class TimelinePane(Pane):
    """Sessions, and one of them in order."""

    place, title = "timeline", "Timeline"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.sessions: list[SessionInfo] = []
        self.running: set[str] = set()
        self._loaded = False
        self._listing = False  # what is chosen now is nobody's wish
        self._list_open = False
        self.side = SessionSide()
        self.page = SessionPage(self)
        self.deeds = Deeds(self)
        self.empty = EmptyState(
            tr("No sessions yet"),
            tr("Each conversation is kept here, in order, with what became of it."),
            tr("Start a session"), icon="message-square-plus",
            run=lambda: self.go.emit(Target("chat", section="new")),
        )  # fmt: skip
        self._lay_out()
        self.side.list.chosen.connect(self.on_session)
        self.side.list.opened.connect(lambda _: self.continue_in_chat())
        self.side.list.menu_wanted.connect(lambda row, at: self._menu(at))
        self.side.filter.textChanged.connect(lambda _: self._show_rows())
        self.page.sheet.menu_wanted.connect(self._sheet_menu)
        self.page.go_on.clicked.connect(self.continue_in_chat)
        self.page.more.clicked.connect(self._more)
        self._soon = QTimer(self, singleShot=True, interval=SOON)
        self._soon.timeout.connect(lambda: self.tasks.latest("again", self.look_again()))
        desk.signals.changed.connect(self.on_changed)
        desk.signals.turn.connect(self.on_turn)

    def _lay_out(self) -> None:
        self.head.hide()
        self.fold = IconButton("panel-left", tr("Show or hide the sessions"), key="L")
        self.fold.clicked.connect(self.toggle_list)
        self.page.head.lead(self.fold)
        right = QWidget()
        box = QVBoxLayout(right)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        self.stack = QStackedWidget()
        self.loading = Loading(tr("Reading the log"), rows=6)
        for widget in (self.loading, self.page, self.empty):
            self.stack.addWidget(widget)
        box.addWidget(self.notices)
        box.addWidget(self.stack, 1)
        self.splitter = Splitter(Qt.Orientation.Horizontal)
        self.splitter.addWidget(self.side)
        self.splitter.addWidget(right)
        self.splitter.setStretchFactor(1, 1)
        kept = self.desk.kept.get("timeline.list")
        wide = kept if isinstance(kept, int) and 200 <= kept <= 420 else LIST_WIDTH
        self.splitter.setSizes([wide, 800])
        self.splitter.splitterMoved.connect(
            lambda at, _: self.desk.kept.__setitem__("timeline.list", at)
        )
        self.body.addWidget(self.splitter, 1)

    # ------------------------------------------------------------------ the contract

    def actions(self) -> list[Action]:
        return timeline_actions(self)

    def focus_parts(self) -> list[QWidget]:
        return [self.page.sheet, self.side.list, self.side.filter, self.page.axis]

    def find(self) -> bool:
        if self.page.session is None:
            return False
        self.page.finder.open()
        return True

    async def refresh(self) -> None:
        await self.look_again()

    async def open(self, target: Target) -> None:
        """A session, perhaps at one of its entries, perhaps with words to find."""
        for name in ("page", "jump", "further"):  # where one was going before
            self.tasks.cancel(name)
        await self._load_list()
        session = self._known(target.session_id)
        if session is None:
            raise SessionNotFound(tr("That session is not in this workspace any more."))
        self.side.filter.clear()
        self._show_rows()
        self.tasks.cancel("session")  # an older click, or the neighbour of a row that went
        self.side.list.select(session.id, quiet=True)
        if self.page.session is None or self.page.session.id != session.id:
            found = await self._load(session, target.entry_id)
        elif target.entry_id:
            found = await self.page.show_entry(target.entry_id)
        else:
            found = True
        if not found:
            self.notice(
                tr("That entry is not in this session"), tr("The session is shown from its end."),
                key="entry",
            )  # fmt: skip
        else:
            self.notices.drop("entry")
        if target.find:
            self.page.finder.open(target.find)
        self.page.sheet.setFocus()

    # ------------------------------------------------------------------ loading

    def _known(self, session_id: str) -> SessionInfo | None:
        return next((s for s in self.sessions if s.id == session_id), None)

    async def _load_list(self) -> None:
        self.sessions = await self.desk.engine.ask.sessions()
        self._loaded = True
        self._show_rows()

    async def look_again(self, want: str = "") -> None:
        """The list, and what is shown of it; `want` chooses a session."""
        await self._load_list()
        if not want and self.tasks.running("session"):
            return  # a click, or the neighbour of a row that went, is on its way
        shown = self.page.session
        session = self._known(want or (shown.id if shown else "")) or (
            self.sessions[0] if self.sessions else None
        )
        if session is None:
            self.page.session = None
            self.stack.setCurrentWidget(self.empty)
            return
        self.side.list.select(session.id, quiet=True)
        if shown is None or shown.id != session.id or self.page.reading is None:
            if not self.tasks.running("open") or want:
                await self._load(session)
            return
        self.page.set_session(session)
        await self.page.look_again()

    async def _load(self, session: SessionInfo, entry_id: str = "") -> bool:
        found = await self.page.load(session, entry_id=entry_id)
        if self.page.session is not None and self.page.session.id == session.id:
            self.side.list.select(session.id, quiet=True)  # a refresh chose the one before
            self.stack.setCurrentWidget(self.page)
            self.showing.emit(session.id)
        return found

    def _show_rows(self) -> None:
        rows = session_rows(
            self.sessions, now=self.desk.now(), wanted=self.side.filter.text(),
            running=frozenset(self.running),
        )  # fmt: skip
        shown = self.page.session
        self._listing = True
        self.side.list.set_rows(rows)
        self._listing = False
        if shown is not None and not self.tasks.running("session"):
            self.side.list.select(shown.id, quiet=True)
        self.side.none.setVisible(bool(self.sessions) and not rows)

    # ------------------------------------------------------------------ what happens

    def on_session(self, row: Row) -> None:
        if not self._listing:
            self.tasks.cancel("open")
        session = row.data
        if isinstance(session, SessionInfo) and (
            self.page.session is None or self.page.session.id != session.id
        ):
            self.tasks.latest("session", self._load_one(session))

    async def _load_one(self, session: SessionInfo) -> None:
        await self._load(session)

    def on_changed(self, event: Changed) -> None:
        if not self.shown or not event.kinds & {"sessions", "transcript"}:
            return
        self._soon.start()

    def on_turn(self, event: TurnEvent) -> None:
        if event.kind == "started":
            self.running.add(event.session_id)
        elif event.kind in ("finished", "stopped", "failed"):
            self.running.discard(event.session_id)
        else:
            return
        if self.shown:
            self._show_rows()
            self._soon.start()

    def on_act(self, block: Block, act: str) -> None:
        """A link, a button or a fold of the transcript."""
        item = block.item
        session_id = self.page.session.id if self.page.session else ""
        if act == "toggle":
            self.page.toggle(block)
        elif act == "fold":
            self.page.toggle_fold(block)
        elif act in ("older", "newer"):
            self.tasks.latest("page", self.page.load_more(-1 if act == "older" else 1))
        elif act.startswith("read:"):
            self.tasks.latest("read", self.deeds.read(session_id, block, int(act[5:])))
        elif item is not None:
            self.follow(block)

    def follow(self, block: Block | None = None) -> None:
        """To what came of an entry: the day, the proposal, the text that was put aside."""
        block = block or self.page.sheet.current()
        item = block.item if block is not None else None
        if item is None or not item.target:
            return
        if item.kind == "flush":
            self.go.emit(Target("daily", path=item.target, section=str(item.detail.get("run", ""))))
        elif item.kind == "consolidation":
            self.go.emit(Target("memory", proposal=item.target))
        elif item.kind == "fork":
            self.go.emit(Target("timeline", session_id=item.target))
        else:
            self.go.emit(Target("evicted", path=item.target, entry_id=item.id))

    def follow_parent(self) -> None:
        """To the session this one was forked from."""
        session = self.page.session
        if session is not None and session.parent:
            self.go.emit(Target("timeline", session_id=session.parent))

    def continue_in_chat(self) -> None:
        if self.page.session is not None:
            self.go.emit(Target("chat", session_id=self.page.session.id))

    # ------------------------------------------------------------------ small windows, menus, keys

    def toggle_list(self) -> None:
        self._list_open = not self.side.isVisibleTo(self)
        self.side.setVisible(self._list_open)
        if self._list_open:
            self.side.list.setFocus()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.width() < NARROW
        if narrow == (event.oldSize().width() < NARROW) and event.oldSize().width() > 0:
            return
        self.fold.setVisible(narrow)
        self.side.setVisible(not narrow or self._list_open)

    def escape(self) -> None:
        """Esc: the find bar, then the range, then the list that lies open."""
        if self.page.find_bar.isVisibleTo(self):
            self.page.finder.close()
        elif self.page.axis.range is not None:
            self.page.axis.clear_range()
        elif self.width() < NARROW and self.side.isVisibleTo(self):
            self.toggle_list()
        else:
            self.page.sheet.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.page.sheet.hasFocus():
            self.continue_in_chat()
            return
        super().keyPressEvent(event)

    def _more(self) -> None:
        at = self.page.more.mapToGlobal(QPoint(0, self.page.more.height() + 2))
        self._menu(at)

    def _menu(self, at: QPoint) -> None:
        self._popup(at, ("continue", "rename", "export", "order", "trash"))

    def _sheet_menu(self, block: object, at: QPoint) -> None:
        self._popup(at, ("copy", "remember", "children", "continue"))

    def _popup(self, at: QPoint, names: tuple[str, ...]) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        known = {action.name: action for action in self.actions()}
        for name in names:
            action = known[f"timeline.{name}"]
            entry = menu.addAction(icon(action.icon), f"{action.title}\t{action.key}")
            entry.setEnabled(not action.off())
            entry.triggered.connect(action.run)
        menu.popup(at)
