"""A crash below Python leaves a text, and the next start looks at it.

Each process writes to a file of its own, which stays empty unless the interpreter dies of a fatal
signal; a clean end removes it. Invariant: a text that a person has not seen yet is never removed,
it becomes `last-crash.txt` beside the others when it is shown.
"""

from __future__ import annotations

import faulthandler
import os
from pathlib import Path
from typing import IO

LAST = "last-crash.txt"
_PATTERN = "crash-*.txt"


class CrashFile:
    """The file of this process in `folder`; a folder that cannot be written is no failure."""

    def __init__(self, folder: Path, pid: int | None = None) -> None:
        self._folder = folder
        self._path = folder / f"crash-{os.getpid() if pid is None else pid}.txt"
        self._file: IO[str] | None = None

    def begin(self) -> None:
        """From now on a fatal signal writes where every thread stood."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            # Appended to, because a crash of an older process of the same number may be in it.
            self._file = self._path.open("a", encoding="utf-8")
        except OSError:
            return
        faulthandler.enable(self._file)

    def end(self) -> None:
        """A clean end: nothing is left."""
        if self._file is None:
            return
        faulthandler.disable()
        self._file.close()
        self._file = None
        _remove_empty(self._path)


def take_last(folder: Path) -> str:
    """The text of a crash nobody has seen yet, "" when there is none. It is told once.

    Empty files of processes that are gone are removed on the way.
    """
    texts: list[str] = []
    for path in sorted(folder.glob(_PATTERN), key=_age):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
            if text.strip():
                os.replace(path, folder / LAST)
                texts.append(text)
            elif not _alive(path):
                path.unlink()
        except OSError:
            continue
    return "\n\n".join(texts)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _alive(path: Path) -> bool:
    """Whether the process that owns an empty file may still run."""
    number = path.stem.removeprefix("crash-")
    if not number.isdigit():
        return False
    if os.name != "posix":
        return True  # an open file cannot be removed there anyway
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _remove_empty(path: Path) -> None:
    try:
        if path.stat().st_size == 0:
            path.unlink()
    except OSError:
        pass
