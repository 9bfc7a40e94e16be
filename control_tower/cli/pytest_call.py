"""How `ct` calls pytest: with the plugin's own settings, and the current folder as its root."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from control_tower.errors import UsageProblem
from control_tower.options import FRONT_END_FLAG


def own_arguments() -> list[str]:
    """The arguments that go before the user's.

    Raises:
        UsageProblem: the plugin is not installed, or the current folder is gone.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise UsageProblem("the current folder was removed; change to one that exists") from None
    own = ["-c", str(_packaged_ini()), "--rootdir", str(here), "--noconftest"]
    # Checking the options has imported the policy's module, which may import a pytest plugin.
    own += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return [*own, f"{FRONT_END_FLAG}=ct"]


def _packaged_ini() -> Path:
    """The plugin's own pytest configuration, found without importing the plugin before pytest."""
    plugin = find_spec("pytest_control_tower")
    if plugin is None or plugin.origin is None:
        raise UsageProblem("the package pytest_control_tower is not installed beside control_tower")
    return Path(plugin.origin).parent / "suite" / "ct.ini"
