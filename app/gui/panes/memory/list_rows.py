"""The lists beside MEMORY.md as rows: proposals, losses, refused claims, remarks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from app.engine.records import Acceptance, Loss, ProposalInfo, Refused, Remark, Version
from app.gui.look.text import moment, number, plural, preview, sentence, tr
from app.gui.panes.memory.causes import cause_words, maker
from app.gui.panes.memory.lines import plain
from app.gui.widgets.rows import Row

OPEN = ("proposed", "in_review")
STATES = {
    "proposed": "waiting",
    "in_review": "in review",
    "applying": "being applied",
    "applied": "applied",
    "partly_applied": "partly applied",
    "rejected": "rejected",
    "superseded": "replaced by a later one",
    "failed": "failed",
}
REMARKS = {
    "duplicate": ("copy", "Said twice"),
    "near_duplicate": ("copy", "Said nearly twice"),
    "stale": ("calendar-clock", "Out of date"),
    "contradiction": ("triangle-alert", "May contradict"),
}


def is_open(info: ProposalInfo) -> bool:
    return info.state in OPEN


# ---------------------------------------------------------------------------- proposals


def proposal_rows(
    infos: Sequence[ProposalInfo],
    fared: Sequence[Acceptance],
    versions: Sequence[Version],
    now: datetime,
) -> list[Row]:
    """Those that wait, those that are over, and how the proposals of each model fared."""
    waiting = [one for one in infos if is_open(one)]
    past = [one for one in infos if not is_open(one)]
    rows: list[Row] = []
    for key, title, found in (
        ("waiting", tr("Waiting"), waiting), ("past", tr("Decided"), past)
    ):  # fmt: skip
        if found:
            rows.append(Row(f"head-{key}", title, number(len(found)), head=True))
            rows += [_proposal(one, versions, now) for one in found]
    if fared:
        rows.append(Row("head-fared", tr("Accepted, by model and prompt"), head=True))
        rows += [_fared(one) for one in fared]
    return rows


def _proposal(info: ProposalInfo, versions: Sequence[Version], now: datetime) -> Row:
    losses = plural(info.dropped, "{n} loss", "{n} losses") if info.dropped else ""
    failed = info.failed_checks
    checks = plural(failed, "{n} check needs a look", "{n} checks need a look") if failed else ""
    days = len({name.split("#")[0] for name in info.inputs})
    title = plural(info.changes, "{n} change", "{n} changes")
    if days:
        title += " " + plural(days, "from {n} daily log", "from {n} daily logs")
    if info.rebuild:
        title += tr(", a rebuild of the whole file")
    parts = [
        tr(STATES.get(info.state, info.state)),
        maker(info.model),
        tr("a second run") if info.again_of else "",
        losses,
        checks,
        *(waited(info, versions, now) if is_open(info) else ()),
    ]
    mark = "proposal" if is_open(info) else "consolidation"
    tone = "failed" if info.state == "failed" else "" if is_open(info) else "soft"
    when = moment(info.when, now)
    return Row(info.id, title, sentence(parts), when, mark=mark, tone=tone, data=info)


def waited(info: ProposalInfo, versions: Sequence[Version], now: datetime) -> tuple[str, str]:
    """The age of a proposal that waits, and what has moved since it was made."""
    days = (now.astimezone().date() - info.when.astimezone().date()).days
    age = plural(days, "{n} day old", "{n} days old") if days > 0 else tr("from today")
    since = [v for v in versions if v.when > info.when and v.run != info.id]
    moved = plural(len(since), "MEMORY.md changed once since", "MEMORY.md changed {n} times since")
    return age, moved if since else tr("MEMORY.md is as it was")


def _fared(one: Acceptance) -> Row:
    decided = one.accepted + one.rejected
    prompt = tr("prompt {hash}", hash=one.prompt_hash[:7]) if one.prompt_hash else ""
    edited = tr("{n} of them in other words", n=number(one.edited)) if one.edited else ""
    accepted = tr("{n} accepted", n=number(one.accepted))
    parts = [
        prompt,
        plural(one.proposals, "{n} proposal", "{n} proposals"),
        " ".join(p for p in (accepted, f"({edited})" if edited else "") if p),
        tr("{n} rejected", n=number(one.rejected)),
    ]
    share = f"{100 * one.accepted // decided} %" if decided else tr("nothing decided")
    key = f"fared-{one.model}-{one.curator}-{one.prompt_hash}"
    return Row(key, maker(one.model), sentence(parts), share, icon="chart-pie", tone="soft",
               data=one)  # fmt: skip


# ---------------------------------------------------------------------------- the other lists


def loss_rows(losses: Sequence[Loss], now: datetime) -> list[Row]:
    """Facts that MEMORY.md held and lacks now, with the version that dropped each."""
    rows: list[Row] = []
    for loss in losses:
        by = tr("dropped by version {n}, {who}", n=number(loss.version.number),
                who=cause_words(loss.version))  # fmt: skip
        detail = sentence([preview(loss.section, 40, " ").strip(), by])
        rows.append(
            Row(f"{loss.held}-{loss.line}", _words(loss.text), detail,
                moment(loss.version.when, now), mark=loss.version.cause, tip=loss.text, data=loss)
        )  # fmt: skip
    return rows


def refused_rows(
    refused: Sequence[Refused], infos: Sequence[ProposalInfo], now: datetime
) -> list[Row]:
    """Claims and losses that are not proposed again, with the review each was refused in."""
    runs = {info.id: info for info in infos}
    rows: list[Row] = []
    for one in refused:
        info = runs.get(one.run)
        made = (
            tr("{who}, {when}", who=maker(info.model), when=moment(info.when, now)) if info else ""
        )
        detail = tr("refused in the proposal by {made}", made=made) if made else tr("refused")
        if one.what == "loss":
            detail = tr("kept: its loss was {refused}", refused=detail)
        rows.append(
            Row(one.key, _words(one.text), detail, moment(one.when, now), icon="ban",
                tip=one.text, data=one)
        )  # fmt: skip
    return rows


def remark_rows(remarks: Sequence[Remark], text: str) -> list[Row]:
    """What is said twice, out of date, or may contradict another line of `text`."""
    said = text.split("\n")
    rows: list[Row] = []
    for i, one in enumerate(remarks):
        icon, word = REMARKS[one.kind]
        lines = ", ".join(number(n) for n in one.lines)
        where = tr("line {n}", n=lines) if len(one.lines) == 1 else tr("lines {n}", n=lines)
        first = said[one.lines[0] - 1] if one.lines and one.lines[0] <= len(said) else ""
        detail = tr("{what}: {why}", what=tr(word), why=one.text)
        row = Row(f"remark-{i}", _words(first), detail, where, icon=icon, tip=detail, data=one)
        rows.append(row)
    return rows


def _words(text: str) -> str:
    return preview(plain(text.split("\n", 1)[0]), 200)
