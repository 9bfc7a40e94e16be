from __future__ import annotations

from collections.abc import Sequence

import anyio
import anyio.to_thread

from control_tower.sandboxes.isolation import Isolates, agents_own, is_agents_own, isolated


def test_only_what_runs_within_is_the_agent_s_own() -> None:
    assert not is_agents_own()
    with agents_own():
        assert is_agents_own()
        with agents_own():
            pass
        assert is_agents_own()
    assert not is_agents_own()


def test_tasks_started_within_are_the_agent_s_own_and_others_are_not() -> None:
    seen: dict[str, bool] = {}

    async def look(name: str) -> None:
        seen[name] = is_agents_own()
        seen[f"{name}, in a thread"] = await anyio.to_thread.run_sync(is_agents_own)

    async def check() -> None:
        async with anyio.create_task_group() as group:
            with agents_own():
                group.start_soon(look, "within")
            group.start_soon(look, "beside")

    anyio.run(check)
    assert seen == {
        "within": True,
        "within, in a thread": True,
        "beside": False,
        "beside, in a thread": False,
    }


class _Box(Isolates):
    def isolated(self, cmd: Sequence[str]) -> list[str]:
        return ["confined", *cmd]


class _Proxy:
    """As Inspect hands out sandboxes."""

    def as_type(self, wanted: type) -> object:
        assert wanted is Isolates
        return _Box()


class _Other:
    def as_type(self, wanted: type) -> object:
        raise TypeError(f"no {wanted}")


def test_a_command_is_wrapped_by_the_sandbox_that_isolates() -> None:
    assert isolated(_Box(), ["agent"]) == ["confined", "agent"]  # type: ignore[arg-type]
    assert isolated(_Proxy(), ["agent"]) == ["confined", "agent"]  # type: ignore[arg-type]
    assert isolated(_Other(), ["agent"]) == ["agent"]  # type: ignore[arg-type]
