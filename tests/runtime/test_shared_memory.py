"""CPU tensors in shared memory (semantics 1.18.6), by either strategy."""

import errno
import os
import subprocess
import sys
from ast import literal_eval

import pytest

import flambeau as torch
import flambeau.multiprocessing as mp
from flambeau import channel
from flambeau.errors import ConfigError, ProcessGoneError
from flambeau.runtime import shared_memory
from tests.open_files import open_files


@pytest.fixture(params=sorted(mp.get_all_sharing_strategies()))
def strategy(request):
    former = mp.get_sharing_strategy()
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(former)


def named_files():
    return {each for each in os.listdir(shared_memory._directory()) if each.startswith(f"{os.getpid()}-")}


def test_both_processes_write_the_same_memory(other, strategy):
    x = torch.arange(6.0).reshape(2, 3)
    assert not x.is_shared()
    lines = "x[0] += 10; kept = x; answer = x.tolist(), x.is_shared()"
    assert other.do(lines, x=x) == ([[10.0, 11.0, 12.0], [3.0, 4.0, 5.0]], True)
    assert x.is_shared() and x.tolist() == [[10.0, 11.0, 12.0], [3.0, 4.0, 5.0]]
    x[1] = 0
    assert other.do("answer = kept.tolist()[1]") == [0.0, 0.0, 0.0]
    assert other.do("answer = y._storage is kept._storage", y=x) is True


def test_what_comes_back_is_what_was_sent(other, strategy):
    x = torch.ones(3)
    assert other.do("answer = x", x=x)._storage is x._storage


def test_every_tensor_over_the_memory_moves_there(strategy):
    x = torch.arange(4.0)
    view, array = x[1:], x.numpy()
    assert x.share_memory_() is x
    assert view.is_shared()
    x[1] = 9
    assert view.tolist() == [9.0, 2.0, 3.0]
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0]  # made before: the former memory
    assert x.numpy().tolist() == [0.0, 9.0, 2.0, 3.0]
    assert x.share_memory_()._storage.address() == x._storage.address()


def test_files_with_names_go_with_their_tensor():
    mp.set_sharing_strategy("file_system")
    try:
        before = named_files()
        x = torch.ones(3).share_memory_()
        assert len(named_files() - before) == 1
        del x
        assert named_files() <= before
    finally:
        mp.set_sharing_strategy("file_descriptor")


def test_files_of_a_killed_process_go_with_the_next():
    program = """
import os, flambeau as torch, flambeau.multiprocessing as mp
mp.set_sharing_strategy("file_system")
kept = torch.ones(3).share_memory_()
print([each for each in os.listdir({directory!r}) if each.startswith(f"{{os.getpid()}}-")], flush=True)
{end}
"""
    directory, made = str(shared_memory._directory()), []
    for end in ("os.kill(os.getpid(), 9)", ""):
        command = [sys.executable, "-c", program.format(directory=directory, end=end)]
        made += literal_eval(subprocess.run(command, capture_output=True, timeout=60).stdout.decode())
    assert len(made) == 2 and not set(made) & set(os.listdir(directory))


def test_pinned_memory_becomes_shared(gpus):
    x = torch.ones(3).pin_memory()
    x.share_memory_()
    assert x.is_shared() and not x.is_pinned() and x.tolist() == [1.0] * 3


def test_a_gpu_s_memory_can_always_be_shared(gpus):
    x = torch.ones(3, device="cuda")
    assert x.is_shared() and x.share_memory_() is x


def test_empty_tensors(other):
    assert other.do("answer = tuple(x.shape)", x=torch.empty(0, 2)) == (0, 2)
    assert torch.empty(0).share_memory_().is_shared()


def test_modules_train_together(other):
    net = torch.nn.Linear(2, 1)
    assert net.share_memory() is net
    assert all(each.is_shared() for each in net.parameters())
    other.do("with torch.no_grad(): net.weight.fill_(4)", net=net)
    assert net.weight.tolist() == [[4.0, 4.0]]


def test_the_size_of_shared_memory_is_sealed():
    x = torch.ones(3).share_memory_()
    file = shared_memory.host_side().files[x._storage]
    with pytest.raises(PermissionError):
        os.ftruncate(file.descriptor, 0)


def test_what_is_no_such_file_is_refused(tmp_path):
    host = shared_memory.host_side()
    plain = tmp_path / "plain"
    plain.write_bytes(bytes(100))
    answer = shared_memory._ANSWER.pack(12, b"")
    with pytest.raises((ValueError, OSError)):
        host._opened(answer, [os.open(plain, os.O_RDWR)])
    with pytest.raises(ValueError, match="is not the name of a shared file"):
        host._opened(shared_memory._ANSWER.pack(12, b"../../etc/passwd"), [])
    with pytest.raises(ValueError, match="an answer of 3 bytes"):
        host._opened(b"abc", [])


def test_strategies_are_checked():
    with pytest.raises(ConfigError, match="'telepathy' is unknown"):
        mp.set_sharing_strategy("telepathy")


def test_a_killed_sender_s_message_is_an_error(others, context):
    queue = context.SimpleQueue()
    other = others(queue=queue)
    other.do("kept = torch.ones(3); queue.put(kept)")
    other.kill()
    with pytest.raises(ProcessGoneError):
        queue.get()


def test_descriptors_are_given_back(other):
    def files():
        channel.settle()
        return open_files()

    other.do("kept = x", x=torch.ones(3))
    before = files()
    for _ in range(5):
        other.do("kept = x", x=torch.ones(3))
    assert files() <= before


def test_a_shared_storage_has_at_most_one_descriptor(strategy):
    before = open_files()
    kept = [torch.ones(3).share_memory_() for _ in range(10)]
    assert len(open_files() - before) == (10 if strategy == "file_descriptor" else 0)
    view = kept[0][1:]
    del kept
    assert len(open_files() - before) == int(strategy == "file_descriptor")
    assert view.fill_(2).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("name", "call", "number"),
    [("file_descriptor", "memfd_create", errno.EMFILE), ("file_system", "posix_fallocate", errno.ENOSPC)],
)
def test_memory_that_the_system_does_not_share_is_an_error(monkeypatch, name, call, number):
    def refuse(*arguments):
        raise OSError(number, os.strerror(number))

    former, files, before = mp.get_sharing_strategy(), named_files(), open_files()
    mp.set_sharing_strategy(name)
    monkeypatch.setattr(os, call, refuse)
    x = torch.ones(3)
    try:
        with pytest.raises(
            RuntimeError, match="(?s)share_memory_: .*12 bytes of .*hint: .*ulimit -n|--shm-size"
        ) as refused:
            x.share_memory_()
    finally:
        mp.set_sharing_strategy(former)
    assert isinstance(refused.value, OSError) and refused.value.errno == number
    assert not x.is_shared() and x.tolist() == [1.0, 1.0, 1.0]
    assert named_files() <= files and open_files() <= before
