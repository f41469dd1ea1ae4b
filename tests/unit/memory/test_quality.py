"""Lines said twice, dates gone by and contradictions are found; what only looks so is not."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from app.engine.memory.quality import remarks
from tests.helpers.workspaces import engine_on, to_the_end

TODAY = date(2026, 6, 11)


def found(*lines: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(one.kind, one.lines) for one in remarks("\n".join(lines), TODAY)]


def test_the_same_line_twice_and_nearly_twice() -> None:
    text = ["## A", "- Ines likes tea", "* ines  likes TEA", "- Ines likes tea.", "- Bo lives here"]
    assert found(*text) == [("duplicate", (2, 3)), ("near_duplicate", (2, 4))]
    assert [one.text for one in remarks("\n".join(text), TODAY)] == [
        "Lines 2 and 3 say the same.", "Lines 2 and 4 say nearly the same."
    ]  # fmt: skip
    assert found("- 用户的数据库迁移由小王负责进行的", "- 用户的数据库迁移由小王负责进行") == [
        ("near_duplicate", (1, 2))
    ]


@pytest.mark.parametrize(
    "line",
    [
        "- Release 4.2 is frozen until 2026-06-10", "- The offer is due on 10 June 2026",
        "- Pay the invoice before June 1, 2026", "- Der Vertrag läuft bis zum 10. Juni 2026",
        "- The shop is closed until 2026-06-10",
        "- 报名截止2026年6月10日", "- 2026年5月之前提交", "- The key expires 2026/05",
    ],
)  # fmt: skip
def test_a_date_that_was_an_end_and_has_passed(line: str) -> None:
    assert found(line) == [("stale", (1,))]


@pytest.mark.parametrize(
    "line",
    [
        "- Release 4.2 is frozen until 2026-06-12", "- Ines moved in on 2026-01-10",
        "- The offer is due on 31 June 2026", "- Open until 2026-06", "- Version 2025.1 was quick",
        "- Bo lived in Lisbon until 2020-05-01", "- Kim was in Paris before 2020-05",
        "- 他在2020年5月1日搬到波尔图", "- 他住了两年，直到2020年5月1日",
    ],
)  # fmt: skip
def test_a_date_that_is_no_end_or_not_over_is_left_alone(line: str) -> None:
    assert found(line) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("- Backups run at 03:00", "- Backups run at 04:00"),
        ("- The launch is on 2026-07-01", "- The launch is on 2026-07-08"),
        ("- Ines likes strong green tea", "- Ines does not like strong green tea"),
        ("- Dora may use the archive room", "- Dora may never use the archive room"),
        ("- 数据库迁移定在6月10日", "- 数据库迁移定在7月10日"),
        ("- 用户喜欢在早上喝茶", "- 用户不喜欢在早上喝茶"),
    ],
)
def test_lines_that_may_contradict_each_other(one: str, other: str) -> None:
    assert found(one, other) == [("contradiction", (1, 2))]
    assert "may contradict" in remarks(f"{one}\n{other}", TODAY)[0].text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("- Room 1 has a beamer", "- Room 2 has a beamer"),
        ("- Kim leads the design team", "- Bo leads the design team"),
        ("- Release 4.2 is frozen", "- Release 4.3 is frozen"),
        ("- Ines likes tea", "- Bo does not like tea"),
        ("- Backups run at 03:00", "- Reports are sent at 04:00"),
        ("- Fact 7 of the old house", "- Fact 8 of the old house"),
    ],
)
def test_lines_about_different_things_are_left_alone(one: str, other: str) -> None:
    assert found(one, other) == []


def test_what_stands_in_a_fence_or_table_or_heading_is_no_fact_to_mend() -> None:
    assert found("# Same", "```", "x = 1", "```", "| k | v |", "|---|---|", "| a | b |",
                 "| a | b |", "```", "x = 1", "```", "# Same") == []  # fmt: skip


@to_the_end
async def test_the_engine_looks_at_the_file_of_now(tmp_path: Path) -> None:
    async with engine_on(tmp_path) as desk:
        assert await desk.engine.ask.memory_quality() == []
        (tmp_path / "MEMORY.md").write_text("- one thing\n- two\n- one thing\n- due 2020-01-01\n")
        kinds = [one.kind for one in await desk.engine.ask.memory_quality()]
        assert kinds == ["duplicate", "stale"]
