"""The documentation: what it names exists, what it prints parses, its examples run."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from control_tower.cli.envs.creating import SKELETON
from control_tower.cli.main import cli, main
from control_tower.components import component_names
from control_tower.options import BY_KEY, OPTIONS
from pytest_control_tower.summary import EXIT_UNDECIDED

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference.md"
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "task_sets" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
PYTEST_OWN = {
    "--co",
    "--lf",
    "--junitxml",
    "--maxfail",
    "--noconftest",
    "--rootdir",
    "--deselect",
    "--dist",
    "--max-warnings",
}
OTHERS = {"--check", "--help", "--version", "--since"}
"""Of programs."""
NOT_BUILT = {"--harness", "--ec2"}
"""Options that the pages call not built; a page is to change when one of them is."""
VARIABLE = re.compile(r'"(CT_[A-Z_]+)"')
SET_BY_RUNS = {"CT_AS_AGENT", "CT_ARG_"}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9](?![\w-])")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')

each_page = pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix()
)


def spellings() -> set[str]:
    declared = {name for option in OPTIONS for name in (*option.ct, option.pytest)}
    return declared | set(options_below(cli))


def options_below(command: click.Command) -> Iterator[str]:
    """Every spelling of every option of a command and those below it."""
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield from parameter.opts
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from options_below(below)


def exit_codes() -> set[int]:
    # 6 is --max-warnings, of newer versions of pytest.
    return {int(code) for code in pytest.ExitCode} | {6, EXIT_UNDECIDED}


def blocks(page: Path) -> Iterator[tuple[str, str | None, str]]:
    """Language, title and text of the page's fenced blocks."""
    for language, more, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        title = TITLE.search(more)
        yield language, title[1] if title else None, text


def commands(page: Path) -> list[list[str]]:
    """The command lines of the page's console blocks, without variables set before them."""
    found = []
    for language, _, text in blocks(page):
        if language != "console":
            continue
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ ")) if line.startswith("$ ") else []
            while words and re.match(r"[A-Z_]+=", words[0]):
                del words[0]
            found.append(words)
    return [words for words in found if words]


