"""A reply that is stopped at any moment leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import warnings

import pytest

from app.engine.llm.endpoint import Request, user
from app.engine.llm.openai_endpoint import OpenAIEndpoint
from tests.helpers.fake_server import FakeServer, say


@pytest.mark.parametrize("turns", range(6))
def test_a_stream_cancelled_between_two_chunks_leaves_no_coroutine(turns: int) -> None:
    """`turns`: how often the loop goes round between asking for a chunk and cancelling."""

    async def main() -> None:
        async with FakeServer(say("one ", "two ", "three", pause=0.05)) as server:
            endpoint = OpenAIEndpoint(server.base_url, "m")
            stream = endpoint.stream(Request((user("hi"),)))
            await anext(stream)
            following = asyncio.ensure_future(anext(stream))
            for _ in range(turns):
                await asyncio.sleep(0)
            following.cancel()
            await asyncio.wait([following])
            await stream.aclose()
            await endpoint.close()

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        asyncio.run(main())
        gc.collect()
    assert [str(one.message) for one in said if "never awaited" in str(one.message)] == []
