"""What a run works on: which sections are free, how long a failure pauses it, what is made again.

Pure: everything it looks at is handed in. Specification, section 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from app.engine.errors import UserError
from app.engine.memory.proposals import Input, Stored
from app.engine.workspace.files import digest, encode
from app.engine.workspace.memory_file import MemoryFile
from app.engine.workspace.sections import WaitingSection

LONGEST_PAUSE = timedelta(hours=24)
_WRITTEN = frozenset({"applying", "applied", "partly_applied"})


def free(
    sections: Sequence[WaitingSection], known: Sequence[Stored], file: MemoryFile
) -> tuple[list[WaitingSection], str]:
    """The sections to work on, or why there are none.

    What lies in a review somebody has begun stays there. When all the rest is in a proposal for
    the same file that nobody has opened yet, asking again would give the same.
    """
    opened = {i.key for p in known if p.state == "in_review" for i in p.inputs}
    left = [found for found in sections if found.key not in opened]
    if not left:
        said = "All of it is in a proposal that waits for review."
        return [], said if sections else "There is nothing new in the daily logs."
    same = {
        i.key
        for p in known
        if p.state == "proposed" and p.base_sha256 == file.sha256 and not declined(p)
        for i in p.inputs
    }
    if all(found.key in same for found in left):
        return [], "All of it is in a proposal that waits for review."
    return left, ""


def pause(known: Sequence[Stored], least: timedelta, now: datetime) -> datetime | None:
    """When the next automatic try may be, if that is later than `now`.

    Doubles from `least` with each failure in a row, up to a day; `known` is newest first. A run a
    person asked another model for says nothing about the one that runs by itself.
    """
    failures = 0
    last: datetime | None = None
    for stored in known:
        if stored.again_of:
            continue
        if not (stored.state == "failed" or declined(stored)):
            break
        last = last or stored.when
        failures += 1
    if last is None:
        return None
    until = last + min(least * 2 ** min(failures - 1, 20), LONGEST_PAUSE)
    return until if last <= now < until else None


def declined(stored: Stored) -> bool:
    """Whether the model refused the task."""
    return any(c.name == "refusal" and not c.ok for c in stored.checks)


def open_again(stored: Stored) -> None:
    """Raises `ProposalClosed` when the proposal is written: a second one would come too late."""
    if stored.state in _WRITTEN:
        raise stored.closed()


def same_again(
    stored: Stored, sections: Sequence[WaitingSection]
) -> tuple[MemoryFile, list[WaitingSection]]:
    """The file and the sections that a proposal was made from, to make it once more.

    Raises `ProposalClosed` when it is written already, `UserError` when a section is gone.
    """
    open_again(stored)
    wanted = {i.key for i in stored.inputs}
    found = [one for one in sections if one.key in wanted]
    if not found or len({one.key for one in found}) < len(wanted):
        raise UserError(
            "Some lines of the daily logs that it was made from are gone.",
            "Consolidate anew instead.",
        )
    text, sha256 = stored.first[0], stored.base_sha256
    if text != stored.base:  # the file was changed since: what the first run saw
        sha256 = digest(encode(text))
    return MemoryFile("present" if text.strip() else "empty", text, sha256), found


def answer_of(stored: Stored) -> str:
    """What the curator made of the file it was given, whatever was changed since."""
    return stored.first[1]


def inputs_of(sections: Sequence[WaitingSection]) -> tuple[Input, ...]:
    """Sections as a proposal names them."""
    return tuple(
        Input(found.path, found.key.file, found.key.ordinal, found.key.hash) for found in sections
    )
