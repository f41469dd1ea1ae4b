"""What Activity shows, in words: jobs as rows of columns, days as heads. Pure.

Besides the queue's jobs there are things that happened without one (a compaction, a result put
aside, a gate that said no); the pane keeps those it saw as `JobInfo`s of their own, so that one
list tells everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Protocol

from app.engine.events import Activity
from app.engine.records import Due, JobInfo
from app.gui.look.text import (
    clock,
    day,
    plain_line,
    plural,
    seconds,
    sentence,
    short_day,
    tr,
)
from app.gui.widgets.pane import Target
from app.gui.widgets.rows import Row

# kind: (word, mark)
KINDS: dict[str, tuple[str, str]] = {
    "flush": ("Flush", "flush"),
    "consolidate": ("Consolidation", "consolidation"),
    "consolidation": ("Consolidation", "consolidation"),
    "maintain": ("Maintenance", "message"),
    "archive": ("Archive", "message"),
    "prune": ("Clean-up", "message"),
    "reindex": ("Index", "message"),
    "compaction": ("Compaction", "compaction"),
    "compact": ("Compaction", "compaction"),
    "eviction": ("Put aside", "eviction"),
    "overflow": ("Overflow", "failure"),
    "gate": ("Memory work", "message"),
}
# state: (word, icon, ink)
STATES: dict[str, tuple[str, str, str]] = {
    "done": ("done", "circle-check", "ok"),
    "failed": ("failed", "circle-x", "lost"),
    "skipped": ("skipped", "circle-slash", "text_faint"),
    "cancelled": ("cancelled", "circle-slash", "text_faint"),
    "waiting": ("waiting", "circle-dashed", "text_faint"),
    "running": ("running", "", "accent"),
}
# filter: (words, kinds; None is every kind)
FILTERS: dict[str, tuple[str, frozenset[str] | None]] = {
    "all": ("Everything", None),
    "failed": ("What failed or was skipped", None),
    "flush": ("Flushes", frozenset({"flush"})),
    "consolidate": ("Consolidations", frozenset({"consolidate", "consolidation"})),
    "maintain": ("Maintenance", frozenset({"maintain", "archive", "prune"})),
    "reindex": ("Index", frozenset({"reindex"})),
    "context": ("Compactions and results put aside", frozenset({"compaction", "eviction"})),
}
# Steps that happen without a job of the queue.
SEEN_STEPS = ("compaction", "eviction", "overflow", "gate")


class RetentionItem(Protocol):
    """What `ask.retention_preview` tells of one file."""

    @property
    def step(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def age(self) -> int: ...


@dataclass(frozen=True)
class Cells:
    """The columns of one row."""

    time: str
    mark: str
    kind: str
    trigger: str
    why: str
    state: str
    icon: str
    ink: str
    took: str


def kind_word(kind: str) -> str:
    return tr(KINDS[kind][0]) if kind in KINDS else plain_line(kind).capitalize()


def mark_kind(kind: str) -> str:
    return KINDS.get(kind, ("", "message"))[1]


def state_word(state: str) -> str:
    return tr(STATES.get(state, (state, "", ""))[0])


def took(job: JobInfo, now: datetime) -> float | None:
    """Seconds a job ran, or runs; None before it began."""
    if job.started is None:
        return None
    end = job.ended or (now if job.state == "running" else None)
    return max((end - job.started).total_seconds(), 0.0) if end else None


def outcome(job: JobInfo) -> str:
    """What came of it, or what went wrong: one safe line."""
    return plain_line((job.reason or job.result)[:2_000])[:600]


def took_words(passed: float | None) -> str:
    """A duration; what is too short to be told apart is so named."""
    if passed is None:
        return ""
    return seconds(passed) if passed >= 0.05 else tr("an instant")


def trigger_words(trigger: str) -> str:
    """A trigger as the engine names it, as words of a row."""
    return plain_line(trigger).replace("_", " ")


def moment_of(job: JobInfo) -> datetime:
    """What a job is ordered by: when it began, else when it was asked for."""
    return job.started or job.queued


def cells(job: JobInfo, now: datetime) -> Cells:
    """One row of the list."""
    word, icon, ink = STATES.get(job.state, (job.state, "circle-dashed", "text_faint"))
    return Cells(
        time=clock(moment_of(job)),
        mark=mark_kind(job.kind),
        kind=kind_word(job.kind),
        trigger=trigger_words(job.trigger),
        why=outcome(job),
        state=tr(word),
        icon=icon,
        ink=ink,
        took=took_words(took(job, now)),
    )


def spoken(job: JobInfo, now: datetime) -> str:
    """One full sentence for assistive tools."""
    one = cells(job, now)
    return sentence([f"{one.kind}: {one.state}", one.time, one.trigger, one.why, one.took])


def shown(jobs: Iterable[JobInfo], chosen: str) -> list[JobInfo]:
    """The jobs a filter lets through, newest first."""
    kinds = FILTERS.get(chosen, FILTERS["all"])[1]
    out = [
        job
        for job in jobs
        if (kinds is None or job.kind in kinds)
        and (chosen != "failed" or job.state in ("failed", "skipped", "cancelled"))
    ]
    return sorted(out, key=moment_of, reverse=True)


def rows(jobs: Sequence[JobInfo], now: datetime) -> list[Row]:
    """Rows with a head per day. Waiting and running jobs have places of their own elsewhere."""
    past = [job for job in jobs if job.state not in ("running", "waiting")]
    today = now.astimezone().date()
    out: list[Row] = []
    for of, group in groupby(past, key=lambda job: moment_of(job).astimezone().date()):
        out.append(Row(f"day-{of}", day(of, today), head=True))
        for job in group:
            one = cells(job, now)
            tip = "\n".join(p for p in (one.why, job.remedy) if p)
            out.append(
                Row(
                    job.id, one.kind, one.why, one.took, mark=one.mark,
                    tone="failed" if job.state == "failed" else "",
                    spoken=spoken(job, now), tip=tip, data=(job, one),
                )
            )  # fmt: skip
    return out


def waiting_words(jobs: Sequence[JobInfo]) -> str:
    """What comes next, of the queue: "consolidation, then index"."""
    waiting = [job for job in jobs if job.state == "waiting"]
    waiting.sort(key=lambda job: job.queued)
    names = [kind_word(job.kind).lower() for job in waiting[:4]]
    if len(waiting) > 4:
        names.append(tr("{n} more", n=len(waiting) - 4))
    return tr(", then ").join(names)


def seen(event: Activity, now: datetime, number: int) -> JobInfo | None:
    """A thing that happened without a job, as one; None for steps that jobs tell of."""
    if event.step not in SEEN_STEPS or event.job_id:
        return None
    states = {"finished": "done", "failed": "failed", "skipped": "skipped"}
    state = states.get(event.state)
    if state is None:
        return None
    began = now - timedelta(seconds=_seconds(event))
    return JobInfo(
        id=f"seen-{number}",
        kind=event.step,
        trigger="",
        state=state,
        queued=began,
        started=began,
        ended=now,
        session_id=event.session_id,
        reason=event.reason or _detail_words(event),
        remedy=event.remedy,
    )


def _seconds(event: Activity) -> float:
    value = event.detail.get("seconds", 0)
    return float(value) if isinstance(value, int | float) and 0 <= value < 86_400 else 0.0


def _detail_words(event: Activity) -> str:
    before, after = event.detail.get("before"), event.detail.get("after")
    if isinstance(before, int) and isinstance(after, int):
        return tr("{before} to {after} tokens", before=before, after=after)
    tool = event.detail.get("tool")
    return tr("a result of {tool}", tool=plain_line(tool)) if isinstance(tool, str) else ""


def result_target(job: JobInfo) -> Target | None:
    """Where the thing lies that a job made: a daily log, a proposal, or its session."""
    if job.state == "done" and job.target:
        if job.target.endswith(".md"):
            return Target("daily", path=job.target)
        if job.kind in ("consolidate", "consolidation", "maintain"):
            return Target("memory", proposal=job.target)
    return None


def run_of(job: JobInfo) -> str:
    """The run under which a job's model calls are kept."""
    if job.kind in ("consolidate", "consolidation", "maintain"):
        return job.target or job.id
    return job.id


