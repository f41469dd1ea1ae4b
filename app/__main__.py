"""Arguments -> window or headless command. Nothing heavy is imported before it is known which."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Entry point of `palimpsest` and `python -m app`; the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    from app.cli import COMMANDS, run

    if arguments and (arguments[0] in COMMANDS or arguments[0] in ("-h", "--help", "--version")):
        return run(arguments)
    from app.program import open_window

    return open_window(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
