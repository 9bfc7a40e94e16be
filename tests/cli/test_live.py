"""`ct live`: what it says of sessions, without any sandbox."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.environments import EnvironmentFiles

from control_tower.cli.main import main
from control_tower.live.session import STEPS, Session, SessionFolder
from control_tower.live.sessions import Sessions
from control_tower.live.steps import Entry, StepLog

COMMANDS = ["up", "status", "switch", "down", "shell", "exec", "score", "cp-to", "cp-from",
            "record", "solution"]  # fmt: skip
Ct = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state directory and a current folder of the test's own."""
    monkeypatch.setenv("CT_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ct(capsys: pytest.CaptureFixture[str]) -> Ct:
    """`ct live …`: exit code, standard output and standard error."""

    def run(*args: str) -> tuple[int, str, str]:
        code = main(["live", *args])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., SessionFolder]:
    """Makes a session, of which no process lives, with steps."""
    environment = EnvironmentFiles().write(tmp_path)

    def one(name: str = "one", *entries: Entry, **more: Any) -> SessionFolder:
        fields = {
            "environment": "mini",
            "directory": str(environment),
            "main_task": "fix",
            "log_dir": str(tmp_path / "logs"),
            "workspace": "/app",
            "sandbox": "bwrap",
            "state": "up",
            **more,
        }
        folder = Sessions().make(Session(name=name, **fields))
        for entry in entries:
            StepLog(folder.path / STEPS).add(entry)
        return folder

    return one


LS = Entry(kind="exec", command="ls", output="README.md\n")
FAILED = Entry(kind="exec", command="make\nit", output="[exit code 2]", code=2)
TABBED = Entry(kind="shell", command="cat <<E\n\ta\x1b[2J\nE", shell="s", folder="/app")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(ct: Ct, command: str) -> None:
    code, printed, _ = ct(command, "--help")
    assert code == 0
    assert printed.startswith(f"Usage: ct live {command} ")


