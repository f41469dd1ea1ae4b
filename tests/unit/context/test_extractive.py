"""A summary without a model: how long it gets, and that it fits where it has to stand."""

from __future__ import annotations

import asyncio

import pytest

from app.engine.config import CompactionConfig
from app.engine.context.compaction import Compaction, Frame
from app.engine.context.compactor import ConversationCompactor
from app.engine.context.extractive import PARTS, extractive_summary
from app.engine.context.tokens import Counter
from app.engine.context.units import Keep
from app.engine.records import Message, Window
from tests.helpers.talk import answer, user

CHINESE = "温室的北窗在夜里要关好，因为风会把小番茄的苗吹坏，玛拉每天早上六点半去检查一次。"
ENGLISH = "The north vent of the greenhouse has to be closed at night, see notes/vents.md for why. "


def talk(text: str, turns: int) -> list[Message]:
    made = [(user(f"u{n}", f"{n}: {text * 4}"), answer(f"a{n}", text * 6)) for n in range(turns)]
    return [message for pair in made for message in pair]


@pytest.mark.parametrize("text", [CHINESE, ENGLISH])
@pytest.mark.parametrize("limit", [300, 800, 4_000, 12_000])
def test_it_is_never_longer_than_it_may_be(text: str, limit: int) -> None:
    summary = extractive_summary(talk(text, 60), limit)
    assert len(summary) <= limit
    assert [f"## {part}" for part in PARTS] == [
        line for line in summary.split("\n") if line.startswith("## ")
    ]


def compacted(context: list[Message], window: int, *, most: int = 0) -> Compaction:
    config = CompactionConfig(trigger_messages=0, trigger_tokens=0, extractive_fallback=True)
    frame = Frame(window=Window(window), system_tokens=100)
    made = ConversationCompactor(config, Counter(), frame)
    done = asyncio.run(made.compact(context, reason="overflow", keep=Keep(messages=1), most=most))
    assert isinstance(done, Compaction)
    assert done.extractive
    return done


@pytest.mark.parametrize("text", [CHINESE, ENGLISH])
@pytest.mark.parametrize("window", [512, 1_024, 8_000])
def test_it_fits_the_window_beside_what_stays(text: str, window: int) -> None:
    done = compacted([*talk(text, 20), user("last", "And now?")], window)
    assert 100 + Counter().messages(done.context) <= window - window // 8


def test_it_fits_what_the_server_really_takes() -> None:
    """After an overflow the server's count is known: ours may be far too low."""
    context = [*talk(ENGLISH, 20), user("last", "And now?")]
    free, tight = compacted(context, 2_000), compacted(context, 2_000, most=400)
    assert 100 + Counter().messages(free.context) > 500
    assert 100 + Counter().messages(tight.context) <= 400
