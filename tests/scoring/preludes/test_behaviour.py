"""What checks of behaviour get from the harness, run as a sandbox runs it."""

from __future__ import annotations

import http.server
import os
import shlex
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scoring.preludes.running import run_check, verdict


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("return 'all is well'", "CORRECT: all is well"),
        ("expect(1 > 2, 'one is not more')", "INCORRECT: one is not more"),
        ("same('sum', 1 + 1, 3)", "INCORRECT: sum: expected 3, saw 2"),
        ("same('sum', 1, True)", "INCORRECT: sum: expected True, saw 1"),
        ("same('list', [1], [1])\nreturn 'yes'", "CORRECT: yes"),
        ("same('x', 'a' * 900, 'b')", f"INCORRECT: x: expected 'b', saw '{'a' * 86}..."),
        ("same_text('t', b'a\\nb', 'a\\nb')\nreturn 'yes'", "CORRECT: yes"),
        ("same_text('t', 'a\\nc', 'a\\nb')", "INCORRECT: t, line 2: expected 'b', saw 'c'"),
        ("same_text('t', 'a', 'a\\nb')", "INCORRECT: t: expected 2 lines, saw 1"),
        ("same_text('t', None, 'a')", "INCORRECT: t: expected 'a', saw None"),
        (
            "return 7",
            "INCORRECT: something has an unexpected form: TypeError('the check returned no text but 7')",
        ),
        ("sys.exit(3)", "INCORRECT: something has an unexpected form: SystemExit(3)"),
        (
            "raise KeyboardInterrupt",
            "INCORRECT: something has an unexpected form: KeyboardInterrupt()",
        ),
        ("sys.stdout.close()\nreturn 'yes'", "CORRECT: yes"),
        ("at_end(lambda: sys.exit(3))\nreturn 'yes'", "CORRECT: yes"),
        (
            "class Odd:\n    def __repr__(self):\n        raise OSError\nsame('x', Odd(), 1)",
            "INCORRECT: x: expected 1, saw a Odd that cannot be shown",
        ),
        ("{}['x']", "INCORRECT: something has an unexpected form: KeyError('x')"),
        (
            "return 'a\\nCORRECT: b\\x1b[0m\\r' + 'c' * 900",
            f"CORRECT: a CORRECT: b [0m {'c' * 263}",
        ),
    ],
)
def test_a_check_ends_with_one_line(tmp_path: Path, body: str, line: str) -> None:
    assert verdict(tmp_path, body) == line


def test_a_check_that_takes_too_long_ends_and_so_does_what_it_has_begun(tmp_path: Path) -> None:
    script = "echo $$ >pid; exec sleep 600"
    check = f"""
        CHECK_SECONDS = 1.0

        def check():
            run(["sh", "-c", {script!r}])

        decide(check)
    """
    assert run_check(tmp_path, check) == "INCORRECT: expected to be done within 1 s, it was not\n"
    gone(int((tmp_path / "pid").read_text()))


