"""`MemoryIndex` through its public calls, on real files."""

from __future__ import annotations

import asyncio
import json
import threading
from datetime import datetime
from pathlib import Path

import pytest

from app.engine.records import Query
from app.engine.search.index import MemoryIndex
from tests.helpers.searching import NOW, put, said, sliced, talk, texts, with_index

FLUSH = (
    "\n## Memory Flush — 2026-06-02T03:15:09+00:00\n"
    "<!-- palimpsest:flush run=r-1 session=s-1 from=u-1 to=a-1 origin=user -->\n"
)


ROWS = [
    ("DATABASE", "Database migration on Friday", True),
    ("friday database", "Database migration on Friday", True),
    ("migration", "the migrations went well", True),
    ("cafe", "a café in Lyon", True),
    ("zoe muller", "Zoë Müller called", True),
    ("数据库迁移", "用户的数据库迁移定在6月", True),
    ("迁移", "用户的数据库迁移定在6月", True),
    ("数据库", "数据库 迁移 计划", True),
    ("茶", "喝茶", True),
    ("クラウド", "バックアップはクラウドにある", True),
    ("ｸﾗｳﾄﾞ", "バックアップはクラウドにある", True),
    ("ひらがな", "これはひらがなです", True),
    ("회의", "내일회의가있다", True),
    ("회의", "내일 의회가 열린다", False),
    ("memory", "nothing of the kind", False),
    ("2026", "nothing of the kind", False),
    ("4", "nothing of the kind", False),
    ("06", "nothing of the kind", False),
    ("md", "nothing of the kind", False),
    ("C++", "C# code", False),
    ("C++", "a.b@c.com", False),
    ("C++", "C++ build", True),
    ('"', "anything at all", False),
    ("*", "anything at all", False),
    ("  ", "anything at all", False),
]


@pytest.mark.case("IDX-1")
@pytest.mark.parametrize(("query", "stored", "hit"), ROWS)
def test_the_query_table(tmp_path: Path, query: str, stored: str, hit: bool) -> None:
    put(tmp_path, "memory/2026-06-02.md", f"{FLUSH}- {stored}\n")

    async def work(index: MemoryIndex) -> None:
        result = await index.search(Query(query))
        assert bool(result.hits) == hit
        if hit:
            assert result.hits[0].line == 4
            assert all(sliced(result)[0])
        else:
            assert result.reason

    with_index(tmp_path, work)


