"""The private names of Inspect that we use: these tests fail when one of them moves."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from inspect_ai.model import get_model, model_roles
from inspect_ai.util import SandboxEnvironment
from support.bad_calls import BAD_NUMBERS, BASH, NO_JSON, parsed
from support.roles import bound_roles

from control_tower._inspect_compat import (
    InspectLocal,
    PrerequisiteError,
    plain_message,
    read_arguments_plainly,
    read_dotenv,
    sandbox_package,
    sandbox_types,
)


def test_a_model_without_what_it_needs_raises_the_error_we_catch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(PrerequisiteError) as caught:
        get_model("openai/gpt-4o")
    message = plain_message(caught.value)
    assert "openai" in message.lower()
    assert "\n" not in message
    assert "[" not in message


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (PrerequisiteError("[bold]ERROR[/bold]: no\n\n[bold]key[/bold] set"), "no key set"),
        (PrerequisiteError("plain"), "plain"),
        (ValueError("two\n  lines"), "two lines"),
        (ValueError(), "ValueError"),
        (ImportError("No module named 'x'"), "No module named 'x'"),
        (ValueError("one of ['a', 'b'] or [1]"), "one of ['a', 'b'] or [1]"),
    ],
)
def test_messages_are_one_line_of_plain_text(error: Exception, text: str) -> None:
    assert plain_message(error) == text


def test_a_dotenv_file_is_read_as_inspect_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CT_TEST_SET", "by the shell")
    monkeypatch.setenv("CT_TEST_UNSET", "")  # so that it is taken back after the test
    monkeypatch.delenv("CT_TEST_UNSET")
    monkeypatch.delenv("TERM_PROGRAM", raising=False)  # there, Inspect lets the file win
    (tmp_path / ".env").write_text("CT_TEST_SET=by the file\nCT_TEST_UNSET=by the file\n")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    read_dotenv()
    assert os.environ["CT_TEST_SET"] == "by the shell"
    assert os.environ["CT_TEST_UNSET"] == "by the file"


def test_types_of_sandboxes_are_found_by_name_with_those_of_plugins() -> None:
    found = sandbox_types()
    assert found["local"][0] is InspectLocal
    assert {"docker", "ct-docker", "ct-bwrap", "ct-external"} <= set(found)
    assert all(issubclass(each, SandboxEnvironment) for one in found.values() for each in one)


@pytest.mark.parametrize(
    ("name", "package"), [("k8s", "inspect-k8s-sandbox"), ("zzz", None), ("local", None)]
)
def test_inspect_names_the_package_of_a_sandbox(name: str, package: str | None) -> None:
    assert sandbox_package(name) == package


def test_tests_bind_a_role_as_an_eval_does_and_only_for_a_while() -> None:
    before = dict(model_roles())
    first, second = (get_model("mockllm/model", memoize=False) for _ in range(2))
    with bound_roles(trusted=first):
        assert get_model(role="trusted") is first
        with bound_roles(monitor=second):
            assert (get_model(role="trusted"), get_model(role="monitor")) == (first, second)
        assert "monitor" not in model_roles()
    assert model_roles() == before


def by_local_model(arguments: str) -> Any:
    """As providers of local models read it, who have the function under a name of their own."""
    read = import_module("inspect_ai.model._providers.util.hf_handler").parse_tool_call
    return read("1", "bash", arguments, [BASH])


@pytest.mark.parametrize("read", [parsed, by_local_model])
def test_what_json_could_not_hold_stays_the_text_of_the_argument(
    read: Callable[[str], Any],
) -> None:
    for _ in range(2):
        read_arguments_plainly()
    for text in [*NO_JSON, "9" * 5_000, "echo hi"]:
        call = read(text)
        assert (call.arguments, call.parse_error) == ({"command": text}, None)
    assert read("[a, 3]").arguments == {"command": ["a", 3]}
    assert read('{"command": "ls"}""').arguments == {"command": "ls"}


@pytest.mark.parametrize("read", [parsed, by_local_model])
@pytest.mark.parametrize("text", [*BAD_NUMBERS, BAD_NUMBERS[0] + '"', '{"command": '])
def test_bad_json_is_an_error_that_the_model_is_told(read: Callable[[str], Any], text: str) -> None:
    read_arguments_plainly()
    call = read(text)
    assert call.arguments == {}
    assert "Error details" in str(call.parse_error)


def test_threads_may_install_the_reading_at_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: read_arguments_plainly(), range(16)))
    assert parsed("!!binary /w==").arguments == {"command": "!!binary /w=="}


def test_an_inspect_that_reads_arguments_otherwise_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def otherwise(*_: Any) -> Any:
        return SimpleNamespace(arguments={"text": b"\xff"}, parse_error=None)

    monkeypatch.setattr("inspect_ai.model._call_tools.parse_tool_call", otherwise)
    with pytest.raises(RuntimeError, match="this version of inspect-ai"):
        read_arguments_plainly()


def test_no_provider_of_inspect_reads_arguments_in_a_way_of_its_own() -> None:
    model = Path(str(import_module("inspect_ai.model").__file__)).parent
    sources = {path: path.read_text() for path in model.rglob("*.py")}
    reads_yaml = {path.name for path, text in sources.items() if "yaml.safe_load" in text}
    assert reads_yaml == {"_call_tools.py", "model_data.py", "sync_models.py"}
    defines = {path.name for path, text in sources.items() if "def parse_tool_call(" in text}
    assert defines == {"_call_tools.py"}
