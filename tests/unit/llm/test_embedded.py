"""The built-in model for real: its process, its port, its key, its end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from pathlib import Path

import pytest

from app.engine.errors import ContextOverflow, IncompleteAnswer, ModelUnavailable
from app.engine.llm.catalogue import BUILTIN
from app.engine.llm.embedded import EmbeddedModel
from app.engine.llm.endpoint import Answer, Request, TextDelta, WaitingDelta, complete, user
from app.engine.llm.weights import present
from app.engine.records import Window
from app.places import models_dir

needs_model = pytest.mark.skipif(
    present(BUILTIN, models_dir()) is None,
    reason="the built-in model is not there: python3 packaging/run.py --setup",
)
pytestmark = pytest.mark.model
SHORT = Request((user("Say hello."),), max_output=12, temperature=0.0)
LONG = Request((user("Write a long story about the sea."),), max_output=900, temperature=0.0)


def with_model(test: Callable[[EmbeddedModel], Awaitable[None]], window: int = 1024) -> None:
    async def main() -> None:
        model = EmbeddedModel(models_dir(), window=window)
        try:
            await test(model)
        finally:
            await model.close()

    asyncio.run(main())


def gone(pid: int, seconds: float = 5.0) -> bool:
    """Whether a process ends within so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@needs_model
def test_it_answers_and_ends_within_two_seconds() -> None:
    async def main(model: EmbeddedModel) -> None:
        assert (model.running, await model.window()) == (False, Window(1024, "table"))
        deltas = [delta async for delta in model.stream(SHORT)]
        assert deltas[0] == WaitingDelta("loading the built-in model")
        assert any(isinstance(d, WaitingDelta) and d.share == 1.0 for d in deltas)
        answer = deltas[-1]
        assert isinstance(answer, Answer)
        assert answer.text.strip()
        assert answer.text == "".join(d.text for d in deltas if isinstance(d, TextDelta))
        assert answer.usage is not None
        assert answer.usage.prompt > 5
        assert await model.window() == Window(1024, "loaded")
        assert (model.host, model.supports_tools, model.fit_for_memory) == ("", False, False)
        pid = model.pid
        assert pid is not None
        start = time.monotonic()
        await model.close()
        assert time.monotonic() - start < 2
        assert gone(pid)
        with pytest.raises(ModelUnavailable):
            await complete(model, SHORT)

    with_model(main)


@needs_model
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_its_port_opens_only_with_a_key_that_nobody_can_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret = "a-key-that-this-test-knows"
    monkeypatch.setattr("secrets.token_urlsafe", lambda size: secret)

    async def main(model: EmbeddedModel) -> None:
        await model.start()
        assert model.pid is not None
        proc = Path(f"/proc/{model.pid}")
        listening = {
            line.split()[9]: line.split()[1] for line in (proc / "net/tcp").read_text().splitlines()
            if line.split()[3] == "0A"
        }  # fmt: skip
        own = {os.readlink(fd) for fd in (proc / "fd").iterdir()}
        (address,) = [a for inode, a in listening.items() if f"socket:[{inode}]" in own]
        host, port = address.split(":")
        assert host == "0100007F", "on loopback only"
        url = f"http://127.0.0.1:{int(port, 16)}/v1/chat/completions"
        asked = urllib.request.Request(url, b"{}", {"Authorization": "Bearer guess"})
        with pytest.raises(urllib.error.HTTPError) as caught:
            await asyncio.to_thread(urllib.request.urlopen, asked)
        caught.value.close()
        assert caught.value.code == 401
        for readable in ("cmdline", "environ"):
            assert secret.encode() not in (proc / readable).read_bytes()
        asked.headers["Authorization"] = f"Bearer {secret}"
        with pytest.raises(urllib.error.HTTPError) as caught:
            await asyncio.to_thread(urllib.request.urlopen, asked)
        caught.value.close()
        assert caught.value.code != 401

    with_model(main)


@needs_model
def test_a_prompt_that_is_too_long_names_both_numbers() -> None:
    async def main(model: EmbeddedModel) -> None:
        with pytest.raises(ContextOverflow) as caught:
            await complete(model, Request((user("word " * 900),)))
        assert caught.value.window == 512
        assert caught.value.requested is not None
        assert caught.value.requested > 900
        assert (await complete(model, SHORT)).text

    with_model(main, window=512)


@needs_model
def test_a_crash_is_survived() -> None:
    async def main(model: EmbeddedModel) -> None:
        await model.start()
        first = model.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert (await complete(model, SHORT)).text
        second = model.pid
        assert second not in (None, first)

        async def killed_in_the_middle() -> None:
            async with aclosing(model.stream(LONG)) as deltas:
                async for delta in deltas:
                    if isinstance(delta, TextDelta) and model.pid is not None:
                        os.kill(model.pid, signal.SIGKILL)

        with pytest.raises(IncompleteAnswer) as caught:
            await killed_in_the_middle()
        assert "started anew" in caught.value.remedy
        assert (await complete(model, SHORT)).text

    with_model(main)


@needs_model
def test_a_stopped_answer_leaves_the_model_free() -> None:
    async def main(model: EmbeddedModel) -> None:
        async with aclosing(model.stream(LONG)) as deltas:
            async for delta in deltas:
                if isinstance(delta, TextDelta):
                    break
        pid = model.pid
        start = time.monotonic()
        assert (await complete(model, SHORT)).text
        assert time.monotonic() - start < 30
        assert model.pid == pid

    with_model(main)


PARENT = """
import asyncio, sys
from app.engine.llm.embedded import EmbeddedModel
from app.places import models_dir

async def main():
    model = EmbeddedModel(models_dir(), window=512)
    await model.start()
    print(model.pid, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@needs_model
@pytest.mark.parametrize("steps", range(4))
def test_one_that_is_closed_while_it_starts_leaves_nothing_behind(steps: int) -> None:
    async def main() -> None:
        model = EmbeddedModel(models_dir(), window=512)
        starting = asyncio.ensure_future(model.start())
        for _ in range(steps):
            await asyncio.sleep(0)
        await model.close()
        with suppress(ModelUnavailable):
            await starting
        assert (model.pid, model.running) == (None, False)

    asyncio.run(main())


@needs_model
def test_it_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    assert gone(pid)


def test_a_missing_model_says_how_to_fetch_it(tmp_path: Path) -> None:
    async def main() -> None:
        model = EmbeddedModel(tmp_path)
        with pytest.raises(ModelUnavailable) as caught:
            await complete(model, SHORT)
        assert "models --fetch" in caught.value.remedy
        await model.close()

    asyncio.run(main())


def test_a_file_that_is_no_model_is_a_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "my-own.gguf"
    broken.write_bytes(b"GGUF but not really")

    async def main() -> None:
        model = EmbeddedModel(tmp_path, model_file=broken)
        assert (model.name, model.fit_for_memory) == ("my-own", False)
        with pytest.raises(ModelUnavailable) as caught:
            await complete(model, SHORT)
        assert "could not be loaded" in str(caught.value)
        assert not model.running
        await model.close()

    asyncio.run(main())