def test_a_form_of_the_word_is_found_in_natural_mode(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- the migrations went well\n")

    async def work(index: MemoryIndex) -> None:
        assert not (await index.search(Query("migration ", mode="words"))).hits
        result = await index.search(Query("migration"))
        assert result.mode == "natural"
        assert sliced(result) == [["migrations"]]

    with_index(tmp_path, work)


@pytest.mark.case("IDX-2", "B27")
def test_chinese_inside_a_sentence_in_every_table(tmp_path: Path) -> None:
    text = "明天下午三点开项目评审会议讨论排期"
    put(tmp_path, "MEMORY.md", f"- {text}\n")
    put(tmp_path, "memory/2026-06-02.md", f"{FLUSH}- {text}\n")
    put(tmp_path, "memory/archive/2025-06-02.md", f"{FLUSH}- {text}\n")
    talk(tmp_path, "s-1", said(1, text))
    put(tmp_path, "large_tool_results/bot/c1-0123456789abcdef", text)

    async def work(index: MemoryIndex) -> None:
        for query in ("评审", "项目评审", "会议", "期", "点开项目评审会议"):
            result = await index.search(Query(query))
            assert {hit.path.split("/")[0] for hit in result.hits} == {
                "MEMORY.md", "memory", "agents", "large_tool_results",
            }  # fmt: skip
            assert result.counts == {"memory": 1, "daily": 2, "sessions": 1, "evicted": 1}
            assert sliced(result) == [[query]] * 5

    with_index(tmp_path, work)


@pytest.mark.case("B28")
def test_short_terms(tmp_path: Path) -> None:
    lines = ["项目评审", "每晚备份", "AI tools", "Go code", "C# build", "喝茶了", "goods and aids"]
    put(tmp_path, "MEMORY.md", "".join(f"- {line}\n" for line in lines))

    async def work(index: MemoryIndex) -> None:
        for query, found in (
            ("评审", 0), ("备份", 1), ("AI", 2), ("Go", 3), ("C#", 4), ("茶", 5),
        ):  # fmt: skip
            assert await texts(index, query) == [f"- {lines[found]}"]
        assert await texts(index, "oods") == [f"- {lines[6]}"]

    with_index(tmp_path, work)


@pytest.mark.case("B29")
def test_mixed_script_and_terms_in_several_entries(tmp_path: Path) -> None:
    near = "GitHub 上的备份脚本，上传总是失败"
    talk(
        tmp_path, "s-1", said(1, near), said(2, "备份"), said(3, "微信读书"),
        said(4, "我的书架"), said(5, "阅读偏好是科幻"), said(6, "GitHub"),
    )  # fmt: skip

    async def work(index: MemoryIndex) -> None:
        assert (await texts(index, "GitHub备份脚本上传失败"))[0] == near
        found = await texts(index, "微信读书 书架 阅读偏好")
        assert set(found[:3]) == {"微信读书", "我的书架", "阅读偏好是科幻"}

    with_index(tmp_path, work)


@pytest.mark.case("B26", "IDX-4")
def test_no_text_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- say \"hi to memory:safe pre-edit POL-358 20.04 C++ don't\n")
    queries = [
        "memory:safe", 'say "hi', "foo AND", "(python", "pre-edit", "POL-358", "don't", "20.04", "",
        "*", '"', "NEAR(", "^", "AND", "NOT x", "C++", "-", ":", "rowid:1", "\x00", "(" * 200,
        "[" * 200 + "a", "x" * 2_000, "{t} : a", "a NEAR/2 b", "\ud83d",
    ]  # fmt: skip

    async def work(index: MemoryIndex) -> None:
        for query in queries:
            for end in range(min(len(query), 12) + 1):
                result = await index.search(Query(query[:end]))
                assert result.hits or result.reason
            for mode in ("words", "natural", "literal"):
                await index.search(Query(query, mode=mode))
        for query in ("memory:safe", "pre-edit", "POL-358", "don't", "20.04", "C++"):
            result = await index.search(Query(query))
            assert result.mode == "words"
            assert len(result.hits) == 1
        empty = await index.search(Query(""))
        assert not empty.hits
        assert empty.reason == "Nothing to search for yet."

    with_index(tmp_path, work)


def test_what_of_a_session_is_found_and_what_is_not(tmp_path: Path) -> None:
    talk(
        tmp_path, "s-1",
        said(1, "plain words", reasoning="secretthought"),
        said(2, "remembered line", origin="recall"),
        {"type": "tool_use", "id": "u-3", "toolCallId": "c", "name": "grep",
         "input": {"pattern": "needle\nhay"}, "timestamp": 1780362000},
        {"type": "tool_result", "id": "r-4", "toolCallId": "c", "name": "grep",
         "output": "found the needle", "isError": True},
        "this line is broken {",
        {"type": "request", "parts": ["plain words"]},
        said(7, "after the broken line"),
        {"type": "eviction", "id": "e-8", "target": "r-4", "file": "x", "chars": 9},
        {"type": "message", "id": "m-9", "content": [{"type": "text", "text": "in a block"},
                                                    {"type": "image", "data": "picturedata"}]},
    )  # fmt: skip
    with (tmp_path / "agents/bot/sessions/s-1.log.jsonl").open("a") as file:
        file.write(json.dumps(said(10, "an unfinished tail")))

    async def work(index: MemoryIndex) -> None:
        for absent in ("secretthought", "remembered", "unfinished", "picturedata"):
            assert not (await index.search(Query(absent, mode="words"))).hits
        (hit,) = (await index.search(Query("tool:grep role:assistant needle"))).hits
        assert (hit.entry_id, hit.session_id, hit.tool, hit.line) == ("u-3", "s-1", "grep", 3)
        assert hit.when is not None
        assert hit.when.timestamp() == 1780362000
        assert await texts(index, "has:evicted") == ["found the needle"]
        assert await texts(index, "has:error needle") == ["found the needle"]
        assert await texts(index, "broken") == ["after the broken line"]
        assert await texts(index, "block") == ["in a block"]
        with (tmp_path / "agents/bot/sessions/s-1.log.jsonl").open("a") as file:
            file.write("\n")
        assert await index.update("agents/bot/sessions/s-1.log.jsonl")
        assert await texts(index, "unfinished") == ["an unfinished tail"]

    with_index(tmp_path, work)


