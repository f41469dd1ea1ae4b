"""Prove that Palimpsest works: lint, format, types, import contracts and all tests.

    python3 packaging/test.py [arguments of pytest]

It prepares everything as `run.py` does, adds the test tools, and runs every step even when an
earlier one failed. Tests have their own data, settings and keyring; only the built-in model's file
is the user's, so that it is not fetched twice.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - this line is for the Python that is too old
    sys.exit(
        "Palimpsest needs Python 3.11 or newer; this is Python {}.{}.\n"
        "Install a newer one and start it with that, for example: "
        "python3.11 packaging/test.py".format(*sys.version_info[:2])
    )

import os
import subprocess
import time

import setup_steps as steps

CHECKS = (
    ("lint", ["ruff", "check", "."]),
    ("format", ["ruff", "format", "--check", "."]),
    ("types", ["pyright"]),
    ("import contracts", ["lint-imports"]),
)


def main(arguments: list[str]) -> int:
    """Prepare and run all steps; 0 only when every one passed."""
    try:
        steps.prepare_system({"Xvfb": "xvfb"} if sys.platform.startswith("linux") else {})
        steps.prepare_environment(["test"])
        steps.prepare_model()
        with steps.scratch_folder("palimpsest-test") as folder:
            return run_all(arguments, test_environment(folder))
    except steps.Stop as stop:
        return steps.stopped(stop)
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130


def test_environment(folder) -> dict[str, str]:
    """The environment of the tests: nothing of the user's but the model's file."""
    models = steps.ask_python("from app.places import models_dir; print(models_dir())")
    own = {
        "PALIMPSEST_DATA": str(folder / "data"),
        "PALIMPSEST_CONFIG": str(folder / "config"),
        "PALIMPSEST_MODELS": models,
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",
    }
    foreign = ("OPENAI_", "PALIMPSEST_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    kept.setdefault("QT_QPA_PLATFORM", "offscreen")
    return {**kept, **own}


def run_all(arguments: list[str], environment: dict[str, str]) -> int:
    """Each step in turn, pytest last so that its closing line is the last thing said."""
    results: list[tuple[str, bool, str]] = []
    for name, (program, *rest) in CHECKS:
        steps.say(f"\n== {name}: {program} {' '.join(rest)}")
        results.append(run_one(name, [str(steps.BIN / program), *rest], environment))
    steps.say("\n== " + " · ".join(f"{n} {'ok' if ok else 'FAILED'} ({t})" for n, ok, t in results))
    pytest = [str(steps.PYTHON), "-m", "pytest", *parallel(arguments), *arguments]
    steps.say(f"\n== tests: pytest {' '.join(pytest[3:])}")
    results.append(run_one("tests", pytest, environment))
    failed = [name for name, ok, _ in results if not ok]
    if failed:
        steps.say(f"\n== FAILED: {', '.join(failed)}")
    return 1 if failed else 0


def parallel(arguments: list[str]) -> list[str]:
    """Two workers, a file of tests in one of them, unless the caller chose otherwise."""
    chosen = any(one.startswith(("-n", "--numprocesses", "--dist", "--pdb")) for one in arguments)
    return [] if chosen else ["-n", "2", "--dist", "loadfile"]


def run_one(name: str, command: list[str], environment: dict[str, str]) -> tuple[str, bool, str]:
    """(name, passed, duration) of one step, its output as it comes."""
    start = time.monotonic()
    done = subprocess.run(command, cwd=steps.ROOT, env=environment, stdin=subprocess.DEVNULL)
    return name, done.returncode == 0, steps.seconds_since(start)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
