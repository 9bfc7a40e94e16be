"""The `editor` tool: views and edits text files through the sandbox's own file operations."""

from __future__ import annotations

import posixpath
from collections import Counter
from typing import Literal, TypeVar

from inspect_ai.tool import Tool, ToolDef, ToolError, tool
from inspect_ai.util import OutputLimitExceededError, SandboxEnvironment, sandbox

from control_tower.tools import _text
from control_tower.tools.truncate import truncate

SHOWN = 131_072
"""Characters of a view that the tool passes on; bounds what the log holds."""

T = TypeVar("T")

_LISTING_SECONDS = 30

_DESCRIPTION = """\
View, create and edit text files. Relative paths begin at {workspace}.

view: show a file with line numbers, or a part of it with `view_range`; for a directory, list \
what it holds, two levels deep.
create: write `file_text` to a file, replacing it if it exists.
str_replace: replace the one occurrence of `old_str` with `new_str`.
insert: add `insert_text` as new lines after line `insert_line`."""

_PARAMETERS = {
    "command": "What to do.",
    "path": "The file or directory.",
    "file_text": "For create: the whole content of the file.",
    "old_str": "For str_replace: the text to replace, exactly as it is in the file.",
    "new_str": "For str_replace: the new text; leave it out to delete old_str.",
    "insert_line": "For insert: the line to insert after; 0 is the beginning of the file.",
    "insert_text": "For insert: the lines to add.",
    "view_range": "For view: first and last line, such as [11, 20]; a last line of -1 is the end.",
}


@tool(name="editor", max_output=0)
def editor(workspace: str) -> Tool:
    """The tool that views and edits text files in the sandbox.

    Whatever cannot be done with the file named is a tool error that says why.

    Args:
        workspace: absolute path in the sandbox at which relative paths begin.
    """

    async def execute(
        command: Literal["view", "create", "str_replace", "insert"],
        path: str,
        *,
        file_text: str | None = None,
        old_str: str | None = None,
        new_str: str | None = None,
        insert_line: int | None = None,
        insert_text: str | None = None,
        view_range: list[int] | None = None,
    ) -> str:
        file = posixpath.normpath(posixpath.join(workspace, path))
        files = _Files(sandbox(), file)
        try:
            if command == "view":
                return truncate(await _view(files, view_range), SHOWN)
            if command == "create":
                return await _create(files, _given(file_text, command, "file_text"))
            if command == "str_replace":
                return await _replace(files, _given(old_str, command, "old_str"), new_str or "")
            return await _insert(
                files,
                _given(insert_line, command, "insert_line"),
                _given(insert_text, command, "insert_text"),
            )
        except _text.EditError as error:
            raise ToolError(f"{file}: {error}") from error

    return ToolDef(
        execute,
        name="editor",
        description=_DESCRIPTION.format(workspace=workspace),
        parameters=_PARAMETERS,
    ).as_tool()


class _Files:
    """One path in the sandbox; what goes wrong with it is said to the agent."""

    def __init__(self, environment: SandboxEnvironment, path: str) -> None:
        self.path = path
        self._sandbox = environment

    async def read(self) -> str:
        """The file's text; a directory raises IsADirectoryError."""
        try:
            return await self._sandbox.read_file(self.path)
        except UnicodeDecodeError as error:
            raise ToolError(f"{self.path} is not a UTF-8 text file.") from error
        except OutputLimitExceededError as error:
            raise ToolError(f"{self.path} is larger than {error.limit_str}.") from error
        except (ConnectionError, IsADirectoryError):
            raise
        except OSError as error:
            raise ToolError(self._cannot("read", error)) from error

    async def read_to_edit(self) -> str:
        try:
            return await self.read()
        except IsADirectoryError as error:
            raise ToolError(f"{self.path} is a directory.") from error

    async def write(self, text: str) -> None:
        try:
            await self._sandbox.write_file(self.path, text)
        except ConnectionError:
            raise
        except OSError as error:
            raise ToolError(self._cannot("write", error)) from error

    async def listing(self) -> str:
        """Paths below the directory, two levels deep, without hidden ones."""
        top = self.path.rstrip("/") + "/"
        argv = ["find", top, "-mindepth", "1", "-maxdepth", "2", "-name", ".*", "-prune"]
        # Directories are printed twice, to tell them apart: busybox has no -printf.
        argv += ["-o", "-type", "d", "-print", "-print", "-o", "-print"]
        try:
            found = await self._sandbox.exec(argv, timeout=_LISTING_SECONDS, timeout_retry=False)
        except TimeoutError as error:
            raise ToolError(f"Listing {self.path} took too long.") from error
        if not found.success and not found.stdout:
            raise ToolError(f"Cannot list {self.path}: {found.stderr.strip()}")
        times = Counter(line.removeprefix(top) for line in found.stdout.split("\n") if line)
        names = sorted(f"{name}/" if count > 1 else name for name, count in times.items())
        return "\n".join(names) or "(nothing that is not hidden)"

    def _cannot(self, verb: str, error: OSError) -> str:
        if isinstance(error, FileNotFoundError):
            return f"{self.path} does not exist."
        return f"Cannot {verb} {self.path}: {error.strerror or error or type(error).__name__}."


async def _view(files: _Files, view_range: list[int] | None) -> str:
    try:
        text = await files.read()
    except IsADirectoryError:
        if view_range is not None:
            raise ToolError(f"{files.path} is a directory; view_range is for files.") from None
        return f"{files.path} holds:\n{await files.listing()}"
    if view_range is None:
        return _text.numbered(text)
    if len(view_range) != 2:
        raise ToolError(f"view_range takes two numbers, such as [1, 20], not {view_range}.")
    return _text.numbered(text, view_range[0], view_range[1])


async def _create(files: _Files, text: str) -> str:
    await files.write(text)
    return f"Wrote {files.path} ({_text.line_count(text)} lines)."


async def _replace(files: _Files, old: str, new: str) -> str:
    text, line = _text.replaced(await files.read_to_edit(), old, new)
    await files.write(text)
    return _edited(files.path, text, line, _text.line_count(new))


async def _insert(files: _Files, after: int, addition: str) -> str:
    text = _text.inserted(await files.read_to_edit(), after, addition)
    await files.write(text)
    return _edited(files.path, text, after + 1, _text.line_count(addition))


def _edited(path: str, text: str, first: int, count: int) -> str:
    return truncate(f"Edited {path}; now:\n{_text.around(text, first, count)}", SHOWN)


def _given(value: T | None, command: str, name: str) -> T:
    if value is None:
        raise ToolError(f"{command} needs {name}.")
    return value
