"""What a flush did: its report, and the entry that moves a session's cursor. Pure.

Specification, sections 3.4 and 9.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, structs

from app.engine.memory.answers import Judged
from app.engine.memory.outline import bullets
from app.engine.records import DailySection
from app.engine.session.entries import Flush
from app.engine.session.session import Session
from app.engine.workspace.layout import Layout
from app.engine.workspace.secrets import mask

NOTHING = "Nothing was worth keeping."


class Flushed(Struct, frozen=True):
    """What a flush did. `path` is the daily log written, "" when there was nothing to keep.

    `left_out` counts lines about topics that are never to be remembered.
    """

    session_id: str
    bullets: int = 0
    path: str = ""
    masked: tuple[str, ...] = ()
    batches: int = 0
    left_out: int = 0

    @property
    def said(self) -> str:
        """What was done, in a sentence or two."""
        kept = f"{_lines(self.bullets)} in {self.path}" if self.path else NOTHING
        more = left_out(self.left_out)
        return f"{kept}. {more}" if self.path and more else f"{kept} {more}".strip()

    def added(self, path: str, judged: Judged) -> Flushed:
        """With one more section, written to `path`."""
        return structs.replace(
            self,
            bullets=self.bullets + len(bullets(judged.text)),
            path=path,
            masked=(*self.masked, *mask(judged.text).kinds),
        )

    def joined(self, rest: Flushed) -> Flushed:
        """With what a second part of the same flush did."""
        return structs.replace(
            self,
            bullets=self.bullets + rest.bullets,
            path=rest.path or self.path,
            masked=(*self.masked, *rest.masked),
            batches=self.batches + rest.batches,
            left_out=self.left_out + rest.left_out,
        )


def note_of(
    first: str,
    last: str,
    section: DailySection | None,
    run: str,
    layout: Layout,
    count: int,
    dropped: int = 0,
) -> Callable[[Session], object]:
    """Writes the entry of one flushed range: where its `count` lines went, or why nowhere."""
    path = layout.relative(layout.daily(section.when.date())) if section and section.when else ""
    reason = f"{'' if section is not None else NOTHING} {left_out(dropped)}".strip()
    entry = Flush(from_=first, to=last, path=path, run=run, bullets=count, reason=reason)
    return lambda session: session.append(entry)


def left_out(count: int) -> str:
    """How many lines the topics kept out, in a sentence; "" for none."""
    return f"{_lines(count)} on topics never to be remembered left out." if count else ""


def _lines(count: int) -> str:
    return f"{count} {'line' if count == 1 else 'lines'}"
