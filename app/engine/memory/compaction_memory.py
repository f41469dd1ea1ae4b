"""`CompactionMemory`, compaction with a log, and `BackgroundMemory`, compaction with a workspace.

The log is the engine's own session log, so what a memory wrote, a workspace, a search and a restore
read alike. Restoring and forking block: call them in a thread. Specification, sections 1 and 15.
"""

from __future__ import annotations

import logging
import uuid
from pathlib import Path
from typing import Any, ClassVar, Self

from app.engine.context.compactor import Flush
from app.engine.errors import SessionNotFound, StorageError, UserError
from app.engine.memory.compaction_base import CompactionBase
from app.engine.memory.log_store import ConversationLogStore, LocalConversationLogStore
from app.engine.memory.motus_settings import CompactionMemoryConfig
from app.engine.session.session import Session
from app.engine.session.snapshot import CompactionSessionState

log = logging.getLogger(__name__)


class CompactionMemory(CompactionBase):
    """Compaction with a log: `log_base_path` (or a `log_store`) keeps every entry.

    A new memory for a session that has a log already is refused: `restore_from_log` continues it.
    """

    def __init__(
        self,
        config: CompactionMemoryConfig | None = None,
        *,
        log_store: ConversationLogStore | None = None,
        session: Session | None = None,
        system_prompt: str = "",
        model_name: str = "",
        **more: Any,
    ) -> None:
        config = config or CompactionMemoryConfig()
        if log_store is None and config.log_base_path is not None:
            log_store = LocalConversationLogStore(config.log_base_path)
        if session is None and log_store is not None:
            session_id = config.session_id or str(uuid.uuid4())
            if log_store.exists(session_id):
                raise StorageError(
                    f"There is a log of the session {session_id!r} already.",
                    "Go on with restore_from_log, or use another id.",
                )
            session = Session.create(
                session_id,
                log_store.log(session_id),
                system_prompt=system_prompt,
                strategy=self.strategy,
                config=config.stored(),
                model=model_name,
            )
        self.log_store = log_store
        super().__init__(
            config, session=session, system_prompt=system_prompt, model_name=model_name, **more
        )

    @property
    def keeps_log(self) -> bool:
        return self.log_store is not None

    @classmethod
    def restore_from_log(
        cls,
        session_id: str,
        log_base_path: str | Path | None = None,
        *,
        log_store: ConversationLogStore | None = None,
        config: CompactionMemoryConfig | None = None,
        system_prompt: str | None = None,
        **more: Any,
    ) -> Self:
        """The memory of a logged session, as it was; what is added goes to the same log.

        A given prompt (an empty one, too) or configuration overrides the stored one. Writes
        nothing. Raises `SessionNotFound` (a `ValueError`) for a session without a log.
        """
        if log_store is None:
            if log_base_path is None:
                raise ValueError("restore_from_log needs a log_base_path or a log_store.")
            log_store = LocalConversationLogStore(log_base_path)
        if not log_store.exists(session_id):
            raise SessionNotFound(f"There is no session {session_id!r}.")
        session = Session.load(
            session_id,
            log_store.log(session_id),
            system_prompt=system_prompt,
            config=config.stored() if config is not None else None,
        )
        kept = config or _stored_config(session.fold.config)
        base = log_base_path or getattr(log_store, "base", None)
        kept = kept.replace(session_id=session_id, log_base_path=base)
        return cls(kept, log_store=log_store, session=session, **more)

    @classmethod
    def from_session_state(
        cls,
        state: CompactionSessionState,
        *,
        session_id: str | None = None,
        log_store: ConversationLogStore | None = None,
        **more: Any,
    ) -> Self:
        """A new memory that begins as a snapshot was."""
        new_id = session_id or str(uuid.uuid4())
        log_of = log_store.log(new_id) if log_store is not None else None
        session = Session.restore(state, new_id, log_of)
        config = _stored_config(state.config).replace(session_id=new_id)
        return cls(config, log_store=log_store, session=session, **more)

    def fork(self, session_id: str | None = None) -> Self:
        """A memory of its own that goes on from here, in the same store; its summaries begin anew.

        Blocks: the fork's first entry is written at once.
        """
        new_id = session_id or str(uuid.uuid4())
        log_of = self.log_store.log(new_id) if self.log_store is not None else None
        session = self._now(lambda parent: parent.fork(new_id, log_of))
        compact_fn, on_compact = self._functions
        return type(self)(
            self.config.replace(session_id=new_id),
            log_store=self.log_store,
            session=session,
            client=self._client,
            model_name=self._model_name,
            compact_fn=compact_fn,
            on_compact=on_compact,
            compaction=self._compaction,
            counter=self._counter,
            flush=self._flush,
            on_event=self._on_event,
        )

    def close(self) -> None:
        """Let the writer's lock of the log go."""
        self._now(lambda session: session.close())


class BackgroundMemory(CompactionBase):
    """Compaction, and facts kept across conversations.

    Flush, consolidation, recall and maintenance belong to a workspace: given to an agent, this
    memory hands what it compacts to the flush of that workspace first. Alone it takes a `flush`.
    """

    strategy: ClassVar[str] = "background"

    def use_flush(self, flush: Flush) -> None:
        """Hand each prefix to `flush` before it is compacted, unless one was given before."""
        self._flush = self._flush or flush


def _stored_config(stored: dict[str, Any]) -> CompactionMemoryConfig:
    """The configuration a session was opened with; values of another strategy are left aside."""
    known = {k: v for k, v in stored.items() if CompactionMemoryConfig.field_named(k)}
    try:
        return CompactionMemoryConfig.load(known)
    except UserError as error:
        log.warning("a stored configuration is not understood and not used: %s", error)
        return CompactionMemoryConfig()
