"""What a command is, how it is found, run, and how its failures become sentences."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import io
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from app.engine.errors import ModelError, StorageError, UserError, WorkspaceUnusable

DONE, DID_NOT_HAPPEN, USAGE, NO_WORKSPACE, MODEL_FAILED, INTERRUPTED = 0, 1, 2, 3, 4, 130

# name -> the module that holds it; modules are imported when their command is asked for.
COMMANDS: dict[str, str] = {
    **dict.fromkeys(("init", "chat", "sessions", "show", "context", "compact", "flush"), "talk"),
    **dict.fromkeys(("consolidate", "proposals", "review"), "curate"),
    **dict.fromkeys(("history", "diff", "restore", "why"), "versions"),
    **dict.fromkeys(("search", "index", "doctor"), "keep"),
    **dict.fromkeys(("evicted", "maintain"), "tidy"),
    **dict.fromkeys(("export", "models"), "keep"),
    "import": "bring",
    "tour": "showing",
}


@dataclass(frozen=True)
class Command:
    """One row: what it is called, what it does, its arguments, and how it runs.

    `work` takes the parsed arguments and a `Printer` and returns an exit code; one that is no
    coroutine brings its own loop. `gives` names the keys of its JSON, for `--help`. A command
    without `workspace` opens none. `words`: it takes the words of a query, among its options; one
    that begins with one "-" is such a word, and no option.
    """

    name: str
    help: str
    work: Callable[[argparse.Namespace, Printer], Awaitable[int] | int]
    arguments: Callable[[argparse.ArgumentParser], object] = lambda parser: None
    workspace: bool = True
    gives: str = ""
    words: bool = False


class Printer:
    """Where output goes: people's text, or one JSON document. Remarks go to stderr."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._gone = False  # the reader of a stream went away

    def text(self, line: str = "") -> None:
        if not self.as_json:
            sys.stdout.write(line + "\n")

    def fragment(self, text: str) -> None:
        """A piece of a streamed reply, shown at once; nobody reading it is no reason to stop."""
        if not self.as_json:
            self._at_once(text)

    def _at_once(self, text: str = "") -> None:
        if not self._gone:
            try:
                sys.stdout.write(text)
                sys.stdout.flush()
            except BrokenPipeError:
                self._gone = True

    def data(self, value: Any) -> None:
        """The JSON document of the command."""
        if self.as_json:
            sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=_plain) + "\n")

    def row(self, value: Any) -> None:
        """One line of JSON Lines."""
        if self.as_json:
            sys.stdout.write(json.dumps(value, ensure_ascii=False, default=_plain) + "\n")

    def remark(self, line: str) -> None:
        self._at_once()  # both streams may be one pipe: what was said before stands before
        sys.stderr.write(line + "\n")


def _plain(value: object) -> str:
    """What JSON has no form for: a time as ISO 8601, as in every file of a workspace."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def find(name: str) -> Command:
    """The command of a name; its module is imported now."""
    module = importlib.import_module(f"app.cli.{COMMANDS[name]}")
    return next(c for c in module.ROWS if c.name == name)


def parser_for(command: Command) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(f"palimpsest {command.name}", description=command.help)
    if command.workspace:
        parser.add_argument(
            "workspace",
            metavar="WORKSPACE",
            nargs="?" if os.environ.get("PALIMPSEST_WORKSPACE") else None,
            default=os.environ.get("PALIMPSEST_WORKSPACE"),
            type=Path,
            help="the workspace's folder",
        )
    command.arguments(parser)
    if command.gives:
        parser.add_argument("--json", action="store_true", help=f"print JSON: {command.gives}")
    return parser


def parsed(command: Command, arguments: list[str]) -> argparse.Namespace:
    """The arguments as a command takes them. Raises `SystemExit`, as argparse does.

    Where the environment names the workspace, a first argument that is no folder is the next
    argument of the command, if it has one (`diff 1 2`, `export SESSION`).
    """
    parser = parser_for(command)
    read = parser.parse_known_args
    if command.words:
        read, arguments = parser.parse_known_intermixed_args, [_as_word(one) for one in arguments]
    options, rest = read(arguments)
    known = os.environ.get("PALIMPSEST_WORKSPACE")
    if known and not rest and command.workspace and not options.workspace.is_dir():
        other, more = read([known, *arguments])
        options = options if more else other
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return options


def _as_word(argument: str) -> str:
    """An argument that argparse takes for no option unless it is one."""
    single = argument.startswith("-") and not argument.startswith("--") and argument != "-h"
    return f" {argument}" if single else argument


def overview() -> str:
    lines = ["palimpsest [WORKSPACE]            opens the window", "palimpsest COMMAND --help", ""]
    lines += [f"  {name:<12}{find(name).help}" for name in COMMANDS]
    return "\n".join(lines)


def run(arguments: list[str]) -> int:
    """Run one command line; the exit code. A broken pipe on stdout is silence."""
    _speak_utf8()
    try:
        code = _run([as_utf8(one) for one in arguments])
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away; nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def _run(arguments: list[str]) -> int:
    from app import __version__

    if arguments[0] in ("-h", "--help"):
        sys.stdout.write(overview() + "\n")
        return DONE
    if arguments[0] == "--version":
        sys.stdout.write(f"palimpsest {__version__}\n")
        return DONE
    command = find(arguments[0])
    try:
        options = parsed(command, arguments[1:])
    except SystemExit as stop:
        return USAGE if stop.code else DONE
    done = command.work(options, Printer(getattr(options, "json", False)))
    return done if isinstance(done, int) else asyncio.run(_told(done))


def _speak_utf8() -> None:
    """Output is UTF-8 in every locale; half a character a model sent is a mark, never an end."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def as_utf8(argument: str) -> str:
    """An argument as it was typed, also where the locale made Python read it as ASCII."""
    try:
        return os.fsencode(argument).decode()
    except UnicodeError:
        return argument  # no UTF-8, such as the name of an old file: it stays what it was


async def _told(work: Awaitable[int]) -> int:
    try:
        return await work
    except BrokenPipeError:
        raise
    except UserError as error:
        sys.stderr.write(f"{error} {error.remedy}".strip() + "\n")
        return exit_code(error)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        sys.stderr.write(f"{what}. {StorageError.remedy}\n")
        return DID_NOT_HAPPEN


def exit_code(error: UserError) -> int:
    """The exit code that fits an error's kind."""
    if isinstance(error, ModelError):
        return MODEL_FAILED
    if isinstance(error, NoWorkspace | WorkspaceUnusable):
        return NO_WORKSPACE
    if isinstance(error, WrongUsage):
        return USAGE
    return DID_NOT_HAPPEN


class WrongUsage(UserError):
    """The arguments do not say what to do."""

    remedy = "Try the command with --help."


class NoWorkspace(UserError):
    """The folder is not a workspace."""

    remedy = "Make one with: palimpsest init FOLDER"
