"""Taking sessions of other programs into a workspace: a copy, under a name of ours. Blocks.

Invariant: nothing of ours is touched. A session that is there already stays as it is, so an import
can be repeated and takes over only what is new.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from app.engine.context.tokens import Counter
from app.engine.errors import UserError
from app.engine.interop import motus
from app.engine.interop.motus import Imported
from app.engine.session import entries as e
from app.engine.session.store import SessionStore


def bring_motus(store: SessionStore, path: Path, counter: Counter) -> tuple[Imported, ...]:
    """Import each Motus log of a file or folder; what became of each. Raises `Unreadable`."""
    return tuple(_bring(store, one, counter) for one in motus.logs_in(path))


def _bring(store: SessionStore, path: Path, counter: Counter) -> Imported:
    try:
        entries, report = motus.read(path, counter)
        session_id = session_name(report.session_id)
        report = msgspec.structs.replace(report, session_id=session_id)
        if store.exists(session_id):
            problem = "A session of that name is here already; it was left as it is."
            return msgspec.structs.replace(report, problem=problem)
        first = entries[0]
        assert isinstance(first, e.SessionOpen)
        named = msgspec.structs.replace(first, session_id=session_id)
        store.bring(session_id, [named, *entries[1:]])
    except UserError as error:
        return Imported(path.name, problem=f"{error} {error.remedy}".strip())
    return report


def session_name(foreign: str) -> str:
    """An id we may use for a session: characters we do not allow become `_`."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", foreign)[:120]
    return name if name and name[0].isalnum() else f"motus-{name.lstrip('._-') or 'session'}"
