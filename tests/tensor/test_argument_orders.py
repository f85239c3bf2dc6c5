"""Deprecated orders of arguments, a number before the tensors: values and gradients are those of PyTorch 2.13."""

import inspect

import numpy as np
import pytest

import flambeau as torch
from tests.wrong import cases, refused

ROW, PAIR, SQUARE = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]
# operator: input, tensors, result for -0.5, gradients of the sum of the result's square
ONE_NUMBER = {
    "add": (ROW, [[2.0, 3.0, 4.0, 5.0]], [0.0, 0.5, 1.0, 1.5], [[0, 1, 2, 3], [0, -0.5, -1, -1.5]]),
    "sub": (ROW, [[2.0, 3.0, 4.0, 5.0]], [2.0, 3.5, 5.0, 6.5], [[4, 7, 10, 13], [2, 3.5, 5, 6.5]]),
    "addcmul": (
        ROW, [[2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 2.0, 4.0]], [0.0, -1.0, -1.0, -6.0],
        [[0, -2, -2, -12], [0, 2, 2, 24], [0, 3, 4, 30]],
    ),
    "addcdiv": (
        ROW, [[2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 2.0, 4.0]], [0.0, 1.25, 2.0, 3.375],
        [[0, 2.5, 4, 6.75], [0, -0.625, -1, -0.84375], [0, 0.9375, 2, 1.0546875]],
    ),
}  # fmt: skip
# operator: input, tensors, result for beta 3, result for beta 3 and alpha -0.5, gradients of the latter's square
TWO_NUMBERS = {
    "addmm": (SQUARE, [SQUARE, SQUARE], [[10, 16], [24, 34]], [[-0.5, 1.0], [1.5, 1.0]]),
    "addmv": (PAIR, [SQUARE, PAIR], [8, 17], [0.5, 0.5]),
    "addr": (SQUARE, [PAIR, PAIR], [[4, 8], [11, 16]], [[2.5, 5.0], [8.0, 10.0]]),
    "addbmm": (SQUARE, [[SQUARE], [SQUARE]], [[10, 16], [24, 34]], [[-0.5, 1.0], [1.5, 1.0]]),
    "baddbmm": ([SQUARE], [[SQUARE], [SQUARE]], [[[10, 16], [24, 34]]], [[[-0.5, 1.0], [1.5, 1.0]]]),
}
GRADIENTS = {
    "addmm": [[[-3, 6], [9, 6]], [[-1.5, -2.5], [-3.5, -8.5]], [[-4, -4], [-5, -6]]],
    "addmv": [[3, 3], [[-0.5, -1], [-0.5, -1]], [-2, -3]],
    "addr": [[[15, 30], [48, 60]], [-12.5, -28], [-18.5, -25]],
}
KEYWORDS = {
    "add": ["other"], "sub": ["other"], "addcmul": ["tensor1", "tensor2"], "addcdiv": ["tensor1", "tensor2"],
    "addmm": ["mat1", "mat2"], "addmv": ["mat", "vec"], "addr": ["vec1", "vec2"], "addbmm": ["batch1", "batch2"],
    "baddbmm": ["batch1", "batch2"],
}  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore:.* the order of arguments .* is deprecated")


def made(device, values, grad=False):
    return torch.tensor(values, dtype=torch.float64, device=device).requires_grad_(grad)


def operands(device, name, grad=False):
    """The input, the other tensors, and the same by keyword."""
    input, tensors, *_ = (ONE_NUMBER | TWO_NUMBERS)[name]
    others = [made(device, values, grad) for values in tensors]
    return made(device, input, grad), others, dict(zip(KEYWORDS[name], others))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_one_number_before_the_tensors(gpus, device):
    for name, (_, _, wanted, _) in ONE_NUMBER.items():
        x, others, named = operands(device, name)
        out = torch.empty(0, dtype=torch.float64, device=device)
        last = dict([list(named.items())[-1]])
        for number in (-0.5, np.float64(-0.5), np.float32(-0.5), torch.tensor(-0.5)):
            assert getattr(torch, name)(x, number, *others).tolist() == wanted, (name, number)
        for found in (
            getattr(torch, name)(x, -0.5, **named),
            getattr(torch, name)(x, -0.5, *others[:-1], **last),
            getattr(torch, name)(x, -0.5, *others, out=out),
            out,
            getattr(x, name)(-0.5, *others),
            getattr(x, name)(-0.5, **named),
            getattr(x.clone(), f"{name}_")(-0.5, **named),
        ):
            assert found.tolist() == wanted, name
        assert getattr(x, f"{name}_")(-0.5, *others) is x and x.tolist() == wanted, name


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_one_or_two_numbers_before_the_tensors(gpus, device):
    for name, (_, _, by_beta, by_both) in TWO_NUMBERS.items():
        x, others, named = operands(device, name)
        out = torch.empty(0, dtype=torch.float64, device=device)
        function, method = getattr(torch, name), getattr(x, name)
        for found in (
            function(3, x, *others), function(3, x, **named), function(3, x, *others, out=out), out, method(3, *others),
            method(3, **named), getattr(x.clone(), f"{name}_")(3, *others),
        ):  # fmt: skip
            assert found.tolist() == by_beta, name
        for found in (
            function(3, x, -0.5, *others), function(3, x, -0.5, **named), method(3, -0.5, *others),
            method(np.int64(3), torch.tensor(-0.5), *others), function(3, x, -0.5, *others, out=out), out,
        ):  # fmt: skip
            assert found.tolist() == by_both, name
        assert getattr(x, f"{name}_")(3, -0.5, *others) is x and x.tolist() == by_both, name
    x, others, _ = operands(device, "addmv")
    assert torch.addmv_(3, x, *others) is x and x.tolist() == [8, 17]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_gradients(gpus, device):
    for name, number in [(name, (-0.5,)) for name in ONE_NUMBER] + [(name, (3, -0.5)) for name in GRADIENTS]:
        wanted = ONE_NUMBER[name][3] if name in ONE_NUMBER else GRADIENTS[name]
        for form in ("function", "method", "in place"):
            x, others, _ = operands(device, name, grad=True)
            if form == "function":
                first = (x, *number) if len(number) == 1 else (number[0], x, number[1])
                result = getattr(torch, name)(*first, *others)
            else:
                result = getattr(x.clone(), name + "_" * (form == "in place"))(*number, *others)
            (result * result).sum().backward()
            assert [each.grad.tolist() for each in (x, *others)] == wanted, (name, form)


