"""The proposals of a workspace: `.palimpsest/proposals/<run>.json`.

One file for each run, replaced whole, never without its raw answer. A proposal's state follows the
specification's table (section 10); a move the table does not have is refused. A file that is not
understood is left alone and named by `damaged`. Everything here blocks: call it in a thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from app.engine.errors import StorageError, Unreadable, UserError
from app.engine.memory.outline import bullets, normal
from app.engine.memory.provenance import Origin
from app.engine.memory.refusals import claim_key
from app.engine.records import Change, Check, Decision, ProposalInfo, ProposalState, Refused
from app.engine.workspace.files import append_durable, lock, read_bytes, write_atomic
from app.engine.workspace.layout import Layout
from app.engine.workspace.sections import SectionKey

_NEXT: Mapping[ProposalState, frozenset[ProposalState]] = {
    "proposed": frozenset({"in_review", "applying", "superseded"}),
    "in_review": frozenset({"applying", "rejected", "superseded"}),
    "applying": frozenset({"applied", "partly_applied", "in_review"}),
}
_FORM = 1  # of the files
SAVED = "tool"  # the curator of a proposal that `memory_save` made
OPEN: frozenset[ProposalState] = frozenset({"proposed", "in_review"})


class ProposalNotFound(UserError, ValueError):
    """There is no proposal of that id."""

    remedy = "Choose a proposal from the queue."


class ProposalClosed(UserError):
    """The proposal can no longer be decided."""

    remedy = "Choose one that is still waiting."


class Input(Struct, frozen=True, omit_defaults=True):
    """A section that was handed to the curator."""

    path: str
    file: str
    ordinal: int
    hash: str

    @property
    def key(self) -> SectionKey:
        return SectionKey(self.file, self.ordinal, self.hash)


class Stored(Struct, frozen=True, omit_defaults=True):
    """A proposal as it is kept.

    `base` is the file's text that `candidate` and `decisions` belong to and `base_sha256` that
    file's hash; both are renewed when the file changed under a review. `started` and `wanted` then
    hold the first base and the first candidate, less what was decided since: every later look
    compares with them (None: `base` and `candidate` are the first). `began` is the number of the
    version that `started` is of, 0 when it was not asked yet. `origins` is by bullet key.
    `apart` are merges and splits that a person took apart, each as its lines before and after.
    `result_sha256` is of the bytes an apply is writing.
    """

    id: str
    state: ProposalState
    when: datetime
    model: str
    curator: str
    base: str
    base_sha256: str
    candidate: str
    raw: str = ""
    inputs: tuple[Input, ...] = ()
    checks: tuple[Check, ...] = ()
    decisions: tuple[Decision, ...] = ()
    prompt_hash: str = ""
    rebuild: bool = False
    note: str = ""
    error: str = ""
    started: str | None = None
    wanted: str | None = None
    began: int = 0
    apart: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    origins: dict[str, tuple[Origin, ...]] = {}
    counts: tuple[int, int, int] = (0, 0, 0)  # changes, dropped, added
    result_sha256: str = ""
    automatic: bool = False
    again_of: str = ""  # the proposal whose run this one repeats with another model
    tally: tuple[int, int, int] = (0, 0, 0)  # accepted, rejected, edited, by earlier applies
    v: int = _FORM

    @property
    def first(self) -> tuple[str, str]:
        """The base the run began with and the candidate it made, less what was decided since."""
        if self.started is None or self.wanted is None:
            return self.base, self.candidate
        return self.started, self.wanted

    def closed(self) -> ProposalClosed:
        """The refusal to decide or to repeat it, as its state does not allow that any more."""
        return ProposalClosed(f"The proposal is {self.state.replace('_', ' ')} already.")


def counted(found: Iterable[Change]) -> tuple[int, int, int]:
    """Changes, dropped and added ones, for the queue."""
    kinds = [c.kind for c in found]
    return len(kinds), kinds.count("dropped"), kinds.count("added")


def info_of(stored: Stored) -> ProposalInfo:
    """A proposal as the queue shows it."""
    return ProposalInfo(
        id=stored.id,
        state=stored.state,
        when=stored.when,
        model=stored.model,
        changes=stored.counts[0],
        dropped=stored.counts[1],
        added=stored.counts[2],
        inputs=tuple(f"{i.path}#{i.ordinal}" for i in stored.inputs),
        failed_checks=sum(1 for c in stored.checks if not c.ok),
        rebuild=stored.rebuild,
        again_of=stored.again_of,
    )


class ProposalStore:
    """The proposals of one workspace. Synchronous."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._cache: dict[str, tuple[tuple[int, int], Stored]] = {}
        self.damaged: tuple[str, ...] = ()

    def add(self, stored: Stored) -> None:
        """Keep a new proposal. Raises `StorageError`."""
        self._write(stored)

    def load(self, proposal_id: str) -> Stored:
        """One proposal. Raises `ProposalNotFound`, `Unreadable`, `PathRefused`."""
        data = read_bytes(self._layout.proposal(proposal_id))
        if data is None:
            raise ProposalNotFound("There is no proposal of that id.")
        return _decode(data, proposal_id)

    def update(self, stored: Stored, **fields: Any) -> Stored:
        """Keep a proposal with other values; a state the table does not lead to is refused."""
        state: ProposalState = fields.get("state", stored.state)
        if state != stored.state and state not in _NEXT.get(stored.state, frozenset()):
            raise stored.closed()
        changed = msgspec.structs.replace(stored, **fields)
        self._write(changed)
        return changed

    def all(self) -> list[Stored]:
        """All proposals, newest first. Damaged files are named in `damaged`."""
        found: list[Stored] = []
        damaged: list[str] = []
        try:
            paths = sorted(self._layout.proposals_dir.glob("*.json"))
        except OSError as error:
            raise StorageError("The folder of proposals cannot be read.") from error
        for path in paths:
            try:
                found.append(self._cached(path.stem))
            except (UserError, OSError):  # not understood, gone, or a copy under no id of ours
                damaged.append(path.name)
        self.damaged = tuple(damaged)
        return sorted(found, key=lambda p: (p.when, p.id), reverse=True)

    def infos(self, *, waiting: bool = False) -> list[ProposalInfo]:
        """The queue, newest first; with `waiting` only what a person can still decide."""
        return [info_of(p) for p in self.all() if not waiting or p.state in OPEN]

    def withdraw_rivals(self, winner: Stored) -> None:
        """What shares a section with an applied one, and other rewritings nobody has opened yet.

        A saved fact rivals nobody; a review a person has begun on other sections goes on, on top
        of the new file.
        """
        ours = {i.key for i in winner.inputs}
        for rival in self.all():
            shares = not ours.isdisjoint(i.key for i in rival.inputs)
            apart = SAVED in (rival.curator, winner.curator)
            unopened = rival.state == "proposed" and not apart
            if rival.id != winner.id and rival.state in OPEN and (shares or unopened):
                self.update(
                    rival, state="superseded", note="Another proposal was applied before it."
                )

    def _cached(self, name: str) -> Stored:
        stat = self._layout.proposal(name).stat()
        stamp = (stat.st_mtime_ns, stat.st_ino)
        known = self._cache.get(name)
        if known is None or known[0] != stamp:
            known = self._cache[name] = (stamp, self.load(name))
        return known[1]

    def _write(self, stored: Stored) -> None:
        data = msgspec.json.format(msgspec.json.encode(stored), indent=1)
        write_atomic(self._layout.proposal(stored.id), data + b"\n")


