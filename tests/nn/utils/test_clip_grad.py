"""Clipping of gradients, by norm and by value."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.core.queue import hooks
from flambeau.errors import (
    AutogradError,
    DtypeError,
)
from flambeau.nn import utils


def params(*grads):
    made = [nn.Parameter(torch.zeros(len(each))) for each in grads]
    for param, each in zip(made, grads):
        param.grad = torch.tensor(each)
    return [*made, nn.Parameter(torch.zeros(1))]


def grads(found):
    return [value for each in found if each.grad is not None for value in each.grad.tolist()]


@pytest.mark.parametrize(("order", "norm"), [(2.0, 5.0), (1.0, 7.0), (float("inf"), 4.0), (3.0, 91 ** (1 / 3))])
def test_norms_are_of_all_gradients_together(order, norm):
    found = params([3.0], [0.0, -4.0])
    assert utils.clip_grad_norm_(found, 1e9, order).item() == pytest.approx(norm, rel=1e-6)
    assert grads(found) == [3.0, 0.0, -4.0]


def test_the_norm_of_order_zero_counts_gradients_that_are_not_all_zeros(gpus):
    """The values are those of PyTorch 2.13."""
    found = params([3.0, 0.0, 4.0], [0.0, -2.0], [0.0], [float("nan")])[:-1]
    where = [0, 0, 1, 1] if torch.cuda.device_count() > 1 else [0] * 4
    moved = [each.grad.to(device) for each, device in zip(found, where)]
    assert [utils.get_total_norm(each, 0).item() for each in (moved, [each.grad for each in found])] == [3.0, 3.0]
    assert utils.clip_grad_norm_(found[:3], 1.0, norm_type=0.0).item() == 2.0
    assert grads(found[:3]) == pytest.approx([1.5, 0.0, 2.0, 0.0, -1.0, 0.0], rel=1e-5)
    with pytest.raises(DtypeError, match=r"get_total_norm: tensors\[0\] is int64"):
        utils.get_total_norm([torch.ones(2, dtype=torch.int64)], 0)


def test_gradients_are_scaled_down_to_the_norm():
    found = params([3.0], [0.0, -4.0])
    utils.clip_grad_norm_(found, 1.0)
    assert grads(found) == pytest.approx([0.6, 0.0, -0.8], rel=1e-5)
    assert utils.clip_grad_norm_([nn.Parameter(torch.zeros(1))], 1.0).item() == 0.0
    assert utils.clip_grad_norm_(found[0], 1.0).item() == pytest.approx(0.6, rel=1e-5)


def test_a_norm_that_is_not_finite_may_be_an_error():
    found = params([float("inf")], [1.0])
    with pytest.raises(AutogradError, match="norm of order 2.0 of the gradients is non-finite: inf"):
        utils.clip_grad_norm_(found, 1.0, error_if_nonfinite=True)
    assert grads(found) == [float("inf"), 1.0]


@pytest.mark.devices(2)
def test_gradients_may_lie_on_several_devices(gpus):
    found = [nn.Parameter(torch.zeros(1, device=device)) for device in ("cuda:0", "cuda:1")]
    for param, value in zip(found, (3.0, 4.0)):
        param.grad = torch.full((1,), value, device=param.device)
    total = utils.clip_grad_norm_(found, 2.5)
    assert (str(total.device), total.item()) == ("cuda:0", 5.0)
    assert grads(found) == pytest.approx([1.5, 2.0], rel=1e-5)


def test_values_are_cut_off():
    found = params([3.0, -0.5], [-4.0])
    utils.clip_grad_value_(found, 1.0)
    assert grads(found) == [1.0, -0.5, -1.0]


@pytest.mark.devices(1)
def test_halves_are_scaled_by_a_norm_they_cannot_hold(gpus):
    found = [nn.Parameter(torch.zeros(100, device="cuda", dtype=torch.float16))]
    found[0].grad = torch.full((100,), 60000.0, device="cuda", dtype=torch.float16)
    total = utils.clip_grad_norm_(found, 10.0)
    assert (total.dtype, total.item()) == (torch.float16, float("inf"))
    assert found[0].grad.tolist() == pytest.approx([1.0] * 100, rel=1e-3)


@pytest.mark.devices(1)
def test_limits_are_writes_and_do_not_wait(gpus):
    found = [nn.Parameter(torch.zeros(3, device="cuda")) for _ in range(2)]
    for each in found:
        each.grad = torch.ones(3, device="cuda")
    before = [each.grad._storage.version for each in found]
    waits = []
    hooks.on_wait, kept = lambda *waiter: waits.append(waiter), hooks.on_wait
    try:
        utils.clip_grad_norm_(found, 1.0)
        utils.clip_grad_value_(found, 0.25)
    finally:
        hooks.on_wait = kept
    assert waits == []
    assert [each.grad._storage.version - version for each, version in zip(found, before)] == [2, 2]
    assert grads(found) == [0.25] * 6


def test_gradients_are_scaled_by_a_norm_that_was_made_before():
    found = params([3.0], [0.0, -4.0])
    total = utils.get_total_norm([each.grad for each in found if each.grad is not None])
    utils.clip_grads_with_norm_(found, 1.0, total)
    assert grads(found) == pytest.approx([0.6, 0.0, -0.8], rel=1e-5)
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        assert utils.clip_grad_norm(found, 0.5).item() == pytest.approx(1.0, rel=1e-5)


def test_the_norm_of_one_tensor():
    assert torch.nn.utils.get_total_norm(torch.tensor([3.0, 4.0])).item() == 5
