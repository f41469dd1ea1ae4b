"""The contract between a place on screen and the window around it.

A pane knows the engine's facade (through its `Desk`), the kit and nothing else: to show another
place it emits `go(Target)`; to tell people something it calls `self.notices`. The window creates a
pane at its first showing, calls `activate` and `deactivate` as it comes and goes, and `open` when
somebody wants a certain thing shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.engine.errors import UserError
from app.gui.bridge import EngineSignals, Tasks
from app.gui.look.theme import Theme, theme
from app.gui.widgets.action import Action
from app.gui.widgets.labels import T
from app.gui.widgets.notices import Act, Notices

if TYPE_CHECKING:
    from app.gui.bridge.person import PersonalSettings

DAY_LOOK = 20_000  # ms between two looks at the clock, for the turn of the day
PLACES = ("chat", "timeline", "daily", "memory", "search", "evicted", "activity", "settings")


@dataclass(frozen=True)
class Target:
    """A thing to show. Only `place` is needed; "" and 0 mean "not said".

    `session_id`, `entry_id`: a session and one item of it. `path`, `line`: a file of the workspace
    and a 1-based line. `version`: the number of a version of MEMORY.md. `proposal`: a review.
    `find`: text to find in the page. `section`: a part of the pane (a section of the settings).
    """

    place: str
    session_id: str = ""
    entry_id: str = ""
    path: str = ""
    line: int = 0
    proposal: str = ""
    find: str = ""
    section: str = ""
    version: int = 0


def _now() -> datetime:
    return datetime.now().astimezone()


@dataclass
class Desk:
    """What every pane is given.

    `engine` has `ask` and `do`; `signals` are its events; `report(error)` tells of a bug. `now` is
    the clock. `person` are the person's own settings (None where there are none). `kept` holds
    what a pane wants to find again at the next start (plain JSON values under "<place>.<name>":
    splitter sizes, a chosen tab); the window stores it at its end, `keep()` soon. `workspace` is
    the path of the folder.
    """

    engine: Any
    signals: EngineSignals
    report: Callable[[BaseException], None]
    now: Callable[[], datetime] = _now
    kept: dict[str, Any] = field(default_factory=dict)
    theme: Theme = field(default_factory=theme)
    person: PersonalSettings | None = None
    workspace: str = ""
    keep: Callable[[], None] = lambda: None


class Pane(QWidget):
    """Base of all places.

    Subclasses set `place` and `title`, build their widgets into `self.body` in `__init__`, and
    override what they need of `actions`, `open`, `refresh`, `activate`, `deactivate`, `inspector`.
    """

    go = Signal(object)  # Target
    inspector_changed = Signal()  # ask for `inspector()` again
    inspector_toggled = Signal()  # show or hide it (also Ctrl+I)
    measured = Signal(int, int)  # tokens of the next request, window: for the status line
    showing = Signal(str)  # the session now shown, for the sidebar
    place = ""
    title = ""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.desk = desk
        self.tasks = Tasks(self.on_task_failed)
        self.destroyed.connect(self.tasks.abandon)
        self.shown = False
        self._day = desk.now().astimezone().date()
        self._day_clock = QTimer(self, interval=DAY_LOOK)
        self._day_clock.timeout.connect(self._look_at_day)
        self.head = PaneHead(self.title)
        self.notices = Notices()
        self.body = QVBoxLayout()
        self.body.setContentsMargins(0, 0, 0, 0)
        self.body.setSpacing(0)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self.head)
        whole.addWidget(self.notices)
        whole.addLayout(self.body, 1)

    # ------------------------------------------------------------------ what a pane may override

    def actions(self) -> list[Action]:  # type: ignore[override]
        """What can be done here; each with `when=f"pane:{place}"`."""
        return []

    def prepare(self, target: Target) -> None:
        """What of `open` waits for nothing: done at once, so that the next key meets it."""

    async def open(self, target: Target) -> None:
        """Show what `target` names. Raises `UserError` when it is no longer there."""

    async def refresh(self) -> None:
        """Look again at everything shown; started at each activation."""

    def on_new_day(self) -> None:
        """Midnight passed since days were named here: "Today" is "Yesterday" now.

        Called at the minute while in front, else before the refresh of the next activation.
        """

    def activate(self) -> None:
        """The pane comes to the front."""
        self.shown = True
        self._day_clock.start()
        if not self._look_at_day():
            self.tasks.latest("refresh", self.refresh())

    def deactivate(self) -> None:
        """The pane goes to the back; its tasks go on unless it ends them."""
        self.shown = False
        self._day_clock.stop()

    def _look_at_day(self) -> bool:
        """Whether midnight has passed; then the days on screen are named anew."""
        day = self.desk.now().astimezone().date()
        if day == self._day or self.desk.engine is None:
            return False
        self._day = day
        self.on_new_day()
        self.tasks.latest("refresh", self.refresh())
        return True

    def inspector(self) -> QWidget | None:
        """A side panel for the window's right edge while this pane is shown; None for none."""
        return None

    def on_inspector(self, shown: bool) -> None:
        """The window showed or folded the inspector; a head button may want to know."""

    def focus_parts(self) -> list[QWidget]:
        """Widgets that F6 walks through, in order."""
        return []

    def syntax(self) -> list[tuple[str, str]]:
        """What can be typed here besides plain words, and what it means: F1 lists it."""
        return []

    def find(self) -> bool:
        """Open find-in-page (Ctrl+F). False when this pane has none."""
        return False

    # ------------------------------------------------------------------ what a pane may call

    def notice(
        self,
        cause: str,
        text: str = "",
        *,
        tone: str = "warn",
        acts: tuple[Act, ...] = (),
        key: str = "",
    ) -> None:
        """A notice under the head: bold cause, what was kept. One per `key` (default: cause)."""
        self.notices.show_notice(cause, text, tone=tone, acts=acts, key=key)

    def fail(self, error: BaseException, *, acts: tuple[Act, ...] = ()) -> None:
        """Tell of an error: a notice for a `UserError`, the bug dialog for anything else."""
        if isinstance(error, UserError):
            self.notice(str(error), error.remedy, tone="lost", acts=acts, key=type(error).__name__)
        else:
            self.desk.report(error)

    def on_task_failed(self, name: str, error: BaseException) -> None:
        self.fail(error)

    def ask_link(self, url: str) -> None:
        """Show where a link leads, open it when told so. Connect `link_clicked` to this."""
        from app.gui.widgets.dialogs import open_link

        self.tasks.latest("link", open_link(self.window(), url))


