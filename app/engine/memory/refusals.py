"""Does a model decline the task? English and Chinese.

The words of a refusal are also words of memories: "I cannot eat peanuts" is a fact worth keeping.
So only the answer's beginning counts, the inability must aim at the task, and a bullet is taken for
a refusal only when it is all there is. When in doubt it is memory, for a person still reviews it.
"""

from __future__ import annotations

import re

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
