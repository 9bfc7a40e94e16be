"""Files on their way into a sandbox, and the scripts that bring them there again."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from control_tower.errors import UsageProblem
from control_tower.live import copies
from control_tower.live.copies import entry_for, packed, resolved


def done_again(source: Path, place: Path) -> None:
    """Run the script that is recorded of a copy of `source` to `place`."""
    command = resolved(entry_for(source, packed(source)).command, str(place))
    subprocess.run(["bash", "-c", command], check=True)


@pytest.mark.parametrize(
    "contents",
    [
        b"text\n",
        b"",
        b"no end",
        b"a\r\nb\n",
        b"\x00\xff binary",
        b"END_OF_FILE\n",
        "caf\u00e9 $x `y`\n".encode(),
    ],
)
def test_a_script_makes_the_same_file_again(tmp_path: Path, contents: bytes) -> None:
    source = tmp_path / "odd 'name' $x"
    source.write_bytes(contents)
    done_again(source, tmp_path / "new" / "it's here")
    assert (tmp_path / "new" / "it's here").read_bytes() == contents


def test_text_is_readable_in_the_script(tmp_path: Path) -> None:
    source = tmp_path / "run.sh"
    source.write_text("echo hi\n")
    source.chmod(0o755)
    entry = entry_for(source, packed(source))
    assert "echo hi\n" in entry.command
    done_again(source, tmp_path / "copy.sh")
    assert os.access(tmp_path / "copy.sh", os.X_OK)


def test_a_folder_is_made_again_with_its_links_and_permissions(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "a").write_bytes(b"\x00")
    (source / "sub" / "a").chmod(0o700)
    (source / "link").symlink_to("sub/a")
    done_again(source, tmp_path / "target")
    target = tmp_path / "target"
    assert (target / "sub" / "a").read_bytes() == b"\x00"
    assert (target / "sub" / "a").stat().st_mode & 0o777 == 0o700
    assert os.readlink(target / "link") == "sub/a"


def test_what_is_too_big_for_a_script_is_said_to_be(tmp_path: Path) -> None:
    source = tmp_path / "big"
    source.write_bytes(os.urandom(2 * 1024 * 1024))
    entry = entry_for(source, packed(source))
    assert re.fullmatch(r"copying 'big' \(20\d\d KiB\) is too big for a script", entry.problem)


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o640])
@pytest.mark.parametrize("contents", [b"text\n", b"\x00"])
def test_a_file_keeps_its_permissions(tmp_path: Path, mode: int, contents: bytes) -> None:
    source = tmp_path / "file"
    source.write_bytes(contents)
    source.chmod(mode)
    done_again(source, tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_mode & 0o777 == mode


def test_no_name_becomes_a_command(tmp_path: Path) -> None:
    source = tmp_path / "big\ntouch oops"
    source.write_bytes(os.urandom(2 * 1024 * 1024))
    assert "\n" not in entry_for(source, packed(source)).command


def test_what_is_too_much_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "LARGEST", 1024 * 1024)
    (tmp_path / "big").mkdir()
    for name in "ab":
        (tmp_path / "big" / name).write_bytes(bytes(600 * 1024))
    with pytest.raises(UsageProblem, match="bigger than the 1 MiB that can be copied at once"):
        packed(tmp_path / "big")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    os.mkfifo(tmp_path / "place" / "pipe")
    with pytest.raises(UsageProblem, match="'x/pipe' in it is neither a file nor a folder"):
        packed(tmp_path / "place")