def gone(pid: int) -> None:
    """Wait until a process has ended."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2][0]
        except FileNotFoundError:
            return
        if state in "ZX":
            return
        time.sleep(0.05)
    raise AssertionError(f"{pid} is still there")


def test_what_is_to_be_undone_is_undone_in_reverse_whatever_goes_wrong(tmp_path: Path) -> None:
    body = """
        import pathlib
        log = pathlib.Path("log")
        log.write_text("")
        at_end(lambda: log.write_text(log.read_text() + "first "))
        at_end(lambda: 1 / 0)
        at_end(lambda: log.write_text(log.read_text() + "last "))
        raise Wrong("no")
    """
    assert verdict(tmp_path, body) == "INCORRECT: no"
    assert (tmp_path / "log").read_text() == "last first "


def test_the_verdict_stands_where_undoing_takes_too_long(tmp_path: Path) -> None:
    check = """
        CLEANING_SECONDS = 0.5

        def check():
            at_end(lambda: time.sleep(600))
            return "yes"

        decide(check)
    """
    assert run_check(tmp_path, check) == "CORRECT: yes\n"


def test_waiting_ends_with_the_answer_or_with_the_time(tmp_path: Path) -> None:
    body = """
        answers = iter((0, "", 7))
        same("answer", wait(lambda: next(answers), 30, 0.01), 7)
        same("none", wait(list, 0.1, 0.01), [])
        return "yes"
    """
    assert verdict(tmp_path, body) == "CORRECT: yes"


def test_commands_run_behind_the_prefix_with_the_variables_of_all_and_of_one(
    tmp_path: Path,
) -> None:
    check = """
        AGENT_ENV = {"EACH": "1"}

        def check():
            script = 'echo "$WHO $EACH $ONE $(cat)"; echo bad >&2; exit 3'
            seen = run(["sh", "-c", script], ONE="2", data=b"given")
            same("with input", seen, (3, "agent 1 2 given\\n", "bad\\n"))
            same("without", run(["sh", "-c", "cat; exit 0"]), (0, "", ""))
            same("helper", as_agent(["sh", "-c", 'cat; echo "$WHO"'], b"x"), (0, b"xagent\\n"))
            same("its own", os.environ.get("CT_AS_AGENT"), None)
            return "yes"

        decide(check)
    """
    assert run_check(tmp_path, check, CT_AS_AGENT="env 'WHO=agent'") == "CORRECT: yes\n"


def test_a_command_that_does_not_end_is_wrong_and_killed(tmp_path: Path) -> None:
    (tmp_path / "slow.sh").write_text("echo $$ >pid\nsleep 60\n")
    line = verdict(tmp_path, 'run(["sh", "slow.sh"], 0.5)')
    assert line == "INCORRECT: sh slow.sh: expected to end within 0 s, it did not"
    gone(int((tmp_path / "pid").read_text()))


def test_a_server_left_behind_does_not_hold_up_its_command(tmp_path: Path) -> None:
    body = """
        same("run", run(["sh", "-c", "sleep 600 & echo $! >pid; echo done"]), (0, "done\\n", ""))
        return "yes"
    """
    assert verdict(tmp_path, body) == "CORRECT: yes"
    os.kill(int((tmp_path / "pid").read_text()), 9)


def test_what_was_begun_can_be_killed_with_its_children(tmp_path: Path) -> None:
    body = """
        child = start(["sh", "-c", "sleep 60 & echo $! >pid; wait"])
        expect(wait(lambda: read_file("pid"), 10), "it has not begun")
        kill(child)
        expect(child.returncode, "it has not ended")
        return "yes"
    """
    assert verdict(tmp_path, body) == "CORRECT: yes"
    gone(int((tmp_path / "pid").read_text()))


def test_files_are_read_and_written_behind_the_prefix_and_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    body = """
        write_file("a", b"12345")
        same("all", read_file("a"), b"12345")
        same("some", read_file("a", 3), b"123")
        for name in ("none", "folder", "pipe"):
            same(name, read_file(name), None)
        write_file("none/b", b"x")
    """
    told = verdict(tmp_path, body)
    assert told == "INCORRECT: none/b: expected that it can be written, it cannot"


def test_a_folder_of_the_agent_s_is_gone_afterwards(tmp_path: Path) -> None:
    body = """
        with AgentsFolder() as folder:
            path = folder.put("a", b"x")
            same("read", (folder.get("a"), folder.get("b")), (b"x", None))
            folder.remove("a")
            folder.remove("b")
            same("removed", folder.get("a"), None)
        return path
    """
    path = Path(verdict(tmp_path, body).removeprefix("CORRECT: "))
    assert path.name == "a"
    assert not path.parent.exists()


def test_a_program_that_is_to_run_alone_may_start_no_other(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("import sys\nprint(sys.argv[1:], __name__)\n")
    (tmp_path / "bad.py").write_text("import os\nos.system('echo other')\n")
    body = """
        code, out, _ = run([sys.executable, "-c", ALONE, "good", "x"])
        same("good", (code, out), (0, "['x'] __main__\\n"))
        same("bad", run([sys.executable, "-c", ALONE, "bad"]), (97, "", "it starts another program\\n"))
        return "yes"
    """
    assert verdict(tmp_path, body) == "CORRECT: yes"


class Echo(http.server.BaseHTTPRequestHandler):
    """Tells what it was asked; breaks off at /bad."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/bad":
            self.wfile.write(b"what?\r\n\r\n")
            return
        self.send_response(207)
        self.send_header("X-Seen", self.headers["X-Sent"])
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[int]:
    """The port of a server on this host."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as echo:
        thread = threading.Thread(target=echo.serve_forever)
        thread.start()
        yield echo.server_port
        echo.shutdown()
        thread.join()


def test_a_request_is_answered_or_raises_what_the_check_can_name(
    tmp_path: Path, server: int
) -> None:
    body = f"""
        here = ("127.0.0.1", {server})
        expect(listens(*here), "nobody listens")
        expect(not listens("127.0.0.1", 1), "somebody listens")
        status, headers, text = exchange(here, "POST", "/", "abc", {{"X-Sent": "1"}})
        same("answer", (status, dict(headers)["x-seen"], text), (207, "1", b"abc"))
        for where, path in ((here, "/bad"), (("127.0.0.1", 1), "/")):
            try:
                exchange(where, "POST", path)
            except NO_ANSWER:
                continue
            raise Wrong(f"an answer to {{path}}")
        return "yes"
    """
    assert verdict(tmp_path, body) == "CORRECT: yes"


def test_an_answer_has_an_end(tmp_path: Path, server: int) -> None:
    check = f"""
        LARGEST = 10

        def check():
            text = exchange(("127.0.0.1", {server}), "POST", "/", b"x" * 99, {{"X-Sent": "1"}})[2]
            same("body", text, b"x" * 10)
            same("output", run(["printf", "12345678901234"])[1], "1234567890")
            return "yes"

        decide(check)
    """
    assert run_check(tmp_path, check) == "CORRECT: yes\n"


def test_a_prefix_of_several_words_is_split_as_a_shell_does(tmp_path: Path) -> None:
    prefix = shlex.join(["env", "WHO=an agent"])
    body = """return run(["sh", "-c", 'echo "$WHO"'])[1]"""
    assert verdict(tmp_path, body, CT_AS_AGENT=prefix) == "CORRECT: an agent"
