"""Which sentences of a person are worth remembering, judged by rules alone.

English and Chinese. A sentence is kept when it states a fact about the person or their work, a
preference, a decision, a commitment or a date; questions, requests to the assistant, greetings and
passing status are not. Sentences are quoted as they stand: nothing is reworded, no date worked out.
The rules would rather miss a fact than keep noise. Specification, section 10 ("Curators").
"""

from __future__ import annotations

import re
from itertools import islice

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.M | re.S)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.M)
_ABBREVIATION = re.compile(
    r"\b(?:e\.g|i\.e|Dr|Mr|Mrs|Ms|St|vs|etc|approx|No|Nr|ca|a\.m|p\.m)\.$", re.I
)
_END = re.compile(r"[.!?](?=[\s\"'”’)]|$)|[。！？；!?]+[”』」）]*")
_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+")
LONGEST = 400  # characters of a sentence
HEAD, TAIL = 4_000, 1_000
MOST = 20

_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = re.compile(
    rf"\b\d{{4}}-\d{{1,2}}-\d{{1,2}}\b|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}\b|\b{_WEEKDAY}\b|"
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\b|\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|"
    rf"th)?\b|"
    r"\btomorrow\b|\bnext\s+(?:week|month|year|quarter|spring|summer|autumn|winter)\b|"
    r"\bin\s+(?:\d+|two|three|four|six)\s+(?:days|weeks|months)\b|\bq[1-4]\s+20\d\d\b|"
    r"\bevery\s+(?:day|week|month|year|morning|evening|other)\b|\b(?:0?\d|1\d|2[0-3]):[0-5]\d\b|"
    r"\d{1,4}\s*年|\d{1,2}\s*月(?:\s*\d{1,2}\s*[日号])?|\d{1,2}\s*[日号](?!码)|"
    r"明天|后天|下(?:个)?(?:周|星期|礼拜|月|年)|(?:周|星期|礼拜)[一二三四五六日天]|每(?:天|周|"
    r"月|年)|月底|年底",
    re.I,
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|am|will|won['’]t|shall|must|has|have|had|needs?|starts?|ends?|begins?|"
    r"closes?|opens?|moved?s?|leaves?|arrives?|meets?|ships?|expires?|takes?|happens?|flies|"
    r"works?|"
    r"comes?|visits?|goes|joins?|planned|scheduled|booked|due|frozen|travels?|released?)\b|"
    r"['’](?:s|m|re|ll|ve)\b",
    re.I,
)

_QUESTION = re.compile(
    r"[?？]\s*[”\"')）]*$|[吗呢么]\s*[。！.]*$|^(?:what|why|how|when|where|who|whom|whose|which|"
    r"do|does|did|is|are|was|were|can|could|would|should|will|shall|may|have|has)\s+(?:i|you|"
    r"we|they|"
    r"he|she|it|there|this|that|the|my|your|our|anyone|someone|somebody)\b(?!.*\b(?:i prefer|"
    r"i like)\b)|"
    r"^(?:what|why|how|where|which)\b|^(?:什么|为什么|怎么|如何|哪|谁|多少|是否|能否|可否|"
    r"能不能|可不可以|有没有)",
    re.I,
)
_REMEMBER = re.compile(
    r"^(?:(?:ok|okay|also|and|so|oh|btw|"
    r"by the way)[,;:]?\s+)?(?:please\s+)?(?:(?:do\s+)?remember|note|"
    r"keep in mind|don['’]?t forget|bear in mind|for the record|fyi|"
    r"make a note)\b[,:]?\s*(?:that\b)?|"
    r"^(?:请|麻烦|帮我)?(?:你)?(?:记住|记得|记下|记一下|别忘了|不要忘记|注意)[，,：:]?",
    re.I,
)
_STANDING = re.compile(
    r"\b(?:from now on|in (?:the )?future|going forward|by default)\b|^(?:please\s+)?(?:always|"
    r"never)\s+(?!mind)|"
    r"以后|今后|从现在起|从今往后|一律|默认(?:用|使用|都)|(?:请|要)?(?:总是|永远|始终)",
    re.I,
)
_REQUEST = re.compile(
    r"^(?:(?:ok|okay|now|then|so|and|also|well|great|thanks|thank you|perfect|first|next|"
    r"finally)[,!.]?\s+)*"
    r"(?:please|kindly|can you|could you|would you|will you|let['’]?s (?!go with|use\b)|let us|"
    r"help me|i (?:need|want|would like|['’]d like) "
    r"(?:you|your|help|some help|an? (?:answer|summary|list|explanation))|(?:add|analy[sz]e|"
    r"answer|ask|"
    r"build|calculate|call|change|check|clean|commit|compare|compute|continue|convert|copy|"
    r"correct|"
    r"count|create|debug|delete|deploy|describe|do|download|draft|edit|execute|explain|export|"
    r"extend|"
    r"extract|fetch|find|finish|fix|format|generate|get|give|go|implement|import|improve|include|"
    r"insert|install|keep|list|load|look|make|merge|move|open|optimi[sz]e|parse|play|prepare|"
    r"print|"
    r"proceed|propose|provide|pull|push|put|read|refactor|remove|rename|repeat|replace|reply|"
    r"rerun|"
    r"respond|retry|return|review|rewrite|run|save|say|search|see|send|set|show|skip|solve|sort|"
    r"split|start|stop|suggest|summari[sz]e|take|tell|test|think|translate|try|undo|update|upload|"
    r"use|verify|wait|walk|write)\b(?!['’]))|"
    r"^(?:请|麻烦|劳驾|帮我|帮忙|帮|给我|替我|你(?:能|可以|帮|来|先|再|去)|能不能|可以(?:帮|"
    r"给)|把|再|继续|"
    r"写|改|修|查|看看|列出|告诉我|解释|翻译|总结|运行|打开|生成|试试|让我们?(?:看|来))",
    re.I,
)
_GREETING = re.compile(
    r"^(?:hi|hello|hey|good (?:morning|afternoon|evening|night)|thanks?|thank you|thx|"
    r"ok(?:ay)?|yes|no|"
    r"yep|nope|sure|great|cool|nice|perfect|bye|goodbye|see you|welcome|sorry|never ?mind|lol|"
    r"你好|您好|嗨|早上好|晚上好|晚安|谢谢|多谢|好的|好吧|嗯|是的|不是|再见|没关系|不客气|"
    r"辛苦了|哈+|收到)"
    r"(?:\s+\w+)?\s*[,，.!。！~～]*$",
    re.I,
)
_LEAD = re.compile(
    r"^(?:(?:hi|hello|hey|thanks?|thank you|ok(?:ay)?|yes|no|well|so|also|and|but|btw|by the way|"
    r"actually|oh|great|sure)\b(?: (?:there|all|everyone|again))?[,!;:]\s*)+|"
    r"^(?:你好|您好|谢谢|好的|嗯|对了|另外|还有|哦)[，,！!、]\s*",
    re.I,
)
_STATUS = re.compile(
    r"\b(?:i(?:['’]m| am) (?:getting|trying|looking|seeing|running|wondering|asking|confused|"
    r"stuck|not sure|"
    r"sure|sorry|afraid|here|back|done|ready|good|fine|curious|testing|just|still|about to|"
    r"going to (?:ask|try|"
    r"test|send|show|paste))|i have (?:a|an|another|one|some|no) (?:\w+ )?(?:questions?|"
    r"errors?|problems?|issues?|"
    r"ideas?|doubts?|bugs?|requests?)|i (?:think|guess|wonder|see|mean|understand|hope|tried|"
    r"just|don['’]?t (?:know|understand|get|see))|"
    r"it (?:works|worked|failed|fails|crashe[sd]|doesn['’]?t work)|(?:does|did)n['’]?t work)\b|"
    r"^我(?:想问|想知道|不知道|不明白|不懂|不太|觉得|猜|在想|试了|刚|看到|正在(?:看|试|找)|"
    r"有(?:个|一个|点|些)?(?:问题|疑问|错误|想法))",
    re.I,
)
_FORGET = re.compile(
    r"\b(?:do not|don['’]?t|never) (?:remember|save|store|keep|record|log|write down)\b|"
    r"\boff the record\b|"
    r"\bforget (?:this|that|it|what)\b|(?:不要|别|不用|无需)(?:记|保存|存|记录)|忘(?:了|"
    r"掉)(?:这|它|刚才)",
    re.I,
)

_FACTS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        # preferences
        r"\b(?:i|we)\b(?:\s+\w+){0,2}?\s+(?:prefer|like|love|hate|dislike|enjoy|"
        r"avoid)\b(?! to (?:ask|know))",
        r"\b(?:i|we) (?:do not|don['’]?t|never|always|usually|can['’]?t|cannot|"
        r"won['’]?t) (?:\w+ )?"
        r"(?:like|eat|drink|use|work|want|stand|take|deploy|meet|answer|read|write|travel|fly|"
        r"smoke)\b",
        r"\b(?:my|our) (?:favou?rite|preferred|preference)\b",
        r"我们?(?:都)?(?:更|最|很|比较|不|不太|一直|特别)?(?:喜欢|偏好|偏爱|讨厌|习惯|爱(?:吃|"
        r"喝|用|看)|倾向)|我们?(?:不|从不|不能)(?:吃|喝|用|抽)",
        # who the person is and has
        r"\bmy name is\b|\bcall me\b|\bi (?:live|work|study|teach|was born|grew up|speak|own|"
        r"manage|lead|moved|use)\b",
        r"\bi(?:['’]m| am) (?:an?|the|allergic|vegetarian|vegan|based|from|responsible|"
        r"in charge|married|"
        r"diabetic|left-handed|on (?:holiday|vacation|leave|call)|away|moving|leaving|"
        r"travell?ing|\d+)\b",
        r"\bi have (?:an? |two |three |four |\d+ )?(?:\w+ )?(?:allerg\w+|sons?|daughters?|"
        r"child(?:ren)?|kids?|"
        r"dogs?|cats?|brothers?|sisters?|wife|husband|partner|car|house|flat|degree|diabetes|"
        r"asthma)\b",
        r"\b(?:my|our) (?:[\w'’-]+ ){1,4}?(?:is|are|was|has|have|lives?|works?|will|runs?|"
        r"uses?|needs?|"
        r"moved|starts?|ends?|closes?|opens?|expires?|lies)\b",
        r"我(?:叫|姓|住|来自|出生|会说|养|毕业|在[^，。]{1,12}(?:工作|上班|上学|读书|住)|"
        r"是(?!说|想|不是|否|指))|"
        r"我对[^，。]{1,10}过敏|我有[^，。]{0,6}(?:孩子|儿子|女儿|狗|猫|过敏|糖尿病|车|房)|我今年",
        r"我们?的[^，。？]{1,16}(?:是|在|叫|为|用|有)|我们(?:公司|团队|组|项目)|我(?:妻子|丈夫|"
        r"老婆|老公|爸|妈|父亲|母亲|儿子|女儿|同事|老板)",
        # decisions
        r"\b(?:we|i|they|the team|[A-Z]\w+)\b(?: \w+)? (?:decided|agreed|chose|picked|"
        r"settled on|switched|"
        r"migrated|renamed|dropped|adopted|cancell?ed|postponed|rejected|approved)\b",
        r"\b(?:we|i)(?:['’]re| are|['’]ll| will|['’]m| am) (?:going with|use|using|"
        r"going to use|stick(?:ing)? "
        r"(?:with|to)|keep(?:ing)?|switch(?:ing)? to|drop(?:ping)?)\b|\blet['’]?s (?:go with|"
        r"use)\b|\bthe decision\b",
        r"(?:我们?|团队|大家|公司)(?:已经|已|最后|最终)?(?:决定|商定|约定|同意|选了|选择|改用|"
        r"换成|换到|迁移到|放弃|取消|推迟|敲定)|(?:决定|改成|改为|定在|定为|推迟到|改到)",
        # commitments and who does what
        r"\b(?:i|we)(?:['’]ll| will| must| have to| need to| promised?| shall) (?!be able|see|"
        r"try|ask|check)\w+.*"
        r"\b(?:by|until|before|on|every|to)\b",
        r"\b[A-Z][\w'’-]+(?: and [A-Z][\w'’-]+)? (?:works? on|owns?|leads?|maintains?|handles?|"
        r"takes? care of|"
        r"is (?:responsible|in charge|our|my|the)|reviews|runs|manages|is away|joined|joins|"
        r"left|leaves)\b",
        r"\b(?:deadline|due date|due (?:on|by)|birthday|anniversary)\b",
        r"(?:负责|主管|维护|接手|分管|截止|到期|生日|纪念日)|我(?:们)?(?:会|要|得|必须|答应|"
        r"承诺)[^，。]*(?:前|之前|交|完成|提交|发给)",
        # places of things
        r"\b(?:is|are|lives?|lies|runs?|stored|kept|hosted|listens?) (?:in|at|on|"
        r"under) [`'\"]?(?:[~/.]|port \d|https?://|[\w-]+\.[\w.-]+/|\w+\.\w{2,}\b)",
    )
)  # fmt: skip


