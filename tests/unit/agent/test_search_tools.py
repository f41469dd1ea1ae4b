"""`memory_search` and `session_search` in a turn: questions, exact words, what is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.helpers.fake_server import call, say, use
from tests.helpers.searching import put, said, talk
from tests.helpers.waiting import run
from tests.helpers.workspaces import engine_on, without_memory


def answered(root: Path, tool: str, **arguments: Any) -> str:
    """What the model is told when it calls `tool`."""

    async def main() -> str:
        scripts = (use(call(tool, arguments, id="c1")), say("Done."))
        async with engine_on(root, *scripts, config=without_memory()) as desk:
            await desk.engine.index_ready()
            await desk.send("Please look it up.")
            return str(desk.sent()[-1]["content"])

    return run(main())


def test_a_question_finds_the_line_in_other_words(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- The boats were painted green in 2024\n- The pier is closed\n")
    told = answered(tmp_path, "memory_search", query="When did they paint the boat?")
    assert told.split("\n")[2].startswith("Source: MEMORY.md#1: - The boats were painted green")


def test_what_no_word_holds_is_found_letter_by_letter(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- see XK-aaa::zzz-9 there\n")
    told = answered(tmp_path, "memory_search", query="aa::zz")
    assert "Source: MEMORY.md#1" in told


def test_nothing_found_says_why_and_what_is_near(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- The greenhouse is open\n")
    told = answered(tmp_path, "memory_search", query="greenhuose")
    assert told.startswith("Nothing found for 'greenhuose'.")
    assert "greenhouse" in told


def test_the_same_line_in_memory_and_log_is_told_once(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- The gate code is 4417\n")
    put(tmp_path, "memory/2026-06-02.md", "- The gate code is 4417\n")
    told = answered(tmp_path, "memory_search", query="gate code")
    sources = [line for line in told.split("\n") if line.startswith("Source:")]
    assert len(sources) == 1
    assert "MEMORY.md#1" in sources[0]
    assert "memory/2026-06-02.md#1" in sources[0]
    assert "more" not in told


def test_sessions_come_ranked_with_what_was_said_around(tmp_path: Path) -> None:
    talk(
        tmp_path, "s-1", said(1, "Which soap is best for the tiles? " + "really " * 60),
        said(2, "The pine soap", role="ASSISTANT"), said(3, "Thanks"),
    )  # fmt: skip
    talk(tmp_path, "s-2", said(9, "The tiles are cold"))
    told = answered(tmp_path, "session_search", query="What soap for the tiles?")
    lines = told.split("\n")
    assert lines[1] == ""
    assert "The pine soap" in told
    hits = [line for line in lines if line.startswith("s-")]
    assert hits[0].startswith("s-1 ")
    assert any(line.startswith("    after: The pine soap") for line in lines)
    for line in lines[2:]:
        assert len(line.partition(": ")[2]) <= 200


def test_the_searches_of_before_are_no_answers(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"type": "tool_use", "name": "session_search"}
    asked["input"] = json.dumps({"query": "lighthouse keeper"})
    talk(tmp_path, "s-1", said(1, "", role="ASSISTANT", **asked), said(2, "The lighthouse is red"))
    told = answered(tmp_path, "session_search", query="lighthouse keeper")
    assert "The lighthouse is red" in told
    assert not any(line.startswith("s-1 session_search") for line in told.split("\n"))


def test_a_models_filters_and_its_own_searches_are_both_left_out(tmp_path: Path) -> None:
    own: dict[str, Any] = {
        "type": "tool_use",
        "name": "session_search",
        "input": {"q": "lighthouse"},
    }
    grep = own | {"name": "grep"}
    talk(tmp_path, "s-1", said(1, "", **own), said(2, "", **grep), said(3, "the lighthouse"))
    told = answered(tmp_path, "session_search", query="lighthouse -tool:grep")
    hits = [line for line in told.split("\n") if line.startswith("s-1 ")]
    assert hits == ["s-1 user: the lighthouse"]


def test_more_than_was_asked_for_is_counted(tmp_path: Path) -> None:
    talk(tmp_path, "s-1", *(said(n, f"rule {n} of the harbour") for n in range(1, 9)))
    told = answered(tmp_path, "session_search", query="harbour rule", maxResults=3)
    lines = told.split("\n")
    assert lines[0].startswith("8 ")
    assert sum(line.startswith("s-1 ") for line in lines) == 3
    assert lines[-1].startswith("5 more")


def test_the_sessions_of_one_agent_alone(tmp_path: Path) -> None:
    talk(tmp_path, "s-1", said(1, "the harbour of bot"))
    other = talk(tmp_path, "s-2", said(2, "the harbour of cat"))
    (tmp_path / "agents" / "cat" / "sessions").mkdir(parents=True)
    other.rename(tmp_path / "agents" / "cat" / "sessions" / other.name)
    told = answered(tmp_path, "session_search", query="harbour", agentId="cat")
    assert "of cat" in told
    assert "s-1 user" not in told


def test_the_sessions_of_another_agent_are_listed_and_read(tmp_path: Path) -> None:
    talk(tmp_path, "s-2", said(1, "the harbour of bot"), said(2, "the lamp of bot"))
    told = answered(tmp_path, "session_list", agentId="bot")
    assert told.startswith("s-2: the harbour of bot (2026-06-02")
    assert len(told.splitlines()) == 1
    told = answered(tmp_path, "session_history", agentId="bot", sessionId="s-2", lastN=1)
    assert told == "[user] the lamp of bot"
    assert "Please look it up" in answered(tmp_path, "session_list"), "empty is this one"
    assert "of bot" not in answered(tmp_path, "session_list")
    for agent in ("cat", "../agents/bot"):
        told = answered(tmp_path, "session_list", agentId=agent)
        assert told == f"Of the agent {agent!r} there are no sessions yet."
    assert "There is no session 's-2'" in answered(tmp_path, "session_history", sessionId="s-2")
    assert not (tmp_path / "agents" / "bot" / "sessions" / "sessions.json").exists()
    assert not (tmp_path / "agents" / "cat").exists()


def test_an_agent_that_said_little_is_found_behind_one_that_said_much(tmp_path: Path) -> None:
    talk(tmp_path, "s-1", *(said(n, f"the harbour lamp {n}") for n in range(250)))
    other = talk(tmp_path, "s-2", said(2, "a harbour"))
    (tmp_path / "agents" / "cat" / "sessions").mkdir(parents=True)
    other.rename(tmp_path / "agents" / "cat" / "sessions" / other.name)
    told = answered(tmp_path, "session_search", query="harbour lamp", agentId="cat")
    assert "s-2 user: a harbour" in told
    told = answered(tmp_path, "session_search", query="harbour lamp", agentId="dog")
    assert "'dog' has said nothing of it" in told
