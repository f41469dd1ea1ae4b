"""Memory's upkeep: who does the work of memory now, and what its jobs run.

Settings may change between two jobs, so model, curator and policy are looked up when a job begins.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from app.engine.config import EngineConfig
from app.engine.context.tokens import Counter
from app.engine.errors import UserError
from app.engine.events import Bus
from app.engine.jobs import JobContext, Skipped
from app.engine.llm.endpoint import Endpoint
from app.engine.llm.roles import Endpoints
from app.engine.memory.consolidation import MemoryConsolidator
from app.engine.memory.curation import EXTRACTIVE
from app.engine.memory.curators import ExtractiveCurator, FlushCurator, LlmCurator
from app.engine.memory.journal import RunLog
from app.engine.search.index import MemoryIndex


class Upkeep:
    """The choice of curator and the runners of one workspace's jobs; `clock` as in `Rooms`."""

    def __init__(
        self,
        config: Callable[[], EngineConfig],
        endpoints: Endpoints,
        counter: Counter,
        runs: RunLog,
        index: MemoryIndex,
        bus: Bus,
        clock: Callable[[], datetime],
    ) -> None:
        self._config = config
        self._endpoints = endpoints
        self._counter = counter
        self._runs = runs
        self._index = index
        self._bus = bus
        self._clock = clock

    # ------------------------------------------------------------------ who

    def curates_with_model(self) -> bool:
        """Whether a model does the memory work: chosen, configured, and fit for it."""
        return self._fit_model() is not None

    def curator(self) -> FlushCurator:
        """Who picks facts now."""
        model = self._fit_model()
        if model is None:
            return ExtractiveCurator()
        return LlmCurator(model, count=self.count, record=self._runs.record_call)

    def count(self, text: str) -> int:
        """Tokens of a text for the model that does the memory work."""
        model = self._fit_model()
        ratio = self._endpoints.gauge.ratio(model.name) if model is not None else 1.0
        return self._counter.scaled(ratio).text(text)

    def _fit_model(self) -> Endpoint | None:
        memory = self._config().memory
        if memory.curator != "llm":
            return None
        try:
            endpoint = self._endpoints.role("memory", memory.model)
        except UserError:
            return None
        return endpoint if endpoint.fit_for_memory else None

    def named(self, model: str) -> Endpoint | None:
        """The model a person named for one run, fit or not; None for the curator without one.

        Raises `ConfigError` for a name that means nothing.
        """
        return None if model == EXTRACTIVE else self._endpoints.role("memory", model)

    # ------------------------------------------------------------------ the runners of jobs

    async def consolidate(self, consolidator: MemoryConsolidator, job: JobContext) -> str:
        """Run one consolidation; what came of it, in a sentence. Raises `UserError`, `Skipped`."""
        memory = self._config().memory
        consolidator.config = memory
        if first := str(job.payload.get("again_of") or ""):
            model = self.named(str(job.payload.get("model") or ""))
            outcome = await consolidator.again(first, model, self._clock())
        else:
            self._endpoints.role("memory", memory.model)  # a name that means nothing is told
            consolidator.endpoint = self._fit_model()
            manual = bool(job.payload.get("manual"))
            outcome = await consolidator.consolidate(self._clock(), manual=manual)
        job.target = outcome.run  # also of a failed run: its model calls are kept under it
        match outcome.state:
            case "proposed":
                return "A proposal waits for your review."
            case "applied":
                return f"Applied by policy, as version {outcome.version}."
            case "failed":
                raise UserError(outcome.reason, outcome.remedy)
            case _:
                raise Skipped(outcome.reason)

    async def reindex(self, job: JobContext) -> str:
        """Pass over the workspace; what was found, in a sentence."""
        rebuild = bool(job.payload.get("rebuild"))

        def progress(done: int, total: int) -> None:
            job.progress(done, total, f"{done} of {total} files")
            self._bus.changed("index")

        done = await self._index.index_all_from_workspace(progress, rebuild=rebuild)
        self._bus.changed("index")
        return f"{done.files} files, {done.changed} changed."
