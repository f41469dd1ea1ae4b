"""Commands about the rest: search, index, doctor, export, models."""

from __future__ import annotations

import argparse
import os
from typing import Any, cast

import msgspec

from app.cli.command import DID_NOT_HAPPEN, DONE, MODEL_FAILED, USAGE, Command, Printer
from app.cli.opened import opened, wait_for_job
from app.cli.talk import readable
from app.engine.records import LAYERS, Hit, Layer, Query, SearchMode


def hit_row(hit: Hit) -> dict[str, Any]:
    return {
        "layer": hit.layer, "path": hit.path, "line": hit.line, "session": hit.session_id,
        "entry": hit.entry_id, "when": hit.when, "text": hit.text, "score": hit.score,
        "spans": [[span.start, span.end] for span in hit.spans],
        "places": [[place.path, place.line] for place in hit.places],
    }  # fmt: skip


def hit_line(hit: Hit) -> str:
    also = ", ".join(f"{place.path}#{place.line}" for place in hit.places)
    return f"{hit.path}#{hit.line}: {hit.text.strip()}" + (f" (also {also})" if also else "")


async def search(options: argparse.Namespace, out: Printer) -> int:
    layers = frozenset(options.layers.split(",")) if options.layers else frozenset[str]()
    if unknown := layers - set(LAYERS):
        out.remark(f"There is no layer {min(unknown)!r}; layers are {', '.join(LAYERS)}.")
        return USAGE
    mode: SearchMode = "natural" if options.natural else "auto"
    query = Query(options.query, mode, cast("frozenset[Layer]", layers), options.limit)
    async with opened(options) as engine:
        await engine.index_ready()
        found = await engine.ask.search(query)
        for hit in found.hits:
            out.text(hit_line(hit))
        out.text(f"{found.total} hits ({found.mode})" if found.hits else found.reason)
        if found.nearest:
            out.text(f"Near: {', '.join(found.nearest)}")
        out.data({
            "hits": [hit_row(hit) for hit in found.hits],
            "total": found.total,
            "mode": found.mode,
            "reason": found.reason,
            "nearest": found.nearest,
        })  # fmt: skip
        return DONE


async def index(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        job = await wait_for_job(engine, await engine.do.reindex(rebuild=options.rebuild))
        out.text(job.result or job.reason)
        seconds = (job.ended - job.started).total_seconds() if job.ended and job.started else 0.0
        terms = (await engine.ask.index()).terms
        out.data({
            "state": job.state,
            "files": job.done,
            "terms": terms,
            "seconds": seconds,
            "result": job.result,
        })  # fmt: skip
        return DONE if job.state == "done" else DID_NOT_HAPPEN


async def doctor(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        findings = await engine.ask.doctor()
        for one in findings:
            out.text(f"{one.severity}: {one.where}: {one.what} {one.remedy}".rstrip())
        if not findings:
            out.text("All is well.")
        out.data({"findings": [msgspec.to_builtins(one) for one in findings]})
        return DID_NOT_HAPPEN if any(one.severity == "error" for one in findings) else DONE


async def export(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        known = await engine.ask.sessions()
        chosen = [s for s in known if options.session in (None, s.id)]
        if options.session and not chosen:
            out.remark(f"There is no session {options.session!r}.")
            return DID_NOT_HAPPEN
        if not chosen:
            out.remark("There are no sessions yet.")
        rows: list[dict[str, str]] = []
        for one in chosen:
            items = await engine.ask.transcript(one.id, limit=1_000_000)
            if options.format == "md":
                text = "\n\n".join([f"# {one.title}", *(readable(item) for item in items)]) + "\n"
            else:
                text = "\n".join(msgspec.json.encode(item).decode() for item in items)
            out.text(text)
            rows.append({"session": one.id, "format": options.format, "text": text})
        out.data(rows)
        return DONE


async def models(options: argparse.Namespace, out: Printer) -> int:
    if options.fetch:
        return await _fetch(out)
    from app.startup import known_models

    rows = await known_models(options.endpoint or os.environ.get("PALIMPSEST_ENDPOINT"))
    for row in rows:
        out.text(f"{row['name']:<32} {row['window']:>8} tokens ({row['source']})  {row['server']}")
    out.data(rows)
    if not rows:
        where = f"No server answered at {options.endpoint}" if options.endpoint else "None answered"
        out.remark(f"{where}. Start it, or correct its address: --endpoint http://HOST:PORT/v1")
        return MODEL_FAILED
    return DONE


async def _fetch(out: Printer) -> int:
    """Bring the built-in model; there already, it is not fetched again."""
    from app.engine.llm.catalogue import BUILTIN
    from app.engine.llm.weights import ensure
    from app.places import models_dir

    told: list[str] = []

    def progress(_done: int, total: int, what: str) -> None:
        if not told or told[-1] != what:
            told.append(what)
            out.remark(f"{what} ({total / 1e6:.0f} MB)")

    path = await ensure(BUILTIN, models_dir(), progress)
    out.text(f"The built-in model is there: {path}")
    out.data({"model": BUILTIN, "path": str(path)})
    return DONE


def _search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="words, a question, or filters")
    parser.add_argument("--in", dest="layers", metavar="LAYER,LAYER", help=", ".join(LAYERS))
    parser.add_argument("--natural", action="store_true", help="any word may match")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="most hits shown")


def _export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", nargs="?", help="one session (all)")
    parser.add_argument("--format", choices=("md", "jsonl"), default="md")


def _models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fetch", action="store_true", help="fetch the built-in model (93 MB)")
    parser.add_argument("--endpoint", metavar="URL", help="address of a server")


ROWS = [
    Command("search", "Find anything the agent ever knew.", search, _search),
    Command(
        "index",
        "Bring the search index up to date.",
        index,
        lambda p: p.add_argument("--rebuild", action="store_true", help="make it anew"),
    ),
    Command("doctor", "Check files, index, history and model.", doctor),
    Command("export", "Write conversations out.", export, _export),
    Command("models", "List servers and their models.", models, _models, workspace=False),
]
