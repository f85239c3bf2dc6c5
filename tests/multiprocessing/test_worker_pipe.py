"""Pipes between a process and its workers: what travels, within one process."""

import os
import resource
from pathlib import Path

import numpy as np
import pytest

import flambeau as torch
from flambeau.multiprocessing import worker_pipe
from flambeau.multiprocessing.worker_pipe import COPIED_BYTES, INLINE_BYTES, TooManyFilesError
from tests.open_files import open_files


@pytest.fixture
def ends():
    one, other = worker_pipe.pair()
    yield one, other
    one.close()
    other.close()


def sent(ends, value):
    ends[0].post(value)
    return ends[1].receive()


@pytest.mark.parametrize("size", [0, 1, INLINE_BYTES, COPIED_BYTES // 4, COPIED_BYTES])
def test_tensors_keep_their_bytes_and_leave_the_sender_s_alone(ends, size):
    x = torch.arange(size, dtype=torch.float32)
    found = sent(ends, {"x": x, "text": "a" * size})
    assert (torch.equal(found["x"], x), len(found["text"])) == (True, size)
    found["x"].fill_(-1)
    assert torch.equal(x, torch.arange(size, dtype=torch.float32))


def test_an_object_that_comes_twice_is_one(ends):
    x = torch.ones(3)
    a, b, (c,) = sent(ends, (x, x, [x]))
    assert a is b is c


@pytest.mark.parametrize("seed", range(20))
def test_views_overlap_as_they_did(ends, seed):
    """Whatever is written through one view shows in the others as it does at the sender."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(high):
        return int(torch.randint(0, high, (1,), generator=generator))

    base = torch.arange(400, dtype=torch.int32)
    types = (torch.int32, torch.int8, torch.int16)
    views = []
    for _ in range(8):
        start = drawn(390)
        view = base[start : start + 1 + drawn(10)].view(types[drawn(3)])
        views.append(view[:: 1 + drawn(2)])
    found = sent(ends, views)
    for index, (own, other) in enumerate(zip(views, found)):
        own.fill_(index)
        other.fill_(index)
    assert [each.tolist() for each in found] == [each.tolist() for each in views]


def test_messages_wait_where_there_is_no_room(ends):
    one, other = ends
    for number in range(5000):
        one.post(number)
    assert one.is_full
    found = []
    while len(found) < 5000:
        one.flush()
        found.append(other.receive())
    assert (found, one.is_full) == (list(range(5000)), False)


def test_what_was_sent_before_the_end_still_comes(ends):
    one, other = ends
    one.post("last")
    with pytest.raises(BlockingIOError):
        one.receive()
    one.close()
    assert other.receive() == "last"
    with pytest.raises(EOFError):
        other.receive()
    other.post("into the void")
    assert not other.is_full


def test_an_object_that_cannot_be_pickled_leaves_the_pipe_as_it_was(ends):
    with pytest.raises(Exception, match="pickle"):
        ends[0].post([torch.ones(2), lambda: 0])
    assert sent(ends, 7) == 7


def test_files_are_closed(ends):
    sent(ends, torch.ones(10))
    before = open_files()
    small = [sent(ends, torch.ones(COPIED_BYTES // 8)) for _ in range(5)]
    assert open_files() <= before
    large = [sent(ends, torch.ones(COPIED_BYTES)) for _ in range(5)]
    assert open_files() <= before
    del small
    assert mappings() == 5
    del large
    assert mappings() == 0


def mappings():
    """How many messages are mapped in this process."""
    maps = Path("/proc/self/maps").read_text()
    return maps.count("memfd:flambeau-message") + maps.count("memfd:flambeau-batch")


def test_a_file_that_cannot_be_opened_is_an_error(ends):
    ends[0].post(torch.ones(INLINE_BYTES))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    filler = []
    try:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (1 + max(int(each) for each in os.listdir("/proc/self/fd")), limits[1])
        )
        with pytest.raises(OSError):
            while True:
                filler.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(TooManyFilesError, match="(?s)Too many open files.*ulimit -n"):
            ends[1].receive()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for each in filler:
            os.close(each)
    assert sent(ends, 3) == 3


def stack(rows, columns):
    stack = worker_pipe.SharedStack()
    stack.add([np.full(columns, row, np.float32) for row in range(rows)])
    return stack.tensor(np.dtype(np.float32), (rows, columns))


def test_a_stack_is_sent_by_its_file(ends):
    x = stack(4, COPIED_BYTES)
    assert (x.shape, x[:, -1].tolist()) == ((4, COPIED_BYTES), [0.0, 1.0, 2.0, 3.0])
    x[1] = 7.0
    found, row, text = sent(ends, (x, x[3, 5:8], "text"))
    assert (torch.equal(found, x), row.tolist(), text) == (True, [3.0, 3.0, 3.0], "text")
    row.fill_(-1.0)
    assert found[3, 4:9].tolist() == [3.0, -1.0, -1.0, -1.0, 3.0]


def test_a_stack_that_got_other_memory_is_sent_as_it_is(ends):
    x = stack(2, 8)
    x.resize_(40).fill_(5.0)
    assert sent(ends, x).tolist() == [5.0] * 40


def test_more_stacks_than_files_go_with_a_message(ends):
    stacks = [stack(2, 3) + 0 if index % 2 else stack(2, 3) for index in range(3 * worker_pipe.MAX_FILES)]
    for index, each in enumerate(stacks):
        each[0] = index
    found = sent(ends, stacks + ["x" * INLINE_BYTES])
    assert [each[0, 0].item() for each in found[:-1]] == list(range(len(stacks)))


def test_files_of_stacks_are_closed(ends):
    before = open_files()
    x = stack(2, COPIED_BYTES)
    found = sent(ends, x)
    assert open_files() - before
    del x
    assert torch.equal(found[1], torch.ones(COPIED_BYTES))
    assert open_files() <= before and mappings() == 1
    del found
    assert mappings() == 0


def test_more_batches_may_be_alive_than_files(ends):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(open_files()) + 30, limits[1]))
    try:
        kept = [sent(ends, torch.full((COPIED_BYTES,), float(number))) for number in range(60)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert [each[-1].item() for each in kept] == [float(number) for number in range(60)]
