"""Who or what made a version of MEMORY.md, and when, in words. Pure."""

from __future__ import annotations

from datetime import datetime

from app.engine.records import Proposal, Version
from app.gui.look.text import preview, short_day, tr

CAUSES = {
    "consolidation": "consolidation",
    "saved": "saved on request",
    "hand": "edited by hand",
    "restored": "restored",
    "external": "changed outside",
    "undo": "taken back",
    "start": "first version",
}


SHORT = {"saved": "saved", "hand": "by hand", "start": "from the start"}


WITHOUT = "extractive"  # the curator that needs no model


def maker(model: str) -> str:
    """Who made a proposal: the model's name, or in words that there was none."""
    if not model or model == WITHOUT:
        return tr("the curator without a model")
    return preview(model, 40)


def answered(proposal: Proposal) -> bool:
    """Whether a model made it and its whole answer was kept."""
    return bool(proposal.raw.strip()) and proposal.info.model not in ("", WITHOUT)


def cause_words(version: Version, *, short: bool = False) -> str:
    """Who or what made a version: the model for a run, else the cause in words."""
    if version.cause == "consolidation" and version.model not in ("", WITHOUT):
        return preview(version.model, 24)
    known = CAUSES | SHORT if short else CAUSES
    return tr(known.get(version.cause, version.cause))


def near_day(version: Version, now: datetime) -> str:
    """The day of a version within a sentence: today, yesterday, 10 Nov."""
    words = short_day(version.when.astimezone().date(), now.astimezone().date())
    return words.lower() if words in (tr("Today"), tr("Yesterday")) else words


def since_words(version: Version, now: datetime) -> str:
    """Beside a line: "demo script, 10 Nov"."""
    who = cause_words(version, short=True)
    return tr("{who}, {day}", who=who, day=near_day(version, now))
