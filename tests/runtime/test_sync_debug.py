"""Implicit waits are reported at the line that waits.  Row 1.3.4"""

import pickle
import warnings

import pytest

import flambeau as torch
from flambeau import errors
from flambeau.testing import machine


@pytest.fixture(autouse=True)
def quiet_again():
    with machine(devices=2):
        yield
        torch.cuda.set_sync_debug_mode("default")


def test_a_warning_is_placed_at_the_users_line():
    x = torch.ones(3, device="cuda:1")
    torch.cuda.set_sync_debug_mode("warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x[0].item()
    (found,) = caught
    begins = test_a_warning_is_placed_at_the_users_line.__code__.co_firstlineno
    assert (found.filename, found.lineno) == (__file__, begins + 5)
    assert f"{__file__}:{begins + 5}: " in str(found.message) and "waits for cuda:1" in str(found.message)


def test_an_error_names_the_line_and_leaves_everything_as_it_was():
    x, host = torch.ones(3, device="cuda"), torch.zeros(3)
    torch.cuda.set_sync_debug_mode("error")
    with pytest.raises(errors.SynchronizationError, match=f"{__file__}:.*waits for cuda:0\nhint: cuda.set_sync_debug"):
        host.copy_(x)
    torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()
    assert host.tolist() == [0.0] * 3 and x.tolist() == [1.0] * 3


WAITS = {
    "item": lambda x: x[0].item(),
    "tolist": lambda x: x.tolist(),
    "cpu": lambda x: x.cpu(),
    "to": lambda x: x.to("cpu"),
    "numpy": lambda x: x.numpy(force=True),
    "bool": lambda x: bool(x[1]),
    "float": lambda x: float(x[1]),
    "index": lambda x: [0, 1, 2][x.long()[1]],
    "format": lambda x: f"{x[0]:.1f}",
    "print": lambda x: str(x),
    "nonzero": lambda x: x.nonzero(),
    "an index by mask": lambda x: x[x > 0],
    "a write by mask": lambda x: x.masked_select(x > 0),
    "equal": lambda x: x.equal(x),
    "in": lambda x: 1.0 in x,
    "a copy from pinned memory that waits": lambda x: x.copy_(torch.ones(3).pin_memory()),
    "a tensor of data": lambda x: torch.tensor([1.0], device=x.device),
    "pickle": lambda x: pickle.dumps(x),
    "a strided target": lambda x: torch.zeros(3, 2)[:, 0].copy_(x, non_blocking=True),
}
GOES_ON = {
    "an operator": lambda x: x + x,
    "between devices": lambda x: x.to("cuda:0"),
    "to pinned memory": lambda x: x.to("cpu", non_blocking=True),
    "from pinned memory": lambda x: x.copy_(torch.ones(3).pin_memory(), non_blocking=True),
    "synchronize": lambda x: torch.cuda.synchronize(),
    "wait": lambda x: x.to("cpu", non_blocking=True).wait(),
    "shape": lambda x: (x.shape, len(x), x.data_ptr()),
}


@pytest.mark.parametrize("name", WAITS)
def test_every_hidden_wait_names_its_line(name):
    x = torch.ones(3, device="cuda:1")
    torch.cuda.set_sync_debug_mode("error")
    line = WAITS[name].__code__.co_firstlineno
    with pytest.raises(errors.SynchronizationError, match=f"^{__file__}:{line}: .*waits for cuda:1"):
        WAITS[name](x)


@pytest.mark.parametrize("name", GOES_ON)
def test_what_waits_for_nothing_or_says_so_is_not_reported(name):
    x = torch.ones(3, device="cuda:1")
    torch.cuda.set_sync_debug_mode("error")
    GOES_ON[name](x)


@pytest.mark.parametrize("wrong", [3, -1, "WARN"])
def test_a_wrong_mode_changes_nothing(wrong):
    torch.cuda.set_sync_debug_mode(1)
    with pytest.raises(errors.ModeError, match=f"got {wrong!r}"):
        torch.cuda.set_sync_debug_mode(wrong)
    with pytest.raises(errors.ArgumentTypeError, match="got True"):
        torch.cuda.set_sync_debug_mode(True)
    assert torch.cuda.get_sync_debug_mode() == 1
