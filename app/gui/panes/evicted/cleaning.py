"""The question before evicted results go to the trash."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from app.engine.records import EvictedInfo
from app.gui.look.text import plural, tr
from app.gui.panes.evicted.model import cleaning
from app.gui.widgets.dialogs import ask


async def ask_clean(
    window: QWidget, infos: Sequence[EvictedInfo], orphans: Sequence[EvictedInfo]
) -> str:
    """Show what would go: "go", "orphans" to see those instead, "" to keep all."""
    head, files = cleaning(infos)
    others = len(orphans) if {i.path for i in orphans} - {i.path for i in infos} else 0
    see = plural(others, "See the {n} without a session", "See the {n} without a session")
    buttons = [("", tr("Keep"), "quiet")]
    buttons += [("orphans", see, "plain")] if others else []
    go = plural(len(infos), "Move {n} to the trash", "Move {n} to the trash")
    return await ask(
        window,
        tr("Clean up {what}", what=head),
        tr(
            "These files go to the workspace's trash. Their sessions keep the place, and the "
            "log keeps the text."
        ),
        [*buttons, ("go", go, "danger")],
        code=files,
        width=620,
    )
