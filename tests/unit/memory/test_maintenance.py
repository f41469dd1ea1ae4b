"""Archive, consolidate, prune, re-index: in this order, each failing alone, nothing ever lost."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from app.engine.config import EngineConfig, MaintenanceConfig, MemoryConfig
from app.engine.errors import ConfigError, StorageError
from app.engine.events import Activity, Bus
from app.engine.jobs import JobQueue, Skipped
from app.engine.memory.gate import Gate
from app.engine.memory.journal import RunLog
from app.engine.memory.maintenance import MemoryMaintenanceScheduler, Step
from app.engine.memory.retention import last_record
from app.engine.records import Message, ModelCall, Query
from app.engine.search.index import MemoryIndex
from app.engine.session.codec import encode
from app.engine.session.entries import Eviction
from app.engine.session.recorder import Kit
from app.engine.session.store import SessionStore
from app.engine.workspace.daily_log import append_section
from app.engine.workspace.layout import Layout, ensure
from app.engine.workspace.sections import SectionStates
from app.engine.workspace.trash import Trash

ZONE = timezone(timedelta(hours=2))
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=ZONE)
FOUR = ("archive", "consolidation", "prune", "reindex")


class Sleeper:
    """A clock's sleep that returns only when the test says that the time has passed."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._pass = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self._pass.wait()
        self._pass.clear()

    async def tick(self) -> None:
        """Let the time pass, until the sleeper has done its work and sleeps again."""
        await seen(lambda: self.asked)
        before = len(self.asked)
        self._pass.set()
        await seen(lambda: len(self.asked) > before)


class House:
    """A workspace with a scheduler; the steps of others are recorded."""

    def __init__(self, root: Path, *, model: bool = True, queue_limit: int = 32, **memory) -> None:
        self.layout = Layout.at(root)
        ensure(self.layout)
        self.now = NOW
        self.bus = Bus()
        self.heard: list[Activity] = []
        self.bus.subscribe(lambda e: self.heard.append(e) if isinstance(e, Activity) else None)
        self.config = EngineConfig(memory=MemoryConfig(**memory))
        self.states = SectionStates(self.layout, when=NOW)
        self.ran: list[str] = []
        self.fail: dict[str, Exception] = {}
        self.opened: set[str] = set()
        self.index: MemoryIndex | None = None
        self.model = model
        self.queue_limit = queue_limit
        self.steps: dict[str, Step] = {}  # what a test puts in a step's place

    def allow(self, on: bool) -> None:
        """Whether a person has seen the list of what is due."""
        allowed = self.config.maintenance.replace(retention_allowed=on)
        self.config = self.config.replace(maintenance=allowed)

    async def open(self) -> None:
        self.sleep = Sleeper()
        self.jobs = JobQueue(self.bus, look_every=0, limit=self.queue_limit)

        def step(name: str):
            async def run(job) -> str:
                self.ran.append(name)
                if name in self.steps:
                    return await self.steps[name](job)
                if name in self.fail:
                    raise self.fail[name]
                return f"{name} done."

            return run

        async def index(path: str) -> None:
            if self.index is not None:
                await self.index.update(path)

        self.scheduler = MemoryMaintenanceScheduler(
            self.layout,
            bus=self.bus,
            jobs=self.jobs,
            gate=Gate(self.layout, clock=lambda: self.now),
            states=self.states,
            config=lambda: self.config,
            consolidate=step("consolidation") if self.model else None,
            reindex=step("reindex"),
            index=index,
            sessions_changed=lambda: SessionStore(self.layout).list(),
            opened=lambda: self.opened,
            clock=lambda: self.now,
            sleep=self.sleep,
        )
        await self.jobs.start()

    async def round(self):
        job = self.scheduler.enqueue()
        assert job is not None
        return await self.jobs.ended(job.id)

    def day(self, day: date, text: str = "- a fact") -> Path:
        when = datetime(day.year, day.month, day.day, 12, tzinfo=ZONE)
        append_section(self.layout, kind="flush", text=text, now=when)
        return self.layout.daily(day)

    def session(self, id: str, last: datetime, mtime: datetime | None = None, *texts: str) -> Path:
        """A closed session whose last record is from `last`; the file's time may differ."""
        store = SessionStore(self.layout, kit=Kit(now=lambda: last))
        session = store.create(id)
        for n, text in enumerate(texts or ("hello",)):
            session.add(Message(f"u-{id}-{n}", "user", text))
            session.add(Message(f"a-{id}-{n}", "assistant", "hi"))
        session.close()
        path = self.layout.session_log(id)
        for file in (path, self.layout.session_view(id)):
            if mtime is not None and file.exists():
                os.utime(file, (mtime.timestamp(), mtime.timestamp()))
        return path

    async def close(self) -> None:
        await self.scheduler.stop()
        await self.jobs.close(timeout=0.05)


