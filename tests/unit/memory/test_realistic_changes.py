"""Changes of files as people and models write them: Chinese, nesting, tables, fences, CRLF."""

from __future__ import annotations

import difflib

import pytest

from app.engine.memory.diff import changes, difference
from app.engine.memory.review import accept_all, resolved
from app.engine.records import Decision
from tests.helpers.reviewing import BASE, CANDIDATE, LONG

CHINESE = """# 记忆

## 人物
- 林乔负责云端对账和报表
- 林乔每周五下午写周报
- 王芳是新来的设计师，住在上海

## 项目
- 数据库迁移定在6月
- 备份脚本在每天凌晨两点运行，日志保存三十天
- 上传失败时重试三次，然后发邮件给林乔
"""
CHINESE_NEW = """# 记忆

## 同事
- 林乔负责云端对账和报表，每周五下午写周报

## 项目
- 数据库迁移改到7月
- 备份脚本在每天凌晨两点运行
- 备份日志保存三十天
- 上传失败时重试三次，然后发邮件给林乔
"""
NESTED = """# Memory
- Project Tern
  - uses Qt 6.8
  - ships on Fridays
    - never in December
- Project Gull
  - uses GTK

| day | who |
| --- | --- |
| Mon | Ines |
| Tue | Bo |

```sh
make ship
# not a heading
```
"""


def kinds(base: str, new: str) -> list[str]:
    return [c.kind for c in changes(base, new)]


def test_every_kind_in_one_english_and_chinese_file() -> None:
    found = changes(BASE, CANDIDATE)
    assert [c.kind for c in found] == [
        "merged", "dropped", "moved", "reworded", "reworded", "split", "reworded", "reworded",
        "section_renamed", "added",
    ]  # fmt: skip
    moved = found[2]
    assert moved.before == ("- SQLite stays, because there is no network on the boat",)
    assert (moved.came_from, moved.section) == ("Decisions", "Project: Tern")
    assert found[7].before == (LONG,), "six hundred characters, whole"


def test_chinese_lines_merge_split_and_rename_as_english_ones_do() -> None:
    assert kinds(CHINESE, CHINESE_NEW) == [
        "section_renamed", "merged", "dropped", "reworded", "split",
    ]  # fmt: skip
    assert kinds(CHINESE_NEW, CHINESE)[1] == "split"


def test_a_line_that_changes_its_section_is_moved_and_the_heading_stays() -> None:
    base = "## A\n- one first\n## B\n- two second\n- three third\n"
    new = "## A\n- two second\n- one first\n## B\n- three third\n"
    (change,) = changes(base, new)
    assert (change.kind, change.before, change.came_from) == ("moved", ("- two second",), "B")


def test_sections_that_change_places_move_as_lines_of_the_smaller_one() -> None:
    large = "## Large\n" + "".join(f"- fact {n} of this section\n" for n in range(8))
    small = "## Small\n- the only one here\n"
    assert [c.before for c in changes(large + small, small + large)] == [
        ("## Small",), ("- the only one here",),
    ]  # fmt: skip


def test_nested_bullets_table_rows_and_a_fence_are_each_a_decision() -> None:
    new = (
        NESTED.replace("6.8", "6.9")
        .replace("    - never in December\n", "")
        .replace("| Tue | Bo |\n", "| Tue | Bo |\n| Wed | Cy |\n")
        .replace("make ship", "make ship-all")
    )
    found = [(c.kind, c.before or c.after) for c in changes(NESTED, new)]
    assert found == [
        ("reworded", ("  - uses Qt 6.8",)),
        ("dropped", ("    - never in December",)),
        ("added", ("| Wed | Cy |",)),
        ("reworded", ("```sh", "make ship", "# not a heading", "```")),
    ]


def test_a_heading_in_a_fence_neither_opens_nor_renames_a_section() -> None:
    base = "# A\n````md\n```\n## x\n```\n````\n- one two three\n"
    found = changes(base, base.replace("## x", "## y").replace("three", "four"))
    assert [(c.kind, c.section) for c in found] == [("reworded", "A"), ("reworded", "A")]


