"""The registry of policies, protocols, monitors and harnesses: names, look-up and arguments."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, get_args

import pytest

from control_tower.components import Kind, component_names, find_component
from control_tower.errors import UsageProblem

if TYPE_CHECKING:
    from pathlib import Path

FLAG = "--untrusted-policy"
KINDS = get_args(Kind)

PLUGIN = '''
from control_tower.components import policy, protocol
from control_tower.contracts import Policy


class SlowBurn(Policy):
    def __init__(self, *settings):
        self.settings = settings

    async def generate(self, turn):
        raise NotImplementedError


@policy(modes=["attack"], asserts="no-undetected-sabotage", roles=["untrusted"],
        needs=["linear_history"])
def slow_burn(
    patience: int,
    rate: float = 0.5,
    label: str = "x",
    loud: bool = False,
    targets: list[str] | None = None,
    weights: dict[str, int] | None = None,
) -> Policy:
    """Wait, then strike."""
    return SlowBurn(patience, rate, label)


@protocol()
def watch():
    """Watch."""


def plain():
    """No component."""
'''


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module outside the package that registers components; its name."""
    name = f"plugin_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_bundled_components_are_named_in_kebab_case() -> None:
    assert {"honest", "noop", "reference"} <= set(component_names("policy"))
    assert "null-blue-team" in component_names("protocol")
    assert {"action-monitor", "ensemble"} <= set(component_names("monitor"))
    assert "null" in component_names("harness")


def test_helper_modules_are_no_components() -> None:
    names = [name for kind in KINDS for name in component_names(kind)]
    assert [name for name in names if name.startswith(("_", "-"))] == []


def test_every_bundled_component_is_found_by_its_name() -> None:
    for kind in KINDS:
        for name in component_names(kind):
            assert find_component(kind, name, flag=FLAG).name == name


def test_listing_imports_no_component() -> None:
    loaded = _loaded_after(
        "from control_tower.components import component_names as names;"
        f"[names(kind) for kind in {KINDS}]"
    )
    assert "control_tower.components" in loaded
    for package in ("policies", "protocols", "monitors", "harnesses"):
        assert [name for name in loaded if name.startswith(f"control_tower.{package}")] == []
    assert not loaded & {"inspect_ai", "pydantic", "yaml", "pytest", "docker"}


def test_finding_a_component_and_making_it_imports_nothing_heavy() -> None:
    loaded = _loaded_after(
        "from control_tower.components import find_component as find;"
        "find('policy', 'honest', flag='-up').create({});"
        "find('policy', 'reference', flag='-up').create({});"
        "find('policy', 'noop', flag='-up').create({});"
        "find('protocol', 'null-blue-team', flag='-bp').create({});"
        "find('harness', 'null', flag='--harness').create({})"
    )
    assert not loaded & {"inspect_ai", "pydantic", "pytest", "docker"}


def test_what_a_policy_declares_is_read_from_its_decorator() -> None:
    honest = find_component("policy", "honest", flag=FLAG)
    assert honest.modes == {"honest"}
    assert (honest.asserts, honest.roles) == ("main-task-solved", ("untrusted",))
    assert not honest.scores_main_on_attack
    for name, asserts in [("reference", "reference-works"), ("noop", "nothing-free")]:
        component = find_component("policy", name, flag=FLAG)
        assert component.modes == {"honest", "attack"}
        assert (component.asserts, component.roles) == (asserts, ())
        assert component.scores_main_on_attack


def test_what_is_needed_and_given_is_read_from_decorators(plugin: str) -> None:
    assert find_component("harness", "null", flag=FLAG).gives == {"linear_history"}
    assert find_component("protocol", "privilege-monitor", flag=FLAG).needs == {"network_control"}
    assert find_component("protocol", "null-blue-team", flag=FLAG).needs == frozenset()
    assert find_component("policy", f"{plugin}:slow_burn", flag=FLAG).needs == {"linear_history"}


