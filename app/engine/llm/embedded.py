"""The built-in model: llama.cpp's server in a child process, spoken to like any other server.

A native crash must not take the window along, and memory must come back when the model is let go:
hence the process of its own. It is started with the first request, started again after a crash, and
ends when this process ends, however that happens, because its standard input closes. Only our own
random key, handed over through that pipe, opens its port on 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import select
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

from app.engine.errors import IncompleteAnswer, ModelUnavailable
from app.engine.llm.catalogue import BUILTIN, load
from app.engine.llm.endpoint import Answer, Delta, Request, WaitingDelta
from app.engine.llm.openai_endpoint import OpenAIEndpoint, Options, warm_up
from app.engine.llm.weights import present
from app.engine.records import Window

START_SECONDS = 60.0
MAX_OUTPUT = 1024  # a model this small can go on for ever
CLOSED = ("The built-in model was closed.", "Start the program again.")


class EmbeddedModel:
    """The built-in model of the catalogue as an `Endpoint`. `models` is the models folder.

    `window` in tokens (a small one for trying overflow out). `model_file` overrides the catalogue's
    file with any GGUF. Everything is started lazily: making one costs nothing.
    """

    host = ""
    supports_tools = False

    def __init__(
        self,
        models: Path,
        *,
        window: int | None = None,
        model_id: str = BUILTIN,
        model_file: Path | None = None,
    ) -> None:
        weights = load().get(model_id)
        self.name = weights.name if model_file is None else model_file.stem
        self.fit_for_memory = model_file is None and weights.fit_for_memory
        self._window = window or weights.window
        self._model_id = model_id
        self._models = models
        self._file = model_file
        self._child = _Child()
        self._inner: OpenAIEndpoint | None = None
        self._starting = asyncio.Lock()
        self._closed = False

    @property
    def running(self) -> bool:
        """Whether the model is loaded now."""
        return self._inner is not None and self._child.alive

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        return self._child.pid

    async def start(self) -> None:
        """Load the model if it is not loaded. Raises `ModelUnavailable` with the reason."""
        await self._ready()

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """As the protocol says. A child that died is started again, once, if nothing was shown."""
        for attempt in range(2):
            if not self.running:
                yield WaitingDelta("loading the built-in model")
            inner = await self._ready()
            shown = False
            try:
                async with aclosing(inner.stream(request)) as deltas:
                    async for delta in deltas:
                        shown = shown or not isinstance(delta, WaitingDelta)
                        yield delta
                        if isinstance(delta, Answer):
                            return
                        if isinstance(delta, WaitingDelta) and not self._child.alive:
                            break  # do not wait for a server that is gone
            except (ModelUnavailable, IncompleteAnswer):
                if not await asyncio.to_thread(self._child.gone, 0.3):
                    raise
            if shown or attempt:
                raise IncompleteAnswer(
                    "The built-in model stopped in the middle of its answer.",
                    "Send again: it is started anew.",
                )

    async def window(self) -> Window:
        return Window(self._window, "loaded" if self.running else "table")

    async def close(self) -> None:
        """End the child, within two seconds. It can not be used again afterwards."""
        self._closed = True
        inner, self._inner = self._inner, None
        await asyncio.to_thread(self._child.end)
        if inner is not None:
            await inner.close()

    async def _ready(self) -> OpenAIEndpoint:
        async with self._starting:
            if self._inner is not None and self._child.alive:
                return self._inner
            if self._inner is not None:
                await self._inner.close()
                self._inner = None
            if self._closed:
                raise ModelUnavailable(*CLOSED)
            file = self._file or await asyncio.to_thread(present, self._model_id, self._models)
            if file is None:
                raise ModelUnavailable(
                    "The built-in model is not there yet.",
                    "Fetch it with: palimpsest models --fetch (93 MB), "
                    "or choose another model in Settings.",
                )
            key = secrets.token_urlsafe(24)
            wanted = {
                "key": key,
                "model": str(file),
                "name": self.name,
                "window": self._window,
                "threads": _threads(),
            }
            port, _ = await asyncio.gather(
                asyncio.to_thread(self._child.start, wanted), asyncio.to_thread(warm_up)
            )
            self._inner = self._endpoint(port, key)
            return self._inner

    def _endpoint(self, port: int, key: str) -> OpenAIEndpoint:
        options = Options(
            window=self._window,
            supports_tools=False,
            max_output=min(MAX_OUTPUT, max(64, self._window // 4)),
            temperature=0.3,
            # Progress while the prompt is read; and a small model must not fall into a loop.
            extra_body={"return_progress": True, "repeat_penalty": 1.1, "cache_prompt": True},
        )
        return OpenAIEndpoint(
            f"http://127.0.0.1:{port}/v1",
            self.name,
            key=key,
            options=options,
            where="the built-in model",
        )


def _threads() -> int:
    """Threads for the model: all cores but one, so that the window stays quick."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(8, (cores or 2) - 1))


class _Child:
    """The process. All methods block and are for threads; a lock keeps start and end apart."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._ended = False

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.alive else None

    def gone(self, seconds: float) -> bool:
        """Whether it ends within so many seconds."""
        process = self._process
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
        return not self.alive

    def start(self, wanted: dict[str, Any]) -> int:
        """Start it and wait until the model is loaded; the port."""
        with self._lock:
            if self._ended:  # closed while the thread that starts it was on its way
                raise ModelUnavailable(*CLOSED)
            self._end()
            script = Path(__file__).with_name("embedded_server.py")
            process = subprocess.Popen(
                # -P: a folder named like a library beside the script must not be imported.
                [sys.executable, "-P", str(script)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                creationflags=0x08000000 if os.name == "nt" else 0,  # no console window
            )
            self._process = process
            try:
                return self._talk(process, wanted)
            except BaseException:
                self._end()
                raise

    @staticmethod
    def _talk(process: subprocess.Popen[bytes], wanted: dict[str, Any]) -> int:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(wanted).encode() + b"\n")
            process.stdin.flush()
            said: dict[str, Any] = json.loads(_line(process) or b"{}")
        except (OSError, ValueError):
            said = {}
        port = said.get("port")
        if isinstance(port, int) and port > 0:
            return port
        reason = str(said.get("error") or "its process ended without a word")
        raise ModelUnavailable(
            f"The built-in model could not be loaded: {reason[:200]}.",
            "Check the model file and the free memory, then send again.",
            raw=reason,
        )

    def end(self) -> None:
        """End it; returns when it is gone. It does not start again."""
        self._ended = True
        process = self._process
        if process is not None and not self._lock.acquire(timeout=0.1):
            # Still loading: the thread that waits for it sees the end of its output.
            process.kill()
            self._lock.acquire()
        elif process is None:
            self._lock.acquire()
        try:
            self._end()
        finally:
            self._lock.release()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(1.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _line(process: subprocess.Popen[bytes]) -> bytes:
    """One line of the child's output, or what there was when it ended or took too long."""
    assert process.stdout is not None
    line = b""
    deadline = time.monotonic() + START_SECONDS
    while not line.endswith(b"\n"):
        if os.name != "nt":
            ready, _, _ = select.select([process.stdout], [], [], deadline - time.monotonic())
            if not ready:
                break
        byte = os.read(process.stdout.fileno(), 4096)
        if not byte:
            break
        line += byte
    return line