def due_words(due: Due, now: datetime) -> str:
    """One thing to come: "maintenance at 18:30", "consolidation of 3 waiting lines"."""
    name = kind_word(due.kind).lower()
    if due.when is None:
        return sentence([name, due.reason])
    if due.when <= now:
        return sentence([tr("{name} any moment", name=name), due.reason])
    return sentence([tr("{name} {when}", name=name, when=moment_ahead(due.when, now)), due.reason])


def moment_ahead(when: datetime, now: datetime) -> str:
    """An instant to come: 18:30 today, else with its day."""
    local, today = when.astimezone().date(), now.astimezone().date()
    if local == today:
        return tr("at {time}", time=clock(when))
    if local == today + timedelta(days=1):
        return tr("tomorrow at {time}", time=clock(when))
    return tr("on {day} at {time}", day=short_day(local, today), time=clock(when))


def retention_words(items: Sequence[RetentionItem]) -> tuple[str, str, str]:
    """Head, sentences and list of what a round of maintenance would move."""
    if not items:
        text = tr("Nothing is old enough to be moved. The index is brought up to date, and what "
                  "waits may become a proposal.")  # fmt: skip
        return tr("Maintain this workspace now?"), text, ""
    steps = {
        "archive": tr("to the archive"),
        "prune": tr("to the trash"),
        "trash": tr("out of the trash, for good"),
    }
    counts = Counter(item.step for item in items)
    parts = [
        plural(n, "{n} file goes {where}", "{n} files go {where}", where=steps.get(step, step))
        for step, n in counts.items()
    ]
    lines = [
        f"{item.path}  {steps.get(item.step, item.step)}, {item.age} d" for item in items[:200]
    ]
    if len(items) > 200:
        lines.append(tr("and {n} more", n=len(items) - 200))
    rules = sorted({item.rule for item in items})
    return (
        tr("Maintain this workspace now?"),
        ". ".join(parts) + ".",
        "\n".join([*rules, "", *lines]),
    )
