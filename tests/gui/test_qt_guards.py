"""Guards around the toolkit itself."""

from __future__ import annotations

import os
import subprocess
import sys

COUNTING = """
import sys
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication
app = QApplication([])
thing = QObject()
before = sys.getrefcount(None)
for _ in range(1000):
    app.processEvents()
    thing.setObjectName("x")
    thing.parent()
print(sys.getrefcount(None) - before)
"""

LEAN = """
import sys
from PySide6.QtWidgets import QApplication
app = QApplication([])
import app.gui.window.main_window
heavy = {"openai", "tiktoken", "pygit2", "keyring", "pygments", "xllamacpp", "markdown_it"}
print(sorted(heavy & set(sys.modules)))
"""


def _run(code: str) -> str:
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_calls_into_qt_keep_the_references_of_none():
    """PySide6 6.12.0 on Python 3.11 loses one at every call, and the process dies of it."""
    assert abs(int(_run(COUNTING))) < 100


def test_the_window_loads_nothing_heavy():
    assert _run(LEAN) == "[]"
