"""What may pass and what stays."""

from __future__ import annotations

import pytest
import requests
from docker.errors import DockerException
from support.fake_engine import refusal

from control_tower.sandboxes.docker.failing import (
    KnownFailures,
    StartFailure,
    failure_of,
    known_failures,
    passes,
)


@pytest.mark.parametrize(
    "error",
    [
        refusal(500, "something went wrong"),
        refusal(503, "starting"),
        refusal(409, "Conflict. The container name is already in use"),
        refusal(404, "No such container: ct-abc-default"),
        refusal(404, "network ct-abc-default not found"),
        refusal(400, "all predefined address pools have been fully subnetted"),
        refusal(500, "could not find an available, non-overlapping IPv4 address pool"),
        refusal(403, "no available IPv4 addresses on this network's address pools"),
        refusal(500, "fork/exec /usr/bin/runc: resource temporarily unavailable"),
        requests.exceptions.ReadTimeout("read timed out"),
        requests.exceptions.ConnectionError("Connection aborted"),
        ConnectionResetError(104, "reset"),
        TimeoutError(),
        DockerException("Error while fetching server API version"),
    ],
)
def test_what_may_pass(error: Exception) -> None:
    failure = failure_of(error)
    assert failure is not None
    assert failure.passing


@pytest.mark.parametrize(
    "error",
    [
        refusal(404, "No such image: nothing:1"),
        refusal(400, "invalid CapAdd: unknown capability: CAP_NONE"),
        refusal(400, 'exec: "nothing": executable file not found in $PATH: unknown'),
        refusal(500, 'error mounting "x": not a directory: unknown'),
        refusal(404, "create: unknown volume driver"),
        refusal(500, 'sysctl "kernel.pid_max" is not in a separate kernel namespace: unknown'),
        refusal(500, "runc create failed: wrong rlimit value: RLIMIT_FOO: unknown"),
        refusal(500, "can't get final child's PID from pipe: EOF: unknown"),
        refusal(400, "unable to find user nobody-here: no matching entries in passwd file"),
        StartFailure("it ended"),
    ],
)
def test_what_stays(error: Exception) -> None:
    failure = failure_of(error)
    assert failure is not None
    assert not failure.passing


def test_the_engine_s_own_words_are_the_reason() -> None:
    assert str(failure_of(refusal(400, "bad config"))) == "bad config"


def test_of_several_the_one_that_stays_counts() -> None:
    group = ExceptionGroup("", [refusal(503, "busy"), ExceptionGroup("", [StartFailure("ended")])])
    failure = failure_of(group)
    assert failure is not None
    assert (str(failure), failure.passing) == ("ended", False)


@pytest.mark.parametrize(
    "error", [KeyError("x"), ExceptionGroup("", [KeyError("x"), StartFailure("ended")])]
)
def test_a_fault_of_our_own_is_no_failure_of_a_sample(error: Exception) -> None:
    assert failure_of(error) is None


def test_without_a_status_the_words_decide() -> None:
    assert passes("Cannot connect to the Docker daemon at unix:///x")
    assert not passes("dependency failed to start: container x exited (3)")


def test_failures_are_known_in_one_process() -> None:
    assert known_failures() is known_failures()
    known = KnownFailures()
    assert known.get("a") is None
    known.add("a", "reason")
    assert known.get("a") == "reason"
    assert known.get("b") is None
