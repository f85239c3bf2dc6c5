"""torch._foreach_*: one operator on every tensor of a list."""

import pytest

import flambeau as torch

A, B = [1.0, 4.0], [0.25]
# name, operands -> values for the lists [A, B]
CASES = [
    ("add", (2,), [[3.0, 6.0], [2.25]]),
    ("add", ([1.0, 2.0],), [[2.0, 5.0], [2.25]]),
    ("add", ("self",), [[2.0, 8.0], [0.5]]),
    ("sub", (1.0,), [[0.0, 3.0], [-0.75]]),
    ("mul", ("number",), [[3.0, 12.0], [0.75]]),
    ("div", (2,), [[0.5, 2.0], [0.125]]),
    ("pow", (2,), [[1.0, 16.0], [0.0625]]),
    ("maximum", (2.0,), [[2.0, 4.0], [2.0]]),
    ("minimum", ([2.0, 0.0],), [[1.0, 2.0], [0.0]]),
    ("clamp_min", ("self",), [A, B]),
    ("sqrt", (), [[1.0, 2.0], [0.5]]),
    ("reciprocal", (), [[1.0, 0.25], [4.0]]),
    ("neg", (), [[-1.0, -4.0], [-0.25]]),
    ("lerp", ([[3.0, 0.0], [1.25]], 0.5), [[2.0, 2.0], [0.75]]),
    ("addcmul", ("self", "self", 2.0), [[3.0, 36.0], [0.375]]),
    ("addcdiv", ("self", "self", [1.0, 4.0]), [[2.0, 5.0], [4.25]]),
    ("addcdiv", ("self", "self", [1.0, 4.0, "tensor"]), [[2.0, 5.0], [4.25]]),
]


def lists(device):
    return [torch.tensor(A, device=device), torch.tensor(B, device=device)]


def made(operand, tensors, device):
    if operand == "self":
        return tensors
    if operand == "number":
        return torch.tensor(3.0, device=device)
    if isinstance(operand, list) and isinstance(operand[0], list):
        return [torch.tensor(values, device=device) for values in operand]
    if isinstance(operand, list) and operand[-1] == "tensor":
        return torch.tensor(operand[:-1])
    return operand


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(("name", "operands", "expected"), CASES)
def test_values(name, operands, expected, device, gpus):
    tensors = lists(device)
    operands = [made(operand, tensors, device) for operand in operands]
    results = getattr(torch, f"_foreach_{name}")(tensors, *operands)
    assert isinstance(results, tuple) and [result.tolist() for result in results] == expected
    assert [tensor.tolist() for tensor in tensors] == [A, B]
    operands = [lists(device) if operand is tensors else operand for operand in operands]
    assert getattr(torch, f"_foreach_{name}_")(tensors, *operands) is tensors
    assert [tensor.tolist() for tensor in tensors] == expected


def test_functions_that_are_new_only_or_in_place_only():
    tensors = lists("cpu")
    assert [norm.item() for norm in torch._foreach_norm(tensors, ord=1)] == [5.0, 0.25]
    assert [norm.dtype for norm in torch._foreach_norm(tensors, dtype=torch.float64)] == [torch.float64] * 2
    assert [power.item() for power in torch._foreach_powsum(tensors)] == [17.0, 0.0625]
    assert [power.tolist() for power in torch._foreach_pow(2.0, tensors)] == [[2.0, 16.0], [pytest.approx(2**0.25)]]
    assert [item.tolist() for item in torch._foreach_add(tensors, tensors, alpha=2)] == [[3.0, 12.0], [0.75]]
    assert [item.tolist() for item in torch._foreach_mul(tensors, scalar=2)] == [[2.0, 8.0], [0.5]]
    torch._foreach_copy_(tensors, [torch.zeros(2), torch.ones(1)])
    assert [tensor.tolist() for tensor in tensors] == [[0.0, 0.0], [1.0]]
    torch._foreach_zero_(tensors)
    assert tensors[1].item() == 0
    for name in ("_foreach_norm_", "_foreach_zero", "_foreach_nothing"):
        with pytest.raises(AttributeError, match=name):
            getattr(torch, name)


def test_gradients_flow_through_the_new_tensors():
    x = torch.ones(2, requires_grad=True)
    torch._foreach_mul([x], [3.0])[0].sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda tensors: torch._foreach_add_([], 1), RuntimeError, ["at least one tensor"]),
        (lambda tensors: torch._foreach_add_(tensors, [1.0]), RuntimeError, ["2 tensors", "1 operands"]),
        (lambda tensors: torch._foreach_add_(tensors[0], 1), TypeError, ["list of tensors", "float32[2]"]),
        (lambda tensors: torch._foreach_add_(tensors, [torch.ones(3)] * 2), RuntimeError, ["[2]", "[3]"]),
    ],
)
def test_wrong_arguments(call, error, words):
    with pytest.raises(error) as raised:
        call(lists("cpu"))
    assert str(raised.value).startswith("_foreach_add_: ") and all(word in str(raised.value) for word in words)
