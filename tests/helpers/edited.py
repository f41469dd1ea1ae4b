"""Files of facts and what became of them, drawn at random: for properties of differences."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

NAMES = ("Ines", "Bo", "Cy", "Ada", "林乔", "Kofi", "Mia", "Noor", "Olu", "Pia", "Quy", "Rhea")
FACTS = (
    "lives in {}burg near the old harbour",
    "works for the {} company as a pilot",
    "keeps bees called {} on the roof",
)


@st.composite
def two_versions(draw: st.DrawFn) -> tuple[str, str]:
    """A file and what became of it. No two lines of either are equal, blank ones apart."""
    facts = [
        f"- {name} {fact.format(f'{name}{k}')}" for name in NAMES for k, fact in enumerate(FACTS)
    ]
    chosen = draw(st.lists(st.sampled_from(facts), unique=True, min_size=1, max_size=14))
    base = [line for k, fact in enumerate(chosen)
            for line in (["", f"## Part {k}", ""] if k % 5 == 4 else []) + [fact]]  # fmt: skip
    new = list(base)
    for step, (act, at, to) in enumerate(draw(st.lists(ACT, max_size=9))):
        change(new, act, at % len(new), to % len(new), step)
        assume(new)
    return "\n".join(base) + draw(ENDS), "\n".join(new) + draw(ENDS)


ENDS = st.sampled_from(["", "\n", "\n\n"])
ACT = st.tuples(
    st.sampled_from(["add", "drop", "reword", "move", "merge", "split", "blank"]),
    st.integers(0, 40),
    st.integers(0, 40),
)


def change(new: list[str], act: str, at: int, to: int, step: int) -> None:
    """One step of an edit, in place. What it writes names the step, so that no line is twice."""
    line = new[at]
    if act == "add":
        new.insert(at, f"- something fresh{step} about item{step} and matter{step}")
    elif act == "blank":
        new.insert(at, "")
    elif not line.startswith("- ") or len(new) < 2:
        return
    elif act == "drop":
        new.pop(at)
    elif act == "reword":
        new[at] = f"{line}, seen{step}"
    elif act == "move":
        new.insert(to % (len(new) - 1), new.pop(at))
    elif act == "merge" and at != to and new[to].startswith("- "):
        new[at] = f"{line} and {new[to][2:]}"
        new.pop(to)
    elif act == "split" and line.count(" ") > 5:
        words = line[2:].split(" ")
        half = len(words) // 2
        new[at : at + 1] = [f"- {' '.join(words[:half])}", f"- {' '.join(words[half:])} {step}"]
