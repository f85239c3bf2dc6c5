"""Hidden waits are reported at the line that waits.  Row 1.3.4"""

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


@pytest.mark.parametrize("wrong", [3, -1, "WARN"])
def test_a_wrong_mode_changes_nothing(wrong):
    torch.cuda.set_sync_debug_mode(1)
    with pytest.raises(errors.ModeError, match=f"got {wrong!r}"):
        torch.cuda.set_sync_debug_mode(wrong)
    with pytest.raises(errors.ArgumentTypeError, match="got True"):
        torch.cuda.set_sync_debug_mode(True)
    assert torch.cuda.get_sync_debug_mode() == 1
