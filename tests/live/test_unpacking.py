"""What comes out of a sandbox, and must stay where it is put."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from control_tower.errors import UsageProblem
from control_tower.live.unpacking import unpack

Member = tuple[str, dict[str, Any], bytes]
FOLDER: dict[str, Any] = {"type": tarfile.DIRTYPE, "mode": 0o755}


def archive(*members: Member) -> bytes:
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


def link(leads_to: str) -> dict[str, Any]:
    return {"type": tarfile.SYMTYPE, "linkname": leads_to}


def same_as(other: str) -> dict[str, Any]:
    return {"type": tarfile.LNKTYPE, "linkname": other}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "around" / "place").mkdir(parents=True)
    return tmp_path / "around" / "place"


def refused(data: bytes, place: Path) -> str:
    """What is said of an archive of which nothing is unpacked."""
    with pytest.raises(UsageProblem) as caught:
        unpack(data, place, name="a")
    assert "\n" not in str(caught.value)
    assert list(place.iterdir()) == []
    assert [path.name for path in place.parent.iterdir()] == ["place"]
    return str(caught.value)


def test_a_file_has_its_name_or_a_new_one(place: Path) -> None:
    data = archive(("a.txt", {}, b"hi"))
    assert unpack(data, place, name="a.txt") == place / "a.txt"
    assert unpack(data, place / "b.txt", name="a.txt") == place / "b.txt"
    assert (place / "b.txt").read_bytes() == b"hi"
    assert sorted(path.name for path in place.iterdir()) == ["a.txt", "b.txt"]


def test_a_folder_comes_with_links_permissions_and_odd_names(place: Path) -> None:
    data = archive(
        ("top/", FOLDER, b""),
        ("top/sub", {**FOLDER, "mode": 0o550}, b""),
        ("top/sub/run it", {"mode": 0o4755}, b"\x00\xff"),
        ("top/same", same_as("top/sub/run it"), b""),
        ("top/sub/up", link("../new\nline"), b""),
        ("top/new\nline", {"mode": 0o600}, b""),
        ("top/dangles", link("sub/nothing"), b""),
    )
    made = unpack(data, place, name="top")
    assert (made / "sub" / "run it").read_bytes() == b"\x00\xff"
    assert (made / "sub" / "run it").stat().st_mode & 0o7777 == 0o755
    assert (made / "same").samefile(made / "sub" / "run it")
    assert os.readlink(made / "sub" / "up") == "../new\nline"
    assert (made / "sub" / "up").stat().st_mode & 0o777 == 0o600
    assert (made / "sub").stat().st_mode & 0o777 == 0o750  # the user can remove it


def test_it_has_the_name_that_was_asked_for_and_not_one_of_its_own(place: Path) -> None:
    unpack(archive((".bashrc", {}, b"evil")), place, name="notes")
    assert [path.name for path in place.iterdir()] == ["notes"]


def test_a_file_is_overwritten_and_a_folder_is_not(place: Path) -> None:
    (place / "a").write_text("old")
    unpack(archive(("a", {}, b"new")), place, name="a")
    assert (place / "a").read_text() == "new"
    (place / "d").mkdir()
    with pytest.raises(UsageProblem, match="is there already"):
        unpack(archive(("d", {}, b"new")), place, name="d")
    with pytest.raises(UsageProblem, match="is there already"):
        unpack(archive(("a", FOLDER, b"")), place, name="a")


def test_a_link_that_is_in_its_place_is_not_followed(place: Path) -> None:
    (place.parent / "outside").write_text("old")
    (place / "a").symlink_to("../outside")
    unpack(archive(("a", {}, b"new")), place, name="a")
    assert (place.parent / "outside").read_text() == "old"
    assert (place / "a").read_text() == "new"


@pytest.mark.parametrize(
    "members",
    [
        [("../evil", {}, b"x")],
        [("a/../../evil", {}, b"x")],
        [("/evil", {}, b"x")],
        [("a", link("/etc/passwd"), b"")],
        [("a", link("b"), b"")],
        [("a/b", link("/etc"), b"")],
        [("a/b", link("../c"), b"")],
        [("a/b/c", link("../../d"), b"")],
        [("a/b", link("c/../../../d"), b"")],
        [("a/s", link("."), b""), ("a/l", link("s/../../evil"), b"")],
        [("a/s", link("."), b""), ("a/s/x", {}, b"through")],
        [("a/x", {}, b""), ("a/x/y", {}, b"")],
        [("a/x", {}, b""), ("a/x", {}, b"")],
        [("a/x", link("y"), b""), ("a/x", {}, b"")],
        [("a/b", same_as("../evil"), b"")],
        [("a/b", same_as("a/later"), b""), ("a/later", {}, b"")],
        [("a/s", link("t"), b""), ("a/b", same_as("a/s"), b"")],
        [("a", {"type": tarfile.CHRTYPE}, b"")],
        [("a", {"type": tarfile.BLKTYPE}, b"")],
        [("a", {"type": tarfile.FIFOTYPE}, b"")],
        [("a", {}, b""), ("b", {}, b"")],
        [("a", {}, b""), ("b/c", {}, b"")],
        [(".", FOLDER, b"")],
        [("a" * 300, {}, b"")],
        [],
    ],
)
def test_what_would_lead_elsewhere_is_refused(place: Path, members: list[Member]) -> None:
    refused(archive(*members), place)


def test_what_is_nested_without_end_is_refused(place: Path) -> None:
    deep = "/".join(["a"] * 1500)
    assert "nested too deeply" in refused(archive((deep, FOLDER, b""), ("../x", {}, b"")), place)
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 2
    block = header.tobuf(tarfile.GNU_FORMAT) + b"a\0".ljust(512, b"\0")
    assert refused(block * 2000 + archive(("a", {}, b"")), place).startswith("what came is no")


def test_what_is_no_archive_is_refused(place: Path) -> None:
    assert refused(b"nonsense", place).startswith("what came is no archive")
    assert refused(archive(("a", {}, bytes(4096)))[:1024], place)


def test_what_would_be_bigger_than_it_looks_is_refused(place: Path) -> None:
    data = archive(("a", {}, bytes(1024 * 1024)))
    assert refused(gzip.compress(data), place).startswith("what came is no archive")
