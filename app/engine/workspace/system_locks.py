"""The system's own lock on an open file: between threads and processes, freed when one dies.

`lock_fd(fd, wait=…)` says whether it was taken (always, when it waits); `unlock_fd(fd)` lets go.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time

if sys.platform == "win32":
    import msvcrt

    _FAR = 0x7FFF_0000  # locks there are mandatory: keep them off the bytes people read

    def lock_fd(fd: int, *, wait: bool) -> bool:
        while True:
            try:
                os.lseek(fd, _FAR, os.SEEK_SET)
                msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
            except OSError:
                if not wait:
                    return False
                time.sleep(0.005)
            else:
                return True

    def unlock_fd(fd: int) -> None:
        with contextlib.suppress(OSError):
            os.lseek(fd, _FAR, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def lock_fd(fd: int, *, wait: bool) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    def unlock_fd(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)
