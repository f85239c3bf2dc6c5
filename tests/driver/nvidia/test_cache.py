"""Cached files: which ones are trusted, and claims to create them."""

from __future__ import annotations

import os
import threading

import pytest

from flambeau.driver.nvidia.cache import PrivateFiles, sealed, unsealed


@pytest.fixture
def files(tmp_path):
    made = PrivateFiles(tmp_path / "cubin")
    made.write("key", b"content")
    return made


@pytest.fixture
def path(files):
    return files.directory / "key"


def test_what_is_written_is_read(files):
    assert files.read("key") == b"content"
    assert files.read("other") is None


def test_directory_and_files_are_private_and_nothing_else_is_left(files, path):
    assert files.directory.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(files.directory.iterdir()) == [path]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:10],
        lambda content: content[:-1],
        lambda content: content + b"more",
        lambda content: b"X" + content[1:],
        lambda content: content.replace(b"content", b"contend"),
    ],
)
def test_damaged_files_are_not_trusted(files, path, damage):
    path.write_bytes(damage(path.read_bytes()))
    assert files.read("key") is None


def test_a_seal_is_broken_by_any_change():
    whole = sealed(b"content", "key")
    assert unsealed(whole, "key") == b"content"
    assert unsealed(whole, "other") is None
    for at in range(len(whole)):
        assert unsealed(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :], "key") is None


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_files_that_others_may_write_are_not_trusted(files, path, mode):
    path.chmod(mode)
    assert files.read("key") is None


def test_a_file_moved_to_another_name_is_not_trusted(files, path):
    path.rename(files.directory / "other")
    assert files.read("other") is None


def test_a_link_is_not_followed(files, path):
    (files.directory / "linked").symlink_to(path)
    assert files.read("linked") is None


def test_what_is_no_file_is_not_read(files):
    os.mkfifo(files.directory / "pipe", 0o600)
    assert files.read("pipe") is None


def test_files_of_another_user_are_not_trusted(files, monkeypatch):
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert files.read("key") is None


def test_a_directory_that_others_may_write_is_not_trusted_and_becomes_private(files):
    files.directory.chmod(0o777)
    assert files.read("key") is None
    files.write("key", b"content")
    assert files.directory.stat().st_mode & 0o777 == 0o700
    assert files.read("key") == b"content"


def test_a_directory_that_cannot_be_used_costs_a_warning(tmp_path):
    (tmp_path / "cubin").write_text("a file")
    files = PrivateFiles(tmp_path / "cubin")
    with pytest.warns(RuntimeWarning, match="every process compiles them again: .*FLAMBEAU_CACHE"):
        files.write("key", b"content")
    assert files.read("key") is None
    with files.claimed("key") as is_mine:
        assert not is_mine


def test_another_users_directory_costs_a_warning(files, monkeypatch):
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.warns(RuntimeWarning, match="is not a directory of this user"):
        files.write("key", b"content")


def test_writers_at_the_same_time_leave_one_whole_file(files, path):
    contents = [bytes([number]) * 100_000 for number in range(8)]
    writers = [threading.Thread(target=files.write, args=("key", content)) for content in contents]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert files.read("key") in [b"content", *contents]
    assert files.read("key") in contents
    assert list(files.directory.iterdir()) == [path]


# claims


def test_a_claim_excludes_others_and_leaves_nothing(files, path):
    with files.claimed("key") as first, files.claimed("key", wait_s=0.0) as second:
        assert (first, second) == (True, False)
        with files.claimed("other") as other:
            assert other
    with files.claimed("key", wait_s=0.0) as again:
        assert again
    assert list(files.directory.iterdir()) == [path]


def test_whoever_waits_for_a_claim_gets_one_that_others_see(files):
    is_claimed, gets = threading.Event(), []

    def second():
        is_claimed.set()
        with files.claimed("key") as is_mine, files.claimed("key", wait_s=0.0) as twice:
            gets.append((is_mine, twice))

    thread = threading.Thread(target=second)
    with files.claimed("key"):
        thread.start()
        is_claimed.wait()
    thread.join()
    assert gets == [(True, False)]


def test_a_claim_ends_with_an_error(files):
    with pytest.raises(KeyError), files.claimed("key"):
        raise KeyError
    with files.claimed("key", wait_s=0.0) as is_mine:
        assert is_mine


def test_what_a_dead_process_left_claims_nothing(files, path):
    (files.directory / "key.claim").touch(0o600)
    with files.claimed("key", wait_s=0.0) as is_mine:
        assert is_mine


def test_a_claim_does_not_follow_a_link(files, path):
    (files.directory / "key.claim").symlink_to(path)
    with files.claimed("key") as is_mine:
        assert not is_mine
    assert files.read("key") == b"content"
