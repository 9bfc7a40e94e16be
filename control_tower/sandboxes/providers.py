"""Registers our sandbox providers with Inspect; the entry point that Inspect loads."""

from control_tower.sandboxes.bwrap.provider import BwrapSandbox
from control_tower.sandboxes.docker.provider import DockerSandbox

__all__ = ["BwrapSandbox", "DockerSandbox"]
