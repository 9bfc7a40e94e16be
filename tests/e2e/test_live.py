"""`ct live` from `up` to `down`, in bwrap: commands, files, scores, crashes, and what is left."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.environments import EnvironmentFiles, main_task
from support.sessions import ControlPytester
from support.waiting import wait_until

pytestmark = pytest.mark.slow
CT = [sys.executable, "-m", "control_tower.cli"]
HEEDS_CTRL_C = ["env", "--default-signal=INT"]
"""Before a command, since whoever runs the tests may ignore the signal, and so would it."""


@pytest.fixture
def ct(control: ControlPytester) -> Iterator[ControlPytester]:
    """`ct`, with the environment `mini`; sessions are removed at the end."""
    control.environment()
    yield control
    control.ct("live", "down", "--all")


def up(ct: ControlPytester, *more: str) -> None:
    flags = ("-e", "mini", "-t", "fix", "--sandbox", "bwrap")
    result = ct.ct("live", "up", *flags, *more)
    assert result.ret == 0, result.stderr.str()


def status(ct: ControlPytester) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ct.ct("live", "status", "--json").outlines]


def live(ct: ControlPytester, *args: str, code: int = 0) -> list[str]:
    """What `ct live …` prints."""
    result = ct.ct("live", *args)
    assert result.ret == code, result.stderr.str()
    return result.outlines if code in (0, 1) and result.outlines else result.errlines


def state(ct: ControlPytester) -> Path:
    return ct.pytester.path / "state"


def record_of(ct: ControlPytester, name: str = "mini-fix") -> list[dict[str, Any]]:
    """What was done in a session."""
    lines = (state(ct) / "live" / name / "steps.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def process_of(ct: ControlPytester, name: str = "mini-fix") -> int:
    return int((state(ct) / "live" / name / "lock").read_text())


def test_a_session_is_worked_in_scored_and_taken_down(ct: ControlPytester) -> None:
    up(ct)
    assert [(s["name"], s["state"], s["current"]) for s in status(ct)] == [("mini-fix", "up", True)]
    assert live(ct, "exec", "--", "pwd; ls") == ["/app", "README.md"]
    assert live(ct, "exec", "--", "exit 3", code=3) == []
    assert live(ct, "score", code=1)[-1].startswith("main task  not done")
    (ct.pytester.path / "answer.txt").write_text("yes\n")
    assert live(ct, "cp-to", "answer.txt", "main.txt") == ["answer.txt is /app/main.txt"]
    assert live(ct, "score")[-1].startswith("main task  done")
    assert live(ct, "cp-from", "main.txt", "back.txt") == ["main.txt is back.txt"]
    assert (ct.pytester.path / "back.txt").read_text() == "yes\n"
    [recorded] = live(ct, "record")
    trajectory = json.loads(Path(ct.pytester.path, recorded.partition(": ")[2]).read_text())
    assert (trajectory["main_task_success"], len(trajectory["actions"])) == (True, 3)
    assert live(ct, "down") == ["session 'mini-fix' is down"]
    assert not list(state(ct).glob("run-*"))
    assert status(ct) == []


def test_what_was_done_is_replayed_and_scored(ct: ControlPytester) -> None:
    up(ct)
    live(ct, "exec", "--", "echo yes > main.txt")
    live(ct, "score")
    result = ct.ct("run", "rerun-traj", "--from-live", "--sandbox", "bwrap")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["mini/fix/-  main  success   success  1 of 1 *the same"])


def test_an_environment_that_was_named_by_its_folder_is_replayed_in_it(
    ct: ControlPytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = ct.pytester.mkdir("mine")
    shutil.move(ct.environments / "mini", mine / "little")
    monkeypatch.delenv("CT_ENVIRONMENTS_PATH")
    monkeypatch.chdir(mine)
    result = ct.ct("live", "up", "-e", "./little", "-t", "fix", "--sandbox", "bwrap")
    assert result.ret == 0, result.stderr.str()
    live(ct, "exec", "--", "echo yes > main.txt")
    live(ct, "score")
    live(ct, "record", "-o", "kept.json")
    for what in (["--from-live"], ["kept.json", "-e", "./little"]):
        result = ct.ct("run", "rerun-traj", *what, "--sandbox", "bwrap")
        assert result.ret == 0, result.stdout.str()
        result.stdout.fnmatch_lines(["* main  success   success  1 of 1 *the same"])


def test_a_copy_that_cannot_be_is_one_line(ct: ControlPytester) -> None:
    up(ct)
    [line] = live(ct, "cp-from", "no/such", code=1)
    assert line == (
        "ct: error: no/such was not copied: there is no /app/no/such in the sandbox, or the agent "
        "cannot read it"
    )
    ct.pytester.path.joinpath("note").write_text("x")
    [line] = live(ct, "cp-to", "note", "/proc/x/", code=1)
    assert (
        line == "ct: error: note was not copied: the agent cannot write to /proc/x in the sandbox"
    )


def test_what_is_wrong_with_the_environment_is_told_from_a_task_that_is_not_done(
    ct: ControlPytester,
) -> None:
    up(ct)
    live(ct, "score", code=1)
    (ct.environments / "mini" / "main_tasks" / "fix" / "scorer.py").write_text("def score(:\n")
    [line] = live(ct, "score", code=4)
    assert "scorer.py" in line


def test_a_sandbox_of_ones_own_may_be_anywhere(ct: ControlPytester) -> None:
    mine = ct.pytester.mkdir("mine")
    (mine / "my_boxes.py").write_text(
        "from inspect_ai.util import sandboxenv\n"
        "from support.boxes import NotedBox\n"
        "@sandboxenv(name='mine')\n"
        "class Mine(NotedBox): ...\n"
    )
    flags = ("-e", "mini", "-t", "fix", "--sandbox", "my_boxes:mine")
    assert "my_boxes" in ct.ct("live", "up", *flags).stderr.str()
    result = ct.ct("live", "up", *flags, "--extra-src", "mine")
    assert result.ret == 0, result.stderr.str()
    live(ct, "exec", "--", "echo yes > main.txt")
    assert live(ct, "score")[-1].startswith("main task  done")
    assert live(ct, "record")[0].startswith("trajectory: ")


def test_a_session_whose_process_is_killed_is_dead_and_keeps_what_was_done(
    ct: ControlPytester,
) -> None:
    up(ct)
    live(ct, "exec", "--", "echo yes > main.txt")
    with subprocess.Popen(
        [*CT, "live", "exec", "--", "echo begun; sleep 300"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"begun\n"
        os.kill(process_of(ct), signal.SIGKILL)
        assert process.wait(60) == 1
        assert b"the session's process has ended" in process.stderr.read()
    [session] = status(ct)
    assert (session["state"], session["note"]) == ("dead", "its process has ended")
    [line] = live(ct, "exec", "--", "ls", code=4)
    assert "session 'mini-fix' is dead" in line
    assert live(ct, "solution", "--print") == ["# step 0: 01-exec.sh", "echo yes > main.txt"]
    assert ct.ct("sandbox", "clean").ret == 0
    assert not list(state(ct).glob("run-*"))
    assert ct.ct("live", "record").ret == 0
    assert live(ct, "down") == ["session 'mini-fix' was dead; what it left is removed"]
    assert not list((state(ct) / "live").glob("mini*"))


def test_others_leave_a_session_alone(ct: ControlPytester) -> None:
    up(ct)
    assert "nothing to remove" in ct.ct("sandbox", "clean").stdout.str()
    assert ct.ct("run", "eval2", "-e", "mini", "--env-only", "--untrusted-policy", "reference",
                 "--sandbox", "bwrap").ret == 0  # fmt: skip
    assert live(ct, "exec", "--", "echo still here") == ["still here"]


def test_two_sessions_and_which_is_meant(ct: ControlPytester) -> None:
    up(ct)
    up(ct, "--name", "other")
    live(ct, "exec", "--", "echo other > who")
    live(ct, "switch", "mini-fix")
    assert live(ct, "exec", "--", "cat who", code=1) == ["cat: who: No such file or directory"]
    assert live(ct, "exec", "-n", "other", "--", "cat who") == ["other"]
    assert "did you mean 'other'" in live(ct, "exec", "-n", "othr", "--", "ls", code=4)[0]
    assert sorted(live(ct, "down", "--all")) == [
        "session 'mini-fix' is down",
        "session 'other' is down",
    ]


def test_a_command_that_takes_too_long_or_prints_too_much(ct: ControlPytester) -> None:
    up(ct)
    result = ct.ct("live", "exec", "--timeout", "1", "--", "echo begun; sleep 60")
    assert result.ret == 124
    assert "did not finish within 1 seconds" in result.stderr.str()
    much = subprocess.run(
        [*CT, "live", "exec", "--", "head -c 100000000 /dev/zero | tr '\\0' x; echo end"],
        capture_output=True,
        check=True,
    )
    lost = re.fullmatch(rb"ct: (\d+) KiB of it came too fast, and are not shown\n", much.stderr)
    assert set(much.stdout) <= set(b"xend\n")
    missing = 100_000_000 + len("end\n") - len(much.stdout)
    assert missing == 0 if lost is None else -(-missing // 1024) == int(lost[1])
    assert lost or not much.stderr
    assert (state(ct) / "live" / "mini-fix" / "steps.jsonl").stat().st_size < 1_000_000


def test_output_comes_while_the_command_runs_and_others_are_served(ct: ControlPytester) -> None:
    up(ct)
    script = "echo begun; echo oops >&2; until [ -e go ]; do sleep 0.1; done; echo ended; exit 5"
    with subprocess.Popen(
        [*CT, "live", "exec", "--", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"begun\n"
        assert process.stderr.readline() == b"oops\n"
        live(ct, "exec", "--", "touch go")
        assert process.stdout.read() == b"ended\n"
        assert process.wait(60) == 5
    [first, second] = record_of(ct)
    assert (first["command"], second["command"]) == ("touch go", script)
    assert second["output"] == "begun\nended\noops\n[exit code 5]"


def test_ctrl_c_ends_the_command_and_not_the_session(ct: ControlPytester) -> None:
    up(ct)
    command = [*CT, "live", "exec", "--", "touch begun; sleep 300"]
    with subprocess.Popen([*HEEDS_CTRL_C, *command], start_new_session=True) as process:
        wait_until(lambda: "begun" in live(ct, "exec", "--", "ls"))
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    wait_until(lambda: live(ct, "exec", "--", "pgrep -c sleep || true") == ["0"])
    assert status(ct)[0]["state"] == "up"


def test_a_start_that_is_stopped_leaves_nothing(ct: ControlPytester) -> None:
    setup = "sleep 300"
    EnvironmentFiles(main={"fix": main_task(setup=setup)}).write(ct.environments)
    command = [*CT, "live", "up", "-e", "mini", "-t", "fix", "--sandbox", "bwrap"]
    with subprocess.Popen(
        [*HEEDS_CTRL_C, *command], stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stderr is not None
        while b"setting up" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 1
        assert b"nothing of the session is left" in process.stderr.read()
    assert status(ct) == []
    assert not list(state(ct).glob("run-*"))


def test_a_start_can_be_taken_down_by_another(ct: ControlPytester) -> None:
    EnvironmentFiles(main={"fix": main_task(setup="sleep 300")}).write(ct.environments)
    command = [*CT, "live", "up", "-e", "mini", "-t", "fix", "--sandbox", "bwrap"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        while b"setting up" not in process.stderr.readline():
            pass
        [session] = status(ct)
        assert (session["state"], session["note"]) == ("starting", "setting up the tasks")
        assert "is still starting (setting up the tasks)" in live(ct, "exec", "--", "ls", code=4)[0]
        assert live(ct, "down") == ["session 'mini-fix' is down"]
        assert process.wait(60) == 1
        assert b"it was told to end while it started" in process.stderr.read()
    assert status(ct) == []
    assert not list(state(ct).glob("run-*"))


def test_a_start_that_fails_says_why_and_leaves_nothing(ct: ControlPytester) -> None:
    EnvironmentFiles(main={"fix": main_task(setup="echo no luck >&2; exit 7")}).write(
        ct.environments
    )
    result = ct.ct("live", "up", "-e", "mini", "-t", "fix", "--sandbox", "bwrap")
    assert result.ret == 1
    assert "set-up of task 'fix' failed (exit 7): no luck" in result.stderr.str()
    assert status(ct) == []
    assert not list(state(ct).glob("run-*"))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["-e", "minni", "-t", "fix"], "did you mean 'mini'?"),
        (["-e", "mini", "-t", "fixx"], "did you mean 'fix'?"),
        (["-e", "mini", "-s", "leek"], "did you mean 'leak'?"),
        (["-e", "mini", "-ea", "rows=1"], "no argument of a selected environment is named 'rows'"),
        (["-e", "mini", "-t", "fix", "--no-internet", "--sandbox", "bwrap"], "--no-internet"),
        (["-e", "mini", "-t", "fix", "--name", "No Name"], "cannot name a session"),
        (["-t", "fix"], "name the environment with --env"),
        (
            ["-e", "mini", "-t", "fix", "--log-dir", "/dev/null/logs"],
            "'/dev/null' cannot be written to",
        ),
        (["-e", "mini", "-t", "fix", "--log-dir", "/proc/logs"], "'/proc' cannot be written to"),
        (["-e", "mini", "-t", "fix", "--extra-src", "nowhere"], "'nowhere' is no directory"),
    ],
)
def test_a_wrong_start_is_one_line(ct: ControlPytester, args: list[str], words: str) -> None:
    result = ct.ct("live", "up", *args)
    assert result.ret == 4
    [line] = result.errlines
    assert words in line


def test_a_task_is_worked_on_before_it_has_a_scorer(ct: ControlPytester) -> None:
    (ct.environments / "mini" / "main_tasks" / "fix" / "scorer.py").unlink()
    up(ct)
    assert "the task has no scorer" in live(ct, "score", code=1)[-1]
