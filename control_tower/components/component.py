"""`Component`: a registered factory, what it declares, and how instances are made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from control_tower.components.arguments import Signature
from control_tower.components.problems import ComponentProblem, named, one_line
from control_tower.components.specs import specs_in
from control_tower.errors import UsageProblem
from control_tower.stray_exits import stray_exits_are_errors

if TYPE_CHECKING:
    from control_tower.contracts import Mode

Kind = Literal["policy", "protocol", "monitor", "harness"]
Need = Literal["linear_history", "network_control", "redraws"]
"""What a component may need that not every run has.

`linear_history`: the conversation is one list of messages that may be rewritten (time travel,
replay); a harness gives it. `network_control`: the agent's network rules may be changed during the
run. `redraws`: asking the policy again for the same turn gives another draw of that turn; the
policy says whether it does.
"""
Roles: TypeAlias = Sequence[str] | Callable[[Mapping[str, Any]], Sequence[str]]
"""Model roles, or a function from checked arguments, defaults included, to them."""
T = TypeVar("T")

A_KIND: Mapping[Kind, str] = {
    "policy": "an untrusted policy",
    "protocol": "a protocol",
    "monitor": "a monitor",
    "harness": "a harness",
}
_METHOD: Mapping[Kind, str] = {
    "policy": "generate",
    "protocol": "generate",
    "monitor": "score",
    "harness": "run",
}
"""What an instance must at least be able to do."""


@dataclass(frozen=True)
class Component(Generic[T]):
    """A registered component: what it is called and how to make one."""

    kind: Kind
    name: str
    factory: Callable[..., T]
    modes: frozenset[Mode] = frozenset({"honest", "attack"})
    """Policies: the modes `--all` expands to."""
    asserts: str = ""
    """Policies: the assertion that holds when things go as the policy means them to."""
    roles: Roles = ()
    """Model roles it asks for itself, by their usual names; see `own_roles` and `bindings`."""
    needs: frozenset[Need] = frozenset()
    """Policies and protocols: what the run must have."""
    gives: frozenset[Need] = frozenset()
    """Harnesses: what runs in it have."""
    scores_main_on_attack: bool = False
    """Policies: whether the main task is scored in attack mode as well."""
    redraws: bool = True
    """Policies: whether asking again for the same turn gives another draw of that turn."""
    replays: bool = False
    """Policies: whether it makes the calls of a recording again, and so needs one."""
    asks_untrusted: bool = True
    """Protocols: whether it ever asks the untrusted policy; if not, that needs no model."""

    @cached_property
    def signature(self) -> Signature:
        """The factory's parameters.

        Raises:
            ComponentProblem: (a `ValueError`) a parameter's type cannot be checked.
        """
        return Signature(self.name, self.factory)

    def parse_args(self, pairs: Sequence[str], *, flag: str) -> dict[str, Any]:
        """Check `key=value` strings against the factory's signature.

        What a text is asked for is taken literally; other values are YAML scalars, lists or
        mappings, then validated by pydantic. A trial instance is made, so that what the factory
        itself refuses is said here too.

        Raises:
            UsageProblem: for a malformed pair, an unknown or repeated key, or a bad value.
        """
        try:
            args = self.checked(self.signature.read(pairs))
            self.try_out(args)
        except ComponentProblem as problem:
            raise UsageProblem(f"{flag}: {problem}") from problem.__cause__
        return args

    def checked(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, typed and checked; those that are not given stay out.

        Raises:
            ComponentProblem: (a `ValueError`) for an unknown or missing key, or a bad value.
        """
        return self.signature.check(args)

    def try_out(self, args: Mapping[str, Any]) -> None:
        """Make an instance from checked arguments and, before it, the monitors that they name.

        Raises:
            ComponentProblem: (a `ValueError`) one cannot be made, or two of them have different
                models for one role.
        """
        for key, spec in specs_in({**self.signature.defaults, **args}):
            try:
                spec.try_out()
            except ComponentProblem as problem:
                words = f"{key} of '{self.name}': {problem}"
                raise ComponentProblem(words) from problem.__cause__
        try:
            with stray_exits_are_errors("its factory"):
                self.create(args)
            self.bindings(args)
        except ValueError as error:
            raise ComponentProblem(one_line(error)) from error.__cause__
        except Exception as error:
            raise ComponentProblem(f"'{self.name}' cannot be made: {named(error)}") from error

    def create(self, args: Mapping[str, Any]) -> T:
        """A fresh instance, for one sample, from checked arguments.

        Raises:
            TypeError: the factory returned something else than its kind of component.
        """
        made = self.factory(**args)
        if isinstance(made, type) or not callable(getattr(made, _METHOD[self.kind], None)):
            kind = A_KIND[self.kind]
            raise TypeError(f"its factory returned {type(made).__name__}, not {kind}")
        return made

    def own_roles(self, args: Mapping[str, Any]) -> tuple[str, ...]:
        """The model roles that it asks for itself, by their usual names.

        Args:
            args: checked arguments.
        """
        roles = self.roles
        return tuple(roles({**self.signature.defaults, **args}) if callable(roles) else roles)

    def bindings(self, args: Mapping[str, Any]) -> dict[str, str | None]:
        """Model role to the component's own model for it, or None where it has none.

        The roles are the component's, and those of the monitors that its arguments and defaults
        name. Its `model` argument belongs to its first role; its `role` argument takes the place
        of that role's name.

        Args:
            args: checked arguments.

        Raises:
            ComponentProblem: (a `ValueError`) two different models for one role.
        """
        values = {**self.signature.defaults, **args}
        found: dict[str, str | None] = {}
        if roles := self.own_roles(args):
            found = {values.get("role") or roles[0]: values.get("model") or None}
            found = {**dict.fromkeys(roles[1:]), **found}
        for _, spec in specs_in(values):
            for role, model in spec.bindings().items():
                own = found.setdefault(role, model)
                if own and model and own != model:
                    raise ComponentProblem(
                        f"'{self.name}' has two models for role '{role}', '{own}' and '{model}'; "
                        "give each monitor its own `role`"
                    )
                found[role] = own or model
        return found
