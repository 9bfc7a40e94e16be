"""What policies, protocols, monitors and harnesses are to each other (design: contracts)."""

from control_tower.contracts.decisions import Decisions, Why
from control_tower.contracts.parts import (
    BlueProtocol,
    Harness,
    HarnessSession,
    Monitor,
    Policy,
    ToolBackend,
)
from control_tower.contracts.scale import on_scale
from control_tower.contracts.teams import (
    BlueContext,
    Case,
    EnvironmentBrief,
    MainTaskBrief,
    Mode,
    RedContext,
    ReferenceStep,
    RootShell,
    SideTaskBrief,
)
from control_tower.contracts.turn import Generate, Turn

__all__ = [
    "BlueContext",
    "BlueProtocol",
    "Case",
    "Decisions",
    "EnvironmentBrief",
    "Generate",
    "Harness",
    "HarnessSession",
    "MainTaskBrief",
    "Mode",
    "Monitor",
    "Policy",
    "RedContext",
    "ReferenceStep",
    "RootShell",
    "SideTaskBrief",
    "ToolBackend",
    "Turn",
    "Why",
    "on_scale",
]
