"""The command that brings in what other programs kept: import."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import msgspec

from app.cli.command import DID_NOT_HAPPEN, DONE, Command, Printer
from app.cli.opened import opened
from app.engine.interop.motus import Imported


async def bring(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        done = await engine.do.import_motus(options.path)
        for one in done:
            (out.remark if one.problem else out.text)(described(one))
            for flag in one.flags:
                out.remark(f"{one.file}: {flag}")
        taken = [one for one in done if not one.problem]
        if not done:
            out.remark(f"There are no Motus logs in {options.path}.")
        elif taken:
            out.text(
                "Motus itself would go on from the last summary alone; here what followed it is "
                "kept, and all earlier text stays in the log."
            )
        out.data({
            "imported": len(taken),
            "sessions": [msgspec.to_builtins(one) for one in done],
        })  # fmt: skip
        return DONE if taken else DID_NOT_HAPPEN


def described(one: Imported) -> str:
    """One file in a line."""
    if one.problem:
        return f"{one.file}: {one.problem}"
    line = f"{one.file}: {one.messages} messages, {one.compactions} compactions"
    if one.bad_lines:
        line += f", {one.bad_lines} lines not understood"
    if one.unknown:
        line += ", unknown kinds " + ", ".join(f"{k} ({n})" for k, n in one.unknown.items())
    return f"{line} -> session {one.session_id}"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("format", metavar="FORMAT", choices=("motus",), help="motus")
    parser.add_argument("path", metavar="PATH", type=Path, help="a log, or a folder of logs")
    known = os.environ.get("PALIMPSEST_WORKSPACE")
    parser.add_argument(
        "workspace",
        metavar="WORKSPACE",
        type=Path,
        nargs="?" if known else None,
        default=known,
        help="the workspace's folder",
    )


ROWS = [
    Command(
        "import",
        "Bring in conversations of another program.",
        bring,
        _arguments,
        workspace=False,
        gives="{imported, sessions[{file, session_id, messages, compactions, blank_lines, "
        "bad_lines, unknown, flags, problem}]}",
    ),
]
