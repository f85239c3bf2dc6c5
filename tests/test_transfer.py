"""Reading values of small tensors on a GPU."""

import pytest

import flambeau as torch
from flambeau import transfer
from flambeau.core.hooks import subscribe, unsubscribe
from flambeau.testing import machine

pytestmark = pytest.mark.devices(1)


def test_values_of_every_layout_and_size_are_read(gpus):
    x = torch.arange(1200.0).reshape(30, 40)
    for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.int8, torch.bool):
        host = x.to(dtype)
        for part in (lambda t: t, lambda t: t.t()[3:9], lambda t: t[:2], lambda t: t[1:9:3, ::5], lambda t: t[2, 7]):
            assert part(host.cuda()).tolist() == part(host).tolist(), (dtype, part(host).shape)
    assert torch.zeros(0, 3, device="cuda").tolist() == []


def test_a_read_within_a_read_has_memory_of_its_own(gpus):
    """As by a signal handler, between the wait of one read and its copy of the values."""
    x, other = torch.tensor([1, 2], device="cuda"), torch.tensor([7, 8], device="cuda")
    inner = []

    def on_host_read(access):
        if not inner:
            inner.append(None)
            inner[0] = other.tolist()

    subscribe(on_host_read=on_host_read)
    try:
        assert x.tolist() == [1, 2] and inner == [[7, 8]]
    finally:
        unsubscribe(on_host_read=on_host_read)


def test_memory_of_a_read_whose_wait_failed_is_not_used_again(monkeypatch):
    with machine(devices=1) as made:
        x = torch.tensor([5], device="cuda")
        assert x.item() == 5
        (landing,) = (each for each in transfer._landings if each.machine() is made)

        def interrupted(stream):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(made.driver, "stream_synchronize", interrupted)
            with pytest.raises(KeyboardInterrupt):
                x.item()
        assert (x + 1).item() == 6 and landing not in transfer._landings
