"""`search` on the command line: a line's other places, and words to try instead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.helpers.searching import put


def cli(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    known = {k: v for k, v in os.environ.items() if not k.startswith(("PALIMPSEST_", "OPENAI_"))}
    own = {"PALIMPSEST_DATA": str(root / "d"), "PALIMPSEST_CONFIG": str(root / "c")}
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        capture_output=True, text=True, env=known | own, timeout=60, check=False,
    )  # fmt: skip


def test_places_and_nearest_words_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    assert cli(tmp_path, "init", str(folder)).returncode == 0
    put(folder, "MEMORY.md", "- The pump runs 4 minutes\n")
    put(folder, "memory/2026-06-02.md", "- The pump runs 4 minutes\n")

    def asked(*arguments: str) -> dict[str, Any]:
        return json.loads(cli(tmp_path, "search", str(folder), *arguments, "--json").stdout)

    found = asked("When does the pump run?", "--natural")
    (hit,) = found["hits"]
    assert hit["path"] == "MEMORY.md"
    assert ["memory/2026-06-02.md", 1] in hit["places"]
    assert found["total"] == 1 + len(hit["places"])
    nothing = asked("pmup")
    assert nothing["hits"] == []
    assert nothing["reason"]
    assert nothing["nearest"] == ["pump"]
    told = cli(tmp_path, "search", str(folder), "pmup").stdout
    assert "Near: pump" in told
