"""Counts of driver and allocator calls per warm call.  They are exact on every machine, so they are gated.

A number here may go down.  One that goes up wants a reason in the change that raises it.
"""

import pytest

import flambeau as torch
from flambeau.testing import machine

EXPECTED = {
    "a + b": {"block": 1, "launch": 1},
    "a.add_(b)": {"launch": 1},
    "a + b.t()": {"block": 1, "launch": 1},
    "a.exp()": {"block": 1, "launch": 1},
    "a.sum()": {"block": 1, "launch": 1},
    "a @ b": {"block": 1, "launch": 1},
    "relu of addmm": {"block": 1, "launch": 1},
    "softmax(a)": {"block": 1, "launch": 1},
    "conv2d": {"block": 1, "launch": 1},
    "conv2d with bias": {"block": 1, "launch": 2},
    "max_pool2d": {"block": 2, "launch": 1},
    "empty": {"block": 1},
    "zeros": {"block": 1, "launch": 1},
    "randn": {"block": 1, "launch": 1},
    "a[1:]": {},
    "a.item()": {"copy": 1, "host wait": 1},
    "pinned to cuda": {"block": 1, "copy": 1},
    "cuda to cpu": {"copy": 1, "host wait": 1},
    "cuda to pinned": {"copy": 1, "record": 1},
    "with stream": {},
    "wait_stream": {"record": 1, "stream wait": 1},
    "event.record": {"record": 1},
    "forward + backward": {"block": 16, "launch": 13},
    "gru": {"block": 3, "launch": 2},
    "gru, forward + backward": {"block": 18, "launch": 16},
    "AdamW.step": {"launch": 1},
    "SGD.step": {"launch": 1},
    "zero_grad": {},
    "clip_grad_norm_": {"block": 2, "launch": 3},
    "clip_grad_value_": {"launch": 1},
}


@pytest.fixture(scope="module")
def found():
    from benchmarks import counts

    with machine(devices=1):
        return {each["name"]: each["counts"] for each in counts.measure()}


def test_every_watched_call_has_an_expectation(found):
    assert set(found) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_warm_call_costs_what_it_should(found, name):
    assert found[name] == EXPECTED[name]


@pytest.mark.devices(1)
@pytest.mark.parametrize("amsgrad", [False, True])
def test_a_capturable_step_counts_and_updates(amsgrad, gpus):
    from benchmarks import counts
    from flambeau import nn, optim

    net = nn.Sequential(nn.Linear(7, 5), nn.Linear(5, 3), nn.Linear(3, 2)).cuda()
    optimizer = optim.AdamW(net.parameters(), amsgrad=amsgrad, capturable=True)
    for each in net.parameters():
        each.grad = each.detach().clone()
    assert len(list(net.parameters())) == 6
    assert counts.of(optimizer.step) == {"launch": 2}


@pytest.mark.devices(2)
def test_a_small_copy_to_another_device_is_a_copy_and_two_waits(gpus):
    from benchmarks import counts

    a = torch.ones(16, 16, device="cuda:0")
    assert counts.of(lambda: a.to("cuda:1")) == {"block": 1, "copy": 1, "record": 2, "stream wait": 2}
