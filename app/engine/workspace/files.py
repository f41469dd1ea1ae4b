"""Files that survive a crash: whole replacements, durable appends, locks; encoding with care.

Invariants: a replacement is seen whole or not at all; an append is on the disk when the call
returns, or the file is as before; a file that is not UTF-8 is refused by name and left alone. A
line ends at U+000A only (specification, section 3). All of it blocks: call it in a thread.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from app.engine.errors import StorageError, Unreadable, WorkspaceBusy
from app.engine.workspace.system_locks import lock_fd, unlock_fd

BOM = b"\xef\xbb\xbf"
NO_FILE_SHA256 = ""  # stands for a file that is not there
_WIDE_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"), (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"),
)  # fmt: skip


class TextFile(Struct, frozen=True):
    """A text as read: without its BOM, its CRLFs as U+000A. `sha256` is of the bytes on disk.

    `newline` is the file's own style ("\\n" or "\\r\\n", the majority when mixed); give it back to
    `encode` when rewriting.
    """

    text: str
    newline: str
    bom: bool
    sha256: str

    @property
    def blank(self) -> bool:
        """Nothing but white space: what the specification calls an empty file."""
        return not self.text.strip()


# ---------------------------------------------------------------------------- text


def well_formed(text: str) -> str:
    """`text` with each lone surrogate replaced by U+FFFD; pairs are joined (case B49)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def digest(data: bytes) -> str:
    """Lower-case hex of the SHA-256."""
    return hashlib.sha256(data).hexdigest()


def encode(text: str, *, newline: str = "\n", bom: bool = False) -> bytes:
    """The bytes of a file that keeps its newline style and BOM."""
    if newline == "\r\n":
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return (BOM if bom else b"") + well_formed(text).encode()


def decode(data: bytes, name: str) -> TextFile:
    """Text of UTF-8 bytes. Raises `Unreadable` naming the file and its likely encoding."""
    for mark, encoding in _WIDE_MARKS:
        if data.startswith(mark):
            raise _foreign(name, encoding)
    bom = data.startswith(BOM)
    body = data[len(BOM) :] if bom else data
    # ASCII in UTF-16 is valid UTF-8 with a NUL beside each letter.
    if body.count(0) * 3 > len(body):
        raise _foreign(name, "UTF-16")
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise _foreign(name, _guess(body)) from None
    crlf = text.count("\r\n")
    newline = "\r\n" if crlf * 2 > text.count("\n") else "\n"
    return TextFile(text.replace("\r\n", "\n"), newline, bom, digest(data))


def _guess(data: bytes) -> str:
    """A likely name for bytes that are not UTF-8."""
    if data.count(0) * 10 > len(data):
        return "UTF-16"
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return "an unknown encoding"
    wide = sum(1 for c in text if ord(c) > 0x7F)
    chinese = sum(1 for c in text if "\u3000" <= c <= "\u9fff" or "\uff00" <= c <= "\uffef")
    return "GBK" if chinese * 2 > wide else "an unknown encoding"


def _foreign(name: str, encoding: str) -> Unreadable:
    return Unreadable(f"{name} is not UTF-8 text; it looks like {encoding}.")


def open_regular(path: Path) -> BinaryIO | None:
    """A regular file, open for reading; None when there is none.

    Raises `Unreadable` for anything that is not a regular file (a FIFO never hangs) and for a file
    that may not be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        fd = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unreadable(
            f"{path.name} cannot be read: {_why(error)}.", "Mend its permissions."
        ) from error
    try:
        must_be_regular(path, os.fstat(fd))
    except Unreadable:
        os.close(fd)
        raise
    return open(fd, "rb")


def must_be_regular(path: Path, found: os.stat_result) -> None:
    """Raise `Unreadable` when what `stat` found of a path is no regular file."""
    if not stat.S_ISREG(found.st_mode):
        raise Unreadable(f"{path.name} is not a regular file.", "Move it out of the way.")


def read_bytes(path: Path) -> bytes | None:
    """The bytes of a regular file; None when there is none. Raises as `open_regular`."""
    file = open_regular(path)
    if file is None:
        return None
    with file:
        try:
            return file.read()
        except OSError as error:
            raise Unreadable(f"{path.name} cannot be read: {_why(error)}.") from error


def read_text(path: Path) -> TextFile | None:
    """A UTF-8 text file; None when absent. `blank` tells an empty one. Else `Unreadable`."""
    data = read_bytes(path)
    return None if data is None else decode(data, path.name)


# ---------------------------------------------------------------------------- writing


def make_folder(path: Path) -> None:
    """Make a folder and its parents, each new one 0700. Raises `StorageError`."""
    missing: list[Path] = []
    probe = path
    while not probe.exists() and probe != probe.parent:
        missing.append(probe)
        probe = probe.parent
    try:
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        if not path.is_dir():
            raise NotADirectoryError(20, "there is something else of that name")
    except OSError as error:
        raise StorageError(f"The folder {path.name} cannot be made: {_why(error)}.") from error


def write_atomic(path: Path, data: bytes) -> None:
    """Replace `path` whole: temporary file, fsync, rename, fsync of the folder.

    A new file is 0600, a replaced one keeps its mode. The path must not be a link (resolve it
    first, by `confine`). Raises `StorageError`; the old file is then unchanged.
    """
    make_folder(path.parent)
    temporary = ""
    try:
        fd, temporary = tempfile.mkstemp(
            prefix=f".{path.name[:64]}.", suffix=".tmp", dir=path.parent
        )
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            with contextlib.suppress(FileNotFoundError):
                os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise StorageError(f"{path.name} could not be written: {_why(error)}.") from error


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable; a system that cannot do that is left as it is."""
    if sys.platform == "win32":
        return
    fd = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network disks refuse
            os.fsync(fd)
    finally:
        os.close(fd)