def test_an_open_fence_hides_no_change() -> None:
    base = "# A\n```json\n{\n- one first\n- two second\n## B\n- three third\n"
    new = base.replace("- two second\n", "").replace("third", "third and last")
    assert kinds(base, new) == ["dropped", "reworded"]
    assert changes(base, new)[1].section == "B"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_mark_at_the_start_are_kept(end: str, mark: str) -> None:
    base = mark + end.join(["# A", "- one fact here", "- two", ""])
    new = mark + end.join(["# A", "- one fact there", "- two", "- three is new", ""])
    diff = difference(base, new)
    assert [c.kind for c in diff.changes] == ["reworded", "added"]
    assert resolved(diff, accept_all(diff.changes)) == new
    assert resolved(diff, [Decision(2, "accept")]) == base + f"- three is new{end}"


def test_a_file_of_three_megabytes_with_one_change_is_one_decision() -> None:
    lines = [f"- fact {n} about place {n * 7919 % 65_537} and time" for n in range(65_000)]
    base = "\n".join(lines)
    assert len(base) > 2_500_000
    lines[40_000] += ", seen again"
    (change,) = changes(base, "\n".join(lines))
    assert (change.kind, change.base_line) == ("reworded", 40_001)


def test_three_megabytes_with_every_line_changed_are_reworded_line_by_line() -> None:
    """Lines of six hundred characters, one word of each another."""
    words = ("tern", "gull", "boat", "pier", "mast", "keel", "sail")
    old = [
        f"- Fact {n}: "
        + " ".join(words[(n * 31 + i * i) % 7] + str((n + i) % 97) for i in range(98))
        for n in range(5_000)
    ]
    new = [f"{line[:300]}, seen again{line[300:]}" for line in old]
    base, other = "\n".join(old) + "\n", "\n".join(new) + "\n"
    assert len(base) > 2_900_000
    diff = difference(base, other)
    assert [(c.kind, c.before, c.after) for c in diff.changes] == [
        ("reworded", (before,), (after,)) for before, after in zip(old, new, strict=True)
    ]
    assert resolved(diff, accept_all(diff.changes)) == other
    assert resolved(diff, []) == base


CODE = "import sys\n\ndef main():\n    print('tern')\n    return 0\n\nmain()\n"
PROSE = "It was a calm day.\nThe boat lay at the pier.\nNobody spoke.\nThen the wind came.\n"
VALUES = "colour: blue\nsize = 4\n[pump]\non = true\n"


@pytest.mark.parametrize(
    ("base", "old", "new"),
    [
        (CODE, "    print('tern')\n", "    print('gull')\n"),
        (CODE, "    return 0\n", ""),
        (PROSE, "Nobody spoke.\n", "Nobody spoke at all.\n"),
        (PROSE, "Then the wind came.\n", "Then the wind came.\nWe left.\n"),
        (VALUES, "size = 4\n", "size = 5\n"),
    ],
)
def test_what_is_no_list_is_told_line_by_line(base: str, old: str, new: str) -> None:
    other = base.replace(old, new)
    (change,) = changes(base, other)
    gone, came = [], []
    for line in difflib.ndiff(base.splitlines(), other.splitlines()):
        if line[0] in "-+":
            (gone if line[0] == "-" else came).append(line[2:])
    assert (list(change.before), list(change.after)) == (gone, came)
    diff = difference(base, other)
    assert resolved(diff, []) == base
    assert resolved(diff, accept_all(diff.changes)) == other


def test_a_large_file_of_common_words_is_reworded_line_by_line() -> None:
    base = [
        f"- The tern of the pier goes to the reef at {n % 24:02}:{n % 60:02}" for n in range(900)
    ]
    base = [f"{line} with {n * 7919 % 1_009} birds" for n, line in enumerate(base)]
    new = ["- A first line that nobody knew", *(f"{line}, seen again" for line in base)]
    del new[500]
    kinds = [c.kind for c in changes("\n".join(base), "\n".join(new))]
    assert kinds.count("reworded") == 899
    assert (kinds.count("added"), kinds.count("dropped")) == (1, 1)


def test_a_line_whose_number_is_nowhere_is_lost_not_merged() -> None:
    base = "- Probe 3 reads 12 cm at the pier\n- Probe 4 reads 15 cm at the pier\n- end\n"
    new = "- Probe 4 reads 15 cm at the pier, since the storm\n- end\n"
    assert [(c.kind, c.before[0]) for c in changes(base, new)] == [
        ("dropped", "- Probe 3 reads 12 cm at the pier"),
        ("reworded", "- Probe 4 reads 15 cm at the pier"),
    ]
