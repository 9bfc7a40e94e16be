"""Exits of components become errors; what must pass, passes."""

from __future__ import annotations

from asyncio import CancelledError

import anyio
import pytest

from control_tower.stray_exits import StrayExit, stray_exits_are_errors


@pytest.mark.parametrize("stray", [SystemExit(3), pytest.skip.Exception("not here")])
def test_an_exit_is_an_error_that_names_who(stray: BaseException) -> None:
    with pytest.raises(StrayExit, match=f"^mine raised {type(stray).__name__}: "):  # noqa: SIM117
        with stray_exits_are_errors("mine"):
            raise stray


@pytest.mark.parametrize("passing", [ValueError, KeyboardInterrupt, GeneratorExit, CancelledError])
def test_what_is_no_exit_passes(passing: type[BaseException]) -> None:
    with pytest.raises(passing), stray_exits_are_errors("mine"):
        raise passing


@pytest.mark.anyio
async def test_a_cancellation_passes() -> None:
    reached = False
    with anyio.move_on_after(0) as scope:
        with stray_exits_are_errors("mine"):
            await anyio.sleep_forever()
        reached = True
    assert scope.cancelled_caught
    assert not reached
