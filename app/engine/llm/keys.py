"""API keys: where one comes from, and to whom it may go.

A key belongs to one origin (scheme, host, port) and is sent to no other. `OPENAI_API_KEY` goes only
to `OPENAI_BASE_URL` or to OpenAI itself. Order: environment, the system's keyring, this run only.
No key is ever written to a file of ours, to a log or to a workspace; `Key.source` says in words
where it came from, and that may be shown.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

SERVICE = "palimpsest"
OPENAI = "https://api.openai.com"
VARIABLE = "OPENAI_API_KEY"
FROM_ENVIRONMENT = f"from {VARIABLE}"
FROM_KEYRING = "from the system's keyring"
FROM_RUN = "for this run only"
NO_KEY = "no key"

_PORTS = {"http": 80, "https": 443}


class Key(Struct, frozen=True):
    """A key and where it came from, in words. Its text never shows in a representation."""

    text: str = ""
    source: str = NO_KEY

    def __repr__(self) -> str:
        return f"Key({self.source})"


def origin_of(url: str) -> str:
    """The origin of an address, e.g. `https://api.openai.com`; default ports are left out."""
    parts = urlsplit(url)
    scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    port = parts.port
    return f"{scheme}://{host}" + ("" if port in (None, _PORTS.get(scheme)) else f":{port}")


class Keys:
    """The keys of this run. `environ` is the environment to look into."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ: Mapping[str, str] = os.environ if environ is None else environ
        self._this_run: dict[str, str] = {}

    async def find(self, base_url: str) -> Key:
        """The key for a server's origin, with its source. Never raises."""
        origin = origin_of(base_url)
        given = self._environ.get(VARIABLE, "").strip()
        if given and origin == origin_of(
            self._environ.get("OPENAI_BASE_URL", "").strip() or OPENAI
        ):
            return Key(given, FROM_ENVIRONMENT)
        if origin in self._this_run:
            return Key(self._this_run[origin], FROM_RUN)
        stored = await asyncio.to_thread(_from_keyring, origin)
        return Key(stored, FROM_KEYRING) if stored else Key()

    async def store(self, base_url: str, text: str) -> str:
        """Keep a key for this origin; where it is kept, in words. An empty text removes it."""
        origin = origin_of(base_url)
        self._this_run.pop(origin, None)
        if not text:
            await asyncio.to_thread(_forget, origin)
            return NO_KEY
        if await asyncio.to_thread(_to_keyring, origin, text):
            return FROM_KEYRING
        self._this_run[origin] = text
        return FROM_RUN


# ---------------------------------------------------------------------------- the system's keyring
# Systems without one, a locked one and broken back ends differ in what they raise; for us they are
# all the same: no keyring.


def _keyring() -> Any:
    import keyring

    return keyring


def _from_keyring(origin: str) -> str:
    try:
        return _keyring().get_password(SERVICE, origin) or ""
    except Exception:
        return ""


def _to_keyring(origin: str, text: str) -> bool:
    try:
        _keyring().set_password(SERVICE, origin, text)
    except Exception:
        return False
    # A back end that keeps nothing does not complain: look whether it is there.
    return _from_keyring(origin) == text


def _forget(origin: str) -> None:
    try:
        _keyring().delete_password(SERVICE, origin)
    except Exception:
        return
