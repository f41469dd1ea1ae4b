"""Titles and snippets are cut between clusters, safe beside their neighbours, never blank (B92)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QFontMetricsF
from pytestqt.qtbot import QtBot

from app.gui.look.text import elided
from app.gui.look.type import font
from app.gui.widgets.rows import Row
from app.gui.window.palette import session_entries
from tests.helpers.waiting import until
from tests.helpers.whole_window import Room, window_on
from tests.helpers.workspaces import engine_on, without_memory

LETTERS = "heron " + "a" * 53
FAMILY, FLAG, HEART, HAND = "👨\u200d👩\u200d👧", "🇰🇷", "❤\ufe0f", "👍🏽"
MARKS, JAMO = "e\u0301\u0302\u0303", "\u1112\u1161\u11ab"
CLUSTERS = (FAMILY, FLAG, HEART, HAND, MARKS, JAMO)
HINDI = "क्षत्रिय"
HINDI_PARTS = ("क्ष", "त्रि", "य")  # what is read as one each
OVERRIDE = "heron \u202eمرحبا abc\u2066def\u200f end"
BLANK = {"lines": "\n\n\n", "invisible": "\u200b" * 200}
CONTROLS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"


def logged(folder: Path, name: str, title: str, named: str = "") -> None:
    """A session whose first words are `title`; `named` is a person's name for it."""
    path = folder / "agents" / "palimpsest" / "sessions" / f"{name}.log.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    first = {
        "v": 1, "seq": 1, "type": "message", "id": f"{name}-1", "role": "USER",
        "content": title, "timestamp": "2026-06-02T01:00:01+00:00",
    }  # fmt: skip
    lines = [first]
    if named:
        lines.append({"v": 1, "seq": 2, "type": "mark", "title": named,
                      "timestamp": "2026-06-02T01:00:02+00:00"})  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def whole(shown: str) -> bool:
    """Whether a shown title ends between two clusters: checked without the code that cuts."""
    rest = shown.removesuffix("…").removeprefix(LETTERS).replace(" ", "")
    for cluster in sorted((*CLUSTERS, *HINDI_PARTS), key=len, reverse=True):
        rest = rest.replace(cluster, "")
    return rest == ""


async def titles(room: Room, name: str) -> dict[str, str]:
    """What each place calls a session, tooltips included."""
    window = room.window
    timeline = await room.go("timeline", session_id=name)
    listed = next(r for r in timeline.side.list.rows_model.rows() if r.id == name)
    side = next(r for r in window.sidebar.sessions.rows_model.rows() if r.id == name)
    (entry,) = session_entries([(name, listed.data.title)], window.open_session)
    return {
        "timeline list": listed.title, "timeline head": timeline.page.head.title.text(),
        "sidebar": side.title, "palette": entry.title, "spoken": spoken(side),
    }  # fmt: skip


def spoken(row: Row) -> str:
    return row.sentence().split(",")[0]


@pytest.mark.case("B92")
def test_titles_are_cut_between_clusters_in_every_place(
    qloop: asyncio.AbstractEventLoop, qtbot: QtBot, tmp_path: Path, own_places: None
) -> None:
    """59 letters and then clusters, so that every cut falls among them; named and unnamed."""
    folder = tmp_path / "work"
    samples = {f"s-{n}": LETTERS + cluster * 60 for n, cluster in enumerate(CLUSTERS)}
    samples["s-hindi"] = LETTERS + f"{HINDI} " * 20
    samples["s-short"] = LETTERS + FAMILY
    for name, title in samples.items():
        logged(folder, name, title)
        logged(folder, f"{name}-odd", "x", named=title)

    async def main() -> None:
        async with (
            engine_on(folder, config=without_memory()) as desk,
            window_on(qtbot, desk.engine, tmp_path / "window.json") as room,
        ):
            await until(lambda: len(room.window.sidebar.sessions.rows_model.rows()) > 10)
            for name in samples:
                for session in (name, f"{name}-odd"):
                    for place, title in (await titles(room, session)).items():
                        assert title.startswith(LETTERS), (place, title)
                        assert whole(title), (place, ascii(title))
            assert (await titles(room, "s-short"))["sidebar"] == LETTERS + FAMILY, "nothing to cut"

    qloop.run_until_complete(main())


@pytest.mark.case("B92")
def test_a_line_cut_to_any_width_ends_between_clusters() -> None:
    metrics = QFontMetricsF(font("body"))
    for cluster in (*CLUSTERS, HINDI):
        title = LETTERS + cluster * 20
        for width in range(300, 700, 3):
            shown = elided(title, metrics, width)
            assert not shown.startswith(LETTERS) or whole(shown), (width, ascii(shown))


@pytest.mark.case("B92")
def test_overrides_reorder_no_neighbour_and_blank_titles_have_a_name(
    qloop: asyncio.AbstractEventLoop, qtbot: QtBot, tmp_path: Path, own_places: None
) -> None:
    """Sessions, search hits with snippet and place; what is copied from the log stays itself."""
    folder = tmp_path / "work"
    logged(folder, "s-override", OVERRIDE)
    logged(folder, "s-named", "heron", named=OVERRIDE)
    for name, text in BLANK.items():
        logged(folder, f"s-{name}", text)
        logged(folder, f"s-{name}-named", "x", named=text)

    async def main() -> None:
        async with (
            engine_on(folder, config=without_memory()) as desk,
            window_on(qtbot, desk.engine, tmp_path / "window.json") as room,
        ):
            await desk.engine.index_ready()
            await until(lambda: len(room.window.sidebar.sessions.rows_model.rows()) >= 6)
            for name in ("s-override", "s-named"):
                for place, title in (await titles(room, name)).items():
                    assert not set(CONTROLS) & set(title), place
                    assert title.startswith("heron مرحبا abc"), (place, ascii(title))
            for name in BLANK:
                for session in (f"s-{name}", f"s-{name}-named"):
                    for place, title in (await titles(room, session)).items():
                        assert any(letter.isalpha() for letter in title), (place, ascii(title))
            search = await room.go("search")
            search.field.set_query("heron")
            await until(lambda: search.list.current() is not None)
            await room.rest(search)
            told = words(search)
            assert told
            for one in told:
                assert not set(CONTROLS) & set(one), ascii(one)

    qloop.run_until_complete(main())


def words(search: Any) -> list[str]:
    """What every hit says: snippet, where it stands, when; and its preview."""
    model = search.list.hits
    role = Qt.ItemDataRole.DisplayRole
    hits = [str(model.index(n, 0).data(role)) for n in range(model.rowCount(QModelIndex()))]
    return [*hits, *(line.text for line in search.preview.view.model_.lines)]