def test_help_and_status_are_quick(tmp_path: Path) -> None:
    program = (
        "import sys; from control_tower.cli.main import main; main(['live', '--help']);"
        "assert 'pydantic' not in sys.modules; main(['live', 'status']);"
        "assert not {'inspect_ai', 'docker', 'yaml', 'asyncio'} & set(sys.modules)"
    )
    environment = {**os.environ, "CT_STATE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert all(f"  {command} " in done.stdout for command in COMMANDS)


def test_where_there_is_no_session(ct: Ct) -> None:
    assert ct("status")[:2] == (0, "there is no session; `ct live up` starts one\n")
    assert ct("status", "--json")[:2] == (0, "")
    assert ct("down", "--all")[:2] == (0, "there is no session\n")
    for command in ("down", "shell", "score", "record", "solution"):
        code, _, said = ct(command)
        assert code == 4
        assert len(said.splitlines()) == 1


def test_a_dead_session_is_listed_with_the_reason(
    ct: Ct, make: Callable[..., SessionFolder]
) -> None:
    folder = make("one", LS, FAILED)
    (folder.path / "server.log").write_text("Killed \x1b[2J\n")
    code, printed, _ = ct("status")
    assert code == 0
    [_, row] = printed.splitlines()
    assert row.startswith("*  one   dead (its process has ended; it said last: Killed \\x1b[2J)  ")
    assert "  mini/fix/-  bwrap    2      20" in row
    [status] = [json.loads(line) for line in ct("status", "one", "--json")[1].splitlines()]
    assert (status["state"], status["steps"], status["current"]) == ("dead", 2, True)
    code, _, said = ct("exec", "--", "ls")
    assert code == 4
    assert "session 'one' is dead" in said


def test_a_broken_session_is_listed_and_can_be_removed(
    ct: Ct, make: Callable[..., SessionFolder]
) -> None:
    folder = make("one")
    (folder.path / "session.json").write_text("{")
    make("two")
    code, printed, _ = ct("status")
    assert code == 0
    assert [line.split()[:2] for line in printed.splitlines()[1:]] == [
        ["one", "broken"],
        ["*", "two"],
    ]
    for command in ("record", "solution", "score"):
        code, _, said = ct(command, "-n", "one")
        assert code == 4
        assert "`ct live down one` removes it" in said
    assert ct("down", "one")[0] == 0
    assert [folder.name for folder in Sessions().all()] == ["two"]


def test_switching(ct: Ct, make: Callable[..., SessionFolder]) -> None:
    make("one"), make("two")
    assert ct("switch", "one")[:2] == (0, "the current session is 'one'\n")
    assert json.loads(ct("status", "one", "--json")[1])["current"] is True
    code, _, said = ct("switch", "onne")
    assert code == 4
    assert "did you mean 'one'?" in said


def test_a_dead_session_is_recorded_and_found(
    ct: Ct, make: Callable[..., SessionFolder], capsys: pytest.CaptureFixture[str]
) -> None:
    make("one", LS)
    code, printed, _ = ct("record")
    assert code == 0
    file = Path(printed.removeprefix("trajectory: ").rstrip("\n"))
    assert json.loads(file.read_text())["policy"] == "human"
    assert main(["traj", "list", "--policy", "human"]) == 0
    assert "mini/fix/-" in capsys.readouterr().out
    assert ct("record", "-o", "x.json")[0] == 0
    assert "add --force" in ct("record", "-o", "x.json")[2]
    assert ct("record", "-o", "x.json", "--force")[0] == 0
    assert "there is no folder" in ct("record", "-o", "no/x.json")[2]


def test_a_solution_is_written_once_and_says_how_to_check_it(
    ct: Ct, make: Callable[..., SessionFolder], tmp_path: Path
) -> None:
    make("one", LS, FAILED)
    place = tmp_path / "mini" / "main_tasks" / "fix" / "solution"
    for old in place.glob("*"):
        old.unlink()
    code, printed, _ = ct("solution")
    assert code == 0
    assert printed.splitlines() == [
        str(place / "01-exec.sh"),
        str(place / "02-exec.sh"),
        "step 1 failed: make (exit code 2)",
        f"check it: ct envs check {tmp_path / 'mini'} -t fix --sandbox bwrap",
    ]
    assert (place / "02-exec.sh").read_text() == "make\nit\n"
    code, _, said = ct("solution", "--steps", "0")
    assert code == 4
    assert "add --force" in said
    assert ct("solution", "--steps", "0", "--force")[0] == 0
    assert [path.name for path in place.iterdir()] == ["01-exec.sh"]


def test_a_solution_that_is_printed_is_as_it_would_be_written(
    ct: Ct, make: Callable[..., SessionFolder]
) -> None:
    make("one", LS, TABBED, FAILED)
    printed = ct("solution", "--print", "--steps", "1-2")[1]
    assert printed == (
        "# step 1: 01-shell.sh\ncat <<E\n\ta\x1b[2J\nE\n\n# step 2: 02-exec.sh\nmake\nit\n"
    )


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--steps", "3"], "there are steps 0 to 0"),
        (["--steps", "x"], "'x' is no step"),
        (["--task", "side"], "has no side task"),
    ],
)
def test_a_solution_of_what_is_not_there(
    ct: Ct, make: Callable[..., SessionFolder], args: list[str], words: str
) -> None:
    make("one", LS)
    for more in ([], ["--print"]):
        code, _, said = ct("solution", *args, *more)
        assert code == 4
        assert words in said


def test_a_solution_of_a_task_that_is_gone_is_not_written(
    ct: Ct, make: Callable[..., SessionFolder], tmp_path: Path
) -> None:
    make("one", LS)
    (tmp_path / "mini").rename(tmp_path / "moved")
    code, _, said = ct("solution", "--force")
    assert (code, said.count("\n")) == (4, 1)
    assert f"there is no task in {tmp_path}/mini/main_tasks/fix any more" in said
    assert ct("solution", "--print")[0] == 0


def test_a_name_is_named_as_it_was_given(ct: Ct, make: Callable[..., SessionFolder]) -> None:
    make("one")
    for command in ("switch", "down", "status"):
        assert ct(command, "on")[2].startswith("ct: error: NAME: no live session is named 'on'")
    assert ct("score", "-n", "on")[2].startswith("ct: error: --name: no live session is named 'on'")


@pytest.mark.parametrize("command", [["exec", "--", "ls"], ["score"], ["cp-from", "x"]])
def test_what_is_said_of_a_dead_session_is_about_that_one(
    ct: Ct, make: Callable[..., SessionFolder], command: list[str]
) -> None:
    make("one")
    make("two")
    code, _, said = ct(command[0], "-n", "one", *command[1:])
    assert code == 4
    assert "`ct live record -n one` and `ct live solution -n one`" in said
    assert "`ct live down one`" in said


