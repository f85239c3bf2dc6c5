"""gradcheck and gradgradcheck: arguments, mismatches and errors."""

import pytest

import flambeau as torch
from flambeau.autograd import Function, gradcheck, gradgradcheck
from flambeau.errors import AutogradError, GradcheckError


def leaf(*values, dtype=torch.float64, device="cpu"):
    return torch.tensor(values or [0.5, 2.0], dtype=dtype, device=device, requires_grad=True)


def function(forward, backward):
    return type("Made", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}).apply


def test_a_function_that_closes_over_its_input_is_checked():
    x, y = leaf(), leaf(1.0, 3.0)
    assert gradcheck(lambda *_: x * y + x.exp(), [x, y])
    assert gradcheck(lambda _: x * x.detach().clone() * 2 - x * x.detach() * 0, x, raise_exception=False) is False
    assert x.tolist() == [0.5, 2.0]


def test_one_tensor_numbers_and_several_outputs_are_taken():
    x = leaf()
    assert gradcheck(lambda x, n: (x * n, x.long(), [1], x.detach()), (x, 3.0))
    assert gradcheck(torch.sin, x, fast_mode=True) and gradgradcheck(torch.sin, x, fast_mode=True)
    assert gradcheck(lambda x: x.view(1, 2).t().clone(), leaf())
    view = (leaf(1.0, 2.0, 3.0, 4.0) * 1).view(2, 2).t().detach().requires_grad_()
    assert gradcheck(lambda each: each**3, view)


def test_float32_is_checked_with_a_warning():
    with pytest.warns(UserWarning, match=r"Input #1 requires gradient and is not a double.*float32\[2\] on cpu"):
        assert gradcheck(lambda _, x: x * x, (3, leaf(dtype=torch.float32)), eps=1e-2, atol=1e-2)


@pytest.mark.devices(2)
def test_outputs_on_two_devices(gpus):
    x = leaf(device="cuda:0")
    assert gradcheck(lambda x: (x * 2, (x * 3).to("cuda:1"), x.cpu() ** 2), x)
    assert gradgradcheck(lambda x: (x**2, (x**3).to("cuda:1")), x)


def test_a_mismatch_names_output_and_input():
    wrong = function(lambda ctx, x: x * 2, lambda ctx, grad: grad * 3)
    both = (leaf(), leaf())
    with pytest.raises(GradcheckError, match=r"output 1 with respect to input 1 \(float64\[2\] on cpu\)"):
        assert gradcheck(lambda x, y: (x * 2, wrong(y)), both)
    assert gradcheck(lambda x, y: (x * 2, wrong(y)), both, raise_exception=False) is False
    assert gradcheck(wrong, leaf(), fast_mode=True, raise_exception=False) is False
    constant = function(lambda ctx, x: x * 0 + 1, lambda ctx, grad: grad * 0 + 1)
    assert gradcheck(constant, leaf(), raise_exception=False) is False


def test_the_second_derivative_is_checked_for_gradients_of_outputs_too():
    def square(wrong):
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad.detach() * 2 * x if wrong == "grad" else grad * 2 * (x.detach() if wrong == "x" else x)

        return function(lambda ctx, x: (ctx.save_for_backward(x), x * x)[1], backward)

    assert gradgradcheck(square(""), leaf())
    assert gradgradcheck(square(""), leaf(), grad_outputs=leaf(3.0, 4.0))
    assert gradgradcheck(square(""), leaf(), gen_non_contig_grad_outputs=True)
    for wrong in ("x", "grad"):
        assert gradcheck(square(wrong), leaf())
        with pytest.raises(GradcheckError, match="Jacobian mismatch"):
            assert gradgradcheck(square(wrong), leaf())


def test_backward_must_take_undefined_gradients_unless_told_otherwise():
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    careless = function(forward, lambda ctx, grad: grad * 2)
    with pytest.raises(GradcheckError, match="undefined output grads: .*TypeError"):
        assert gradcheck(careless, leaf())
    assert gradcheck(careless, leaf(), check_undefined_grad=False)
    from_nothing = function(forward, lambda ctx, grad: torch.ones(2, dtype=torch.float64) if grad is None else grad * 2)
    with pytest.raises(GradcheckError, match="all input grads to be undefined or zero"):
        assert gradcheck(from_nothing, leaf())


def test_gradients_that_differ_between_passes_need_a_tolerance():
    passes = []

    def backward(ctx, grad):
        passes.append(grad)
        return grad * 2 + len(passes) * 1e-9

    drifting = function(lambda ctx, x: x * 2, backward)
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        assert gradcheck(drifting, leaf(), check_undefined_grad=False)
    assert gradcheck(drifting, leaf(), check_undefined_grad=False, nondet_tol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: gradcheck(torch.sin, torch.ones(2)), ValueError, "at least one input tensor .*float32"),
        (lambda: gradcheck(torch.sin, leaf(), check_forward_ad=True), NotImplementedError, "gradcheck: .*forward-mode"),
        (lambda: gradgradcheck(torch.sin, leaf(), check_batched_grad=True), NotImplementedError, "gradgradcheck: "),
        (lambda: gradcheck(torch.sin, leaf(), check_backward_ad=False), ValueError, "at least one of"),
        (
            lambda: gradcheck(torch.sin, leaf(1.0).expand(3).detach().requires_grad_()),
            RuntimeError,
            r"input 0, float64\[3\] on cpu with strides \[0\]",
        ),
    ],
)
def test_wrong_calls(call, error, match):
    with pytest.raises(error, match=match):
        call()


class Cube(torch.autograd.Function):
    """x^3, with a derivative that is wrong by `error` in the last element."""

    @staticmethod
    def forward(ctx, x, error):
        ctx.save_for_backward(x)
        ctx.error = error
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        slope = 3 * x * x
        slope[-1] += ctx.error
        return grad * slope, None


@pytest.fixture
def x():
    return torch.linspace(-2, 2, 5, dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_right_derivative_passes(x, fast_mode):
    assert gradcheck(lambda x: Cube.apply(x, 0.0), [x], fast_mode=fast_mode)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_one_wrong_element_is_found(x, fast_mode):
    with pytest.raises(AutogradError, match="input 0 .*differs from central differences"):
        assert gradcheck(lambda x: Cube.apply(x, 0.1), [x], fast_mode=fast_mode)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_an_input_that_is_cut_off_is_found(x, fast_mode):
    with pytest.raises(AutogradError, match="input 1 .*differs"):
        assert gradcheck(lambda a, b: a * b.detach(), [x, x.detach().clone().requires_grad_()], fast_mode=fast_mode)
