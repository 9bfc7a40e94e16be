"""What is said of a model whose retries are used up."""

from __future__ import annotations

import re

import anyio
import pytest
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    get_model,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from control_tower.episode.silent_models import silent_models_say_why


class Gone(ModelAPI):
    """A model whose server is gone."""

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        raise ConnectionError("nobody listens")

    def should_retry(self, ex: BaseException) -> bool:
        return True


@modelapi(name="gone")
def gone() -> type[ModelAPI]:
    return Gone


def test_the_error_names_what_the_last_try_met() -> None:
    model = get_model("gone/for-good", config=GenerateConfig(max_retries=0))

    async def ask() -> None:
        with silent_models_say_why():
            await model.generate("hello")

    words = "the model did not answer, 1 try: ConnectionError: nobody listens"
    with pytest.raises(RuntimeError, match=f"^{re.escape(words)}$"):
        anyio.run(ask)


def test_other_errors_pass() -> None:
    with pytest.raises(ValueError, match="other"), silent_models_say_why():
        raise ValueError("other")
