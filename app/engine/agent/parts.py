"""What an agent is made of: the services of one workspace, handed over by the engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.engine.agent.filters import RequestFilter
from app.engine.agent.live import LiveSession
from app.engine.agent.tools import Toolbox
from app.engine.config import EngineConfig
from app.engine.context.sources import remedy_for
from app.engine.context.tokens import Counter
from app.engine.context.window import eviction_for
from app.engine.events import Activity, Bus
from app.engine.llm.endpoint import Endpoint
from app.engine.llm.roles import Endpoints
from app.engine.records import Query, SearchResult, Window
from app.engine.workspace.evictions import Evictions
from app.engine.workspace.layout import Layout
from app.engine.workspace.memory_file import MemoryWriter

# A window below this is treated as small: short guidance, recall before the call, tight limits.
SMALL_WINDOW = 16_384


@dataclass
class AgentParts:
    """Services an agent works with. `flush(live, site)` queues a flush of what is not flushed.

    `flush_now` waits for it (compaction with `flush_wait`). `new_id(prefix)` makes message ids.
    """

    layout: Layout
    config: EngineConfig
    bus: Bus
    counter: Counter
    endpoints: Endpoints
    writer: MemoryWriter
    evictions: Evictions
    toolbox: Toolbox
    search: Callable[[Query], Awaitable[SearchResult]]
    flush: Callable[[LiveSession, str], object]
    flush_now: Callable[[LiveSession, str], Awaitable[object]]
    clock: Callable[[], datetime]
    new_id: Callable[[str], str]
    request_filters: Sequence[RequestFilter] = ()
    told: set[str] = field(default_factory=set[str])  # troubles that people know of already

    def tell(self, troubles: Sequence[str], session_id: str = "") -> None:
        """Say once per cause what could not be used; one that is mended may be said again."""
        for trouble in troubles:
            if trouble not in self.told:
                remedy = remedy_for(trouble)
                said = Activity("error", "failed", session_id, reason=trouble, remedy=remedy)
                self.bus.publish(said)
        self.told = set(troubles)

    def chat(self) -> Endpoint:
        """The endpoint that answers. Raises `ConfigError` when its name is not configured."""
        return self.endpoints.role("chat")

    def counter_for(self, endpoint: Endpoint) -> Counter:
        """The counter in this model's own tokens, as far as its reports have told (section 6)."""
        return self.counter.scaled(self.endpoints.gauge.ratio(endpoint.name))

    def fitted(self, endpoint: Endpoint, window: Window) -> EngineConfig:
        """The configuration for one model: a small one gets the preset `local_small`.

        Only values a person left at their default are changed (specification, section 1).
        """
        config = self.config
        small = is_small(endpoint, window)
        compaction = config.compaction
        if small and compaction.trigger_tokens == type(compaction).defaults().trigger_tokens:
            compaction = compaction.replace(trigger_tokens="auto")
        if small and compaction.trigger_tokens == "auto" and not compaction.keep_tokens:
            compaction = compaction.replace(
                safety_ratio=0.60, keep_tokens="auto", keep_tokens_min=0
            )
        eviction = config.eviction
        if eviction.max_result_chars == type(eviction).defaults().max_result_chars:
            eviction = eviction_for(eviction, window, small=small)
        return config.replace(compaction=compaction, eviction=eviction)


def is_small(endpoint: Endpoint, window: Window) -> bool:
    """Whether a model needs the preset for small ones: the built-in model, and tiny windows."""
    return not endpoint.host or window.tokens <= SMALL_WINDOW
