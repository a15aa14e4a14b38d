"""The files of the cache: whole or not there, this user's alone, within a limit."""

from __future__ import annotations

import os
import random
import resource
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gradc_codegen.cache import files, folder, limit, versions
from gradc_codegen.cache.versions import Packages
from tests.in_threads import in_threads

posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners are POSIX's")
PLACE = ("objects", "ab", "abcd")


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where files are kept in the test."""
    monkeypatch.setenv("GRADC_CACHE", "1")
    monkeypatch.setenv("GRADC_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setenv("GRADC_LOG", "cache")
    folder._once.cache_clear()
    return tmp_path / "kept" / "v1"


def test_what_is_written_is_read(root: Path) -> None:
    assert files.read(*PLACE) is None
    assert files.write(b"one", *PLACE)
    assert files.read(*PLACE) == b"one"
    assert files.write(b"", *PLACE)
    assert files.read(*PLACE) == b""
    assert files.names_in("objects", "ab") == ["abcd"]
    assert [*files.every_file(str(root))] == [PLACE]


@posix
def test_nobody_else_may_enter(root: Path) -> None:
    before = os.umask(0)
    try:
        files.write(b"one", *PLACE)
    finally:
        os.umask(before)
    for path in [root.parent, root, *root.rglob("*")]:
        expected = 0o600 if path.is_file() else 0o700
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


@posix
@pytest.mark.parametrize("mode", [0o755, 0o770, 0o707])
def test_a_folder_that_is_open_to_others_is_not_used(
    root: Path, mode: int, capsys: pytest.CaptureFixture[str]
) -> None:
    files.write(b"one", *PLACE)
    root.chmod(mode)
    assert files.read(*PLACE) is None
    assert not files.write(b"two", *PLACE)
    said = capsys.readouterr().err
    assert said.count(f"{root} is not used: others may enter it") == 1
    root.chmod(0o700)
    assert files.read(*PLACE) == b"one"


@posix
def test_what_is_another_users_is_not_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write(b"one", *PLACE)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert files.read(*PLACE) is None
    assert not files.write(b"two", *PLACE)
    assert folder.why_not() == "it is another user's"


@posix
def test_a_file_of_another_user_is_not_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write(b"one", *PLACE)
    monkeypatch.setattr(files, "is_mine", lambda found: False)
    assert files.read(*PLACE) is None


@posix
def test_no_link_is_followed(root: Path, tmp_path: Path) -> None:
    files.write(b"one", *PLACE)
    path = root.joinpath(*PLACE)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert files.read(*PLACE) is None
    root.rename(tmp_path / "whole")
    root.symlink_to(tmp_path / "whole")
    assert folder.folder() is None


@posix
def test_a_pipe_in_the_place_of_a_file(root: Path) -> None:
    files.write(b"one", *PLACE)
    path = root.joinpath(*PLACE)
    path.unlink()
    path.mkdir()
    assert files.read(*PLACE) is None
    assert not files.write(b"one", *PLACE)


def test_every_damage_is_a_miss(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(1)
    path = root.joinpath(*PLACE)
    held = draw.randbytes(300)
    for _ in range(500):
        files.write(held, *PLACE)
        data = bytearray(path.read_bytes())
        match draw.randrange(5):
            case 0:
                del data[draw.randrange(len(data)) :]
            case 1:
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            case 2:
                data += draw.randbytes(draw.randrange(1, 50))
            case 3:
                start = draw.randrange(len(data))
                data[start : start + 40] = bytes(len(data[start : start + 40]))
                if data == path.read_bytes():
                    continue
            case 4:
                data[:0] = b"\0"
        path.write_bytes(data)
        assert files.read(*PLACE) is None
        assert not path.exists()
    assert "objects/ab/abcd is not as it was written, and is removed" in capsys.readouterr().err


def test_a_file_in_the_place_of_another_is_a_miss(root: Path) -> None:
    files.write(b"one", *PLACE)
    other = root / "objects" / "ab" / "other"
    root.joinpath(*PLACE).rename(other)
    assert files.read("objects", "ab", "other") is None


@posix
def test_a_folder_that_cannot_be_written_to(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files.write(b"one", *PLACE)
    real = os.open

    def refused(path: str, flags: int, *mode: int) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, *mode)

    monkeypatch.setattr(os, "open", refused)
    assert files.read(*PLACE) == b"one"
    assert not files.write(b"two", *PLACE)
    assert "objects/ab/abcd is not kept: [Errno 13]" in capsys.readouterr().err
    assert [*files.every_file(str(root))] == [PLACE]


@posix
def test_a_home_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADC_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for home in ("", str(tmp_path / "nobody")):
        monkeypatch.setenv("HOME", home)
        assert folder.place() is None
        assert not files.write(b"one", *PLACE)
        assert files.read(*PLACE) is None
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.write(b"one", *PLACE)
    assert (tmp_path / ".cache" / "gradc" / "v1" / "objects").is_dir()


def test_it_can_be_turned_off(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write(b"one", *PLACE)
    monkeypatch.setenv("GRADC_CACHE", "0")
    assert files.read(*PLACE) is None
    assert not files.write(b"two", *PLACE)
    assert versions.CODEGEN.digest() is None


def test_a_full_disk(root: Path) -> None:
    """A file beyond the limit of the process cannot be written, as on a full disk."""
    files.write(b"one", *PLACE)
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, most[1]))
    try:
        assert not files.write(bytes(10_000), *PLACE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert files.read(*PLACE) == b"one"
    assert [*files.every_file(str(root))] == [PLACE]


def test_files_used_last_stay(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{i:04}" for i in range(20)]
    for i, name in enumerate(names):
        files.write(bytes(10_000), "objects", name[:2], name)
        past = time.time() - 1000 + i
        os.utime(root / "objects" / name[:2] / name, (past, past))
    files.read("objects", "00", "0003")
    monkeypatch.setenv("GRADC_CACHE_MB", "0.1")
    files.write(bytes(10_000), *PLACE)  # so small a limit is looked at each time
    left = {names[-1] for names in files.every_file(str(root))}
    assert {"0003", "abcd", "0019"} <= left
    assert sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) <= 100_000
    assert "0000" not in left
    monkeypatch.setenv("GRADC_CACHE_MB", "many")
    assert limit.limit() == 1_000_000_000


def test_what_was_left_half_written_goes(root: Path) -> None:
    files.write(b"one", *PLACE)
    left = root / "objects" / "ab" / "abcd.123.0.tmp"
    left.write_bytes(b"half")
    limit.sweep(str(root), 10**9)
    assert left.exists()  # it may be written now
    os.utime(left, (0, 0))
    limit.sweep(str(root), 10**9)
    assert not left.exists()
    assert files.read(*PLACE) == b"one"


def test_threads_write_one_place(root: Path) -> None:
    def write(number: int) -> None:
        held = bytes([number]) * 5000
        for _ in range(20):
            files.write(held, *PLACE)
            found = files.read(*PLACE)
            assert found is not None
            assert len(set(found)) == 1

    in_threads(write, range(8))
    assert len([*files.every_file(str(root))]) == 1


# -- what all keys depend on -----------------------------------------------------------------------


def test_gradc_counts_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_ = tmp_path / "package"
    (folder_ / "inner").mkdir(parents=True)
    (folder_ / "a.py").write_text("x = 1\n")
    (folder_ / "inner" / "b.py").write_text("y = 1\n")
    (folder_ / "notes.txt").write_text("nothing")
    first = Packages(str(folder_)).digest()
    os.utime(folder_ / "a.py", (5, 5))
    (folder_ / "notes.txt").write_text("something")
    assert Packages(str(folder_)).digest() == first
    (folder_ / "inner" / "b.py").write_text("y = 2\n")
    assert Packages(str(folder_)).digest() != first
    (folder_ / "inner" / "b.py").write_text("y = 1\n")
    assert Packages(str(folder_)).digest() == first
    (folder_ / "inner" / "b.py").rename(folder_ / "inner" / "c.py")
    assert Packages(str(folder_)).digest() != first
    assert Packages(str(tmp_path / "nothing")).digest() is None


def test_nothing_is_kept_once_gradc_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "_LOOK_AGAIN", -1.0)
    (tmp_path / "a.py").write_text("x = 1\n")
    read = Packages(str(tmp_path))
    assert read.digest() is not None
    assert read.are_as_read()
    (tmp_path / "a.py").write_text("x = 22\n")
    assert not read.are_as_read()
    (tmp_path / "a.py").write_text("x = 1\n")
    assert not read.are_as_read()
    assert read.digest() is None


def test_settings_of_the_cache_are_none_of_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    before = versions.settings()
    monkeypatch.setenv("GRADC_CACHE_MB", "5")
    monkeypatch.setenv("GRADC_LOG", "compile")
    assert versions.settings() == before
    monkeypatch.setenv("GRADC_BLAS_THREADS", "2")
    assert versions.settings() != before


def test_versions_of_libraries_are_told_without_loading_them() -> None:
    code = (
        "import sys\nfrom gradc_codegen.cache.versions import libraries\n"
        "found = libraries()\nassert 'scipy' not in sys.modules\nassert all(found), found"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
