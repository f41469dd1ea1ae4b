"""Commands about long-term memory: consolidate, proposals, review, history, diff, restore, why."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

import msgspec

from app.cli.command import DID_NOT_HAPPEN, DONE, MODEL_FAILED, Command, Printer
from app.cli.opened import opened, wait_for_job
from app.engine.errors import ConfigError
from app.engine.records import Change, Decision, Proposal, Version

SIGNS = {"added": "+", "dropped": "−", "reworded": "~", "moved": "↕"}


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
    async with opened(options) as engine:
        job = await wait_for_job(engine, await engine.do.consolidate())
        if job.state != "done" or not job.target:
            said, fine = job.reason or job.result, job.state in ("done", "skipped")
            (out.text if fine else out.remark)(said)
            out.data({"proposal": None, "state": job.state, "reason": said})
            return DONE if fine else MODEL_FAILED
        proposal = await engine.ask.proposal(job.target)
        applied = None
        if options.apply and all(check.ok for check in proposal.checks):
            everything = [Decision(change.n, "accept") for change in proposal.changes]
            applied = msgspec.to_builtins(await engine.do.apply(proposal.info.id, everything))
            proposal = await engine.ask.proposal(proposal.info.id)
        show_proposal(proposal, out)
        out.data(proposal_row(proposal, applied))
        return DID_NOT_HAPPEN if options.apply and applied is None else DONE


async def proposals(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        known = await engine.ask.proposals()
        for one in known:
            when = one.when.astimezone().strftime("%Y-%m-%d %H:%M")
            out.text(f"{one.id}  {one.state:<14} {when}  {one.changes} changes")
        if not known:
            out.text("No proposals yet.")
        out.data([msgspec.to_builtins(one) for one in known])
        return DONE


def numbers(text: str | None, all_of: Iterable[int]) -> set[int]:
    """`all`, or a list such as 1,3. Raises `ConfigError` for a number that is no change."""
    if text is None:
        return set()
    known = set(all_of)
    if text == "all":
        return known
    try:
        wanted = {int(part) for part in text.split(",")}
    except ValueError as error:
        raise ConfigError(f"{text!r} is no list of numbers such as 1,3.") from error
    if missing := wanted - known:
        raise ConfigError(f"There is no change {min(missing)}; there are {len(known)}.")
    return wanted


def decisions_of(options: argparse.Namespace, proposal: Proposal) -> list[Decision]:
    """The decisions of the flags; a change named by both is refused as wrong."""
    known = [change.n for change in proposal.changes]
    edits: dict[int, str] = {}
    for pair in options.edit or []:
        number, found, text = pair.partition("=")
        if not found or not number.isdigit() or int(number) not in known:
            raise ConfigError(f"{pair!r} is not of the form N=TEXT.")
        edits[int(number)] = text
    rejected = numbers(options.reject, known)
    accepted = numbers(options.accept, known) | set(edits)
    if options.accept == "all" and options.reject not in (None, "all"):
        accepted -= rejected
    if options.reject == "all" and options.accept not in (None, "all"):
        rejected -= accepted
    if both := accepted & rejected:
        raise ConfigError(f"Change {min(both)} is both accepted and rejected.")
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
        out.text(f"Written as version {applied.version}; {applied.left_waiting} left undecided.")
        out.data({"version": applied.version, "rest": applied.left_waiting, "state": applied.state})
        return DONE


def version_row(version: Version) -> dict[str, Any]:
    return {
        "version": version.number, "when": version.when, "cause": version.cause,
        "run": version.run, "model": version.model, "added": version.added,
        "dropped": version.dropped,
    }  # fmt: skip


async def history(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        known = await engine.ask.versions(limit=100_000)
        for one in known:
            when = one.when.astimezone().strftime("%Y-%m-%d %H:%M")
            out.text(f"{one.number:>5}  {when}  {one.cause:<14} +{one.added} −{one.dropped}")
        if not known:
            out.text("MEMORY.md has no versions yet.")
        out.data([version_row(one) for one in known])
        return DONE


async def diff(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        changes = await engine.ask.compare(options.a, options.b)
        show_changes(changes, out)
        if not changes:
            out.text("No difference.")
        out.data([change_row(change) for change in changes])
        return DONE


async def restore(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        applied = await engine.do.restore_version(options.version)
        out.text(f"Version {options.version} is back, as version {applied.version}.")
        out.data({"version": applied.version})
        return DONE


async def why(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        found = await engine.ask.why(options.line)
        out.text(found.text)
        if found.since:
            when = found.since.when.astimezone().strftime("%Y-%m-%d")
            out.text(f"  since {when}, version {found.since.number}, {found.since.cause}")
        for source in found.sources:
            out.text(f"  {source.path}#{source.line}: {source.text}")
            if source.session_id:
                out.text(f"    session {source.session_id}, entry {source.entry_id}")
        if found.broken:
            out.text(f"  {found.broken}")
        out.data(msgspec.to_builtins(found))
        return DONE if found.text or found.since else DID_NOT_HAPPEN


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


def _diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", nargs="?", type=int, help="a version (the last)")
    parser.add_argument("b", metavar="B", nargs="?", type=int, help="another (the file now)")


ROWS = [
    Command(
        "consolidate",
        "Propose what long-term memory should become.",
        consolidate,
        lambda p: p.add_argument(
            "--apply", action="store_true", help="apply if every check passes"
        ),
    ),
    Command("proposals", "List proposals, waiting and past.", proposals),
    Command("review", "Decide a proposal change by change and apply it.", review, _review),
    Command("history", "List the versions of MEMORY.md.", history),
    Command("diff", "Compare two versions, or the last and the file now.", diff, _diff),
    Command(
        "restore",
        "Write an earlier version back, as a new one.",
        restore,
        lambda p: p.add_argument("version", type=int, metavar="VERSION", help="its number"),
    ),
    Command(
        "why",
        "Where a line of MEMORY.md came from.",
        why,
        lambda p: p.add_argument("line", type=int, metavar="LINE", help="its number in the file"),
    ),
]
