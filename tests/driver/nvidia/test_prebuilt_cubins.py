"""Archives of machine code that come with the package."""

from __future__ import annotations

import zipfile

import pytest

from flambeau.driver.nvidia import prebuilt_cubins
from flambeau.driver.nvidia.prebuilt_cubins import Archive, cache_key, write_archive

CUBINS = {cache_key(text, "sm_90", None): text.encode() * 1000 for text in ("one", "two", "three")}
KEY = next(iter(CUBINS))


@pytest.fixture
def path(tmp_path):
    write_archive(tmp_path / "made" / "sm_90.zip", CUBINS, (13, 5))
    return tmp_path / "made" / "sm_90.zip"


def test_everything_that_decides_the_content_is_in_the_key():
    keys = {
        cache_key("a", "sm_90", (13, 0)),
        cache_key("b", "sm_90", (13, 0)),
        cache_key("a", "sm_80", (13, 0)),
        cache_key("a", "sm_90", (13, 5)),
        cache_key("as", "m_90", (13, 0)),
        cache_key("a", "sm_90", None),
    }
    assert len(keys) == 6


def test_options_are_in_the_key(monkeypatch):
    before = cache_key("a", "sm_90", (13, 0))
    monkeypatch.setattr(prebuilt_cubins, "OPTIONS", (*prebuilt_cubins.OPTIONS, "-lineinfo"))
    assert cache_key("a", "sm_90", (13, 0)) != before


def test_what_is_written_is_read(path):
    found = Archive(path)
    assert len(found) == 3 and found.version == (13, 5)
    assert {key: found.read(key) for key in CUBINS} == CUBINS
    assert found.read("0" * 64) is None


def test_the_same_kernels_make_the_same_file(path, tmp_path):
    write_archive(tmp_path / "again.zip", dict(reversed(CUBINS.items())), (13, 5))
    assert (tmp_path / "again.zip").read_bytes() == path.read_bytes()


def test_it_is_compressed(path):
    assert path.stat().st_size < sum(map(len, CUBINS.values())) / 2


def test_nothing_is_in_an_archive_that_was_not_built(tmp_path):
    found = Archive(tmp_path / "sm_90.zip")
    assert len(found) == 0
    assert found.read(KEY) is None


@pytest.mark.parametrize("kept", [0, 10, 100, 0.5, -1])
def test_a_truncated_archive_has_nothing(path, kept):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * kept) if isinstance(kept, float) else kept])
    with pytest.warns(RuntimeWarning, match="sm_90.zip is damaged, so kernels are compiled instead"):
        found = Archive(path)
    assert found.read(KEY) is None


@pytest.mark.filterwarnings("ignore:.*is damaged:RuntimeWarning")
def test_a_flipped_byte_never_changes_what_is_read(path):
    """With any byte flipped, an entry is either as written or absent."""
    whole = path.read_bytes()
    lost = 0
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        found = Archive(path)
        read = {key: found.read(key) for key in CUBINS}
        assert all(content in (None, CUBINS[key]) for key, content in read.items())
        lost += None in read.values()
    assert lost > 100


def test_a_file_under_another_name_is_not_taken_for_it(path):
    """A wrong entry: well formed, with its checksum, but not with the digest of its content."""
    with zipfile.ZipFile(path, "w") as made:
        made.comment = b"nvrtc 13.5"
        made.writestr(f"{KEY}.cubin", b"anything")
    with pytest.warns(RuntimeWarning, match="does not have its digest"):
        assert Archive(path).read(KEY) is None


def test_architectures_are_counted(path, monkeypatch):
    monkeypatch.setattr(prebuilt_cubins, "DIRECTORY", path.parent)
    prebuilt_cubins.archive.cache_clear()
    write_archive(path.parent / "sm_80.zip", {KEY: b"code"}, (13, 5))
    assert prebuilt_cubins.architectures() == {"sm_80": 1, "sm_90": 3}
    prebuilt_cubins.archive.cache_clear()