def test_line_separators_and_half_characters(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "\ufeff# First\r\none\u2028still one\u0085here\r\n\r\n- fourth\r\n")
    half = '{"type":"message","id":"a","content":"ok \\ud83d then \\ud83c\\udf78"}'
    number = '{"type":"tool_use","id":"b","name":"set","input":{"share":NaN,"of":"a pie"}}'
    within = r'{"type":"tool_use","id":"c","name":"put","input":"{\"to\":\"plum \\ud83d\"}"}'
    talk(tmp_path, "s-1", half, number, within)

    async def work(index: MemoryIndex) -> None:
        lines = {hit.text: hit.line for hit in (await index.search(Query("in:memory"))).hits}
        assert lines == {"# First": 1, "one still one here": 2, "- fourth": 4}
        assert await texts(index, "then") == ["ok \ufffd then 🍸"]
        assert await texts(index, "🍸") == ["ok \ufffd then 🍸"]
        assert await texts(index, "pie") == ["set share: nan of: a pie"]
        assert await texts(index, "plum") == ["put to: plum \ufffd"]

    with_index(tmp_path, work)


def test_a_file_in_another_encoding_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_bytes("- 项目".encode("gbk"))
    put(tmp_path, "memory/2026-06-02.md", "- apple\n")

    async def work(index: MemoryIndex) -> None:
        assert await texts(index, "apple") == ["- apple"]
        assert not await texts(index, "项目")

    with_index(tmp_path, work)


def test_filters_and_reasons(tmp_path: Path) -> None:
    put(tmp_path, "memory/2026-06-01.md", "- apple one\n")
    put(tmp_path, "memory/2026-07-01.md", "- apple two\n- pear\n")
    put(tmp_path, "MEMORY.md", "- apple three\n")

    async def work(index: MemoryIndex) -> None:
        assert await texts(index, "day:2026-07 apple") == ["- apple two"]
        assert await texts(index, "in:daily before:2026-07-01") == ["- apple one"]
        assert set(await texts(index, "in:daily -apple")) == {"- pear"}
        assert set(await texts(index, "pear OR three")) == {"- pear", "- apple three"}
        assert await texts(index, "apple", layers=frozenset({"memory"})) == ["- apple three"]
        newest = await texts(index, "apple in:daily", newest_first=True)
        assert newest == ["- apple two", "- apple one"]
        result = await index.search(Query("in:sessions apple"))
        assert result.reason == "The filters leave out 3 matches."
        few = await index.search(Query("apple", limit=1))
        assert (len(few.hits), few.total, few.counts) == (1, 3, {"memory": 1, "daily": 2})

    with_index(tmp_path, work)


def test_the_seeds_call(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", f"# Facts\n- {'long ' * 200}apple apple\n")
    talk(tmp_path, "s-1", said(1, "apple"))

    async def work(index: MemoryIndex) -> None:
        await index.index_from_string("memory/notes.md", "first\n\nan apple a day\n")
        hits = await index.search("apple", 10)
        assert {(hit.path, hit.line_number) for hit in hits} == {
            ("MEMORY.md", 2), ("memory/notes.md", 3),
        }  # fmt: skip
        assert [hit.rank for hit in hits] == sorted(hit.rank for hit in hits)
        assert all("apple" in hit.content for hit in hits)
        assert len(await index.search("apple", 1)) == 1

    with_index(tmp_path, work)


def test_a_newer_live_search_ends_the_older_one(tmp_path: Path) -> None:
    talk(tmp_path, "s-1", *(said(n, f"apple {n} {'word ' * 20}") for n in range(3_000)))
    begun, on = threading.Event(), threading.Event()

    def clock() -> datetime:  # asked for the time as it begins, on its thread
        begun.set()
        on.wait()
        return NOW

    async def work(index: MemoryIndex) -> None:
        older = asyncio.ensure_future(
            index.search(Query("nowhere apple?!x", mode="natural", limit=3_000), supersede=True)
        )
        patient = asyncio.ensure_future(index.search(Query("apple", limit=2)))
        await asyncio.to_thread(begun.wait)
        newest = asyncio.ensure_future(index.search(Query("apple", limit=1), supersede=True))
        await asyncio.sleep(0)  # it is asked
        on.set()
        newer = await newest
        assert len(newer.hits) == 1
        with pytest.raises(asyncio.CancelledError):
            await older
        assert len((await patient).hits) == 2

    with_index(tmp_path, work, clock=clock)


def test_a_huge_paste_is_answered(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- apple\n")

    async def work(index: MemoryIndex) -> None:
        for text in ("z" * 5_000_000, "ab " * 1_000_000, "数据" * 100_000):
            result = await index.search(Query(text))
            assert result.hits or result.reason

    with_index(tmp_path, work)
