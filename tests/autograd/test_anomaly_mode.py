"""Anomaly detection: the forward call of a failing node, and NaN gradients."""

import warnings

import pytest

import flambeau as torch
from flambeau.autograd import Function, detect_anomaly, set_detect_anomaly
from flambeau.errors import AutogradError


class Fails(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("in backward")


def leaf(*values):
    return torch.tensor(values or [1.0, 2.0], requires_grad=True)


def test_a_failing_node_is_shown_with_its_forward_call():
    with set_detect_anomaly(True):
        y = Fails.apply(leaf()).sum()  # the forward call
        with (
            pytest.warns(UserWarning, match="(?s)Error detected in FailsBackward.*# the forward call") as caught,
            pytest.raises(ValueError, match="in backward"),
        ):
            y.backward()
    assert len(caught) == 1 and "autograd/function.py" not in str(caught[0].message)


def test_without_a_traceback_the_warning_says_so():
    y = Fails.apply(leaf()).sum()
    with (
        set_detect_anomaly(True),
        pytest.warns(UserWarning, match="Error detected in FailsBackward. No forward pass information available"),
        pytest.raises(ValueError),
    ):
        y.backward()


def test_a_nan_is_an_error_that_names_the_node_and_the_result():
    x = leaf(0.0, 1.0)
    with set_detect_anomaly(True):
        y = (x * 0).sqrt().sum()
        with (
            pytest.warns(UserWarning, match="Error detected in SqrtBackward0"),
            pytest.raises(AutogradError, match=r"Function 'SqrtBackward0' returned nan values in its 0th output"),
        ):
            (y * 0).backward()
    assert x.grad is None
    with set_detect_anomaly(True, check_nan=False):
        ((x * 0).sqrt().sum() * 0).backward()
    assert x.grad.isnan().all()


def test_a_node_made_by_backward_is_shown_with_what_induced_it():
    class Inner(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return Fails.apply(grad) * ctx.saved_tensors[0]

    x = leaf()
    with set_detect_anomaly(True):
        y = Inner.apply(x).sum()
        (first,) = torch.autograd.grad(y, x, torch.tensor(1.0, requires_grad=True), create_graph=True)
        with (
            pytest.warns(UserWarning) as caught,
            pytest.raises(ValueError),
        ):
            first.sum().backward()
    texts = [str(each.message) for each in caught]
    assert texts[0].startswith("Error detected in FailsBackward")
    assert texts[1].startswith("Previous calculation was induced by InnerBackward")


def test_the_modes_are_restored():
    assert not torch.is_anomaly_enabled()
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        block = detect_anomaly(check_nan=False)
    assert not torch.is_anomaly_enabled()
    with block:
        assert torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()
        with set_detect_anomaly(False):
            assert not torch.is_anomaly_enabled()
        assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
    set_detect_anomaly(True)
    assert torch.is_anomaly_enabled()
    set_detect_anomaly(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        leaf().exp().sum().backward()
    with pytest.raises(TypeError, match="set_detect_anomaly: mode must be a bool, got 1"):
        set_detect_anomaly(1)


def test_the_mode_is_set_by_a_function():
    torch.set_anomaly_enabled(True, False)
    try:
        assert torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()
    finally:
        torch.set_anomaly_enabled(False)
    assert not torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
