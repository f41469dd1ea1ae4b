"""Set Palimpsest up if need be, and start it.

    python3 packaging/run.py              opens the window on the demo
    python3 packaging/run.py --setup      sets up and stops
    python3 packaging/run.py ARGUMENTS    what palimpsest takes

The first run prepares everything: what the system must bring, `.venv`, the libraries, the built-in
model. Later runs start at once. `--setup` prepares and stops. Without a display the program shows
itself in pictures instead of a window.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - this line is for the Python that is too old
    sys.exit(
        "Palimpsest needs Python 3.11 or newer; this is Python {}.{}.\n"
        "Install a newer one and start it with that, for example: "
        "python3.11 packaging/run.py".format(*sys.version_info[:2])
    )

import os
import subprocess

import setup_steps as steps

USAGE = """\
python3 packaging/run.py            opens the window on the demo workspace
python3 packaging/run.py --setup    sets everything up and stops
python3 packaging/run.py ARGUMENTS  runs palimpsest with these

Each sets up first what is missing: libraries, .venv, the built-in model (98 MB). Once that is
done, what palimpsest takes is listed here:
"""


def main(arguments: list[str]) -> int:
    """Prepare, then become the program; the exit code."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return start(arguments) if steps.PALIMPSEST.is_file() else 0
    only_setup = "--setup" in arguments
    rest = [one for one in arguments if one != "--setup"]
    try:
        steps.prepare_system()
        steps.prepare_environment()
        steps.prepare_model()
        if only_setup:
            steps.say("Everything is ready. Start it with: python3 packaging/run.py")
            return 0
        return start(rest)
    except steps.Stop as stop:
        return steps.stopped(stop)
    except KeyboardInterrupt:
        print("\nStopped. Nothing half-made was left; start again at any time.", file=sys.stderr)
        return 130


def start(arguments: list[str]) -> int:
    """Start the window, or the tour when there is nowhere to show one."""
    environment = dict(os.environ)
    if not has_display() and not is_headless(arguments):
        folder = steps.ROOT / "build" / "tour"
        steps.say(f"There is no display here, so Palimpsest shows itself in pictures: {folder}")
        arguments = ["tour", "--out", str(folder)]
        environment["QT_QPA_PLATFORM"] = "offscreen"
    command = [str(steps.PALIMPSEST), *arguments]
    if steps.WINDOWS:
        return subprocess.run(command, env=environment).returncode
    sys.stdout.flush()
    os.execve(command[0], command, environment)
    raise AssertionError("the program took this process over")


def has_display() -> bool:
    """Whether a window could be opened."""
    if not sys.platform.startswith("linux"):
        return True
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return any(os.environ.get(name) for name in names)


def is_headless(arguments: list[str]) -> bool:
    """Whether these arguments are a command that needs no window."""
    if not arguments:
        return False
    if arguments[0] in ("-h", "--help", "--version"):
        return True
    known = steps.ask_python("from app.cli import COMMANDS; print(*COMMANDS)")
    return arguments[0] in known.split()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
