"""Estimators, the structure of messages, counts in a model's own tokens."""

from __future__ import annotations

import base64
import random
import subprocess
import sys
import threading
import time
from datetime import date
from pathlib import Path

import pytest

from app.engine.context.injection import Situation, Sources, inject
from app.engine.context.tokenizer import Encode, Tiktoken, chunks, estimator, load_o200k
from app.engine.context.tokens import (
    AgentScope,
    Counter,
    Heuristic,
    budget_tokens,
)
from app.engine.errors import ConfigError
from app.engine.records import Message
from tests.helpers.talk import calls, result, user

DATA = Path(__file__).parents[2] / "data" / "tokens"


@pytest.fixture(scope="module")
def o200k() -> Tiktoken:
    made = Tiktoken()
    assert made.wait(60)
    return made


@pytest.mark.case("CMP-27")
def test_the_agentscope_estimator_and_its_structure() -> None:
    counter = Counter(AgentScope())
    hello = user("u", "hello")
    assert counter.message(hello) == 9
    assert counter.messages([]) == 0
    image = "data:image/png;base64," + "A" * 100_000
    shown = Message(id="u", role="user", content="hello", images=(image,))
    assert counter.message(shown) - counter.message(hello) == 5 + 1_000
    cheap = Counter(AgentScope(), image_tokens=10)
    assert cheap.message(shown) - cheap.message(hello) == 5 + 10


def test_calls_and_results_carry_their_own_structure() -> None:
    counter = Counter(AgentScope())
    call = calls("a", "c1", name="ls", arguments="{}")
    assert counter.message(call) == 5 + 4 + 10 + 1 + 1 + 1
    assert counter.message(result("t", "c1", "hello", name="ls")) == 5 + 2 + 1 + 2 + 8 + 1


def samples(name: str) -> list[str]:
    text = (DATA / f"{name}.txt").read_text(encoding="utf-8").strip()
    if name == "tool_output":
        return text.split("\n%%\n")
    lines = text.split("\n")
    if name == "chinese":  # a paragraph alone is short; what is counted is a message of several
        return ["\n".join(lines[n : n + 3]) for n in range(len(lines) - 2)]
    return lines


