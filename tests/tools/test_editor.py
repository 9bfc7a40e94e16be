"""The editor tool, on real files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    UseTools = Callable[..., Any]


def _edit(command: str, path: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "editor", {"command": command, "path": path, **more}


def _cat(path: str) -> tuple[str, dict[str, Any]]:
    return "bash", {"command": f"cat {path}"}


def test_view_numbers_the_lines(use_tools: UseTools) -> None:
    answers = use_tools([_edit("view", "a.py")], files={"a.py": "one\ntwo\n"})
    assert answers.texts == ["     1\tone\n     2\ttwo"]


def test_view_of_a_range(use_tools: UseTools) -> None:
    calls = [
        _edit("view", "a.py", view_range=[2, 3]),
        _edit("view", "a.py", view_range=[3, -1]),
        _edit("view", "a.py", view_range=[4, 99]),
    ]
    answers = use_tools(calls, files={"a.py": "a\nb\nc\nd\n"})
    assert answers.texts == ["     2\tb\n     3\tc", "     3\tc\n     4\td", "     4\td"]


def test_view_of_a_range_that_is_none(use_tools: UseTools) -> None:
    calls = [
        _edit("view", "a.py", view_range=[5, 9]),
        _edit("view", "a.py", view_range=[3, 2]),
        _edit("view", "a.py", view_range=[1]),
    ]
    answers = use_tools(calls, files={"a.py": "a\nb\nc\n"})
    assert answers.failed == [True] * 3
    assert "the file has 3" in answers.texts[0]


def test_view_of_a_directory_lists_two_levels_without_hidden_files(use_tools: UseTools) -> None:
    files = {"d/a.py": "", "d/.git/config": "", "d/sub/b.py": "", "d/sub/deep/c.py": ""}
    [text] = use_tools([_edit("view", "d")], files=files).texts
    assert text.splitlines()[1:] == ["a.py", "sub/", "sub/b.py", "sub/deep/"]


def test_view_of_an_empty_file(use_tools: UseTools) -> None:
    assert use_tools([_edit("view", "a.py")], files={"a.py": ""}).texts == ["(the file is empty)"]


def test_view_of_what_is_no_text(use_tools: UseTools) -> None:
    answers = use_tools([_edit("view", "a.bin")], files={"a.bin": b"\xff\xfe\x00"})
    assert answers.failed == [True]
    assert answers.texts[0].endswith("a.bin is not a UTF-8 text file.")


def test_missing_file_is_an_error(use_tools: UseTools) -> None:
    calls = [
        _edit("view", "none.py"),
        _edit("str_replace", "none.py", old_str="a", new_str="b"),
        _edit("insert", "none.py", insert_line=0, insert_text="a"),
    ]
    answers = use_tools(calls)
    assert answers.failed == [True] * 3
    assert all(text.endswith("none.py does not exist.") for text in answers.texts)


def test_paths_that_cannot_be_are_errors(use_tools: UseTools) -> None:
    calls = [
        _edit("view", "a.py/b.py"),
        _edit("create", "a.py/b.py", file_text="x"),
        _edit("create", ".", file_text="x"),
        _edit("view", "x" * 5_000),
        _edit("view", "a\0b"),
        _edit("str_replace", ".", old_str="a"),
    ]
    answers = use_tools(calls, files={"a.py": "x"})
    assert answers.failed == [True] * len(calls)


def test_create_writes_and_replaces(use_tools: UseTools) -> None:
    calls = [
        _edit("create", "new/a.py", file_text="one\n"),
        _edit("create", "{workspace}/new/a.py", file_text="two\n"),
        _cat("new/a.py"),
    ]
    answers = use_tools(calls)
    assert answers.failed == [False] * 3
    assert answers.texts[0].endswith("new/a.py (1 lines).")
    assert answers.texts[2] == "two\n"


def test_str_replace_changes_the_one_match_and_shows_it(use_tools: UseTools) -> None:
    calls = [_edit("str_replace", "a.py", old_str="two", new_str="zwei\ndrei"), _cat("a.py")]
    answers = use_tools(calls, files={"a.py": "one\ntwo\nthree\n"})
    assert "     2\tzwei\n     3\tdrei\n" in answers.texts[0]
    assert answers.texts[1] == "one\nzwei\ndrei\nthree\n"


def test_str_replace_without_new_text_deletes(use_tools: UseTools) -> None:
    calls = [_edit("str_replace", "a.py", old_str="two\n"), _cat("a.py")]
    assert use_tools(calls, files={"a.py": "one\ntwo\n"}).texts[1] == "one\n"


def test_str_replace_must_match_once(use_tools: UseTools) -> None:
    calls = [
        _edit("str_replace", "a.py", old_str="x", new_str="y"),
        _edit("str_replace", "a.py", old_str="z", new_str="y"),
        _edit("str_replace", "a.py", old_str="", new_str="y"),
        _cat("a.py"),
    ]
    answers = use_tools(calls, files={"a.py": "x\n\nx\n"})
    assert answers.failed == [True, True, True, False]
    assert "occurs 2 times (lines 1, 3)" in answers.texts[0]
    assert "does not occur" in answers.texts[1]
    assert answers.texts[3] == "x\n\nx\n"


def test_overlapping_matches_are_not_unique(use_tools: UseTools) -> None:
    calls = [_edit("str_replace", "a.py", old_str="aa", new_str="b")]
    assert "occurs 2 times" in use_tools(calls, files={"a.py": "aaa"}).texts[0]


def test_insert_at_the_beginning_the_middle_and_the_end(use_tools: UseTools) -> None:
    calls = [
        _edit("insert", "a.py", insert_line=2, insert_text="end"),
        _edit("insert", "a.py", insert_line=1, insert_text="middle\n"),
        _edit("insert", "a.py", insert_line=0, insert_text="start"),
        _cat("a.py"),
    ]
    answers = use_tools(calls, files={"a.py": "one\ntwo"})
    assert answers.texts[3] == "start\none\nmiddle\ntwo\nend\n"


def test_insert_into_an_empty_file(use_tools: UseTools) -> None:
    calls = [_edit("insert", "a.py", insert_line=0, insert_text="x"), _cat("a.py")]
    assert use_tools(calls, files={"a.py": ""}).texts[1] == "x\n"


def test_insert_outside_the_file_is_an_error(use_tools: UseTools) -> None:
    calls = [_edit("insert", "a.py", insert_line=3, insert_text="x")]
    answers = use_tools(calls, files={"a.py": "one\ntwo\n"})
    assert answers.texts[0].endswith("insert_line must be from 0 to 2, not 3.")


def test_missing_arguments_are_named(use_tools: UseTools) -> None:
    calls = [
        _edit("create", "a.py"),
        _edit("str_replace", "a.py"),
        _edit("insert", "a.py", insert_text="x"),
        _edit("insert", "a.py", insert_line=0),
    ]
    assert use_tools(calls).texts == [
        "create needs file_text.",
        "str_replace needs old_str.",
        "insert needs insert_line.",
        "insert needs insert_text.",
    ]


def test_unknown_command_names_the_known(use_tools: UseTools) -> None:
    answers = use_tools([_edit("undo", "a.py")])
    assert answers.failed == [True]
    assert "'str_replace'" in answers.texts[0]


def test_windows_line_ends_are_kept(use_tools: UseTools) -> None:
    calls = [
        _edit("str_replace", "a.txt", old_str="one\ntwo", new_str="eins\nzwei"),
        _edit("insert", "a.txt", insert_line=2, insert_text="drei"),
        ("bash", {"command": "od -An -c a.txt | tr -d ' \\n'"}),
    ]
    answers = use_tools(calls, files={"a.txt": b"one\r\ntwo\r\n"})
    assert answers.texts[2] == r"eins\r\nzwei\r\ndrei\r\n"


def test_other_line_separators_do_not_count_as_lines(use_tools: UseTools) -> None:
    answers = use_tools([_edit("view", "a.txt")], files={"a.txt": "a\x0cb\u2028c\nd\n"})
    assert answers.texts == ["     1\ta\x0cb\u2028c\n     2\td"]
