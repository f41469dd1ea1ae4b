"""A workspace of any size for the search benchmark, the same for the same number.

Idea: words follow Zipf's law over a made-up vocabulary, so that rare and frequent words, new names
and repeated boilerplate stand in about the proportions of real conversations. A third of the bytes
is Chinese; more than half is the input and output of tools.
"""

from __future__ import annotations

import json
import random
from bisect import bisect
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

from msgspec import Struct

LAST_DAY = datetime(2026, 9, 30, 18, tzinfo=UTC)
SESSION_BYTES = 600_000
_SOUNDS = [a + b for a in (*"bdfgklmnprstvz", "st", "tr") for b in "aeio"]
_TAILS = ["", "", "", "s", "ed", "ing", "er", "ly", "tion", "n", "r", "l"]
_SOURCE = (
    "    def {a}_{b}(self, {c}: str, *, limit: int = 30) -> list[{c}]:",
    '        """{said}."""',
    "        if not self._{a} or {c} is None:",
    '            raise ValueError(f"{said}: {{{c}!r}}")',
    "        # {said}",
    "        for index, item in enumerate(self._{b}.values()):",
    "            self._{a}[item.{c}] = {b}_{c}(index, item)",
    "        return [item for item in self._{a} if item.{c} is not None]",
    "",
)
_TOOLS = ("execute", "read_file", "grep", "edit_file", "web_search")


class Words(Struct, frozen=True):
    """The vocabulary of a workspace: words by falling frequency, with their summed weights."""

    english: list[str]
    english_weights: list[float]
    chinese: list[str]
    chinese_weights: list[float]


def vocabulary(seed: int = 7) -> Words:
    """40,000 words of Latin letters, 30,000 of Chinese characters."""
    rng = random.Random(seed)
    english = list(
        dict.fromkeys(
            "".join(rng.choices(_SOUNDS, k=bisect((100, 1_500, 12_000), n) + 1))
            + rng.choice(_TAILS)
            for n in range(60_000)
        )
    )[:40_000]
    signs = [chr(0x4E00 + n) for n in rng.sample(range(6_000), 3_500)]
    weights = list(accumulate(1 / (n + 4) ** 0.8 for n in range(len(signs))))
    chinese = list(
        dict.fromkeys(
            "".join(
                rng.choices(
                    signs, cum_weights=weights, k=1 if n < 150 else rng.choice((2, 2, 2, 3, 4))
                )
            )
            for n in range(33_000)
        )
    )[:30_000]
    return Words(english, _zipf(len(english)), chinese, _zipf(len(chinese)))


def _zipf(size: int) -> list[float]:
    return list(accumulate(1 / (n + 2.7) for n in range(size)))