class PaneHead(QWidget):
    """52 px: title, details beside it in faint ink, acts at the right (`add`)."""

    def __init__(self, title: str = "", margin: int = 24, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = T(title, "title", elide="right")
        self.details = T("", "small", "text_faint", elide="right")
        self.acts = QHBoxLayout()
        self.acts.setSpacing(4)
        row = QHBoxLayout(self)
        row.setContentsMargins(margin, 0, 16, 0)
        row.setSpacing(0)
        row.addWidget(self.title)
        row.addSpacing(11)
        row.addWidget(self.details, 1)
        row.addSpacing(8)
        row.addLayout(self.acts)
        self.setMinimumHeight(52)
        self._margin = margin
        self._line = False

    def set_title(self, title: str, details: str = "") -> None:
        self.title.setText(title)
        self.details.setText(details)

    def add(self, *widgets: QWidget) -> None:
        """Put acts at the right, in this order."""
        for widget in widgets:
            self.acts.addWidget(widget)

    def lead(self, widget: QWidget) -> None:
        """Put the way back, or to a folded list, before the title."""
        cast("QHBoxLayout", self.layout()).insertWidget(0, widget)

    def set_line(self, on: bool) -> None:
        """A hairline under the head while content scrolls beneath it."""
        if on != self._line:
            self._line = on
            self.update()

    def follow(self, area: QObject) -> None:
        """Draw the hairline while `area` (a scroll area) is scrolled down."""
        bar = area.verticalScrollBar()  # type: ignore[attr-defined]
        bar.valueChanged.connect(self._on_scrolled)

    def _on_scrolled(self, value: int) -> None:
        self.set_line(value > 0)

    def event(self, event: QEvent) -> bool:
        layout = self.layout()
        if event.type() == QEvent.Type.Resize and layout is not None:
            narrow = self.window().width() < 1000
            left = min(self._margin, 16) if narrow else self._margin
            layout.setContentsMargins(left, 0, 12 if narrow else 16, 0)
        return super().event(event)

    def paintEvent(self, event: object) -> None:
        from app.gui.widgets.paint import hairline_below

        if self._line:
            hairline_below(self)
