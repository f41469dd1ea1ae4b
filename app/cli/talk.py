"""Commands about conversations: init, chat, sessions, show, context, compact, flush."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import msgspec

from app.cli.command import DID_NOT_HAPPEN, DONE, MODEL_FAILED, Command, Printer
from app.cli.opened import opened, wait_for_job
from app.cli.transcripts import readable
from app.engine.events import Event, TurnEvent
from app.engine.records import CompactionReport, SessionInfo

if TYPE_CHECKING:
    from app.engine.engine import Engine


ANOTHER = "The server had read only a part of the conversation. Another answer comes:"
TOO_LONG = "Shorten it, or put the text into a file of the workspace and ask about that."


async def init(options: argparse.Namespace, out: Printer) -> int:
    from app.engine.engine import Engine

    there = (options.workspace / ".palimpsest").is_dir()
    paths = await Engine.make(options.workspace, here=options.here)
    said = "is a workspace already, and whole." if there else "is a workspace now."
    out.text(f"{options.workspace} {said}")
    out.data({"workspace": str(options.workspace), "paths": paths})
    return DONE


async def chat(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        session_id = await _chosen_session(engine, options)

        def show(event: Event) -> None:
            if not isinstance(event, TurnEvent) or event.session_id != session_id:
                return
            if event.kind == "text":
                out.fragment(event.text)
            elif event.kind == "again":
                out.text()
                out.remark(ANOTHER)

        earlier = {job.id for job in await engine.ask.jobs()}
        end = engine.events.subscribe(show)
        result = await engine.do.send(session_id, options.message)
        end()
        if result.reply:
            out.text()
        if not options.no_wait:
            await engine.drain()
        jobs = [job for job in await engine.ask.jobs() if job.session_id == session_id]
        for job in jobs:
            if job.id not in earlier and (said := job.result or job.reason):
                out.remark(f"{job.kind} {job.state}: {said}")
        if result.state == "failed":
            remedy = TOO_LONG if result.failure == "question" else result.remedy
            out.remark(f"{result.error} {remedy}".strip())
        out.data({
            "session": session_id,
            "reply": result.reply,
            "tool_calls": [msgspec.to_builtins(call) for call in result.calls],
            "usage": msgspec.to_builtins(result.usage),
            "jobs": [msgspec.to_builtins(job) for job in jobs],
        })  # fmt: skip
        if result.state == "finished":
            return DONE
        return MODEL_FAILED if result.failure == "model" else DID_NOT_HAPPEN


async def _chosen_session(engine: Engine, options: argparse.Namespace) -> str:
    if options.session:
        return options.session
    known = [] if options.new else await engine.ask.sessions()
    return known[0].id if known else await engine.do.new_session()


def session_row(info: SessionInfo) -> dict[str, object]:
    return {
        "id": info.id, "title": info.title, "first": info.first, "last": info.last,
        "entries": info.entries, "bytes": info.bytes, "compactions": info.compactions,
    }  # fmt: skip


async def sessions(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        known = await engine.ask.sessions()
        for one in known:
            last = one.last.astimezone().strftime("%Y-%m-%d %H:%M") if one.last else "-"
            out.text(f"{last}  {one.id:<12}  {one.messages:>5} messages  {one.title}")
        if not known:
            out.text("There are no sessions yet.")
        out.data([session_row(one) for one in known])
        return DONE


async def show(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        first, last = options.first or 1, options.last
        if out.as_json:
            for entry in await engine.ask.entries(options.session, first, last):
                out.row(entry)
            return DONE
        for item in await engine.ask.transcript(options.session, limit=1_000_000):
            if first <= item.seq and (last is None or item.seq <= last):
                out.text(readable(item))
        return DONE


async def context(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        view = await engine.ask.context(options.session)
        for part in view.parts:
            out.text(f"--- {part.kind} ({part.role}), {part.tokens} tokens {part.note}".rstrip())
            out.text(part.text)
        out.text(f"--- {view.total} of {view.window.tokens} tokens ({view.window.source})")
        out.data({
            "parts": [
                {"kind": p.kind, "role": p.role, "tokens": p.tokens, "text": p.text}
                for p in view.parts
            ],
            "total": view.total,
            "window": view.window.tokens,
            "window_source": view.window.source,
            "thresholds": view.thresholds,
        })  # fmt: skip
        return DONE


def compaction_row(report: CompactionReport) -> dict[str, object]:
    return {
        "cut": report.covered, "covered": report.covered, "kept": report.kept,
        "before": report.before, "after": report.after, "unflushed": report.unflushed,
        "dry_run": report.dry_run, "reason": report.reason,
    }  # fmt: skip


async def compact(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        if options.dry_run:
            report = await engine.ask.compaction_preview(options.session)
        else:
            report = await engine.do.compact(options.session)
        out.data(compaction_row(report))
        if not report.covered and not report.dry_run:
            out.remark(f"Nothing was summarised. {report.reason}".rstrip())
            return DID_NOT_HAPPEN
        verb, more = "summarised", ""
        if report.dry_run:
            verb, more = "would be summarised", f", {report.unflushed} of them not yet flushed"
        out.text(
            f"{report.covered} messages {verb}{more}, {report.kept} kept,"
            f" {report.before} to {report.after} tokens. {report.reason}".rstrip()
        )
        return DONE


async def flush(options: argparse.Namespace, out: Printer) -> int:
    async with opened(options) as engine:
        job = await wait_for_job(engine, await engine.do.flush(options.session))
        nothing = job.state == "skipped"
        said = job.result or job.reason or ("There is nothing new to keep." if nothing else "")
        if job.state == "done" or nothing:
            out.text(said)
        else:
            out.remark(said or f"The flush is {job.state}.")
        out.data({"state": job.state, "section": job.target, "result": said})
        return DONE if job.state == "done" or nothing else MODEL_FAILED


def _session(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="the session's id")


def _show(parser: argparse.ArgumentParser) -> None:
    _session(parser)
    parser.add_argument("--from", dest="first", type=int, metavar="N", help="first entry")
    parser.add_argument("--to", dest="last", type=int, metavar="N", help="last entry")


def _compact(parser: argparse.ArgumentParser) -> None:
    _session(parser)
    parser.add_argument("--dry-run", action="store_true", help="say what would happen")


def _chat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--message", required=True, metavar="TEXT", help="what to say")
    parser.add_argument("--session", metavar="ID", help="go on with this session")
    parser.add_argument("--new", action="store_true", help="begin a new session")
    parser.add_argument("--endpoint", metavar="URL", help="address of an OpenAI-like server")
    parser.add_argument("--model", metavar="NAME", help="the model's name")
    parser.add_argument(
        "--strategy", choices=("basic", "compact", "background"), help="how much memory does"
    )
    parser.add_argument("--no-memory", action="store_true", help="no extraction, no memory tools")
    parser.add_argument("--no-wait", action="store_true", help="leave the jobs for later")


ROWS = [
    Command(
        "init",
        "Make a workspace.",
        init,
        lambda p: p.add_argument("--here", action="store_true", help="also in a folder with files"),
        gives="{workspace, paths}",
    ),
    Command(
        "chat",
        "Say one thing and stream the reply.",
        chat,
        _chat,
        gives="{session, reply, tool_calls, usage, jobs}",
    ),
    Command(
        "sessions",
        "List the conversations.",
        sessions,
        gives="a list of {id, title, first, last, entries, bytes, compactions}",
    ),
    Command(
        "show",
        "Print the log of a conversation.",
        show,
        _show,
        gives="the entries as they are in the log, one on each line",
    ),
    Command(
        "context",
        "Print exactly what would be sent next.",
        context,
        _session,
        gives="{parts[{kind, role, tokens, text}], total, window, window_source, thresholds}",
    ),
    Command(
        "compact",
        "Summarise the older part of a conversation now.",
        compact,
        _compact,
        gives="{cut, covered, kept, before, after, unflushed, dry_run, reason}; tokens before "
        "and after, else numbers of messages",
    ),
    Command(
        "flush",
        "Write facts of a conversation to today's log.",
        flush,
        _session,
        gives="{state, section, result}",
    ),
]
