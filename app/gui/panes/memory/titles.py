"""The head of the memory place in words: title and details of what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.engine.records import Proposal
from app.gui.look.text import clock, moment, number, plural, sentence, tr
from app.gui.panes.memory.causes import maker, near_day
from app.gui.panes.memory.lists_page import SECTIONS

if TYPE_CHECKING:
    from app.gui.panes.memory.pane import MemoryPane


def titles(pane: MemoryPane, *, narrow: bool) -> tuple[str, str]:
    """What is shown, and beside it what there is to know of it."""
    proposal = pane.review.proposal
    if pane.mode in ("review", "closed") and proposal is not None:
        return tr("Review"), _review(pane, proposal, narrow=narrow)
    if pane.mode == "compare":
        return tr("Compare"), pane.compare.title()
    if pane.mode == "edit":
        return tr("Edit"), tr("MEMORY.md, raw text")
    if pane.mode == "lists":
        waits = plural(len(pane.waiting()), "{n} waits", "{n} wait")
        section = pane.lists.section
        return tr(SECTIONS[section].title), waits if section == "proposals" else ""
    if pane.mode == "version":
        n = number(pane.file.version)
        return tr("Memory"), tr("version {n} of {all}", n=n, all=number(len(pane.versions)))
    return tr("Memory"), _file(pane, narrow=narrow)


def _review(pane: MemoryPane, proposal: Proposal, *, narrow: bool) -> str:
    if pane.mode == "review" and proposal.changed is not None:
        when = clock(proposal.changed.when)
        return tr("MEMORY.md changed at {when}, after this proposal was made", when=when)
    info = proposal.info
    days = len({name.split("#")[0] for name in info.inputs})
    words = [
        plural(days, "from {n} daily log", "from {n} daily logs") if days else "",
        tr("by {who}", who=maker(info.model)) if not narrow else "",
    ]
    state = "" if pane.mode == "review" else tr("decided, for reading only")
    made = " ".join(word for word in words if word)
    return sentence([made, moment(info.when, pane.desk.now()), state])


def _file(pane: MemoryPane, *, narrow: bool) -> str:
    memory = pane.memory
    if memory.state != "present":
        return "MEMORY.md"
    lines = len([line for line in memory.text.split("\n") if line.strip()])
    latest = pane.versions[0] if pane.versions else None
    parts = ["MEMORY.md"]
    if latest is not None and not narrow:
        day = near_day(latest, pane.desk.now())
        parts.append(tr("version {n}, {day}", n=number(latest.number), day=day))
    parts.append(plural(lines, "{n} line", "{n} lines"))
    return sentence(parts)
