"""Set-up from a fresh clone: what is missing is told, what broke off is started again."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A script of `packaging/`, which is a plain folder and no package."""
    spec = importlib.util.spec_from_file_location(f"packaging_{name}", PACKAGING / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.syspath_prepend(str(PACKAGING))
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The steps, working on a project in a temporary folder. Commands are recorded, not run."""
    module = load("setup_steps", monkeypatch)
    venv = tmp_path / ".venv"
    (tmp_path / "pyproject.toml").write_text("[project]")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", venv)
    monkeypatch.setattr(module, "STAMP", venv / "stamp.json")
    monkeypatch.setattr(module, "UNFINISHED", venv / "unfinished")
    monkeypatch.setattr(module, "PYTHON", venv / "bin" / "python")
    return module


class Commands:
    """Stands for `quietly`: makes what the command would make, or fails as told."""

    def __init__(self, steps: ModuleType) -> None:
        self.steps = steps
        self.run: list[str] = []
        self.fails: dict[str, Any] = {}

    def __call__(self, command: list[str], *args: Any, **kwargs: Any) -> tuple[int, str]:
        line = " ".join(str(word) for word in command)
        self.run.append(line)
        for word, failure in self.fails.items():
            if word in line:
                if isinstance(failure, BaseException):
                    raise failure
                return 1, failure
        if "-m venv" in line:
            self.steps.PYTHON.parent.mkdir(parents=True, exist_ok=True)
            self.steps.PYTHON.symlink_to(sys.executable)
        return 0, ""


@pytest.fixture
def commands(steps: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Commands:
    recorder = Commands(steps)
    monkeypatch.setattr(steps, "quietly", recorder)
    return recorder


def test_the_environment_is_made_once(steps: ModuleType, commands: Commands) -> None:
    steps.prepare_environment()
    assert len(commands.run) == 2
    assert "install --editable ." in commands.run[1]
    steps.prepare_environment()
    assert len(commands.run) == 2, "a second run starts at once"
    steps.prepare_environment(["test"])
    assert "install --editable .[test]" in commands.run[2]
    steps.prepare_environment()
    assert len(commands.run) == 3, "what is more than needed stays"


def test_a_changed_project_is_installed_again_with_all_that_was_asked_for(
    steps: ModuleType, commands: Commands, tmp_path: Path
) -> None:
    steps.prepare_environment(["test"])
    (tmp_path / "pyproject.toml").write_text("[project] # another library")
    steps.prepare_environment()
    assert "install --editable .[test]" in commands.run[-1]
    assert len([line for line in commands.run if "-m venv" in line]) == 1


@pytest.mark.parametrize("word", ["-m venv", "--editable"])
def test_what_breaks_off_leaves_nothing(steps: ModuleType, commands: Commands, word: str) -> None:
    commands.fails[word] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        steps.prepare_environment()
    assert not steps.VENV.exists()
    commands.fails.clear()
    steps.prepare_environment()
    assert json.loads(steps.STAMP.read_text())["root"] == str(steps.ROOT)


def test_a_killed_set_up_is_started_from_nothing(steps: ModuleType, commands: Commands) -> None:
    (steps.VENV / "lib").mkdir(parents=True)
    (steps.VENV / "lib" / "half").write_text("half")
    steps.UNFINISHED.touch()
    steps.prepare_environment()
    assert not (steps.VENV / "lib" / "half").exists()
    assert not steps.UNFINISHED.exists()


def test_a_moved_project_gets_a_new_environment(steps: ModuleType, commands: Commands) -> None:
    steps.prepare_environment()
    stamp = json.loads(steps.STAMP.read_text())
    steps.STAMP.write_text(json.dumps({**stamp, "root": "/somewhere/else"}))
    steps.prepare_environment()
    assert len([line for line in commands.run if "-m venv" in line]) == 2


def test_a_failure_of_pip_is_a_sentence_with_pips_own_reason(
    steps: ModuleType, commands: Commands
) -> None:
    commands.fails["--editable"] = "noise\nERROR: No matching distribution found for nothing\n"
    with pytest.raises(steps.Stop) as caught:
        steps.prepare_environment()
    assert "No matching distribution" in str(caught.value)
    assert "noise" not in str(caught.value)
    assert "start again" in caught.value.remedy


@pytest.mark.skipif(sys.platform == "win32", reason="no flock there")
def test_two_set_ups_at_once_wait_for_each_other(
    steps: ModuleType, commands: Commands, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = (
        "import fcntl, sys, time\n"
        "held = open(sys.argv[1], 'rb')\n"
        "fcntl.flock(held, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "time.sleep(0.5)\n"
    )
    other = [sys.executable, "-c", code, str(tmp_path / "pyproject.toml")]
    with subprocess.Popen(other, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        steps.prepare_environment()
        assert process.wait() == 0
    assert "Waiting for another set-up" in capsys.readouterr().out
    assert steps.STAMP.exists()


def lacking(steps: ModuleType, monkeypatch: pytest.MonkeyPatch, *, root: bool) -> None:
    there = {"libGL.so.1"}
    monkeypatch.setattr(steps, "_loads", lambda name: name in there)
    monkeypatch.setattr(steps, "_missing_fonts", list)
    monkeypatch.setattr(steps.os, "geteuid", lambda: 0 if root else 1000)
    monkeypatch.setattr(steps.shutil, "which", lambda name: f"/usr/bin/{name}")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="about Debian's packages")
def test_a_person_is_told_the_exact_command(
    steps: ModuleType, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking(steps, monkeypatch, root=False)
    with pytest.raises(steps.Stop) as caught:
        steps.prepare_system()
    assert "sudo apt-get install" in caught.value.remedy
    assert "libegl1" in caught.value.remedy
    assert "libgl1 " not in caught.value.remedy, "that one is there"
    assert commands.run == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="about Debian's packages")
def test_root_gets_it_installed(
    steps: ModuleType, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking(steps, monkeypatch, root=True)
    with pytest.raises(steps.Stop, match="still not found"):
        steps.prepare_system({"Xvfb": "xvfb"})
    update, install = commands.run
    assert "update" in update
    assert "libegl1" in install
    assert "xvfb" not in install, "that program is there"


def test_help_names_what_run_takes_and_sets_nothing_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = load("run", monkeypatch)
    monkeypatch.setattr(run.steps, "PALIMPSEST", tmp_path / "palimpsest")
    for step in ("prepare_system", "prepare_environment", "prepare_model"):
        monkeypatch.setattr(run.steps, step, lambda: pytest.fail("nothing is set up for help"))
    started: list[list[str]] = []
    monkeypatch.setattr(run, "start", lambda arguments: started.append(arguments) or 0)
    assert run.main(["--help"]) == 0
    told = capsys.readouterr().out
    assert "--setup" in told
    assert "demo workspace" in told
    assert started == []
    (tmp_path / "palimpsest").touch()
    assert run.main(["-h"]) == 0
    assert started == [["-h"]], "the program tells its own"


def test_without_a_display_only_commands_need_no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    run = load("run", monkeypatch)
    monkeypatch.setattr(run.steps, "ask_python", lambda code: "search doctor tour")
    assert run.is_headless(["search", "x"])
    assert run.is_headless(["--version"])
    assert not run.is_headless([])
    assert not run.is_headless(["/some/workspace"])
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert run.has_display() == (not sys.platform.startswith("linux"))


@pytest.mark.parametrize("name", ["run", "test"])
def test_an_old_python_gets_a_sentence(name: str) -> None:
    source = (PACKAGING / f"{name}.py").read_text(encoding="utf-8")
    code = f"import sys; sys.version_info = (3, 9, 2)\nexec({source!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Palimpsest needs Python 3.11 or newer; this is Python 3.9.")
    assert "Traceback" not in done.stderr


def test_tests_have_nothing_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = load("test", monkeypatch)
    monkeypatch.setattr(script.steps, "ask_python", lambda code: "/models")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("PALIMPSEST_DATA", "/mine")
    environment = script.test_environment(tmp_path)
    assert "OPENAI_API_KEY" not in environment
    assert environment["PALIMPSEST_DATA"] == str(tmp_path / "data")
    assert environment["PALIMPSEST_MODELS"] == "/models"
    assert "null" in environment["PYTHON_KEYRING_BACKEND"]
    assert script.parallel(["-k", "x"]) == ["-n", "2", "--dist", "loadfile"]
    assert script.parallel(["-n0"]) == []
