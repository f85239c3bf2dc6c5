"""Writes to memory that is also read, or that holds several elements of the tensor to write."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.core import thread
from flambeau.core.call import INTO
from flambeau.errors import ArgumentTypeError, ShapeError, ValueRangeError
from flambeau.operands import overlap_of


@pytest.fixture
def x(device):
    return torch.arange(6.0, device=device)


REFUSED = {
    "a shifted copy": (lambda x: x[1:].copy_(x[:-1]), "copy_: some elements"),
    "a shifted assignment": (lambda x: x.__setitem__(slice(1, None), x[:-1]), "index: some elements"),
    "a transposed copy": (lambda x: x[:4].view(2, 2).copy_(x[:4].view(2, 2).t()), "copy_: some elements"),
    "an element that is read everywhere": (lambda x: x.add_(x[:1]), "add_: the written-to tensor"),
    "a shifted sum": (lambda x: x[1:].add_(x[:-1]), "add_: the written-to tensor"),
    "a copy into repeated elements": (lambda x: x[:1].expand(3).copy_(x[1:4]), "copy_: more than one element"),
    "a sum into repeated elements": (lambda x: x[:1].expand(3).add_(1), "add_: more than one element"),
    "a number into repeated elements": (lambda x: x[:1].expand(3).copy_(5), "copy_: more than one element"),
    "an assignment to repeated elements": (lambda x: x[:1].expand(3).__setitem__(slice(None), 4), "index: more than"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_write_that_would_read_what_it_wrote_is_refused(x, name):
    call, text = REFUSED[name]
    with pytest.raises(ShapeError, match=text) as caught:
        call(x)
    assert "clone()" in caught.value.hint
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


def test_views_that_interleave_share_nothing(x):
    assert x[::2].add_(x[1::2]).tolist() == [1, 5, 9]
    assert x[::2].copy_(x[1::2]).tolist() == [1, 3, 5]
    grid = torch.arange(12.0, device=x.device).view(3, 4)
    grid[:, :2].add_(grid[:, 2:])
    assert grid.tolist() == [[2, 4, 2, 3], [10, 12, 6, 7], [18, 20, 10, 11]]


def test_views_with_gaps_that_share_elements(x):
    with pytest.raises(ShapeError, match="add_: the written-to tensor"):
        x[::2][1:].add_(x[::2][:-1])
    assert x[::2][1:].copy_(x[::2][:-1]).tolist() == [0, 2]


@pytest.mark.parametrize("seed", range(20))
def test_sharing_is_told_exactly(seed):

    random = np.random.default_rng(seed)
    flat, array = torch.zeros(40), np.zeros(40, np.float32)
    for _ in range(20):
        views = []
        for _ in range(2):
            size, strides = random.integers(1, 4, 2).tolist(), random.integers(0, 7, 2).tolist()
            start = int(random.integers(0, 12))
            view = np.lib.stride_tricks.as_strided(array[start:], size, [4 * each for each in strides])
            views.append((flat.as_strided(size, strides, start), view))
        (a, one), (b, other) = views
        assert (overlap_of(a, b) != "none") == np.shares_memory(one, other)


def test_one_value_may_fill_repeated_elements(x):
    assert x[:1].expand(3).fill_(2).tolist() == [2, 2, 2]
    assert x[:1].expand(2, 3).zero_().tolist() == [[0, 0, 0], [0, 0, 0]]
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    x.view(2, 3)[:, 1:].unsqueeze(1).expand(2, 4, 2).fill_(7)
    assert x.tolist() == [0, 7, 7, 3, 7, 7]
    x[:4].as_strided((3, 2), (1, 1)).fill_(8)
    assert x.tolist() == [8, 8, 8, 8, 7, 7]


def test_a_repeated_element_is_filled_once(gpus):
    x = torch.zeros(8, device="cuda")
    x[2:3].expand(4, 4).fill_(1)
    assert x.tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    plans = [plan for key, plan in thread.machine().plans.entries.items() if key[0].name == "fill" and INTO in key]
    [step] = plans[-1].steps
    assert (step.kernel.entry, step.values[-1]) == ("fill_float32", 1)


def test_copy_takes_a_number_and_wraps_it(device):
    x = torch.zeros(2, device=device)
    assert x.copy_(7) is x and x.tolist() == [7, 7]
    assert torch.zeros(1, dtype=torch.float64, device=device).copy_(0.1).item() == 0.1
    assert torch.zeros(1, dtype=torch.uint8, device=device).copy_(300).item() == 44
    assert torch.zeros(1, dtype=torch.bool, device=device).copy_(0.5).item() is True
    with pytest.raises(ArgumentTypeError, match="copy_: other must be a Tensor or a number, got 'x'"):
        x.copy_("x")


BEYOND = {
    "tril": lambda x, number: torch.tril(x.view(1, 2), number),
    "triu": lambda x, number: torch.triu(x.view(1, 2), number),
    "threshold": lambda x, number: torch.nn.functional.threshold(x, number, 0),
    "pow": lambda x, number: x**number,
    "sub": lambda x, number: torch.sub(x, x, alpha=number),
    "scatter": lambda x, number: x.scatter(0, torch.tensor([0], device=x.device), number),
    "index_fill": lambda x, number: x.index_fill(0, torch.tensor([0], device=x.device), number),
    "index_add": lambda x, number: x.index_add(0, torch.tensor([0], device=x.device), x[:1], alpha=number),
}


@pytest.mark.parametrize("name", BEYOND)
def test_an_integer_beyond_64_bits_is_named(device, name):
    for number, dtype in ((2**63, torch.uint64), (2**70, torch.int64)):
        with pytest.raises(ValueRangeError, match=f"^{name}: .*{number}"):
            BEYOND[name](torch.ones(2, dtype=dtype, device=device), number)
