"""Tokens, type, icons and words: what every pane relies on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QStackedWidget, QWidget

from app.gui.look import icons, text
from app.gui.look import theme as look
from app.gui.look import type as look_type
from app.gui.look.calls import call_line
from app.gui.widgets.rows import RowList

GUI = Path(look.__file__).parents[1]

# (ink, ground, light, dark): the measured pairs of the design language.
PAIRS = [
    ("text", "canvas", 15.3, 13.5),
    ("text", "raised", 15.9, 12.1),
    ("text", "accent_soft", 13.1, 10.5),
    ("text", "hit", 12.5, 6.1),
    ("text_soft", "side", 6.3, 8.1),
    ("text_soft", "accent_soft", 5.9, 5.9),
    ("text_faint", "canvas", 5.6, 5.4),
    ("text_faint", "hover", 4.8, 4.6),
    ("text_faint", "raised", 5.8, 4.9),
    ("accent", "canvas", 6.7, 8.2),
    ("accent", "accent_soft", 5.7, 6.4),
    ("on_fill", "accent_fill", 6.9, 4.9),
    ("added", "added_bg", 5.7, 7.7),
    ("lost", "lost_bg", 5.4, 6.6),
    ("ok", "ok_bg", 5.8, 7.8),
    ("warn", "warn_bg", 6.2, 7.6),
    ("ansi_red", "sunken", 5.8, 8.5),
    ("ansi_cyan", "sunken", 5.9, 9.7),
]
SHAPES = ["edge", "kind_message", "kind_tool", "kind_flush", "kind_compaction", "kind_eviction",
          "kind_memory", "accent_fill"]  # fmt: skip


@pytest.mark.parametrize(("ink", "ground", "light", "dark"), PAIRS)
def test_text_has_the_contrast_that_was_measured(ink, ground, light, dark):
    for scheme, want in (("light", light), ("dark", dark)):
        got = look.contrast_ratio(look.color_of(ink, scheme), look.color_of(ground, scheme))
        assert got == pytest.approx(want, abs=0.06)
        assert got >= 4.5


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_stand_out_from_the_paper(shape):
    for scheme in ("light", "dark"):
        paper = look.color_of("canvas", scheme)
        assert look.contrast_ratio(look.color_of(shape, scheme), paper) >= 3.0


def test_high_contrast_raises_every_soft_ink():
    for scheme in ("light", "dark"):
        paper = look.color_of("canvas", scheme, True)
        for ink in ("text_soft", "text_faint"):
            assert look.contrast_ratio(look.color_of(ink, scheme, True), paper) >= 12
        assert look.contrast_ratio(look.color_of("line", scheme, True), paper) >= 3


def test_palettes_differ_and_name_disabled_ink():
    light, dark = look.palette_for("light"), look.palette_for("dark")
    role, group = QPalette.ColorRole, QPalette.ColorGroup
    assert light.color(role.Window) != dark.color(role.Window)
    assert light.color(role.Base) == look.color_of("raised", "light")
    assert dark.color(group.Disabled, role.Text) == look.color_of("text_off", "dark")


def test_only_the_theme_knows_hex_values():
    hexes = re.compile(r"[\"']#[0-9A-Fa-f]{3,8}[\"']")
    found = [
        path.relative_to(GUI).as_posix()
        for path in GUI.rglob("*.py")
        if hexes.search(path.read_text("utf-8"))
    ]
    assert found == ["look/theme.py"]


def test_a_change_of_theme_is_told_and_seen():
    heard: list[str] = []
    one = look.theme()
    one.changed.connect(lambda: heard.append(one.scheme))
    one.choose("dark")
    assert look.token("canvas") == look.color_of("canvas", "dark")
    one.choose("light")
    assert heard == ["dark", "light"]


def test_zoom_scales_every_role():
    before = look_type.font("read").pixelSize()
    look.theme().choose(zoom=1.5)
    assert look_type.font("read").pixelSize() == pytest.approx(before * 1.5, abs=1)
    assert look_type.row_height(34) >= 34


def test_icons_come_from_the_cache_without_the_package(tmp_path):
    icons.use_cache(tmp_path)
    icons._texts.pop("anchor", None)  # as if it had never been drawn
    assert not icons.pixmap("anchor", 16).isNull()
    icons.save()
    assert "anchor" in json.loads((tmp_path / "icons.json").read_text("utf-8"))
    code = (
        "import sys; from pathlib import Path\n"
        "from PySide6.QtWidgets import QApplication\n"
        "app = QApplication([])\n"
        "from app.gui.look import icons\n"
        f"icons.use_cache(Path({str(tmp_path)!r}))\n"
        "assert not icons.pixmap('anchor', 16).isNull()\n"
        "assert 'lucide' not in sys.modules, 'the package was imported'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_an_unreadable_icon_cache_is_no_failure(tmp_path):
    (tmp_path / "icons.json").write_text("{ torn", "utf-8")
    icons.use_cache(tmp_path)
    assert icons.known("layers")
    assert not icons.known("no-such-icon-here")


# ---------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("n", "meter", "mark"),
    [(0, "0", "0"), (860, "860", "860"), (9_999, "9,999", "10k"), (24_310, "24.3k", "24.3k"),
     (20_000, "20.0k", "20k"), (1_240_000, "1.2M", "1.2M")],
)  # fmt: skip
def test_counts(n, meter, mark):
    assert text.compact(n) == meter
    assert text.thousands(n) == mark


def test_sizes_and_durations():
    sizes = [text.size(n) for n in (640, 91_000, 1_400_000)]
    assert sizes == ["640 B", "91 kB", "1.4 MB"]
    spans = [text.seconds(s) for s in (0.2, 8, 200, 7_500)]
    assert spans == ["0.2 s", "8 s", "3 min 20 s", "2 h 5 min"]


def test_days_have_names_when_near():
    today = date(2026, 11, 30)
    assert text.day(today, today) == "Today"
    assert text.day(today - timedelta(1), today) == "Yesterday"
    assert text.day(date(2026, 11, 27), today) == "Friday, 27 November"
    assert text.day(date(2026, 11, 9), today) == "9 November"
    assert text.day(date(2025, 11, 9), today) == "9 November 2025"
    assert text.day(date(2026, 12, 2), today) == "2 December"


def test_a_missing_time_is_not_invented():
    assert text.clock(None) == "–"
    assert text.moment(None, datetime.now(UTC)) == "–"


@pytest.mark.parametrize(
    "cluster", ["👨‍👩‍👧", "🇰🇷", "❤️", "👍🏽", "e\u0301\u0302\u0303", "한"]
)  # fmt: skip
def test_previews_are_cut_between_clusters(cluster):
    title = "a" * 59 + cluster * 3
    cut = text.preview(title, 61)
    assert cut == "a" * 59 + cluster + "…"
    assert text.preview("a" * 59 + cluster, 61) == "a" * 59 + cluster


def test_previews_neutralise_what_reorders_and_name_what_is_blank():
    assert text.preview("abc\u202edef\u2066ghi") == "abcdefghi"
    assert text.preview("\n\n\n") == "Untitled"
    assert text.preview("\u200b" * 200, blank="New session") == "New session"
    assert text.preview("one\ntwo\tthree\x07") == "one two three"
    assert text.preview("مرحبا") == "مرحبا"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ('{"cmd": "make ship", "n": 1}', "make ship"),
        ('{"command": "make\\ntest"}', "make test"),
        ('{"a": 1, "b": "two\\nlines"}', "a: 1, b: two lines"),
        ('{"bed": 2, "names": ["番茄"]}', 'bed: 2, names: ["番茄"]'),
        ("{}", ""),
        ("", ""),
        ("not json", "not json"),
        ("[1, 2]", "[1, 2]"),
    ],
)
def test_what_a_tool_was_asked_in_one_line(arguments: str, line: str) -> None:
    assert call_line(arguments) == line


def test_a_list_that_lost_its_ground_while_hidden_is_dressed_when_shown(qtbot) -> None:
    stack = QStackedWidget()
    qtbot.addWidget(stack)
    stack.addWidget(QWidget())
    hidden = RowList("Hidden")
    stack.addWidget(hidden)
    stack.show()
    first = QPalette(hidden.palette())
    look.theme().choose("dark")
    for part in (hidden, hidden.viewport()):  # as a style sheet does that is set anew
        part.setPalette(first)
    stack.setCurrentWidget(hidden)
    QApplication.processEvents()
    ground = hidden.viewport().palette().base().color()
    assert ground.name() == look.token("canvas").name()
