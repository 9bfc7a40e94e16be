"""A model as a user describes it: a name or a mapping, and what is wrong with one."""

from __future__ import annotations

import pytest

from control_tower.errors import UsageProblem
from control_tower.models import ModelSpec

WHERE = "--model-role: role 'monitor': "


def spec(text: str) -> ModelSpec:
    return ModelSpec.from_text("monitor", text, "--model-role")


def refusal(text: str) -> str:
    with pytest.raises(UsageProblem) as caught:
        spec(text).checked()
    message = str(caught.value)
    assert message.startswith(WHERE)
    assert "\n" not in message
    return message.removeprefix(WHERE)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("openai/gpt-4o", "openai/gpt-4o"),
        (" openai/gpt-4o ", "openai/gpt-4o"),
        ("ollama/llama3:8b", "ollama/llama3:8b"),
        ("a/b=c", "a/b=c"),
        ("'a/b'", "a/b"),
        ("@odd", "@odd"),
        ("5", "5"),
        ("{model: a/b}", "a/b"),
        ("model: a/b", "a/b"),
        ('{"model": "a/b"}', "a/b"),
    ],
)
def test_a_name_or_a_mapping_with_one(text: str, name: str) -> None:
    assert spec(text).name == name
    assert spec(text).described() == name


def test_a_whole_spec() -> None:
    found = spec(
        "{model: a/b, temperature: 0, max_tokens: 2000, stop_seqs: [x, y], "
        "base_url: 'http://h:1/v1', model_args: {device: cpu, deep: {n: 1}}}"
    )
    config, arguments = found.checked()
    assert (config.temperature, config.max_tokens, config.stop_seqs) == (0, 2000, ["x", "y"])
    assert found.base_url == "http://h:1/v1"
    assert arguments == {"device": "cpu", "deep": {"n": 1}}
    assert found.described() == (
        'a/b (temperature: 0, max_tokens: 2000, stop_seqs: ["x", "y"], base_url: http://h:1/v1, '
        'model_args: {"device": "cpu", "deep": {"n": 1}})'
    )


def test_other_keys_are_arguments_of_the_provider() -> None:
    found = spec(
        "{model: a/b, seed: 1, replies: [yes, '2'], responses_api: true, model_args: {n: 1}}"
    )
    config, arguments = found.checked()
    assert config.model_dump(exclude_none=True) == {"seed": 1}
    assert arguments == {"replies": [True, "2"], "responses_api": True, "n": 1}


def test_an_argument_that_is_called_like_a_setting_can_be_set_apart() -> None:
    found = spec("{model: a/b, model_args: {temprature: 1, seed: 2}}")
    assert found.checked()[1] == {"temprature": 1, "seed": 2}


def test_values_of_headers_and_bodies_are_not_shown() -> None:
    found = spec("{model: a/b, extra_headers: {X-Team: red}, extra_body: {trace: me}}")
    assert found.checked()[0].extra_headers == {"X-Team": "red"}
    assert found.described() == "a/b (extra_headers: X-Team, extra_body: trace)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{model: a/b, temprature: 0}",
            "no setting of a model is named 'temprature'; did you mean 'temperature'? "
            "(an argument of the provider that is called so goes into model_args)",
        ),
        (
            "{model: a/b, temperature: hot}",
            "temperature: Input should be a valid number, unable to parse string as a number "
            "(given 'hot')",
        ),
        ("{modle: a/b}", "its mapping has no 'model' (it has modle)"),
        ("{model:a/b}", "its mapping has no 'model' (it has model:a/b)"),
        ("{}", "its mapping has no 'model' (it has nothing)"),
        ("{model: 3}", "model: expected the name of a model (given 3)"),
        ("{model: a/b, base_url: 80}", "base_url: expected a text (given 80)"),
        ("{model: a/b, model_args: x}", "model_args: expected a mapping (given 'x')"),
        (
            "{model: a/b, model_args: {memoize: true}}",
            "'memoize' is no argument of a provider",
        ),
        ("{model: a/b, role: red}", "'role' is no argument of a provider"),
        ("{model: a/b, x: 1, model_args: {x: 2}}", "'x' is given twice, in model_args as well"),
        ("{3: a/b}", "its mapping has no 'model' (it has 3)"),
        ("a/b,c/d", "a role takes one model, not several ('a/b,c/d')"),
        ("[a/b, c/d]", "a role takes one model, not several ('[a/b, c/d]')"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text: str, message: str) -> None:
    assert refusal(text) == message


