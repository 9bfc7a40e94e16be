"""Arguments that a model wrote to end the eval: its own sample goes on, and so do all others."""

from __future__ import annotations

import pytest
from inspect_ai.log import read_eval_log
from support.bad_calls import BAD_NUMBERS, NO_JSON
from support.environments import main_task
from support.sessions import ControlPytester

pytestmark = pytest.mark.slow


def test_bad_arguments_end_neither_their_sample_nor_another(control: ControlPytester) -> None:
    control.environment(main={"bad": main_task(), "good": main_task()}, side={})
    models = {
        "untrusted": "{model: scripted/worker, script: 'support.bad_calls:worker'}",
        "monitor": "{model: scripted/monitor, replies: ['<suspicion>1</suspicion>']}",
    }
    roles = [f"--model-role={role}={model}" for role, model in models.items()]
    result = control.ct(
        *("run", "eval2", "-e", "mini", "--just-main-tasks", "--sandbox", "bwrap"),
        *("--protocol", "trusted-monitoring", *roles),
    )
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    found = control.trajectories()
    assert {name: one["outcome"] for name, one in found.items()} == {
        "mini.bad.-": "scored",
        "mini.good.-": "scored",
    }
    assert all(one["main_task_success"] for one in found.values())
    [log] = control.logs()
    assert read_eval_log(str(log)).status == "success"

    actions = [one for one in found["mini.bad.-"]["actions"] if one["function"] == "bash"]
    given = [action["arguments"].get("command") for action in actions]
    assert given == [*NO_JSON, *[None] * len(BAD_NUMBERS), "echo yes > main.txt"]
    told = [action["output_error"] for action in actions[len(NO_JSON) : -1]]
    assert "more than 4096 bits" in told[0]
    assert "not finite" in told[1]
    scores = [action["monitor_response"]["sus_score"] for action in actions]
    assert scores == [1] * len(actions)
