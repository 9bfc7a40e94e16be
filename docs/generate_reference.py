"""Writes `reference.md` from the code, or with `--check` says whether it is current.

python docs/generate_reference.py [--check]
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from control_tower import blue, declarations, scripted
from control_tower.cli.main import cli
from control_tower.components import Component, Kind, component_names, decorators, find_component
from control_tower.components.spelling import type_words, value_text
from control_tower.contracts import decisions, parts, teams, turn
from control_tower.environments.model import EnvironmentInfo, MainTaskInfo, Service, SideTaskInfo
from control_tower.episode import outcome as outcome_module
from control_tower.episode.outcome import Outcome
from control_tower.episode.verdict import ASSERTIONS
from control_tower.options import OPTIONS, Option
from control_tower.sandboxes.bwrap.config import BwrapConfig
from control_tower.scoring.preludes import BEHAVIOUR, ENCODINGS
from control_tower.trajectories import schema as trajectory_module
from control_tower.trajectories.schema import Trajectory
from pytest_control_tower.summary import EXIT_UNDECIDED

TARGET = Path(__file__).with_name("reference.md")

_HEAD = """\
# Reference

Made from the code by `docs/generate_reference.py`; a test fails when it is out of date. For how to
use these things, see [researchers.md](researchers.md), [protocols.md](protocols.md),
[trajectories.md](trajectories.md), [environments.md](environments.md) and [ci.md](ci.md).
"""
_OPTIONS_TEXT = """\
One table for every front end: `ct run eval2`, `pytest --ct-…`, and an ini file that pytest reads.
The command line comes before the ini file. An option with "many" may be repeated; in an ini file it
has one value a line. An option without a `ct` spelling is given to `ct` after `--`. Those with a
star are options of `ct run rerun-traj`, too.
"""
_KINDS: dict[Kind, tuple[str, str]] = {
    "policy": (
        "Untrusted policies",
        "Chosen with `--untrusted-policy NAME`; arguments with `-up key=value`.",
    ),
    "protocol": ("Protocols", "Chosen with `--protocol NAME`; arguments with `-bp key=value`."),
    "monitor": (
        "Monitors",
        "Named in a protocol's argument, as `NAME` or `{name: NAME, key: value}`.",
    ),
    "harness": (
        "Harnesses",
        "Always `null`, with the defaults below; no option chooses another yet.",
    ),
}
_UNSET = {
    "sandbox": "`docker`",
    "assert": "the policy's own",
}
"""What holds where nothing is set and the option's table entry has no default."""
_EXIT_CODES: dict[int, str] = {
    pytest.ExitCode.OK: "every item passed or was skipped for a reason of its own",
    pytest.ExitCode.TESTS_FAILED: "an assertion failed",
    pytest.ExitCode.INTERRUPTED: "interrupted (Ctrl-C, SIGTERM or SIGHUP), or errors in collection",
    pytest.ExitCode.INTERNAL_ERROR: "a fault in pytest or in a plugin",
    pytest.ExitCode.USAGE_ERROR: "a usage error, `ct`'s own included",
    pytest.ExitCode.NO_TESTS_COLLECTED: "nothing was left to run, for example after `-k`",
    6: "more warnings than pytest was told to allow",
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FOR_AUTHORS = (decorators, turn, teams, parts, decisions, blue, declarations, scripted)
_PRELUDES = {"BEHAVIOUR": BEHAVIOUR, "ENCODINGS": ENCODINGS}
_UNDECIDED = "no assertion failed, but a sample errored, its set-up failed, or it stayed unscored"


def _reference() -> str:
    parts = (
        _HEAD,
        f"## Options\n\n{_OPTIONS_TEXT}",
        _options(),
        _commands(),
        *(_components(kind) for kind in _KINDS),
        _assertions(),
        _exit_codes(),
        "## Environment files\n\nUnknown fields are refused. What each field is for is in "
        "[environments.md](environments.md).",
        _fields(EnvironmentInfo, "environment.yaml"),
        _fields(Service, "environment.yaml: one of `services`"),
        _fields(MainTaskInfo, "main_tasks/ID/info.yml"),
        _fields(SideTaskInfo, "side_tasks/ID/info.yml"),
        "## Preludes of checks\n\nFrom `control_tower.scoring.preludes`. How they are used is in "
        "[environments.md](environments.md#scorers-and-check-scripts).",
        *(_prelude(name, path) for name, path in _PRELUDES.items()),
        "## For authors\n\nOf policies, protocols and monitors; "
        "[protocols.md](protocols.md#write-your-own) shows how they are used.",
        *(_prelude(name, Path(source)) for name, source in _author_modules()),
        "## Outcome\n\nWhat `control_outcome.outcome` holds in a test.",
        *(_fields(each) for each in _models(outcome_module, first=Outcome)),
        "## Trajectory\n\nOne JSON file a sample. Readers keep unknown fields.",
        *(_fields(each) for each in _models(trajectory_module, first=Trajectory)),
        "## bwrap sandboxes\n\nThe environment's files fill the first four fields. The limits are "
        "these defaults; no option changes them yet.",
        _fields(BwrapConfig, "Fields and limits"),
    )
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _options() -> str:
    head = ("`ct run eval2`", "pytest", "ini key", "type", "default", "meaning")
    return _table(head, (_option_row(option) for option in OPTIONS))


def _option_row(option: Option) -> tuple[str, ...]:
    kind = option.kind + (f" ≥ {option.minimum}" if option.minimum is not None else "")
    default = _UNSET.get(option.key, "")
    value = option.default if option.implied is None else option.implied
    if value not in (None, False):
        default = f"`{value}`"
    return (
        ", ".join(f"`{spelling}`" for spelling in option.ct)
        + (" *" if option.ct and "rerun-traj" in option.commands else ""),
        f"`{option.pytest}`",
        f"`{option.ini}`",
        kind + (", many" if option.multiple else ""),
        default,
        option.help,
    )


def _commands() -> str:
    """Every command but `ct run …`, whose options are above."""
    found = [each for each in _leaves(cli, "ct") if not each[0].startswith("ct run ")]
    return "## Commands\n\nBeside `ct run …`.\n\n" + "\n\n".join(
        _command(path, command) for path, command in found
    )


def _leaves(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _leaves(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _command(path: str, command: click.Command) -> str:
    context = click.Context(command, info_name=path)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    text = inspect.cleandoc(command.help or "")
    rows = [
        (f"`{record[0]}`", record[1])
        for parameter in command.params
        if (record := parameter.get_help_record(context)) is not None and record[1]
    ]
    options = "\n\n" + _table(("option", "meaning"), rows) if rows else ""
    return f"### {path}\n\n`{usage}`\n\n{text}{options}"


def _components(kind: Kind) -> str:
    title, how = _KINDS[kind]
    found = (find_component(kind, name, flag=f"--{kind}") for name in component_names(kind))
    own = [each for each in found if each.factory.__module__.startswith("control_tower.")]
    return "\n\n".join([f"## {title}\n\n{how}", *map(_component, own)])


def _component(component: Component[Any]) -> str:
    text, arguments = _docstring(component.factory)
    facts = []
    if component.kind == "policy":
        facts.append(f"modes under `--all`: {', '.join(sorted(component.modes, reverse=True))}")
        facts.append(f"asserts `{component.asserts}`")
        also = "always" if component.scores_main_on_attack else "only if the assertion needs it"
        facts.append(f"main task of an attack scored: {also}")
        again = "it draws that turn again" if component.redraws else "it moves on"
        facts.append(f"asked again for a turn, {again}")
    if not component.asks_untrusted:
        facts.append("never asks the untrusted policy, whose model is not needed")
    if component.kind != "harness":
        facts.append(f"model roles: {_roles(component)}")
    if component.needs:
        facts.append(f"needs: {', '.join(sorted(component.needs))}")
    rows = [
        (
            f"`{name}`",
            type_words(each.hint),
            "required" if each.required else _shown(value_text(each.default, each.hint)),
            arguments.get(name, ""),
        )
        for name, each in component.signature.parameters.items()
    ]
    table = _table(("argument", "type", "default", "meaning"), rows) if rows else "No arguments."
    said = "; ".join(facts)
    body = f"### `{component.name}`\n\n{text}\n\n"
    return f"{body}{said[:1].upper()}{said[1:]}.\n\n{table}" if said else body + table


def _roles(component: Component[Any]) -> str:
    """The roles that it binds with its defaults; without defaults, those that are its own."""
    required = any(each.required for each in component.signature.parameters.values())
    if required:
        return "those of its members" if component.kind == "monitor" else "as it is used"
    return ", ".join(component.bindings({})) or "none"


def _shown(default: str) -> str:
    return f"`{default}`" if default else "empty"


def _docstring(factory: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The text before `Args:`, and each argument's description."""
    text, _, rest = inspect.cleandoc(factory.__doc__ or "").partition("\n\nArgs:\n")
    section = re.split(r"\n\n?(?=\S)", rest)[0]
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
    return text, {name: " ".join(words.split()) for name, words in found}


def _assertions() -> str:
    head = ("name", "holds when", "scores the main task of attacks")
    rows = (
        (f"`{a.name}`", a.summary, "yes" if a.needs_main_on_attack else "no")
        for a in ASSERTIONS.values()
    )
    return f"## Assertions\n\nChosen with `--ct-assert`.\n\n{_table(head, rows)}"


def _exit_codes() -> str:
    rows = [(str(int(code)), meaning) for code, meaning in _EXIT_CODES.items()]
    rows.append((str(EXIT_UNDECIDED), _UNDECIDED))
    return f"## Exit codes\n\n{_table(('code', 'meaning'), rows)}"


def _prelude(name: str, path: Path) -> str:
    module = ast.parse(path.read_text(encoding="utf-8"))
    head = f"### {name}\n\n{_first_paragraph(ast.get_docstring(module))}"
    rows = [(f"`{what}`", text) for what, text in _offered(module) if text]
    return f"{head}\n\n{_table(('name', 'meaning'), rows)}"


def _offered(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Public functions with their arguments, classes with their methods, documented constants."""
    for node in module.body:
        if isinstance(node, _FUNCTIONS) and not node.name.startswith("_"):
            yield _signature(node), _first_paragraph(ast.get_docstring(node))
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            fields = [
                name
                for each in node.body
                if isinstance(each, ast.AnnAssign)
                if (name := _assigned(each))
            ]
            called = f"{node.name}({', '.join(fields)})" if fields else node.name
            yield called, _first_paragraph(ast.get_docstring(node))
            for name, text in _attribute_docstrings(node):
                yield f"{node.name}.{name}", text
            for method in (each for each in node.body if isinstance(each, _FUNCTIONS)):
                called = f"{node.name}.{_signature(method)}".replace("(self, ", "(")
                called = called.replace("(self)", "()")
                if not method.name.startswith("_"):
                    yield called, _first_paragraph(ast.get_docstring(method))
    constants = ast.ClassDef("", [], [], module.body, [])
    yield from (pair for pair in _attribute_docstrings(constants) if pair[0].isupper())


def _author_modules() -> Iterator[tuple[str, str]]:
    """Names and files of the modules whose names authors import."""
    for module in _FOR_AUTHORS:
        yield module.__name__, str(module.__file__)


def _signature(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    for node in ast.walk(function.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    return f"{function.name}({ast.unparse(function.args)})"


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def _models(module: Any, *, first: type[BaseModel]) -> list[type[BaseModel]]:
    """The module's public models, the main one before the records in it."""
    found = [
        each
        for name, each in vars(module).items()
        if inspect.isclass(each)
        and issubclass(each, BaseModel)
        and each.__module__ == module.__name__
        and not name.startswith("_")
    ]
    return [first, *(each for each in found if each is not first)]


def _fields(model: type[BaseModel], title: str | None = None) -> str:
    source = _class_source(model)
    annotations = _annotations(source, _aliases(model))
    described = dict(_attribute_docstrings(source))
    rows = [
        (
            f"`{name}`",
            f"`{annotations[name]}`" + _bounds(field),
            "required" if field.is_required() else f"`{_default(field)!r}`",
            described.get(name, ""),
        )
        for name, field in model.model_fields.items()
    ]
    text = f"{inspect.cleandoc(model.__doc__ or '')}\n\n" if title is None else ""
    table = _table(("field", "type", "default", "meaning"), rows)
    return f"### {title or model.__name__}\n\n{text}{table}"


def _class_source(model: type[BaseModel]) -> ast.ClassDef:
    return next(
        each
        for each in ast.parse(inspect.getsource(sys.modules[model.__module__])).body
        if isinstance(each, ast.ClassDef) and each.name == model.__name__
    )


def _attribute_docstrings(source: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for before, after in zip(source.body, source.body[1:], strict=False):
        if (
            (name := _assigned(before))
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            yield name, " ".join(after.value.value.split())


def _assigned(node: ast.stmt) -> str | None:
    """The name that a statement gives a value or a type to, if it is one name."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if len(targets) == 1 and isinstance(targets[0], ast.Name):
            return targets[0].id
    return None


def _annotations(source: ast.ClassDef, aliases: dict[str, str]) -> dict[str, str]:
    return {
        each.target.id: aliases.get(text := ast.unparse(each.annotation), text)
        for each in source.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def _aliases(model: type[BaseModel]) -> dict[str, str]:
    """The module's names for literal types, spelled out."""
    module = sys.modules[model.__module__]
    return {
        each.targets[0].id: ast.unparse(each.value)
        for each in ast.parse(inspect.getsource(module)).body
        if isinstance(each, ast.Assign)
        and isinstance(each.targets[0], ast.Name)
        and ast.unparse(each.value).startswith("Literal[")
    }


def _bounds(field: FieldInfo) -> str:
    signs = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
    return "".join(
        f" {sign} {getattr(bound, name)}"
        for bound in field.metadata
        for name, sign in signs.items()
        if hasattr(bound, name)
    )


def _default(field: FieldInfo) -> object:
    default: object = field.get_default(call_default_factory=True, validated_data={})
    return default


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    cells = [tuple(head), *(tuple(row) for row in rows)]
    lines = ["| " + " | ".join(_escaped(cell) for cell in row) + " |" for row in cells]
    lines.insert(1, "|" + "---|" * len(cells[0]))
    return "\n".join(lines)


def _escaped(cell: str) -> str:
    return cell.replace("|", r"\|").replace("\n", " ")


def _main(arguments: list[str]) -> None:
    text = _reference()
    if arguments == ["--check"]:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
            sys.exit("docs/reference.md is out of date; run: python docs/generate_reference.py")
    elif arguments:
        sys.exit(f"unknown arguments: {' '.join(arguments)}; the only one is --check")
    else:
        TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    _main(sys.argv[1:])
