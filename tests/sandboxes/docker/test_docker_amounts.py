"""Durations and sizes."""

from __future__ import annotations

import pytest

from control_tower.sandboxes.docker.amounts import nano_cpus, nanoseconds, seconds, size


@pytest.mark.parametrize(
    ("text", "value"),
    [("1m30s", 90), ("500ms", 0.5), ("1h0m0.5s", 3600.5), ("0s", 0), ("0", 0), ("20us", 2e-5)],
)
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == pytest.approx(value)
    assert nanoseconds(text) == round(value * 1e9)


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_duration_that_is_not_given(nothing: str | None) -> None:
    assert seconds(nothing, 30.0) == 30.0
    assert nanoseconds(nothing) == 0


@pytest.mark.parametrize(
    ("amount", "value"),
    [
        ("67108864", 64 * 2**20),
        (67108864, 64 * 2**20),
        ("64m", 64 * 2**20),
        ("64MB", 64 * 2**20),
        ("1.5GiB", 3 * 2**29),
        ("10b", 10),
        ("2k", 2048),
        ("-1", -1),
    ],
)
def test_sizes(amount: object, value: int) -> None:
    assert size(amount) == value


def test_what_is_no_amount_is_named() -> None:
    with pytest.raises(ValueError, match="'soon' is no duration"):
        seconds("soon")
    with pytest.raises(ValueError, match="'much' is no size"):
        size("much")


@pytest.mark.parametrize("text", ["1.2.3s", ".s", "-5s", "1m 2"])
def test_odd_durations_are_refused_in_our_words(text: str) -> None:
    with pytest.raises(ValueError, match=f"^'{text}' is no duration, such as 1m30s$"):
        seconds(text)


@pytest.mark.parametrize("text", ["1.2.3m", ".", "-5", "64q"])
def test_odd_sizes_are_refused_in_our_words(text: str) -> None:
    with pytest.raises(ValueError, match=f"^'{text}' is no size, such as 64m$"):
        size(text)


def test_processors() -> None:
    assert nano_cpus("0.5") == nano_cpus(0.5) == 500_000_000
    for odd in ("nan", "inf", -1):
        with pytest.raises(ValueError, match=f"{odd}'? is no number of processors"):
            nano_cpus(odd)
