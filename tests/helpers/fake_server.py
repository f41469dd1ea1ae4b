"""A model server over loopback that says what the test tells it to, in real HTTP and SSE.

    async with FakeServer(say("Hello")) as server:
        endpoint = OpenAIEndpoint(server.base_url, "m")
        ...
        assert server.requests[0].body["messages"][-1]["content"] == "Hi"

Each POST to /v1/chat/completions takes the next script; when they are used up, the last one is
repeated. A script is a `Reply`, or a function from the `Seen` request to one. Other paths answer
from `server.routes`, else 404. Everything seen is kept in `server.requests` (chat) and
`server.others`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MODEL = "fake-model"


@dataclass
class Seen:
    """One request. `aborted` turns true when the client hung up before the answer was complete."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    aborted: bool = False


@dataclass
class Reply:
    """What to answer.

    `events` makes an SSE stream: a mapping is sent as data, a text as raw bytes, a number is a
    pause in seconds. `done` adds the end marker; `cut` resets the connection instead of ending it.
    Without `events`, `body` is sent: JSON for a mapping or list, else as it is.
    """

    status: int = 200
    body: Any = None
    events: Sequence[Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    done: bool = True
    cut: bool = False
    delay: float = 0.0


Script = Reply | Callable[[Seen], Reply]


# ---------------------------------------------------------------------------- scripts


def chunk(delta: Mapping[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict:
    """One chunk of a stream."""
    choice = {"index": 0, "delta": dict(delta or {}), "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": MODEL,
        "choices": [choice],
        **more,
    }


def usage_chunk(prompt: int, completion: int = 5) -> dict:
    """The last chunk with the counts and no choices."""
    counts = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    return {**chunk(), "choices": [], "usage": counts}


def say(
    *texts: str,
    reasoning: str = "",
    finish: str | None = "stop",
    prompt: int = 0,
    pause: float = 0.0,
    cut: bool = False,
) -> Reply:
    """An answer in fragments; `pause` seconds before each, `prompt` tokens reported."""
    events: list[Any] = [chunk({"role": "assistant", "content": None})]
    if reasoning:
        events.append(chunk({"reasoning_content": reasoning}))
    for text in texts:
        events += [pause, chunk({"content": text})]
    if finish:
        events.append(chunk(finish=finish))
    if prompt:
        events.append(usage_chunk(prompt))
    return Reply(events=events, cut=cut, done=finish is not None)


def call(
    name: str, arguments: Mapping[str, Any] | str, id: str = "call_1", index: int = 0
) -> dict[str, Any]:
    """One whole tool call, as a member of a delta's `tool_calls`."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {
        "index": index,
        "id": id,
        "type": "function",
        "function": {"name": name, "arguments": text},
    }


def use(*calls: Mapping[str, Any], text: str = "", prompt: int = 0) -> Reply:
    """An answer that calls tools."""
    events: list[Any] = [chunk({"role": "assistant", "content": text or None})]
    events += [chunk({"tool_calls": [dict(one)]}) for one in calls]
    events.append(chunk(finish="tool_calls"))
    if prompt:
        events.append(usage_chunk(prompt))
    return Reply(events=events)


def error(status: int, body: Any, **headers: str) -> Reply:
    """An error answer; header names with `_` for `-`."""
    return Reply(status, body, headers={k.replace("_", "-"): v for k, v in headers.items()})


def overflow(requested: int = 5200, window: int = 4096) -> Reply:
    """What llama.cpp says to a prompt that is too long."""
    message = (
        f"request ({requested} tokens) exceeds the available context size ({window} tokens), "
        "try increasing it"
    )
    kind = "exceed_context_size_error"
    numbers = {"n_prompt_tokens": requested, "n_ctx": window}
    return error(400, {"error": {"code": 400, "message": message, "type": kind, **numbers}})


# ---------------------------------------------------------------------------- the server


class FakeServer:
    """Serves scripts on an ephemeral port of 127.0.0.1 while the `async with` block runs."""

    def __init__(self, *scripts: Script, routes: Mapping[str, Reply] | None = None) -> None:
        self.scripts: list[Script] = list(scripts) or [say("ok")]
        self.routes: dict[str, Reply] = dict(routes or {})
        self.requests: list[Seen] = []
        self.others: list[Seen] = []
        self.port = 0
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def __aenter__(self) -> FakeServer:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while (seen := await _read(reader)) is not None:
                if not await self._answer(seen, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer(
        self, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Whether the connection goes on."""
        gone = asyncio.ensure_future(reader.read(1))
        try:
            sending = asyncio.ensure_future(self._send(self._reply(seen), writer))
            await asyncio.wait({gone, sending}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                seen.aborted = True
                sending.cancel()
            results = await asyncio.gather(sending, return_exceptions=True)
            if isinstance(results[0], ConnectionError):
                seen.aborted = True
        finally:
            if not gone.done():
                gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)
        return False

    def _reply(self, seen: Seen) -> Reply:
        path = seen.path.removesuffix("?")
        if seen.method == "POST" and path == "/v1/chat/completions":
            self.requests.append(seen)
            script = self.scripts[0] if len(self.scripts) == 1 else self.scripts.pop(0)
            return script(seen) if callable(script) else script
        self.others.append(seen)
        return self.routes.get(path) or Reply(404, {"error": {"message": "no such path"}})

    async def _send(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        if reply.delay:
            await asyncio.sleep(reply.delay)
        streamed = reply.events is not None
        raw = b"" if streamed else _bytes(reply.body)
        text = isinstance(reply.body, str | bytes)
        kind = "text/event-stream" if streamed else "text/html" if text else "application/json"
        headers = {"Content-Type": kind, "Connection": "close", **reply.headers}
        if not streamed:
            headers["Content-Length"] = str(len(raw))
        lines = [f"HTTP/1.1 {reply.status} Said", *(f"{k}: {v}" for k, v in headers.items())]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + raw)
        await writer.drain()
        for event in reply.events or ():
            if isinstance(event, int | float):
                await asyncio.sleep(event)
                continue
            data = event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n"
            writer.write(data.encode())
            await writer.drain()
        if reply.cut:
            writer.transport.abort()
        elif streamed and reply.done:
            writer.write(b"data: [DONE]\n\n")
            await writer.drain()


def _bytes(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    line = await reader.readline()
    if not line.strip():
        return None
    method, path, _ = line.decode().split(" ", 2)
    headers: dict[str, str] = {}
    while (header := (await reader.readline()).decode().strip()) != "":
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    body: Any = raw.decode("utf-8", "replace")
    with contextlib.suppress(ValueError):
        body = json.loads(raw) if raw else None
    return Seen(method, path, headers, body)
