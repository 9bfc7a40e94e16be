"""What a user may write for a trajectory, and what is said of anything else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.recordings import recording, write_recording

from control_tower.errors import UsageProblem
from control_tower.trajectories.lookup import find_recording, find_recordings, load, recorded_runs
from control_tower.trajectories.store import TrajectoryStore

FLAG = "--trajectory-id"
BANK, BANK_2, SKIM, OTHER = "Kq3vT8mPzA", "Kq3vT9xYwB", "Lm5nR2cDfE", "Zz9yX8wVuT"


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log directory with two runs, in the current folder."""
    monkeypatch.chdir(tmp_path)
    first = TrajectoryStore(tmp_path / "logs" / "2026-01-01T10-00-00_aaaa1111")
    second = TrajectoryStore(tmp_path / "logs" / "2026-01-02T10-00-00_aabb2222")
    mine = {"run_id": "aaaa1111", "env": "ledger", "recorded_at": 1_800_000_000.0}
    first.write(recording(trajectory_id=BANK, **mine), sample_id="ledger/bank_lines/-")
    first.write(recording(trajectory_id=BANK_2, epoch=2, **mine), sample_id="ledger/bank_lines/-@2")
    first.write(
        recording(trajectory_id=SKIM, outcome="errored", error="it broke", **mine),
        sample_id="ledger/-/skim",
    )
    second.write(
        recording(trajectory_id=OTHER, run_id="aabb2222", metadata={"run_name": "night"}),
        sample_id="ledger/bank_lines/-",
    )
    return tmp_path / "logs"


def found(text: str, sample_id: str | None = None) -> list[str]:
    recordings = find_recordings(text, log_dir="logs", flag=FLAG, sample_id=sample_id)
    return [r.summary.trajectory_id for r in recordings]


