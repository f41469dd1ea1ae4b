"""An answer becomes memory only when it is an answer."""

from __future__ import annotations

import json

import pytest

from app.engine.memory.answers import judge

BULLETS = "- Ines prefers answers in Portuguese\n- Release 4.2 is frozen until 2026-06-10"


def test_plain_bullets_pass_unchanged():
    got = judge(f"\n  {BULLETS}\n\n")
    assert got.text == BULLETS
    assert got.usable
    assert got.flags == frozenset()


@pytest.mark.parametrize(
    "answer",
    ["NO_REPLY", " \n NO_REPLY \n", "`NO_REPLY`", "**NO_REPLY**", "- NO_REPLY", "NO_REPLY."],
)
def test_the_sentinel_alone_means_nothing_to_keep(answer: str):
    got = judge(answer)
    assert got.nothing
    assert got.text == ""
    assert not got.problem


def test_a_sentinel_line_among_text_goes_and_a_line_about_it_stays():
    about = "- The flush prompt answers NO_REPLY when nothing is due"
    got = judge(f"{BULLETS}\nNO_REPLY\n{about}")
    assert got.text == f"{BULLETS}\n{about}"
    assert got.usable
    assert "sentinel" in got.flags


def test_sentinel_is_text_where_it_has_no_meaning():
    assert judge("NO_REPLY", sentinel=False).text == "NO_REPLY"


@pytest.mark.parametrize("answer", ["", "  \n\t ", "null", '""', "[]", '{"memory": null}'])
def test_empty_answers(answer: str):
    got = judge(answer)
    assert got.problem == "empty"
    assert not got.usable


def test_an_empty_answer_with_thinking_says_so():
    got = judge("", reasoning="long thoughts")
    assert got.problem == "empty"
    assert "thinking" in got.detail


@pytest.mark.parametrize("finish", ["length", "", None, "content_filter"])
def test_an_answer_without_a_proper_end_is_cut(finish: str | None):
    assert judge(BULLETS, finish).problem == "truncated"


# ------------------------------------------------------------------ thinking


@pytest.mark.parametrize(
    "answer",
    [
        "<think>What is durable here?</think>",
        "<think>never closed, to the end of the budget",
        "<thinking>\nhm\n</thinking>\n",
        "<|channel|>analysis<|message|>The user says … <|end|>",
    ],
)
def test_thinking_alone_leaves_no_text(answer: str):
    got = judge(answer)
    assert got.problem == "reasoning_trace"
    assert got.text == ""


@pytest.mark.parametrize(
    "answer",
    [
        f"<think>\nInes …\n</think>\n\n{BULLETS}",
        f"Ines speaks Portuguese, so that is durable.\n</think>\n{BULLETS}",
        f"◁think▷hm◁/think▷{BULLETS}",
        f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>{BULLETS}",
    ],
)
def test_thinking_before_an_answer_is_refused_or_taken_off(answer: str):
    assert judge(answer).problem == "reasoning_trace"
    kept = judge(answer, strip_reasoning=True)
    assert kept.usable
    assert kept.text == BULLETS
    assert "reasoning_trace" in kept.flags


def test_empty_thinking_tags_are_no_thinking():
    got = judge(f"<think>\n\n</think>\n\n{BULLETS}")
    assert got.usable
    assert got.text == BULLETS


def test_a_memory_about_thinking_tags_passes():
    memory = "- The parser drops `<think>` and </think> tags since 2026-05-02"
    assert judge(memory).text == memory
    assert judge(memory).usable


# ------------------------------------------------------------------ fences and JSON


@pytest.mark.parametrize(
    "answer",
    [
        f"```markdown\n{BULLETS}\n```",
        f"```\n{BULLETS}\n```",
        f"```md\n{BULLETS}",
        f"~~~\n{BULLETS}\n~~~",
        f"Here is the list:\n\n```markdown\n{BULLETS}\n```\n\nAnything else?",
    ],
)
def test_one_outer_fence_is_unwrapped_and_flagged(answer: str):
    got = judge(answer)
    assert got.text == BULLETS
    assert got.usable
    assert "code_fence" in got.flags


def test_a_fence_within_an_outer_fence_stays():
    inner = "# Notes\n```sh\nmake\n```\n- a"
    assert judge(f"```markdown\n{inner}\n```").text == inner


