"""The tour with the real built-in model, and what it leaves on the disk."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from app import places
from app.engine.llm.catalogue import BUILTIN
from app.engine.llm.weights import present

STOPS = (
    "first-start", "review", "chat", "timeline", "daily-log", "proposal", "decided", "memory",
    "search-english", "search-english-opened", "search-chinese", "search-chinese-opened",
    "chat-tool", "evicted", "compaction", "activity", "settings", "dark-chat", "dark-memory",
)  # fmt: skip

pytestmark = [
    pytest.mark.model,
    pytest.mark.timeout(820),
    pytest.mark.skipif(
        present(BUILTIN, places.models_dir()) is None, reason="the built-in model is not fetched"
    ),
]


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One tour, run as a person runs it; the folder it left."""
    out = tmp_path_factory.mktemp("tour")
    done = subprocess.run(
        [sys.executable, "-m", "app", "tour", "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=800,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "warning" not in done.stderr.lower(), done.stderr
    return out


def workspace(out: Path) -> Path:
    return out / "data" / "demo" / "Greenhouse"


def log_of_the_tour(out: Path) -> list[dict]:
    """The entries of the session the tour made."""
    logs = workspace(out).glob("agents/*/sessions/*.log.jsonl")
    own = next(p for p in logs if "seed order" in p.read_text(encoding="utf-8"))
    return [json.loads(line) for line in own.read_text(encoding="utf-8").splitlines()]


def test_every_stop_has_its_picture(tour: Path) -> None:
    taken = {p.stem.split("-", 1)[1]: p for p in tour.glob("*.png")}
    assert set(STOPS) <= set(taken)
    for name in STOPS:
        data = taken[name].read_bytes()
        width, height = struct.unpack(">II", data[16:24])
        assert (width, height) == (1280, 800)
        assert len(data) > 12_000, f"{name} looks empty"


def test_the_turn_was_answered_by_the_built_in_model(tour: Path) -> None:
    entries = log_of_the_tour(tour)
    spoken = [e for e in entries if e["type"] == "message"]
    assert spoken[0]["role"] == "USER"
    assert "seed order" in spoken[0]["content"]
    assert spoken[1]["role"] == "ASSISTANT"
    assert spoken[1]["content"].strip()
    usage = next(e for e in entries if e["type"] == "usage")
    assert (usage["messageId"], usage["model"]) == (spoken[1]["id"], "SmolLM2 135M")


def test_flush_eviction_and_compaction_are_in_the_log_and_on_disk(tour: Path) -> None:
    entries = log_of_the_tour(tour)
    kinds = [e["type"] for e in entries]
    for kind in ("flush", "eviction", "compaction", "summary", "recall"):
        assert kind in kinds
    flush = next(e for e in entries if e["type"] == "flush")
    day = (workspace(tour) / flush["path"]).read_text(encoding="utf-8")
    assert "deadline for the seed order is 5 December" in day
    assert "柠檬树" in day
    eviction = next(e for e in entries if e["type"] == "eviction")
    aside = (workspace(tour) / eviction["file"]).read_text(encoding="utf-8")
    assert len(aside) == eviction["chars"] > 2_000
    assert "drift" in aside


def test_one_change_was_accepted_and_one_rejected(tour: Path) -> None:
    memory = (workspace(tour) / "MEMORY.md").read_text(encoding="utf-8")
    assert "seed order is 5 December" in memory
    assert "red tomatoes" not in memory
    done = subprocess.run(
        [sys.executable, "-m", "app", "history", str(workspace(tour)), "--json"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    newest = json.loads(done.stdout)[0]
    assert (newest["version"], newest["cause"]) == (4, "consolidation")
    proposals = [
        json.loads(p.read_text(encoding="utf-8"))
        for p in workspace(tour).glob(".palimpsest/proposals/*.json")
    ]
    assert sorted(p["state"] for p in proposals if p["model"] != "demo script")[0] in (
        "partly_applied", "proposed",
    )  # fmt: skip
    assert any(p["id"] == newest["run"] for p in proposals)


def test_the_person_s_own_data_is_not_touched(tour: Path) -> None:
    assert (tour / "data" / "config").parent.is_dir()
    assert not (tour / "data" / "models").exists(), "the model's file is shared, not copied"
