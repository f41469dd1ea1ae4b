"""A server from the settings shows what its connection has learned."""

from __future__ import annotations

import asyncio

from app.engine.llm.configured import ConfiguredEndpoint
from app.engine.llm.endpoint import Request, ToolSpec, complete, user
from app.engine.llm.keys import Keys
from app.engine.llm.roles import EndpointSettings
from tests.helpers.fake_server import FakeServer, Reply, error, say

TOOL = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})


def test_the_name_is_the_one_of_the_model_the_server_has() -> None:
    models = Reply(body={"object": "list", "data": [{"id": "qwen3-14b"}, {"id": "other"}]})

    async def main() -> None:
        async with FakeServer(say("hi"), routes={"/v1/models": models}) as server:
            endpoint = ConfiguredEndpoint(EndpointSettings(url=server.base_url), Keys({}))
            try:
                assert endpoint.name == "the server's model"
                answer = await complete(endpoint, Request((user("Hello"),)))
                assert endpoint.name == "qwen3-14b"
                assert answer.model == "qwen3-14b"
                assert server.requests[0].body["model"] == "qwen3-14b"
            finally:
                await endpoint.close()

    asyncio.run(main())


def test_a_server_that_refused_tools_supports_none_from_then_on() -> None:
    refused = error(400, {"error": {"message": "this model does not support tools"}})

    async def main() -> None:
        async with FakeServer(refused, say("hi")) as server:
            settings = EndpointSettings(url=server.base_url, model="m")
            endpoint = ConfiguredEndpoint(settings, Keys({}))
            try:
                assert endpoint.supports_tools
                await complete(endpoint, Request((user("Hello"),), tools=(TOOL,)))
                assert not endpoint.supports_tools
                assert "tools" not in server.requests[1].body
            finally:
                await endpoint.close()

    asyncio.run(main())
