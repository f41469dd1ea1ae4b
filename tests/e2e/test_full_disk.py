"""A disk that fills up in the middle of work: nothing acknowledged is lost, no file is torn."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.engine.config import EngineConfig, MemoryConfig
from app.engine.errors import UserError
from app.engine.records import Decision
from tests.helpers.crashes import model, torn_files
from tests.helpers.workspaces import EngineDesk, engine_on

REVIEW = EngineConfig(memory=MemoryConfig(policy="review"))


class Disk:
    """Where the workspace lies; `full` says whether anything more fits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        raise NotImplementedError

    def free(self) -> None:
        raise NotImplementedError


class SmallDisk(Disk):
    """A real one of a few megabytes."""

    def fill(self) -> None:
        with (self.folder / "filler").open("wb", buffering=0) as file:
            for size in (1 << 16, 512, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def free(self) -> None:
        (self.folder / "filler").unlink()


class FailingDisk(Disk):
    """Every write into a file gets half-way and fails; so does every fsync."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder)
        self.full = False
        write, fsync = os.write, os.fsync

        def on_file(fd: int) -> bool:
            return self.full and stat.S_ISREG(os.fstat(fd).st_mode)

        def half(fd: int, data: bytes) -> int:
            if not on_file(fd):
                return write(fd, data)
            write(fd, bytes(data)[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def unsynced(fd: int) -> None:
            if on_file(fd):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fsync(fd)

        monkeypatch.setattr(os, "write", half)
        monkeypatch.setattr(os, "fsync", unsynced)

    def fill(self) -> None:
        self.full = True

    def free(self) -> None:
        self.full = False


@pytest.fixture(params=["small", "failing"])
def disk(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Disk]:
    if request.param == "failing":
        yield FailingDisk(tmp_path, monkeypatch)
        return
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)]
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a small disk can only be mounted by root on Linux")
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this system mounts nothing")
    try:
        yield SmallDisk(place)
    finally:
        subprocess.run(["umount", str(place)], check=True)


async def said(desk: EngineDesk) -> list[str]:
    items = await desk.engine.ask.transcript(desk.session)
    return [item.text for item in items if item.kind in ("user", "assistant")]


def test_a_full_disk_tears_and_loses_nothing(disk: Disk) -> None:
    async def main() -> None:
        folder = disk.folder / "ws"
        async with engine_on(folder, model, config=REVIEW) as desk:
            assert (await desk.send("Boat K1x1 lies at pier 11.")).state == "finished"
            await desk.engine.drain()
            await desk.engine.do.remember("Boat K1x2 lies at pier 12")
            memory = (folder / "MEMORY.md").read_bytes()
            days = {p.name: p.read_bytes() for p in folder.glob("memory/*.md")}
            before = await said(desk)
            (info,) = await desk.engine.ask.proposals(waiting=True)
            proposal = await desk.engine.ask.proposal(info.id)
            everything = [Decision(change.n, "accept") for change in proposal.changes]

            disk.fill()
            result = await desk.send("Boat K1x3 lies at pier 13. " * 400)
            assert result.state == "failed"
            assert "could not be written" in result.error
            assert "Traceback" not in result.error
            with pytest.raises(UserError):
                await desk.engine.do.remember("Boat K1x4 lies at pier 14. " * 400)
            with pytest.raises(UserError):
                await desk.engine.do.apply(info.id, everything)
            assert (folder / "MEMORY.md").read_bytes() == memory
            assert {p.name: p.read_bytes() for p in folder.glob("memory/*.md")} == days
            assert await said(desk) == before
            assert torn_files(folder) == []

            disk.free()
            assert (await desk.send("Boat K1x5 lies at pier 15.")).state == "finished"
            await desk.engine.do.apply(info.id, everything)
            session, now = desk.session, await said(desk)
        assert torn_files(folder) == []
        async with engine_on(folder, model, config=REVIEW) as desk:
            desk.session = session
            assert await said(desk) == now
            assert now[: len(before)] == before
            assert "Boat K1x5 lies at pier 15." in now
            text = (await desk.engine.ask.memory()).text
            assert "Boat K1x1 lies at pier 11" in text
            assert "Boat K1x2 lies at pier 12" in text
            assert [f for f in await desk.engine.ask.doctor() if f.severity == "error"] == []

    asyncio.run(asyncio.wait_for(main(), 90))
