"""What leaves the program: `show --json` and `export` give a session whole and say what it is."""

from __future__ import annotations

import asyncio
import html
import json
from html.parser import HTMLParser
from pathlib import Path

from tests.helpers.commands import command, told
from tests.helpers.fake_server import say
from tests.helpers.workspaces import engine_on, without_memory

FOREIGN = '</pre><script>alert("x")</script> & <b>bold</b>'
LONG = "long " * 10_000 + "the end"
UNKNOWN = '{"v":1,"seq":0,"type":"from_the_future","id":"f-1","what":{"deep":[1]}}'


def talked(folder: Path) -> tuple[str, Path]:
    """A session with markup, a long reply, an unknown kind and a line that is none; its log."""

    async def main() -> tuple[str, Path]:
        config = without_memory()
        async with engine_on(folder, say(FOREIGN), say(LONG), config=config) as desk:
            for text in ("One?", "Two?"):
                assert (await desk.send(text)).state == "finished"
            (log,) = folder.glob(f"agents/*/sessions/{desk.session}.log.jsonl")
            return desk.session, log

    session, log = asyncio.run(main())
    with log.open("a", encoding="utf-8") as out:
        out.write(f"{UNKNOWN}\nnot an entry\n")
    return session, log


def test_show_with_json_gives_the_lines_of_the_log(tmp_path: Path) -> None:
    session, log = talked(tmp_path / "ws")
    shown = command(tmp_path, "show", str(tmp_path / "ws"), session, "--json")
    assert shown.returncode == 0, shown.stderr
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    lines = log.read_text(encoding="utf-8").splitlines()
    assert rows[:-2] == [json.loads(line) for line in lines[:-2]]
    assert {"type": "from_the_future", "what": {"deep": [1]}}.items() <= rows[-2].items()
    assert (rows[-1]["type"], rows[-1]["raw"]) == ("unreadable", "not an entry")
    assert [row["seq"] for row in rows] == list(range(1, len(lines) + 1))
    part = command(
        tmp_path, "show", str(tmp_path / "ws"), session, "--from", "2", "--to", "4", "--json"
    )
    assert [json.loads(line)["seq"] for line in part.stdout.splitlines()] == [2, 3, 4]


def test_a_long_text_is_shown_in_part_and_exported_whole(tmp_path: Path) -> None:
    folder = str(tmp_path / "ws")
    session, log = talked(tmp_path / "ws")
    shown = command(tmp_path, "show", folder, session).stdout
    assert "the end" not in shown
    assert f"({len(LONG):,} characters in all)" in shown
    assert LONG in command(tmp_path, "export", folder, session).stdout
    (row,) = told(command(tmp_path, "export", folder, "--format", "jsonl", "--json"))
    assert (row["session"], row["format"], row["bad_lines"]) == (session, "jsonl", 1)
    assert row["unknown"] == {"from_the_future": 1}
    lines = log.read_text(encoding="utf-8").splitlines()
    assert row["entries"] == len(lines) - 1
    assert [json.loads(line) for line in row["text"].splitlines()][:-2] == [
        json.loads(line) for line in lines[:-2]
    ]


class _Page(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.said = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.said += data


def test_a_page_holds_what_was_said_as_text_and_loads_nothing(tmp_path: Path) -> None:
    session, _ = talked(tmp_path / "ws")
    done = command(tmp_path, "export", str(tmp_path / "ws"), "--format", "html")
    assert done.returncode == 0, done.stderr
    page = _Page(done.stdout)
    assert page.tags <= {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "h1",
        "section",
        "h2",
        "pre",
    }
    assert FOREIGN in page.said
    assert LONG in page.said
    assert html.escape(FOREIGN) in done.stdout
    assert "default-src 'none'" in done.stdout
    none = command(tmp_path, "export", str(tmp_path / "ws"), "nobody")
    assert none.returncode == 1
    assert session not in none.stdout
    assert "Choose a session" in none.stderr
