"""Short ways to write a conversation down in a test, and a model that answers from a script."""

from __future__ import annotations

from collections.abc import Sequence

from app.engine.context.summaries import SummaryAnswer, SummaryRequest
from app.engine.context.summariser import SummaryFailed
from app.engine.records import Message, ToolCall

__all__ = ["FakeSummariser", "SummaryFailed", "answer", "calls", "result", "system", "user"]

FOUR_PARTS = (
    "## SESSION INTENT\nShip it\n\n## SUMMARY\n{}\n\n## ARTIFACTS\nNone\n\n## NEXT STEPS\nNone"
)


def system(text: str = "Be brief.") -> Message:
    return Message(id="s", role="system", content=text)


def user(id: str, text: str = "") -> Message:
    return Message(id=id, role="user", content=text or f"text of {id}")


def answer(id: str, text: str = "") -> Message:
    return Message(id=id, role="assistant", content=text or f"answer {id}")


def calls(id: str, *ids: str, name: str = "execute", arguments: str = "{}") -> Message:
    made = tuple(ToolCall(call, name, arguments) for call in ids)
    return Message(id=id, role="assistant", calls=made)


def result(id: str, call: str, text: str = "output", name: str = "execute") -> Message:
    return Message(id=id, role="tool", content=text, name=name, call_id=call)


class FakeSummariser:
    """Answers summary requests in turn: a text, a `SummaryAnswer`, or an error to raise.

    The last one is repeated. `requests` keeps what was asked.
    """

    def __init__(self, *answers: str | SummaryAnswer | BaseException) -> None:
        self.answers: Sequence[str | SummaryAnswer | BaseException] = answers or ("A summary.",)
        self.requests: list[SummaryRequest] = []

    async def __call__(self, request: SummaryRequest) -> SummaryAnswer:
        self.requests.append(request)
        given = self.answers[min(len(self.requests), len(self.answers)) - 1]
        if isinstance(given, BaseException):
            raise given
        return given if isinstance(given, SummaryAnswer) else SummaryAnswer(given)

    @property
    def asked(self) -> list[str]:
        """Each request as one text."""
        return ["\n".join(m.content for m in request.messages) for request in self.requests]
