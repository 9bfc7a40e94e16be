"""`ct protocols …`: the policies, protocols and monitors that there are, and their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from control_tower.cli.component_examples import example_command
from control_tower.cli.main import LazyGroup
from control_tower.cli.options import click_option
from control_tower.cli.tables import print_lines, print_table
from control_tower.components import (
    Component,
    ComponentProblem,
    Kind,
    component_names,
    find_component,
)
from control_tower.components.documentation import documentation
from control_tower.components.lookup import look_up
from control_tower.components.spelling import type_words, value_text
from control_tower.errors import UsageProblem, unknown_words
from control_tower.extra_source import ExtraSource
from control_tower.options import BY_KEY

_HERE = "control_tower.cli.protocols"
_POLICIES = "List the untrusted policies, or describe one and its arguments."
_PROTOCOLS = "List the blue protocols, or describe one and its arguments."
_MONITORS = "List the monitors, or describe one and its arguments."
_EXTRA_SRC = BY_KEY["extra_src"]

protocols = LazyGroup(
    {
        "eval2-policies": (f"{_HERE}:policies", _POLICIES),
        "eval2-protocols": (f"{_HERE}:blue_protocols", _PROTOCOLS),
        "monitors": (f"{_HERE}:monitors", _MONITORS),
    },
    name="protocols",
    help="Look at policies, protocols and monitors, and at the arguments that they take.",
)


def _command(kind: Kind, name: str, about: str) -> click.Command:
    def callback(name: str | None, extra_src: tuple[str, ...]) -> None:
        if name is not None:
            _show(kind, name, extra_src, flag=path)
        elif extra_src:
            raise UsageProblem(
                f"{_EXTRA_SRC.ct[0]}: it is for a NAME such as my.module:fn; add one"
            )
        else:
            _list(kind)

    path = f"ct protocols {name}"
    return click.Command(
        name,
        callback=callback,
        params=[
            click.Argument(["name"], required=False, metavar="[NAME]"),
            click_option(_EXTRA_SRC),
        ],
        help=f"{about}\n\nNAME is a listed one, or my.module:fn for one outside the package.",
        short_help=about,
    )


policies = _command("policy", "eval2-policies", _POLICIES)
blue_protocols = _command("protocol", "eval2-protocols", _PROTOCOLS)
monitors = _command("monitor", "monitors", _MONITORS)


def _list(kind: Kind) -> None:
    print_table((kind, "about"), [(name, _summary(kind, name)) for name in component_names(kind)])


def _summary(kind: Kind, name: str) -> str:
    try:
        return documentation(look_up(kind, name).factory).summary or "not described"
    except ComponentProblem as problem:
        return str(problem)


def _show(kind: Kind, name: str, extra_src: tuple[str, ...], *, flag: str) -> None:
    with ExtraSource.of(extra_src, flag=_EXTRA_SRC.ct[0]):
        component = find_component(kind, name, flag=flag)
        try:
            lines, rows = list(_description(component)), list(_argument_rows(component))
            example = example_command(component, name, extra_src)
        except ComponentProblem as problem:
            raise UsageProblem(f"{flag}: {problem}") from None
    print_lines(lines)
    click.echo()
    if rows:
        print_table(("argument", "type", "default", "about"), rows)
        click.echo()
    if faults := list(_misnamed(component)):
        print_lines([*faults, ""])
    print_lines(["example:", f"  {example}"])


def _description(component: Component[Any]) -> Iterator[str]:
    about = documentation(component.factory)
    yield f"{component.name}: {about.summary or 'not described'}"
    yield from about.paragraphs[1:]
    yield ""
    if component.kind == "policy":
        modes = sorted(component.modes, reverse=True)
        yield f"modes:     {', '.join(modes)}; --all expands to them"
        yield f"asserts:   {component.asserts}"
        yield f"redraws:   {'yes' if component.redraws else 'no, it moves on with every proposal'}"
    if component.kind == "protocol" and not component.asks_untrusted:
        yield "untrusted: never asked, so its model is not needed"
    yield f"roles:     {', '.join(_roles(component)) or 'none'}"
    yield f"needs:     {', '.join(sorted(component.needs)) or 'nothing special'}"
    if not component.signature.parameters:
        yield "arguments: none"


def _roles(component: Component[Any]) -> Iterator[str]:
    """The model roles it binds with its defaults."""
    for role, model in component.bindings({}).items():
        yield f"{role} ({model} unless another is given)" if model else role


def _argument_rows(component: Component[Any]) -> Iterator[tuple[str, ...]]:
    about = documentation(component.factory).arguments
    for name, parameter in component.signature.parameters.items():
        default = value_text(parameter.default, parameter.hint)
        yield (
            name,
            type_words(parameter.hint),
            "(required)" if parameter.required else default or "(empty)",
            about.get(name) or "not described",
        )


def _misnamed(component: Component[Any]) -> Iterator[str]:
    """What the docstring describes and the factory does not take."""
    about = documentation(component.factory).arguments
    parameters = component.signature.parameters
    for name in about:
        if name not in parameters:
            left = [each for each in parameters if each not in about] or parameters
            yield f"docstring: {unknown_words(f'argument of {component.name!r}', name, left)}"