class Writer:
    """Writes sessions, daily logs, results and `MEMORY.md` under `root`, newest last."""

    def __init__(self, root: Path, seed: int = 11) -> None:
        self.root = root
        self.words = vocabulary()
        self._rng = random.Random(seed)
        self._when = LAST_DAY
        self._subject = self._new_subject()

    def fill(self, megabytes: float) -> int:
        """Write about `megabytes` million bytes; how many bytes it became."""
        wanted = int(megabytes * 1_000_000)
        count = max(2, wanted // SESSION_BYTES)
        written = self._memory()
        for n in range(count):
            day = LAST_DAY - timedelta(days=400 * (count - 1 - n) / count)
            written += self._day(day)
            if n % 8 == 0:
                written += self._result(day, n)
            size = max(20_000, (wanted - written) // (count - n))
            written += self.session(f"s{n:05}", day, size)
        return written

    def session(self, name: str, begun: datetime, size: int) -> int:
        """One session log of about `size` bytes."""
        self._when = begun
        self._subject = self._new_subject()
        lines: list[bytes] = []
        length = 0
        while length < size:
            for entry in self._turn(len(lines)):
                entry = {"v": 1, "seq": len(lines), **entry}
                lines.append(json.dumps(entry, ensure_ascii=False).encode() + b"\n")
                length += len(lines[-1])
        return self.put(f"agents/palimpsest/sessions/{name}.log.jsonl", b"".join(lines))

    def put(self, path: str, data: bytes) -> int:
        """Write one file; its length."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return len(data)

    # ------------------------------------------------------------------ text

    def english(self, count: int) -> list[str]:
        """So many words, a third of them of the session's own subject."""
        rng = self._rng
        words = rng.choices(self.words.english, cum_weights=self.words.english_weights, k=count)
        return [rng.choice(self._subject[0]) if rng.random() < 0.33 else word for word in words]

    def chinese(self, count: int) -> list[str]:
        """So many Chinese words, a third of them of the session's own subject."""
        rng = self._rng
        words = rng.choices(self.words.chinese, cum_weights=self.words.chinese_weights, k=count)
        return [rng.choice(self._subject[1]) if rng.random() < 0.33 else word for word in words]

    def prose(self, chinese: bool) -> str:
        """A paragraph of a few sentences."""
        rng = self._rng
        if chinese:
            parts = ("".join(self.chinese(rng.randint(3, 9))) for _ in range(rng.randint(4, 26)))
            return "".join(part + rng.choice("，，。，；") for part in parts)
        parts = (" ".join(self.english(rng.randint(5, 18))) for _ in range(rng.randint(2, 10)))
        return " ".join(part[:1].upper() + part[1:] + rng.choice(".,.?") for part in parts)

    def output(self, chinese: bool) -> str:
        """What a tool printed: a log, source text, or the lines a search found.

        Such texts repeat themselves: their names come from a handful, as in a real module.
        """
        rng = self._rng
        names, said = self.english(14), self._remarks(chinese)
        kind = rng.randint(0, 2)
        lines: list[str] = []
        for n in range(rng.randint(3, 45)):
            a, b, c = rng.choices(names, k=3)
            remark = rng.choice(said)
            if kind == 0:
                level = rng.choice(("INFO", "INFO", "DEBUG", "WARNING"))
                lines.append(f"2026-05-17 10:{n % 60:02}:07,112 {level:8} [{a}.{b}] {remark}")
            elif kind == 1:
                lines.append(_SOURCE[n % len(_SOURCE)].format(a=a, b=b, c=c, said=remark))
            else:
                lines.append(f"src/{names[0]}/{a}.py:{n * 13 + 7}:    self._{b}.{c}()  # {remark}")
        return "\n".join(lines)

    def _remarks(self, chinese: bool) -> list[str]:
        if chinese:
            return ["".join(self.chinese(8)) for _ in range(9)]
        return [" ".join(self.english(7)) for _ in range(9)]

    def _new_subject(self) -> tuple[list[str], list[str]]:
        """What one session is about: words of its own, most of them rare elsewhere."""
        rng, words = self._rng, self.words
        return (
            [rng.choice(words.english) for _ in range(120)],
            [rng.choice(words.chinese) for _ in range(120)],
        )

    # ------------------------------------------------------------------ files

    def _turn(self, number: int) -> list[dict[str, Any]]:
        chinese = self._rng.random() < 0.6
        entries = [self._message(number, "USER", self.prose(chinese)[:400])]
        for call in range(self._rng.randint(1, 3)):
            tool = self._rng.choice(_TOOLS)
            path = "/".join(self.english(3))
            arguments = {"path": f"{path}.py", "text": self.prose(chinese)}
            entries.append(self._entry(f"u{number}.{call}", "tool_use", name=tool, input=arguments))
            output = self.output(chinese)
            entries.append(
                self._entry(f"r{number}.{call}", "tool_result", name=tool, output=output)
            )
        entries.append(self._message(number, "ASSISTANT", self.prose(chinese)))
        return entries

    def _message(self, number: int, role: str, text: str) -> dict[str, Any]:
        return self._entry(f"{role[0]}{number}", "message", role=role, content=text)

    def _entry(self, label: str, kind: str, **fields: Any) -> dict[str, Any]:
        self._when += timedelta(seconds=self._rng.uniform(0.5, 40))
        when = self._when.isoformat(timespec="milliseconds")
        number = f"{self._rng.getrandbits(64):016x}"
        return {"type": kind, "id": f"{label}-{number}", "timestamp": when, **fields}

    def _day(self, day: datetime) -> int:
        lines = [f"## Memory Flush — {day.isoformat()}\n"]
        lines += [f"- {self.prose(n % 3 == 0)[:160]}\n" for n in range(12)]
        path = f"memory/{day.date()}.md"
        if (self.root / path).exists():
            return 0
        return self.put(path, "".join(lines).encode())

    def _result(self, day: datetime, number: int) -> int:
        text = "\n".join(self.output(number % 3 == 0) for _ in range(20))
        return self.put(f"large_tool_results/palimpsest/c{number}-00ff", text.encode())

    def _memory(self) -> int:
        lines = (f"- {self.prose(n % 3 == 0)[:140]}\n" for n in range(150))
        return self.put("MEMORY.md", ("# Memory\n\n" + "".join(lines)).encode())
