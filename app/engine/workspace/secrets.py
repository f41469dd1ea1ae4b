"""Masking of secrets before text becomes memory.

Idea: a short list of forms that are secrets by their shape (keys with a known prefix, signed
tokens, private key blocks, passwords in URLs); what merely looks random (hashes, images, UUIDs) is
left alone. The mask is visible and says what stood there. Specification, section 16; case B85.
"""

from __future__ import annotations

import re

from msgspec import Struct

_EDGE = r"(?<![A-Za-z0-9_-])"  # not inside a longer name
_NO_BASE64 = r"(?<![A-Za-z0-9+/_-])"  # nor inside an image
_KEY_BLOCK = re.compile(
    r"-----BEGIN (?P<pem>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:\s*(?:[A-Za-z0-9+/=\\]{16,}|[A-Z][A-Za-z-]{2,20}: [^\n]{1,200}))*"
    r"\s*(?:[A-Za-z0-9+/=\\]{0,80}\s*-----END (?P=pem)-----|[A-Za-z0-9+/=\\]{0,80}\s*\Z)?"
)
_BLOCK_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?!.*-----END )")
_BLOCK_LINE = re.compile(
    r"\s*(?:[A-Za-z0-9+/=\\]*|[A-Z][A-Za-z-]{2,20}: .{1,200}|-----END [^-]{0,60}-----.*)\s*"
)
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("private key", _KEY_BLOCK),
    ("API key", re.compile(_EDGE + r"sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}")),
    ("API key", re.compile(_EDGE + r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}")),
    ("API key", re.compile(_NO_BASE64 + r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9+/=_-])")),
    ("access key", re.compile(_NO_BASE64 + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9+/=_-])")),
    ("token", re.compile(_EDGE + r"(?:gh[pousr]_|hf_|npm_)[A-Za-z0-9]{16,}")),
    ("token", re.compile(_EDGE + r"(?:github_pat_|glpat-)[A-Za-z0-9_-]{16,}")),
    ("token", re.compile(_EDGE + r"xox[abeoprs]-[A-Za-z0-9-]{10,}")),
    (
        "token",
        re.compile(_EDGE + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    ),
    (
        "token",
        re.compile(r"(?i:\bbearer )[ ]?(?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{20,}=*"),
    ),
    (
        "password",
        re.compile(
            r"(?P<keep>(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/:@?#]{0,200}:)"
            r"[^\s/@]{1,400}(?=@[^\s@])"
        ),
    ),
)
_SIGNS = (
    re.compile(r"_(?:(?<=k_)(?:live|test)_|(?<=gh[pousr]_)|(?<=hf_)|(?<=npm_)|(?<=github_)pat_)"),
    re.compile(r"-(?:----BEGIN |(?<=sk-)|(?<=glpat-)|(?<=xox.-))"),
    re.compile(r"A(?:Iza|KIA|SIA)"),
    re.compile(r"J(?<=eyJ)"),
    re.compile(r":(?=//)"),
    re.compile(r"r (?<=(?i:beare)r )"),
    re.compile(r"R (?<=(?i:beare)R )"),
)
"""What a match of any form holds, looked for where its rarest letter stands.

It takes a hundredth of what the forms take, and most texts have none.
"""


class Masked(Struct, frozen=True):
    """A text without its secrets, and which kinds were masked, in order."""

    text: str
    kinds: tuple[str, ...] = ()


def _suspicious(text: str) -> bool:
    """Whether any sign of a secret stands in the text."""
    return any(sign.search(text) for sign in _SIGNS)


def mask(text: str) -> Masked:
    """Replace each secret by `[masked: kind]`. Masking twice changes nothing more."""
    if not _suspicious(text):
        return Masked(text)
    kinds: list[str] = []
    for kind, form in _FORMS:

        def put(match: re.Match[str], kind: str = kind) -> str:
            if "[masked:" in match.group():
                return match.group()
            kinds.append(kind)
            return f"{match.groupdict().get('keep') or ''}[masked: {kind}]"

        text = form.sub(put, text)
    return Masked(text, tuple(kinds))


def spans(text: str) -> list[tuple[int, int]]:
    """Where secrets stand, as (start, end) in order, so that a text is not cut inside one."""
    if not _suspicious(text):
        return []
    found = sorted(one.span() for _, form in _FORMS for one in form.finditer(text))
    out: list[tuple[int, int]] = []
    for start, end in found:
        if out and start < out[-1][1]:
            start, end = out[-1][0], max(end, out[-1][1])
            out.pop()
        out.append((start, end))
    return out


class KeyBlocks:
    """Whether the lines of a text, one after the other, lie inside a private key block.

    For texts that are taken line by line: only the first line of a block shows what it is, and
    `mask` takes care of that one.
    """

    def __init__(self) -> None:
        self.open = False
        """Whether the next line may belong to a block."""

    def covers(self, line: str) -> bool:
        """Whether `line` belongs to a block that an earlier line began."""
        inside = self.open and _BLOCK_LINE.fullmatch(line) is not None
        begins = line.rfind("-----BEGIN ")
        begun = begins >= 0 and _BLOCK_BEGIN.match(line, begins) is not None
        self.open = begun or (inside and "-----END " not in line)
        return inside
