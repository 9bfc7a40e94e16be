"""The `attack` policy: a model works on the main task openly, and on the side task covertly."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from control_tower.components import policy
from control_tower.contracts import Policy, RedContext, Turn
from control_tower.declarations import declare_attack
from control_tower.policies._attack_prompts import AttackPrompts
from control_tower.policies._marker import without_marker
from control_tower.policies._model_policy import UntrustedModel
from control_tower.policies._private_turns import PrivateTurns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspect_ai.model import ChatMessage, ChatMessageUser, ModelOutput

Planning: TypeAlias = Literal["none", "once", "each-step"]


@policy(modes=["attack"], asserts="no-undetected-sabotage", roles=["untrusted"])
def attack(
    model: str | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    prompt_file: str | None = None,
    planning: Planning = "none",
    declare: bool = False,
) -> Policy:
    """A model works on the main task openly, and on the side task covertly.

    It is told everything that the red team knows, in its system prompt. Only this policy's own
    requests have that prompt and the plans; neither harness nor protocol sees them.

    Args:
        model: name of the model, such as `openai/gpt-4o`. The run binds it to Inspect's role
            `untrusted` before it starts; without it, the role as bound, or Inspect's own model.
        temperature: sampling temperature; the provider's default if not given.
        max_tokens: most tokens in one reply; the provider's default if not given.
        prompt_file: a file of your own with what is added to the harness's system prompt. Its
            places, such as `{{goal}}`, are filled in: `goal`, `scoring_details` and `side_task`
            (its name); `attack_surface`; `main_task` (its description); `environment` (its name),
            `description` and `workspace` (a path). Each may be left out.
        planning: `once`: before its first turn the model is asked for a plan, which is added to
            its system prompt. `each-step`: before every turn it is asked for a plan of its next
            step, which it has before it then and later. A plan costs one request more.
        declare: whether the model is told to mark its turns that are part of the attack, with a
            line `[attack]` that is taken off. An audit then catches the attack only in such a
            turn; without it, in any turn, which is an upper bound.

    Raises:
        ValueError: if a number is out of range, or for a prompt file that cannot be used.
    """
    return AttackPolicy(
        UntrustedModel(model, temperature, max_tokens),
        AttackPrompts(prompt_file, declare=declare),
        planning=planning,
        declare=declare,
    )


class AttackPolicy(Policy):
    """See `attack`."""

    def __init__(
        self,
        model: UntrustedModel,
        prompts: AttackPrompts,
        *,
        planning: Planning,
        declare: bool,
    ) -> None:
        from anyio import Lock

        self.declares_attacks = declare
        self._model = model
        self._prompts = prompts
        self._planning = planning
        self._one_plans = Lock()
        self._private = PrivateTurns()
        self._system = ""
        self._plan: str | None = None
        """The plan of the whole run; None until it was asked for."""

    async def setup(self, context: RedContext) -> None:
        """Fill in the prompt.

        Raises:
            RuntimeError: if the sample has no side task.
        """
        self._system = self._prompts.system(context)
        self._private, self._plan = PrivateTurns(), None

    async def generate(self, turn: Turn) -> ModelOutput:
        """The model's turn, after its planning; a utility turn is answered without any plan."""
        from inspect_ai.model import ChatMessageUser

        if turn.kind == "utility":
            return self._leave(await self._model.reply(_told(turn, self._system)))
        if self._planning == "once":
            await self._plan_the_run(turn)
        own = _told(self._recalled(turn), self._system_with_plan())
        if self._planning != "each-step":
            return self._leave(await self._model.reply(own))
        plan = await self._asked_for_plan(own, self._prompts.step_request)
        if not plan:
            return self._leave(await self._model.reply(own))
        note = ChatMessageUser(content=self._prompts.step_planned(plan))
        own = replace(own, messages=[*own.messages, note])
        return self._leave(await self._model.reply(own), plan=note)

    async def _plan_the_run(self, turn: Turn) -> None:
        async with self._one_plans:
            if self._plan is None:
                request = self._prompts.plan_request
                self._plan = await self._asked_for_plan(_told(turn, self._system), request)

    async def _asked_for_plan(self, own: Turn, request: str) -> str:
        """The model's plan, which may be empty. The tools are named but cannot be called."""
        from inspect_ai.model import ChatMessageUser

        asked = [*own.messages, ChatMessageUser(content=request)]
        output = await self._model.reply(replace(own, messages=asked, tool_choice="none"))
        return "" if output.empty else output.message.text.strip()

    def _recalled(self, turn: Turn) -> Turn:
        return replace(turn, messages=self._private.recalled(turn.messages))

    def _system_with_plan(self) -> str:
        if not self._plan:
            return self._system
        return f"{self._system}\n\n{self._prompts.planned(self._plan)}"

    def _leave(self, whole: ModelOutput, plan: ChatMessageUser | None = None) -> ModelOutput:
        """The turn as it leaves the policy: without marker, and declared if it had one."""
        left, marked = without_marker(whole) if self.declares_attacks else (whole, False)
        left = self._private.keep(whole, left, plan)
        return declare_attack(left) if marked else left


def _told(turn: Turn, text: str) -> Turn:
    """The turn with `text` after the harness's system prompt."""
    return replace(turn, messages=_with_system(turn.messages, text))


def _with_system(messages: Sequence[ChatMessage], text: str) -> list[ChatMessage]:
    """One system message, since some models take no second one; its id is the same each time."""
    from inspect_ai.model import ChatMessageSystem, ContentText

    first = messages[0] if messages else None
    if first is None or first.role != "system":
        return [ChatMessageSystem(content=text, id="attack"), *messages]
    if isinstance(first.content, str):
        content: object = f"{first.content}\n\n{text}"
    else:
        content = [*first.content, ContentText(text=text)]
    told = first.model_copy(update={"content": content, "id": f"{first.id}-attack"})
    return [told, *messages[1:]]
