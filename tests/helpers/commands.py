"""One `palimpsest COMMAND` as a process of a person whose settings and data lie in a folder.

done = command(tmp_path, "init", str(tmp_path / "ws"))
assert done.returncode == 0
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

OWN = ("PALIMPSEST_", "OPENAI_")


def environment(base: Path, **more: str) -> dict[str, str]:
    """The surroundings of that person: `base/d` for data, `base/c` for settings, and `more`."""
    known = {k: v for k, v in os.environ.items() if not k.startswith(OWN)}
    own = {"PALIMPSEST_DATA": str(base / "d"), "PALIMPSEST_CONFIG": str(base / "c")}
    return {**known, **own, **more}


def command(
    base: Path, *arguments: str, typed: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """Run it to its end, with `typed` in a pipe to it; its output is read as UTF-8."""
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        input=typed,
        capture_output=True,
        encoding="utf-8",
        env=environment(base, **more),
        timeout=60,
    )


def told(done: subprocess.CompletedProcess[str]) -> Any:
    """The one JSON document of a command that did its work."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
