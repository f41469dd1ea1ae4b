"""The one command that needs a window: the tour."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.cli.command import Command, Printer


def tour(options: argparse.Namespace, out: Printer) -> int:
    """Brings its own loop: the window's."""
    from app.tour import run_tour

    return run_tour(options.out)


def _tour(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="for the pictures")


ROWS = [Command("tour", "Drive the window and take pictures.", tour, _tour, workspace=False)]
