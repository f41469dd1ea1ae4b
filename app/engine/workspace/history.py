"""Every version of MEMORY.md: commit, list, blame, compare, rewrite.

Idea: a bare git repository, one commit for each write, with the file and `provenance.json` in its
tree and the cause in its trailers (specification, section 3.7). The line is straight: numbers count
from 1 and are written into the commit, so that the next number costs one look at the tip.
Invariant: no person's git configuration has a say in it. All of it blocks: call it in a thread.
"""

from __future__ import annotations

import difflib
import itertools
import json
import shutil
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any

from app.engine.errors import StorageError, UserError
from app.engine.records import Version
from app.engine.workspace.files import make_folder, well_formed
from app.engine.workspace.layout import Layout

_REF = "refs/heads/main"
_FILE = "MEMORY.md"
_PROVENANCE = "provenance.json"
_REMEDY = "Move .palimpsest/history.git aside; a new history then begins with the file as it is."


class VersionNotFound(UserError, ValueError):
    """MEMORY.md has no version of that number."""

    remedy = "Choose a version from the list."


@contextmanager
def _reading() -> Generator[None, None, None]:
    """What libgit2 says of a damaged repository becomes a `StorageError` with the way out."""
    try:
        yield
    except UserError:
        raise
    except (KeyError, ValueError, OSError, _pygit2().GitError) as error:
        raise StorageError("The history of MEMORY.md cannot be read.", _REMEDY) from error


