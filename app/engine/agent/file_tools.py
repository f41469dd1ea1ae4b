"""File tools of the agent: the workspace and the evicted results, nothing else.

Reading is paged by lines and by characters, always below the eviction limit, so that a page is
never put aside again. Writing asks first, never touches `.palimpsest/`, and never MEMORY.md, which
has one writer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from app.engine.agent.tools import Tool, ToolFailed, number_argument, text_argument, tool
from app.engine.errors import PathRefused, Unreadable
from app.engine.workspace.confine import inside, same_file
from app.engine.workspace.documents import rewrite
from app.engine.workspace.files import make_folder, read_text
from app.engine.workspace.layout import Layout
from app.engine.workspace.paging import read_page

MOST_LISTED = 500
MOST_MATCHES = 200
LARGEST_SEARCHED = 8_000_000  # bytes; a larger file is named, not read


class FileTools:
    """What the file tools do; every method is synchronous and runs in a thread.

    `page_chars` bounds one page in characters; `refresh(path)` is told of each written file;
    `bring_back(path)` tries to restore a missing result that was put aside.
    """

    def __init__(
        self,
        layout: Layout,
        page_chars: int,
        refresh: Callable[[Path], None] | None = None,
        bring_back: Callable[[str], bool] | None = None,
    ) -> None:
        self._layout = layout
        self.root = layout.root
        self.page_chars = page_chars
        self.refresh = refresh
        self._bring_back = bring_back

    # ------------------------------------------------------------------ reading

    def read(self, arguments: dict[str, Any]) -> str:
        """A page of a file and how to go on; the pages of one file join to its exact text."""
        path = self._resolve(text_argument(arguments, "path"))
        if self._bring_back is not None and not path.exists():
            self._bring_back(self._name(path))

        def number(name: str) -> int | None:
            return number_argument(arguments, name, 0) if name in arguments else None

        page = read_page(
            path,
            offset=number("offset"),
            limit=number("limit"),
            char_offset=number("charOffset"),
            char_limit=number("charLimit"),
            cap=self.page_chars,
        )
        return f"{page.text}\n\n[{page.hint}]" if page.hint else page.text

    def list_files(self, arguments: dict[str, Any]) -> str:
        folder = self._folder(text_argument(arguments, "path"))
        names = sorted(
            f"{p.name}/" if p.is_dir() else f"{p.name}  {p.stat().st_size} bytes"
            for p in folder.iterdir()
            if not p.name.startswith(".")
        )
        return bounded(names) or "The folder is empty."

    def glob(self, arguments: dict[str, Any]) -> str:
        pattern = text_argument(arguments, "pattern").strip()
        if not pattern or pattern.startswith(("/", "\\")) or ".." in pattern.split("/"):
            raise ToolFailed("A pattern inside the workspace is needed, for example memory/*.md.")
        try:
            found = [p for p in self.root.glob(pattern) if self._visible(p)]
        except (ValueError, NotImplementedError) as error:
            raise ToolFailed(f"{pattern!r} is no pattern.") from error
        return bounded(sorted(map(self._name, found))) or "No file matches."

    def grep(self, arguments: dict[str, Any]) -> str:
        """Lines that hold the text, literally. Patterns would need a time limit of their own."""
        wanted = text_argument(arguments, "text")
        if not wanted.strip():
            raise ToolFailed("A text to look for is needed.")
        folder = self._folder(text_argument(arguments, "path"))
        rows: list[str] = []
        for path in self._files(folder):
            if path.stat().st_size > LARGEST_SEARCHED:
                rows.append(f"{self._name(path)}: not searched, larger than 8 MB")
                continue
            text = path.read_bytes().decode("utf-8", "replace")
            rows += [
                f"{self._name(path)}:{n}: {line.strip()[:300]}"
                for n, line in enumerate(text.split("\n"), 1)
                if wanted in line
            ]
            if len(rows) > MOST_MATCHES:
                break
        return bounded(rows, MOST_MATCHES) or f"No line holds {wanted!r}."

    # ------------------------------------------------------------------ writing

    def write(self, arguments: dict[str, Any]) -> str:
        path = text_argument(arguments, "path")
        target = self._writable(path)
        if target.exists():
            raise ToolFailed(f"{path} exists already; edit_file changes it.")
        make_folder(target.parent)
        rewrite(self._layout, target, text_argument(arguments, "content"))
        self._tell(target)
        return f"Written: {path}."

    def edit(self, arguments: dict[str, Any]) -> str:
        path = text_argument(arguments, "path")
        old, new = text_argument(arguments, "old"), text_argument(arguments, "new")
        target = self._writable(path)
        text = self._text_of(target, path)
        if not old or text.count(old) != 1:
            raise ToolFailed(f"The old text must occur exactly once, not {text.count(old)} times.")
        rewrite(self._layout, target, text.replace(old, new))
        self._tell(target)
        return f"Changed: {path}."

    # ------------------------------------------------------------------ places

    def _resolve(self, path: str) -> Path:
        if not path.strip():
            raise ToolFailed("A path is needed.")
        try:
            found = inside(self.root, path)
        except PathRefused as error:
            raise ToolFailed(str(error)) from error
        if not self._visible(found):
            raise ToolFailed(f"{path!r} belongs to the program itself.")
        return found

    def _folder(self, path: str) -> Path:
        folder = self._resolve(path) if path.strip() not in ("", ".", "./") else self.root
        if not folder.is_dir():
            raise ToolFailed(f"There is no folder {path!r}.")
        return folder

    def _writable(self, path: str) -> Path:
        target = self._resolve(path)
        memory = self.root / "MEMORY.md"
        if same_file(target, memory):
            raise ToolFailed("MEMORY.md has a writer of its own; memory_save adds to it.")
        if (self.root / "memory") in (target, *target.parents):
            raise ToolFailed("Daily logs only grow at their end; memory_save adds to them.")
        if (self.root / "agents") in target.parents:
            raise ToolFailed("Session logs are written by the program itself.")
        return target

    def _visible(self, path: Path) -> bool:
        parts = path.relative_to(self.root).parts if path.is_relative_to(self.root) else ()
        return not (parts and parts[0] == ".palimpsest")

    def _files(self, folder: Path) -> Iterator[Path]:
        for path in sorted(folder.rglob("*")):
            if self._visible(path) and path.is_file() and not path.is_symlink():
                yield path

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _text_of(self, path: Path, named: str) -> str:
        if not path.is_file():
            raise ToolFailed(f"There is no file {named!r}.")
        try:
            content = read_text(path)
        except Unreadable as error:
            raise ToolFailed(f"{named} is not a text file: {error}") from error
        return content.text if content else ""

    def _tell(self, path: Path) -> None:
        if self.refresh:
            self.refresh(path)


def bounded(rows: list[str], most: int = MOST_LISTED) -> str:
    """The rows, one a line, and how many were left out."""
    out = "\n".join(rows[:most])
    return out if len(rows) <= most else f"{out}\n\n{len(rows) - most} more are not shown."


def file_tools(files: FileTools) -> list[Tool]:
    """The six file tools; `write_file` and `edit_file` ask first."""

    def threaded(work: Callable[[dict[str, Any]], str]) -> Callable[[dict[str, Any]], Any]:
        async def run(arguments: dict[str, Any]) -> str:
            return await asyncio.to_thread(work, arguments)

        return run

    path = ("string", "A path inside the workspace.")
    return [
        tool(
            "read_file",
            "Read a file of the workspace, or a result that was put aside, page by page.",
            threaded(files.read),
            required=("path",),
            path=path,
            offset=("integer", "First line, from 1."),
            limit=("integer", "How many lines; 0 is all."),
            charOffset=("integer", "First character within those lines."),
            charLimit=("integer", "How many characters at most."),
        ),
        tool("list_files", "List a folder.", threaded(files.list_files), path=path),
        tool(
            "glob_files",
            "Find files by a pattern such as memory/*.md.",
            threaded(files.glob),
            required=("pattern",),
            pattern=("string", "The pattern."),
        ),
        tool(
            "grep_files",
            "Find lines that hold a text, literally.",
            threaded(files.grep),
            required=("text",),
            text=("string", "The text."),
            path=path,
        ),
        tool(
            "write_file",
            "Write a new file. It must not exist.",
            threaded(files.write),
            asks=True,
            required=("path", "content"),
            path=path,
            content=("string", "The whole text."),
        ),
        tool(
            "edit_file",
            "Replace one stretch of a file that occurs exactly once.",
            threaded(files.edit),
            asks=True,
            required=("path", "old", "new"),
            path=path,
            old=("string", "The text that is there."),
            new=("string", "The text that takes its place."),
        ),
    ]