@pytest.mark.parametrize(
    "text",
    [
        "# Notes\n\n- build with\n\n```sh\nmake\n```",
        "```sh\nmake\n```",
        "```\nmake\n```\n- one\n```\ntest\n```",
        "- a\n```\nmake\n```\n- b",
    ],
)
def test_fences_that_are_content_stay(text: str):
    got = judge(text)
    assert got.text == text
    assert "code_fence" not in got.flags


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ('{"memory":{"facts":["a","b"]}}', "- a\n- b"),
        ('["a"]', "- a"),
        (json.dumps(json.dumps({"memory": "x"})), "x"),
        ('{"memory": "- x"}', "- x"),
        ('```json\n{"memory": "- x"}\n```', "- x"),
    ],
)
def test_json_with_one_text_is_unwrapped(answer: str, text: str):
    got = judge(answer)
    assert got.text == text
    assert got.usable
    assert "json" in got.flags


@pytest.mark.parametrize(
    "answer", ['{"history": "h", "memory": "m"}', '[{"fact": "a"}]', '{"memory": 3}', "[1, 2]"]
)
def test_other_json_is_refused(answer: str):
    assert judge(answer).problem == "not_text"


@pytest.mark.parametrize("text", ["[x] ship 4.2", '"Slow is smooth" is the motto', "{curly} notes"])
def test_text_that_only_looks_like_json_stays(text: str):
    assert judge(text).text == text
    assert judge(text).usable


# ------------------------------------------------------------------ error pages and refusals


@pytest.mark.parametrize(
    "answer",
    [
        "<html><head><title>404 Not Found</title></head><body>nginx</body></html>",
        "<!DOCTYPE html>\n<html lang=en>",
        "```html\n<html></html>\n```\n"[8:-5],
        "502 Bad Gateway\nnginx/1.25",
        "Error code: 429 - {'error': {'message': 'slow down'}}",
        '{"error": {"message": "model not found", "code": 404}}',
        '{"code": 500, "message": "boom"}',
        "Traceback (most recent call last):\n  File …",
        "Internal Server Error",
        "服务器内部错误，请稍后再试",
    ],
)
def test_error_pages_are_refused(answer: str):
    assert judge(answer).problem == "error_page"


@pytest.mark.parametrize(
    "text",
    [
        "- The 404 Not Found page is redesigned by Ines until 2026-06-10",
        '- API answers {"error": …} when the key is old',
        "# Errors\n- 502 Bad Gateway came from the proxy's old certificate",
        "404 is the room of the Tuesday meeting",
        "500 euros were agreed with Tom",
    ],
)
def test_memories_about_errors_pass(text: str):
    assert judge(text).usable, judge(text)


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, but I cannot assist with that request.",
        "Sorry, I can't extract personal information.",
        "I cannot comply with this request.",
        "I am unable to process this conversation.",
        "I can't help with that. However, you could:\n- ask a professional\n- call a friend",
        "Unfortunately, I'm not able to summarize this conversation.",
        "As an AI language model, I do not store personal data.",
        "- I'm sorry, but I can't assist with that request.",
        "抱歉，我无法协助处理这个请求。",
        "很抱歉，我不能提供帮助。",
        "对不起，这个问题我无法回答。",
        "我无法为您提供该内容。",
        "作为一个人工智能语言模型，我不能保存个人信息。",
        "# Memory\n\nI'm sorry, but I can't do that.",
    ],
)
def test_refusals_are_refused(answer: str):
    assert judge(answer).problem == "refusal"


@pytest.mark.parametrize(
    "text",
    [
        "- I cannot eat peanuts",
        "- I can't help with the move on Friday, Tom does it",
        "- Ines is sorry that she cannot come on 2026-06-12",
        "- Cannot deploy on Fridays: decision of 2026-05-02",
        "I cannot eat gluten.",
        "I can't do Mondays.",
        "- Sorry, I can't make it on Tuesday; moved to Thursday",
        "- 抱歉，我无法参加周五的会议，改到周一",
        "我无法吃辣",
        "- 用户不能吃花生",
        "- The bot must answer 抱歉，我无法协助 to price questions",
        "- As an AI team lead, Ines decides on models",
        "# Team\n- I am unable to work on Wednesdays\n- Tom works on the index\n- Ines on search",
    ],
)
def test_memories_that_look_like_refusals_pass(text: str):
    got = judge(text)
    assert got.usable, got
    assert got.text == text
