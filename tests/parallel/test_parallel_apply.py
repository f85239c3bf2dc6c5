"""One thread per replica (1.16.6)."""

import threading

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, ShapeError
from flambeau.parallel import parallel_apply


class See(nn.Module):
    """What its thread has: name, device, stream of cuda:1, gradient mode."""

    def forward(self, *args, **kwargs):
        thread = threading.current_thread().name
        return thread, torch.cuda.current_device(), torch.cuda.current_stream(1), torch.is_grad_enabled(), args, kwargs


def test_threads_have_the_caller_s_state_and_their_device(gpus):
    side = torch.cuda.Stream(1)
    with torch.no_grad(), torch.cuda.stream(side), torch.cuda.device(0):
        found = parallel_apply([See(), See()], [(1,), 2], [{"a": 3}, {}], [1, 0])
    assert [each[0] for each in found] == ["flambeau-replica-0", "flambeau-replica-1"]
    assert [each[1] for each in found] == [1, 0]
    assert all(each[2] == side and not each[3] for each in found)
    assert [each[4:] for each in found] == [((1,), {"a": 3}), ((2,), {})]
    assert torch.cuda.current_device() == 0


def test_without_devices_the_tensors_decide(gpus):
    inputs = [({"x": [torch.ones(1, device=f"cuda:{index}")]},) for index in (1, 0)]
    assert [each[1] for each in parallel_apply([See(), See()], inputs)] == [1, 0]


def test_one_module_needs_no_thread(gpus):
    (found,) = parallel_apply([See()], [()], None, [1])
    assert (found[0], found[1]) == (threading.current_thread().name, 1)
    assert torch.cuda.current_device() == 0


def test_replicas_may_wait_for_each_other(gpus):
    meeting = threading.Barrier(2)

    class Meet(nn.Module):
        def forward(self):
            return meeting.wait() >= 0

    assert parallel_apply([Meet(), Meet()], [(), ()], None, [0, 1]) == [True, True]


class Fail(nn.Module):
    def __init__(self, error=None):
        super().__init__()
        self.error = error

    def forward(self, *args):
        if self.error is not None:
            raise self.error
        return "fine"


def test_the_first_replica_s_exception_comes_with_its_type(gpus):
    modules = [Fail(), Fail(ShapeError("too long")), Fail(KeyError("later"))]
    with pytest.raises(
        ShapeError, match=r"(?s)Caught ShapeError in replica 1 on device cuda:1\..*in forward.*too long"
    ):
        parallel_apply(modules, [(), (), ()], None, [0, 1, 0])
    with pytest.raises(ValueError, match="in replica 0 on device cuda:1"):
        parallel_apply([Fail(ValueError("alone"))], [()], None, [1])
    assert torch.cuda.current_device() == 0
    assert not [each for each in threading.enumerate() if each.name.startswith("flambeau-replica")]


def test_numbers_must_agree(gpus):
    with pytest.raises(ArgumentError, match="2 modules, 1 inputs and 2 kwargs do not fit"):
        parallel_apply([See(), See()], [()])
    with pytest.raises(ArgumentError, match="1 modules and 2 devices do not fit"):
        parallel_apply([See()], [()], None, [0, 1])
