"""Which model plays which role: the order of places, and what is said when none does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from control_tower.components import Component, find_component
from control_tower.errors import UsageProblem
from control_tower.models import RoleModels, check_roles, choose_models, resolve_models
from control_tower.run_options import RunOptions

HONEST = find_component("policy", "honest", flag="--untrusted-policy")
NOOP = find_component("policy", "noop", flag="--untrusted-policy")
NULL = find_component("protocol", "null-blue-team", flag="--protocol")
TRUSTING: Component[Any] = Component(
    kind="protocol", name="watchful", factory=lambda: None, roles=("trusted", "helper")
)


TRUSTED_ONLY = find_component("protocol", "trusted-only", flag="--protocol")


RIVAL: Component[Any] = Component(
    kind="protocol", name="rival", factory=lambda model=None: None, roles=("untrusted",)
)


@pytest.fixture(autouse=True)
def _no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "CT_MODEL_UNTRUSTED",
        "CT_MODEL_TRUSTED",
        "CT_MODEL_HELPER",
        "CT_MODEL_SECOND_LOOK",
        "INSPECT_EVAL_MODEL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def project(text: str) -> Path:
    file = Path.cwd() / "pyproject.toml"
    file.write_text(f"[tool.control-tower.models]\n{text}\n", encoding="utf-8")
    return file


def options(*roles: str, front_end: Any = "ct") -> RunOptions:
    return RunOptions.from_values({"model_role": roles}, front_end=front_end)


def resolve(
    given: RunOptions,
    policy: Component[Any] = HONEST,
    args: Mapping[str, Any] | None = None,
    protocol: Component[Any] = NULL,
    protocol_args: Mapping[str, Any] | None = None,
) -> RoleModels:
    return resolve_models(given, [(policy, args or {}), (protocol, protocol_args or {})])


def test_the_nearest_place_to_the_user_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "a/inspect")
    assert resolve(options()) == {"untrusted": "a/inspect"}
    project('untrusted = "a/project"')
    assert resolve(options()) == {"untrusted": "a/project"}
    monkeypatch.setenv("CT_MODEL_UNTRUSTED", "a/variable")
    assert resolve(options()) == {"untrusted": "a/variable"}
    assert resolve(options(), args={"model": "a/argument"}) == {"untrusted": "a/argument"}
    role = options("untrusted=a/flag")
    assert resolve(role, args={"model": "a/argument"}) == {"untrusted": "a/flag"}


def test_empty_places_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT_MODEL_UNTRUSTED", "")
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "a/inspect")
    assert resolve(options(), args={"model": None}) == {"untrusted": "a/inspect"}


def test_a_model_name_may_hold_an_equals_sign() -> None:
    assert resolve(options("untrusted=a/b=c"))["untrusted"] == "a/b=c"


def test_without_any_the_ways_to_give_one_are_named() -> None:
    with pytest.raises(UsageProblem) as caught:
        resolve(options())
    assert str(caught.value) == (
        "policy 'honest' needs a model for role 'untrusted': give --model-role "
        "untrusted=PROVIDER/MODEL or --untrusted-policy-arg model=PROVIDER/MODEL, or set "
        'CT_MODEL_UNTRUSTED or INSPECT_EVAL_MODEL, or write untrusted = "PROVIDER/MODEL" under '
        "[tool.control-tower.models] in pyproject.toml"
    )
    with pytest.raises(UsageProblem) as caught:
        resolve(options(front_end="pytest"))
    assert "give --ct-model-role untrusted=" in str(caught.value)
    assert "--ct-untrusted-policy-arg model=" in str(caught.value)


def test_every_way_that_is_named_sets_the_role(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve(options("untrusted=a/b"))["untrusted"] == "a/b"
    assert resolve(options(), args={"model": "a/b"})["untrusted"] == "a/b"
    for variable in ("CT_MODEL_UNTRUSTED", "INSPECT_EVAL_MODEL"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, "a/b")
            assert resolve(options())["untrusted"] == "a/b"
    project('untrusted = "a/b"')
    assert resolve(options())["untrusted"] == "a/b"


def test_a_way_to_set_the_model_of_a_monitor_keeps_its_role() -> None:
    untrusted = find_component("protocol", "untrusted-monitoring", flag="-b")
    with pytest.raises(UsageProblem) as caught:
        resolve(options(), NOOP, protocol=untrusted)
    way = "monitor={name: action-monitor, role: untrusted, model: PROVIDER/MODEL}"
    assert f"--protocol-arg '{way}'" in str(caught.value)
    args = untrusted.parse_args([way], flag="-bp")
    assert resolve(options(), NOOP, protocol=untrusted, protocol_args=args) == {
        "untrusted": "PROVIDER/MODEL"
    }


def test_a_policy_that_is_never_asked_needs_no_model() -> None:
    args = {"model": "a/red"}
    given = options("trusted=a/blue")
    assert resolve(given, protocol=TRUSTED_ONLY) == {"trusted": "a/blue"}
    assert resolve(given, args=args, protocol=TRUSTED_ONLY) == {"trusted": "a/blue"}
    with pytest.raises(UsageProblem, match=r"^protocol 'trusted-only' needs a model"):
        resolve(options(), protocol=TRUSTED_ONLY)


def test_a_model_for_a_policy_that_is_never_asked_is_passed_over() -> None:
    given = options("trusted=a/blue", "untrusted=a/red")
    check_roles(given, [(HONEST, {}), (TRUSTED_ONLY, {})])
    assert resolve(given, protocol=TRUSTED_ONLY) == {"trusted": "a/blue"}
    with pytest.raises(UsageProblem, match="did you mean 'untrusted'"):
        resolve(options("untrused=a/red"), protocol=TRUSTED_ONLY)


def test_inspect_s_variable_is_for_the_untrusted_role_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "a/inspect")
    with pytest.raises(UsageProblem) as caught:
        resolve(options("helper=a/b"), protocol=TRUSTING)
    message = str(caught.value)
    assert message.startswith("protocol 'watchful' needs a model for role 'trusted': ")
    assert "CT_MODEL_TRUSTED" in message
    assert "INSPECT_EVAL_MODEL" not in message


def test_who_answers_from_a_recording_is_told_how_to_replay_it_without_a_model() -> None:
    with pytest.raises(UsageProblem, match=r", or replay with --untrusted-policy replay$"):
        resolve(options().model_copy(update={"replay_sandbox": True}))


def test_a_dash_in_a_role_is_an_underscore_in_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looking: Component[Any] = Component(
        kind="protocol", name="looking", factory=lambda: None, roles=("second-look",)
    )
    monkeypatch.setenv("CT_MODEL_SECOND_LOOK", "a/b")
    assert resolve(options(), NOOP, protocol=looking) == {"second-look": "a/b"}


def test_every_place_takes_a_whole_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT_MODEL_TRUSTED", "{model: a/blue, temperature: 0}")
    project('helper = { model = "a/helper", max_tokens = 5 }')
    flagged = options("untrusted={model: a/red, base_url: 'http://h/v1'}")
    specs = [choice.spec for choice in choose_models(flagged, [(HONEST, {}), (TRUSTING, {})])]
    described = [spec.described() for spec in specs if spec]
    assert described == [
        "a/helper (max_tokens: 5)",
        "a/blue (temperature: 0)",
        "a/red (base_url: http://h/v1)",
    ]


def test_roles_of_variables_and_project_file_that_nobody_binds_are_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CT_MODEL_TRUSTED", "{model: nonsense")
    project('trusted = "a/b"\nother = { modle = "a/b" }\nuntrusted = "a/red"')
    assert resolve(options()) == {"untrusted": "a/red"}


@pytest.mark.parametrize(
    ("place", "text"),
    [("--model-role", "untrusted={model: [}"), ("CT_MODEL_UNTRUSTED", ""), ("pyproject.toml", "")],
)
def test_what_is_wrong_is_told_with_its_place_and_role(
    place: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place == "CT_MODEL_UNTRUSTED":
        monkeypatch.setenv(place, "{modle: a/b}")
    if place == "pyproject.toml":
        place = str(project('untrusted = { modle = "a/b" }'))
    with pytest.raises(UsageProblem) as caught:
        resolve(options(*filter(None, [text])))
    assert str(caught.value).startswith(f"{place}: role 'untrusted': ")


def test_a_run_that_binds_no_role_looks_at_no_project_file() -> None:
    (Path.cwd() / "pyproject.toml").write_text("[tool.control-tower.models]\nuntrusted = 3\n")
    assert resolve(options(), NOOP) == {}
    with pytest.raises(UsageProblem, match="role 'untrusted'"):
        resolve(options())


def test_a_role_that_two_components_bind_is_one_model() -> None:
    assert resolve(options(), args={"model": "a/b"}, protocol=RIVAL) == {"untrusted": "a/b"}
    both = {"args": {"model": "a/b"}, "protocol": RIVAL}
    assert resolve(options(), **both, protocol_args={"model": "a/b"}) == {"untrusted": "a/b"}
    with pytest.raises(UsageProblem) as caught:
        resolve(options(), **both, protocol_args={"model": "c/d"})
    assert str(caught.value) == (
        "role 'untrusted' has two models: 'a/b' of policy 'honest' and 'c/d' of protocol 'rival'; "
        "give --model-role untrusted=PROVIDER/MODEL, or one of them only"
    )
    given = options("untrusted=e/f")
    assert resolve(given, **both, protocol_args={"model": "c/d"}) == {"untrusted": "e/f"}


def test_components_that_call_no_model_need_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "a/inspect")
    assert resolve(options(), NOOP) == {}


def test_each_role_of_policy_and_protocol_gets_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT_MODEL_HELPER", "a/helper")
    models = resolve(
        options("untrusted=a/red"), protocol=TRUSTING, protocol_args={"model": "a/blue"}
    )
    assert models == {"helper": "a/helper", "trusted": "a/blue", "untrusted": "a/red"}


def test_a_model_argument_is_for_the_first_role_only() -> None:
    given = options("untrusted=a/red")
    with pytest.raises(UsageProblem, match="'watchful' needs a model for role 'helper'"):
        resolve(given, protocol=TRUSTING, protocol_args={"model": "a/blue"})


@pytest.mark.parametrize("pair", ["untrusted", "=a/b", "untrusted=", "untrusted= ", ""])
def test_a_malformed_pair_is_refused(pair: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        resolve(options(pair))
    assert str(caught.value) == f"--model-role: '{pair}' is not role=model"


def test_a_malformed_pair_that_holds_a_mapping_is_not_shown() -> None:
    with pytest.raises(UsageProblem) as caught:
        resolve(options("{untrusted: a/b, api_key: s3cret}"))
    assert str(caught.value) == "--model-role: '{…' is not role=model"


def test_a_role_given_twice_is_refused() -> None:
    with pytest.raises(UsageProblem, match=r"^--model-role: role 'untrusted' is given twice$"):
        resolve(options("untrusted=a/b", "untrusted=a/b"))


def test_a_typo_in_a_role_gets_the_nearest() -> None:
    with pytest.raises(UsageProblem) as caught:
        resolve(options("untrsuted=a/b"))
    assert str(caught.value).startswith("--model-role: no role of the chosen policy and protocol")
    assert str(caught.value).endswith("is named 'untrsuted'; did you mean 'untrusted'?")


def test_a_role_for_a_policy_that_binds_none_is_refused() -> None:
    with pytest.raises(UsageProblem, match=r"--model-role: no role .* is available"):
        resolve(options("untrusted=a/b"), NOOP)


def test_role_names_are_checked_before_models_are_needed() -> None:
    check_roles(options(), [(HONEST, {})])
    with pytest.raises(UsageProblem, match="did you mean 'untrusted'"):
        check_roles(options("untrused=a/b"), [(HONEST, {})])
