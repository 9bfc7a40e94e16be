"""What is read from an assistant message as its reasoning."""

from __future__ import annotations

from typing import Any

import pytest
from inspect_ai.model import ChatMessageAssistant, ContentReasoning, ContentText

from control_tower.conversation import agent_reasoning


@pytest.mark.parametrize(
    ("content", "reasoning"),
    [
        ("I look.", "I look."),
        ("", None),
        (" \n", None),
        ([], None),
        ([ContentReasoning(reasoning="Hm.")], "Hm."),
        ([ContentReasoning(reasoning="Hm."), ContentText(text="I look.")], "Hm.\n\nI look."),
        ([ContentText(text="I look."), ContentReasoning(reasoning="Hm.")], "Hm.\n\nI look."),
        (
            [
                ContentReasoning(reasoning="Hm."),
                ContentReasoning(reasoning=" "),
                ContentReasoning(reasoning="Yes."),
                ContentText(text="I look."),
            ],
            "Hm.\n\nYes.\n\nI look.",
        ),
        ([ContentReasoning(reasoning="c2VjcmV0", redacted=True)], None),
        ([ContentReasoning(reasoning="c2VjcmV0", redacted=True, summary="In short.")], "In short."),
        ([ContentReasoning(reasoning="Hm.", summary="In short.")], "Hm."),
    ],
)
def test_reasoning_comes_before_text(content: Any, reasoning: str | None) -> None:
    assert agent_reasoning(ChatMessageAssistant(content=content)) == reasoning
