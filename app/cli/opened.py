"""Opening a workspace for one command, and waiting for its jobs."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.command import NoWorkspace
from app.engine.records import JobInfo

if TYPE_CHECKING:
    from app.engine.engine import Engine


@asynccontextmanager
async def opened(options: argparse.Namespace) -> AsyncIterator[Engine]:
    """The engine of the command's workspace, closed afterwards. Flags win over environment."""
    from app.startup import open_engine

    folder: Path = options.workspace
    if not (folder / ".palimpsest").is_dir() and not (folder / "MEMORY.md").exists():
        raise NoWorkspace(f"{folder} is not a workspace.")
    engine = await open_engine(
        folder,
        url=getattr(options, "endpoint", None) or os.environ.get("PALIMPSEST_ENDPOINT"),
        model=getattr(options, "model", None) or os.environ.get("PALIMPSEST_MODEL"),
        strategy=getattr(options, "strategy", None),
        memory=not getattr(options, "no_memory", False),
    )
    if engine.problem:
        sys.stderr.write(f"{engine.problem}\n")
    try:
        yield engine
    finally:
        await engine.close()


async def wait_for_job(engine: Engine, job_id: str) -> JobInfo:
    """The job when it has ended. A terminal at stderr is told how far it is."""
    shown = ""
    while True:
        job = next((j for j in await engine.ask.jobs() if j.id == job_id), None)
        if job is not None and job.state not in ("waiting", "running"):
            sys.stderr.write("\r\x1b[K" if shown else "")
            return job
        if sys.stderr.isatty() and job is not None and shown != (now := _how_far(job)):
            shown = now
            sys.stderr.write(f"\r\x1b[K{shown}")
            sys.stderr.flush()
        await asyncio.sleep(0.05)


def _how_far(job: JobInfo) -> str:
    return f"{job.kind}: {job.state}" + (f", {job.done} of {job.total}" if job.total else "")