class History:
    """The versions of one workspace's MEMORY.md. Without `sync` a power cut may lose the newest."""

    def __init__(self, layout: Layout, *, sync: bool = True) -> None:
        self._path = layout.history
        self._new = self._path.with_name("history-new.git")
        self._old = self._path.with_name("history-old.git")
        self._sync = sync
        self._places: tuple[Any, Mapping[int, tuple[Any, Any]]] = (None, {})
        self._here = threading.local()  # libgit2's repositories are not for sharing

    # ------------------------------------------------------------------ writing

    def commit(
        self,
        text: str,
        *,
        cause: str,
        when: datetime,
        provenance: Mapping[str, Any] | None = None,
        run: str = "",
        model: str = "",
        prompt_hash: str = "",
        inputs: Sequence[str] = (),
        decisions: str = "",
        note: str = "",
    ) -> Version:
        """Add one version; `provenance` None carries the last one's over. `when` is aware.

        The caller holds the writer's lock. Raises `StorageError`.
        """
        import pygit2

        repo = self._open(create=True)
        with _reading():
            tip = self._tip(repo)
            before = self._text(repo, tip) if tip else ""
            kept = dict(provenance) if provenance is not None else self._provenance(repo, tip)
        added, dropped = _counts(before, text)
        trailers = {
            "Version": str(self._number(tip) + 1 if tip else 1),
            "Cause": cause, "Model": model, "Prompt-Hash": prompt_hash,
            "Inputs": ", ".join(inputs), "Run": run, "When": when.isoformat(),
            "Added": str(added), "Dropped": str(dropped), "Decisions": decisions, "Note": note,
        }  # fmt: skip
        try:
            self._unlock()
            oid = self._write(repo, text, kept, trailers, when, [tip.id] if tip else [])
        except (pygit2.GitError, OSError, ValueError) as error:
            raise StorageError("The version could not be added to the history.") from error
        return _version(repo[oid])

    def _unlock(self) -> None:
        """A process that was killed while it wrote left git's own lock, which nothing else frees.

        The caller holds the writer's lock, so nobody is writing.
        """
        for left in (self._path / _REF).parent.glob("*.lock"):
            left.unlink(missing_ok=True)

    def rewrite(
        self,
        change_text: Callable[[str], str],
        change_provenance: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> int:
        """Write the whole history anew with changed texts, and delete the old one (section 16).

        Numbers, times and trailers stay; object ids change. Returns how many versions changed.
        A crash leaves the old history or the new one; a swap cut short is finished at the next
        look. The caller holds the writer's lock.
        """
        old = self._open(create=False)
        if old is None:
            return 0
        shutil.rmtree(self._new, ignore_errors=True)  # of a run that was cut short
        new = _init(str(self._new))
        changed = 0
        parents: list[Any] = []
        for commit in reversed(list(self._walk(old))):
            text, kept = self._text(old, commit), self._provenance(old, commit)
            text_now, kept_now = change_text(text), change_provenance(dict(kept))
            trailers = _trailers(commit.message)
            if (text_now, kept_now) != (text, kept):
                changed += 1
                trailers["Note"] = change_text(trailers.get("Note", ""))
            parents = [
                self._write(new, text_now, kept_now, trailers, _when(commit, trailers), parents)
            ]
        self._path.rename(self._old)
        self._finish_swap()
        return changed

    def _write(
        self,
        repo: Any,
        text: str,
        provenance: Mapping[str, Any],
        trailers: Mapping[str, str],
        when: datetime,
        parents: list[Any],
    ) -> Any:
        import pygit2

        pygit2.settings.enable_fsync_gitdir(self._sync)
        tree = repo.TreeBuilder()
        blob = pygit2.enums.FileMode.BLOB
        record = json.dumps(provenance, ensure_ascii=False, indent=1, sort_keys=True)
        tree.insert(_FILE, repo.create_blob(well_formed(text).encode()), blob)
        tree.insert(_PROVENANCE, repo.create_blob(well_formed(record).encode()), blob)
        offset = when.utcoffset()
        signature = pygit2.Signature(
            "Palimpsest",
            "palimpsest@localhost",
            int(when.timestamp()),
            int(offset.total_seconds() // 60) if offset else 0,
        )
        lines = [f"{key}: {_one_line(value)}" for key, value in trailers.items() if value]
        message = f"MEMORY.md: {_one_line(trailers['Cause'])}\n\n" + "\n".join(lines) + "\n"
        return repo.create_commit(_REF, signature, signature, message, tree.write(), parents)

    # ------------------------------------------------------------------ reading

    @_reading()
    def versions(self, limit: int | None = None) -> list[Version]:
        """Versions, newest first."""
        repo = self._open(create=False)
        return [_version(commit) for commit in itertools.islice(self._walk(repo), limit)]

    def walk(self, limit: int | None = None) -> Iterator[tuple[Version, str]]:
        """Versions with their whole texts, newest first."""
        repo = self._open(create=False)
        with _reading():
            for commit in itertools.islice(self._walk(repo), limit):
                yield _version(commit), self._text(repo, commit)

    def latest(self) -> Version | None:
        """The newest version, if there is one."""
        newest = self.versions(1)
        return newest[0] if newest else None

    @_reading()
    def version(self, number: int) -> Version:
        """One version. Raises `VersionNotFound`."""
        return _version(self._commit(number)[1])

    @_reading()
    def text(self, number: int) -> str:
        """The whole text of one version, lines ending at U+000A. Raises `VersionNotFound`."""
        repo = self._open(create=False)
        _, blob = self._place(repo, number)
        return repo.read(blob)[1].decode()

    @_reading()
    def latest_text(self) -> str | None:
        """The newest version's text; None when there is no version yet."""
        repo = self._open(create=False)
        tip = self._tip(repo) if repo is not None else None
        return self._text(repo, tip) if tip else None

    @_reading()
    def provenance(self, number: int | None = None) -> dict[str, Any]:
        """What `provenance.json` held at a version, or at the newest one."""
        if number is not None:
            return self._provenance(*self._commit(number))
        repo = self._open(create=False)
        return self._provenance(repo, self._tip(repo)) if repo is not None else {}

    def compare(self, old: int, new: int) -> str:
        """The unified difference of two versions; "" when they are equal."""
        before, after = self.text(old).split("\n"), self.text(new).split("\n")
        names = (f"version {old}", f"version {new}")
        return "\n".join(difflib.unified_diff(before, after, *names, lineterm=""))

    def since(self, line_text: str) -> Version | None:
        """The version since which a line of the newest text has been there without a break."""
        return self.blame([line_text])[0]

    @_reading()
    def blame(self, lines: Sequence[str]) -> list[Version | None]:
        """For each line the version since which it has been there; None when it is not there now.

        One walk from the newest version back, stopping when every line is settled.
        """
        repo = self._open(create=False)
        found: list[Version | None] = [None] * len(lines)
        open_lines = {n: line.rstrip("\r\n") for n, line in enumerate(lines)}
        seen_blob, seen_lines = None, frozenset[str]()
        for commit in self._walk(repo):
            if not open_lines:
                break
            blob = commit.tree[_FILE].id
            if blob != seen_blob:
                seen_blob, seen_lines = blob, frozenset(self._text(repo, commit).split("\n"))
            version = _version(commit)
            for n, line in list(open_lines.items()):
                if line in seen_lines:
                    found[n] = version
                else:
                    del open_lines[n]
        return found

    # ------------------------------------------------------------------ the repository

    def _open(self, *, create: bool) -> Any:
        """This thread's repository, opened once; anew when another took its place."""
        self._finish_swap()
        try:
            found = self._path.stat()
        except FileNotFoundError:
            if not create:
                return None
            make_folder(self._path.parent)
            shutil.rmtree(self._new, ignore_errors=True)
            _init(str(self._new))  # beside it: one that was cut short is no history
            self._new.rename(self._path)
            found = self._path.stat()
        known = getattr(self._here, "repo", None)
        if known is None or known[0] != (found.st_dev, found.st_ino):
            with _reading():
                repo = _pygit2().Repository(str(self._path))
            known = self._here.repo = (found.st_dev, found.st_ino), repo
        return known[1]

    def _finish_swap(self) -> None:
        """After `_path` was renamed to `_old`: put the new one in its place, delete the old."""
        if not self._old.exists():
            return
        if not self._path.exists():
            self._new.rename(self._path)
        shutil.rmtree(self._old)

    def _tip(self, repo: Any) -> Any:
        reference = repo.references.get(_REF)
        return None if reference is None else repo[reference.target]

    def _walk(self, repo: Any) -> Iterator[Any]:
        if repo is None:
            return
        commit = self._tip(repo)
        while commit is not None:
            yield commit
            commit = repo[commit.parent_ids[0]] if commit.parent_ids else None

    def _commit(self, number: int) -> tuple[Any, Any]:
        repo = self._open(create=False)
        return repo, repo[self._place(repo, number)[0]]

    def _place(self, repo: Any, number: int) -> tuple[Any, Any]:
        """Commit and blob of a version. Raises `VersionNotFound`."""
        place = self._places_of(repo).get(number)
        if place is None:
            raise VersionNotFound(f"MEMORY.md has no version {number}.")
        return place

    def _places_of(self, repo: Any) -> Mapping[int, tuple[Any, Any]]:
        """Number -> commit and blob. Only what was added since the last look is walked."""
        reference = repo.references.get(_REF) if repo is not None else None
        if reference is None:
            return {}
        known_tip, known = self._places
        if reference.target != known_tip:
            new: dict[int, tuple[Any, Any]] = {}
            for commit in self._walk(repo):
                if commit.id == known_tip:
                    break
                new[self._number(commit)] = commit.id, commit.tree[_FILE].id
            else:
                known = {}  # a history written anew shares nothing with the one before
            known = {**known, **new}
            self._places = (reference.target, known)  # threads see the old or the new
        return known

    def _number(self, commit: Any) -> int:
        return int(_trailers(commit.message).get("Version", "0"))

    def _text(self, repo: Any, commit: Any) -> str:
        return repo[commit.tree[_FILE].id].data.decode()

    def _provenance(self, repo: Any, commit: Any) -> dict[str, Any]:
        if commit is None or _PROVENANCE not in commit.tree:
            return {}
        return json.loads(repo[commit.tree[_PROVENANCE].id].data)


@cache
def _pygit2() -> Any:
    """pygit2, told to trust this path and to leave a person's git settings alone."""
    import pygit2

    pygit2.settings.owner_validation = False
    for level in ("GLOBAL", "XDG", "SYSTEM", "PROGRAMDATA"):
        pygit2.settings.search_path[getattr(pygit2.enums.ConfigLevel, level)] = ""
    return pygit2


def _init(path: str) -> Any:
    pygit2 = _pygit2()
    return pygit2.init_repository(path, bare=True, mode=0o700, initial_head="main")


def _counts(before: str, after: str) -> tuple[int, int]:
    """Lines added and dropped, blank ones not counted; a moved line is neither."""
    old, new = _bag(before), _bag(after)
    return (
        sum(max(0, n - old.get(line, 0)) for line, n in new.items()),
        sum(max(0, n - new.get(line, 0)) for line, n in old.items()),
    )


def _bag(text: str) -> dict[str, int]:
    bag: dict[str, int] = {}
    for line in text.split("\n"):
        if line.strip():
            bag[line.rstrip()] = bag.get(line.rstrip(), 0) + 1
    return bag


def _one_line(text: str) -> str:
    return " ".join(well_formed(text).replace("\0", " ").split())


def _trailers(message: str) -> dict[str, str]:
    pairs = (line.partition(": ") for line in message.split("\n\n", 1)[-1].split("\n"))
    return {key: value for key, found, value in pairs if found}


def _when(commit: Any, trailers: Mapping[str, str]) -> datetime:
    try:
        return datetime.fromisoformat(trailers["When"])
    except (KeyError, ValueError):
        return datetime.fromtimestamp(commit.commit_time, UTC)


def _version(commit: Any) -> Version:
    trailers = _trailers(commit.message)
    return Version(
        number=int(trailers.get("Version", "0")),
        id=str(commit.id),
        when=_when(commit, trailers).astimezone(UTC),
        cause=trailers.get("Cause", "external"),
        run=trailers.get("Run", ""),
        model=trailers.get("Model", ""),
        added=int(trailers.get("Added", "0")),
        dropped=int(trailers.get("Dropped", "0")),
        note=trailers.get("Note", ""),
    )
