"""How often plain questions find the turns that answer them, with no model at all.

`FOLDER` holds JSON files: `sessions` [{n, when, turns [{id, speaker, text, image_caption?}]}] and
`questions` [{question, evidence [turn ids], category}]. Each file becomes a fresh workspace in the
session log's own format; each question is asked word for word in natural-language mode. R@k is the
share of a question's evidence turns among the first k hits, averaged over questions.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from app.engine.records import Query
from app.engine.search.index import MemoryIndex

GOAL = 0.80
CUTS = (5, 10, 30)


def main(argv: list[str]) -> int:
    """Print the figures; 1 when R@10 is below its goal."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks recall")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    files = sorted(options.folder.glob("*.json"))
    if not files:
        print(f"There are no conversations (*.json) in {options.folder}.")
        return 2
    figures = asyncio.run(measure(files))
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:28} {value}")
    return 0 if figures["recall_at_10"] >= GOAL else 1


async def measure(files: list[Path]) -> dict[str, Any]:
    """R@k over all questions of all files, by category too, and what it cost."""
    scores: list[tuple[int, dict[int, float]]] = []
    seconds = 0.0
    turns = 0
    for file in files:
        data = json.loads(file.read_text("utf-8"))
        turns += sum(len(session["turns"]) for session in data["sessions"])
        with tempfile.TemporaryDirectory() as folder:
            found, spent = await _ask(Path(folder), data)
        scores += found
        seconds += spent
    figures: dict[str, Any] = {"questions": len(scores), "turns": turns}
    for cut in CUTS:
        figures[f"recall_at_{cut}"] = _mean([score[cut] for _, score in scores])
    for category in sorted({category for category, _ in scores}):
        of_one = [score[10] for kind, score in scores if kind == category]
        figures[f"recall_at_10_category_{category}"] = _mean(of_one)
    figures["milliseconds_per_question"] = round(1000 * seconds / max(1, len(scores)), 2)
    figures["recall_at_10_ratio"] = round(GOAL / max(figures["recall_at_10"], 1e-9), 4)
    figures["recall_at_10_ratio_limit"] = 1.0
    return figures


def _mean(values: list[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0


async def _ask(
    root: Path, data: dict[str, Any]
) -> tuple[list[tuple[int, dict[int, float]]], float]:
    _write_workspace(root, data)
    index = MemoryIndex(root)
    await index.open()
    await index.index_all_from_workspace()
    scores: list[tuple[int, dict[int, float]]] = []
    begun = time.perf_counter()
    for question in data["questions"]:
        wanted = set(question["evidence"])
        if not wanted:
            continue
        query = Query(question["question"], mode="natural", limit=max(CUTS))
        hits = [hit.entry_id for hit in (await index.search(query)).hits]
        score = {cut: len(wanted & set(hits[:cut])) / len(wanted) for cut in CUTS}
        scores.append((question["category"], score))
    seconds = time.perf_counter() - begun
    await index.close()
    return scores, seconds


def _write_workspace(root: Path, data: dict[str, Any]) -> None:
    folder = root / "agents" / "bot" / "sessions"
    folder.mkdir(parents=True)
    first = data["speakers"][0]
    for session in data["sessions"]:
        lines: list[str] = []
        for seq, turn in enumerate(session["turns"]):
            caption = turn.get("image_caption")
            text = f"{turn['speaker']}: {turn['text']}" + (f" [{caption}]" if caption else "")
            entry = {
                "v": 1, "seq": seq, "type": "message", "id": turn["id"],
                "timestamp": f"2026-01-{session['n'] % 28 + 1:02}T10:{seq // 60:02}:{seq % 60:02}Z",
                "role": "USER" if turn["speaker"] == first else "ASSISTANT", "content": text,
            }  # fmt: skip
            lines.append(json.dumps(entry, ensure_ascii=False))
        path = folder / f"session-{session['n']}.log.jsonl"
        path.write_text("\n".join(lines) + "\n", "utf-8")
