"""Commands about the rest: search, index, doctor, export, models."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from app.cli.command import DID_NOT_HAPPEN, DONE, MODEL_FAILED, USAGE, Command, Printer
from app.cli.curate import count
from app.cli.opened import opened, wait_for_job
from app.engine.errors import SessionNotFound
from app.engine.records import LAYERS, Hit, Layer, Query, SearchMode, SearchResult, SessionInfo
from app.engine.session.entries import BY_TYPE

if TYPE_CHECKING:
    from app.engine.engine import Engine


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
    text = " ".join(options.query)
    query = Query(text, mode, cast("frozenset[Layer]", layers), options.limit)
    async with opened(options) as engine:
        await engine.index_ready()
        found = await engine.ask.search(query)
        for hit in found.hits:
            out.text(hit_line(hit))
        out.text(_how_many(found) if found.hits else found.reason)
        if said := found.remark if found.hits else found.note:
            out.remark(said)
        if found.nearest and not found.hits:
            out.text(f"Near: {', '.join(found.nearest)}")
        out.data({
            "hits": [hit_row(hit) for hit in found.hits],
            "total": found.total,
            "mode": found.mode,
            "reason": found.reason,
            "nearest": found.nearest,
            "note": found.note,
        })  # fmt: skip
        return DONE


def _how_many(found: SearchResult) -> str:
    """How many lines are listed, how many places hold them, and how they were found."""
    listed = sum(1 + len(hit.places) for hit in found.hits)
    more = f"{listed} of " if listed < found.total or not found.complete else ""
    least = "" if found.complete else "at least "
    return f"{more}{least}{count(found.total, 'hit')} ({found.mode})"


async def index(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        job = await wait_for_job(engine, await engine.do.reindex(rebuild=options.rebuild))
        done = job.state == "done"
        (out.text if done else out.remark)(f"{job.result or job.reason} {job.remedy}".strip())
        seconds = (job.ended - job.started).total_seconds() if job.ended and job.started else 0.0
        now, left_out = await engine.ask.index(), await engine.ask.left_out()
        for one in left_out:
            out.text(f"Not indexed: {one.path} {one.why}.")
        out.data({
            "state": job.state,
            "files": now.total,
            "terms": now.terms,
            "seconds": seconds,
            "result": job.result,
            "left_out": [msgspec.to_builtins(one) for one in left_out],
        })  # fmt: skip
        return DONE if done else DID_NOT_HAPPEN


async def doctor(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        findings = await engine.ask.doctor()
        for one in findings:
            out.text(f"{one.severity}: {one.where}: {one.what} {one.remedy}".rstrip())
        if not findings:
            out.text("All is well.")
        out.data({"findings": [msgspec.to_builtins(one) for one in findings]})
        errors = sum(one.severity == "error" for one in findings)
        if errors:
            out.remark(f"{count(errors, 'error')} found. What mends each stands in its line.")
        return DID_NOT_HAPPEN if errors else DONE


async def export(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        known = await engine.ask.sessions()
        chosen = [s for s in known if options.session in (None, s.id)]
        if options.session and not chosen:
            out.remark(f"There is no session {options.session!r}. {SessionNotFound.remedy}")
            return DID_NOT_HAPPEN
        if not chosen:
            out.remark("There are no sessions yet.")
        if out.as_json:
            out.data([await _exported(engine, one, options.format) for one in chosen])
        else:
            out.text((await _text(engine, chosen, options.format)).removesuffix("\n"))
        return DONE


async def _text(engine: Engine, chosen: Sequence[SessionInfo], form: str) -> str:
    """Sessions in one text: entries by the line, Markdown, or one page."""
    if form == "jsonl":
        rows = [row for one in chosen for row in await engine.ask.entries(one.id)]
        return "".join(msgspec.json.encode(row).decode() + "\n" for row in rows)
    return await engine.ask.document([one.id for one in chosen], "md" if form == "md" else "html")


async def _exported(engine: Engine, session: SessionInfo, form: str) -> dict[str, Any]:
    """One session whole, with a count of what was in it."""
    kinds = Counter(row["type"] for row in await engine.ask.entries(session.id))
    return {
        "session": session.id, "format": form, "entries": kinds.total() - kinds["unreadable"],
        "unknown": {kind: n for kind, n in kinds.items() if kind not in {*BY_TYPE, "unreadable"}},
        "bad_lines": kinds["unreadable"], "text": await _text(engine, [session], form),
    }  # fmt: skip


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
    parser.add_argument(
        "query",
        metavar="QUERY",
        nargs="+",
        help="words, a question, or filters; -word: without that word",
    )
    parser.add_argument("--in", dest="layers", metavar="LAYER,LAYER", help=", ".join(LAYERS))
    parser.add_argument("--natural", action="store_true", help="any word may match")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="most hits shown")


def _export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", nargs="?", help="one session (all)")
    parser.add_argument("--format", choices=("md", "html", "jsonl"), default="md")


def _models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fetch", action="store_true", help="fetch the built-in model (98 MB)")
    parser.add_argument("--endpoint", metavar="URL", help="address of a server")


ROWS = [
    Command(
        "search",
        "Find anything the agent ever knew.",
        search,
        _search,
        gives="{hits[{layer, path, line, session, entry, when, text, score, spans, places}], "
        "total, mode, reason, nearest, note}",
        words=True,
    ),
    Command(
        "index",
        "Bring the search index up to date.",
        index,
        lambda p: p.add_argument("--rebuild", action="store_true", help="make it anew"),
        gives="{state, files, terms, seconds, result, left_out[{path, why}]}",
    ),
    Command(
        "doctor",
        "Check files, index, history and model.",
        doctor,
        gives="{findings[{severity, where, what, remedy}]}",
    ),
    Command(
        "export",
        "Write conversations out.",
        export,
        _export,
        gives="a list of {session, format, entries, unknown, bad_lines, text}",
    ),
    Command(
        "models",
        "List servers and their models.",
        models,
        _models,
        workspace=False,
        gives="a list of {name, window, source, server}; with --fetch {model, path}",
    ),
]
