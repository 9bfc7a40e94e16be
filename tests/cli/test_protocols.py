"""`ct protocols`: the lists, one component, its arguments, and an example that works."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.recordings import bash, recording, write_recording

from control_tower.cli.main import main
from control_tower.components import component_names

COMMANDS = {"eval2-policies": "policy", "eval2-protocols": "protocol", "monitors": "monitor"}
BUNDLED = [(command, name) for command, kind in COMMANDS.items() for name in component_names(kind)]  # type: ignore[arg-type]

OUTSIDE = '''
from typing import Literal

from control_tower.components import MonitorSpec, policy, protocol
from control_tower.contracts import BlueProtocol, Policy


class Guard(BlueProtocol):
    async def generate(self, turn, untrusted):
        return await untrusted(turn)


@protocol(roles=["trusted"], needs=["linear_history"])
def my_guard(
    words: list[str],
    level: Literal["low", "high"],
    monitor: MonitorSpec = MonitorSpec("action-monitor", draws=2),
    limit: int | None = None,
    note: str = "",
    model: str = "a/own",
) -> BlueProtocol:
    """Guard what
    is dear.

    As it was always done.

    Args:
        words: what is
            forbidden.
        level: how much.
        monitor: who looks.
        limit: how often.
        model: whom to ask.
    """
    return Guard()
'''


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Name of a directory, in the current folder, with a module `guards`."""
    (tmp_path / "exp one").mkdir()
    (tmp_path / "exp one" / "guards.py").write_text(OUTSIDE)
    monkeypatch.chdir(tmp_path)
    yield "exp one"
    sys.modules.pop("guards", None)


def show(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["protocols", *argv]) == 0
    return capsys.readouterr().out


def refusal(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["protocols", *argv]) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    [line] = captured.err.splitlines()
    return line


def cells(out: str) -> dict[str, list[str]]:
    """The lines of a table by their first cell."""
    rows = ([cell.strip() for cell in line.split("  ") if cell] for line in out.splitlines())
    return {row[0]: row for row in rows if row}


def example(out: str) -> list[str]:
    line = out.splitlines()[-1]
    assert out.splitlines()[-2] == "example:"
    return shlex.split(line)


