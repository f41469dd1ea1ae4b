"""Korean and Japanese inside sentences, and how the index lies on disk."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from app.engine.records import Query
from app.engine.search.index import MemoryIndex
from app.engine.workspace.layout import Layout
from tests.helpers.searching import put, said, talk, with_index
from tests.helpers.workspaces import engine_on, to_the_end

LINES = {
    "내일 오전에 서울에서 회의를 합니다": ("회의", "서울에서", "오전", "합니", "서"),
    "毎朝コーヒーを飲みながらひらがなを書きます": ("コーヒー", "ヒー", "ｺｰﾋｰ", "ひらがな", "飲み"),
}  # fmt: skip
CASES = [(line, query) for line, queries in LINES.items() for query in queries]


@pytest.mark.parametrize("mode", ["auto", "words", "natural"])
def test_hangul_and_kana_find_their_lines_and_what_they_mark_is_what_was_asked(
    tmp_path: Path, mode: str
) -> None:
    other = "부산은 항구이고 カタカナもある"
    put(tmp_path, "memory/2026-06-02.md", "".join(f"- {line}\n" for line in (*LINES, other)))
    talk(tmp_path, "s-1", *(said(n * 20, line) for n, line in enumerate((*LINES, other))))

    async def work(index: MemoryIndex) -> None:
        for line, asked in CASES:
            query = Query(asked, mode=mode, layers=("daily",))  # type: ignore[arg-type]
            (hit,) = (await index.search(query)).hits
            assert hit.text == f"- {line}", asked
            marked = {hit.text[span.start : span.end] for span in hit.spans}
            if len(asked) > 1:
                assert marked == {asked.replace("ｺｰﾋｰ", "コーヒー")}
            else:  # one sign is the beginning of a pair, and the pair is marked
                assert all(mark.startswith(asked) for mark in marked)
            said_too = await index.search(Query(f"{asked} in:sessions", mode=mode))  # type: ignore[arg-type]
            assert said_too.hits[0].text == line, asked
            if mode != "natural":  # there, what was said beside it is an answer, too
                assert len(said_too.hits) == 1
        for nobody in ("대구", "ヒカ"):
            query = Query(nobody, mode=mode)  # type: ignore[arg-type]
            assert (await index.search(query)).hits == ()

    with_index(tmp_path, work)


@to_the_end
async def test_who_reads_the_index_file_never_waits_for_who_writes_it(tmp_path: Path) -> None:
    """WAL, as a second program sees it: it reads on while the engine writes."""
    put(tmp_path, "memory/2026-06-02.md", "- a red bicycle\n")
    async with engine_on(tmp_path) as desk:
        await desk.engine.index_ready()
        file = Layout.at(tmp_path).index()
        other = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            assert other.pragma("journal_mode") == "wal"
            other.execute("BEGIN")
            before = other.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            put(tmp_path, "memory/2026-06-03.md", "- a blue kayak\n")
            await desk.engine.do.reindex()
            await desk.engine.drain()
            hits = (await desk.engine.ask.search(Query("kayak", mode="words"))).hits
            assert [hit.path for hit in hits] == ["memory/2026-06-03.md"]
            assert other.execute("SELECT count(*) FROM sqlite_schema").fetchall() == before
        finally:
            other.close()
