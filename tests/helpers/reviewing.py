"""Workspaces with a proposal to be decided: a file, a day's lines, and what the model answered.

    folder = await proposed(tmp_path, BASE, CANDIDATE, LINES)

Every part is real; only the model's answer and the clock are given. `BASE` and `CANDIDATE` differ
by one change of each kind, in English and Chinese, one of them a line of six hundred characters.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from tests.helpers.consolidating import START, Desk

LONG = "- " + " ".join(f"Probe {n} reads {n * 7 % 41} degrees at the door" for n in range(1, 17))
BASE = f"""# Memory

## Person

- Prefers short answers
- Wants the command first
- Time zone is Europe/Lisbon; no calls before 10:00
- 周报用中文写，周五下午四点前发出

## Project: Tern

- Release 2.4 is frozen until 12 December
- Sensor 7 reads 3 cm high since the storm on 9 November
- 对账脚本每周一 07:00 运行，失败时发邮件给林乔
- Samples are taken every 6 minutes and uploaded on the hour
- Log format is jsonl, one file a day
{LONG}

## Decisions

- SQLite stays, because there is no network on the boat
- Backups go to two disks, swapped on Sundays

## Folk

- Ines reviews anything that touches calibration
- 林乔负责云端对账和报表
"""
CANDIDATE = f"""# Memory

## Person

- Prefers short answers: the command first, the reason after
- Time zone is Europe/Lisbon; no calls before 10:00
- 周报用中文写，周五下午四点前发出

## Project: Tern

- SQLite stays, because there is no network on the boat
- Sensor 7 reads 2.4 cm high since the storm on 9 November, recalibrated on 28 November
- 对账脚本每周一 06:30 运行，失败时发邮件给林乔
- Samples are taken every 6 minutes
- Samples are uploaded on the hour
- Log format is JSONL: one file a day.
{LONG.replace("Probe 9 reads 22", "Probe 9 reads 23")}

## Decisions

- Backups go to two disks, swapped on Sundays

## People

- Ines reviews anything that touches calibration
- 林乔负责云端对账和报表
- The tide table is meant above chart datum
"""
LINES = (
    "- Sensor 7 was recalibrated on 28 November and reads 2.4 cm high",
    "- 对账脚本改到每周一 06:30",
    "- The tide table is meant above chart datum",
)


async def proposed(
    root: Path,
    base: str = BASE,
    candidate: str = CANDIDATE,
    lines: tuple[str, ...] = LINES,
    *,
    at: datetime = START,
    model: str = "qwen3-8b",
) -> str:
    """Make the workspace and run one consolidation in it; the id of the proposal."""
    desk = Desk(root, candidate, prepare=base)
    desk.model.name = model
    desk.writer.notice_external(when=at - timedelta(days=1))
    desk.flush(*lines, at=at - timedelta(hours=1))
    await desk.run(at, manual=True)
    return desk.store.infos(waiting=True)[0].id
