"""Old sessions and what is theirs go to the trash, and the trash is emptied in its time."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from app.engine.config import MemoryConfig
from app.engine.errors import ConfigError
from app.engine.memory.journal import RunLog
from app.engine.memory.retention import last_record
from app.engine.records import ModelCall, Query
from app.engine.search.index import MemoryIndex
from app.engine.session.codec import encode
from app.engine.session.entries import Eviction
from app.engine.session.store import SessionStore
from app.engine.workspace.trash import Trash
from tests.helpers.maintaining import NOW, MaintenanceHouse, ago, drive, tree


@pytest.mark.case("MNT-5")
def test_an_old_session_goes_to_the_trash_with_all_that_is_its(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        log = h.session("s-old", ago(181), NOW, "the walrus sings")
        with log.open("ab") as file:
            evicted = Eviction(
                id="e-1", timestamp=ago(181).isoformat(), target="x",
                file="large_tool_results/palimpsest/c1-0011223344556677", chars=9, sha256="ff",
            )  # fmt: skip
            file.write(encode(evicted))
        result = h.layout.eviction_dir() / "c1-0011223344556677"
        result.parent.mkdir(parents=True)
        result.write_text("evicted", "utf-8")
        torn = log.with_name("s-old.log.torn-1")
        torn.write_text("{", "utf-8")
        h.session("s-new", ago(179), ago(900), "the walrus sleeps")
        SessionStore(h.layout).list()
        assert h.layout.session_view("s-old").exists()
        h.index = MemoryIndex(h.layout.root, h.layout.index())
        await h.index.open()
        await h.index.index_all_from_workspace()
        assert {x.session_id for x in (await h.index.search(Query("walrus"))).hits} == {
            "s-old", "s-new",
        }  # fmt: skip
        h.opened = {"s-new"}
        job = await h.round()
        assert job.state == "done"
        for path in (log, h.layout.session_view("s-old"), torn, result):
            assert not path.exists()
        assert h.layout.session_log("s-new").exists()
        assert h.layout.session_view("s-new").exists()
        listed = json.loads(h.layout.sessions_index.read_text("utf-8"))["sessions"]
        assert set(listed) == {"s-new"}
        assert {x.session_id for x in (await h.index.search(Query("walrus"))).hits} == {"s-new"}
        await h.index.close()
        stored = {item.path for item in Trash(h.layout).list()}
        assert stored == {
            h.layout.relative(p) for p in (log, h.layout.session_view("s-old"), torn, result)
        }
        assert [i.id for i in SessionStore(h.layout).list(trashed=True)] == ["s-old"]
        SessionStore(h.layout).restore("s-old")
        assert log.exists()

    drive(tmp_path, scenario)


@pytest.mark.case("B94")
def test_age_is_that_of_the_last_record(tmp_path: Path):
    """Forty logs, and file times that lie."""

    async def scenario(h: MaintenanceHouse):
        for n in range(17):
            h.session(f"young-{n}", ago(10 + n), ago(900))  # old file time, new last record
            h.session(f"old-{n}", ago(200 + n), NOW)  # new file time, old last record
        broken = h.session("broken", ago(10), ago(900))
        with broken.open("ab") as file:
            file.write(b'{"type":"message","id":"x","timest')
        h.session("opened", ago(400))
        linked = h.session("real", ago(10))
        (h.layout.sessions_dir / "linked.log.jsonl").symlink_to(linked)
        outside = tmp_path / "outside.log.jsonl"
        outside.write_bytes(h.session("gone", ago(300)).read_bytes())
        (h.layout.sessions_dir / "outside.log.jsonl").symlink_to(outside)
        empty = h.layout.session_log("timeless")
        empty.write_bytes(b"not json at all\n")
        os.utime(empty, (ago(300).timestamp(), ago(300).timestamp()))
        with_file = h.session("with-file", ago(300))
        result = h.layout.eviction_dir() / "c9-0011223344556677"
        result.parent.mkdir(parents=True)
        result.write_text("evicted", "utf-8")
        shared = h.layout.eviction_dir() / "c8-0011223344556677"
        shared.write_text("shared with a session that stays", "utf-8")
        name = "large_tool_results/palimpsest/"
        for log, file in ((with_file, "c9"), (with_file, "c8"), (linked, "c8")):
            record = {
                "type": "eviction",
                "id": f"e-{file}",
                "file": f"{name}{file}-0011223344556677",
            }
            with log.open("ab") as out:
                out.write(json.dumps(record).encode() + b"\n")
        h.opened = {"opened"}

        before = tree(tmp_path)
        preview = await h.scheduler.preview()
        assert tree(tmp_path) == before  # looking changes nothing
        sessions = {item.session_id for item in preview}
        expected = {f"old-{n}" for n in range(17)} | {"gone", "timeless", "with-file"}
        assert sessions == expected
        assert all("180 days" in item.rule and item.age > 180 for item in preview)

        assert (await h.round()).state == "done"
        left = {
            p.name.removesuffix(".log.jsonl") for p in h.layout.sessions_dir.glob("*.log.jsonl")
        }
        assert left == {f"young-{n}" for n in range(17)} | {
            "broken", "opened", "real", "linked", "outside",
        }  # fmt: skip
        assert not result.exists()
        assert shared.exists()
        moved = {item.path for item in Trash(h.layout).list()}
        assert moved == {item.path for item in preview}
        inside = {k: v for k, v in before.items() if k in moved}
        stored = sorted(h.layout.trash_dir.rglob("0*"))
        assert sorted(p.read_bytes() for p in stored) == sorted(inside.values())
        noted = RunLog(h.layout).moves()
        assert {m["from"] for m in noted} == moved
        assert all(m["time"] and "180 days" in m["rule"] for m in noted)

    drive(tmp_path, scenario)


@pytest.mark.case("B94")
@pytest.mark.parametrize("days", [0, -1, "30 days", None, True, ""])
def test_odd_retentions_are_refused(days):
    """0 has a stated meaning: it is refused; "never" is the word for keeping."""
    with pytest.raises(ConfigError):
        MemoryConfig(session_retention_days=days)
    with pytest.raises(ConfigError):
        MemoryConfig(daily_file_retention_days=days)
    assert MemoryConfig(session_retention_days=9_999).session_retention_days == 9_999


def test_a_session_another_process_holds_stays(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        log = h.session("s-old", ago(400))
        held = SessionStore(h.layout).open("s-old")
        held.append(Eviction(id="e", timestamp=ago(400).isoformat(), target="x"))
        await h.round()
        assert log.exists()
        held.close()
        await h.round()
        assert not log.exists()

    drive(tmp_path, scenario)


def test_a_log_never_takes_files_along_that_are_not_results(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        log = h.session("s-old", ago(400))
        (tmp_path / "secret").write_text("x", "utf-8")
        h.layout.memory_md.write_text("# M\n", "utf-8")
        kept = h.day(ago(1).date())
        names = ("../secret", str(tmp_path / "secret"), "MEMORY.md", h.layout.relative(kept))
        with log.open("ab") as out:
            for name in names:
                record = {"type": "eviction", "id": name, "file": name}
                out.write(json.dumps(record).encode() + b"\n")
        await h.round()
        assert not log.exists()
        assert (tmp_path / "secret").exists()
        assert h.layout.memory_md.exists()
        assert kept.exists()

    drive(tmp_path, scenario)


def test_times_that_run_backwards_count_with_the_newest(tmp_path: Path):
    h = MaintenanceHouse(tmp_path)
    log = h.session("s", ago(10))
    with log.open("ab") as out:
        out.write(json.dumps({"type": "message", "id": "z", "role": "USER", "content": "x",
                              "timestamp": 0}).encode() + b"\n")  # fmt: skip
    assert last_record(log) == ago(10)


def test_old_runs_and_closed_proposals_go_with_the_sessions(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        runs = RunLog(h.layout)
        for name, days in (("r-old", 200), ("r-new", 10)):
            runs.record_call(ModelCall(name, "flush", "m", ago(days), 1.0, "p", "a"))
            for state in ("applied", "in_review"):
                path = h.layout.proposal(f"{name}-{state}")
                path.write_text(
                    json.dumps({"state": state, "when": ago(days).isoformat()}), "utf-8"
                )
        (h.layout.proposals_dir / "damaged.json").write_text("{", "utf-8")
        await h.round()
        assert runs.calls("r-old") == []
        assert [c.run for c in runs.calls("r-new")] == ["r-new"]
        assert sorted(p.name for p in h.layout.proposals_dir.iterdir()) == [
            "damaged.json", "r-new-applied.json", "r-new-in_review.json", "r-old-in_review.json",
        ]  # fmt: skip
        aside = list(h.layout.trash_dir.rglob("*runs-*"))
        assert len(aside) == 1
        assert b'"r-old"' in aside[0].read_bytes()

    drive(tmp_path, scenario)


def test_the_trash_is_emptied_after_its_days(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        h.session("s-old", ago(400))
        await h.round()
        h.now += timedelta(days=29)
        await h.round()
        assert Trash(h.layout).list()
        h.now += timedelta(days=1)
        assert {i.step for i in await h.scheduler.preview()} == {"trash"}
        await h.round()
        assert Trash(h.layout).list() == []

    drive(tmp_path, scenario)
