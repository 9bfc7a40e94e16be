"""Errors of sandboxes, free of heavy imports."""

from __future__ import annotations


class SandboxRefused(Exception):
    """This machine cannot run the sandbox; `str()` is one line with the cause and the way out."""


class EnvironmentRefused(SandboxRefused):
    """The sandbox cannot run this environment, on any machine."""


class SandboxStartError(RuntimeError):
    """One sandbox did not come up; the message says why, with the words of the tool that failed."""


class KnownStartFailure(SandboxStartError):
    """One was not begun, since it is known already why it would not come up; the message says why.

    Only what was begun counts as an attempt of a sample.
    """
