"""The child process of the built-in model: llama.cpp's own server, and nothing of ours.

It imports the standard library and the runtime only, and is started as a script. Standard input
brings one line of JSON (`key`, `model`, `name`, `window`, `threads`); standard output answers with
one (`port`, or `error`). When standard input ends, the parent is gone or done, and so are we: that
is why nothing is ever left behind. The key never appears in arguments or in the environment.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
from typing import Any
from urllib.parse import urlsplit

BATCH = 256  # tokens read between two reports of progress


def _leave_with_parent() -> None:
    """End the process the moment standard input is closed, whatever else is going on."""
    while True:
        try:
            if not os.read(0, 4096):
                break
        except OSError:
            break
    os._exit(0)


def _read_line() -> bytes:
    """One line of standard input, byte by byte: nothing of what follows may be swallowed."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            os._exit(0)
        line += byte
    return line


def _be_polite() -> None:
    """Ctrl+C in a terminal is the parent's business; the window goes first on a busy machine."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(5)


def _private_stdout() -> int:
    """Our answers' own descriptor; what native code prints goes nowhere."""
    answers = os.dup(1)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    return answers


def _serve(wanted: dict[str, Any]) -> tuple[Any, int]:
    xllamacpp: Any = importlib.import_module("xllamacpp")  # it has no types
    params: Any = xllamacpp.CommonParams()
    params.model.path = wanted["model"]
    params.model_alias = {wanted["name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [wanted["key"]]
    params.verbosity = -1
    params.n_ctx = wanted["window"]
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = wanted["threads"]
    params.cache_ram_mib = 128
    params.fit_params = False
    params.warmup = False
    params.ui = False
    params.offline = True
    params.endpoint_slots = False
    params.n_threads_http = 4
    server: Any = xllamacpp.Server(params)
    address = str(server.listening_address)
    return server, urlsplit(address).port or 0


def main() -> None:
    """Run until standard input ends."""
    _be_polite()
    answers = _private_stdout()
    wanted: dict[str, Any] = json.loads(_read_line())
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        server, port = _serve(wanted)
        said: dict[str, Any] = {"port": port}
    except Exception as error:
        server, said = None, {"error": f"{type(error).__name__}: {error}"}
    os.write(answers, json.dumps(said).encode() + b"\n")
    if server is None:
        os._exit(1)
    threading.Event().wait()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
