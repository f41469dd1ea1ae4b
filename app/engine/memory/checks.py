"""What must hold before a proposal may be applied.

Pure: texts in, one `Check` with a sentence for each row of the specification's table (section 10),
in the order of the table, and one for the topics that are never to be remembered. A failed check
never deletes anything; it keeps a policy from applying the proposal unseen and tells the person
what to look at.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from app.engine.memory import likeness
from app.engine.memory.alignment import align
from app.engine.memory.answers import SENTENCES, Judged
from app.engine.memory.outline import Block, bullets, normal
from app.engine.memory.topics import Topics
from app.engine.records import Change, Check
from app.engine.workspace.pins import broken


class Candidate(Struct, frozen=True):
    """A candidate with all that its checks look at.

    `approved` is the last text a person said yes to (the base when nobody ever did); `inputs` are
    the handed-over sections' texts; `pinned` lines and headings; `never` topics that are not to be
    remembered; `limit` in characters; `eroded` facts of earlier batches of the run that a later one
    left out.
    """

    judged: Judged
    base: str
    approved: str
    inputs: tuple[str, ...]
    pinned: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    limit: int = 16_000
    eroded: tuple[str, ...] = ()
    loss_limit: float = 0.25
    source_min_overlap: float = 0.4

    @property
    def text(self) -> str:
        return self.judged.text


def run_checks(candidate: Candidate, found: Sequence[Change]) -> tuple[Check, ...]:
    """All checks, in the order of the specification. `found` is base → candidate."""
    return (
        *answer_checks(candidate.judged),
        _over_budget(candidate),
        _loss(candidate),
        _pinned(candidate),
        _source_missing(candidate, found),
        _instruction_like(found),
        _language_changed(candidate),
        _specifics_lost(found),
        *_never_remember(candidate, found),
    )


def failed(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Those that do not hold."""
    return tuple(c for c in checks if not c.ok)


# ---------------------------------------------------------------------------- the answer's form

_FORM = (
    ("empty", "The answer holds text."),
    ("truncated", "The answer came to its end."),
    ("refusal", "The model did the task."),
    ("error_page", "The answer is text, not a server's error."),
    ("code_fence", "The answer stands without a fence around it."),
    ("reasoning_trace", "No thinking is mixed into it."),
)
_BAD = {**SENTENCES, "code_fence": "The answer was wrapped in a code fence, which was taken off."}


def answer_checks(judged: Judged) -> tuple[Check, ...]:
    """The checks of an answer's form alone."""
    flags: set[str] = set(judged.flags)
    if judged.problem:
        flags.add(judged.problem)
    if judged.nothing or not judged.text.strip():
        flags.add("empty")
    if "not_text" in flags:
        flags.add("error_page")
    made: list[Check] = []
    for name, good in _FORM:
        bad = name in flags
        own = judged.detail if judged.problem == name else ""
        if name == "error_page" and judged.problem == "not_text":
            own = judged.detail
        made.append(Check(name, not bad, (own or _BAD[name]) if bad else good))
    return tuple(made)


def _over_budget(candidate: Candidate) -> Check:
    length = len(candidate.text)
    ok = length <= candidate.limit
    word = "within" if ok else "over"
    return Check(
        "over_budget", ok, f"{length:,} characters, {word} the budget of {candidate.limit:,}."
    )


# ---------------------------------------------------------------------------- what was there


def lost(approved: str, text: str) -> tuple[Block, ...]:
    """The facts of `approved` without a match in `text` (same, moved, reworded or merged).

    Only what differs is compared, so that a small change costs little in a long file.
    """
    had, has = approved.split("\n"), text.split("\n")
    if set(had) <= set(has):
        return ()
    old = [(normal(b.text), b) for b in bullets(approved)]
    new = [(normal(b.text), b) for b in bullets(text)]
    known, present = {key for key, _ in old}, {key for key, _ in new}
    gone = [b for key, b in old if key not in present]
    came = [b for key, b in new if key not in known]
    unmatched = [link.old[0] for link in align(gone, came).links if link.kind == "dropped"]
    return tuple(gone[i] for i in sorted(unmatched))


