"""What `run.py` and `test.py` share: from a fresh clone to a program that starts.

Standard library only, because it runs before anything is installed. Each step looks first whether
there is anything to do, says what it does in a line, and either finishes or leaves nothing
half-made. A failure is a `Stop`: a sentence and a remedy.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
STAMP = VENV / "palimpsest-setup.json"
UNFINISHED = VENV / "palimpsest-setup.unfinished"
WINDOWS = os.name == "nt"
BIN = VENV / ("Scripts" if WINDOWS else "bin")
PYTHON = BIN / ("python.exe" if WINDOWS else "python")
PALIMPSEST = BIN / ("palimpsest.exe" if WINDOWS else "palimpsest")

# What Qt loads from the system, and the Debian package that brings it.
QT_LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11.so.6": "libx11-6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb.so.1": "libxcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
}
WAYLAND_LIBRARIES = {
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
}


class Stop(Exception):
    """A step cannot go on. `str(stop)` is a sentence, `remedy` says what to do."""

    def __init__(self, sentence: str, remedy: str, code: int = 1) -> None:
        super().__init__(sentence)
        self.remedy = remedy
        self.code = code


def say(text: str) -> None:
    """One line for the person, at once."""
    print(text, flush=True)


def stopped(stop: Stop) -> int:
    """Say a failure; the exit code."""
    sys.stdout.flush()
    print(f"\n{stop}\n{stop.remedy}", file=sys.stderr, flush=True)
    return stop.code


# ---------------------------------------------------------------------------- the system


def prepare_system(tools: dict[str, str] | None = None) -> None:
    """Qt's libraries, a Chinese font, Python's own venv; `tools`: programs and their packages.

    As root on a Debian-like system what is missing is installed; elsewhere the command is told.
    """
    missing = missing_packages(tools or {})
    if not missing:
        return
    names = " ".join(missing)
    if shutil.which("apt-get") is None:
        raise Stop(
            f"The system lacks what Debian calls: {names}.",
            "Install it with your system's package manager, then start again.",
        )
    if os.geteuid() != 0:
        raise Stop(
            f"The system lacks {len(missing)} package(s) that Palimpsest needs.",
            f"Type this, then start again:\n\n    sudo apt-get install {names}\n",
        )
    say(f"Installing what the system lacks: {names}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # An old list of packages may still do, so a failed update alone is no failure.
    quietly(["apt-get", "-qq", "update"], environment)
    install = ["apt-get", "-qq", "-y", "--no-install-recommends", "install", *missing]
    code, output = quietly(install, environment)
    if code:
        raise Stop(
            f"The system packages could not be installed:\n{last_lines(output)}",
            f"Check the network, or install them by hand:\n\n    apt-get install {names}\n",
        )
    still = missing_packages(tools or {})
    if still:
        raise Stop(
            f"These were installed but are still not found: {' '.join(still)}.",
            "Start again; if that does not help, restart the system.",
        )


def missing_packages(tools: dict[str, str]) -> list[str]:
    """Debian packages of what is not there, each once."""
    packages: list[str] = []
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        packages.append("python3-venv")
    if sys.platform.startswith("linux"):
        libraries = dict(QT_LIBRARIES)
        if os.environ.get("WAYLAND_DISPLAY"):
            libraries.update(WAYLAND_LIBRARIES)
        packages += [package for name, package in libraries.items() if not _loads(name)]
        packages += _missing_fonts()
    packages += [package for tool, package in tools.items() if shutil.which(tool) is None]
    return list(dict.fromkeys(packages))


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _missing_fonts() -> list[str]:
    """Without a font for Chinese, half of the demo is empty boxes."""
    if shutil.which("fc-list") is None:
        return ["fontconfig", "fonts-noto-cjk"]
    found = subprocess.run(
        ["fc-list", ":lang=zh", "family"], capture_output=True, text=True, check=False
    )
    return [] if found.stdout.strip() else ["fonts-noto-cjk"]


# ---------------------------------------------------------------------------- the environment


def prepare_environment(extras: Sequence[str] = ()) -> None:
    """`.venv` with the project in it, as `pyproject.toml` wants it now; at once when it is there.

    A set-up that was broken off is started again from nothing; one that is going on in another
    terminal is waited for.
    """
    with _alone():
        _prepare_environment(extras)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Keep two set-ups of one project apart. The lock ends with its process."""
    with (ROOT / "pyproject.toml").open("rb") as held:
        if not WINDOWS:
            import fcntl

            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                say("Waiting for another set-up of this project to finish")
                fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _prepare_environment(extras: Sequence[str]) -> None:
    have = _stamp()
    wanted = sorted({*extras, *have.get("extras", [])})
    if have and have == _fingerprint(wanted) and set(extras) <= set(have["extras"]):
        return
    if UNFINISHED.exists() or (VENV.exists() and not _usable(have)):
        say("Starting .venv anew")
        _remove_venv()
    fresh = not VENV.exists()
    try:
        if fresh:
            say("Making .venv")
            VENV.mkdir()
            UNFINISHED.touch()
            _checked([sys.executable, "-m", "venv", str(VENV)], "The folder .venv was not made")
        UNFINISHED.touch()
        target = "." + (f"[{','.join(wanted)}]" if wanted else "")
        say("Installing Palimpsest and its libraries (some minutes the first time)")
        _pip("install", "--editable", target)
        STAMP.write_text(json.dumps(_fingerprint(wanted), indent=1), encoding="utf-8")
        UNFINISHED.unlink()
    except BaseException:
        if fresh:
            _remove_venv()
        raise


