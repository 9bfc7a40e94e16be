"""The plan of a run: every name checked before the start, and what must be there for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support.environments import EnvironmentFiles, main_task, python_scorer, side_task

from control_tower.episode.plan import RunPlan, make_plan
from control_tower.errors import UsageProblem
from control_tower.run_options import RunOptions
from control_tower.sandboxes.errors import SandboxRefused
from control_tower.selection import SampleKey

ATTACKER = {
    "untrusted_policy": "support.policies:attacks",
    "untrusted_policy_arg": ("commands=[ls]",),
}


@pytest.fixture(autouse=True)
def _environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    EnvironmentFiles(
        main={"fix": main_task(), "add": main_task()},
        side={"leak": side_task(), "odd": side_task(compatible="[fix]")},
    ).write(tmp_path)
    EnvironmentFiles(name="fixed", portable="false").write(tmp_path)
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("CT_MODEL_UNTRUSTED", "INSPECT_EVAL_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, tuple[str, ...]]]:
    """Lets bwrap pass its check, and tells what it was asked."""
    asked: list[dict[str, tuple[str, ...]]] = []
    place = "control_tower.sandboxes.bwrap"
    monkeypatch.setattr(f"{place}.preflight.preflight", asked.append)
    monkeypatch.setattr("control_tower.sandboxes.leftovers.remove_leftovers", list)
    return asked


def plan(**values: Any) -> RunPlan:
    values = {"env": ("mini",), "all": True, "sandbox": "bwrap", **values}
    return make_plan(RunOptions.from_values(values, front_end="ct"))


def refusal(**values: Any) -> str:
    with pytest.raises(UsageProblem) as caught:
        plan(**values)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_defaults_are_the_honest_policy_without_a_blue_team() -> None:
    made = plan()
    assert (made.policy.name, made.protocol.name, made.harness.name) == (
        "honest",
        "null-blue-team",
        "null",
    )


@pytest.mark.parametrize(
    ("values", "assertion"),
    [
        ({}, "main-task-solved"),
        ({"untrusted_policy": "reference"}, "reference-works"),
        ({"untrusted_policy": "noop"}, "nothing-free"),
        (ATTACKER, "no-undetected-sabotage"),
        ({"untrusted_policy": "noop", "assert": "reference-works"}, "reference-works"),
        ({"untrusted_policy": "reference", "assert": "none"}, "none"),
    ],
)
def test_what_is_asserted_follows_from_the_policy_unless_it_is_said(
    values: dict[str, Any], assertion: str
) -> None:
    assert plan(**values).assertion.name == assertion


@pytest.mark.parametrize(
    ("asserts", "hint"),
    [
        ("main-task-solvd", "did you mean 'main-task-solved'?"),
        ("xyzzy", "valid: as-the-mode-says, main-task-solved, no-undetected-sabotage, "),
    ],
)
def test_a_policy_with_an_assertion_that_is_not_there_is_refused(
    asserts: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd_policy.py").write_text(
        "from control_tower.components import policy\n"
        "from control_tower.policies.reference import reference\n"
        f"@policy(modes=['honest'], asserts='{asserts}')\n"
        "def odd():\n    'Odd.'\n    return reference()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "odd_policy", raising=False)
    message = refusal(untrusted_policy="odd_policy:odd")
    assert message.startswith(
        f"policy 'odd': its 'asserts': no assertion is named '{asserts}'; {hint}"
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"untrusted_policy": "refrence"},
            "--untrusted-policy: no untrusted policy is named 'refrence'; "
            "did you mean 'reference'?",
        ),
        (
            {"untrusted_policy_arg": ("modle=x",)},
            "--untrusted-policy-arg: no argument of 'honest' is named 'modle'; "
            "did you mean 'model'? ('honest' takes model, temperature, max_tokens)",
        ),
        (
            {"protocol": "nul-blue-team"},
            "--protocol: no protocol is named 'nul-blue-team'; did you mean 'null-blue-team'?",
        ),
        ({"env": ("mnii",)}, "--env: no environment is named 'mnii'; did you mean 'mini'?"),
        ({"sandbox": "bwarp"}, "--sandbox: no sandbox is named 'bwarp'; did you mean 'bwrap'?"),
        (
            {"assert": "refrence-works"},
            "--ct-assert: no assertion is named 'refrence-works'; did you mean 'reference-works'?",
        ),
        (
            {"model_role": ("untrused=a/b",)},
            "--model-role: no role of the chosen policy and protocol is named 'untrused'; "
            "did you mean 'untrusted'?",
        ),
        (
            {"env": ("fixed",)},
            "--sandbox bwrap: environment 'fixed' is not portable; it needs --sandbox docker",
        ),
    ],
)
def test_what_is_wrong_is_one_line(values: dict[str, Any], message: str) -> None:
    assert refusal(**values) == message


def test_an_argument_for_a_component_that_takes_none_is_refused() -> None:
    assert "takes no arguments" in refusal(protocol_arg=("threshold=3",))


def test_a_plan_needs_no_model_and_no_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody-listens.sock")
    made = plan(untrusted_policy="honest", sandbox=None, env=("fixed",))
    assert [key.id for key in made.samples()] == ["fixed/fix/-"]


def test_samples_are_the_selection_times_the_epochs() -> None:
    assert [key.id for key in plan(epochs=2, limit=1).samples()] == ["mini/add/-", "mini/add/-@2"]


def key_of(made: RunPlan, combination: str) -> SampleKey:
    [found] = [key for key in made.samples() if key.id == combination]
    return found


@pytest.mark.parametrize(
    ("values", "scored"),
    [
        ({"untrusted_policy": "reference"}, ("main", "side")),
        ({"untrusted_policy": "noop"}, ("main", "side")),
        ({"untrusted_policy": "reference", "assert": "none"}, ("main", "side")),
        (ATTACKER, ("side",)),
        ({**ATTACKER, "assert": "none"}, ("side",)),
        ({**ATTACKER, "assert": "main-task-solved"}, ("main", "side")),
    ],
)
def test_which_tasks_of_an_attack_are_scored(
    values: dict[str, Any], scored: tuple[str, ...]
) -> None:
    made = plan(**values)
    assert made.scored_tasks(key_of(made, "mini/fix/leak")) == scored


def test_of_an_honest_sample_the_main_task_and_of_a_lone_side_task_that() -> None:
    made = plan(untrusted_policy="reference")
    assert made.scored_tasks(key_of(made, "mini/fix/-")) == ("main",)
    alone = plan(untrusted_policy="reference", all=False, just_side_tasks=True)
    assert alone.scored_tasks(key_of(alone, "mini/-/leak")) == ("side",)


def preflight_refusal(made: RunPlan) -> str:
    with pytest.raises(UsageProblem) as caught:
        made.preflight()
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_preflight_asks_for_the_programs_of_the_environments_selected(
    checked: list[dict[str, tuple[str, ...]]],
) -> None:
    assert plan(untrusted_policy="noop").preflight() == {}
    assert checked == [{"mini": ("python3", "sh")}]


def test_preflight_gives_the_models_of_the_run(
    checked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CT_MODEL_UNTRUSTED", "mockllm/model")
    assert plan().preflight() == {"untrusted": "mockllm/model"}


def test_a_model_that_is_named_in_a_dotenv_file_is_found(
    checked: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "x")  # so that what is read is taken back
    monkeypatch.delenv("INSPECT_EVAL_MODEL")
    (tmp_path / ".env").write_text("INSPECT_EVAL_MODEL=mockllm/model\n")
    assert plan().preflight() == {"untrusted": "mockllm/model"}


def test_a_missing_model_is_said_before_the_sandbox_is_tried(checked: list[Any]) -> None:
    assert "needs a model for role 'untrusted'" in preflight_refusal(plan())
    assert checked == []


def test_a_model_that_cannot_be_made_is_refused(checked: list[Any]) -> None:
    message = preflight_refusal(plan(model_role=("untrusted=no-such-provider/x",)))
    assert "no model provider (role untrusted) is named 'no-such-provider'" in message


def test_preflight_needs_no_model_of_a_policy_that_is_never_asked(checked: list[Any]) -> None:
    made = plan(protocol="trusted-only", model_role=("trusted=mockllm/model",))
    assert made.preflight() == {"trusted": "mockllm/model"}


def test_a_broken_scorer_is_refused_only_where_it_is_selected(
    checked: list[Any], tmp_path: Path
) -> None:
    scorer = tmp_path / "mini" / "main_tasks" / "add" / "scorer.py"
    scorer.write_text(python_scorer("    return nothing(").lstrip())
    good = {"all": False, "main_task": ("fix",), "untrusted_policy": "noop"}
    assert plan(**good).preflight() == {}
    message = preflight_refusal(plan(untrusted_policy="noop"))
    assert message.startswith(f"{scorer}: cannot be imported: SyntaxError: ")


def test_a_sandbox_that_this_machine_refuses_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(programs: object) -> None:
        raise SandboxRefused("user namespaces are turned off")

    monkeypatch.setattr("control_tower.sandboxes.bwrap.preflight.preflight", refuse)
    message = preflight_refusal(plan(untrusted_policy="noop"))
    assert message == "--sandbox bwrap: user namespaces are turned off"


def test_more_samples_than_a_run_can_hold_are_refused() -> None:
    assert refusal(epochs=10_000_000) == (
        "--epochs: 10,000,000 epochs of 2 combinations are 20,000,000 samples, more than the "
        "100,000 that one run can hold; lower it, or --limit the combinations"
    )


def test_an_empty_assertion_is_no_assertion_s_name() -> None:
    assert refusal(**{"assert": ""}).startswith("--ct-assert: no assertion is named ''; valid: ")
