"""Making the models of roles: with their settings, each its own, and one line when it fails."""

from __future__ import annotations

import pytest
from inspect_ai.model import ModelAPI, modelapi

from control_tower.errors import UsageProblem
from control_tower.models import ModelSpec, RoleModels


def models(**texts: str) -> RoleModels:
    return RoleModels(
        ModelSpec.from_text(role, text, "--model-role") for role, text in texts.items()
    )


def refusal(text: str) -> str:
    with pytest.raises(UsageProblem) as caught:
        models(untrusted=text).made()
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_people_and_records_are_shown_names_by_role_in_order() -> None:
    found = models(untrusted="a/b", monitor="{model: c/d, temperature: 0}")
    assert found == {"monitor": "c/d", "untrusted": "a/b"}
    assert list(found) == ["monitor", "untrusted"]


def test_a_model_is_made_with_its_settings() -> None:
    text = "{model: mockllm/model, temperature: 0.5, base_url: 'http://h/v1', n: 1}"
    model = models(monitor=text).made()["monitor"]
    assert str(model) == "mockllm/model"
    assert model.config.temperature == 0.5
    assert model.api.base_url == "http://h/v1"
    assert model.model_args == {"n": 1}


def test_models_are_made_once_and_each_role_has_its_own() -> None:
    found = models(trusted="none/none", monitor="none/none")
    made = found.made()
    assert made["trusted"] is not made["monitor"]
    assert made["trusted"].api is not made["monitor"].api
    assert found.made()["trusted"] is made["trusted"]


def test_no_roles_need_no_models() -> None:
    assert RoleModels().made() == {}


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("openai/gpt-4o", "openai"),
        ("anthropic/claude-opus-4-0", "anthropic"),
    ],
)
def test_a_model_that_cannot_be_made_is_one_line(
    name: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    message = refusal(name)
    assert message.startswith(f"model '{name}' (role untrusted): ")
    assert complaint in message.removeprefix(f"model '{name}'").lower()
    assert "[bold]" not in message and "[/" not in message


def test_a_misspelt_provider_is_told_with_its_place() -> None:
    spec = ModelSpec.from_text("untrusted", "mocklm/model", "CT_MODEL_UNTRUSTED")
    with pytest.raises(UsageProblem) as caught:
        RoleModels([spec]).made()
    assert str(caught.value) == (
        "CT_MODEL_UNTRUSTED: no model provider (role untrusted) is named 'mocklm'; "
        "did you mean 'mockllm'?"
    )


def test_an_unknown_provider_with_none_near_is_told_with_those_there_are() -> None:
    assert refusal("xyzzy/model").startswith(
        "--model-role: no model provider (role untrusted) is named 'xyzzy'; valid: anthropic, "
    )


@pytest.mark.parametrize("name", ["gpt-4o", "openai", "5"])
def test_a_name_without_a_provider_is_told_with_its_place(name: str) -> None:
    assert refusal(name) == (
        f"--model-role: model '{name}' (role untrusted) has no provider; write PROVIDER/MODEL, "
        "such as openai/gpt-4o"
    )


@pytest.mark.parametrize("name", ["none", "{model: scripted/x, replies: [hello]}"])
def test_no_model_and_our_own_provider_are_known(name: str) -> None:
    assert list(models(untrusted=name).made()) == ["untrusted"]


def test_arguments_that_a_provider_does_not_take_are_one_line() -> None:
    message = refusal("{model: none/none, model_args: {devcie: cpu}}")
    assert message.startswith("model 'none/none' (role untrusted): ")
    assert "devcie" in message


def test_whatever_a_provider_raises_is_one_line() -> None:
    @modelapi(name="explosive")
    def explosive() -> type[ModelAPI]:
        raise RuntimeError("no\nluck")

    assert refusal("explosive/x") == "model 'explosive/x' (role untrusted): no luck"


def test_wrong_settings_are_said_before_the_model_is_made() -> None:
    assert refusal("{model: no-such-provider/x, top_q: 1}").startswith(
        "--model-role: role 'untrusted': no setting of a model is named 'top_q'; did you mean "
    )