def _decode(data: bytes, name: str) -> Stored:
    try:
        stored = msgspec.json.decode(data, type=Stored)
        # A newer program's would lose what it says more by our writing; a copy is no proposal.
        if stored.v > _FORM or stored.id != name:
            raise msgspec.ValidationError(f"form {stored.v}, id {stored.id}")
        return stored
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(
            f"The proposal {name} is not understood; it is left as it is.",
            "Move its file out of .palimpsest/proposals.",
        ) from error


# ---------------------------------------------------------------------------- refused claims


class RefusedClaims:
    """`refused.jsonl` of one workspace. Synchronous."""

    def __init__(self, layout: Layout) -> None:
        self._path = layout.refused
        self._lock = layout.lock_file("refused")

    def all(self) -> list[Refused]:
        """What was refused, oldest first, each claim and each loss once."""
        found: dict[str, Refused] = {}
        for line in (read_bytes(self._path) or b"").split(b"\n"):
            if (claim := _claim(line)) is not None:
                found[claim.key] = claim
        return list(found.values())

    def add(
        self,
        lines: Iterable[str],
        *,
        run: str,
        when: datetime,
        sources: Iterable[str] = (),
        what: Literal["claim", "loss"] = "claim",
    ) -> None:
        """Remember the facts in `lines`, or their loss, as refused; each once."""
        places = tuple(sources)
        with lock(self._lock):
            known = {claim.key for claim in self.all()}
            data = b""
            for block in bullets("\n".join(lines)):
                key = claim_key(block.text, what)
                if key in known or not normal(block.text):
                    continue
                known.add(key)
                claim = Refused(key, block.text.strip(), run, when, places, what)
                data += msgspec.json.encode(claim) + b"\n"
            if data:
                append_durable(self._path, data)

    def remove(self, key: str) -> None:
        """Take a claim off the list: it may be proposed again. Lines not understood stay."""
        with lock(self._lock):
            lines = (read_bytes(self._path) or b"").splitlines(keepends=True)
            kept = [line for line in lines if (one := _claim(line)) is None or one.key != key]
            if len(kept) < len(lines):
                write_atomic(self._path, b"".join(kept))


def _claim(line: bytes) -> Refused | None:
    """A line of the file; None for one that is blank or not understood."""
    try:
        claim = msgspec.json.decode(line, type=Refused)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return msgspec.structs.replace(claim, key=claim_key(claim.text, claim.what))
