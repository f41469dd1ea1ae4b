"""Topics that are never to be remembered: a person's list of words and phrases.

A text is about a topic when it holds its words side by side, whole, whatever their case, accents or
width; a topic in Chinese, Japanese or Korean counts wherever it stands, as those scripts part no
words. Code enforces the list, prompts are only told of it: a line on such a topic is hidden from
curators, not written by a flush, refused by a save, and fails a check of a proposal. What MEMORY.md
and the logs hold already stays. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from app.engine.memory.likeness import CJK
from app.engine.memory.outline import bullets, lines_of
from app.engine.search.terms import fold
from app.engine.workspace.sections import WaitingSection

_LETTER = rf"[^\W_{CJK}]"  # of a script that parts its words
_GAP = re.compile(r"[\W_]+")


class Topics:
    """The topics of one workspace, ready for matching."""

    def __init__(self, topics: Iterable[str]) -> None:
        self.words = tuple(dict.fromkeys(t.strip() for t in topics if _GAP.sub("", fold(t))))
        self._patterns = [(topic, _pattern(topic)) for topic in self.words]

    def __bool__(self) -> bool:
        return bool(self.words)

    def of(self, text: str) -> str:
        """The first topic that `text` is about; "" when there is none."""
        if not self._patterns:
            return ""
        folded = fold(text)
        return next((topic for topic, found in self._patterns if found.search(folded)), "")

    def without(self, text: str) -> tuple[str, int]:
        """`text` without its facts about a topic, and how many those were."""
        gone = [block for block in bullets(text) if self.of(block.text)]
        if not gone:
            return text, 0
        dropped = {line for block in gone for line in range(block.start, block.end)}
        kept = [line for at, line in enumerate(lines_of(text)) if at not in dropped]
        return "\n".join(kept).strip(), len(gone)

    def hidden(self, sections: Sequence[WaitingSection]) -> list[WaitingSection]:
        """Sections as a curator may see them: lines about a topic are blank, so that the places of
        the others stay."""
        return [self._hidden(found) for found in sections] if self else list(sections)

    def _hidden(self, found: WaitingSection) -> WaitingSection:
        lines = found.section.lines
        gone = {
            at
            for block in bullets("\n".join(line.text for line in lines))
            if self.of(block.text)
            for at in range(block.start, block.end)
        }
        if not gone:
            return found
        shown = tuple(
            msgspec.structs.replace(line, text="") if at in gone else line
            for at, line in enumerate(lines)
        )
        return WaitingSection(found.path, msgspec.structs.replace(found.section, lines=shown))


def _pattern(topic: str) -> re.Pattern[str]:
    """The topic's words with anything but letters between them, and no letter at either end."""
    words = [re.escape(word) for word in _GAP.split(fold(topic)) if word]
    inner = r"[\W_]+".join(words)
    return re.compile(rf"(?<!{_LETTER}){inner}(?!{_LETTER})" if _parted(topic) else inner)


def _parted(topic: str) -> bool:
    """Whether a topic is written in a script that parts its words."""
    return re.search(_LETTER, fold(topic)) is not None
