"""The decorators that register a factory: `@policy`, `@protocol`, `@monitor`, `@harness`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, get_args

from control_tower.components.component import Component, Kind, Need, Roles
from control_tower.contracts import Mode
from control_tower.errors import unknown_words

if TYPE_CHECKING:
    from control_tower.contracts import BlueProtocol, Harness, Monitor, Policy

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")
N = TypeVar("N", bound=str)

_MARK = "__control_tower_component__"
_PLAIN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _written(usage: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a decorator say how it is written, if it stands there without parentheses."""

    def wrap(decorator: Callable[P, R]) -> Callable[P, R]:
        @wraps(decorator)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            if args:
                name = getattr(args[0], "__name__", repr(args[0]))
                raise TypeError(f"{name}: write {usage}")
            return decorator(*args, **kwargs)

        return checked

    return wrap


@_written("@policy(modes=…, asserts=…)")
def policy(
    *,
    modes: Sequence[Mode],
    asserts: str,
    roles: Sequence[str] = (),
    needs: Sequence[Need] = (),
    scores_main_on_attack: bool = False,
    redraws: bool = True,
    replays: bool = False,
) -> Callable[[Callable[..., Policy]], Callable[..., Policy]]:
    """Register an untrusted policy factory.

    Args:
        modes: what `--all` expands to for it: `honest`, `attack` or both.
        asserts: name of the assertion it is for (see `control_tower.episode.verdict`).
        roles: model roles it asks Inspect for; empty when it calls no model.
        needs: what the run must have.
        scores_main_on_attack: always score the main task in attack mode.
        redraws: whether asking again for the same turn gives another draw of that turn; false for
            policies that move on with every proposal.
        replays: whether it makes the calls of a recording again, and so needs one; it finds it in
            `RedContext.recording`. Arguments of these names mean what they do for the policy
            `replay`, and are looked at before the run: `trajectory`, which recording every sample
            replays, and `stop_after`, after how many of its actions it submits.
    """

    def mark(factory: Callable[..., Policy]) -> Callable[..., Policy]:
        return _marked(
            factory,
            kind="policy",
            modes=_names("mode", modes, get_args(Mode), factory),
            asserts=asserts,
            roles=tuple(roles),
            needs=_names("need", needs, get_args(Need), factory),
            scores_main_on_attack=scores_main_on_attack,
            redraws=redraws,
            replays=replays,
        )

    return mark


@_written("@protocol()")
def protocol(
    *, roles: Roles = (), needs: Sequence[Need] = (), asks_untrusted: bool = True
) -> Callable[[Callable[..., BlueProtocol]], Callable[..., BlueProtocol]]:
    """Register a blue protocol factory.

    Args:
        roles: model roles it asks Inspect for itself; those of its monitors are theirs to say. If
            they depend on its arguments: a function from these, defaults included, to the roles.
        needs: what the run must have.
        asks_untrusted: whether it ever asks the untrusted policy for a turn; if not, a run needs
            no model for that policy, and asking it is an error.
    """

    def mark(factory: Callable[..., BlueProtocol]) -> Callable[..., BlueProtocol]:
        return _marked(
            factory,
            kind="protocol",
            roles=roles if callable(roles) else tuple(roles),
            needs=_names("need", needs, get_args(Need), factory),
            asks_untrusted=asks_untrusted,
        )

    return mark


@_written("@monitor()")
def monitor(
    *, roles: Sequence[str] = ("monitor",)
) -> Callable[[Callable[..., Monitor]], Callable[..., Monitor]]:
    """Register a monitor factory.

    Args:
        roles: model roles it asks Inspect for; empty when it calls no model itself.
    """

    def mark(factory: Callable[..., Monitor]) -> Callable[..., Monitor]:
        if "name" in inspect.signature(factory).parameters:
            raise TypeError(
                f"{factory.__name__}: a monitor cannot have a parameter 'name': with it, the "
                "monitor itself is named where its arguments are"
            )
        return _marked(factory, kind="monitor", roles=tuple(roles))

    return mark


@_written("@harness()")
def harness(
    *, gives: Sequence[Need] = ()
) -> Callable[[Callable[..., Harness]], Callable[..., Harness]]:
    """Register a harness factory.

    Args:
        gives: what policies and protocols that need it find in this harness.
    """

    def mark(factory: Callable[..., Harness]) -> Callable[..., Harness]:
        given = _names("need", gives, get_args(Need), factory)
        return _marked(factory, kind="harness", gives=given)

    return mark


def mark_of(target: Any, kind: Kind) -> Component[Any] | None:
    """The registration of a factory; None if it is none of that kind."""
    mark = getattr(target, _MARK, None)
    return mark if isinstance(mark, Component) and mark.kind == kind else None


def kebab(name: str) -> str:
    """A function's or module's name as a component's."""
    return name.replace("_", "-")


def _marked(factory: F, **declared: Any) -> F:
    for parameter in inspect.signature(factory).parameters.values():
        if parameter.kind not in _PLAIN:
            raise TypeError(
                f"{factory.__name__}: '{parameter}' is no parameter that key=value can set"
            )
    setattr(factory, _MARK, Component(name=kebab(factory.__name__), factory=factory, **declared))
    return factory


def _names(
    kind: str, names: Iterable[N], valid: Sequence[str], factory: Callable[..., Any]
) -> frozenset[N]:
    for name in names:
        if name not in valid:
            raise ValueError(f"{factory.__name__}: {unknown_words(kind, name, valid)}")
    return frozenset(names)