def test_what_cannot_be_a_command_is_told(ct: Ct, make: Callable[..., SessionFolder]) -> None:
    make("one")
    for text, words in ((" ", "there is no command"), ("a\udcff", "not UTF-8"), ("a\0", "null")):
        code, _, said = ct("exec", "--", text)
        assert code == 4
        assert words in said
    code, _, said = ct("shell")
    assert code == 4
    assert "needs a terminal" in said


def test_a_name_that_is_taken_is_refused_before_anything_starts(
    ct: Ct, make: Callable[..., SessionFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    make("one")
    monkeypatch.setattr("control_tower.sandboxes.chosen.SandboxChoice.preflight", lambda *a, **k: 0)
    code, _, said = ct("up", "-e", "./mini", "--name", "one", "--sandbox", "bwrap")
    assert code == 4
    assert "there is a session 'one' already" in said
    assert ct("status", "--json")[1].count("\n") == 1


@contextlib.contextmanager
def serving(folder: SessionFolder, place: Path, *answers: bytes) -> Iterator[list[bytes]]:
    """Somebody who holds a session and sends this to the first client; then they are gone."""
    asked: list[bytes] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(place / "s"))
        server.listen()
        folder.write(folder.read().model_copy(update={"socket": str(place / "s")}))
        lock = folder.hold()

        def serve() -> None:
            client, _ = server.accept()
            with client:
                asked.append(client.recv(65536))
                for answer in answers:
                    client.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield asked
        thread.join()
        os.close(lock)


def message(data: bytes = b"", **header: Any) -> bytes:
    return json.dumps({**header, "size": len(data)}).encode() + b"\n" + data


DONE = {"output": "out\nerr\n[exit code 3]", "error": None, "code": 3, "lost": 0}


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s")


def test_what_is_heard_is_passed_on_and_not_shown_twice(
    make: Callable[..., SessionFolder], place: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    answers = [
        message(b"out\n\xff", stream="stdout"),
        message(b"err\n", stream="stderr"),
        message(**{**DONE, "heard": True, "lost": 4096}),
    ]
    with serving(make("one"), place, *answers) as asked:
        assert main(["live", "exec", "--timeout", "9", "--", "echo", "a b"]) == 3
    printed = capsysbinary.readouterr()
    assert printed.out == b"out\n\xff"
    assert printed.err == b"err\nct: 4 KiB of it came too fast, and are not shown\n"
    assert json.loads(asked[0]) == {
        "do": "exec", "command": "echo 'a b'", "timeout": 9, "size": 0,
    }  # fmt: skip


def test_of_a_sandbox_that_tells_nothing_all_is_shown_at_the_end(
    ct: Ct, make: Callable[..., SessionFolder], place: Path
) -> None:
    with serving(make("one"), place, message(**DONE, heard=False)):
        assert ct("exec", "--", "x") == (3, "out\nerr\n", "")


@pytest.mark.parametrize("part", [b"", b'{"size": 0', message(**DONE, heard=True)[:-5]])
def test_a_process_that_dies_meanwhile_is_told(
    ct: Ct, make: Callable[..., SessionFolder], place: Path, part: bytes
) -> None:
    with serving(make("one"), place, part):
        code, _, said = ct("exec", "--", "x")
    assert (code, said) == (
        1,
        "ct: error: the session's process has ended; see `ct live status`\n",
    )


def test_a_refusal_is_shown_as_text(
    ct: Ct, make: Callable[..., SessionFolder], place: Path
) -> None:
    with serving(make("one"), place, message(problem="tar: no: \x1b[2J\nNo such file")):
        code, _, said = ct("cp-from", "no")
    assert (code, said) == (1, "ct: error: no was not copied: tar: no: \\x1b[2J\nNo such file\n")


def test_scores_are_shown_as_text(ct: Ct, make: Callable[..., SessionFolder], place: Path) -> None:
    result = {"success": None, "explanation": "no\x1b[2J verdict", "no_verdict": True}
    with serving(make("one"), place, message(scores={"main": result})):
        code, printed, _ = ct("score")
    assert code == 1
    assert printed.splitlines()[-1] == "main task  unscored  no\\x1b[2J verdict"
