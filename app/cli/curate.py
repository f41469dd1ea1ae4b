"""Commands about what MEMORY.md is to become: consolidate, proposals, review."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from app.cli.command import DID_NOT_HAPPEN, DONE, MODEL_FAILED, USAGE, Command, Printer, WrongUsage
from app.cli.opened import opened, wait_for_job
from app.engine.errors import UserError
from app.engine.records import Applied, Change, Decision, Proposal

if TYPE_CHECKING:
    from app.engine.engine import Engine


SEE = "See them with: palimpsest review WORKSPACE PROPOSAL"


def change_row(change: Change) -> dict[str, Any]:
    return {
        "n": change.n,
        "kind": change.kind,
        "before": list(change.before),
        "after": list(change.after),
        "old": list(change.old),
        "conflict": change.conflict,
        "group": change.group,
        "sources": [msgspec.to_builtins(s) for s in change.sources],
    }


def proposal_row(proposal: Proposal, applied: object = None) -> dict[str, Any]:
    return {
        "proposal": proposal.info.id,
        "state": proposal.info.state,
        "checks": [{"name": c.name, "ok": c.ok, "detail": c.detail} for c in proposal.checks],
        "changes": [change_row(c) for c in proposal.changes],
        "applied": applied,
        "again_of": proposal.info.again_of,
    }


def show_proposal(proposal: Proposal, out: Printer) -> None:
    info = proposal.info
    out.text(f"Proposal {info.id}, {info.state}, by {info.model or 'no model'}")
    for check in proposal.checks:
        if not check.ok:
            out.text(f"  ! {check.name}: {check.detail}")
    show_changes(proposal.changes, out)


def show_changes(changes: Iterable[Change], out: Printer) -> None:
    for change in changes:
        section = f"  ({change.section})" if change.section else ""
        clash = ", changed here too" if change.conflict else ""
        part = f", part of {change.group}" if change.group else ""
        out.text(f"{change.n:>3} {change.kind}{clash}{part}{section}")
        for sign, lines in (("=", change.old), ("-", change.before), ("+", change.after)):
            for line in lines:
                out.text(f"      {sign} {line}")


async def consolidate(options: argparse.Namespace, out: Printer) -> int:
    if (options.again is None) != (options.again_model is None):
        out.remark("--again and --model go together: a proposal, and who makes it once more.")
        return USAGE
    async with opened(options) as engine:
        if options.again is None:
            job_id = await engine.do.consolidate()
        else:
            job_id = await engine.do.consolidate_again(options.again, options.again_model)
        job = await wait_for_job(engine, job_id)
        if job.state != "done" or not job.target:
            said, fine = job.reason or job.result, job.state in ("done", "skipped")
            (out.text if fine else out.remark)(f"{said} {job.remedy}".strip())
            out.data({"proposal": None, "state": job.state, "reason": said,
                      "checks": [], "changes": [], "applied": None})  # fmt: skip
            if fine:
                return DONE
            unread = (await engine.ask.memory()).state == "unreadable"
            return DID_NOT_HAPPEN if unread else MODEL_FAILED
        proposal = await engine.ask.proposal(job.target)
        applied = await _applied(engine, proposal, options.apply)
        if applied is not None:
            proposal = await engine.ask.proposal(job.target)
        show_proposal(proposal, out)
        row = proposal_row(proposal, applied)
        if options.again is not None:
            compared = await engine.ask.compare_proposals(options.again, job.target)
            out.text(f"From {options.again} to {job.target}:" if compared else "Both say the same.")
            show_changes(compared, out)
            row["compared"] = [change_row(change) for change in compared]
        out.data(row)
        if options.apply and applied is None:
            failed = ", ".join(check.name for check in proposal.checks if not check.ok)
            out.remark(
                f"Not applied, for these checks failed: {failed}. Decide each change with: "
                f"palimpsest review {options.workspace} {job.target}"
            )
            return DID_NOT_HAPPEN
        return DONE


async def _applied(engine: Engine, proposal: Proposal, wanted: bool) -> object:
    """What was written of a new proposal: by policy, or as `wanted` when every check passes."""
    if proposal.info.state == "applied":
        newest = (await engine.ask.versions(1))[0]
        return msgspec.to_builtins(
            Applied(newest.number, proposal.info.id, "applied", newest.added, newest.dropped)
        )
    if not wanted or not all(check.ok for check in proposal.checks):
        return None
    everything = [Decision(change.n, "accept") for change in proposal.changes]
    return msgspec.to_builtins(await engine.do.apply(proposal.info.id, everything))


async def proposals(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        if options.statistics:
            return await _statistics(engine, out)
        known = await engine.ask.proposals()
        for one in known:
            counts = [count(one.changes, "change")]
            counts += [f"{one.dropped} lost"] * bool(one.dropped)
            counts += [f"{count(one.failed_checks, 'check')} failed"] * bool(one.failed_checks)
            counts += [f"again of {one.again_of}"] * bool(one.again_of)
            out.text(f"{one.id}  {one.state:<14} {moment(one.when)}  {', '.join(counts)}")
        if not known:
            out.text("No proposals yet.")
        out.data([msgspec.to_builtins(one) for one in known])
        return DONE


async def _statistics(engine: Engine, out: Printer) -> int:
    rows = await engine.ask.acceptance()
    for row in rows:
        decided = row.accepted + row.rejected
        share = f"{row.accepted / decided:.0%}" if decided else "–"
        who = f"{row.model or row.curator}, prompt {row.prompt_hash or 'none'}"
        out.text(
            f"{share:>5} accepted  {row.accepted} yes ({row.edited} in other words), "
            f"{row.rejected} no, {count(row.proposals, 'proposal')}  {who}"
        )
    if not rows:
        out.text("No proposals yet.")
    out.data([msgspec.to_builtins(row) for row in rows])
    return DONE


def count(number: int, noun: str) -> str:
    """A number of things, as people read it."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def moment(when: datetime) -> str:
    """A time as people read it here."""
    return when.astimezone().strftime("%Y-%m-%d %H:%M")


