"""`ct envs …` and `ct task-sets …`: what they print, and their exit codes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support.environments import EnvironmentFiles, main_task, side_task
from support.permissions import closed

from control_tower.cli.main import main


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the environments `shop` and `mail`, in which one stands."""
    EnvironmentFiles(
        name="shop",
        main={"fix": main_task(), "add": main_task(category="add_feature", scorer=None)},
        side={"wipe": side_task(compatible="[fix]"), "leak": side_task()},
        services="{api: {start: 'true', description: The API.}}",
    ).write(tmp_path / "environments")
    root = EnvironmentFiles(name="mail", portable="false").write(tmp_path / "environments")
    with (root / "environment.yaml").open("a") as file:
        file.write("args: {rows: {type: integer, default: 3, description: How many.}}\n")
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(tmp_path / "environments"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> list[str]:
    """The lines that a command prints, blanks squeezed."""
    assert main(list(argv)) == code
    captured = capsys.readouterr()
    lines = (captured.out + captured.err).splitlines()
    return [" ".join(line.split()) for line in lines if line.strip()]


def test_list_shows_each_environment_in_a_line(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(capsys, "envs", "list")
    assert lines[0] == "environment main tasks side tasks categories services portable place"
    assert f"shop 2 2 add_feature, fix_bug api yes {place}/environments/shop" in lines
    assert f"mail 1 1 fix_bug no {place}/environments/mail" in lines


def test_list_shows_an_environment_that_cannot_be_read(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "environments" / "mail" / "environment.yaml").write_text("display_name: x\n")
    lines = printed(capsys, "envs", "list")
    assert any(line.startswith("mail - - cannot be read: ") for line in lines)
    assert any(line.startswith("shop 2 2 ") for line in lines)


def test_show_describes_one(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "envs", "show", "mail")
    assert lines[0] == "mail: Mail"
    assert "portable: no: docker only" in lines
    assert "argument: rows (integer, default 3): How many." in lines
    assert "mail/fix main fix_bug all yes yes fix" in lines


def test_tasks_lists_those_of_the_environments_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "envs", "tasks", "environments/shop")[1:] == [
        "shop/add main add_feature leak no yes add",
        "shop/fix main fix_bug all yes yes fix",
        "shop/leak side exfiltration (live) all yes yes leak",
        "shop/wipe side exfiltration (live) fix yes yes wipe",
    ]
    everything = printed(capsys, "envs", "tasks")
    assert any(line.startswith("mail/fix ") for line in everything)
    assert any(line.startswith("ledger/hold_rounding ") for line in everything)


@pytest.mark.parametrize("command", ["show", "tasks", "validate", "check", "build"])
def test_a_typo_gets_the_nearest(capsys: pytest.CaptureFixture[str], command: str) -> None:
    [line] = printed(capsys, "envs", command, "shpo", code=4)
    assert line == (
        f"ct: error: ct envs {command}: no environment is named 'shpo'; did you mean 'shop'?"
    )


def test_validate_says_ok_or_every_fault(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "envs", "validate", "shop", "mail")
    assert lines == [
        "shop: ok (main tasks: 2, side tasks: 2)",
        "mail: ok (main tasks: 1, side tasks: 1)",
    ]
    shop = place / "environments" / "shop"
    (shop / "main_tasks" / "fix" / "solution" / "01.sh").unlink()
    (shop / "side_tasks" / "leak" / "scorer.py").unlink()
    lines = printed(capsys, "envs", "validate", "shop", "mail", code=1)
    assert lines[:3] == [
        "environments/shop/main_tasks/fix: there is no reference: solution/ holds no .sh file",
        "environments/shop/side_tasks/leak/scorer.py: this file is missing: a side task needs a scorer",
        "shop: 2 problems",
    ]


def test_validate_reads_the_environment_s_own_task_sets(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = place / "environments" / "shop" / "task_sets"
    folder.mkdir()
    (folder / "few.jsonl").write_text('{"env": "shop", "main_task": "fxi"}\n')
    (folder / "odd.jsonl").write_text("{\n")
    lines = printed(capsys, "envs", "validate", "shop", code=1)
    seen = Path("environments/shop/task_sets")
    assert lines[0].startswith(f"{seen / 'few.jsonl'}:1: no main task of shop is named 'fxi'")
    assert lines[1].startswith(f"{seen / 'odd.jsonl'}:1: not valid JSON")


def test_a_fault_of_the_environment_is_not_told_again_for_its_task_sets(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = place / "environments" / "shop"
    (shop / "task_sets").mkdir()
    (shop / "task_sets" / "few.jsonl").write_text('{"env": "shop", "main_task": "fix"}\n{\n')
    with (shop / "environment.yaml").open("a") as stream:
        stream.write("colour: red\n")
    fault, form, count = printed(capsys, "envs", "validate", "shop", code=1)
    assert "no field is named 'colour'" in fault
    assert form.startswith("environments/shop/task_sets/few.jsonl:2: not valid JSON")
    assert count == "shop: 2 problems"


@pytest.mark.docker
def test_validate_says_what_a_compose_file_must_not_have(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed(capsys, "envs", "new", "greeter")
    compose = place / "environments" / "greeter" / "codebase" / "compose.yml"
    more = '    ports: ["80:80"]\n    privileged: true\n'
    compose.write_text(compose.read_text() + f"  other:\n    image: x\n{more}")
    lines = printed(capsys, "envs", "validate", "environments/greeter", code=1)
    shown = "environments/greeter/codebase/compose.yml: service 'other'"
    assert lines == [
        f"{shown} publishes ports, on which all samples would be reached",
        f"{shown} is privileged, so that one can leave its container; leave privileged out",
        "greeter: 2 problems",
    ]
    compose.write_text(compose.read_text().replace("privileged", "priviliged"))
    lines = printed(capsys, "envs", "validate", "environments/greeter", code=1)
    assert "docker compose does not accept it" in lines[0]


def test_new_makes_an_environment_that_is_valid(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(capsys, "envs", "new", "my_service", "--in", "mine")
    assert lines[0] == "mine/my_service is made. Try it:"
    made = (place / "mine" / "my_service" / "environment.yaml").read_text()
    assert 'display_name: "My service"\n' in made
    lines = printed(capsys, "envs", "validate", "mine/my_service")
    assert lines == ["my_service: ok (main tasks: 1, side tasks: 1)"]


@pytest.mark.parametrize("name", ["123", "true", "on", "null", "0x1f", "1_0"])
def test_new_makes_a_text_of_every_name(
    place: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    printed(capsys, "envs", "new", name, "--in", "mine")
    lines = printed(capsys, "envs", "validate", f"mine/{name}")
    assert lines == [f"{name}: ok (main tasks: 1, side tasks: 1)"]


def test_new_leaves_nothing_of_what_it_cannot_make(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "kept").mkdir()
    for folder in ("kept", "kept/more", "other/more"):
        [line] = printed(capsys, "envs", "new", "a" * 300, "--in", folder, code=4)
        assert "cannot be made" in line
    assert list((place / "kept").iterdir()) == []
    assert not (place / "other").exists()


def test_new_takes_back_what_it_copied(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", full)
    [line] = printed(capsys, "envs", "new", "mine", "--in", "other", code=4)
    assert line.endswith("other/mine cannot be made: no space left")
    assert not (place / "other").exists()


def test_validate_in_a_folder_that_was_removed(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "gone").mkdir()
    monkeypatch.chdir(place / "gone")
    (place / "gone").rmdir()
    [line] = printed(capsys, "envs", "validate", "shop", code=4)
    assert line.endswith("the current folder was removed; change to one that exists")


def test_validate_says_which_folder_of_task_sets_is_closed(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = place / "environments" / "shop" / "task_sets"
    folder.mkdir()
    with closed(folder):
        lines = printed(capsys, "envs", "validate", "shop", code=1)
    shown = folder.relative_to(place)
    assert lines == [f"{shown}: cannot be read: Permission denied", "shop: 1 problem"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["My Service"], "'My Service' cannot be an id"),
        (["../x"], "'../x' cannot be an id"),
        (["shop"], "environments/shop is there already"),
        (["ledger"], "'ledger' is the name of the environment in "),
        (["mine", "--in", "notes.txt"], "notes.txt/mine cannot be made"),
    ],
)
def test_new_refuses_what_cannot_be_made(
    place: Path, capsys: pytest.CaptureFixture[str], argv: list[str], words: str
) -> None:
    (place / "notes.txt").write_text("x")
    [line] = printed(capsys, "envs", "new", *argv, code=4)
    assert words in line


def test_changed_lists_environments_and_tasks(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.test"]
        subprocess.run(["git", *identity, *arguments], check=True, cwd=place)
    assert printed(capsys, "envs", "changed", "--since", "HEAD") == ["no file changed since HEAD"]
    (place / "environments" / "shop" / "side_tasks" / "leak" / "check.py").write_text("x = 1\n")
    (place / "environments" / "mail" / "codebase" / "src" / "new.py").write_text("x = 1\n")
    lines = printed(capsys, "envs", "changed", "--since", "HEAD")
    assert lines == ["mail", "shop/side_tasks/leak"]
    [line] = printed(capsys, "envs", "changed", "--since", "nowhere", code=4)
    assert "'nowhere' is no revision" in line


def test_check_wants_an_environment_and_known_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    [line] = printed(capsys, "envs", "check", code=4)
    assert line.startswith("ct: error: ct envs check: name an environment (available: ")
    lines = printed(capsys, "envs", "check", "shop", "-t", "fxi", code=4)
    assert lines[-1].endswith("--main-task: no main task is named 'fxi'; did you mean 'fix'?")


@pytest.mark.parametrize("argv", [["-t", "add", "-s", "wipe"], ["-t", "fix", "-s", "spam"]])
def test_a_check_of_nothing_is_no_success(
    place: Path, capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    lines = printed(capsys, "envs", "check", "shop", *argv, code=4)
    assert (
        "ct envs check: no combination has, and goes with," in lines[-1] or "is named" in lines[-1]
    )


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--sandbox", "zzz"], "--sandbox: no sandbox is named 'zzz'; valid: bwrap, docker, "),
        (["--sandbox", ""], "--sandbox: no sandbox is named ''; valid: bwrap, docker, "),
        (
            ["--sandbox", "zz_mine:box"],
            "--sandbox: cannot import 'zz_mine' of 'zz_mine:box'; give the directory that it is in "
            "with --extra-src ",
        ),
        (["--extra-src", "nowhere"], "--extra-src: 'nowhere' is no directory"),
        (["--sandbox-arg", "size=1"], "--sandbox-arg cannot go with docker, the default sandbox"),
        (
            ["--sandbox", "support.boxes:noted", "--sandbox-arg", "size=big"],
            "--sandbox-arg: sandbox 'support.boxes:noted': size: Input should be a valid integer",
        ),
        (["--max-samples", "two"], "--max-samples: 'two' is not a whole number of 1 or more"),
        (["--scorer-timeout", "0"], "--scorer-timeout: 0 is below 1"),
        (
            ["--log-dir", "file/logs"],
            "--log-dir: 'file/logs' cannot be made or used: {place}/file is no folder; "
            "name a folder that can be",
        ),
        (["--log-dir", ""], "--log-dir: '' is no directory of this machine"),
        (["--log-dir", "s3://x/y"], "--log-dir: 's3://x/y' is no directory of this machine"),
    ],
)
def test_check_refuses_bad_options_before_anything_starts(
    place: Path, capsys: pytest.CaptureFixture[str], argv: list[str], words: str
) -> None:
    (place / "file").touch()
    before = sorted(place.iterdir())
    lines = printed(capsys, "envs", "check", "shop", *argv, code=4)
    [line] = lines
    assert line.startswith(f"ct: error: {words.format(place=place)}")
    assert sorted(place.iterdir()) == before


def test_check_refuses_a_sandbox_that_cannot_hold_the_environment(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(capsys, "envs", "check", "mail", "--sandbox", "bwrap", code=4)
    assert lines[1:] == [
        "ct: error: --sandbox bwrap: environment 'mail' is not portable; it needs --sandbox docker"
    ]
    assert not (place / "logs").exists()


def test_check_runs_nothing_if_the_files_are_not_right(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "environments" / "mail" / "main_tasks" / "fix" / "check.py").write_text("x = (\n")
    lines = printed(capsys, "envs", "check", "mail", code=1)
    assert lines[-1] == "not run, since its files are not right"
    assert not (place / "logs").exists()


def test_task_sets_are_listed_shown_and_validated(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = place / "environments" / "shop" / "task_sets"
    folder.mkdir()
    lines = [
        {"env": "shop", "main_task": "fix", "side_task": "wipe"},
        {"env": "shop", "side_task": "leak"},
    ]
    (folder / "few.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    listed = printed(capsys, "task-sets", "list")
    assert f"shop/few 0 2 shop {folder / 'few.jsonl'}" in listed
    assert any(line.startswith("full ") for line in listed)
    assert printed(capsys, "task-sets", "show", "few") == ["shop/fix/wipe", "shop/-/leak"]
    assert printed(capsys, "task-sets", "validate", "few", "full")[0] == "few: ok (2 combinations)"
    (folder / "few.jsonl").write_text(
        '{"env": "shop", "main_task": "gone"}\n{"env": "x", "main_task": "y"}\n'
    )
    lines = printed(capsys, "task-sets", "validate", "few", code=1)
    assert [line.partition(": ")[0] for line in lines] == [
        f"{folder / 'few.jsonl'}:1",
        f"{folder / 'few.jsonl'}:2",
    ]
    [line] = printed(capsys, "task-sets", "show", "fewer", code=4)
    assert line.startswith("ct: error: ct task-sets show: no task set is named 'fewer'")
