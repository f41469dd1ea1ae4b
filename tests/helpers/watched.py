"""A trap for what a shown text must not do: ask a server, or read a file."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_IN_OPEN = 0x20


class Trap:
    """A server on loopback and a picture on disk. `asked` and `opened` must stay empty."""

    def __init__(self, port: int, picture: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.picture = picture
        self.asked: list[bytes] = []
        self.notes = -1

    @property
    def opened(self) -> int:
        """How often the picture was opened since this was asked last (Linux: inotify)."""
        with contextlib.suppress(BlockingIOError):
            return len(os.read(self.notes, 65_536)) // 16
        return 0


@contextmanager
def trap(folder: Path) -> Iterator[Trap]:
    """Listen and watch until the block is left."""
    picture = folder / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * 64)
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.05)
    made = Trap(server.getsockname()[1], picture)
    libc = ctypes.CDLL(None, use_errno=True)
    made.notes = libc.inotify_init1(os.O_NONBLOCK)
    assert libc.inotify_add_watch(made.notes, os.fsencode(picture), _IN_OPEN) > 0
    ended = threading.Event()

    def listen() -> None:
        while not ended.is_set():
            with contextlib.suppress(OSError):
                one, _ = server.accept()
                made.asked.append(one.recv(2_000))
                one.close()

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield made
    finally:
        ended.set()
        thread.join()
        server.close()
        os.close(made.notes)
