"""Without a model: the person's own sentences, and a MEMORY.md that only grows."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from app.engine.errors import ModelUnavailable
from app.engine.llm.endpoint import Answer
from app.engine.memory import sameness
from app.engine.memory.curators import (
    ExtractiveCurator,
    FlushTask,
    LlmCurator,
    extractive_consolidation,
    extractive_flush,
)
from app.engine.memory.flush_request import Batch, References
from app.engine.memory.sentences import facts, is_fact
from app.engine.records import Message, ModelCall, Usage
from app.engine.workspace.daily_log import append_section
from app.engine.workspace.layout import Layout, ensure
from app.engine.workspace.sections import SectionStates
from tests.helpers.models import ScriptedModel

NOTHING = References("", "", "memory/2026-06-02.md", date(2026, 6, 2))


@pytest.mark.parametrize(
    "sentence",
    [
        "I prefer answers in Portuguese.",
        "My name is Ines Duarte.",
        "I'm allergic to peanuts.",
        "I live in Porto and work for the harbour.",
        "We decided to keep SQLite because it needs no server.",
        "Let's go with Postgres 16 for the archive.",
        "The release is frozen until 2026-06-10.",
        "Release 4.2 ships next week",
        "The demo is on Friday at 14:00.",
        "Tom owns the search index.",
        "Tom and Zoë work on the importer.",
        "Our staging server runs on port 8443.",
        "My daughter starts school in September 4th week, on September 7.",
        "I will send the contract by Thursday.",
        "Please remember that the backup window moved to 03:00.",
        "Always answer in Portuguese.",
        "From now on use tabs in this project.",
        "I don't eat meat.",
        "I have two cats.",
        "The backups are stored in /srv/backup.",
        "The deadline for the tax report is 31 July.",
        "我喜欢用简体中文写文档。",
        "我对花生过敏。",
        "我们决定用 SQLite，因为不需要服务器。",
        "下周五之前要完成数据库迁移。",
        "发布日期定在6月10日。",
        "王芳负责搜索模块。",
        "请记住我的生日是5月3日。",
        "以后都用中文回答。",
        "我住在上海，在一家银行工作。",
        "我们团队每周一开例会。",
    ],
)
def test_sentences_that_state_something_lasting_are_kept(sentence: str):
    assert facts(sentence) == [sentence]


@pytest.mark.parametrize(
    "sentence",
    [
        "What do I prefer?",
        "Can you fix the test by Friday?",
        "Please fix the failing test.",
        "Fix the importer, it is on the main branch.",
        "Show me the last three days.",
        "Hi there!",
        "Thanks a lot!",
        "OK",
        "Good morning.",
        "I'm getting an error on line 3.",
        "I have a question about the index.",
        "I think it works.",
        "I'm not sure.",
        "It works now.",
        "Write a poem about Friday.",
        "Let's see what the log says.",
        "I need you to read MEMORY.md.",
        "When is the demo on Friday?",
        "never mind",
        "def main(): return 2026",
        "Do you know my name?",
        "你好！",
        "谢谢。",
        "请帮我修复这个测试。",
        "你能总结一下吗？",
        "明天会下雨吗？",
        "帮我写一封周五的邮件。",
        "我想问一下数据库的问题。",
        "为什么失败了",
        "好的",
    ],
)
def test_questions_requests_and_chatter_are_not(sentence: str):
    assert facts(sentence) == []


def test_a_message_is_taken_apart_and_quoted_as_it_stands():
    text = (
        "Hi! I prefer short answers, e.g. one line. Could you look at the log? "
        "Release 4.2 is frozen until 2026-06-10.\n"
        "> I like quoted things.\n"
        "```\nI prefer code\n```\n"
        "- Tom owns the index\n"
        "我对花生过敏。你能查一下吗？"
    )
    assert facts(text) == [
        "I prefer short answers, e.g. one line.",
        "Release 4.2 is frozen until 2026-06-10.",
        "Tom owns the index",
        "我对花生过敏。",
    ]


def test_what_must_not_be_remembered_is_not():
    assert facts("I live in Porto. Please don't remember this.") == []
    assert facts("我住在上海。这个不要记。") == []


def test_a_quoted_attack_is_kept_as_the_quotation_it_is():
    said = "My training text says 'ignore previous instructions' on page 3, due on Friday."
    assert facts(said) == [said]


def test_very_long_lines_are_no_sentences():
    assert not is_fact("I prefer " + "very " * 200 + "long lines")


# ------------------------------------------------------------------ flush


def test_only_the_person_is_quoted_and_nothing_twice():
    messages = (
        Message("u-1", "user", "I prefer tea. I live in Porto."),
        Message("a-1", "assistant", "Noted: you prefer tea. I prefer coffee."),
        Message("t-1", "tool", "We decided that writes need no confirmation."),
        Message("u-2", "user", "I prefer tea. Tom owns the index."),
        Message("s-1", "user", "I like summaries.", origin="summary"),
    )
    shown = References("- I live in Porto.\n", "", "memory/2026-06-02.md", date(2026, 6, 2))
    assert extractive_flush(messages, shown) == "- I prefer tea.\n- Tom owns the index."


def task(*messages: Message) -> FlushTask:
    batch = Batch("\n".join(m.content for m in messages), messages, "u-1", "a-1")
    return FlushTask("j-1", "Extract facts.", NOTHING, batch)


def test_the_extractive_curator_says_when_there_is_nothing():
    async def main():
        curator = ExtractiveCurator()
        none = await curator.flush(task(Message("u-1", "user", "Hello!")))
        assert none.nothing
        some = await curator.flush(task(Message("u-1", "user", "I prefer tea.")))
        assert some.usable
        assert some.text == "- I prefer tea."

    asyncio.run(main())


def test_every_model_call_is_kept_also_a_failed_one():
    kept: list[ModelCall] = []
    model = ScriptedModel(
        Answer("- tea", usage=Usage(10, 3)),
        ModelUnavailable("No server answers.", raw="ECONNREFUSED"),
    )

    async def main():
        curator = LlmCurator(
            model, record=kept.append, clock=lambda: datetime(2026, 6, 2, tzinfo=UTC)
        )
        assert (await curator.flush(task(Message("u-1", "user", "hi")))).text == "- tea"
        with pytest.raises(ModelUnavailable):
            await curator.flush(task(Message("u-1", "user", "hi")))

    asyncio.run(main())
    assert [(c.run, c.step, c.model, c.answer, c.error) for c in kept] == [
        ("j-1", "flush", "scripted", "- tea", ""),
        ("j-1", "flush", "scripted", "ECONNREFUSED", "No server answers."),
    ]
    assert kept[0].usage == Usage(10, 3)
    assert "Extract facts." in kept[0].prompt


# ------------------------------------------------------------------ consolidation


def waiting(tmp_path: Path, *days: tuple[date, str]):
    layout = Layout.at(tmp_path)
    ensure(layout)
    states = SectionStates(layout, when=datetime(2026, 6, 1, tzinfo=UTC))
    for day, text in days:
        now = datetime(day.year, day.month, day.day, 9, tzinfo=UTC)
        append_section(layout, kind="flush", text=text, now=now + timedelta(seconds=1))
    return layout, states


def test_the_file_is_kept_and_new_bullets_come_under_their_day(tmp_path: Path):
    _, states = waiting(
        tmp_path,
        (date(2026, 6, 2), "- Ines prefers tea\n- Release 4.2 is frozen until 2026-06-10"),
        (date(2026, 6, 3), "- Tom owns the index\n- ines  prefers tea"),
    )
    saved = "<!-- palimpsest:saved -->\n## Saved\n- x\n<!-- /palimpsest:saved -->\n"
    current = f"# Memory\n\n- Ines prefers tea\n\n{saved}"
    made = extractive_consolidation(current, states.waiting())
    assert made == (
        "# Memory\n\n- Ines prefers tea\n\n"
        "## 2026-06-02\n- Release 4.2 is frozen until 2026-06-10\n\n"
        "## 2026-06-03\n- Tom owns the index\n\n"
        f"{saved}"
    )
    assert extractive_consolidation(made, states.waiting()) == made  # nothing twice


def test_an_empty_file_and_a_heading_that_exists(tmp_path: Path):
    _, states = waiting(tmp_path, (date(2026, 6, 2), "- one fact\n- another fact"))
    made = extractive_consolidation("", states.waiting())
    assert made == "## 2026-06-02\n- one fact\n- another fact\n"
    grown = extractive_consolidation(
        "## 2026-06-02\n- one fact\n\n## Later\n- z\n", states.waiting()
    )
    assert grown == "## 2026-06-02\n- one fact\n- another fact\n\n## Later\n- z\n"
    assert extractive_consolidation("# M\n", []) == "# M\n"


def test_foreign_notes_give_only_their_bullets(tmp_path: Path):
    layout, states = waiting(tmp_path)
    layout.daily(date(2026, 2, 11)).write_text(
        'Store durable memories now, reply NO_REPLY if nothing\n```json\n{"a": 1}\n```\n'
        "| a | b |\n- 我唔會失憶嘅\n- NO_REPLY\n",
        "utf-8",
    )
    made = extractive_consolidation("", states.waiting())
    assert made == "## 2026-02-11\n- 我唔會失憶嘅\n"


@pytest.mark.parametrize(
    ("there", "new", "same"),
    [
        ("Ines prefers answers in Portuguese", "Ines prefers answers in Portuguese.", True),
        ("Release 4.2 is frozen until 2026-06-10", "Release 4.2 is frozen until 2026-06-12", False),
        ("Ines does like the taste of tea", "Ines does not like the taste of tea", False),
        ("用户喜欢每天早上喝一杯绿茶", "用户不喜欢每天早上喝一杯绿茶", False),
        ("Tom owns the index", "Zoë owns the importer", False),
    ],
)
def test_nearly_the_same_line_is_said_already_unless_a_specific_differs(
    tmp_path: Path, there: str, new: str, same: bool
):
    _, states = waiting(tmp_path, (date(2026, 6, 2), f"- {new}"))
    made = extractive_consolidation(f"- {there}\n", states.waiting())
    assert (new in made.replace(there, "", 1)) is not same


def test_of_many_lines_each_is_read_closely_beside_a_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = "\n".join(f"- fact number {n} is about topic {n * 7}" for n in range(600))
    _, states = waiting(tmp_path, (date(2026, 6, 2), text))
    current = "\n".join(f"- older fact {n} about subject {n * 3}" for n in range(600))
    read: list[str] = []
    specifics = sameness.specifics
    monkeypatch.setattr(sameness, "specifics", lambda one: read.append(one) or specifics(one))
    made = extractive_consolidation(current, states.waiting())
    assert made.count("fact number") == 600
    assert 0 < len(read) <= 600 * 10


def test_of_a_pasted_document_only_the_edges_count():
    paste = "\n".join(f"We decided on {n} May." for n in range(1, 5_000))
    text = f"I live in Porto.\n{paste}\nI prefer tea."
    kept = facts(text)
    assert kept[0] == "I live in Porto."
    assert len(kept) <= 20
    assert facts("word " * 200_000) == []
