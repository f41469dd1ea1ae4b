"""`CompactionMemory` and the model that summarises: which one, what it is asked, how it fails."""

from __future__ import annotations

from typing import Any

import pytest

from app.engine.context.tokens import Counter
from app.engine.errors import ContextOverflow, ModelUnavailable, UserError
from app.engine.events import Activity
from app.engine.llm.configured import ConfiguredEndpoint
from app.engine.llm.endpoint import Endpoint, Request
from app.engine.llm.keys import Keys
from app.engine.llm.roles import Endpoints, EndpointSettings, RoleSettings
from app.engine.memory.compaction_memory import CompactionMemory
from app.engine.records import Message, Window
from tests.helpers.fake_server import FakeServer, overflow
from tests.helpers.memories import bot, compacting, config, filled, user
from tests.helpers.models import ScriptedModel
from tests.helpers.waiting import run

LONG = "The harbour is open from six in the morning until ten at night. " * 30


def named(**models: Endpoint) -> Endpoints:
    """Endpoints in which every name is ready."""
    first = next(iter(models))
    endpoints = Endpoints(
        {}, RoleSettings(chat=first), lambda _n, _s: models[first], lambda: models[first]
    )
    for name, model in models.items():
        endpoints.use(name, model)
    return endpoints


@pytest.mark.case("MOT-28", "MOT-29", "MOT-30", "MOT-31")
def test_set_model_fills_only_what_is_unset() -> None:
    one, two = ScriptedModel(), ScriptedModel()
    memory = CompactionMemory(counter=Counter())
    memory.set_model(client=one, model_name="main")
    assert (memory.client, memory.model_name) == (one, "main")
    memory.set_model(client=two, model_name="other")
    assert (memory.client, memory.model_name) == (one, "main")
    memory = CompactionMemory(client=one, model_name="given", counter=Counter())
    memory.set_model(client=two, model_name="other")
    assert (memory.client, memory.model_name) == (one, "given")


@pytest.mark.case("MOT-32", "MOT-33")
def test_which_model_summarises() -> None:
    async def asked(values: Any) -> tuple[int, int]:
        main, small = ScriptedModel(), ScriptedModel()
        memory = CompactionMemory(values, counter=Counter())
        memory.set_model(client=named(main=main, small=small), model_name="main")
        await filled(memory, user("Hello"), bot("Hi"))
        await memory.compact()
        return len(main.requests), len(small.requests)

    assert run(asked(config())) == (1, 0)
    assert run(asked(config(compact_model_name="small"))) == (0, 1)


@pytest.mark.case("MOT-92")
def test_the_default_request() -> None:
    async def main() -> None:
        model = ScriptedModel("Ports were listed.")
        memory = CompactionMemory(client=model, system_prompt="Be brief.", counter=Counter())
        thinking = Message(id="", role="assistant", content="Hi", reasoning="a secret thought")
        await filled(memory, user("Hello"), thinking)
        assert await memory.compact() == "Ports were listed."
        (request,) = model.requests
        assert request.system == "Be brief."
        assert request.tools == ()
        assert [(m.role, m.content) for m in request.messages[:-1]] == [
            ("user", "Hello"),
            ("assistant", "Hi"),
        ]
        last = request.messages[-1]
        assert last.role == "user"
        assert "not part of the conversation" in last.content
        assert all(not m.reasoning for m in request.messages)

    run(main())


def size(request: Request, counter: Counter) -> int:
    return counter.text(request.system) + counter.messages(request.messages)


@pytest.mark.case("MOT-93")
def test_a_prefix_larger_than_the_summary_models_window() -> None:
    async def main() -> None:
        main, small = ScriptedModel(), ScriptedModel("A part.", window=Window(3_000, "reported"))
        memory = CompactionMemory(
            config(compact_model_name="small"),
            client=named(main=main, small=small),
            model_name="main",
            counter=Counter(),
        )
        for n in range(12):
            await filled(memory, user(f"{n} {LONG}"), bot(f"Noted {n}. {LONG}"))
        assert await memory.compact() == "A part."
        counter = Counter()
        assert len(small.requests) > 2
        assert main.requests == []
        assert max(size(r, counter) for r in small.requests) <= 3_000
        text = "\n".join(m.content for r in small.requests for m in r.messages)
        assert all(f"Noted {n}." in text for n in range(12))

    run(main())


@pytest.mark.case("MOT-90")
@pytest.mark.parametrize("blank", ["", " \n\t "])
def test_a_blank_summary_is_refused(blank: str) -> None:
    async def main() -> None:
        for memory in (
            CompactionMemory(client=ScriptedModel(blank), counter=Counter()),
            compacting(compact_fn=lambda *_: blank),
        ):
            await filled(memory, user("Hello"), bot("Hi"))
            before = memory.messages
            with pytest.raises(UserError, match="empty"):
                await memory.compact()
            assert memory.messages == before
            assert memory.compaction_count == 0

    run(main())


@pytest.mark.case("MOT-91")
def test_a_failing_summariser_never_raises_out_of_adding() -> None:
    async def main() -> None:
        events: list[Activity] = []
        model = ScriptedModel(ModelUnavailable("No server answers."), "Now it works.")
        memory = CompactionMemory(
            config(token_threshold=900), client=model, counter=Counter(), on_event=events.append
        )
        await filled(memory, user(LONG), bot(LONG))
        await memory.add_message(user(LONG + "the newest"))
        failed = [e for e in events if e.state == "failed"]
        assert failed
        assert "No server answers" in failed[0].reason
        await filled(memory, bot(LONG))
        assert memory.compaction_count >= 1
        assert "Now it works." in memory.messages[0].content

    run(main())


@pytest.mark.case("MOT-95")
def test_async_functions_and_a_callback_that_raises() -> None:
    async def main() -> None:
        events: list[Activity] = []

        async def fn(messages: list[Message], _prompt: str) -> str:
            return f"{len(messages)} awaited"

        async def told(_stats: dict[str, Any]) -> None:
            raise RuntimeError("the callback broke")

        memory = compacting(compact_fn=fn, on_compact=told, on_event=events.append)
        await filled(memory, user("Hello"), bot("Hi"))
        assert await memory.compact() == "2 awaited"
        assert any("the callback broke" in e.reason for e in events)
        assert memory.compaction_count == 1
        assert len(memory.messages) == 1
        await filled(memory, user("More"))
        assert len(memory.messages) == 2

    run(main())


@pytest.mark.case("MOT-97")
def test_an_unknown_window_and_one_learned_from_an_error() -> None:
    async def main() -> None:
        async with FakeServer(overflow(9_000, 6_000)) as server:
            settings = EndpointSettings(url=server.base_url, model="nobody-knows-me")
            endpoint = ConfiguredEndpoint(settings, Keys({}))
            memory = CompactionMemory(client=endpoint, counter=Counter())
            await filled(memory, user("Hello"))
            assert memory.window.source == "default"
            assert memory.window.tokens in (4_096, 128_000)
            await filled(memory, bot(LONG))
            with pytest.raises(UserError):
                await memory.compact()
            assert memory.window == Window(6_000, "learned")
            await endpoint.close()

    run(main())


def test_an_overflow_of_a_plain_endpoint_is_learned() -> None:
    async def main() -> None:
        error = ContextOverflow("Too long.", requested=9_000, window=6_000)
        memory = CompactionMemory(
            client=ScriptedModel(error, "S", window=Window(128_000, "default")), counter=Counter()
        )
        await filled(memory, user("Hello"), bot(LONG))
        await memory.compact()
        assert memory.window == Window(6_000, "learned")

    run(main())
