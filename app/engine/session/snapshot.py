"""Snapshots: a session as a value that survives without its log (specification 1 and 15)."""

from __future__ import annotations

from typing import Any, ClassVar, Self, cast

import msgspec
from msgspec import Struct

from app.engine.records import Message
from app.engine.session.codec import clean
from app.engine.session.entries import SyntheticMessage
from app.engine.session.fold import Fold
from app.engine.session.messages import pack, unpack


class SessionState(Struct, frozen=True):
    """Messages, prompt and configuration of a session at one moment.

    `position` is where its log ended (a byte offset). `to_dict` gives plain values with a `type`;
    `from_dict` of the base class makes whichever type the dict names, and raises `ValueError` for
    one it does not know or that lacks what it needs.
    """

    session_id: str
    messages: tuple[Message, ...] = ()
    system_prompt: str = ""
    config: dict[str, Any] = {}
    strategy: str = ""
    model: str = ""
    position: int = 0

    type_name: ClassVar[str] = "session"

    def to_dict(self) -> dict[str, Any]:
        plain = cast("dict[str, Any]", clean(msgspec.to_builtins(self)))
        plain["messages"] = [msgspec.to_builtins(pack(m)) for m in self.messages]
        return {"type": self.type_name, **plain}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SessionState:
        made = _TYPES.get(str(data.get("type")))
        if made is None or not issubclass(made, cls):
            raise ValueError(f"There is no snapshot of the type {data.get('type')!r}.")
        return made.read(data)

    @classmethod
    def read(cls, data: dict[str, Any]) -> Self:
        """As `from_dict`, of exactly this type."""
        try:
            packed = msgspec.convert(data.get("messages", []), list[SyntheticMessage])
            fields = {k: v for k, v in data.items() if k not in ("type", "messages")}
            plain = msgspec.convert({**fields, "messages": []}, cls)
        except msgspec.ValidationError as error:
            raise ValueError(f"The snapshot has the wrong shape: {error}.") from error
        return msgspec.structs.replace(plain, messages=tuple(unpack(p) for p in packed))


class CompactionSessionState(SessionState, frozen=True):
    """With what compaction adds: summaries so far, their count, calls without a result."""

    summaries: tuple[str, ...] = ()
    compactions: int = 0
    open_calls: tuple[str, ...] = ()

    type_name: ClassVar[str] = "compaction_session"

    @classmethod
    def of(cls, session_id: str, fold: Fold, position: int) -> Self:
        """What a session is now, its log read up to `position`."""
        return cls(
            session_id=session_id,
            messages=fold.context,
            system_prompt=fold.system_prompt,
            config=dict(fold.config),
            strategy=fold.strategy,
            model=fold.model,
            position=position,
            summaries=tuple(fold.summaries),
            compactions=fold.compactions,
            open_calls=tuple(call.id for call in fold.open_calls),
        )


_TYPES: dict[str, type[SessionState]] = {
    t.type_name: t for t in (SessionState, CompactionSessionState)
}
