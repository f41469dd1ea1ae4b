"""Errors with an audience.

A `UserError` is for people: one sentence that says what happened, and a `remedy` that says what to
do. Everything else that is raised is a bug. Model-side errors carry the numbers the server gave.
"""

from __future__ import annotations

from typing import cast


class UserError(Exception):
    """A failure a person can act on. `str(error)` is one sentence; `remedy` is another."""

    remedy = ""

    def __init__(self, sentence: str, remedy: str | None = None) -> None:
        super().__init__(sentence)
        if remedy is not None:
            self.remedy = remedy


class ConfigError(UserError, ValueError):
    """A setting has a value it cannot have."""

    remedy = "Correct the value; the setting before it stays in force."


class SessionNotFound(UserError, ValueError):
    """There is no session of that id in this workspace."""

    remedy = "Choose a session from the list, or start a new one."


class Unreadable(UserError):
    """A file exists but cannot be read or understood; it is left exactly as it is."""

    remedy = "Open the file in an editor and save it as UTF-8 text."


class StorageError(UserError):
    """The disk refused a write. What was there before is unchanged."""

    remedy = "Free some space or mend the folder's permissions, then try again."


class WorkspaceUnusable(StorageError):
    """Nothing in the workspace may be changed: it can be read at most."""

    remedy = "Open a copy to make changes."


class PathRefused(UserError):
    """A path leaves the places it may point to. The message never names what lies outside."""

    remedy = "Use a path inside the workspace."


class BaseChanged(UserError):
    """MEMORY.md was edited elsewhere since this review began."""

    remedy = "Look at the review again; your decisions are kept."


class WorkspaceBusy(UserError):
    """Another process holds what this one needs."""

    remedy = "Close the other window, or wait until it is done."


class ModelError(UserError):
    """The model or its server failed. `raw` is the untouched answer or message, for the curious."""

    def __init__(
        self,
        sentence: str,
        remedy: str | None = None,
        *,
        requested: int | None = None,
        window: int | None = None,
        raw: str = "",
    ) -> None:
        super().__init__(sentence, remedy)
        self.requested = requested
        self.window = window
        self.raw = raw


class ContextOverflow(ModelError):
    """The request is longer than the model's window; `requested` and `window` in tokens."""

    remedy = "Compact the session, or raise the window of the server."


class QuestionTooLong(ContextOverflow):
    """The person's own message is longer than the window by itself: nothing else can make room."""

    remedy = "Shorten it or put the text into a file; it is kept in the input field."


class OutputTooLarge(ModelError):
    """More output was asked for than the server gives."""

    remedy = "Lower the output limit in Settings."


class RateLimited(ModelError):
    """The server asks for a pause."""

    remedy = "Wait a moment and send again."


class IncompleteAnswer(ModelError):
    """The stream ended without a finish reason; nothing of it is kept as an answer."""

    remedy = "Send again; your message is kept."


class ModelUnavailable(ModelError):
    """No server, no model of that name, or no right to use it."""

    remedy = "Check the address, the model name and the key in Settings."


class Interrupted(Exception):
    """Work was interrupted on purpose. Never swallowed, also not when wrapped in another error."""


def interruption(error: BaseException) -> BaseException | None:
    """The cancellation or `Interrupted` an error is or stands for, anywhere in its causes.

    Cycles are tolerated. A `TimeoutError` is a failure of its own: the cancellation behind it is
    only how the time limit was carried out. Whoever finds one raises the outer error again.
    """
    from asyncio import CancelledError  # the window shows errors before asyncio is there

    seen: set[int] = set()
    waiting: list[BaseException] = [error]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Interrupted | CancelledError):
            return one
        if isinstance(one, TimeoutError):
            continue
        if one.__cause__ is not None:
            waiting.append(one.__cause__)
        elif one.__context__ is not None and not one.__suppress_context__:
            waiting.append(one.__context__)
        if isinstance(one, BaseExceptionGroup):
            waiting.extend(cast("BaseExceptionGroup[BaseException]", one).exceptions)
    return None