def drive(root: Path, scenario, **memory) -> House:
    house = House(root, **memory)

    async def main():
        await house.open()
        try:
            await scenario(house)
        finally:
            await house.close()

    asyncio.run(main())
    return house


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def tree(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


# ------------------------------------------------------------------ archive


@pytest.mark.case("MNT-1")
def test_daily_logs_strictly_older_than_retention_are_archived(tmp_path: Path):
    async def scenario(h: House):
        old, kept = h.day(ago(91).date()), h.day(ago(90).date())
        text = old.read_bytes()
        job = await h.round()
        assert job.state == "done"
        assert not old.exists()
        assert (h.layout.archive_dir / old.name).read_bytes() == text
        assert kept.exists()

    drive(tmp_path, scenario, daily_file_retention_days=90)


@pytest.mark.case("MNT-2")
def test_other_files_stay_where_they_are(tmp_path: Path):
    async def scenario(h: House):
        names = ["notes.md", ".hidden.md", "2020-01-01-topic.md", "2020-13-01.md", "2020-01-01.txt"]
        for name in names:
            (h.layout.memory_dir / name).write_text("x", "utf-8")
        (h.layout.memory_dir / ".consolidation_state").write_text("2020-01-01T00:00:00Z", "utf-8")
        (h.layout.memory_dir / "2020-01-02.md").mkdir()
        before = tree(h.layout.memory_dir)
        await h.round()
        assert tree(h.layout.memory_dir) == before

    drive(tmp_path, scenario)


@pytest.mark.case("MNT-4")
def test_an_archived_days_waiting_sections_are_still_waiting(tmp_path: Path):
    async def scenario(h: House):
        h.day(ago(200).date(), "- merged once")
        first = h.states.waiting()[0]
        h.states.set([first.key], "merged", when=NOW)
        h.day(ago(200).date(), "- not yet merged")
        seen: list[list[str]] = []

        async def consolidate(_job) -> str:
            seen.append([s.path for s in h.states.waiting()])
            return ""

        h.steps["consolidation"] = consolidate
        await h.round()
        name = f"{ago(200).date().isoformat()}.md"
        assert seen == [[f"memory/archive/{name}"]]
        (left,) = h.states.waiting()
        assert left.section.lines[0].text == "- not yet merged"

    drive(tmp_path, scenario)


@pytest.mark.case("MNT-8")
def test_a_name_the_archive_holds_already_loses_neither_file(tmp_path: Path):
    async def scenario(h: House):
        old = h.day(ago(200).date(), "- the newer file")
        h.layout.archive_dir.mkdir(parents=True)
        there = h.layout.archive_dir / old.name
        there.write_text("- the older file", "utf-8")
        text = old.read_bytes()
        await h.round()
        assert there.read_text("utf-8") == "- the older file"
        others = [p for p in h.layout.archive_dir.iterdir() if p != there]
        assert [p.read_bytes() for p in others] == [text]
        assert not old.exists()
        assert {s.section.lines[0].text for s in h.states.waiting()} == {
            "- the older file", "- the newer file",
        }  # fmt: skip

    drive(tmp_path, scenario)


def test_never_keeps_everything_and_a_huge_number_too(tmp_path: Path):
    async def scenario(h: House):
        h.day(date(2001, 1, 1))
        h.session("s-old", ago(9_000))
        for days in ("never", 9_999, 10**12):
            h.config = EngineConfig(
                memory=MemoryConfig(daily_file_retention_days=days, session_retention_days=days)
            )
            assert await h.scheduler.preview() == []
            assert (await h.round()).state == "done"
        assert h.layout.session_log("s-old").exists()
        assert h.layout.daily(date(2001, 1, 1)).exists()

    drive(tmp_path, scenario)


# ------------------------------------------------------------------ the round


@pytest.mark.case("MNT-3")
def test_the_steps_come_in_order(tmp_path: Path):
    async def scenario(h: House):
        h.day(ago(200).date())
        h.session("s-old", ago(400))
        when: dict[str, tuple[bool, bool]] = {}

        def look(name: str):
            async def run(_job) -> str:
                archived = not h.layout.daily(ago(200).date()).exists()
                when[name] = (archived, not h.layout.session_log("s-old").exists())
                return ""

            return run

        h.steps = {"consolidation": look("consolidate"), "reindex": look("reindex")}
        job = await h.round()
        assert job.state == "done"
        assert when == {"consolidate": (True, False), "reindex": (True, True)}
        steps = [a.reason for a in h.heard if a.step == "job" and a.state == "progress"]
        assert steps == list(FOUR)

    drive(tmp_path, scenario)


@pytest.mark.case("MNT-7")
@pytest.mark.parametrize("broken", ["archive", "consolidation", "prune", "reindex", "bug"])
def test_a_step_that_fails_does_not_stop_the_next(tmp_path: Path, broken: str):
    async def scenario(h: House):
        h.day(ago(200).date())
        h.session("s-old", ago(400))
        if broken == "archive":
            h.layout.archive_dir.write_text("a file where the folder should be", "utf-8")
        elif broken == "prune":
            h.layout.trash_dir.rmdir()
            h.layout.trash_dir.write_text("a file where the folder should be", "utf-8")
        elif broken == "bug":
            h.fail["consolidation"] = ZeroDivisionError("oops")
        else:
            h.fail[broken] = StorageError("The disk is full.", "Free some space.")
        job = await h.round()
        assert job.state == "failed"
        assert job.reason
        assert job.remedy
        assert h.ran == ["consolidation", "reindex"]
        failed = {a.step for a in h.heard if a.state == "failed" and a.step != "job"}
        assert failed == {"consolidation" if broken == "bug" else broken}
        archived = not h.layout.daily(ago(200).date()).exists()
        pruned = not h.layout.session_log("s-old").exists()
        assert archived is (broken != "archive")
        assert pruned is (broken != "prune")

    drive(tmp_path, scenario)


def test_without_a_model_the_other_steps_run(tmp_path: Path):
    async def scenario(h: House):
        h.day(ago(200).date())
        assert (await h.round()).state == "done"
        assert h.ran == ["reindex"]
        assert not h.layout.daily(ago(200).date()).exists()
        assert any(a.step == "consolidation" and a.state == "skipped" for a in h.heard)

    drive(tmp_path, scenario, model=False)


def test_a_step_with_nothing_to_do_is_skipped_not_failed(tmp_path: Path):
    async def scenario(h: House):
        h.fail["consolidation"] = Skipped("Nothing is waiting.")
        assert (await h.round()).state == "done"
        said = [a for a in h.heard if a.step == "consolidation"]
        assert [(a.state, a.reason) for a in said] == [("skipped", "Nothing is waiting.")]

    drive(tmp_path, scenario)


async def seen(what: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until there is something: a slow machine may take its time."""
    end = asyncio.get_running_loop().time() + seconds
    while not what() and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.01)


@pytest.mark.case("MNT-6")
def test_the_timer_and_requests(tmp_path: Path):
    async def scenario(h: House):
        h.scheduler.start()
        await seen(lambda: h.sleep.asked)
        assert h.sleep.asked == [6 * 3600]
        assert h.jobs.jobs() == []  # nothing before one interval has passed
        h.now += timedelta(hours=6)
        await h.sleep.tick()
        await seen(h.jobs.jobs)
        await h.jobs.drain(5)
        assert [j.trigger for j in h.jobs.jobs()] == ["timer"]

    async def requests(h: House):
        assert await h.scheduler.request_consolidation() is not None  # no recorded run
        h.now += timedelta(minutes=29)
        assert await h.scheduler.request_consolidation() is None
        h.now += timedelta(minutes=1)
        assert await h.scheduler.request_consolidation() is not None
        h.now += timedelta(hours=5)
        await h.scheduler.stop()
        assert await h.scheduler.request_consolidation() is None
        await h.jobs.drain(5)
        assert len(h.jobs.jobs()) == 2

    drive(tmp_path / "timer", scenario)
    drive(tmp_path / "requests", requests)


def test_the_timer_goes_on_and_respects_the_gap(tmp_path: Path):
    async def scenario(h: House):
        h.scheduler.start()
        assert await h.scheduler.request_consolidation() is not None
        h.now += timedelta(minutes=1)
        await h.sleep.tick()  # a round was just made
        assert any(a.step == "gate" and a.state == "skipped" for a in h.heard)
        h.now += timedelta(hours=6)
        await h.sleep.tick()
        await h.jobs.drain(5)
        assert [j.trigger for j in h.jobs.jobs()] == ["timer", "after a flush"]

    drive(tmp_path, scenario)


def test_an_own_gap(tmp_path: Path):
    async def scenario(h: House):
        h.config = h.config.replace(
            maintenance=MaintenanceConfig(opportunistic_gap=timedelta(hours=3))
        )
        assert await h.scheduler.request_consolidation() is not None
        h.now += timedelta(hours=2)
        assert await h.scheduler.request_consolidation() is None

    drive(tmp_path, scenario)


def test_a_full_queue_gives_the_slot_back(tmp_path: Path):
    async def scenario(h: House):
        assert await h.scheduler.request_consolidation() is None
        assert Gate(h.layout, clock=lambda: h.now).last("maintenance") is None

    drive(tmp_path, scenario, queue_limit=0)


# ------------------------------------------------------------------ prune


@pytest.mark.case("MNT-5")
def test_an_old_session_goes_to_the_trash_with_all_that_is_its(tmp_path: Path):
    async def scenario(h: House):
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

    async def scenario(h: House):
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
    async def scenario(h: House):
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
    async def scenario(h: House):
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
    h = House(tmp_path)
    log = h.session("s", ago(10))
    with log.open("ab") as out:
        out.write(json.dumps({"type": "message", "id": "z", "role": "USER", "content": "x",
                              "timestamp": 0}).encode() + b"\n")  # fmt: skip
    assert last_record(log) == ago(10)


def test_old_runs_and_closed_proposals_go_with_the_sessions(tmp_path: Path):
    async def scenario(h: House):
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
    async def scenario(h: House):
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


def test_until_the_preview_was_seen_nothing_is_moved_or_deleted_and_the_round_says_so(
    tmp_path: Path,
):
    async def scenario(h: House):
        await h.round()
        h.session("s-older", ago(400))
        await h.round()  # to the trash
        h.now += timedelta(days=31)
        h.allow(False)
        old = h.day(ago(200).date())
        log = h.session("s-old", ago(400))
        job = await h.round()
        assert job.state == "done"
        due = len(await h.scheduler.preview())
        assert job.result.startswith(
            f"{due} files are due. Nothing is put away until you have seen the list"
        )
        assert old.exists()
        assert log.exists()
        assert Trash(h.layout).list() != []
        skipped = [a.step for a in h.heard if a.state == "skipped" and "seen the list" in a.reason]
        assert skipped == ["archive", "prune"]
        assert h.ran[-2:] == ["consolidation", "reindex"]
        h.scheduler.start()
        await asyncio.sleep(0)
        (next_round,) = h.scheduler.upcoming()[-1:]
        assert next_round.reason == f"{due} files waiting until you have seen the list"
        h.allow(True)
        assert h.scheduler.upcoming()[-1].reason == ""
        await h.scheduler.stop()
        job = await h.round()
        assert "due" not in job.result
        assert not old.exists()
        assert not log.exists()
        assert await h.scheduler.preview() == []

    drive(tmp_path, scenario)


def test_a_held_round_with_nothing_due_says_nothing_of_it(tmp_path: Path):
    async def scenario(h: House):
        h.allow(False)
        h.day(ago(1).date())
        assert (await h.round()).result == "consolidation done. reindex done."

    drive(tmp_path, scenario)
