"""What MEMORY.md once held and holds no more, with the run that took it out.

Every version is kept, so every loss can be listed and brought back. Blocks (it reads the history):
call it in a thread.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from app.engine.memory.checks import lost
from app.engine.memory.outline import bullets, normal
from app.engine.workspace.history import History


class Loss(Struct, frozen=True):
    """A fact that version `version` no longer held; `version - 1` is the last that did."""

    text: str
    version: int
    run: str
    cause: str
    when: datetime


def losses(history: History, *, limit: int = 200) -> list[Loss]:
    """Facts lost in the newest `limit` versions and absent today, newest loss first."""
    versions = history.versions(limit + 1)
    texts = [history.text(v.number) for v in versions]
    present = {normal(b.text) for b in bullets(texts[0])} if texts else set[str]()
    found: list[Loss] = []
    for version, text, before in zip(versions, texts, texts[1:], strict=False):
        for fact in lost(before, text):
            if normal(fact) not in present:
                present.add(normal(fact))
                found.append(Loss(fact, version.number, version.run, version.cause, version.when))
    return found