def _loss(candidate: Candidate) -> Check:
    total, eroded = len(bullets(candidate.approved)), len(candidate.eroded)
    gone = len(lost(candidate.approved, candidate.text))
    part = gone / total if total else 0.0
    said = f"{gone} of {total} approved lines would be gone ({part:.0%})"
    if eroded:  # they never were in the file, so no difference shows them
        made = len(bullets(candidate.text)) + eroded
        part = max(part, eroded / made)
        said += f", and {eroded} of {made} lines found on the way"
    ok = part <= candidate.loss_limit
    return Check("loss", ok, said + ("." if ok else f"; more than {candidate.loss_limit:.0%}."))


def _pinned(candidate: Candidate) -> Check:
    if said := broken(candidate.base, candidate.text, candidate.pinned):
        return Check("pinned_line", False, said)
    said = "Every pinned line is kept." if candidate.pinned else "No line is pinned."
    return Check("pinned_line", True, said)


# ---------------------------------------------------------------------------- what is new


def added(found: Sequence[Change]) -> list[tuple[Change, str]]:
    """The added facts with their change; headings and comments are no facts."""
    return [
        (c, text)
        for c in found
        if c.kind == "added" and (text := "\n".join(c.after)) and bullets(text)
    ]


def _source_missing(candidate: Candidate, found: Sequence[Change]) -> Check:
    sources = [likeness.words(text) for text in candidate.inputs]
    sources += [likeness.words(b.text) for b in bullets(candidate.base)]
    least = candidate.source_min_overlap

    def found_in_some(text: str) -> bool:
        own = likeness.words(text)
        return least <= 0 or any(likeness.contained(own, one) >= least for one in sources)

    whole = {text.strip() for one in candidate.inputs for text in one.splitlines()}
    # A line that stands in a log as it is needs no comparing: thousands of days stay quick.
    without = [
        text for _, text in added(found) if text.strip() not in whole and not found_in_some(text)
    ]
    if without:
        return Check(
            "source_missing", False,
            f"{_count(without, 'added line')} found in no source: {_short(without[0])}",
        )  # fmt: skip
    return Check("source_missing", True, "Every added line has a source.")


_COMMANDS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:instruction|rule|prompt|guideline)s?\b"
    r"|\byou (?:must|shall|should (?:always|never)|are now|will (?:always|never))\b"
    r"|\b(?:the )?(?:agent|assistant|ai|model) (?:must|shall|should|is to|may)\b"
    r"|\b(?:without|no|skip|skips|skipping|waive|waives|bypass|bypasses|never ask for|not ask for"
    r"|not need|n['’]t need|needs? no|not require|requires? no)\s+(?:\w+\s+){0,3}?"
    r"(?:confirm\w*|approv\w*|permission|asking|consent|review)\b"
    r"|\b(?:do not|don['’]t|never)\s+(?:ask|tell|inform|warn|mention to)\s+(?:the\s+)?"
    r"(?:user|person|me|anyone|before)\b"
    r"|\bsystem prompt\b|\bfrom now on\b"
    r"|(?:忽略|无视|忘记).{0,10}(?:指令|指示|规则|提示)|(?:无需|不需要|不必|跳过|免除).{0,6}"
    r"(?:确认|批准|同意|许可|审核|询问)|你(?:必须|应当总是|从现在起)|(?:助手|模型|智能体)(?:必须|应该)"
    r"|从现在(?:起|开始)|不要(?:询问|告诉|通知)(?:用户|任何人)|系统提示词",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\"[^\"\n]*\"|“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|«[^»\n]*»|`[^`\n]*`|‘[^’\n]*’"
)


def commands(text: str) -> bool:
    """Whether a line orders the agent about or waives confirmation. What is quoted is a quote."""
    return _COMMANDS.search(_QUOTED.sub(" ", unicodedata.normalize("NFKC", text))) is not None


def _instruction_like(found: Sequence[Change]) -> Check:
    bad = [
        line
        for c in found
        if c.kind not in ("moved", "dropped") and not any(commands(b) for b in c.before)
        for line in c.after
        if commands(line)
    ]
    if bad:
        return Check(
            "instruction_like", False, f"A line reads like an order to the agent: {_short(bad[0])}"
        )
    return Check("instruction_like", True, "No new line orders the agent about.")