def numbers(text: str | None, all_of: Iterable[int]) -> set[int]:
    """`all`, or a list such as 1,3. Raises `WrongUsage`, or `UserError` for what is no change."""
    if text is None:
        return set()
    known = set(all_of)
    if text == "all":
        return known
    try:
        wanted = {int(part) for part in text.split(",")}
    except ValueError as error:
        raise WrongUsage(f"{text!r} is no list of numbers such as 1,3.") from error
    if missing := wanted - known:
        raise UserError(f"There is no change {min(missing)}; there are {len(known)}.", SEE)
    return wanted


def decisions_of(options: argparse.Namespace, proposal: Proposal) -> list[Decision]:
    """The decisions of the flags; a change named by both is refused as wrong."""
    known = [change.n for change in proposal.changes]
    edits: dict[int, str] = {}
    for pair in options.edit or []:
        number, found, text = pair.partition("=")
        if not found or not number.isdigit():
            raise WrongUsage(f"{pair!r} is not of the form N=TEXT.")
        if int(number) not in known:
            raise UserError(f"There is no change {number}; there are {len(known)}.", SEE)
        edits[int(number)] = text
    rejected = numbers(options.reject, known)
    accepted = numbers(options.accept, known) | set(edits)
    if options.accept == "all" and options.reject not in (None, "all"):
        accepted -= rejected
    if options.reject == "all" and options.accept not in (None, "all"):
        rejected -= accepted
    if both := accepted & rejected:
        raise WrongUsage(f"Change {min(both)} is both accepted and rejected.")
    kept = [Decision(n, "accept", edits.get(n)) for n in sorted(accepted)]
    return kept + [Decision(n, "reject") for n in sorted(rejected)]


async def review(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        if options.apart is not None:
            await engine.do.take_apart(options.proposal, options.apart)
        if options.together is not None:
            await engine.do.put_together(options.proposal, options.together)
        proposal = await engine.ask.proposal(options.proposal)
        decisions = decisions_of(options, proposal)
        if not decisions:
            show_proposal(proposal, out)
            out.data(proposal_row(proposal))
            return DONE
        applied = await engine.do.apply(options.proposal, decisions)
        written = applied.state != "rejected"
        said = f"Written as version {applied.version}" if written else "Nothing more was written"
        out.text(f"{said}; {applied.left_waiting} left undecided.")
        out.data({"version": applied.version, "rest": applied.left_waiting, "state": applied.state})
        return DONE


def _review(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("proposal", metavar="PROPOSAL", help="the proposal's id")
    parser.add_argument("--accept", metavar="all|N,N", help="changes to accept")
    parser.add_argument("--reject", metavar="all|N,N", help="changes to reject")
    parser.add_argument("--edit", action="append", metavar="N=TEXT", help="accept with own words")
    regroup = parser.add_mutually_exclusive_group()
    regroup.add_argument(
        "--apart", type=int, metavar="N", help="first make each line of merge or split N a change"
    )
    regroup.add_argument(
        "--together", type=int, metavar="N", help="first make the group of part N one change again"
    )


def _consolidate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--apply", action="store_true", help="apply if every check passes")
    parser.add_argument(
        "--again", metavar="PROPOSAL", help="the run behind a proposal once more; needs --model"
    )
    parser.add_argument(
        "--model", dest="again_model", metavar="NAME",
        help="the model for --again: SERVER:MODEL, a server's name, or extractive",
    )  # fmt: skip


SOURCES = "sources[{path, line, text, session_id, entry_id, section}]"
CHANGE = f"{{n, kind, before, after, old, conflict, group, {SOURCES}}}"
PROPOSAL = (
    f"{{proposal, state, checks[{{name, ok, detail}}], changes[{CHANGE}], applied, again_of}}"
)

ROWS = [
    Command(
        "consolidate",
        "Propose what long-term memory should become.",
        consolidate,
        _consolidate,
        gives=f"{PROPOSAL}; with --again also compared[change]; without a proposal its reason",
    ),
    Command(
        "proposals",
        "List proposals, waiting and past.",
        proposals,
        lambda p: p.add_argument(
            "--statistics", action="store_true", help="what was accepted, per model and prompt"
        ),
        gives="a list of {id, state, when, model, changes, dropped, added, inputs, failed_checks, "
        "rebuild, again_of}; with --statistics of {model, prompt_hash, curator, proposals, "
        "accepted, edited, rejected}",
    ),
    Command(
        "review",
        "Decide a proposal change by change and apply it.",
        review,
        _review,
        gives=f"{{version, rest, state}}; undecided {PROPOSAL}",
    ),
]