def problem(text: str, sample_id: str | None = None, *, one: bool = False) -> str:
    with pytest.raises(UsageProblem) as caught:
        (find_recording if one else find_recordings)(
            text, log_dir="logs", flag=FLAG, sample_id=sample_id
        )
    line = str(caught.value)
    assert line.isprintable()
    assert len(line) < 2_000
    return line


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BANK, [BANK]),
        ("Lm5n", [SKIM]),
        ("Kq3vT9", [BANK_2]),
        ("ledger/-/skim", [SKIM]),
        ("ledger/bank_lines/-@2", [BANK_2]),
        ("aaaa1111", [SKIM, BANK, BANK_2]),
        ("aaaa", [SKIM, BANK, BANK_2]),
        ("2026-01-01T10-00-00_aaaa1111", [SKIM, BANK, BANK_2]),
        ("night", [OTHER]),
        ("logs", [OTHER, SKIM, BANK, BANK_2]),
        ("logs/2026-01-02T10-00-00_aabb2222", [OTHER]),
        ("logs/2026-01-02T10-00-00_aabb2222/", [OTHER]),
        ("./logs/2026-01-02T10-00-00_aabb2222/trajectories", [OTHER]),
        ("logs/2026-01-02T10-00-00_aabb2222/trajectories/ledger.bank_lines.-.json", [OTHER]),
    ],
)
def test_what_stands_for_trajectories(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.usefixtures("logs")
def test_epochs_are_told_apart_and_what_errored_is_kept() -> None:
    by_id = {r.summary.trajectory_id: r for r in find_recordings("logs", log_dir="x", flag=FLAG)}
    assert (by_id[BANK].summary.epoch, by_id[BANK_2].summary.epoch) == (1, 2)
    assert by_id[SKIM].summary.outcome == by_id[SKIM].load().outcome == "errored"


@pytest.mark.usefixtures("logs")
def test_a_reference_finds_just_that_one_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    references = [r.reference for r in find_recordings("logs", log_dir="logs", flag=FLAG)]
    monkeypatch.chdir("/")
    again = [find_recording(r, log_dir="none", flag=FLAG) for r in references]
    assert [r.summary.trajectory_id for r in again] == [OTHER, SKIM, BANK, BANK_2]


@pytest.mark.usefixtures("logs")
def test_a_path_is_a_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert found("~/logs/2026-01-02T10-00-00_aabb2222") == [OTHER]
    assert "nobody with that name" in problem("~no-such-user/x.json")


@pytest.mark.usefixtures("logs")
def test_a_sample_of_a_run_is_chosen_by_its_id() -> None:
    assert found("aaaa1111", "ledger/bank_lines/-@2") == [BANK_2]
    assert found("logs", SKIM) == [SKIM]
    assert problem("aaaa1111", "ledger/bank_line/-").endswith(
        "has no sample 'ledger/bank_line/-'; did you mean 'ledger/bank_lines/-' or "
        "'ledger/bank_lines/-@2'?"
    )
    assert "'logs' has 2 samples 'ledger/bank_lines/-': " in problem("logs", "ledger/bank_lines/-")
    assert problem("aaaa1111", "qqq").endswith(
        "there are: ledger/-/skim, ledger/bank_lines/-, ledger/bank_lines/-@2"
    )


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize("text", ["Kq3v", "ledger/bank_lines/-"])
def test_what_may_be_any_of_several_lists_them(text: str) -> None:
    line = problem(text)
    assert line.startswith(f"{FLAG}: '{text}' is ambiguous; it may be any of 2: ")
    assert f"{BANK} (ledger/bank_lines/-, run aaaa1111, 2027-01-" in line
    assert ", scored)" in line


@pytest.mark.usefixtures("logs")
def test_a_beginning_of_several_runs_lists_them(logs: Path) -> None:
    TrajectoryStore(logs / "2026-01-03_x").write(
        recording(trajectory_id="n", run_id="aaaa3333"), sample_id="mini/a/-"
    )
    assert problem("aaaa").endswith("ambiguous; it may be any of 2 runs: aaaa3333, aaaa1111")


@pytest.mark.usefixtures("logs")
def test_one_is_wanted_and_several_are_listed() -> None:
    assert find_recording(SKIM, log_dir="logs", flag=FLAG).summary.trajectory_id == SKIM
    line = problem("aaaa1111", one=True)
    assert "'aaaa1111' stands for 3 trajectories, and one is wanted: " in line
    assert line.endswith("give an id, or --sample-id")
    assert f"{SKIM} (ledger/-/skim, run aaaa1111, " in line


def test_of_many_the_first_ten_are_listed(logs: Path) -> None:
    store = TrajectoryStore(logs / "2026-01-03_many")
    for n in range(25):
        store.write(recording(trajectory_id=f"same{n:02}"), sample_id=f"mini/m{n:02}/-")
    for one, text in ((False, "same"), (True, "2026-01-03_many")):
        line = problem(text, one=one)
        assert line.count("mini/m") == 10
        assert "… (15 more)" in line


def test_a_run_that_was_copied_is_found_once(logs: Path) -> None:
    run = logs / "2026-01-02T10-00-00_aabb2222"
    copy = logs / "2026-01-09_copy"
    subprocess.run(["cp", "-a", run, copy], check=True)
    for text in (OTHER, "aabb2222", "Zz9y", "aabb2"):
        [one] = find_recordings(text, log_dir="logs", flag=FLAG)
        assert Path(one.reference).is_relative_to(copy)
    [one] = find_recordings(run.name, log_dir="logs", flag=FLAG)
    assert Path(one.reference).is_relative_to(run)


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty; give an id, a file or a folder"),
        ("  ", "it is empty"),
        ("nothing-like-it", "is no file, and no run in 'logs' has a trajectory of that id; `ct traj"),
        ("Kq3vT8mPzB", f"did you mean '{BANK}'"),
        ("ledger/bank_lnies/-", "did you mean 'ledger/bank_lines/-'"),
        ("Kq", "give at least 4 characters of an id"),
        ("missing.json", "'missing.json' is no file"),
        ("../../etc/none.json", "is no file"),
        ("https://example.org/api/trajectories/1", "cannot be fetched from an address yet"),
        ("HTTP://example.org", "cannot be fetched from an address yet"),
        ("s3://bucket/run.eval", "cannot be fetched from an address yet"),
        ("x" * 100_000, "is no file"),
        ("a\nb\x1b[31m\0", "'a b\\x1b[31m\\x00' is no file"),
    ],
)  # fmt: skip
def test_what_stands_for_nothing_says_why(text: str, reason: str) -> None:
    line = problem(text)
    assert line.startswith(f"{FLAG}: ")
    assert reason in line


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("cut.json", '{"environment": ', "cut.json: no trajectory: it is not valid JSON"),
        ("package.json", '{"name": "x"}', "package.json: no trajectory: environment: "),
        ("a.txt", "hello", "a.txt: no trajectory: it is not valid JSON"),
        ("new.json", '{"schema_version": 99}', "new.json: its schema_version is 99"),
        ("log.eval", "no zip", "log.eval: no Inspect log, or cut off"),
    ],
)
def test_a_file_that_is_no_trajectory_says_why(name: str, text: str, reason: str) -> None:
    Path(name).write_text(text)
    assert f"{FLAG}: {reason}" in problem(name).replace(f"{Path.cwd()}/", "")


