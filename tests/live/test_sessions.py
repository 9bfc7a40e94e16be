"""All sessions of a user, and which one is meant."""

from __future__ import annotations

import pytest
from support.live import refusal, session

from control_tower.live.sessions import Sessions, check_name, default_name


def test_a_session_is_found_by_its_name_and_as_the_current_one(sessions: Sessions) -> None:
    one = sessions.make(session("one", main_task="fix"))
    two = sessions.make(session("two"))
    assert [folder.name for folder in sessions.all()] == ["one", "two"]
    assert sessions.find("one").read() == one.read()
    assert sessions.find(None).name == "two"  # the newest
    sessions.switch(one)
    assert sessions.find(None).name == "one"
    one.remove()
    assert sessions.find(None).name == two.name  # the only one


def test_without_a_current_one_it_must_be_told_which(sessions: Sessions) -> None:
    for name in ("one", "two", "three"):
        sessions.make(session(name))
    sessions.find("three").remove()
    assert refusal(sessions.find, None).startswith("there are several live sessions: one, two;")
    assert "did you mean 'two'" in refusal(sessions.find, "tow")


def test_where_there_is_none_it_is_said_how_to_start_one(sessions: Sessions) -> None:
    assert "`ct live up`" in refusal(sessions.find, None)
    assert "`ct live up`" in refusal(sessions.find, "one")


def test_a_name_is_taken_once(sessions: Sessions) -> None:
    sessions.make(session("one"))
    assert "there is a session 'one' already" in refusal(sessions.make, session("one"))
    assert sessions.free_name("one") == "one-2"
    assert sessions.free_name("other") == "other"


@pytest.mark.parametrize("name", ["", "A", "../x", "a b", ".a", "x" * 61, "é"])
def test_what_cannot_name_a_session_is_refused(name: str) -> None:
    assert refusal(check_name, name).startswith(f"--name: '{name}' cannot name a session")


def test_names_by_default_can_be_names() -> None:
    assert default_name("shop", "fix", None) == "shop-fix"
    for parts in (("Shop", "Fix It", "ö"), ("x" * 99, "y", "z"), ("_", None, None)):
        check_name(default_name(*parts))


def test_a_session_that_is_being_made_is_none_yet(sessions: Sessions) -> None:
    folder = sessions.make(session("one"))
    folder.path.rename(folder.path.with_name(".new-one"))
    assert sessions.all() == []