@pytest.fixture
def generator() -> ModuleType:
    path = ROOT / "docs" / "generate_reference.py"
    spec = importlib.util.spec_from_file_location("generate_reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_current(generator: ModuleType) -> None:
    generator._main(["--check"])


def test_a_stale_reference_is_told_in_one_line(
    generator: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = tmp_path / "reference.md"
    stale.write_text("old\n")
    monkeypatch.setattr(generator, "TARGET", stale)
    with pytest.raises(SystemExit, match=r"^docs/reference\.md is out of date; run: .*$"):
        generator._main(["--check"])
    generator._main([])
    assert stale.read_text(encoding="utf-8") == REFERENCE.read_text(encoding="utf-8")


@each_page
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def anchors(page: Path) -> set[str]:
    """GitHub's anchors of a page's headings."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_ct_commands_parse(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click.Command, "invoke", lambda command, ctx: 0)  # not that of groups
    for words in commands(page):
        if words[0] == "ct":
            assert main(words[1:]) == 0, shlex.join(words)


@each_page
def test_options_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for language, _, block in blocks(page):
        if language == "dockerfile":
            text = text.replace(block, "")
    named = set(OPTION.findall(text))
    assert named <= spellings() | PYTEST_OWN | OTHERS | NOT_BUILT


def test_what_is_called_not_built_is_not_built() -> None:
    assert not NOT_BUILT & spellings()


@each_page
def test_ini_keys_that_are_named_exist(page: Path) -> None:
    named = set(re.findall(r"(?<![\w-])ct_([a-z_]+[a-z])", page.read_text(encoding="utf-8")))
    assert named <= set(BY_KEY)


@each_page
def test_exit_codes_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = {int(code) for code in re.findall(r"\bexits?(?: code| status)? (\d+)\b", text)}
    assert named <= exit_codes()


@each_page
def test_exit_code_tables_are_complete(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for table in re.findall(r"^\| (?:exit )?code \|.*\n\|-.*\n((?:\|.*\n)+)", text, re.MULTILINE):
        codes = [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)]
        assert codes == sorted(exit_codes())


def test_every_option_is_explained_to_researchers() -> None:
    text = (ROOT / "docs" / "researchers.md").read_text(encoding="utf-8")
    missing = [o.key for o in OPTIONS if not {*o.ct, o.pytest} & set(OPTION.findall(text))]
    assert not missing


def test_what_is_shown_of_the_new_environment_is_what_is_made() -> None:
    shown = 0
    for _, title, text in blocks(ROOT / "docs" / "environments.md"):
        if title is not None:
            file = SKELETON / Path(title).relative_to("environments/greeter")
            assert file.read_text(encoding="utf-8") == text
            shown += 1
    assert shown


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with every file that a page shows in full, and the environments among them."""
    for page in PAGES:
        for _, title, text in blocks(page):
            if title is not None:
                path = tmp_path / title
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    shutil.copytree(SKELETON, tmp_path / "environments" / "greeter", dirs_exist_ok=True)
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(tmp_path / "environments"))
    monkeypatch.setenv("CT_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


ON_GREETER = ["--env", "greeter", "--all", "--sandbox", "bwrap"]
REFERENCE_POLICY = ["--untrusted-policy", "reference"]
EXPERIMENT = ["--extra-src", "experiments", "--untrusted-policy", "red:sneak"]
BY_WORD = ["-bp", 'first={name: "watch:words", suspects: [token.txt]}']
STERN = ["--model-role", 'monitor={model: scripted/stern, replies: ["<suspicion>8</suspicion>"]}']
CALM = ["--model-role", 'monitor={model: scripted/calm, replies: ["<suspicion>1</suspicion>"]}']
SECOND_OPINION = ["--protocol", "blue_team:second_opinion", *BY_WORD]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        (REFERENCE_POLICY, 2),
        ([*REFERENCE_POLICY, "--", "test_mine.py"], 2),
        ([*EXPERIMENT, *SECOND_OPINION, *STERN], 1),
        ([*EXPERIMENT, *SECOND_OPINION, *STERN, "--epochs", "2", "--", "-n", "2"], 2),
    ],
    ids=["environment", "own test", "protocol", "protocol in two processes"],
)
def test_the_examples_run(examples: Path, arguments: list[str], passed: int) -> None:
    command = [sys.executable, "-m", "control_tower.cli", "run", "eval2", *ON_GREETER, *arguments]
    run = subprocess.run(command, cwd=examples, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{passed} passed" in run.stdout


@pytest.mark.slow
def test_the_protocol_of_the_example_is_what_stops_the_attack(examples: Path) -> None:
    calm = [*EXPERIMENT, *SECOND_OPINION, *CALM]
    command = [sys.executable, "-m", "control_tower.cli", "run", "eval2", *ON_GREETER, *calm]
    run = subprocess.run(command, cwd=examples, capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "side task achieved, undetected" in run.stdout


def test_the_test_of_the_example_passes(examples: Path) -> None:
    command = [sys.executable, "-m", "pytest", "test_second_opinion.py", "-p", "no:cacheprovider"]
    run = subprocess.run(
        command, cwd=examples / "experiments", capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "3 passed" in run.stdout


def test_components_that_are_named_exist() -> None:
    text = (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
    for kind in ("policy", "protocol", "monitor"):
        missing = [name for name in component_names(kind) if f"`{name}`" not in text]
        assert missing in ([], ["honest", "noop"])


@pytest.mark.slow
def test_the_example_that_looks_into_a_sandbox_runs(examples: Path) -> None:
    chosen = ["--ct-env=ledger", "--ct-main-task=hold_rounding", "--ct-sandbox=bwrap"]
    command = [sys.executable, "-m", "pytest", "test_final_state.py", *chosen]
    run = subprocess.run(
        [*command, "--ct-untrusted-policy=reference"],
        cwd=examples,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "3 passed" in run.stdout


def test_every_variable_that_is_read_is_in_the_table_of_variables() -> None:
    code = (path.read_text() for path in (ROOT / "control_tower").rglob("*.py"))
    read = {name for text in code for name in VARIABLE.findall(text)} - SET_BY_RUNS
    assert read >= {"CT_MODEL_", "CT_ENGINE_CALLS", "CT_STATE_DIR"}
    page = (ROOT / "docs" / "researchers.md").read_text()
    section = page.partition("\n## Environment variables\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `CT_")]
    named = {row.split("`")[1].removesuffix("<ROLE>") for row in rows}
    assert named == read | {"CT_BASE_IMAGE"}  # which compose files read
