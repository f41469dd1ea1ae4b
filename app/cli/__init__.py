"""The engine without a window: `palimpsest COMMAND`.

Commands live in one module per kind of work and are plain rows: a name, a sentence, its arguments,
and a coroutine. Output is for people, or one JSON document with `--json`. Exit codes: 0 done, 1 it
did not happen, 2 wrong usage, 3 the workspace is not usable, 4 the model failed, 130 interrupted.
"""

from __future__ import annotations

from app.cli.command import COMMANDS, run

__all__ = ["COMMANDS", "run"]
