"""Start-up: from process start to the first useful paint, against a bare `QMainWindow`.

Both run as fresh processes in turn, warm (bytecode compiled, files in the page cache), and each
reports when its first paint was done and how much memory it had then. `useful` means: the window
with the list of sessions. Prints medians and ratios; exit 1 when a ratio is past its limit.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

LIMIT = 2.5
RUNS = 7

BARE = """
import sys, time
from PySide6.QtWidgets import QApplication, QMainWindow
app = QApplication(sys.argv[:1])
window = QMainWindow()
window.resize(1280, 800)
window.show()
app.processEvents()
"""

OURS = """
import sys, time
from pathlib import Path
from app.program import application, first_paint
app = application()
kept = first_paint(Path(sys.argv[1]))
assert kept.window.sidebar.sessions.rows_model.rows(), "no session in the list"
"""

TAIL = """
import resource
took = time.time() - float(sys.argv[-1])
print(took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sys.stdout.flush()
import os
os._exit(0)
"""


def once(code: str, folder: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds from process start to the first paint, and resident memory in MB."""
    import time

    command = [sys.executable, "-c", code + TAIL, str(folder), str(time.time())]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds, kilobytes = out.stdout.split()[-2:]
    return float(seconds), float(kilobytes) / 1024


def measure(runs: int) -> dict[str, float]:
    """Medians of both programs and their ratios."""
    import asyncio

    from app.demo import build
    from app.engine.session.store import SessionStore
    from app.engine.workspace.layout import Layout

    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        folder = root / "data" / "demo" / "Greenhouse"
        folder.parent.mkdir(parents=True)
        asyncio.run(build(folder, datetime.now().astimezone()))
        SessionStore(Layout.at(folder)).list()  # as the run before this one has left it
        environment = {
            **os.environ,
            "PALIMPSEST_DATA": str(root / "data"),
            "PALIMPSEST_CONFIG": str(root / "config"),
            "PYTHONPYCACHEPREFIX": str(root / "bytecode"),
            "QT_QPA_PLATFORM": os.environ.get("QT_QPA_PLATFORM", "offscreen"),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for code in (BARE, OURS):
            once(code, folder, environment)  # compiles, warms the page cache and the icon cache
        pairs = [
            (once(BARE, folder, environment), once(OURS, folder, environment)) for _ in range(runs)
        ]
    bare_s, bare_mb = (statistics.median(pair[0][i] for pair in pairs) for i in (0, 1))
    ours_s, ours_mb = (statistics.median(pair[1][i] for pair in pairs) for i in (0, 1))
    return {
        "bare_seconds": round(bare_s, 3),
        "first_paint_seconds": round(ours_s, 3),
        "first_paint_ratio": round(statistics.median(p[1][0] / p[0][0] for p in pairs), 2),
        "first_paint_ratio_limit": LIMIT,
        "bare_megabytes": round(bare_mb, 1),
        "megabytes": round(ours_mb, 1),
        "memory_ratio": round(ours_mb / bare_mb, 2),
        "memory_ratio_limit": LIMIT,
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.benchmarks startup")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args(arguments)
    found = measure(options.runs)
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        for key, value in found.items():
            print(f"{key:<28} {value}")
    over = found["first_paint_ratio"] > LIMIT or found["memory_ratio"] > LIMIT
    return 1 if over else 0