@pytest.mark.usefixtures("logs")
def test_a_folder_is_taken_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    assert problem("mine") == f"{FLAG}: there is no trajectory in 'mine'"
    (folder / "x.eval").write_text("")
    assert problem("mine").endswith("it has an Inspect log, which can be named: mine/x.eval")
    write_recording(folder / "a.json", recording(trajectory_id="a"))
    assert found("mine") == ["a"]
    (folder / "b.json").write_text("{")
    (folder / "c.json").write_text("{")
    line = problem("mine")
    assert line.startswith(f"{FLAG}: mine/b.json: no trajectory: ")
    assert line.endswith("(and 1 more)")


@pytest.mark.usefixtures("logs")
def test_pipes_and_devices_are_refused_at_once() -> None:
    os.mkfifo("pipe.json")
    assert problem("pipe.json") == f"{FLAG}: 'pipe.json' is no regular file"
    assert problem("/dev/zero") == f"{FLAG}: '/dev/zero' is no regular file"


def test_a_broken_file_of_another_run_does_not_hide_the_rest(logs: Path) -> None:
    broken = logs / "2026-01-01T10-00-00_aaaa1111" / "trajectories" / "broken.json"
    broken.write_text("{")
    assert found(BANK) == [BANK]
    assert "broken.json: no trajectory" in problem("nothing-like-it")
    assert len(recorded_runs("logs", flag="--log-dir").unreadable) == 1


def test_ids_of_hostile_recordings_cannot_spoil_the_line(logs: Path) -> None:
    store = TrajectoryStore(logs / "2026-01-04_odd")
    for n in range(2):
        odd = recording(trajectory_id=f"\x1b[2J../../{n}", run_id="\n" * 250)
        store.write(odd, sample_id=f"mini/odd{n}/-")
    assert "\\x1b[2J../../0 (mini/odd0/-" in problem("\x1b[2J")
    assert found("\x1b[2J../../1") == ["\x1b[2J../../1"]


def test_a_log_directory_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="no run in 'nowhere'"):
        find_recordings("abcd", log_dir="nowhere", flag=FLAG)
    with pytest.raises(UsageProblem, match="nobody with that name"):
        find_recordings("abcd", log_dir="~nobody-there/logs", flag=FLAG)


@pytest.mark.usefixtures("logs")
def test_loading_what_is_gone_is_the_users_to_mend() -> None:
    one = find_recording(SKIM, log_dir="logs", flag=FLAG)
    assert load(one, flag=FLAG).trajectory_id == SKIM
    Path(one.reference).unlink()
    with pytest.raises(UsageProblem, match=f"{FLAG}: .*cannot be read: No such file"):
        load(one, flag=FLAG)


@pytest.mark.usefixtures("logs")
def test_looking_up_does_not_import_inspect() -> None:
    code = (
        "import sys; from control_tower.trajectories.lookup import find_recordings; "
        "find_recordings('logs', log_dir='logs', flag='x'); "
        "print([m for m in ('inspect_ai', 'pytest', 'docker') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert json.loads(result.stdout) == []
