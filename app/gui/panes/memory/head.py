"""The acts in the head of the memory place: which of them stand there depends on what is shown."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.gui.look.text import plural, thousands, tr
from app.gui.panes.memory.deciding import Deciding
from app.gui.widgets.buttons import Button, IconButton, SegmentSwitch
from app.gui.widgets.labels import T
from app.gui.widgets.meter import Share
from app.gui.widgets.pane import PaneHead

# mode: the acts that stand in the head
STANDING = {
    "file": ("share", "budget", "origins", "edit", "queue", "primary"),
    "version": ("close",),
    "compare": ("close",),
    "edit": ("cancel", "save"),
    "review": ("back", "decided", "half", "reject_all", "apply"),
    "columns": ("back", "decided", "reject_all", "apply"),
    "closed": ("half", "close"),
    "lists": ("close",),
}


class Acts:
    """The widgets of the head, each made once."""

    def __init__(self, head: PaneHead) -> None:
        self.share = Share(tr("Budget"), 72)
        self.budget = T("", "small", "text_soft", tabular=True)
        self.origins = Button(tr("Origins"), "quiet", icon="rotate-ccw-clock", key="B")
        self.origins.setCheckable(True)
        self.edit = Button(tr("Edit"), "quiet", icon="pencil", key="E")
        self.queue = IconButton("list-checks", tr("All proposals"), key="L")
        self.primary = Button("", "primary", icon="git-pull-request-arrow", height=30)
        self.back = IconButton("arrow-left", tr("Back to MEMORY.md"), key="Esc")
        self.close = IconButton("x", tr("Close, back to MEMORY.md"), key="Esc")
        self.cancel = Button(tr("Go back"), "quiet", key="Esc")
        self.save = Button(tr("Save"), "primary", icon="check", key="Ctrl+S", height=30)
        self.decided = T("", "body", "text_soft", tabular=True)
        choices = [("changes", tr("Changes")), ("result", tr("Result"))]
        self.half = SegmentSwitch(choices, name=tr("Shown"))
        self.reject_all = Button(tr("Reject all"), "quiet")
        self.apply = Button(tr("Apply"), "primary", key="Ctrl+Enter", height=30)
        self._all: dict[str, QWidget] = {
            name: getattr(self, name)
            for name in (
                "share", "budget", "origins", "edit", "queue", "decided", "half",
                "reject_all", "cancel", "save", "close", "primary", "apply",
            )
        }  # fmt: skip
        head.add(*self._all.values())
        self._all["back"] = (
            self.back
        )  # leads out, so it stands before the title, not with the counts
        head.lead(self.back)
        self._head = head
        self._counted = True  # whether there is a budget to show
        self.show_mode("file", narrow=False)

    def show_mode(self, mode: str, *, narrow: bool) -> None:
        standing = STANDING[mode]
        for name, widget in self._all.items():
            on = name in standing
            if narrow and name in ("share", "reject_all", "queue"):
                on = False
            if name in ("share", "budget") and not self._counted:
                on = False
            if name == "half":
                on = on and narrow
            widget.setVisible(on)
        self.apply.set_key("" if narrow else "Ctrl+Enter")

    def show_budget(self, tokens: int, budget: int, *, estimated: bool) -> None:
        on = self._counted = budget > 0
        if not on:
            self.share.hide()
            self.budget.hide()
        self.share.set_share(tokens / budget if on else 0)
        words = tr("{n} of {limit}", n=thousands(tokens), limit=thousands(budget))
        self.budget.setText(words if on else "")
        said = tr("tokens, estimated") if estimated else tr("tokens")
        self.budget.setToolTip(f"{words} {said}")

    def show_apply(self, deciding: Deciding, reason: str) -> None:
        """The count in the main button, and how far one is."""
        accepted, decided, whole = deciding.count_accepted(), deciding.decided(), deciding.count()
        if accepted:
            words = plural(accepted, "Apply {n} change", "Apply {n} changes")
        elif decided and decided == whole:
            words = tr("Close without a change")
        else:
            words = tr("Apply")
        self.apply.setText(words)
        self.apply.set_off(reason)
        left = len(deciding.conflicts(left=True))
        said = tr("{n} of {all} decided", n=decided, all=whole)
        self.decided.setText(
            plural(left, "{n} conflict left", "{n} conflicts left") if left else said
        )
