"""Corners that random calls found, as PyTorch 2.13 answers them."""

import pytest

import flambeau as torch


@pytest.fixture
def x(device):
    return torch.arange(6.0, device=device).view(2, 3)


INTEGERS = torch.tensor([[1, 2], [3, 4]])
FOUND = {
    "addmm cuts numbers for integers": (
        lambda x: torch.addmm(whole(x), whole(x), whole(x), beta=0.5, alpha=2.5),
        [[14, 20], [30, 44]],
    ),
    "square of bool counts": (lambda x: (x > 2).square(), [[0, 0, 0], [1, 1, 1]]),
    "flatten of one dimension": (lambda x: x[0].flatten(), [0, 1, 2]),
    "arange in int64 cuts before it counts": (
        lambda x: torch.arange(-7, 2.5, 2.5, dtype=torch.int64, device=x.device),
        [-7, -5, -3, -1, 1],
    ),
    "arange in int32 counts before it cuts": (
        lambda x: torch.arange(0, 2, 0.5, dtype=torch.int32, device=x.device),
        [0, 0, 0, 0],
    ),
    "lerp from the nearer end": (lambda x: torch.lerp(x * 0 + 1e8, x, 1.0)[0, 1:], [1, 2]),
    "unfold of a number": (lambda x: x[1, 1].unfold(0, 1, 1), [4]),
    "numbers of several kinds": (
        lambda x: torch.tensor([-1, True, 2.5], dtype=torch.uint8, device=x.device),
        [255, 1, 2],
    ),
    "a transposed number": (lambda x: x[1, 1].mT, 4),
    "fill_ with an element of its own": (lambda x: x.clone().fill_(x[1, 0]), [[3, 3, 3], [3, 3, 3]]),
    "fill_ with a view of itself": (lambda x: fill_with_own(x.clone()), [[5, 5, 5], [5, 5, 5]]),
    "any over no dimension": (lambda x: x.any(()), [[False, True, True], [True, True, True]]),
    "all over no dimension": (lambda x: x.to(torch.uint8).all(dim=[]), [[0, 1, 1], [1, 1, 1]]),
    "sum over no dimension is over all": (lambda x: x.sum(()), 15),
}


def whole(x):
    return INTEGERS.to(x.device)


def fill_with_own(x):
    return x.fill_(x[1, 2])


@pytest.mark.parametrize("name", FOUND)
def test_values(x, name):
    call, values = FOUND[name]
    found = call(x)
    assert found.tolist() == values
    assert found.dtype.is_floating_point == (name in FLOATING)


FLOATING = {
    "flatten of one dimension", "lerp from the nearer end", "unfold of a number", "a transposed number",
    "fill_ with an element of its own", "fill_ with a view of itself", "sum over no dimension is over all",
}  # fmt: skip

REFUSED = {
    "a bool alpha": (lambda x: torch.add(x, x, alpha=True), RuntimeError, "add: a bool alpha"),
    "a quotient of integers": (
        lambda x: torch.addcdiv(x, x.long(), x.long()),
        RuntimeError,
        "addcdiv: .* int64 and int64",
    ),
    "an exponent beyond the type": (
        lambda x: x.to(torch.int8) ** 300,
        RuntimeError,
        "pow: .* int8 without overflow: 300",
    ),
    "no bound": (lambda x: x.clamp(None, None), RuntimeError, "clamp: at least one"),
    "no argmin": (lambda x: x[:0].argmin(), IndexError, r"argmin: .*\[0, 3\]"),
    "a rolled number": (lambda x: x[0, 0].roll(1, 0), IndexError, "roll: .* 0-dim"),
    "an unflattened number": (lambda x: x[0, 0].unflatten(0, (1, 1)), RuntimeError, "unflatten: .* 0-dim"),
    "taking along no dimension": (
        lambda x: x[0, 0].take_along_dim(x[0, 0].long(), -1),
        IndexError,
        "take_along_dim: .* 0-dim",
    ),
    "selecting of nothing": (
        lambda x: x[:0].index_select(0, x[0, :1].long()),
        RuntimeError,
        r"index_select: dimension 0 .*\[0, 3\]",
    ),
    "a step that is cut to 0": (
        lambda x: torch.arange(0, 1, 0.1, dtype=torch.int64, device=x.device),
        ValueError,
        "arange: step must be nonzero",
    ),
    "addmm of a number beyond the type": (
        lambda x: torch.addmm(whole(x), whole(x), whole(x), alpha=float("nan")),
        RuntimeError,
        "addmm: .*nan",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_errors(x, name):
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call(x)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_strides(x):
    wide = torch.zeros(3, 4, 5, device=x.device).permute(2, 0, 1)
    assert wide.flip(0).stride() == (1, 20, 5) and wide.flip(0, 2).contiguous().equal(wide.contiguous())
    assert (2 ** x.t()).stride() == (2, 1) and (x.t() ** 2).stride() == (1, 3)
    row = torch.zeros(3, 1, device=x.device).as_strided((3, 1), (1, 3))
    assert row.unflatten(1, (-1, 1)).stride() == (1, 3, 3)
    gaps = torch.zeros(6, device=x.device).as_strided((1, 3, 1), (6, 2, 1))
    assert gaps.view(1, 3, 1).stride() == (6, 2, 1)
    assert x.flatten(1, 1) is x


def test_flip_of_every_layout(x):
    for source in (x, x.t(), x[:, ::2], x.t()[::2], x[0].expand(2, 3), x.view(1, 2, 3).permute(1, 2, 0)):
        for dim in range(source.ndim):
            rows = source.tolist()
            expected = rows[::-1] if dim == 0 else [row[::-1] for row in rows]
            if dim < 2:
                assert source.flip(dim).tolist() == expected
