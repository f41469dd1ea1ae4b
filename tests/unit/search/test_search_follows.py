"""After any changes, an index that followed them holds what one built anew holds."""

from __future__ import annotations

import asyncio
import json
import os
import random
import tempfile
from datetime import UTC, datetime, timedelta, timezone
from io import BytesIO
from pathlib import Path
from typing import Any

import apsw
import pytest

from app.engine.search import preparing
from app.engine.search.index import MemoryIndex
from app.engine.search.logs import entries
from app.engine.search.rows import Cursor, Document, Marked
from app.engine.workspace.history import History
from app.engine.workspace.layout import Layout

WORDS = ["apple", "pear", "数据库", "迁移", "café", "running", "snake_case", "茶", "camelCase's"]
HEADING = "## Memory Flush — {}"
KEY = [
    "-----BEGIN PRIVATE KEY-----",
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
    "-----END PRIVATE KEY-----",
]
LINES = ["MEMORY.md", "memory/2026-06-01.md", "memory/b.md", "memory/archive/c.md"]
RESULTS = ["large_tool_results/bot/c1-00", "large_tool_results/bot/c2-00"]
LOGS = [f"agents/bot/sessions/s-{n}.log.jsonl" for n in range(3)]
PROPOSALS = ["proposal:p-1", "proposal:p-2"]


class Workspace:
    """A folder in which things happen at random; each returns the paths it touched."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.chance = random.Random(seed)
        self.history = History(Layout.at(root))
        self.when = datetime(2026, 6, 1, tzinfo=UTC)
        self.said = 0

    def change(self) -> list[str]:
        """One change of any kind."""
        happen = self.chance.choice([self._lines, self._lines, self._log, self._log, self._past])
        return happen()

    def _said(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=self.chance.randint(1, 6)))

    def _lines(self) -> list[str]:
        path = self.chance.choice([*LINES, *RESULTS])
        line = self.chance.choice([self._said()] * 6 + [HEADING.format(self._now()), *KEY])
        return self._file(path, [path, *([] if path in RESULTS else LINES)], f"{line}\n")

    def _now(self) -> str:
        self.when += timedelta(seconds=self.chance.choice([0, 0, 0.3, 40]))
        return self.when.isoformat()

    def _log(self) -> list[str]:
        path = self.chance.choice(LOGS)
        ids = [f"u-{n}" for n in range(self.said + 2)]  # also of what was not said yet
        kind = self.chance.choice(["say", "say", "say", "call", "mark", "evict"])
        one = self.chance.choice([f"u-{self.said}"] * 6 + ids)  # at times one that was there
        entry: dict[str, Any] = {"type": "message", "id": one, "role": "USER"}
        entry["content"] = self._said()
        self.said += kind == "say"
        if kind == "call":
            entry = {
                "type": "tool_use",
                "id": f"u-{self.chance.randrange(self.said + 1)}:use:{self.when.timestamp()}",
                "name": "grep",
            }
            entry["input"] = self._said()
        elif kind == "mark":
            entry = {"type": "mark", "targets": self.chance.sample(ids[-12:], 2)}
            entry[self.chance.choice(["do_not_remember", "deleted"])] = self.chance.random() < 0.7
        elif kind == "evict":
            entry = {"type": "eviction", "target": self.chance.choice(ids[-12:])}
        # Without any time before it an entry has that of its file, as it was first seen.
        entry["timestamp"] = self._now()
        return self._file(path, LOGS, json.dumps(entry, ensure_ascii=False) + "\n")

    def _file(self, path: str, others: list[str], line: str) -> list[str]:
        file = self.root / path
        kind = self.chance.choice(["append"] * 6 + ["write", "delete", "rename", "torn", "replace"])
        if kind == "delete":
            file.unlink(missing_ok=True)
        elif kind == "rename" and file.exists():
            other = self.chance.choice(others)
            (self.root / other).parent.mkdir(parents=True, exist_ok=True)
            file.replace(self.root / other)
            return [path, other]
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            into = file.with_name(".new") if kind == "replace" else file
            with into.open("w" if kind in ("write", "replace") else "a", encoding="utf-8") as out:
                out.write(line.rstrip("\n") if kind == "torn" else line)
            if kind == "replace":
                os.replace(into, file)
        return [path]

    def _past(self) -> list[str]:
        if self.chance.random() < 0.5:
            path = self.chance.choice(PROPOSALS)
            file = self.root / ".palimpsest/proposals" / f"{path.removeprefix('proposal:')}.json"
            if self.chance.random() < 0.3:
                file.unlink(missing_ok=True)
                return [path]
            file.parent.mkdir(parents=True, exist_ok=True)
            base, wanted = ("".join(f"- {self._said()}\n" for _ in range(2)) for _ in range(2))
            kept = {"when": self.when.isoformat(), "base": base, "candidate": base + wanted}
            file.write_text(json.dumps(kept), "utf-8")
            return [path]
        if self.chance.random() < 0.2:
            self.history.rewrite(lambda text: text.replace("apple", "plum"), lambda kept: kept)
        else:
            lines = [f"- {self._said()}\n" for _ in range(3)]
            self.history.commit("".join(lines), cause="hand", when=self.when)
            self.when += timedelta(seconds=1)
        return ["history:"]


TOLD = "entry<>'' OR role<>0 OR file IN (SELECT id FROM files WHERE path LIKE 'memory/2026-%')"
"""Which documents have a moment of their own, and not their file's."""