def append_durable(path: Path, data: bytes, *, own_line: bool = True, sync: bool = True) -> int:
    """Append in one locked write; on the disk when it returns. The offset of `data` is returned.

    With `own_line` a newline is put before `data` when the file's last byte is none, so that a
    torn tail never swallows a good record. A failed write is cut off again and raises
    `StorageError`. Safe between threads and processes (case B07).
    """
    make_folder(path.parent)
    try:
        with _locked_for_append(path) as (fd, new):
            size = os.fstat(fd).st_size
            lead = b"\n" if own_line and size and _last_byte(fd, size) != b"\n" else b""
            _write_or_nothing(fd, lead + data, size, sync=sync)
            if new and sync:
                sync_folder(path.parent)
            return size + len(lead)
    except OSError as error:
        raise StorageError(f"{path.name} could not be written: {_why(error)}.") from error


class AppendFile:
    """A file kept open for a writer that holds a lock of its own; one that was moved or replaced
    meanwhile is opened anew. Else it promises what `append_durable` does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1
        self._end = 0  # here the file ended with a newline

    def append(self, data: bytes, *, sync: bool = True) -> int:
        """Append whole lines; the offset of `data` is returned. Raises `StorageError`."""
        try:
            new = self._reopen()
            size = os.fstat(self._fd).st_size
            lead = b"" if size in (0, self._end) or _last_byte(self._fd, size) == b"\n" else b"\n"
            _write_or_nothing(self._fd, lead + data, size, sync=sync)
            if new and sync:
                sync_folder(self.path.parent)
            self._end = size + len(lead) + len(data)
            return size + len(lead)
        except OSError as error:
            raise StorageError(f"{self.path.name} could not be written: {_why(error)}.") from error

    def close(self) -> None:
        """Close the file; the next append opens it again."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def _reopen(self) -> bool:
        """Have the file of that name open; whether it is a new one."""
        if self._fd >= 0 and _same_file(self._fd, self.path):
            return False
        self.close()
        self._end = 0
        make_folder(self.path.parent)
        self._fd, new = _open_for_append(self.path)
        return new


@contextlib.contextmanager
def _locked_for_append(path: Path) -> Generator[tuple[int, bool], None, None]:
    while True:
        fd, new = _open_for_append(path)
        try:
            lock_fd(fd, wait=True)
            # Moved or replaced while we waited (archive, forget): that file is not ours any more.
            if not _same_file(fd, path):
                continue
            yield fd, new
            return
        finally:
            unlock_fd(fd)
            os.close(fd)


def _open_for_append(path: Path) -> tuple[int, bool]:
    """An open file, and whether it is new. Raises `OSError`, also for what is no regular file."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    new = not path.exists()
    fd = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(22, "it is not a regular file")
    return fd, new


def _write_or_nothing(fd: int, data: bytes, size: int, *, sync: bool) -> None:
    """Write all of it behind `size` bytes; what failed half-way is cut off again."""
    try:
        _write_all(fd, data)
        if sync:
            os.fsync(fd)
    except OSError:
        os.ftruncate(fd, size)
        raise


def _same_file(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


def _last_byte(fd: int, size: int) -> bytes:
    # Of the open file: one of that name may be gone, or another, since it was opened.
    os.lseek(fd, size - 1, os.SEEK_SET)
    return os.read(fd, 1)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _why(error: OSError) -> str:
    """The system's own words, without a path that could lie outside the workspace."""
    return (error.strerror or type(error).__name__).rstrip(".").lower()


# ---------------------------------------------------------------------------- locks


class Held:
    """A lock that is held until `release`. Freed by the system when the process ends."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        """Let go; a second call does nothing."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            unlock_fd(fd)
            os.close(fd)


def try_lock(path: Path) -> Held | None:
    """Take a lock file at once, or None when another holder (thread or process) has it."""
    make_folder(path.parent)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StorageError(f"The lock {path.name} cannot be made: {_why(error)}.") from error
    if lock_fd(fd, wait=False):
        return Held(fd)
    os.close(fd)
    return None


@contextlib.contextmanager
def lock(path: Path, *, timeout: float = 10.0) -> Generator[None, None, None]:
    """Hold a lock file for the block. Not re-entrant. Raises `WorkspaceBusy` after `timeout` s."""
    deadline = time.monotonic() + timeout
    pause = 0.001
    while (held := try_lock(path)) is None:
        if time.monotonic() >= deadline:
            raise WorkspaceBusy("Another program is writing to this workspace.")
        time.sleep(pause)
        pause = min(pause * 2, 0.02)
    try:
        yield
    finally:
        held.release()
