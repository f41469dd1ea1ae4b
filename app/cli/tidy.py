"""Commands that put things away: evicted, maintain. What moves is shown before it moves."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from app.cli.command import DID_NOT_HAPPEN, DONE, USAGE, Command, Printer
from app.cli.curate import count
from app.cli.opened import opened, wait_for_job
from app.engine.events import Activity
from app.engine.records import EvictedInfo, JobInfo

if TYPE_CHECKING:
    from app.engine.engine import Engine


STEPS = ("archive", "consolidation", "prune", "reindex")


def evicted_row(one: EvictedInfo) -> dict[str, Any]:
    return {
        "path": one.path, "tool": one.tool, "session": one.session_id, "bytes": one.bytes,
        "state": one.state, "when": one.when.isoformat() if one.when else None,
    }  # fmt: skip


async def evicted(options: argparse.Namespace, out: Printer) -> int:
    if options.clean != (options.older_than is not None):
        out.remark("--clean and --older-than DAYS go together.")
        return USAGE
    async with opened(options) as engine:
        known = await engine.ask.evicted()
        if options.orphans:
            known = [one for one in known if one.state == "orphan"]
        if options.clean:
            return await _clean(engine, _older(known, options.older_than), options.yes, out)
        _show(known, out)
        if not known:
            out.text("Nothing was put aside.")
        out.data([evicted_row(one) for one in known])
        return DONE


def _show(known: Sequence[EvictedInfo], out: Printer) -> None:
    for one in known:
        out.text(f"{one.bytes:>12}  {one.state:<8} {one.tool:<16} {one.path}")


def _older(known: Sequence[EvictedInfo], days: float) -> list[EvictedInfo]:
    """Files that are there and at least so old; one without a time is never called old."""
    before = datetime.now(UTC) - timedelta(days=days)
    return [
        one for one in known if one.state != "missing" and one.when is not None
        and one.when <= before
    ]  # fmt: skip


async def _clean(engine: Engine, chosen: Sequence[EvictedInfo], sure: bool, out: Printer) -> int:
    """Show what would go to the trash, ask, and move it there."""
    _show(chosen, out)
    total = sum(one.bytes for one in chosen)
    if chosen and not sure and not _asked(f"Move {count(len(chosen), 'file')}, {total:,} bytes?"):
        out.remark("Nothing was moved. Say --yes to move them without being asked.")
        out.data({"moved": 0, "bytes": 0, "files": [evicted_row(one) for one in chosen]})
        return DID_NOT_HAPPEN
    moved = await engine.do.clean_evicted([one.path for one in chosen]) if chosen else 0
    days = (await engine.ask.config()).maintenance.trash_days
    said = f"{count(moved, 'file')} moved to the trash, to be deleted from it after {days} days."
    out.text(said if moved else "Nothing is that old.")
    out.data({"moved": moved, "bytes": total, "files": [evicted_row(one) for one in chosen]})
    return DONE


def _asked(question: str) -> bool:
    """A yes typed by a person; nobody there to type is a no."""
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


async def maintain(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        if options.dry_run:
            return await _would_do(engine, out)
        told: list[Activity] = []
        end = engine.events.subscribe(lambda e: told.append(e) if isinstance(e, Activity) else None)
        job = await wait_for_job(engine, await engine.do.maintain())
        end()
        steps = _steps(told, job)
        moves = await engine.ask.moves(job.id)
        for step in steps:
            out.text(f"{step['step']} {step['state']}. {step['reason']}".rstrip())
        if not steps and job.state == "done":
            out.text("The program that has this workspace open ran it; its Activity has the steps.")
        for move in moves:
            out.text(f"{move.step}: {move.source} → {move.target}")
        done = job.state == "done"
        (out.text if done else out.remark)(f"{job.result or job.reason} {job.remedy}".strip())
        allowed = (await engine.ask.config()).maintenance.retention_allowed
        if not allowed and await engine.ask.retention_preview():
            out.remark("See the list with: palimpsest maintain --dry-run")
        out.data({
            "state": job.state, "result": job.result, "reason": job.reason, "held": not allowed,
            "steps": steps,
            "moves": [msgspec.to_builtins(move) for move in moves],
        })  # fmt: skip
        return DONE if done else DID_NOT_HAPPEN


def _steps(told: Sequence[Activity], job: JobInfo) -> list[dict[str, str]]:
    """How each step of a round went; none when another program on this workspace ran it.

    A step of others, which says nothing of its own end, has finished when its round has ended.
    """
    ended = {
        one.step: (one.state, one.reason) for one in told
        if one.job_id == job.id and one.state in ("finished", "failed", "skipped")
    }  # fmt: skip
    went = [ended.get(step, ("finished", "")) for step in STEPS if ended]
    return [
        {"step": step, "state": state, "reason": reason}
        for step, (state, reason) in zip(STEPS, went, strict=False)
    ]


async def _would_do(engine: Engine, out: Printer) -> int:
    """What a round would do, step by step. Who has seen the list lets the next round act on it."""
    rows = await engine.ask.retention_preview()
    due = [one for one in await engine.ask.upcoming() if one.kind == "consolidate"]
    for row in rows:
        out.text(f"{row.step}: {row.path}, {row.age} days old. {row.rule}")
    out.text("Nothing would move." if not rows else f"{len(rows)} would move.")
    for one in due:
        out.text(f"consolidate: {one.reason}")
    held = not (await engine.ask.config()).maintenance.retention_allowed
    if rows and held and not engine.read_only:
        await engine.do.allow_retention()
        out.remark("You have seen the list: from now on rounds of maintenance move what is due.")
    out.data({
        "moves": [msgspec.to_builtins(row) for row in rows],
        "consolidate": [one.reason for one in due], "held": held,
    })  # fmt: skip
    return DONE


def _evicted(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--orphans", action="store_true", help="only those nobody names")
    parser.add_argument("--clean", action="store_true", help="move them to the trash")
    parser.add_argument("--older-than", type=float, metavar="DAYS", help="only those so old")
    parser.add_argument("--yes", action="store_true", help="without being asked")


ROWS = [
    Command(
        "evicted",
        "List tool results that were put aside.",
        evicted,
        _evicted,
        gives="a list of {path, tool, session, bytes, state, when}; with --clean {moved, bytes, "
        "files}",
    ),
    Command(
        "maintain",
        "Archive, consolidate, prune, re-index.",
        maintain,
        lambda p: p.add_argument("--dry-run", action="store_true", help="say what would move"),
        gives="{state, result, reason, held, steps[{step, state, reason}], moves[{run, when, step, "
        "source, target, rule}]}; with --dry-run {moves[{step, path, rule, age, session_id}], "
        "consolidate, held}",
    ),
]
