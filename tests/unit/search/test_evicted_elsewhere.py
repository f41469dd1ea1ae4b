"""Evicted results in a folder that the settings name: searched like others, and nothing beside."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.engine.records import Query
from app.engine.search.index import MemoryIndex
from app.engine.search.scanner import differences
from tests.helpers.searching import put, with_index

RESULT = f"c1-{'0123456789abcdef'}"


async def found(index: MemoryIndex, text: str) -> list[tuple[str, str]]:
    return [(hit.layer, hit.path) for hit in (await index.search(Query(text))).hits]


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_results_are_found_where_the_settings_put_them(
    tmp_path: Path, inside: bool, indexed: bool
) -> None:
    root = tmp_path / "workspace"
    folder = (root / "put aside" if inside else tmp_path / "elsewhere") / "bot"
    put(root, "MEMORY.md", "- Nothing of it\n")
    file = put(folder, RESULT, "one zanzibar\n")
    put(folder, "zanzibar.txt", "a zanzibar of somebody else\n")
    put(folder.parent, RESULT, "the zanzibar of another agent\n")
    put(folder / "deeper", RESULT, "a zanzibar further down\n")
    (folder / RESULT.replace("c1", "c2")).symlink_to(folder / "zanzibar.txt")
    name = "put aside/bot/" + RESULT if inside else file.as_posix()

    async def work(index: MemoryIndex) -> None:
        assert await found(index, "zanzibar") == []
        index.evicted_in(folder)
        if indexed:
            await index.index_all_from_workspace()
        assert await found(index, "zanzibar") == [("evicted", name)]
        if not indexed:
            return
        before = index.walk()
        later = put(folder, RESULT.replace("c1", "c3"), "a second zanzibar\n")
        (changed,) = differences(before, index.walk()) - before.marks.keys()
        assert changed.endswith(later.name)
        assert await index.update(changed)
        assert len(await found(index, "zanzibar")) == 2
        index.evicted_in(root / "large_tool_results" / "bot")
        await index.index_all_from_workspace()
        assert await found(index, "zanzibar") == [], "no folder is kept that nobody names"

    with_index(root, work, whole=indexed)