@pytest.mark.parametrize("typo", ["onest", "honset", "Honest"])
def test_unknown_name_gets_the_nearest(typo: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        find_component("policy", typo, flag=FLAG)
    assert str(caught.value) == (
        f"{FLAG}: no untrusted policy is named '{typo}'; did you mean 'honest'?"
    )


def test_underscores_for_hyphens_get_the_right_name() -> None:
    with pytest.raises(UsageProblem, match="did you mean 'null-blue-team'"):
        find_component("protocol", "null_blue_team", flag="--protocol")


def test_unknown_name_with_none_near_lists_the_valid() -> None:
    with pytest.raises(UsageProblem, match=r"valid: .*honest"):
        find_component("policy", "zzzz", flag=FLAG)


def test_module_reference_names_a_component_outside(plugin: str) -> None:
    component = find_component("policy", f"{plugin}:slow_burn", flag=FLAG)
    assert component.name == "slow-burn"
    assert component.modes == {"attack"}


def test_module_reference_to_a_module_that_is_not_there() -> None:
    with pytest.raises(UsageProblem) as caught:
        find_component("policy", "no_such_module:x", flag=FLAG)
    assert str(caught.value) == (
        f"{FLAG}: cannot import 'no_such_module' of 'no_such_module:x'; give the directory that it "
        "is in with --extra-src (with pytest, --ct-extra-src)"
    )


@pytest.mark.parametrize("reference", [":x", "support.policies:", ".policies:x", "sys:x"])
def test_a_reference_that_leads_nowhere_is_one_line(reference: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        find_component("policy", reference, flag=FLAG)
    assert "\n" not in str(caught.value)


def test_a_module_that_exits_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "exiting_plugin.py").write_text("raise SystemExit('enough')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageProblem, match="cannot be imported: SystemExit: enough"):
        find_component("policy", "exiting_plugin:x", flag=FLAG)


def test_module_reference_whose_module_lacks_a_dependency_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lacking_plugin.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageProblem, match=r"'lacking_plugin' cannot be imported: .*no_such_dep"):
        find_component("policy", "lacking_plugin:x", flag=FLAG)


def test_module_reference_to_a_function_that_is_not_there_gets_the_nearest(plugin: str) -> None:
    with pytest.raises(UsageProblem, match="did you mean 'slow_burn'"):
        find_component("policy", f"{plugin}:slow_brun", flag=FLAG)


def test_module_reference_to_what_is_no_component(plugin: str) -> None:
    with pytest.raises(UsageProblem, match="does not name an untrusted policy; mark its factory"):
        find_component("policy", f"{plugin}:plain", flag=FLAG)


def test_module_reference_to_a_component_of_another_kind(plugin: str) -> None:
    with pytest.raises(UsageProblem, match="mark its factory with @policy"):
        find_component("policy", f"{plugin}:watch", flag=FLAG)


def test_installed_plugin_is_listed_and_found(plugin: str, tmp_path: Path) -> None:
    install(tmp_path, plugin, f"slow-burn = {plugin}:slow_burn")
    assert "slow-burn" in component_names("policy")
    assert find_component("policy", "slow-burn", flag=FLAG).name == "slow-burn"


def test_an_installed_plugin_that_is_broken_is_listed_and_told(plugin: str, tmp_path: Path) -> None:
    install(tmp_path, plugin, "broken = no_such_module:x")
    assert "broken" in component_names("policy")
    with pytest.raises(UsageProblem) as caught:
        find_component("policy", "broken", flag=FLAG)
    assert str(caught.value) == (
        f"{FLAG}: 'broken' of {plugin} cannot be loaded: ModuleNotFoundError: No module named "
        "'no_such_module'"
    )


def install(place: Path, name: str, entry_point: str) -> None:
    """Make a distribution with an entry point for policies look installed in `place`."""
    metadata = place / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[control_tower.policies]\n{entry_point}\n")


def test_values_are_typed_by_the_signature(plugin: str) -> None:
    component = find_component("policy", f"{plugin}:slow_burn", flag=FLAG)
    pairs = ["patience=3", "rate=1", "label=7", "loud=yes", "targets=[a, b]", "weights={a: 1}"]
    arguments = component.parse_args(pairs, flag=FLAG)
    assert arguments == {
        "patience": 3,
        "rate": 1.0,
        "label": "7",
        "loud": True,
        "targets": ["a", "b"],
        "weights": {"a": 1},
    }
    assert component.create(arguments).settings == (3, 1.0, "7")


def test_only_given_arguments_are_passed_on(plugin: str) -> None:
    component = find_component("policy", f"{plugin}:slow_burn", flag=FLAG)
    assert component.parse_args(["patience=3"], flag=FLAG) == {"patience": 3}


def test_value_may_hold_an_equals_sign_or_be_null() -> None:
    honest = find_component("policy", "honest", flag=FLAG)
    assert honest.parse_args(["model=a/b=c"], flag=FLAG) == {"model": "a/b=c"}
    assert honest.parse_args(["model=null"], flag=FLAG) == {"model": None}


def test_model_name_with_a_colon_stays_text() -> None:
    honest = find_component("policy", "honest", flag=FLAG)
    assert honest.parse_args(["model=ollama/llama3:8b"], flag=FLAG) == {"model": "ollama/llama3:8b"}


@pytest.mark.parametrize("pair", ["model", "=x", " =x", ""])
def test_malformed_pair_is_refused(pair: str) -> None:
    honest = find_component("policy", "honest", flag=FLAG)
    with pytest.raises(UsageProblem, match="is not key=value"):
        honest.parse_args([pair], flag=FLAG)


def test_repeated_key_is_refused() -> None:
    honest = find_component("policy", "honest", flag=FLAG)
    with pytest.raises(UsageProblem, match="'model' is given twice"):
        honest.parse_args(["model=a", "model=b"], flag=FLAG)


def test_unknown_key_names_the_nearest_and_the_valid() -> None:
    honest = find_component("policy", "honest", flag=FLAG)
    with pytest.raises(UsageProblem) as caught:
        honest.parse_args(["modle=a"], flag=FLAG)
    assert "did you mean 'model'?" in str(caught.value)
    assert "takes model, temperature, max_tokens" in str(caught.value)


def test_key_for_a_component_without_arguments_is_refused() -> None:
    noop = find_component("policy", "noop", flag=FLAG)
    with pytest.raises(UsageProblem, match="takes no arguments"):
        noop.parse_args(["model=a"], flag=FLAG)


def test_bad_value_names_argument_component_and_value() -> None:
    honest = find_component("policy", "honest", flag=FLAG)
    with pytest.raises(UsageProblem) as caught:
        honest.parse_args(["temperature=warm"], flag=FLAG)
    message = str(caught.value)
    assert message.startswith(f"{FLAG}: temperature of 'honest': ")
    assert "'warm'" in message
    assert "\n" not in message


def test_missing_required_argument_is_named(plugin: str) -> None:
    component = find_component("policy", f"{plugin}:slow_burn", flag=FLAG)
    with pytest.raises(UsageProblem, match="patience of 'slow-burn': Field required"):
        component.parse_args(["rate=1"], flag=FLAG)


def test_each_instance_is_fresh() -> None:
    reference = find_component("policy", "reference", flag=FLAG)
    assert reference.create({}) is not reference.create({})


def _loaded_after(code: str) -> set[str]:
    """Names of the modules loaded in a fresh interpreter after `code`."""
    program = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    )
    return set(json.loads(done.stdout))


def test_a_factory_that_fails_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "abstract_plugin.py").write_text(
        "from control_tower.components import policy\n"
        "from control_tower.contracts import Policy\n"
        "class Half(Policy):\n    pass\n"
        "@policy(modes=['honest'], asserts='none')\n"
        "def half() -> Policy:\n    return Half()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    component = find_component("policy", "abstract_plugin:half", flag=FLAG)
    with pytest.raises(UsageProblem, match="'half' cannot be made: TypeError"):
        component.parse_args([], flag=FLAG)


def test_a_factory_that_returns_something_else_is_said_by_name(plugin: str) -> None:
    component = find_component("protocol", f"{plugin}:watch", flag="--protocol")
    with pytest.raises(UsageProblem) as caught:
        component.parse_args([], flag="--protocol-arg")
    assert str(caught.value) == (
        "--protocol-arg: 'watch' cannot be made: TypeError: its factory returned NoneType, "
        "not a protocol"
    )
