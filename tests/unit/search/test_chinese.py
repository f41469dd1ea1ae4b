"""Chinese is found by any two to six characters of a sentence, in the demo's own text."""

from __future__ import annotations

import asyncio
import random
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.demo import build
from app.engine.records import Query, SearchResult
from app.engine.search.index import MemoryIndex
from app.places import resources_dir

RUN = re.compile("[\u4e00-\u9fff]{2,}")
QUERIES = 200
Answers = dict[str, SearchResult]


def pieces() -> list[str]:
    """200 stretches of two to six characters of the demo's script, the same ones every time.

    Titles are left out: a session's name is no text of it.
    """
    script = (resources_dir() / "demo" / "demo.toml").read_text("utf-8").split("\n")
    said = "\n".join(line for line in script if not line.startswith("title"))
    runs = sorted(set(RUN.findall(said)))
    every = sorted(
        {
            run[start : start + length]
            for run in runs
            for length in range(2, 7)
            for start in range(len(run) - length + 1)
        }
    )
    return random.Random(20).sample(every, QUERIES)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chinese") / "demo"
    asyncio.run(build(folder, datetime(2026, 9, 12, 15, tzinfo=UTC)))
    return folder


def ask(root: Path, queries: list[str]) -> Answers:
    async def main() -> Answers:
        index = MemoryIndex(root, zone=UTC)
        await index.open()
        try:
            await index.index_all_from_workspace()
            return {query: await index.search(Query(query)) for query in queries}
        finally:
            await index.close()

    return asyncio.run(main())


def test_every_stretch_of_the_demos_chinese_is_found(demo: Path) -> None:
    queries = pieces()
    assert {len(query) for query in queries} == {2, 3, 4, 5, 6}
    answers = ask(demo, queries)
    missed = [query for query, found in answers.items() if not found.hits]
    assert missed == []
    for query, found in answers.items():
        assert found.mode == "words", f"{query}: the index itself has to know it"
        for hit in found.hits:
            marked = [hit.text[span.start : span.end] for span in hit.spans]
            assert marked
            assert all(query in piece for piece in marked), (query, hit.text, marked)


def test_characters_in_another_order_are_no_match(demo: Path) -> None:
    backwards = [query[::-1] for query in pieces()[:40] if query != query[::-1]]
    for query, found in ask(demo, [f'"{one}"' for one in backwards]).items():
        bare = query.strip('"')
        assert all(bare in hit.text for hit in found.hits)


def test_a_question_in_chinese_finds_the_line_that_answers_it(demo: Path) -> None:
    answers = ask(
        demo, ["霜冻那天晚上是谁来值班的？", "番茄什么时候施肥？", "周报应该用什么语言写？"]
    )
    for found, wanted in zip(answers.values(), ("陈曦", "每周二", "中文"), strict=True):
        assert found.mode == "natural"
        assert any(wanted in hit.text for hit in found.hits[:5])
