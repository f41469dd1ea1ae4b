"""Messages in the chat form that most programs write: `role`, `content`, `tool_calls`, … Pure.

Lenient in what it takes (content as text or as blocks, arguments as text or as an object), strict
in that a value without a usable role is no message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from app.engine.records import Message, Role, ToolCall

_ROLES: dict[str, Role] = {
    "user": "user", "assistant": "assistant", "tool": "tool", "system": "system",
    "developer": "system",
}  # fmt: skip
_IMAGE_BEGINNINGS = {"iVBOR": "png", "R0lGO": "gif", "UklGR": "webp"}


def from_chat(value: Mapping[str, Any], message_id: str = "") -> Message:
    """The message of one mapping. Raises `ValueError` when its role or a call has no shape."""
    role = _ROLES.get(str(value.get("role", "")).lower())
    if role is None:
        raise ValueError(f"There is no message role {value.get('role')!r}.")
    text, images = _content(value.get("content"))
    raw_image = value.get("base64_image")
    if isinstance(raw_image, str) and raw_image:
        images = (*images, _data_url(raw_image))
    calls = value.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise ValueError("The calls of a message must be a list.")
    reasoning = value.get("reasoning")
    return Message(
        id=message_id or _text(value.get("id")),
        role=role,
        content=text,
        name=_text(value.get("name")),
        calls=tuple(_call(c) for c in cast("list[Any]", calls)),
        call_id=_text(value.get("tool_call_id")),
        reasoning=reasoning if isinstance(reasoning, str) else "",
        images=images,
    )


def _call(value: Any) -> ToolCall:
    if not isinstance(value, Mapping):
        raise ValueError("A call must be an object.")
    call = cast("Mapping[str, Any]", value)
    inner = call.get("function")
    function = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else call
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments if arguments is not None else {}).decode()
    return ToolCall(_text(call.get("id")), _text(function.get("name")), arguments or "{}")


def _content(value: Any) -> tuple[str, tuple[str, ...]]:
    """Text and images of a content that is a text, nothing, or a list of blocks."""
    if value is None or isinstance(value, str):
        return value or "", ()
    if not isinstance(value, list):
        raise ValueError("The content of a message must be text or a list of blocks.")
    texts: list[str] = []
    images: list[str] = []
    for block in cast("list[Any]", value):
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, Mapping):
            one = cast("Mapping[str, Any]", block)
            if isinstance(one.get("text"), str):
                texts.append(one["text"])
            link = one.get("image_url")
            url = cast("Mapping[str, Any]", link).get("url") if isinstance(link, Mapping) else link
            if isinstance(url, str):
                images.append(url)
    return "\n".join(texts), tuple(images)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _data_url(encoded: str) -> str:
    if encoded.startswith("data:"):
        return encoded
    kind = _IMAGE_BEGINNINGS.get(encoded[:5], "jpeg")
    return f"data:image/{kind};base64,{encoded}"