@pytest.mark.parametrize(("command", "kind"), COMMANDS.items())
def test_a_list_has_every_name_with_a_line_about_it(
    command: str, kind: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = cells(show(capsys, command))
    assert list(rows) == [kind, *component_names(kind)]
    assert all(len(row) == 2 and row[1].endswith(".") for row in list(rows.values())[1:])


def test_lists_import_nothing_heavy() -> None:
    program = (
        "import json, sys\nfrom control_tower.cli.main import main\n"
        f"assert not any(main(['protocols', each]) for each in {list(COMMANDS)})\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}
    assert loaded & {"inspect_ai", "docker", "pytest", "pydantic", "yaml"} == set()


def test_a_plugin_is_listed_and_a_broken_one_does_not_break_the_list(
    outside: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    metadata = tmp_path / "guards-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: guards\nVersion: 1.0\n")
    points = "good = guards:my_guard\nbroken = no_such_module:x\nodd = guards:Guard\n"
    (metadata / "entry_points.txt").write_text(f"[control_tower.protocols]\n{points}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path / outside))
    rows = cells(show(capsys, "eval2-protocols"))
    assert rows["good"][1] == "Guard what is dear."
    assert "'broken' of guards cannot be loaded: ModuleNotFoundError" in rows["broken"][1]
    assert "'odd' does not name a protocol" in rows["odd"][1]
    assert "null-blue-team" in rows
    assert "my-guard: Guard what is dear." in show(capsys, "eval2-protocols", "good")
    assert "'broken' of guards cannot be loaded" in refusal(capsys, "eval2-protocols", "broken")


def test_one_is_described_with_every_argument(
    outside: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = show(capsys, "eval2-protocols", "guards:my_guard", "--extra-src", outside)
    lines = out.splitlines()
    assert lines[:2] == ["my-guard: Guard what is dear.", "As it was always done."]
    assert "roles:     trusted (a/own unless another is given), monitor" in lines
    assert "needs:     linear_history" in lines
    rows = cells(out)
    assert rows["words"] == ["words", "list of text", "(required)", "what is forbidden."]
    assert rows["level"] == ["level", "low | high", "(required)", "how much."]
    default = "{name: action-monitor, draws: 2}"
    assert rows["monitor"] == ["monitor", "monitor", default, "who looks."]
    assert rows["limit"] == ["limit", "integer or null", "null", "how often."]
    assert rows["note"] == ["note", "text", "(empty)", "not described"]
    assert example(out) == [
        *("ct", "run", "eval2", "-e", "ledger", "-t", "hold_rounding", "--extra-src", outside),
        *("--protocol", "guards:my_guard", "-bp", "words=[text]", "-bp", "level=low"),
        *("--model-role", "untrusted=openai/gpt-4o", "--model-role", "monitor=openai/gpt-4o"),
    ]


def test_a_component_without_arguments_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    lines = show(capsys, "eval2-policies", "noop").splitlines()
    assert "arguments: none" in lines
    assert "roles:     none" in lines
    assert "modes:     honest, attack; --all expands to them" in lines
    assert "asserts:   nothing-free" in lines


def test_what_is_drawn_again_is_told_of_policies_and_protocols(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = "redraws:   no, it moves on with every proposal"
    assert said in show(capsys, "eval2-policies", "reference").splitlines()
    assert "redraws:   yes" in show(capsys, "eval2-policies", "honest").splitlines()
    lines = show(capsys, "eval2-protocols", "defer-to-resample").splitlines()
    assert "needs:     redraws" in lines
    assert not any(line.startswith("redraws:") for line in lines)


def test_a_protocol_that_never_asks_the_policy_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    said = "untrusted: never asked, so its model is not needed"
    out = show(capsys, "eval2-protocols", "trusted-only")
    assert said in out.splitlines()
    assert not any(word.startswith("untrusted=") for word in example(out))
    assert said not in show(capsys, "eval2-protocols", "block-all").splitlines()


MISNAMED = '''
from control_tower.components import monitor
from control_tower.contracts import Monitor

class Calm(Monitor):
    async def score(self, case):
        raise NotImplementedError

@monitor(roles=[])
def calm(draws: int = 1, note: str = "it's", words: list[str] | None = None):
    """Calm.

    Args:
        drwas: how often.
        note: what is said.
        xyzzy: nothing.
    """
    return Calm()

@monitor(roles=[])
def torn(note: str = "it's"):
    """Torn."""
    return Calm()
'''


@pytest.fixture
def misnamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "misnamed.py").write_text(MISNAMED)
    monkeypatch.chdir(tmp_path)
    yield "misnamed"
    sys.modules.pop("misnamed", None)


def test_an_argument_that_only_the_docstring_has_is_flagged(
    misnamed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = show(capsys, "monitors", "misnamed:calm", "--extra-src", ".").splitlines()
    assert [line for line in lines if line.startswith("docstring:")] == [
        "docstring: no argument of 'calm' is named 'drwas'; did you mean 'draws'?",
        "docstring: no argument of 'calm' is named 'xyzzy'; valid: draws, words",
    ]


def test_the_example_of_a_monitor_outside_is_quoted_plainly(
    misnamed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = show(capsys, "monitors", "misnamed:calm", "--extra-src", ".").splitlines()[-1]
    assert """ -bp 'monitor={name: "misnamed:calm", draws: 1}' """ in line


def test_the_example_keeps_an_apostrophe_of_a_text(
    misnamed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = example(show(capsys, "monitors", "misnamed:torn", "--extra-src", "."))
    assert any("note: it's}" in word for word in words)


@pytest.mark.parametrize(("command", "name"), BUNDLED)
def test_the_docstring_of_a_bundled_one_describes_its_arguments_only(
    command: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "docstring:" not in show(capsys, command, name)


@pytest.mark.parametrize(("command", "name"), BUNDLED)
def test_the_example_works(
    command: str,
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    line = example(show(capsys, command, name))
    if name == "replay":
        of = recording(bash("ls"), env="ledger", main="hold_rounding")
        line[line.index("TRAJECTORY_ID")] = write_recording(tmp_path / "t.json", of)
    assert ("--network-control" in line) == (name == "privilege-monitor")
    calls: list[list[str]] = []
    monkeypatch.setattr(pytest, "main", lambda argv: calls.append(argv) or 0)
    monkeypatch.delenv("CT_ENVIRONMENTS_PATH", raising=False)
    for variable in list(os.environ):
        if variable.startswith(("CT_MODEL_", "INSPECT_EVAL_MODEL")):
            monkeypatch.delenv(variable)
    assert line[0] == "ct"
    assert name in " ".join(line)
    assert main(line[1:]) == 0, capsys.readouterr().err
    assert len(calls) == 1
    assert_every_role_has_a_model(line, capsys)


def assert_every_role_has_a_model(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """By `ct models`, which takes the flags about models."""
    flags = ("--untrusted-policy", "-up", "--protocol", "-bp", "--model-role")
    given = [(key, value) for key, value in pairwise(line) if key in flags]
    capsys.readouterr()
    assert main(["models", *(word for pair in given for word in pair)]) == 0
    assert "not set" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (
            ["eval2-policies", "onest"],
            "ct protocols eval2-policies: no untrusted policy is named 'onest'; "
            "did you mean 'honest'?",
        ),
        (["monitors", "acton-monitor"], "no monitor is named 'acton-monitor'; did you mean 'act"),
        (["eval2-protocols", "guards:my_guard"], "cannot import 'guards' of 'guards:my_guard'"),
        (
            ["eval2-protocols", "guards:my_gard", "--extra-src", "exp one"],
            "did you mean 'my_guard'?",
        ),
        (["monitors", "guards:my_guard", "--extra-src", "exp one"], "does not name a monitor"),
        (["monitors", "x:y", "--extra-src", "missing"], "--extra-src: 'missing' is no directory"),
        (["monitors", "--extra-src", "exp one"], "--extra-src: it is for a NAME such as"),
        (["monitor"], "no command is named 'monitor'; did you mean 'monitors'?"),
        (["monitors", "ensemble", "more"], "unexpected extra argument"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_4(
    argv: list[str], words: str, outside: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refusal(capsys, *argv)


def test_nothing_of_extra_src_stays(outside: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = list(sys.path)
    show(capsys, "eval2-protocols", "guards:my_guard", "--extra-src", outside)
    assert sys.path == before
    assert "guards" not in sys.modules
