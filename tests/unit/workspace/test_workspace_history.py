"""Versions of MEMORY.md in their repository."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from app.engine.errors import StorageError
from app.engine.records import Version
from app.engine.workspace.history import History, VersionNotFound
from app.engine.workspace.layout import Layout, ensure

WHEN = datetime(2026, 6, 2, 3, 15, 9, 204511, tzinfo=timezone(timedelta(hours=2)))


@pytest.fixture
def history(tmp_path: Path) -> History:
    at = Layout.at(tmp_path / "w")
    ensure(at)
    return History(at)


def test_a_version_says_who_and_why(history: History) -> None:
    one = history.commit("# A\n- one\n", cause="start", when=WHEN)
    two = history.commit(
        "# A\n- one!\n- two\n", cause="consolidation", when=WHEN + timedelta(hours=1), run="r-2",
        model="ollama:qwen\nRun: forged", prompt_hash="ab12", inputs=["memory/2026-06-01.md#1"],
        note="because\n\nCause: forged",
    )  # fmt: skip
    assert (one.number, one.cause, one.added, one.dropped) == (1, "start", 2, 0)
    assert two == Version(
        number=2, id=two.id, when=(WHEN + timedelta(hours=1)).astimezone(UTC),
        cause="consolidation", run="r-2", model="ollama:qwen Run: forged", added=2, dropped=1,
        note="because Cause: forged",
    )  # fmt: skip
    assert history.versions() == [two, one]
    assert history.versions(1) == [two]
    assert history.version(1) == one
    assert history.latest() == two
    assert history.text(1) == "# A\n- one\n"
    assert history.latest_text() == "# A\n- one!\n- two\n"


def test_the_commit_holds_the_trailers_and_both_files(history: History, tmp_path: Path) -> None:
    import pygit2

    history.commit(
        "x\n", cause="consolidation", when=WHEN, run="r", model="m", prompt_hash="h",
        inputs=["a", "b"], provenance={"k": {"file": "memory/2026-06-01.md"}},
        decisions="1 accepted, 2 rejected",
    )  # fmt: skip
    repo = pygit2.Repository(str(tmp_path / "w" / ".palimpsest" / "history.git"))
    commit = repo[repo.head.target]
    assert repo.is_bare
    assert sorted(entry.name for entry in commit.tree) == ["MEMORY.md", "provenance.json"]
    for line in (
        "Cause: consolidation", "Model: m", "Prompt-Hash: h", "Inputs: a, b", "Run: r",
        "Decisions: 1 accepted, 2 rejected",
    ):  # fmt: skip
        assert line in commit.message.split("\n")
    assert commit.author.name == "Palimpsest"
    assert (commit.commit_time, commit.commit_time_offset) == (int(WHEN.timestamp()), 120)


def test_no_versions_yet(history: History) -> None:
    assert history.versions() == []
    assert history.latest() is None
    assert history.latest_text() is None
    assert history.provenance() == {}
    assert history.since("x") is None
    with pytest.raises(VersionNotFound):
        history.text(1)


def test_provenance_is_carried_over_until_it_changes(history: History) -> None:
    history.commit("a\n", cause="start", when=WHEN, provenance={"a": 1})
    history.commit("b\n", cause="hand", when=WHEN)
    history.commit("c\n", cause="hand", when=WHEN, provenance={})
    assert [history.provenance(n) for n in (1, 2, 3)] == [{"a": 1}, {"a": 1}, {}]
    assert history.provenance() == {}


def test_since_when_a_line_has_been_there(history: History) -> None:
    for text in ("- a\n- b\n", "- a\n", "- b\n- a\n", "- b\n- a\n- c\n"):
        history.commit(text, cause="hand", when=WHEN)
    found = history.blame(["- a", "- b", "- c", "- d"])
    assert [version.number if version else None for version in found] == [1, 3, 4, None]
    since = history.since("- b")
    assert since is not None
    assert since.number == 3


def test_compare_names_both_versions(history: History) -> None:
    history.commit("- a\u2028x\n- b\n", cause="start", when=WHEN)
    history.commit("- a\u2028x\n- c\n", cause="hand", when=WHEN)
    assert history.compare(1, 2).split("\n") == [
        "--- version 1", "+++ version 2", "@@ -1,3 +1,3 @@", " - a\u2028x", "-- b", "+- c", " ",
    ]  # fmt: skip
    assert history.compare(1, 1) == ""


def test_odd_texts_are_kept_exactly(history: History) -> None:
    for text in ("", "\n", "no newline", "a\rb\n", "\u2028\x00é🍸\n"):
        number = history.commit(text, cause="hand", when=WHEN).number
        assert history.text(number) == text
    assert history.text(history.commit("a\ud83d", cause="hand", when=WHEN).number) == "a\ufffd"


def test_a_version_is_found_by_its_number_whoever_added_or_rewrote_it(tmp_path: Path) -> None:
    layout = Layout.at(tmp_path)
    ensure(layout)
    here, there = History(layout), History(layout)
    here.commit("one", cause="start", when=WHEN)
    assert here.text(1) == "one"
    there.commit("two", cause="hand", when=WHEN)
    here.commit("three", cause="hand", when=WHEN)
    assert [here.text(n) for n in (3, 2, 1)] == ["three", "two", "one"]
    assert [(v.number, text) for v, text in there.walk(2)] == [(3, "three"), (2, "two")]
    there.rewrite(lambda text: text.replace("two", "2"), lambda kept: kept)
    assert [here.text(n) for n in (1, 2, 3)] == ["one", "2", "three"]
    with pytest.raises(VersionNotFound):
        here.text(4)


def test_many_versions_stay_quick(tmp_path: Path) -> None:
    history = History(Layout.at(tmp_path), sync=False)
    for n in range(300):
        version = history.commit(f"- {n}\n", cause="hand", when=WHEN)
    assert version.number == 300
    started = datetime.now(UTC)
    assert history.commit("- last\n", cause="hand", when=WHEN).number == 301
    assert history.text(1) == "- 0\n"
    assert len(history.versions()) == 301
    assert datetime.now(UTC) - started < timedelta(seconds=2)


_WITH_CONFIG = """
import sys
from datetime import UTC, datetime
from app.engine.workspace.history import History
from app.engine.workspace.layout import Layout
history = History(Layout.at(sys.argv[1]))
assert "pygit2" not in sys.modules
version = history.commit("a\\r\\nb\\n", cause="start", when=datetime(2026, 1, 1, tzinfo=UTC))
assert history.text(version.number) == "a\\r\\nb\\n"
"""


def test_a_persons_git_settings_have_no_say(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n name = Somebody\n email = somebody@example.org\n[core]\n autocrlf = true\n"
        "[init]\n defaultBranch = trunk\n templateDir = /nowhere\n[broken"
    )
    root = tmp_path / "w"
    env = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-c", _WITH_CONFIG, str(root)],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_broken_history_says_so_and_stays(history: History, tmp_path: Path) -> None:
    place = tmp_path / "w" / ".palimpsest" / "history.git"
    place.write_text("not a repository")
    with pytest.raises(StorageError) as caught:
        history.versions()
    assert "history.git" in caught.value.remedy
    assert place.read_text() == "not a repository"


def test_a_forgotten_text_is_in_no_version_and_no_object(history: History, tmp_path: Path) -> None:
    secret = "the number is 5550199"
    history.commit("- a\n", cause="start", when=WHEN)
    history.commit(f"- a\n- {secret}\n", cause="saved", when=WHEN, provenance={"k": secret})
    history.commit("- a\n- c\n", cause="hand", when=WHEN, note=f"without {secret}")
    numbers = [(v.number, v.when, v.cause) for v in history.versions()]

    def without(text: str) -> str:
        return text.replace(secret, "[forgotten]")

    changed = history.rewrite(without, lambda kept: {k: without(v) for k, v in kept.items()})
    assert changed == 2
    assert [(v.number, v.when, v.cause) for v in history.versions()] == numbers
    assert history.text(2) == "- a\n- [forgotten]\n"
    assert history.provenance(2) == {"k": "[forgotten]"}
    assert secret not in history.versions()[0].note
    import pygit2

    dot = tmp_path / "w" / ".palimpsest"
    repo = pygit2.Repository(str(dot / "history.git"))
    assert all(secret.encode() not in repo.read(oid)[1] for oid in repo)
    assert [p.name for p in dot.glob("*.git")] == ["history.git"]
    assert history.commit("- d\n", cause="hand", when=WHEN).number == 4


def test_a_rewrite_cut_short_is_finished_at_the_next_look(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.commit("- secret\n", cause="start", when=WHEN)
    dot = tmp_path / "w" / ".palimpsest"

    real = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if self.name == "history-new.git":
            raise KeyboardInterrupt
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(KeyboardInterrupt):
        history.rewrite(lambda text: text.replace("secret", "gone"), lambda kept: kept)
    monkeypatch.undo()
    assert not (dot / "history.git").exists()
    assert history.text(1) == "- gone\n"
    assert [p.name for p in dot.glob("*.git")] == ["history.git"]


def test_a_lock_that_a_killed_process_left_holds_up_nothing(
    history: History, tmp_path: Path
) -> None:
    history.commit("one\n", cause="start", when=WHEN)
    refs = tmp_path / "w" / ".palimpsest" / "history.git" / "refs" / "heads"
    (refs / "main.lock").write_bytes(b"")
    for number in (2, 3):
        made = history.commit(f"{number}\n", cause="edited", when=WHEN)
        assert made.number == number
    assert history.latest_text() == "3\n"
    assert [path.name for path in refs.iterdir()] == ["main"]


def test_a_history_that_was_cut_short_while_it_was_made_is_made_anew(
    history: History, tmp_path: Path
) -> None:
    half = tmp_path / "w" / ".palimpsest" / "history-new.git"
    half.mkdir()
    (half / "HEAD").write_text("ref: ref")
    assert history.versions() == []
    assert history.commit("one\n", cause="start", when=WHEN).number == 1
    assert history.latest_text() == "one\n"
    assert not half.exists()
