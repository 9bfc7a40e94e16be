"""The run's journal: what other processes can know of a run."""

from __future__ import annotations

import os
from pathlib import Path

from control_tower.episode.outcome import Outcome
from control_tower.runners.journal import FILE, RunJournal, read_history


def outcome(sample_id: str) -> Outcome:
    return Outcome(sample_id=sample_id, status="scored")


def test_an_empty_run_has_no_history(tmp_path: Path) -> None:
    history = read_history(tmp_path)
    assert not history.finished
    assert history.in_flight == 0


def test_what_was_started_and_finished_is_read_back(tmp_path: Path) -> None:
    one, two = RunJournal(tmp_path, "gw0"), RunJournal(tmp_path, "gw1")
    one.started("e/a/-")
    two.started("e/b/-")
    one.started("e/c/-")
    two.finished(outcome("e/b/-"))
    two.started("e/c/-")
    history = read_history(tmp_path)
    assert dict(history.finished) == {"e/b/-": outcome("e/b/-")}
    assert dict(history.started) == {"e/a/-": 1, "e/b/-": 1, "e/c/-": 2}
    assert history.in_flight == 2


def test_processes_that_have_not_closed_are_known(tmp_path: Path) -> None:
    journal = RunJournal(tmp_path)
    journal.opened()
    assert read_history(tmp_path).open == {os.getpid()}
    journal.closed()
    assert read_history(tmp_path).open == set()


def test_a_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    journal = RunJournal(tmp_path)
    journal.started("e/a/-")
    journal.finished(outcome("e/a/-"))
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[:-5])
    history = read_history(tmp_path)
    assert not history.finished
    assert history.in_flight == 1


def test_the_first_reason_to_stop_stays(tmp_path: Path) -> None:
    journal = RunJournal(tmp_path)
    assert journal.stop_reason() is None
    journal.ask_to_stop("the first")
    journal.ask_to_stop("the second")
    assert RunJournal(tmp_path, "gw1").stop_reason() == "the first"


def test_what_was_noted_is_read_back_in_order(tmp_path: Path) -> None:
    one, two = RunJournal(tmp_path, "gw0"), RunJournal(tmp_path, "gw1")
    one.noted("try 1 of 7")
    two.noted("é\nand more")
    one.started("e/a/-")
    one.noted("try 2 of 7")
    assert read_history(tmp_path).notes == ("try 1 of 7", "é\nand more", "try 2 of 7")