def rows_and_terms(path: Path, timed: str = "1") -> tuple[list[Any], dict[str, list[Any]]]:
    """All documents of an index, those that are `timed` with their moments, and for each term
    where it stands."""
    db: Any = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    place = "(SELECT path FROM files WHERE id=d.file), d.ord"
    name = "(SELECT name FROM names WHERE id=d.{})"
    rows = db.execute(
        f"SELECT {place}, line, offset, length, entry, {name.format('role')}, "
        f"iif({timed}, id*1000+part, 0), "
        f"{name.format('tool')}, flags FROM docs d ORDER BY 1, 2"
    ).fetchall()
    db.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, terms, row)")
    terms = [term for (term,) in db.execute("SELECT term FROM temp.words")]
    found = {
        term: db.execute(
            f"SELECT {place} FROM terms t JOIN docs d ON d.id=t.rowid WHERE terms MATCH ? "
            "ORDER BY 1, 2",
            (f'"{term}"',),
        ).fetchall()
        for term in terms
    }
    orphans = db.execute("SELECT count(*) FROM docs WHERE file NOT IN (SELECT id FROM files)")
    assert orphans.fetchall() == [(0,)]
    db.close()
    return rows, {term: places for term, places in found.items() if places}


GROWN = {
    "a line": ("- apple\n", "- pear\n"),
    "under a heading": (f"{HEADING.format('2026-06-01T09:30:00+00:00')}\n- apple\n", "- pear\n"),
    "a heading": ("- apple\n", f"{HEADING.format('2026-06-01T09:30:00+00:00')}\n- pear\n"),
    "the rest of a line": ("- apple\n- pe", "ar and plum\n"),
    "the rest of a key": (f"{KEY[0]}\n", f"{KEY[1]}\n{KEY[2]}\n- pear\n"),
    "behind a key": ("\n".join(KEY) + "\n", "- pear\n"),
    "behind nothing": ("", "- pear\n"),
    "a mark at its beginning": ("\ufeff- apple\n", "\ufeff- pear\n"),
    "after lines that are none": ("\n\n<!-- palimpsest:x -->\n", "\n- pear\n"),
    "another encoding": ("- apple\n", "- pear \udcff\n"),
}


@pytest.mark.parametrize("path", [*LINES, "memory/0001-01-01.md", "memory/9999-12-31.md"])
@pytest.mark.parametrize("kind", GROWN)
def test_a_file_that_grew_is_found_as_one_read_at_once(
    tmp_path: Path, path: str, kind: str
) -> None:
    before, after = (text.encode("utf-8", "surrogateescape") for text in GROWN[kind])
    file = tmp_path / path

    async def main() -> None:
        index, fresh = (
            MemoryIndex(tmp_path, tmp_path / name, zone=timezone(timedelta(hours=8)))
            for name in ("followed.db", "fresh.db")
        )
        await index.open()
        file.parent.mkdir(parents=True, exist_ok=True)
        for n, text in enumerate((before, before + after, before + after + b"- plum\n")):
            file.write_bytes(text)
            os.utime(file, (n * 1000, n * 1000))
            await index.update(path)
        await index.close()
        await fresh.open()
        await fresh.index_all_from_workspace()
        await fresh.close()

    asyncio.run(main())
    assert rows_and_terms(tmp_path / "followed.db") == rows_and_terms(tmp_path / "fresh.db")


def test_what_comes_while_a_log_is_read_waits_for_the_next_reading() -> None:
    class Growing(BytesIO):
        """A log to which an eviction comes as soon as one has seen its end."""

        def read(self, size: int | None = -1) -> bytes:
            found = super().read(size)
            if not found and not self.getvalue().endswith(evicted):
                self.write(evicted)
            return found

    said = b'{"type":"message","id":"m-1","content":"a lamp"}\n'
    evicted = b'{"type":"eviction","target":"m-1"}\n'
    log, cursor = Growing(said), Cursor()
    (first,) = entries(log, cursor)
    assert isinstance(first, Document)
    assert (first.text, first.flags, cursor.offset) == ("a lamp", 0, len(said))
    assert list(entries(log, cursor)) == [Marked("m-1")]


@pytest.mark.parametrize("seed", range(10))
def test_an_index_that_follows_equals_one_built_anew(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    async def main(root: Path) -> None:
        workspace = Workspace(root, seed)
        index = MemoryIndex(root, root / "followed.db", zone=UTC)
        await index.open()
        await index.index_all_from_workspace()
        for step in range(60):
            touched = workspace.change()
            if step % 7:  # the others are seen by a pass, as those made while nobody watched
                for path in touched:
                    await index.update(path)
            if step % 20 == 19:
                await index.index_all_from_workspace()
        await index.index_all_from_workspace()
        assert (await index.check()).state == "ready"
        assert await index.sound()
        if seed % 2:  # a long log is read in many pieces
            monkeypatch.setattr(preparing, "PIECE", 30)
        fresh = MemoryIndex(root, root / "fresh.db", zone=UTC)
        await fresh.open()
        await fresh.index_all_from_workspace()
        await index.close()
        await fresh.close()
        # A file's own time stands in where a text has none; equal bytes are not indexed for it.
        followed, anew = (
            rows_and_terms(root / name, timed=TOLD) for name in ("followed.db", "fresh.db")
        )
        assert followed[0] == anew[0]
        assert followed[1] == anew[1]
        assert len(anew[0]) > 10, "there was something to compare"

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
