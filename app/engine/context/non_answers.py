"""What stands in a model's answer and is no answer: thinking, refusals, error pages.

English and Chinese. The words of a refusal are also words of memories: "I cannot eat peanuts" is a
fact worth keeping. So only the answer's beginning counts, the inability must aim at the task, and a
bullet is taken for a refusal only when it is all there is. When in doubt it is an answer, for a
person still reviews what becomes of it.
"""

from __future__ import annotations

import re

# ---------------------------------------------------------------------------- thinking

_TAGS = r"(?:think|thinking|thought|reasoning|seed:think)"
_OPEN = re.compile(rf"(?:^|\n)[ \t]*(?:<{_TAGS}>|◁think▷)", re.IGNORECASE)
_CLOSE = re.compile(rf"(?:</{_TAGS}>|◁/think▷)", re.IGNORECASE)
_ORPHAN = re.compile(
    rf"(?:^|\n)[ \t]*(?:</{_TAGS}>|◁/think▷)|(?:</{_TAGS}>)[ \t]*\n", re.IGNORECASE
)
_CHANNEL = re.compile(r"<\|channel\|>(\w+)(?:<\|[^|>]*\|>)*<\|message\|>")


def split_reasoning(text: str) -> tuple[str, str]:
    """(what was said, what was thought). A trace never closed is thought to its end.

    Tags count where they begin a line, so that a sentence about such tags stays a sentence. A
    closing tag without an opening one (templates that write the opening tag themselves) makes
    thought of all that stands before it.
    """
    if _CHANNEL.search(text):
        return _channels(text)
    said: list[str] = []
    thought: list[str] = []
    rest = text
    first = True
    while True:
        begin = _OPEN.search(rest)
        orphan = _ORPHAN.search(rest) if first else None
        if orphan and (begin is None or orphan.start() < begin.start()):
            thought.append(_CLOSE.sub("", rest[: orphan.end()]))
            rest = rest[orphan.end() :]
            first = False
            continue
        if begin is None:
            said.append(rest)
            break
        first = False
        said.append(rest[: begin.start()])
        end = _CLOSE.search(rest, begin.end())
        if end is None:
            thought.append(rest[begin.end() :] or "…")
            break
        thought.append(rest[begin.end() : end.start()])
        rest = rest[end.end() :]
    return "\n".join(part for part in said if part.strip()).strip(), "".join(thought)


def _channels(text: str) -> tuple[str, str]:
    """The channel form of some open models: only the `final` channel is said."""
    marks = list(_CHANNEL.finditer(text))
    said: list[str] = [text[: marks[0].start()]]
    thought: list[str] = []
    for mark, after in zip(marks, [*marks[1:], None], strict=True):
        body = text[mark.end() : after.start() if after else len(text)]
        body = re.sub(r"<\|[^|>]*\|>(?:assistant)?", "", body)
        (said if mark.group(1) == "final" else thought).append(body)
    said[0] = re.sub(r"<\|[^|>]*\|>(?:assistant)?", "", said[0])
    return "\n".join(said).strip(), "\n".join(thought)


# ---------------------------------------------------------------------------- refusals

