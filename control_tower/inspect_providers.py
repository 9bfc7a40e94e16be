"""Registers our sandboxes and the scripted model with Inspect; the entry point it loads."""

from control_tower.sandboxes.bwrap.provider import BwrapSandbox
from control_tower.sandboxes.docker.provider import DockerSandbox
from control_tower.sandboxes.external.provider import ExternalSandbox
from control_tower.scripted_model import ScriptedModel

__all__ = ["BwrapSandbox", "DockerSandbox", "ExternalSandbox", "ScriptedModel"]