def _never_remember(candidate: Candidate, found: Sequence[Change]) -> tuple[Check, ...]:
    """Asked only where a person has put a topic on the list."""
    topics = Topics(candidate.never)
    if not topics:
        return ()
    for change in found:
        had = {topics.of(line) for line in change.before}
        for line in change.after:
            topic = topics.of(line)
            if topic and topic not in had:
                said = f"A line is about “{topic}”, which is never to be remembered: {_short(line)}"
                return (Check("never_remember", False, said),)
    return (Check("never_remember", True, "No new line is about a topic to be left out."),)


# ---------------------------------------------------------------------------- language

_WORDS_OF = {
    "English": "the and is to of in with for on that are his her not",
    "German": "der die das und ist nicht mit für auf ein eine den sich im",
    "French": "le la les et est des une dans pour avec du que pas au",
    "Spanish": "el los las y es una con para por del que se su no",
    "Portuguese": "o os as e é uma com para por do da em que não",
    "Italian": "il gli le e è una con per di del che non sono nella",
}
_MARKS = {lang: frozenset(text.split(" ")) for lang, text in _WORDS_OF.items()}


def language(text: str) -> tuple[str, str]:
    """The dominant script of a text and, for Latin script, its likely language; "" if unclear."""
    scripts: Counter[str] = Counter()
    for char, times in Counter(c for c in text if c.isalpha()).items():
        scripts[_script(char)] += times
    if sum(scripts.values()) < 20:
        return "", ""
    script = scripts.most_common(1)[0][0]
    if script != "LATIN":
        return script, ""
    votes: Counter[str] = Counter()
    for word in re.findall(r"[^\W\d_]+", text.casefold()):
        for name, marks in _MARKS.items():
            votes[name] += word in marks
    (first, most), (_, second) = votes.most_common(2)
    return script, first if most >= 4 and most >= second * 1.5 else ""


def _script(char: str) -> str:
    name = unicodedata.name(char, "").split(" ")[0]
    return "CJK" if name in ("CJK", "HIRAGANA", "KATAKANA") else name


def _language_changed(candidate: Candidate) -> Check:
    old, new = language(candidate.base), language(candidate.text)
    ok = not ((old[0] and new[0] and old[0] != new[0]) or (old[1] and new[1] and old[1] != new[1]))
    said = "The language is the same." if ok else "The language is another than before."
    return Check("language_changed", ok, said)


# ---------------------------------------------------------------------------- specifics


def specifics_gone(change: Change) -> tuple[str, ...]:
    """Names, numbers, dates and paths of a change's old lines that its new lines lack."""
    if change.kind not in ("reworded", "merged", "split", "moved"):
        return ()
    after = unicodedata.normalize("NFKC", "\n".join(change.after)).casefold()
    return tuple(
        sorted(
            thing
            for line in change.before
            for thing in likeness.specifics(line)
            if not re.search(rf"(?<!\w){re.escape(thing)}(?!\w)", after)
            and not (thing in after and not thing.isascii())
            and not (thing[:1].isdigit() and re.search(rf"(?<!\d){re.escape(thing)}(?!\d)", after))
        )
    )


def turned_around(change: Change) -> bool:
    """Whether a “not” came into or went out of a line that otherwise stayed.

    In one line for one, an odd number of them counts; where lines were merged or parted, whether
    there is any.
    """
    before = likeness.negations("\n".join(change.before))
    after = likeness.negations("\n".join(change.after))
    if change.kind == "reworded":
        return before % 2 != after % 2
    return change.kind in ("merged", "split") and bool(before) != bool(after)


def _specifics_lost(found: Sequence[Change]) -> Check:
    gone = [(c, thing) for c in found for thing in specifics_gone(c)]
    gone += [(c, "not") for c in found if turned_around(c)]
    if gone:
        change, thing = gone[0]
        said = f"“{thing}” no longer occurs in"
        if thing == "not":
            said = "A “not” came or went in"
        return Check("specifics_lost", False, f"{said}: {_short(' '.join(change.after))}")
    return Check("specifics_lost", True, "Names, numbers, dates and paths are all still there.")


def _count(things: Sequence[object], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 90 else flat[:89] + "…"
