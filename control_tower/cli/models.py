"""`ct models`: which model each role gets, and from where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from control_tower.cli.options import click_option
from control_tower.cli.tables import print_lines, print_table
from control_tower.options import options_of

if TYPE_CHECKING:
    from control_tower.models import Chosen, RoleChoice
    from control_tower.run_options import RunOptions

_OPTIONS = (
    "untrusted_policy",
    "untrusted_policy_arg",
    "protocol",
    "protocol_arg",
    "model_role",
    "extra_src",
)
"""Keys of the run options that say which models are needed and which are given."""


def _models(**values: Any) -> None:
    from control_tower.extra_source import ExtraSource
    from control_tower.run_options import RunOptions

    options = RunOptions.from_values(values, front_end="ct")
    with ExtraSource.of(options.extra_src, flag=options.flag("extra_src")):
        components = _components(options)
        rows = [_row(choice) for choice in _choices(options, components)]
    if rows:
        print_table(("role", "model", "from"), rows)
    else:
        named = " and ".join(f"{each.kind} '{each.name}'" for each, _ in components)
        print_lines([f"no model is bound: {named} call none"])


def _choices(options: RunOptions, components: Sequence[Chosen]) -> list[RoleChoice]:
    from control_tower.models import binds_models, choose_models

    if binds_models(options, components):
        from control_tower._inspect_compat import read_dotenv

        read_dotenv()
    return choose_models(options, components)


def _components(options: RunOptions) -> list[Chosen]:
    from control_tower.components import find_component

    flag = options.flag
    policy = find_component("policy", options.untrusted_policy, flag=flag("untrusted_policy"))
    protocol = find_component("protocol", options.protocol, flag=flag("protocol"))
    return [
        (
            policy,
            policy.parse_args(options.untrusted_policy_arg, flag=flag("untrusted_policy_arg")),
        ),
        (protocol, protocol.parse_args(options.protocol_arg, flag=flag("protocol_arg"))),
    ]


def _row(choice: RoleChoice) -> tuple[str, str, str]:
    from control_tower.models import check_provider

    if choice.spec is None:
        return choice.role, "not set", choice.ways
    choice.spec.checked()
    check_provider(choice.spec)
    return choice.role, choice.spec.described(), choice.spec.place


models = click.Command(
    "models",
    callback=_models,
    params=[click_option(option) for option in options_of("eval2") if option.key in _OPTIONS],
    help=(
        "Show which model each role of a policy and a protocol gets, and which flag, argument, "
        "variable or file says so. Takes the flags of 'ct run eval2' that matter for it, and calls "
        "no model. Refuses the names and settings that a run would. Keys of providers are neither "
        "needed nor shown."
    ),
    short_help="Show which model each role of a policy and a protocol gets.",
)