def facts(text: str) -> list[str]:
    """The sentences of one message of a person that are worth keeping, in order, as they stand.

    Of a long message only its beginning and its end are looked at, and never more than `MOST` are
    kept: what is pasted in between is a document, not what the person says.
    """
    if len(text) > HEAD + TAIL:
        text = text[:HEAD].rpartition("\n")[0] + "\n" + text[-TAIL:].partition("\n")[2]
    if _FORGET.search(text):
        return []
    found = (sentence for sentence in sentences(text) if is_fact(sentence))
    return list(islice(found, MOST))


def sentences(text: str) -> list[str]:
    """The sentences outside code and quotations, each on one line."""
    plain = _QUOTED_LINE.sub("", _FENCE.sub("\n", text))
    found: list[str] = []
    for line in plain.split("\n"):
        found += _of_line(_ITEM.sub("", line))
    return found


def _of_line(line: str) -> list[str]:
    found: list[str] = []
    start = 0
    for end in _END.finditer(line):
        piece = line[start : end.end()]
        if _ABBREVIATION.search(piece):
            continue
        found.append(piece)
        start = end.end()
    found.append(line[start:])
    return [" ".join(piece.split()) for piece in found if piece.strip()]


def is_fact(sentence: str) -> bool:
    """Whether one sentence states something that lasts."""
    told = _REMEMBER.match(sentence)
    core = sentence[told.end() :].strip() if told else _LEAD.sub("", sentence).strip()
    if not _has_body(core) or _GREETING.match(core) or _is_code(core):
        return False
    if _QUESTION.search(core):
        return False
    if told:
        return True
    if _STANDING.search(core):
        return True
    if _REQUEST.match(core) or _STATUS.search(core):
        return False
    if any(pattern.search(core) for pattern in _FACTS):
        return True
    return bool(_DATE.search(core)) and (bool(_VERB.search(core)) or bool(_CJK.search(core)))


def _has_body(text: str) -> bool:
    if len(text) > LONGEST:
        return False
    if _CJK.search(text):
        return len(_CJK.findall(text)) >= 4
    return len(re.findall(r"[^\W\d_]{2,}", text)) >= 3 or len(text.split()) >= 3


def _is_code(text: str) -> bool:
    """Lines of code, logs and traces: more marks than a sentence has."""
    marks = sum(text.count(mark) for mark in "{}[]<>=;|\\$#")
    return marks * 12 > len(text) or bool(
        re.match(r"(?:at |File \"|Traceback|\$ |>>> |import |def )", text)
    )