@pytest.mark.case("CMP-30")
def test_the_heuristic_stays_close_to_the_tokenizer(o200k: Tiktoken) -> None:
    assert not o200k.estimated
    guess = Heuristic()
    ratios: dict[str, list[float]] = {}
    for name in ("english", "chinese", "mixed", "tool_output"):
        ratios[name] = sorted(guess.text(s) / o200k.text(s) for s in samples(name))
        fifth, last = ratios[name][len(ratios[name]) // 20], ratios[name][-1]
        top = ratios[name][min(len(ratios[name]) - 1, len(ratios[name]) * 19 // 20)]
        assert fifth >= 0.85, (name, ratios[name])
        assert top <= 1.15, (name, ratios[name])
        assert last <= 1.25
    assert ratios["chinese"][0] >= 0.85
    chinese = samples("chinese")
    assert AgentScope().text(chinese[0]) < o200k.text(chinese[0]) * 0.6


def test_before_it_is_loaded_the_heuristic_answers_and_says_so() -> None:
    made = Tiktoken(load=lambda: (_ for _ in ()).throw(ValueError("no vocabulary")))
    counter = Counter(made)
    assert "estimate" in counter.label
    assert counter.text("some words") == Heuristic().text("some words")
    assert not made.wait(10)
    assert made.estimated


def test_the_count_is_taken_anew_when_the_tokenizer_comes() -> None:
    come = threading.Event()

    def load() -> Encode:
        assert come.wait(10)
        return lambda text: [0] * len(text)

    made = Tiktoken(load)
    counter = Counter(made)
    message = user("u", "hello")
    before = counter.message(message)
    come.set()
    assert made.wait(10)
    assert counter.label == "o200k"
    assert counter.message(message) == 5 + 4 + 5 != before


@pytest.mark.case("B74")
@pytest.mark.parametrize("text", ["<|endoftext|>", "<|im_start|>", "<|fim_prefix|>"])
def test_special_token_text_is_plain_text(o200k: Tiktoken, text: str) -> None:
    for one in (o200k, Heuristic(), AgentScope()):
        assert one.text(text) > 1
        assert one.text(f"before {text} after") > one.text(text)
        counter = Counter(one)
        assert counter.message(user("u", text)) > 5
        situation = Situation(agent="bot", today=date(2026, 11, 30))
        made = inject(text, Sources(memory=f"- {text}"), situation, counter.text)
        assert next(p for p in made.parts if p.kind == "memory").tokens > 1
        assert text in made.text


@pytest.mark.case("B75")
@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "^" * 1_000_000,
        base64.b64encode(random.Random(1).randbytes(1_500_000)).decode(),
        "".join(random.Random(2).choices("abcdefghijklmnopqrstuvwxyz", k=1_000_000)),
        "哈" * 500_000,
    ],
    ids=["a", "caret", "base64", "letters", "ha"],
)
def test_long_runs_take_under_a_second(o200k: Tiktoken, text: str) -> None:
    for one in (o200k, Heuristic()):
        begun = time.process_time()
        assert one.text(text) > 1_000
        assert time.process_time() - begun < 1.0


@pytest.mark.case("B75")
def test_a_panic_of_the_tokenizer_is_survived() -> None:
    class Panic(BaseException):
        """As pyo3's PanicException: no Exception."""

    def encode(_text: str) -> list[int]:
        raise Panic

    made = Tiktoken(load=lambda: encode)
    assert made.wait(10)
    assert made.text("a long text") == Heuristic().text("a long text")


def test_special_token_text_is_read_by_the_tokenizer_itself() -> None:
    encode = load_o200k()
    assert len(encode("<|endoftext|>")) > 3


def test_chunks_join_to_the_text() -> None:
    text = "".join(random.Random(3).choices("ab \n", k=50_000)) + "x" * 20_000
    pieces = list(chunks(text))
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= 4_000


def test_cutting_in_chunks_hardly_changes_the_count(o200k: Tiktoken) -> None:
    text = (DATA / "english.txt").read_text(encoding="utf-8")
    many = text * 20
    assert abs(o200k.text(many) - 20 * o200k.text(text)) < 40


def test_each_message_is_counted_once() -> None:
    class Counting(Heuristic):
        asked = 0

        def text(self, text: str) -> int:
            self.asked += 1
            return super().text(text)

    counting = Counting()
    counter = Counter(counting)
    messages = [user(f"u{n}") for n in range(1_000)]
    total = counter.messages(messages)
    asked = counting.asked
    for n in range(0, 1_000, 100):
        counter.messages(messages[:n])
    assert counter.messages(messages) == total
    assert counting.asked == asked


def test_a_text_that_comes_again_is_counted_once() -> None:
    asked: list[str] = []

    class Counting(Heuristic):
        def text(self, text: str) -> int:
            asked.append(text)
            return super().text(text)

    counter = Counter(Counting())
    assert counter.text("- a fact\n" * 100) == counter.text("- a fact\n" * 100) > 0
    assert len(asked) == 1


def test_nothing_is_fetched() -> None:
    script = (
        "import socket\n"
        "def no(*a, **k): raise SystemExit('network')\n"
        "socket.socket.connect = no; socket.getaddrinfo = no\n"
        "from app.engine.context.tokenizer import Tiktoken\n"
        "t = Tiktoken()\n"
        "assert t.wait(60) and t.text('hello world') == 2\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_missing_vocabulary_is_no_reason_to_fetch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys._MEIPASS", str(tmp_path), raising=False)
    made = Tiktoken()
    assert not made.wait(10)
    assert made.text("hello world") > 0


def test_a_scaled_counter_counts_in_a_models_own_tokens_and_leaves_images_alone() -> None:
    counter = Counter()
    plain = user("u", "word " * 400)
    seen = Message(id="i", role="user", content="word " * 400, images=("data:x", "data:y"))
    scaled = counter.scaled(1.5)
    assert counter.scaled(1.0) is counter
    assert scaled.message(plain) == round(1.5 * counter.message(plain))
    assert scaled.message(seen) - scaled.message(plain) == 2 * 1_005
    assert scaled.uncached(plain) == scaled.message(plain)
    assert scaled.text(plain.content) == round(1.5 * counter.text(plain.content))
    assert scaled.messages([plain, plain]) == 2 * scaled.message(plain)
    tool = {"name": "look", "parameters": {"a": "number"}}
    assert scaled.schemas([tool]) == round(1.5 * counter.schemas([tool]))
    assert (scaled.label, scaled.estimated) == (counter.label, counter.estimated)


def test_a_request_is_counted_as_it_is_sent_without_reasoning() -> None:
    counter = Counter()
    asked = user("u", "hello " * 50)
    thought = Message(id="a", role="assistant", content="yes", reasoning="hmm " * 900)
    bare = Message(id="a", role="assistant", content="yes")
    for _ in range(2):  # the second time from what is remembered
        whole = counter.request("rules", [asked, thought], [{"name": "look"}])
        assert whole == counter.text("rules") + counter.schemas([{"name": "look"}]) + (
            counter.message(asked) + counter.message(bare)
        )
        assert counter.message(thought) > counter.message(bare) + 800


def test_injection_budgets_divide_by_four_and_count_chinese_whole() -> None:
    assert budget_tokens("abcdefg") == 1
    assert budget_tokens("数据库abcd") == 4
    assert budget_tokens("") == 0


def test_estimators_have_names() -> None:
    assert [estimator(n).name for n in ("heuristic", "agentscope")] == ["heuristic", "agentscope"]
    with pytest.raises(ConfigError):
        estimator("guess")
