"""What `--sandbox` can name beside our own."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.boxes import NotedBox

from control_tower._inspect_compat import InspectLocal
from control_tower.sandboxes.external.types import NoSuchType, check_type, provider_of

BOXES = "support.boxes"


def problem(name: str) -> str:
    with pytest.raises(NoSuchType) as caught:
        check_type(name)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_inspect_s_own() -> None:
    assert provider_of("local") is InspectLocal
    assert provider_of("inspect-docker").__module__.startswith("inspect_ai.")


def test_a_module_that_registers_it_is_imported() -> None:
    check_type(f"{BOXES}:noted")
    assert provider_of(f"{BOXES}:noted") is NotedBox


def test_what_was_registered_before_is_known_by_its_name_alone() -> None:
    check_type("noted")
    assert provider_of("noted") is NotedBox


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (f"{BOXES}:noted2", "no sandbox that 'support.boxes' registers is named 'noted2'; did you"),
        (f"{BOXES}:zzz", "is named 'zzz'; valid: listed, noted"),
        (f"{BOXES}:", "'support.boxes:' is not module:type"),
        (":noted", "':noted' is not module:type"),
        ("support.nowhere:noted", "cannot import 'support.nowhere' of 'support.nowhere:noted'"),
        ("support.nowhere:noted", "--extra-src"),
        ("notde", "no sandbox is named 'notde'; did you mean 'noted'?"),
        ("ct-docker", "no sandbox is named 'ct-docker'; did you mean 'docker'"),
        ("zzz", "no sandbox is named 'zzz'; valid: bwrap, docker, inspect-docker, "),
        ("k8s", "'k8s' comes with the package inspect-k8s-sandbox"),
    ],
)
def test_what_is_not_there_is_one_line(name: str, words: str) -> None:
    assert words in problem(name)


def test_a_module_that_fails_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zz_bad_box.py").write_text("raise OSError('no disk')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert problem("zz_bad_box:x") == "'zz_bad_box' cannot be imported: OSError: no disk"


def test_a_name_that_inspect_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else Inspect would silently take its own."""
    (tmp_path / "zz_local_box.py").write_text(
        "from inspect_ai.util import sandboxenv\n"
        "from support.boxes import NotedBox\n"
        "@sandboxenv(name='local')\nclass Mine(NotedBox):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    from inspect_ai._util import registry

    before = dict(registry._registry)
    try:
        said = problem("zz_local_box:local")
    finally:
        registry._registry.clear()
        registry._registry.update(before)
    assert said == (
        "'local' of 'zz_local_box:local' is the name of another sandbox in Inspect, too; register "
        "it under a name of its own"
    )
