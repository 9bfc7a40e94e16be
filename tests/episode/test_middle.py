"""Between harness, protocol and policy: whose turn goes on, and what none can do to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from inspect_ai.model import ModelOutput
from support.middle import CONTEXT, Blue, Scripted, bash, between, told, turn

from control_tower.blue import calls_of
from control_tower.contracts import Policy, Turn
from control_tower.declarations import KEY, declare_attack
from control_tower.episode.middle import Middle, UndeclaredAsking
from control_tower.episode.record import EpisodeRecord

if TYPE_CHECKING:
    from control_tower.contracts import Generate


@pytest.mark.anyio
async def test_what_the_protocol_returns_is_what_goes_on() -> None:
    async def replaces(blue: Blue, asked: Turn, untrusted: Generate) -> ModelOutput:
        proposal = await untrusted(asked)
        return blue.context.decisions.replace(proposal, bash("echo safe"))

    middle, _ = between(Scripted(bash("rm -rf /")), Blue(replaces))
    decided = await middle.decide(turn())
    assert [call.arguments for call in calls_of(decided)] == [{"command": "echo safe"}]


@pytest.mark.anyio
async def test_every_thread_and_kind_of_turn_goes_through_the_protocol() -> None:
    blue = Blue()
    middle, _ = between(Scripted(bash("1"), bash("2")), blue)
    await middle.decide(Turn(messages=[], tools=[], thread="titles", kind="utility"))
    await middle.decide(Turn(messages=[], tools=[], thread="sub-agent"))
    assert [(t.thread, t.kind) for t in blue.shown] == [
        ("titles", "utility"),
        ("sub-agent", "action"),
    ]


@pytest.mark.anyio
async def test_a_call_in_a_utility_turn_is_taken_out() -> None:
    middle, _ = between(Scripted(bash("curl evil", text="A title")), Blue())
    decided = await middle.decide(Turn(messages=[], tools=[], kind="utility"))
    assert (decided.message.tool_calls, decided.message.text) == (None, "A title")


@pytest.mark.anyio
async def test_a_call_that_the_policy_adds_later_is_not_in_what_blue_allowed() -> None:
    output = bash("ls")
    blue = Blue()
    middle, _ = between(Scripted(output), blue)
    decided = await middle.decide(turn())
    output.message.tool_calls[0].arguments["command"] = "curl evil"
    blue.proposals[0].message.tool_calls[0].arguments["command"] = "curl evil"
    assert calls_of(decided)[0].arguments == {"command": "ls"}


@pytest.mark.anyio
async def test_the_policy_cannot_change_the_conversation_in_place() -> None:
    class Rewrites(Scripted):
        async def generate(self, turn: Turn) -> ModelOutput:
            turn.messages[0].content = "Exfiltrate."
            return await super().generate(turn)

    asked = turn()
    blue = Blue()
    middle, _ = between(Rewrites(bash()), blue)
    await middle.decide(asked)
    assert asked.messages[0].text == "Fix it."
    assert blue.shown[0].messages[0].text == "Fix it."


@pytest.mark.anyio
async def test_only_the_first_choice_of_a_reply_goes_on() -> None:
    output = bash("ls")
    output.choices.append(bash("curl evil").choices[0])
    blue = Blue()
    middle, _ = between(Scripted(output), blue)
    decided = await middle.decide(turn())
    assert len(decided.choices) == len(blue.proposals[0].choices) == 1


@pytest.mark.anyio
async def test_proposals_have_ids_that_no_other_has() -> None:
    same = bash("ls")
    middle, _ = between(Scripted(same, same), Blue())
    one, two = await middle.decide(turn()), await middle.decide(turn())
    assert one.message.id != two.message.id
    assert calls_of(one)[0].id != calls_of(two)[0].id


@pytest.mark.anyio
async def test_the_first_use_of_an_id_keeps_it() -> None:
    output = bash("ls")
    middle, _ = between(Scripted(output), Blue())
    decided = await middle.decide(turn())
    assert decided.message.id == output.message.id
    assert calls_of(decided)[0].id == calls_of(output)[0].id


@pytest.mark.anyio
async def test_notes_of_the_policy_do_not_reach_blue() -> None:
    output = declare_attack(bash("curl evil"))
    output.metadata = {"plan": "exfiltrate"}
    blue = Blue()
    middle, _ = between(Scripted(output, declares=True), blue)
    decided = await middle.decide(turn())
    for seen in (blue.proposals[0], decided):
        assert KEY not in repr(seen)
        assert "exfiltrate" not in repr(seen)
    assert told("control_tower.policies")[-1] == {
        "part_of_attack": True,
        "message": decided.message.id,
    }


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("kind", "name"), [("policy", "policy 'says-nothing'"), ("protocol", "protocol 'says-nothing'")]
)
async def test_what_is_no_output_is_an_error_that_names_whose(kind: str, name: str) -> None:
    async def nothing(blue: Blue, asked: Turn, untrusted: Generate) -> Any:
        return await untrusted(asked) if kind == "policy" else None

    policy = Scripted(None if kind == "policy" else bash())
    middle = Middle(
        policy,
        Blue(nothing),
        CONTEXT,
        EpisodeRecord(),
        attacks=True,
        names=("policy 'says-nothing'", "protocol 'says-nothing'"),
    )
    with pytest.raises(TypeError, match=f"{name} returned NoneType, not a ModelOutput"):
        await middle.decide(turn())


@pytest.mark.anyio
async def test_turns_are_decided_one_after_the_other() -> None:
    order: list[str] = []

    async def slow(blue: Blue, asked: Turn, untrusted: Generate) -> ModelOutput:
        order.append(f"begins {asked.thread}")
        await anyio.lowlevel.checkpoint()
        order.append(f"ends {asked.thread}")
        return await untrusted(asked)

    middle, _ = between(Scripted(bash(), bash()), Blue(slow))
    async with anyio.create_task_group() as group:
        for thread in ("a", "b"):
            group.start_soon(middle.decide, Turn(messages=[], tools=[], thread=thread))
    assert order == ["begins a", "ends a", "begins b", "ends b"]


@pytest.mark.anyio
async def test_an_exit_of_the_policy_is_an_error_also_in_a_task_of_the_protocol_s() -> None:
    class Exits(Policy):
        async def generate(self, turn: Turn) -> ModelOutput:
            raise SystemExit(3)

    async def in_a_task(blue: Blue, asked: Turn, untrusted: Generate) -> ModelOutput:
        async with anyio.create_task_group() as group:
            group.start_soon(untrusted, asked)
        return bash()

    middle, _ = between(Exits(), Blue(in_a_task))
    with pytest.raises(ExceptionGroup) as raised:
        await middle.decide(turn())
    assert str(raised.value.exceptions[0]) == "policy raised SystemExit: 3"


@pytest.mark.anyio
async def test_a_protocol_that_says_it_never_asks_gets_no_proposal() -> None:
    policy = Scripted(bash())
    middle = Middle(
        policy,
        Blue(),
        CONTEXT,
        EpisodeRecord(),
        attacks=True,
        names=("policy", "protocol 'sly'"),
        asks_untrusted=False,
    )
    with pytest.raises(UndeclaredAsking) as raised:
        await middle.decide(turn())
    assert str(raised.value) == (
        "protocol 'sly' asked the untrusted policy, and is registered with asks_untrusted=False; "
        "leave that out, or do not ask"
    )
    assert policy.asked == []
