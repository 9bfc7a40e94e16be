"""Files on their way into and out of a sandbox."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from control_tower.errors import UsageProblem
from control_tower.live.copies import entry_for, packed, resolved, unpack


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
    assert re.fullmatch(r"copying big \(20\d\d KiB\) is too big for a script", entry.problem)


def archive(*members: tuple[str, dict[str, object], bytes]) -> bytes:
    """A tar with members of these names, attributes and contents."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, attributes, contents in members:
            info = tarfile.TarInfo(name)
            info.size = len(contents)
            for key, value in attributes.items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(contents))
    return made.getvalue()


def test_what_comes_out_has_its_name_or_a_new_one(tmp_path: Path) -> None:
    data = archive(("a.txt", {}, b"hi"))
    assert unpack(data, tmp_path) == tmp_path / "a.txt"
    assert unpack(data, tmp_path / "b.txt") == tmp_path / "b.txt"
    assert (tmp_path / "b.txt").read_bytes() == b"hi"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_a_file_is_overwritten_and_a_folder_is_not(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    unpack(archive(("a", {}, b"new")), tmp_path)
    assert (tmp_path / "a").read_text() == "new"
    (tmp_path / "d").mkdir()
    with pytest.raises(UsageProblem, match="is there already"):
        unpack(archive(("d", {}, b"new")), tmp_path)


@pytest.mark.parametrize(
    "member",
    [
        ("../evil", {}, b"x"),
        ("a/../../evil", {}, b"x"),
        ("a", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, b""),
        ("a", {"type": tarfile.SYMTYPE, "linkname": "../../evil"}, b""),
        ("a", {"type": tarfile.LNKTYPE, "linkname": "../evil"}, b""),
        ("a", {"type": tarfile.CHRTYPE}, b""),
        ("a", {"type": tarfile.FIFOTYPE}, b""),
    ],
)
def test_what_would_lead_elsewhere_is_refused(
    tmp_path: Path, member: tuple[str, dict[str, object], bytes]
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(UsageProblem) as caught:
        unpack(archive(member), place)
    assert "\n" not in str(caught.value)
    assert list(place.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def test_an_absolute_name_stays_in_the_place(tmp_path: Path) -> None:
    data = archive(("/evil-absolute", {}, b"x"))
    assert unpack(data, tmp_path) == tmp_path / "evil-absolute"
    assert not Path("/evil-absolute").exists()


def test_what_is_no_archive_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="would not stay"):
        unpack(b"nonsense", tmp_path)
