"""The machine's own share of a gap: waiting for a processor, and what a hypervisor takes away."""

from __future__ import annotations

from pathlib import Path

TICK = 0.01
"""Seconds of the unit in which the system counts."""


def in_queue() -> float:
    """Seconds this thread has been ready to run without a processor; 0.0 where nobody counts."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def stolen() -> float:
    """Seconds that the processors of this machine ran somebody else's machine."""
    try:
        return int(Path("/proc/stat").read_bytes().split(b"\n", 1)[0].split()[8]) * TICK
    except (OSError, IndexError):
        return 0.0