def _fingerprint(extras: Sequence[str]) -> dict[str, object]:
    """What an environment depends on: the project's needs, this Python, this place."""
    project = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    version = ".".join(str(n) for n in sys.version_info[:3])
    return {"project": project, "python": version, "root": str(ROOT), "extras": list(extras)}


def _stamp() -> dict:
    if UNFINISHED.exists() or not PYTHON.exists():
        return {}
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) and isinstance(stamp.get("extras"), list) else {}


def _usable(stamp: dict) -> bool:
    """Whether the environment that is there can be brought up to date."""
    if stamp and stamp.get("root") != str(ROOT):
        return False  # it was moved: the programs in it still name the old place
    code = "import sys, pip; raise SystemExit(sys.version_info < (3, 11))"
    try:
        return subprocess.run([str(PYTHON), "-c", code], capture_output=True).returncode == 0
    except OSError:
        return False


def _remove_venv() -> None:
    shutil.rmtree(VENV, ignore_errors=True)
    if VENV.exists():
        raise Stop(f"The folder {VENV} cannot be removed.", "Remove it by hand, then start again.")


def _checked(command: Sequence[str], sentence: str) -> None:
    code, output = quietly(command)
    if code:
        raise Stop(f"{sentence}:\n{last_lines(output)}", "Mend what it names, then start again.")


def _pip(*arguments: str) -> None:
    """Run the environment's pip; on a terminal its last line shows, a failure shows the reason."""
    command = [str(PYTHON), "-m", "pip", *arguments]
    options = ["--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    code, output = quietly([*command, *options], follow=sys.stdout.isatty())
    if code:
        errors = [line for line in output.splitlines() if line.startswith("ERROR")]
        reason = "\n".join(errors[-4:]) or last_lines(output)
        raise Stop(
            f"The libraries could not be installed:\n{reason}",
            "Check the network connection and the free disk space, then start again: "
            "what was fetched is kept by pip.",
        )


# ---------------------------------------------------------------------------- the model


def prepare_model() -> None:
    """The built-in model, fetched once into the user's data folder, with progress."""
    command = [str(PYTHON), "-m", "app.engine.llm.weights"]
    process = _start(command)
    try:
        code = process.wait()
    except BaseException:
        _see_off(process)  # it removes what it had fetched so far
        raise
    if code in (130, -2):
        raise KeyboardInterrupt
    if code:
        raise Stop(
            "Palimpsest is set up, but its built-in model is not there.",
            "Start again when the cause above is mended.",
        )


# ---------------------------------------------------------------------------- processes


def quietly(
    command: Sequence[str], environment: dict[str, str] | None = None, *, follow: bool = False
) -> tuple[int, str]:
    """Run a command; (exit code, all it printed). With `follow` its current line shows."""
    process = _start(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    lines: list[str] = []
    assert process.stdout is not None
    try:
        for line in process.stdout:
            lines.append(line)
            if follow:
                print(f"\r\033[K  {line.strip()[:76]}", end="", flush=True)
        code = process.wait()
    except BaseException:
        _see_off(process)
        raise
    finally:
        process.stdout.close()
        if follow:
            print("\r\033[K", end="", flush=True)
    return code, "".join(lines)


def _start(command: Sequence[str], **options) -> subprocess.Popen:
    """A process with a group of its own, so that it can be ended with all that it started."""
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=not WINDOWS, **options
    )


def _see_off(process: subprocess.Popen) -> None:
    """End a process and all it started; first it gets time to clean up by itself."""
    ends = ("SIGINT", "SIGTERM", "SIGKILL")
    for end in ends:
        if WINDOWS:
            process.terminate()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, getattr(signal, end))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
            if not WINDOWS:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # what it left behind
            return
    process.wait()


def last_lines(output: str, count: int = 8) -> str:
    """The end of what a command printed, indented."""
    lines = [line for line in output.splitlines() if line.strip()]
    return "\n".join(f"    {line}" for line in lines[-count:]) or "    (it printed nothing)"


def ask_python(code: str) -> str:
    """What the environment's Python prints for a piece of code; "" when it fails."""
    done = subprocess.run(
        [str(PYTHON), "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


@contextlib.contextmanager
def scratch_folder(name: str) -> Iterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def seconds_since(start: float) -> str:
    """A duration for people."""
    return f"{time.monotonic() - start:.0f} s"