@pytest.mark.parametrize(
    "text",
    [
        "{model: a/b",
        "{model: a/b}}",
        "{model: a/b, model: a/b}",
        "{model: a/b, x: " + "y" * 100,
        "model: a: b",
        "{model: {a: b}",
        "{" * 3000,
    ],
)
def test_what_only_looks_like_a_mapping_is_malformed(text: str) -> None:
    message = refusal(text)
    assert "a YAML mapping such as '{model: NAME, temperature: 0}'" in message
    assert "a/b" not in message  # it might hold a secret


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{model: &m a/b}", "the mapping has an anchor or alias (&name, *name) of YAML, which"),
        ("{model: a/b, x: !!int 3}", "the mapping has a tag (!name) of YAML, which"),
        ("{model: a/b, model: a/b}", "the key 'model' is there twice; expected the name"),
        ("{model: a/b}\n---\n{}", "the mapping is more than one YAML document; expected the name"),
    ],
)
def test_what_could_hide_something_is_refused_as_in_other_arguments(text: str, reason: str) -> None:
    assert refusal(text).startswith(reason)


@pytest.mark.parametrize(
    "text",
    ["{model: a/b, api_key: 's3cret", "{model: a/b, api_key: 's3cret, x: \"", '{a: "s3cret\\q"}'],
)
def test_quotes_in_a_malformed_mapping_bring_no_secret_to_light(text: str) -> None:
    assert "s3cret" not in refusal(text)


def test_a_name_that_no_file_can_hold_is_refused() -> None:
    assert refusal("a/\udcff") == "'a/\\udcff' is not valid UTF-8"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{model: a/b, api_key: s3cret}", "'api_key'"),
        ("{model: a/b, api-key: s3cret}", "'api-key'"),
        ("{model: a/b, model_args: {api_key: s3cret}}", "'api_key' of model_args"),
        ("{model: a/b, model_args: {aws_secret_access_key: s3cret}}", "'aws_secret_access_key'"),
        ("{model: a/b, model_args: {aws: [{session_token: s3cret}]}}", "'session_token'"),
        ("{model: a/b, extra_headers: {Authorization: s3cret}}", "'Authorization'"),
        ("{model: a/b, extra_headers: {X-Api-Key: s3cret}}", "'X-Api-Key' of extra_headers"),
        ("{model: a/b, extra_body: {login: {password: s3cret}}}", "'password' of extra_body"),
        (
            "{model: a/b, base_url: 'http://me:s3cret@h/v1'}",
            "the user name or password of base_url",
        ),
        ("{model: a/b, base_url: 'http://s3cret@h/v1'}", "the user name or password of base_url"),
        ("{model: a/b, key: s3cret}", "'key'"),
        ("{model: a/b, base_url: 'http://h/v1?api-key=s3cret'}", "the 'api-key' of base_url"),
        ("{api_key: s3cret}", "'api_key'"),
    ],
)
def test_secrets_are_refused_and_not_repeated(text: str, named: str) -> None:
    message = refusal(text)
    assert message.startswith(named)
    assert message.endswith("the provider's own environment variable, such as OPENAI_API_KEY")
    assert "s3cret" not in message


def test_settings_that_sound_like_secrets_are_taken() -> None:
    found = spec(
        "{model: a/b, max_tokens: 5, reasoning_tokens: 7, model_args: {prompt_cache_key: k, "
        "aws_region: x}, base_url: 'http://h/v1?version=2'}"
    )
    assert found.checked()[0].reasoning_tokens == 7


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"temperature": float("nan")},
            "temperature: expected a number of 0 or more (given nan)",
        ),
        ({"max_tokens": True}, "max_tokens: expected a number of 1 or more (given True)"),
        ({"max_tokens": -5}, "max_tokens: expected a number of 1 or more (given -5)"),
        ({"top_p": float("inf")}, "top_p: expected a number (given inf)"),
    ],
)
def test_settings_that_no_provider_takes_are_refused(settings, words):
    spec = ModelSpec.from_value("monitor", {"model": "a/b", **settings}, "pyproject.toml")
    with pytest.raises(UsageProblem) as refused:
        spec.checked()
    assert words in str(refused.value)
