"""The `grad` attribute: valid values, retained gradients, and references held by hooks."""

import gc
import weakref

import pytest

import flambeau as torch
from flambeau.errors import ArgumentTypeError, AutogradError, DeviceMismatchError, DtypeError, ShapeError


def leaf(*shape):
    return torch.ones(*shape, requires_grad=True)


@pytest.mark.parametrize(
    ("grad", "error"),
    [
        (lambda: torch.ones(2), ShapeError),
        (lambda: torch.ones(3, 1), ShapeError),
        (lambda: torch.ones(3, dtype=torch.float64), DtypeError),
        (lambda: torch.ones(3, dtype=torch.int32), DtypeError),
        (lambda: 5, ArgumentTypeError),
        (lambda: [1.0, 1.0, 1.0], ArgumentTypeError),
    ],
)
def test_what_is_no_gradient_of_the_tensor_is_refused_and_nothing_has_changed(grad, error):
    x = leaf(3)
    x.sum().backward()
    before = x.grad
    with pytest.raises(error, match="^grad: "):
        x.grad = grad()
    assert x.grad is before


def test_a_tensor_is_not_its_own_gradient():
    x = leaf(3)
    with pytest.raises(AutogradError, match="own gradient"):
        x.grad = x
    assert x.grad is None


@pytest.mark.devices(2)
def test_a_gradient_lies_where_its_tensor_does(gpus):
    x = torch.ones(3, device="cuda:0", requires_grad=True)
    for where in ("cpu", "cuda:1"):
        with pytest.raises(DeviceMismatchError, match="cuda:0"):
            x.grad = torch.ones(3, device=where)
    x.grad = torch.ones(3, device="cuda:0")
    assert x.grad.tolist() == [1.0] * 3


def test_what_fits_may_be_assigned_deleted_and_assigned_again():
    x = leaf(3)
    x.grad = torch.ones(3)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [3.0] * 3
    del x.grad
    assert x.grad is None
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_a_kept_gradient_is_what_the_hooks_leave_in_whatever_order_they_came():
    x = leaf(3)
    y = x * 1
    y.register_hook(lambda grad: grad * 2)
    y.retain_grad()
    y.retain_grad()
    y.register_hook(lambda grad: grad * 5)
    y.sum().backward()
    assert y.grad.tolist() == x.grad.tolist() == [10.0] * 3


def test_a_hook_that_is_removed_leaves_the_others_and_the_kept_gradient():
    x = leaf(2)
    y = x * 1
    first = y.register_hook(lambda grad: grad * 2)
    y.retain_grad()
    y.register_hook(lambda grad: grad * 3)
    first.remove()
    first.remove()
    y.sum().backward()
    assert y.grad.tolist() == x.grad.tolist() == [3.0, 3.0]


def test_keeping_the_gradient_of_a_leaf_changes_nothing_and_of_a_constant_is_an_error():
    x = leaf(2)
    x.retain_grad()
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    with pytest.raises(AutogradError, match="retain_grad"):
        torch.ones(2).retain_grad()


def test_a_hook_that_closes_over_its_leaf_is_collected_with_it(gpus):
    def use():
        x = torch.ones(1000, device="cuda", requires_grad=True)
        x.register_hook(lambda grad: grad * x.detach())
        (x * 3).sum().backward()
        assert x.grad[0].item() == 3.0
        return weakref.ref(x)

    held = torch.cuda.memory_allocated()
    alive = use()
    gc.collect()
    assert alive() is None and torch.cuda.memory_allocated() == held


def test_requires_grad_of_a_result_is_not_assigned():
    y = torch.ones(2, requires_grad=True) * 2
    for value in (True, False):
        with pytest.raises(AutogradError, match=r"^requires_grad: .*MulBackward0"):
            y.requires_grad = value
    assert y.requires_grad and y.requires_grad_() is y
