"""The window: sidebar, places, inspector, status line, and how one gets from one to another.

It knows panes only by their contract (`widgets/pane.py`); `startup` passes what makes them. It can
be shown before the engine is open: `start()` begins looking. It never waits. What the first paint
does not show (palette, menu, dialogs, engine records) is imported at its first use.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QVBoxLayout, QWidget

from app.engine.errors import UserError
from app.gui.bridge import Tasks
from app.gui.look.text import preview, tr
from app.gui.look.theme import token
from app.gui.widgets.action import Action
from app.gui.widgets.notices import Act, Notices, UndoBar
from app.gui.widgets.paint import smooth
from app.gui.widgets.pane import Desk, Pane, Target
from app.gui.window.actions import Catalogue, frame_actions, is_work, place_title
from app.gui.window.appearance import Appearance
from app.gui.window.history import Places
from app.gui.window.keeping import Keeping
from app.gui.window.layout_state import LayoutState, load
from app.gui.window.parts import selected_text, walk
from app.gui.window.pulse import Pulse
from app.gui.window.sidebar import Sidebar
from app.gui.window.stage import OVER_BELOW, Stage
from app.gui.window.status_line import StatusLine

if TYPE_CHECKING:
    from app.engine.records import SessionInfo, Status

log = logging.getLogger(__name__)

RAIL_BELOW = 1000
LEAST = (720, 520)

Factories = Mapping[str, Callable[[Desk], Pane]]


class MainWindow(QWidget):
    """The frame. `workspace_wanted(path)` ("" to choose), `demo_reset_wanted()`, `closing()`."""

    workspace_wanted = Signal(str)
    demo_reset_wanted = Signal()
    closing = Signal()

    def __init__(self, desk: Desk, factories: Factories, state_file: Path) -> None:
        super().__init__()
        self.desk = desk
        self.state: LayoutState = load(state_file)
        self._factories = factories
        self._panes: dict[str, Pane] = {}
        self._place = ""
        self._first: Target | None = None  # asked for before the engine was open
        self._session = self.state.session_id
        self._sessions: list[SessionInfo] = []
        self.workspaces: Sequence[tuple[str, str]] = ()
        self._rail_wish = not self.state.sidebar
        self.is_demo = False
        self.tasks = Tasks(self._on_task_failed)
        self.places = Places()
        self._keeping = Keeping(desk, self.state, state_file, self)
        self.appearance = Appearance(self.state)
        self._build()
        self.catalogue = Catalogue(self, self.run_action, lambda: self._place)
        self.catalogue.add(frame_actions(self))
        self.pulse = Pulse(desk, self._on_task_failed, self)
        self.pulse.sessions.connect(self._on_sessions)
        self.pulse.status.connect(self._on_status)
        self.pulse.running.connect(self.sidebar.set_running)
        self.setMinimumSize(*LEAST)
        self.resize(max(self.state.width, LEAST[0]), max(self.state.height, LEAST[1]))
        self.setWindowTitle("Palimpsest")

    def _build(self) -> None:
        self.sidebar = Sidebar()
        self.stage = Stage(self.state.inspector_width)
        self.stage.set_wish(self.state.inspector)
        self.notices = Notices(top=8)
        self.status = StatusLine()
        upper = QHBoxLayout()
        upper.setSpacing(0)
        middle = QVBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(self.notices)
        middle.addWidget(self.stage, 1)
        upper.addWidget(self.sidebar)
        upper.addLayout(middle, 1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addLayout(upper, 1)
        whole.addWidget(self.status)
        self.undo_bar = UndoBar(self.stage)
        self.sidebar.place_wanted.connect(lambda place: self.show_target(Target(place)))
        self.sidebar.session_wanted.connect(self.open_session)
        self.sidebar.new_wanted.connect(self.new_session)
        self.sidebar.menu_wanted.connect(self.show_menu)
        self.status.go_wanted.connect(lambda place: self.show_target(Target(place)))
        self.stage.inspector_seen.connect(self._on_inspector_seen)
        self.sidebar.set_place("chat")

    # ------------------------------------------------------------------ start, end

    def start(self, target: Target | None = None) -> None:
        """The engine is open: look at it, and show `target` (default: where one was)."""
        self.pulse.start()
        target = target or self._first
        if target is None:
            place = self.state.place if self.state.place in self._factories else "chat"
            target = Target(place, session_id=self._session if place == "chat" else "")
        self.show_target(target)

    async def end(self) -> None:
        """Stop everything that the window and its panes run; before the engine is closed."""
        from asyncio import gather

        self.desk.signals.stop()
        owners = [*(pane.tasks for pane in self._panes.values()), self.pulse.tasks, self.tasks]
        await gather(*(owner.end() for owner in owners))

    def set_workspace(
        self, name: str, path: str, recent: Sequence[tuple[str, str]] = (), *, demo: bool = False
    ) -> None:
        """Name the workspace; `recent` are (name, path) of others for the menu."""
        home = str(Path.home())
        shown = "~" + path[len(home) :] if path.startswith(home) and len(home) > 1 else path
        self.sidebar.head.set_workspace(name, tr("demo, a copy") if demo else shown)
        self.workspaces = recent
        self.is_demo = demo
        self.setWindowTitle(f"{preview(name, 60)}, Palimpsest")

    def keep(self) -> None:
        """Write what the next window begins with."""
        state = self.state
        if not self.isMaximized() and not self.isFullScreen():
            state.width, state.height = self.width(), self.height()
        state.maximized = self.isMaximized()
        state.place = self._place or state.place
        state.session_id = self._session
        state.sidebar = not self._rail_wish
        state.inspector = self.stage.wish()
        state.inspector_width = self.stage.inspector_width()
        self._keeping.all()

    def closeEvent(self, event: QCloseEvent) -> None:
        self.keep()
        event.accept()
        self.closing.emit()

    def say(self, cause: str, remedy: str = "", *, acts: tuple[Act, ...] = ()) -> None:
        """A notice above all places: for what is wrong with the workspace itself."""
        self.notices.show_notice(cause, remedy, tone="lost", acts=acts)

    # ------------------------------------------------------------------ places

    def place(self) -> str:
        """The place in front; "" before the first."""
        return self._place

    def pane(self, place: str) -> Pane | None:
        """The pane of a place, made at its first use; None when there is none."""
        if place not in self._panes and place in self._factories:
            try:
                self._adopt(place, self._factories[place](self.desk))
            except Exception as error:  # a broken place must not take the window with it
                self.desk.report(error)
        return self._panes.get(place)

    def _adopt(self, place: str, pane: Pane) -> None:
        self._panes[place] = pane
        self.stage.stack.addWidget(pane)
        pane.go.connect(self.show_target)
        pane.showing.connect(self._on_showing)
        pane.measured.connect(self.status.show_tokens)
        pane.inspector_toggled.connect(lambda: self._on_inspector_toggled(pane))
        pane.inspector_changed.connect(lambda: self._on_inspector_changed(pane))
        self.catalogue.add(pane.actions())

    def show_target(self, target: Target) -> None:
        """Bring a place to the front and let it show what `target` names.

        Before the engine is open it is only noted, and shown as soon as that is so.
        """
        if self.desk.engine is None:
            self._first = target
            self.sidebar.set_place(target.place)
            return
        self.places.visit(target)
        self._show(target)

    def _show(self, target: Target) -> None:
        pane = self.pane(target.place)
        if pane is None:
            return
        front = self._panes.get(self._place)
        if front is not pane:
            if front is not None:
                front.deactivate()
            self._place = target.place
            self.stage.stack.setCurrentWidget(pane)
            self.sidebar.set_place(target.place)
            self.stage.set_inspector(pane.inspector())
            self.catalogue.settle()
            self.undo_bar.close_bar()
            pane.activate()
            pane.on_inspector(self.stage.inspector_visible())
            self._focus_first(pane)
        if target != Target(target.place):
            pane.prepare(target)
            pane.tasks.latest("open", self._open(pane, target))

    async def _open(self, pane: Pane, target: Target) -> None:
        try:
            await pane.open(target)
        except UserError as error:
            pane.fail(error)

    def _focus_first(self, pane: Pane) -> None:
        parts = [w for w in pane.focus_parts() if w.isVisibleTo(pane) and w.isEnabled()]
        (parts[0] if parts else pane).setFocus()

    def back(self) -> None:
        if (target := self.places.step(-1)) is not None:
            self._show(target)

    def forward(self) -> None:
        if (target := self.places.step(1)) is not None:
            self._show(target)

    def open_session(self, session_id: str) -> None:
        self.show_target(Target("chat", session_id=session_id))

    def new_session(self) -> None:
        self.show_target(Target("chat", section="new"))

    def find_here(self) -> None:
        pane = self._panes.get(self._place)
        if pane is None or not pane.find():
            self.find_everywhere()

    def find_everywhere(self) -> None:
        self.show_target(Target("search", find=selected_text(), section="field"))

    def next_part(self) -> None:
        self._part(1)

    def previous_part(self) -> None:
        self._part(-1)

    def _part(self, by: int) -> None:
        """F6: sidebar, parts of the pane, inspector, status line."""
        pane = self._panes.get(self._place)
        parts: list[QWidget] = [self.sidebar]
        parts += pane.focus_parts() if pane is not None else []
        if self.stage.inspector_visible():
            parts.append(self.stage.bed)
        walk([*parts, self.status], by)

    # ------------------------------------------------------------------ actions

    def run_action(self, action: Action) -> None:
        """Run an action now, or say why not; its coroutine is owned by the window."""
        if action.place and action.place != self._place:
            return
        reason = action.off()
        if reason:
            self._tell(reason, tone="info")
            return
        self._note_used(action.name)
        self._run(action.run)

    def _run(self, run: Callable[[], object]) -> None:
        result = run()
        if is_work(result):
            work: Coroutine[Any, Any, Any] = result  # type: ignore[assignment]
            self.tasks.start("action", work)

    def _note_used(self, name: str) -> None:
        if name != "palette":
            used = [name, *(n for n in self.state.used if n != name)]
            self.state.used = used[:20]

    def show_palette(self) -> None:
        from app.gui.window.palette import Entry, Palette, session_entries

        entries = [
            Entry(
                action.name, action.title, action.icon, lambda a=action: self.run_action(a),
                place_title(action.place) if action.place else "", action.key, action.off(),
            )
            for action in self.catalogue.valid()
            if action.name != "palette"
        ]  # fmt: skip
        titles = [(info.id, info.title) for info in self._sessions]
        sessions = session_entries(titles, self.open_session)
        Palette(self, entries, sessions, self.state.used, lambda e: self._run(e.run)).start()

    def show_keys(self) -> None:
        from app.gui.window.keys_sheet import KeysSheet

        place = place_title(self._place) if self._place else ""
        pane = self._panes.get(self._place)
        KeysSheet(self, place, self.catalogue.valid(), pane.syntax() if pane else ()).start()

    def show_menu(self) -> None:
        from app.gui.window.menus import build_menu

        menu: QMenu = build_menu(self, self.catalogue)
        head = self.sidebar.head
        menu.popup(head.mapToGlobal(QPoint(0, head.height() + 2)))

    async def undo_memory(self) -> None:
        """Take the newest version of MEMORY.md back."""
        if self.desk.engine is None:
            self._tell(tr("The workspace is not open yet."), tone="info")
            return
        done = await self.desk.engine.do.undo(initiator=self)
        show = Act(tr("Show"), lambda: self.show_target(Target("memory")))
        self._tell(tr("Undone: version {n} written", n=done.version), (show,))

    def _tell(self, text: str, acts: tuple[Act, ...] = (), *, tone: str = "ok") -> None:
        """In the bar at the lower edge, as high as the pane's own stands."""
        pane = self._panes.get(self._place)
        own = pane.findChild(UndoBar) if pane else None
        self.undo_bar.set_lift(own.below(self.stage) if own else 0)
        self.undo_bar.show_act(text, acts, tone=tone)

    # ------------------------------------------------------------------ look

    def toggle_inspector(self) -> None:
        self.stage.toggle()

    def toggle_sidebar(self) -> None:
        self._rail_wish = not self.sidebar.is_rail()
        self._fold()

    def _fold(self) -> None:
        self.sidebar.set_rail(self.width() < RAIL_BELOW or self._rail_wish)
        self.stage.set_narrow(self.width() < OVER_BELOW)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fold()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        painter.fillRect(self.rect(), token("canvas"))
        painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.stage.close_over():
            return
        super().keyPressEvent(event)

    def _on_inspector_seen(self, seen: bool) -> None:
        pane = self._panes.get(self._place)
        if pane is not None:
            pane.on_inspector(seen)

    def _on_inspector_toggled(self, pane: Pane) -> None:
        if pane is self._panes.get(self._place):  # a pane that was left may ask late
            self.toggle_inspector()

    def _on_inspector_changed(self, pane: Pane) -> None:
        if pane is self._panes.get(self._place):
            self.stage.set_inspector(pane.inspector())

    # ------------------------------------------------------------------ what the engine says

    def _on_sessions(self, sessions: list[SessionInfo]) -> None:
        self._sessions = sessions
        self.sidebar.set_sessions(sessions)

    def _on_status(self, status: Status) -> None:
        self.status.show_status(status)
        self.sidebar.set_badge("memory", status.reviews)

    def _on_showing(self, session_id: str) -> None:
        self._session = session_id
        self.sidebar.set_session(session_id)

    # ------------------------------------------------------------------ failures

    def _on_task_failed(self, name: str, error: BaseException) -> None:
        pane = self._panes.get(self._place)
        if isinstance(error, UserError) and pane is not None:
            pane.fail(error)
        else:
            self.desk.report(error)

    def raise_window(self) -> None:
        """Come to the front: somebody started the program again."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()
