"""Preparing in a process of its own, so that the window's process only writes.

Idea: cutting text into terms is Python's work and would share one lock with the window. The process
is given what `batches` is given, on its standard input, and sends batches back, each behind its
length; what is wanted first is prepared here meanwhile. Invariant: what comes is what `batches`
itself would give; if the process cannot begin or ends too soon, the rest is prepared here. Nothing
but these two pipes connects the two.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from datetime import tzinfo
from pathlib import Path
from typing import Any

import msgspec

import app
from app.engine.search.preparing import Batch, Known, batches

WORTH = 8_000_000
"""Bytes to read above which a process of its own is worth its beginning (a third of a second)."""
FIRST = 3_000_000
"""Bytes that are read here while the process begins, at most."""
AHEAD = 3
"""Batches that are taken from the process before they are asked for."""
_HEAD = 8
_DECODER = msgspec.msgpack.Decoder(Batch)


def batches_apart(
    root: Path, paths: list[str], known: Known, *, now_ns: int, zone: tzinfo, beside: str = ""
) -> Generator[Batch]:
    """As `batches`, prepared by another process. Closing the iterator ends it."""
    done, here = 0, _read_here(root, paths)
    begun = begin((root, paths[here:], dict(known), now_ns, zone, beside))
    with begun or nullcontext() as process, ThreadPoolExecutor(1) as reading:
        try:
            coming = deque(reading.submit(receive, process) for _ in range(AHEAD))
            for batch in batches(
                root, paths[:here], known, now_ns=now_ns, zone=zone, beside=beside
            ):
                done += batch.paths
                yield batch
            while (batch := coming.popleft().result()) is not None:
                coming.append(reading.submit(receive, process))
                done += batch.paths
                yield batch
        finally:
            if process is not None:
                process.kill()
    if done < len(paths):
        yield from batches(root, paths[done:], known, now_ns=now_ns, zone=zone, beside=beside)


def _read_here(root: Path, paths: list[str]) -> int:
    """How many of the paths, from the first on, hold `FIRST` bytes."""
    room = FIRST
    for count, path in enumerate(paths):
        with suppress(OSError):
            room -= (root / path).stat().st_size
        if room < 0:
            return count
    return len(paths)


def begin(request: tuple[Any, ...]) -> subprocess.Popen[bytes] | None:
    """The process, with its request sent; None where there can be none."""
    if getattr(sys, "frozen", False):
        return None  # a frozen program is no interpreter
    place = str(Path(app.__file__).parents[1])
    known = [place, *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "app.engine.search.helper"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(known)},
        )
    except OSError:
        return None
    assert process.stdin is not None
    try:
        pickle.dump(request, process.stdin)
        process.stdin.close()
    except OSError:
        pass  # it ended already: `receive` finds nothing
    process.stdin = None
    return process


def receive(process: subprocess.Popen[bytes] | None) -> Batch | None:
    """The next batch; None when the process has ended."""
    if process is None:
        return None
    assert process.stdout is not None
    head = process.stdout.read(_HEAD)
    if len(head) < _HEAD:
        return None
    size = int.from_bytes(head, "big")
    data = process.stdout.read(size)
    return _DECODER.decode(data) if len(data) == size else None


def main() -> None:
    """Answer the one request on standard input."""
    root, paths, known, now_ns, zone, beside = pickle.load(sys.stdin.buffer)
    encoder = msgspec.msgpack.Encoder()
    for batch in batches(root, paths, known, now_ns=now_ns, zone=zone, beside=beside):
        data = encoder.encode(batch)
        sys.stdout.buffer.write(len(data).to_bytes(_HEAD, "big"))
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