_SORRY = (
    r"(?:(?:i['’]?m|i am)\s+(?:very\s+|so\s+|really\s+)?(?:sorry|afraid)|sorry|apologies|"
    r"i apologi[sz]e)"
)
_CANNOT = (
    r"i(?:['’]m|\s+am)?\s*(?:can\s?not|can['’]?t|could\s?n['’]?t|(?:not\s+able|unable|not\s+allowed|"
    r"not\s+comfortable|not\s+permitted)\b|won['’]?t|will\s+not|must\s+(?:decline|refuse)|decline\b|"
    r"do(?:n['’]?t|\s+not)\s+(?:have\s+(?:access|the\s+ability)|feel\s+comfortable))"
)
_MACHINE = (
    r"(?:ai(?:\s+(?:assistant|model|language model))?|artificial intelligence|"
    r"(?:large )?language model)\b"
)
_TASK = (
    r"(?:to\s+|be\s+able\s+to\s+)?(?:help|assist|comply|fulfil+|provide|process|complete|continue|"
    r"extract|summari[sz]e|generate|create|produce|access|do|support|engage|store|record|remember|"
    r"update|rewrite|answer|respond|participate|share|with\s+(?:that|this))\b"
)
_OBJECT = (
    r"[^.\n]{0,40}\b(?:that|this|these|your\s+(?:request|query)|the\s+(?:request|task|conversation|"
    r"file|memory|summary|instructions?)|requests?\b|anything|such|personal|any\s+information)"
)
_REFUSALS: tuple[re.Pattern[str], ...] = (
    re.compile(rf"^(?:{_SORRY})\b[\s,;:.!—-]*(?:but\s+|that\s+)?{_CANNOT}", re.IGNORECASE),
    re.compile(rf"^(?:unfortunately,?\s+|no,\s+)?{_CANNOT}\s*{_TASK}{_OBJECT}", re.IGNORECASE),
    re.compile(rf"^as an? {_MACHINE}", re.IGNORECASE),
    re.compile(rf"^(?:i am|i['’]m) (?:just |only )?an? {_MACHINE}", re.IGNORECASE),
    re.compile(
        r"^(?:很|非常|十分|实在)?(?:抱歉|对不起|对不住|不好意思)[，,。！!\s]*(?:但|但是|我|这|您|你)?"
        r"[^。\n]{0,8}?(?:无法|不能|没有办法|没办法|不可以|不便|拒绝)"
    ),
    re.compile(
        r"^我(?:们)?(?:无法|不能|没有办法|没办法|不便|拒绝)(?:为[您你])?(?:继续)?"
        r"(?:提供|协助|帮助|满足|完成|处理|回答|执行|生成|总结|提取|支持|访问|讨论|参与)"
        r"[^。\n]{0,12}(?:请求|要求|任务|问题|内容|信息|对话|此|这|该|您|你|帮助|服务)"
    ),
    re.compile(r"^(?:作为|我是)(?:一个|一名|一款)?(?:AI|ＡＩ|人工智能|大?语言模型)", re.IGNORECASE),
)  # fmt: skip
# In a bullet the words may be the person's own ("- I can't help with the move on Friday"), so only
# a refusal aimed at the task itself counts there, and only when it is all the answer has.
_BULLET_REFUSALS: tuple[re.Pattern[str], ...] = (
    re.compile(
        rf"^(?:(?:{_SORRY})\b[\s,;:.!—-]*(?:but\s+)?)?{_CANNOT}\s*{_TASK}(?:\s+\w+){{0,3}}?\s+"
        r"(?:that|this|(?:that|this|your|the|these)\s+(?:request|task|quer)\w*)\W*$",
        re.IGNORECASE,
    ),
    re.compile(rf"^as an? {_MACHINE},?\s+i\b", re.IGNORECASE),
    re.compile(r"^(?:很|非常)?(?:抱歉|对不起)[，,]\s*我?(?:无法|不能)(?:提供|协助|帮助|满足|完成|处理|回答)"
               r"[^。]{0,8}(?:请求|要求|帮助|问题|任务)"),
)  # fmt: skip


def is_refusal(text: str) -> bool:
    """Whether the model declines instead of answering, in English or Chinese.

    Looks at how the answer begins, after headings. Memories that speak of inability or regret
    ("I cannot eat peanuts", 我无法吃辣) are not refusals.
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    lines = [line for line in lines if not line.startswith("#")]
    if not lines:
        return False
    items = [re.sub(r"^(?:[-*+]|\d+[.)])\s+", "", line) for line in lines]
    if items[0] == lines[0]:
        return _any(_REFUSALS, lines[0])
    return len(items) <= 2 and _any(_BULLET_REFUSALS, items[0])


def _any(patterns: tuple[re.Pattern[str], ...], line: str) -> bool:
    return any(pattern.match(line) for pattern in patterns)


# ---------------------------------------------------------------------------- error pages

_MARKUP = re.compile(r"^\s*(?:<!doctype\s+html|<html[\s>]|<\?xml\b|<head>|<title>)", re.IGNORECASE)
_HTTP = re.compile(
    r"^(?:HTTP/\d(?:\.\d)?\s+[45]\d\d\b|(?:error\s+)?[45]\d\d\s+(?:bad|not|internal|service|gateway|"
    r"forbidden|unauthorized|too|request|payment|conflict|unprocessable)\b|"
    r"error code:?\s*[45]?\d+\b|(?:bad gateway|internal server error|service unavailable|"
    r"gateway time-?out|too many requests|upstream connect error|no healthy upstream)\W*$|"
    r"traceback \(most recent call last\)|(?:api|server|connection|runtime|value)?\s?error:\s)",
    re.IGNORECASE,
)
_HTTP_ZH = re.compile(r"^(?:服务器内部错误|请求失败|请求过于频繁|接口错误|错误[:：]|错误代码)")


def is_error_page(text: str) -> bool:
    """Whether the text is a server's error and no answer: HTML, a status line, an error report.

    Only its beginning counts; a bullet that speaks of an error page is a bullet.
    """
    head = text.lstrip()
    return bool(_MARKUP.match(head) or _HTTP.match(head) or _HTTP_ZH.match(head))
