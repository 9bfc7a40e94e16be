"""Why a sample's containers did not come up, and whether trying again can help."""

from __future__ import annotations

import functools
import logging
import os
import re
from collections.abc import Iterator
from typing import Any

logger = logging.getLogger("control_tower.sandboxes")
"""What a user is to see of a sandbox that does not start as it should."""

_PASSING_STATUS = frozenset((408, 429, 500, 502, 503, 504))
_CONFLICT = 409

# The engine gives one status to very different things; its words tell them apart.
_PASSES = re.compile(
    r"address(es)? pool|predefined address|no available ipv4|no such (container|network|volume)|"
    r"network \S+ not found|temporarily unavailable|too many open files|cannot allocate memory|"
    r"connection (reset|refused)|timed? ?out|deadline exceeded|device or resource busy|"
    r"is already in use|context canceled|cannot connect to the docker daemon|i/o timeout|"
    r"unexpected eof|server misbehaving",
    re.IGNORECASE,
)
_STAYS = re.compile(
    r"executable file not found|no such file or directory|not a directory|permission denied|"
    r"read-only file system|no such image|unable to find user|unknown (capability|runtime)|"
    r"invalid|not supported|unsupported|no space left|operation not permitted|is a directory|"
    r"exec format error|separate kernel namespace|wrong rlimit|final child's pid",
    re.IGNORECASE,
)


class StartFailure(Exception):
    """A sample's containers did not come up."""

    def __init__(self, reason: str, *, passing: bool = False) -> None:
        super().__init__(reason)
        self.passing = passing
        """Whether another try can help."""


def failure_of(error: BaseException) -> StartFailure | None:
    """The failure that an error stands for; None for one that is a fault of our own.

    Of a group of errors, a failure that stays counts before those that may pass.

    Args:
        error: what was raised while containers were made and started.
    """
    found = [failure for single in _singles(error) if (failure := _failure(single)) is not None]
    if not found or len(found) < len(list(_singles(error))):
        return None
    return min(found, key=lambda failure: failure.passing)


def passes(said: str, status: int | None = None) -> bool:
    """Whether what Docker said may be otherwise at the next try.

    Args:
        said: the engine's or the command line's words.
        status: of the engine's answer, if that is known.
    """
    if _PASSES.search(said):
        return True
    if status is None:
        return False
    if _STAYS.search(said):
        return False
    return status in _PASSING_STATUS or status == _CONFLICT


class KnownFailures:
    """Failures that stay, so that the same sample is not started in vain again.

    They hold for a run: the configurations of the next run are others.
    """

    def __init__(self) -> None:
        self._found: dict[Any, str] = {}

    def get(self, config: Any) -> str | None:
        """Why samples of a configuration do not come up, if that is known."""
        return self._found.get(config)

    def add(self, config: Any, reason: str) -> None:
        """From now on it is known."""
        self._found[config] = reason


def known_failures() -> KnownFailures:
    """Those of this process."""
    return _known_failures(os.getpid())


@functools.cache
def _known_failures(pid: int) -> KnownFailures:
    return KnownFailures()


def _singles(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _singles(inner)
    else:
        yield error


def _failure(error: BaseException) -> StartFailure | None:
    from docker.errors import APIError, DockerException, ImageNotFound
    from requests.exceptions import RequestException

    if isinstance(error, StartFailure):
        return error
    if isinstance(error, ImageNotFound):
        return StartFailure(_words(error))
    if isinstance(error, APIError):
        return StartFailure(_words(error), passing=passes(_words(error), error.status_code))
    if isinstance(error, TimeoutError | ConnectionError | RequestException | DockerException):
        return StartFailure(f"the Docker engine does not answer: {error}", passing=True)
    return None


def _words(error: Any) -> str:
    return str(error.explanation or error)
