"""Commands about what MEMORY.md was: history, diff, restore, why."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec

from app.cli.command import DID_NOT_HAPPEN, DONE, Command, Printer
from app.cli.curate import CHANGE, SOURCES, change_row, moment, show_changes
from app.cli.opened import opened
from app.engine.records import Loss, Provenance, Version


def version_row(version: Version) -> dict[str, Any]:
    return {
        "version": version.number, "when": version.when.isoformat(), "cause": version.cause,
        "run": version.run, "model": version.model, "added": version.added,
        "dropped": version.dropped,
    }  # fmt: skip


def loss_row(loss: Loss) -> dict[str, Any]:
    """`version` and `line` are what `restore VERSION --line N` takes."""
    return {
        "text": loss.text, "section": loss.section, "version": loss.held, "line": loss.line,
        "dropped_by": version_row(loss.version),
    }  # fmt: skip


async def history(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        if options.losses:
            lost = await engine.ask.losses(limit=100_000)
            for one in lost:
                by = one.version
                who = f"{by.cause} {one.run}".strip()
                out.text(f"version {one.held}, line {one.line}: {one.text.strip()}")
                out.text(f"      gone since {moment(by.when)}, version {by.number}, {who}")
            out.text(f"{len(lost)} lost." if lost else "Nothing was lost.")
            out.data([loss_row(one) for one in lost])
            return DONE
        known = await engine.ask.versions(limit=100_000)
        for one in known:
            counts = f"+{one.added} −{one.dropped}"
            more = "  ".join(part for part in (one.run, one.model, one.note) if part)
            out.text(f"{one.number:>5}  {moment(one.when)}  {one.cause:<14} {counts:<9} {more}")
        if not known:
            out.text("MEMORY.md has no versions yet.")
        out.data([version_row(one) for one in known])
        return DONE


async def diff(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        changes = await engine.ask.compare(options.a, options.b)
        show_changes(changes, out)
        if not changes:
            newest = [] if options.b else await engine.ask.versions(1)
            out.text(
                "No difference." + "".join(f" The file is version {v.number}." for v in newest)
            )
        out.data([change_row(change) for change in changes])
        return DONE


async def restore(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        if options.line is None:
            applied = await engine.do.restore_version(options.version)
            what = f"Version {options.version}"
        else:
            applied = await engine.do.bring_back(options.version, options.line)
            what = f"Line {options.line} of version {options.version}"
        out.text(f"{what} is back, as version {applied.version}.")
        out.data({"version": applied.version})
        return DONE


def why_row(found: Provenance) -> dict[str, Any]:
    since = found.since
    return {
        "line": found.line,
        "text": found.text,
        "since": version_row(since) if since else None,
        "run": since.run if since else "",
        "model": since.model if since else "",
        "sources": [msgspec.to_builtins(source) for source in found.sources],
        "broken": found.broken,
    }


async def why(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        found = await engine.ask.why(options.line)
        if not found.text and not found.since:
            out.remark(f"{found.broken} Its lines are counted from 1: open it and count again.")
            out.data(why_row(found))
            return DID_NOT_HAPPEN
        out.text(found.text)
        if since := found.since:
            by = ", ".join(part for part in (since.cause, since.run, since.model) if part)
            out.text(f"  since {moment(since.when)}, version {since.number}, {by}")
        for source in found.sources:
            out.text(f"  {source.path}#{source.line}: {source.text}")
            if source.session_id:
                out.text(f"    session {source.session_id}, entry {source.entry_id}")
        if found.broken:
            out.text(f"  {found.broken}")
        out.data(why_row(found))
        return DONE


def _diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", nargs="?", type=int, help="a version (the last)")
    parser.add_argument("b", metavar="B", nargs="?", type=int, help="another (the file now)")


def _restore(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("version", type=int, metavar="VERSION", help="its number")
    parser.add_argument("--line", type=int, metavar="N", help="only the fact at this line of it")


ROWS = [
    Command(
        "history",
        "List the versions of MEMORY.md.",
        history,
        lambda p: p.add_argument(
            "--losses", action="store_true", help="the facts that were dropped and are gone"
        ),
        gives="a list, newest first, of {version, when, cause, run, model, added, dropped}; with "
        "--losses of {text, section, version, line, dropped_by}",
    ),
    Command(
        "diff",
        "Compare two versions, or the last and the file now.",
        diff,
        _diff,
        gives=f"a list of {CHANGE}",
    ),
    Command(
        "restore",
        "Write an earlier version back, as a new one.",
        restore,
        _restore,
        gives="{version}",
    ),
    Command(
        "why",
        "Where a line of MEMORY.md came from.",
        why,
        lambda p: p.add_argument("line", type=int, metavar="LINE", help="its number in the file"),
        gives=f"{{line, text, since, run, model, {SOURCES}, broken}}",
    ),
]
