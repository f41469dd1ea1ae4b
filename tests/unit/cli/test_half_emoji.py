"""Half an emoji in a log of another program: what leaves the program is whole text (B49)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.engine.workspace.layout import Layout, ensure
from tests.helpers.commands import command, told

TEXTS = [rb"ok \ud83d\u2026", rb"\ud604\ud99c \ubcf4", rb"pair \ud83c\udf78"]
WHOLE = ["ok \ufffd…", "현\ufffd 보", "pair 🍸"]


@pytest.mark.case("B49")
def test_show_export_and_search_give_whole_characters(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    assert command(tmp_path, "init", str(folder)).returncode == 0
    layout = Layout.at(folder)
    ensure(layout)
    log = layout.session_log("s-1")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"".join(
        b'{"v":1,"seq":%d,"type":"message","id":"m%d","role":"USER","content":"%s"}\n' % (n, n, t)
        for n, t in enumerate(TEXTS, 1)
    ))  # fmt: skip
    shown = command(tmp_path, "show", str(folder), "s-1")
    assert shown.returncode == 0, shown.stderr
    for form in ("md", "html"):
        page = command(tmp_path, "export", str(folder), "s-1", "--format", form)
        assert page.returncode == 0, page.stderr
        for text in WHOLE:
            assert text in page.stdout
            assert text in shown.stdout
    lines = command(tmp_path, "export", str(folder), "s-1", "--format", "jsonl")
    assert lines.returncode == 0, lines.stderr
    rows = [json.loads(line) for line in lines.stdout.splitlines()]
    assert [row["content"] for row in rows if row["type"] == "message"] == WHOLE
    for word, text in zip(("ok", "보", "🍸 pair"), WHOLE, strict=True):
        hits = told(command(tmp_path, "search", str(folder), word, "--json"))["hits"]
        assert [hit["text"] for hit in hits] == [text]
