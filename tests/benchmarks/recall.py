"""How often plain questions find the turns that answer them, with no model at all.

`FOLDER` holds JSON files: `sessions` [{n, when, turns [{id, speaker, text, image_caption?}]}] and
`questions` [{question, evidence [turn ids], category}]. Each file becomes a fresh workspace in the
session log's own format; each question is asked word for word in natural-language mode. R@k is the
share of a question's evidence turns among the first k hits, averaged over questions.

`recall_at_10` is with the times the conversation gives, `recall_at_10_undated` with made-up ones,
so that the days a question speaks of are of no help; the goal must be met without them. With
`--ablation`, `recall_at_10_without_…` says what is left when one part of the ranking is taken out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

from app.engine.records import Query
from app.engine.search import ranking, rereading, weighing
from app.engine.search.index import MemoryIndex
from tests.benchmarks._telling import told

GOAL = 0.80
CUTS = (5, 10, 30)
PARTS: dict[str, list[tuple[ModuleType, str, Any]]] = {
    "days": [(weighing, "DAY", 0.0)],
    "slips": [(weighing, "SLIP", 0.0)],
    "neighbours": [(ranking, "NEIGHBOURS", ()), (ranking, "SESSION", 0.0)],
    "answers": [(ranking, "ANSWERED", ranking.NEIGHBOURS[0]), (ranking, "ASKING", 1.0)],
    "session": [(ranking, "SESSION", 0.0)],
    "more_terms": [(ranking, "MORE", 0.0)],
    "speakers": [(rereading, "SPEAKER", 1.0), (rereading, "MENTIONED", 1.0)],
    "shared_words": [(rereading, "SHARED", 0.0)],
    "length": [(rereading, "LENGTH", 0.0)],
    "repetition": [(rereading, "OFTEN", 0.0)],
}
Scores = list[tuple[int, dict[int, float]]]


def main(argv: list[str]) -> int:
    """Print the figures; 1 when R@10 is below its goal."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks recall")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ablation", action="store_true", help="also without each part")
    options = parser.parse_args(argv)
    files = sorted(options.folder.glob("*.json"))
    if not files:
        print(f"There are no conversations (*.json) in {options.folder}.")
        return 2
    figures = asyncio.run(measure(files, ablation=options.ablation))
    return told(figures, as_json=options.json)


async def measure(files: list[Path], *, ablation: bool = False) -> dict[str, Any]:
    """R@k over all questions of all files, by category and file too, and what it cost."""
    scores: Scores = []
    undated: Scores = []
    by_file: dict[str, float] = {}
    without: dict[str, Scores] = {part: [] for part in PARTS} if ablation else {}
    seconds = 0.0
    turns = 0
    for file in files:
        data = json.loads(file.read_text("utf-8"))
        turns += sum(len(session["turns"]) for session in data["sessions"])
        async with _asking(data, dated=True) as ask:
            begun = time.perf_counter()
            found = await ask()
            seconds += time.perf_counter() - begun
            for part in without:
                with _left_out(part):
                    without[part] += await ask()
        scores += found
        by_file[f"recall_at_10_file_{file.stem}"] = _at(10, found)
        async with _asking(data, dated=False) as ask:
            undated += await ask()
    figures: dict[str, Any] = {"questions": len(scores), "turns": turns}
    figures |= {f"recall_at_{cut}": _at(cut, scores) for cut in CUTS}
    figures |= {f"recall_at_{cut}_undated": _at(cut, undated) for cut in CUTS}
    for category in sorted({category for category, _ in scores}):
        of_one = [one for one in scores if one[0] == category]
        figures[f"recall_at_10_category_{category}"] = _at(10, of_one)
    figures |= by_file
    figures |= {f"recall_at_10_without_{part}": _at(10, found) for part, found in without.items()}
    figures["milliseconds_per_question"] = round(1000 * seconds / max(1, len(scores)), 2)
    worst = min(figures["recall_at_10"], figures["recall_at_10_undated"])
    figures["recall_at_10_ratio"] = round(GOAL / max(worst, 1e-9), 4)
    figures["recall_at_10_ratio_limit"] = 1.0
    return figures


def _at(cut: int, scores: Scores) -> float:
    values = [score[cut] for _, score in scores]
    return round(sum(values) / len(values), 4) if values else 0.0


@contextmanager
def _left_out(part: str) -> Iterator[None]:
    """One part of the ranking at the weight that makes it say nothing."""
    kept = [(module, name, getattr(module, name)) for module, name, _ in PARTS[part]]
    for module, name, value in PARTS[part]:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


class _asking:  # noqa: N801 - used as `async with _asking(...)`
    """A workspace with one conversation; inside, a call that asks all of its questions."""

    def __init__(self, data: dict[str, Any], *, dated: bool) -> None:
        self._data = data
        self._folder = tempfile.TemporaryDirectory()
        _write_workspace(Path(self._folder.name), data, dated=dated)
        self._index = MemoryIndex(Path(self._folder.name))

    async def __aenter__(self) -> Any:
        await self._index.open()
        await self._index.index_all_from_workspace()
        return self._ask

    async def __aexit__(self, *_: object) -> None:
        await self._index.close()
        self._folder.cleanup()

    async def _ask(self) -> Scores:
        scores: Scores = []
        for question in self._data["questions"]:
            wanted = set(question["evidence"])
            if not wanted:
                continue
            query = Query(question["question"], mode="natural", limit=max(CUTS))
            hits = [hit.entry_id for hit in (await self._index.search(query)).hits]
            score = {cut: len(wanted & set(hits[:cut])) / len(wanted) for cut in CUTS}
            scores.append((question["category"], score))
        return scores


def _write_workspace(root: Path, data: dict[str, Any], *, dated: bool) -> None:
    folder = root / "agents" / "bot" / "sessions"
    folder.mkdir(parents=True)
    first = data["speakers"][0]
    for session in data["sessions"]:
        begun = _when(session, dated=dated)
        lines: list[str] = []
        for seq, turn in enumerate(session["turns"]):
            caption = turn.get("image_caption")
            text = f"{turn['speaker']}: {turn['text']}" + (f" [{caption}]" if caption else "")
            entry = {
                "v": 1, "seq": seq, "type": "message", "id": turn["id"],
                "timestamp": (begun + timedelta(seconds=20 * seq)).isoformat(),
                "role": "USER" if turn["speaker"] == first else "ASSISTANT", "content": text,
            }  # fmt: skip
            lines.append(json.dumps(entry, ensure_ascii=False))
        path = folder / f"session-{session['n']}.log.jsonl"
        path.write_text("\n".join(lines) + "\n", "utf-8")


def _when(session: dict[str, Any], *, dated: bool) -> datetime:
    """When a session began; a made-up day that no question speaks of where that is not known."""
    if dated:
        try:
            known = datetime.strptime(session["when"], "%I:%M %p on %d %B, %Y")
            return known.replace(tzinfo=UTC)
        except (KeyError, ValueError):
            pass
    return datetime(1990, 1, 1, 10, tzinfo=UTC) + timedelta(minutes=session["n"])
