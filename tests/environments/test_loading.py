"""Loading environments: what authors' files become, and one clear line for what is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from support.environments import EnvironmentFiles, main_task, side_task

from control_tower.environments import documents
from control_tower.environments.discovery import LIBRARY
from control_tower.environments.documents import _report_repetitions
from control_tower.environments.loading import load_environment
from control_tower.environments.model import Environment
from control_tower.environments.problems import Problems
from control_tower.errors import UsageProblem

MAIN_INFO = "main_tasks/fix/info.yml"
SIDE_INFO = "side_tasks/leak/info.yml"
YAML = "environment.yaml"
BASE = "display_name: Mini\nshort_description: x\n"
MAIN_BASE = "name: Fix\ntask_category: fix_bug\n"
SIDE_BASE = "name: Leak\ntask_category: exfiltration\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return EnvironmentFiles().write(tmp_path)


def refusal(root: Path) -> str:
    """What is said, without the line in the file."""
    with pytest.raises(UsageProblem) as caught:
        load_environment(root)
    message = str(caught.value)
    assert "\n" not in message
    return re.sub(r"(\.ya?ml):[0-9]+: ", r"\1: ", message)


def test_the_line_of_a_fault_is_said(root: Path) -> None:
    file = root / "environment.yaml"
    file.write_text(BASE + "services:\n  api:\n    start: x\n    ready_timeout: 0\n")
    with pytest.raises(UsageProblem) as caught:
        load_environment(root)
    assert str(caught.value).startswith(f"{file}:6: services.api.ready_timeout: must be greater")


def test_a_field_that_is_there_twice_is_refused(root: Path) -> None:
    (root / "environment.yaml").write_text(BASE + "network: none\nnetwork: internet\n")
    assert refusal(root).endswith("environment.yaml: 'network' is there twice, first in line 3")


def test_every_bundled_environment_loads() -> None:
    directories = [path.parent for path in LIBRARY.glob("*/environment.yaml")]
    assert directories
    for directory in directories:
        assert load_environment(directory).id == directory.name


def test_what_the_files_say_is_what_is_loaded(tmp_path: Path) -> None:
    root = EnvironmentFiles(
        main={"b": main_task(setup="true\n"), "a": main_task(scorer=None)},
        side={"leak": side_task(compatible="[a]")},
        services="{api: {start: sh run.sh, ready: 'true', ready_timeout: 5}}",
    ).write(tmp_path)
    (root / "docs" / "attack_surface.md").write_text("Weak spots.\n")
    (root / "side_tasks" / "leak" / "docs" / "scoring_details.md").write_text("How it is seen.\n")
    environment = load_environment(root)
    assert environment.id == "mini"
    assert environment.description == "A tiny system.\n"
    assert environment.attack_surface == "Weak spots.\n"
    assert environment.source == root / "codebase" / "src"
    assert environment.info.services["api"].ready_timeout == 5
    assert environment.info.portable == ("python3", "sh")
    assert list(environment.main_tasks) == ["a", "b"]
    a, b = environment.main_tasks.values()
    assert (a.scorer, b.scorer) == (None, root / "main_tasks" / "b" / "scorer.py")
    assert (a.setup, b.setup) == (None, root / "main_tasks" / "b" / "setup.sh")
    leak = environment.side_tasks["leak"]
    assert leak.goal == "Do leak in secret.\n"
    assert leak.scoring_details == "How it is seen.\n"
    assert leak.compatible_with("a")
    assert not leak.compatible_with("b")


def test_references_are_the_shell_scripts_in_name_order(root: Path) -> None:
    for folder in ("main_tasks/fix/solution", "side_tasks/leak/attack"):
        for name in ("10-last.sh", "02-second.sh", "notes.md"):
            (root / folder / name).write_text("true\n")
    environment = load_environment(root)
    expected = ["01.sh", "02-second.sh", "10-last.sh"]
    assert [p.name for p in environment.main_tasks["fix"].solution] == expected
    assert [p.name for p in environment.side_tasks["leak"].attack] == expected


def test_files_of_a_task_are_a_folder_or_nothing(root: Path) -> None:
    task = root / "main_tasks" / "fix"
    assert load_environment(root).main_tasks["fix"].files is None
    (task / "files").mkdir()
    assert load_environment(root).main_tasks["fix"].files == task / "files"


def test_an_environment_needs_no_tasks_and_no_docs(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / YAML).write_text(BASE)
    environment = load_environment(tmp_path / "bare")
    assert (environment.main_tasks, environment.side_tasks) == ({}, {})
    assert environment.description == ""


def test_defaults_are_the_careful_ones(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / YAML).write_text(BASE)
    info = load_environment(tmp_path / "bare").info
    assert (info.network, info.portable, info.workspace) == ("none", False, "/app")


@pytest.mark.parametrize("file", [YAML, MAIN_INFO, SIDE_INFO, "side_tasks/leak/docs/goal.md"])
def test_a_missing_file_is_named(root: Path, file: str) -> None:
    (root / file).unlink()
    assert refusal(root) == f"{root / file}: this file is missing"


def test_hidden_and_private_folders_are_no_tasks(root: Path) -> None:
    (root / "main_tasks" / "__pycache__").mkdir()
    (root / "main_tasks" / ".idea").mkdir()
    (root / "main_tasks" / "README.md").write_text("How to add a task.\n")
    assert list(load_environment(root).main_tasks) == ["fix"]


@pytest.mark.parametrize("file", [YAML, MAIN_INFO, SIDE_INFO])
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name: [unclosed\n", "not valid YAML: "),
        ("a: b: c\n", "not valid YAML: "),
        ("", "expected a mapping of fields"),
        ("- a list\n", "expected a mapping of fields"),
        ("just text\n", "expected a mapping of fields"),
    ],
)
def test_malformed_yaml_is_named(root: Path, file: str, text: str, complaint: str) -> None:
    (root / file).write_text(text)
    assert refusal(root).startswith(f"{root / file}: {complaint}")


def test_a_file_that_is_not_utf8_is_named(root: Path) -> None:
    (root / "docs" / "description.md").write_bytes(b"caf\xe9")
    assert refusal(root).startswith(f"{root / 'docs' / 'description.md'}: cannot be read: ")


@pytest.mark.parametrize(
    ("file", "text", "field"),
    [
        (YAML, BASE + "portable: true\n", "portable"),
        (YAML, BASE + "workspace: /app/../etc\n", "workspace"),
        (YAML, BASE + "workspace: /\n", "workspace"),
        (YAML, BASE + "services: {api: {ready_timeout: 0}}\n", "services.api.ready_timeout"),
        (MAIN_INFO, MAIN_BASE + "description: [a]\n", "description"),
        (MAIN_INFO, "name: Fix\ntask_category: mend\ndescription: x\n", "task_category"),
        (SIDE_INFO, SIDE_BASE + "failure_type: later\n", "failure_type"),
        (
            SIDE_INFO,
            SIDE_BASE + "failure_type: live\ncompatible_main_tasks: some\n",
            "compatible_main_tasks",
        ),
    ],
)
def test_a_bad_field_is_named_with_its_file(root: Path, file: str, text: str, field: str) -> None:
    (root / file).write_text(text)
    message = refusal(root)
    assert message.startswith(f"{root / file}: {field}")
    assert message[len(f"{root / file}: {field}")] in ":."


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        (YAML, BASE + "protable: x\n", "no field is named 'protable'; did you mean 'portable'?"),
        (YAML, BASE + "1: x\n", "1: Keys should be strings"),
        (MAIN_INFO, MAIN_BASE + "description: x\nscorer: y\n", "no field is named 'scorer'; "),
        (SIDE_INFO, SIDE_BASE + "failure_type: live\ngoal: x\n", "no field is named 'goal'; "),
        (YAML, "display_name: Mini\n", "the field 'short_description' is missing"),
        (MAIN_INFO, MAIN_BASE, "the field 'description' is missing"),
        (SIDE_INFO, SIDE_BASE, "the field 'failure_type' is missing"),
        (YAML, BASE + "services: {api: {strat: x}}\n", "no field is named 'services.api.strat'"),
        (YAML, BASE + "services: 3\n", "services: must be a mapping (it is 3)"),
        (YAML, BASE + "tech_stack: python\n", 'tech_stack: must be a list (it is "python")'),
        (YAML, BASE + "portable: true\n", "portable: must be a list (it is true)"),
        (
            YAML,
            "short_description: x\ndisplay_name: [a]\n",
            'display_name: must be a text (it is ["a"])',
        ),
        (YAML, BASE + "network: some\n", "network: must be 'none' or 'internet' (it is \"some\")"),
    ],
)
def test_field_problems_are_said_in_plain_words(
    root: Path, file: str, text: str, complaint: str
) -> None:
    (root / file).write_text(text)
    assert refusal(root).startswith(f"{root / file}: {complaint}")


def test_a_compatible_main_task_must_exist(root: Path) -> None:
    (root / SIDE_INFO).write_text(SIDE_BASE + "failure_type: live\ncompatible_main_tasks: [fxi]\n")
    assert refusal(root) == (
        f"{root / SIDE_INFO}: compatible_main_tasks: no main task is named 'fxi'; "
        "did you mean 'fix'?"
    )


@pytest.mark.parametrize("name", ["Mini", "mini env", "mini@2", "-mini", "mini.1", "mini:x", "é"])
@pytest.mark.parametrize("what", ["environment", "main_tasks", "side_tasks"])
def test_ids_that_would_not_do_in_a_node_id_are_refused(
    tmp_path: Path, what: str, name: str
) -> None:
    files = {
        "environment": EnvironmentFiles(name=name),
        "main_tasks": EnvironmentFiles(main={name: main_task()}),
        "side_tasks": EnvironmentFiles(side={name: side_task()}),
    }[what]
    assert f"'{name}' cannot be an id" in refusal(files.write(tmp_path))


@pytest.mark.parametrize("name", ["a", "a-b_c", "2fa"])
def test_ids_of_letters_digits_hyphens_and_underscores_do(tmp_path: Path, name: str) -> None:
    assert load_environment(EnvironmentFiles(name=name).write(tmp_path)).id == name


def describe(root: Path, description: str) -> Environment:
    (root / MAIN_INFO).write_text(MAIN_BASE + f"description: {description}\n")
    return load_environment(root)


def test_a_description_may_be_in_a_file(root: Path) -> None:
    (root / "main_tasks" / "fix" / "docs").mkdir()
    (root / "main_tasks" / "fix" / "docs" / "task.md").write_text("Mend it.\n")
    environment = describe(root, "{file: docs/task.md}")
    assert environment.main_tasks["fix"].info.description == "Mend it.\n"


@pytest.mark.parametrize("name", ["../../docs/description.md", "/etc/hostname", "../secret.md"])
def test_a_description_file_outside_the_task_is_refused(root: Path, name: str) -> None:
    (root / "main_tasks" / "secret.md").write_text("secret")
    with pytest.raises(UsageProblem, match="is outside the task"):
        describe(root, f"{{file: {name}}}")


def test_a_link_does_not_lead_a_description_outside(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (root / "main_tasks" / "fix" / "task.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(UsageProblem, match="is outside the task"):
        describe(root, "{file: task.md}")


def test_a_description_file_that_is_not_there_is_named(root: Path) -> None:
    with pytest.raises(UsageProblem, match=r"fix/task\.md: this file is missing$"):
        describe(root, "{file: task.md}")


@pytest.mark.parametrize("value", ["{path: x}", "{file: x, more: y}", "{file: 1}", "{}"])
def test_any_other_mapping_is_no_description(root: Path, value: str) -> None:
    with pytest.raises(UsageProblem, match=r"description: use a text or \{file: NAME\}"):
        describe(root, value)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("args: &x {b: *x}\n", "it holds more than 100,000 values"),
        ("args: {since: 2024-13-45}\n", "not valid YAML: "),
        ("tech_stack: {2024-01-01: x}\n", "tech_stack: must be a list"),
        ("services:\n  a: {ready: x, ready: y}\n", "'ready' is there twice, first in line 4"),
        ("tech_stack: [{a: 1, a: 2}]\n", "'a' is there twice, first in line 3"),
        (
            "args: {k: {type: string, default: null}}\n",
            "args.k.default: must be a text, a number, or true or false (it is null)",
        ),
    ],
)
def test_odd_yaml_is_one_line(root: Path, more: str, words: str) -> None:
    (root / YAML).write_text(BASE + more)
    assert refusal(root).startswith(f"{root / YAML}: {words}")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("!!bool foo", "'foo' is no bool"),
        ("!!timestamp foo", "'foo' is no timestamp"),
        ("!!int ''", "'' is no int"),
        ("!!int _", "'_' is no int"),
        ("!!float ''", "'' is no float"),
        ("!!float x", "'x' is no float"),
        ("2024-13-45", "'2024-13-45' is no timestamp"),
        ("0x" + "f" * 6000, f"'0x{'f' * 78}…' is no int"),
        ("1" + ":59" * 3000, f"'1{':59' * 26}:…' is no int"),
        ("9" * 6000, f"'{'9' * 80}…' is no int"),
        ("1" + ":59" * 300 + ".5", f"'1{':59' * 26}:…' is no float"),
        ('"\\UFFFFFFFF"', ""),
    ],
)
def test_a_value_that_does_not_fit_its_tag(root: Path, value: str, words: str) -> None:
    (root / YAML).write_text(BASE + f"portable: {value}\n")
    assert refusal(root).startswith(f"{root / YAML}: not valid YAML: {words}")


def test_half_a_character_can_be_printed(root: Path) -> None:
    (root / YAML).write_text(BASE + 'portable: "\\ud800"\n')
    assert refusal(root).endswith('portable: must be a list (it is "\\ud800")')


@pytest.mark.parametrize("form", ["[{}]", "{{<<: [{}]}}"])
def test_aliases_that_stand_for_too_much_are_refused(root: Path, form: str) -> None:
    lines = ["display_name: &a0 {k: l}"]
    for level in range(1, 7):
        tens = ", ".join([f"*a{level - 1}"] * 10)
        lines.append(f"b{level}: &a{level} {form.format(tens)}")
    (root / YAML).write_text("\n".join(lines) + "\n")
    words = "it holds more than 100,000 values with its aliases (*name) written out; use fewer"
    assert refusal(root) == f"{root / YAML}: {words}"


def test_a_wrong_value_is_read_no_further_than_it_is_shown() -> None:
    class Endless(list[str]):
        def __iter__(self) -> Iterator[str]:
            while True:
                yield "x"

    assert documents._as_json(Endless("x")) == ""


@pytest.mark.parametrize("name", ["loop", '"a\\0b"', "pipe", "."])
def test_a_description_s_file_that_cannot_be_read_is_named(root: Path, name: str) -> None:
    task = root / "main_tasks" / "fix"
    (task / "loop").symlink_to("loop")
    os.mkfifo(task / "pipe")
    (root / MAIN_INFO).write_text(MAIN_BASE + f"description: {{file: {name}}}\n")
    assert refusal(root).startswith(str(task))


def test_many_aliases_are_looked_at_once_each(root: Path) -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    problems = Problems()
    text = "\n".join(lines) + "\nb: 1\nb: 2\n"
    _report_repetitions(root, yaml.compose(text, Loader=yaml.SafeLoader), problems)
    assert [problem.words for problem in problems] == ["'b' is there twice, first in line 41"]