def test_in_place_with_a_gradient_of_the_tensors_alone():
    x, others, _ = operands("cpu", "addcmul")
    for other in others:
        other.requires_grad_(True)
    x.addcmul_(-0.5, *others).sum().backward()
    assert [each.grad.tolist() for each in others] == [[-0.5, -1, -1, -2], [-1, -1.5, -2, -2.5]]


def test_other_kinds_of_calls():
    row = torch.tensor([1.0, 2.0])
    assert torch.vmap(lambda x, y: torch.addcmul(x, 2, y, y))(row, row).tolist() == [3.0, 10.0]
    matrix = torch.ones(2, 2, device="meta")
    assert matrix.addmm_(2, 3, matrix, matrix).shape == torch.add(matrix, 2, matrix).shape == (2, 2)

    class Named(torch.Tensor):
        pass

    named = row.as_subclass(Named)
    for found in (torch.add(named, 2, row), torch.add(row, 2, named), named.add(2, row), named.clone().add_(2, row)):
        assert type(found) is Named and found.tolist() == [3.0, 6.0]


def test_they_warn_and_the_usual_order_does_not(recwarn):
    x = torch.ones(2)
    x.addcdiv_(x, x, value=-0.5)
    assert not recwarn.list
    x.addcdiv_(-0.5, x, x)
    (warning,) = recwarn.list
    assert warning.category is UserWarning and warning.filename == __file__
    assert str(warning.message) == (
        "addcdiv_: the order of arguments (input, value, tensor1, tensor2) is deprecated: "
        "pass (input, tensor1, tensor2, value=...)"
    )


def test_signatures_have_the_usual_order():
    assert str(inspect.signature(torch.addcdiv)) == "(input, tensor1, tensor2, *, value=1, out=None)"
    assert str(inspect.signature(torch.Tensor.add_)) == "(self, other, *, alpha=1)"
    assert torch.add.__wrapped__.as_function() is torch.add and torch.add.__name__ == "add"


T, M = torch.ones(2), torch.ones(2, 2)
WRONG = cases(
    (lambda: torch.addcmul(T, 2.0, T), TypeError, "addcmul", "tensor1", "float"),
    (lambda: torch.addcmul(T, T, 2.0), TypeError, "addcmul", "tensor2", "float"),
    (lambda: torch.addcmul(2, T, T), TypeError, "addcmul", "input", "int"),
    (lambda: torch.addcmul(T, T, T, 2), TypeError, "addcmul", "3", "4"),
    (lambda: torch.addcmul(T, T, T, value=T), TypeError, "addcmul", "value", "2 elements"),
    (lambda: torch.addcmul(T, T, T, T), TypeError, "addcmul", "3", "4"),
    (lambda: torch.addcdiv(T, 1, T), TypeError, "addcdiv", "tensor1", "int"),
    (lambda: torch.addcdiv(T, T, T, value=T), TypeError, "addcdiv", "value", "2 elements"),
    (lambda: T.clone().addcdiv_(T, T, 2.0), TypeError, "addcdiv_", "3", "4"),
    (lambda: T.addcdiv("2", T, T), TypeError, "addcdiv", "3", "4"),
    (lambda: T.add(None, T), TypeError, "add", "2", "3"),
    (lambda: T.add(2, T, alpha=3), TypeError, "add", "2", "3"),
    (lambda: T.add(2.0, 3.0), TypeError, "add", "2", "3"),
    (lambda: torch.add(T, T, 2), TypeError, "add", "2", "3"),
    (lambda: torch.add(T, T, alpha=T), TypeError, "add", "alpha", "2 elements"),
    (lambda: torch.subtract(T, 2, T), TypeError, "subtract", "2", "3"),
    (lambda: torch.lerp(T, 2.0, 0.5), TypeError, "lerp", "end", "float"),
    (lambda: torch.addmm(M, 2, M, M), TypeError, "addmm", "3", "4"),
    (lambda: torch.addmm(M, M, M, 2, 3), TypeError, "addmm", "3", "5"),
    (lambda: torch.addmm(M, M, M, beta=M), TypeError, "addmm", "beta", "4 elements"),
    (lambda: torch.addmm(2, M, M, M, alpha=2), TypeError, "addmm", "3", "4"),
    (lambda: torch.addmm(2, 3, M, M, M), TypeError, "addmm", "3", "5"),
    (lambda: M.addmm(M, 2, M, M), TypeError, "addmm", "3", "5"),
    (lambda: M.addmm(2, 3, M), TypeError, "addmm", "3", "4"),
    (lambda: M.addmm(2, M, M, out=M), TypeError, "addmm", "out"),
    (lambda: T.addcmul(torch.tensor(2.0, requires_grad=True), T, T), TypeError, "addcmul", "3", "4"),
)


@WRONG
def test_what_is_refused(case):
    refused(*case)
