"""Days and their logs in memory, for the place of the daily logs."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from app.engine.records import (
    DailyLine,
    DailySection,
    DayInfo,
    DayLog,
    JobInfo,
    SessionInfo,
    TranscriptItem,
)  # fmt: skip

NOW = datetime(2026, 11, 30, 14, 6, tzinfo=UTC)
TODAY = date(2026, 11, 30)


def info(path: str, day: date | None, lines: int = 2, **more: bool) -> DayInfo:
    return DayInfo(path, day, 1, lines, 100, **more)


def section(n: int, line: int, *lines: DailyLine, **more: object) -> DailySection:
    fields: dict[str, object] = {
        "kind": "flush", "when": NOW - timedelta(hours=9 - n), "run": f"r{n}", "session_id": "s1",
        "first_entry": "e3", "last_entry": "e5", **more,
    }  # fmt: skip
    return DailySection(ordinal=n, line=line, lines=lines, hash=str(n), **fields)  # type: ignore[arg-type]


def today_log() -> DayLog:
    return DayLog("memory/2026-11-30.md", TODAY, (
        section(1, 2, DailyLine(4, "- Release 2.4 is out", "merged",
                                "In MEMORY.md since version 31.", "p1"),
                DailyLine(5, "- 对账脚本改到每周一 06:30 运行", "waiting")),
        section(2, 7, DailyLine(9, "- User seems unhappy", "rejected"), DailyLine(10, "  "),
                DailyLine(11, "- High water twice", "left_out")),
        section(3, 13, DailyLine(15, "- Fuses are in the blue box"), kind="save", session_id=""),
    ))  # fmt: skip


class Engine:
    """Days, sessions and jobs in memory."""

    def __init__(self) -> None:
        self.logs = {
            "memory/2026-11-30.md": today_log(),
            "memory/2026-11-27.md": DayLog("memory/2026-11-27.md", date(2026, 11, 27), (
                section(1, 2, DailyLine(4, "- Old news", "merged")),)),
            "memory/2026-11-27-topic.md": DayLog("memory/2026-11-27-topic.md", date(2026, 11, 27),
                (section(1, 1, DailyLine(1, "- A stray"), kind="foreign", session_id="",
                         when=None),)),
            "memory/2026-11-20.md": DayLog("memory/2026-11-20.md", date(2026, 11, 20), (),
                                           "2026-11-20.md is not UTF-8 text."),
            "memory/notes.md": DayLog("memory/notes.md", None, (
                section(1, 1, DailyLine(1, "a note"), kind="foreign", session_id=""),)),
            "memory/archive/2026-10-03.md": DayLog("memory/archive/2026-10-03.md",
                                                   date(2026, 10, 3), ()),
        }  # fmt: skip
        self.files = [
            info("memory/2026-11-30.md", TODAY, 5),
            info("memory/2026-11-27.md", date(2026, 11, 27), 1),
            info("memory/2026-11-27-topic.md", date(2026, 11, 27), 1, variant=True),
            info("memory/2026-11-20.md", date(2026, 11, 20), 0),
            info("memory/archive/2026-10-03.md", date(2026, 10, 3), archived=True),
            info("memory/notes.md", None),
        ]
        self.list = [SessionInfo("s1", "Tern upload", NOW, NOW, 9, 6, 100)]
        self.job = JobInfo("j1", "flush", "by hand", "running", NOW)
        self.done: list[tuple[str, ...]] = []

    async def days(self) -> list[DayInfo]:
        return list(self.files)

    async def day(self, path: str) -> DayLog:
        return self.logs[path]

    async def sessions(self) -> list[SessionInfo]:
        return list(self.list)

    async def transcript(self, session_id: str, *, limit: int) -> list[TranscriptItem]:
        return [TranscriptItem(f"e{n}", n, "user" if n % 2 else "assistant") for n in range(1, 9)]

    async def jobs(self) -> list[JobInfo]:
        return [self.job]

    async def flush(self, session_id: str, *, initiator: object) -> str:
        self.done.append(("flush", session_id))
        return "j1"

    async def consolidate(self, *, initiator: object) -> str:
        self.done.append(("consolidate",))
        return "j1"
