"""Sizes and numbers that no call can use, and kinds of objects that are no numbers: errors of the library, at once."""

import numpy as np
import pytest

import flambeau as torch
from tests.wrong import cases, refused

WINDOWS = ("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window")
SIGNALS = ("bartlett", "cosine", "exponential", "gaussian", "general_cosine", "hann", "kaiser")
NESTED = [[[[[2]]]]]
ARRAY = np.ones(3)
T = torch.ones(3)


def named(name):
    return {"a": [0.5, 0.5]} if name == "general_cosine" else {}


@pytest.mark.parametrize("size", [2**45, 2**70])
def test_windows_that_do_not_fit_memory(size):
    for name in WINDOWS:
        with pytest.raises(torch.OutOfMemoryError, match="hint: .*how the size was computed"):
            getattr(torch, name)(size)
    for name in SIGNALS:
        with pytest.raises(torch.OutOfMemoryError, match="hint: .*how the size was computed"):
            getattr(torch.signal.windows, name)(size, **named(name))


def test_a_size_is_an_integer():
    for wrong in (int, ARRAY, np.array([3]), "3", None, float("nan"), NESTED, 2.5, torch.Tensor):
        for name in WINDOWS:
            with pytest.raises(TypeError, match=f"(?s)^{name}: window_length must be an int, got .*hint: "):
                getattr(torch, name)(wrong)
        for name in SIGNALS:
            with pytest.raises(TypeError, match="(?s)^.*: M must be an int, got .*hint: "):
                getattr(torch.signal.windows, name)(wrong, **named(name))
    assert torch.hann_window(np.int64(3)).shape == torch.hann_window(np.array(3)).shape == (3,)


def test_results_that_do_not_fit_memory():
    for call, name in (
        (lambda: torch.tril_indices(2**30, 2**30), "tril_indices"),
        (lambda: torch.triu_indices(2**40, 2**40, 5), "triu_indices"),
        (lambda: torch.vander(T, 2**45), ""),
        (lambda: torch.linalg.vander(T, N=2**45), ""),
        (lambda: torch.mvlgamma(T, 2**40), "mvlgamma"),
        (lambda: torch.mvlgamma(T, 2**70), "mvlgamma"),
    ):
        with pytest.raises(RuntimeError, match=f"(?s)^{name}.*hint: ") as caught:
            call()
        assert isinstance(caught.value, torch.OutOfMemoryError), name


def test_indices_of_triangles_are_counted():
    for row in range(5):
        for col in range(5):
            for offset in range(-6, 7):
                for name in ("tril_indices", "triu_indices"):
                    wanted = getattr(np, name)(row, offset, col)
                    assert getattr(torch, name)(row, col, offset).tolist() == [part.tolist() for part in wanted]


def test_many_powers():
    x = torch.tensor([2, -1, 1])
    assert torch.vander(x, 1500)[:, -3:].tolist() == [[4, 2, 1], [1, -1, 1], [1, 1, 1]]
    assert torch.vander(x, 1500, increasing=True)[:, :4].tolist() == [[1, 2, 4, 8], [1, -1, 1, -1], [1, 1, 1, 1]]
    y = torch.tensor([1.0, 0.5], dtype=torch.float64, requires_grad=True)
    found = torch.linalg.vander(y, N=1500)
    assert found[:, 1:4].tolist() == [[1.0, 1.0, 1.0], [0.5, 0.25, 0.125]] and found.shape == (2, 1500)
    found[:, :4].sum().backward()
    assert y.grad.tolist() == [6.0, 2.75]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_many_decimals(gpus, device):
    """Beyond the range of the type the power of ten is infinite, and the result NaN, as in PyTorch."""
    x = torch.tensor([1.2345, -2.5, 0.0, float("inf")], dtype=torch.float64, device=device)
    for decimals in (309, 2**40, 2**63 - 1, -309, -(2**63)):
        assert x.round(decimals=decimals).isnan().all(), decimals
    assert x.float().round(decimals=39).isnan().all() and x.half().round(decimals=-39).isnan().all()
    assert x.round(decimals=308).tolist() == [1.2345, float("-inf"), 0.0, float("inf")]
    assert x.float().round(decimals=-38).tolist() == [0.0, 0.0, 0.0, float("inf")]


def test_pieces():
    assert [part.tolist() for part in torch.chunk(T, 2**62)] == [[1.0], [1.0], [1.0]]
    assert len(torch.zeros(20000).split(1)) == 20000


WRONG = cases(
    (lambda: torch.chunk(T, 2**64), ValueError, "chunk", str(2**64), "size 3"),
    (lambda: torch.chunk(torch.ones(0), 2**64), ValueError, "chunk", str(2**64), "size 0"),
    (lambda: torch.chunk(torch.ones(0), 2**40), ValueError, "chunk", str(2**40), "size 0"),
    (lambda: torch.tensor_split(T, 2**40), ValueError, "tensor_split", str(2**40), "size 3"),
    (lambda: torch.tril_indices(2, 2**70), RuntimeError, "tril_indices", str(2**70)),
    (lambda: torch.empty(int), TypeError, "empty", "type int"),
    (lambda: torch.zeros(2, int), TypeError, "zeros", "type int"),
    (lambda: torch.randn(int), TypeError, "randn", "type int"),
    (lambda: torch.ones([ARRAY]), TypeError, "ones"),
    (lambda: torch.full((int,), 2), TypeError, "full", "type int"),
    (lambda: torch.eye(int), TypeError, "eye", "type int"),
    (lambda: torch.eye(ARRAY), TypeError, "eye", "n"),
    (lambda: torch.randperm(ARRAY), TypeError, "randperm", "n"),
    (lambda: torch.empty_strided((int,), (1,)), TypeError, "empty_strided", "type int"),
    (lambda: torch.empty_permuted(np.array(2.0), (0,)), TypeError, "empty_permuted", "size"),
    (lambda: T.size(ARRAY), TypeError, "size", "dim"),
    (lambda: torch.as_tensor("cpu", ARRAY), TypeError, "as_tensor", "dtype"),
    (lambda: torch.asarray(1.0, dtype=ARRAY), TypeError, "asarray", "dtype"),
    (lambda: torch.nn.functional.affine_grid(torch.ones(1, 2, 3), np.array(2), True), TypeError, "affine_grid", "size"),
    (lambda: torch.nn.functional.affine_grid(torch.ones(1, 2, 3), [ARRAY] * 4, True), TypeError, "affine_grid"),
    (lambda: torch.embedding(torch.ones(2, 2), torch.tensor([0]), int), TypeError, "embedding", "padding_idx"),
    (lambda: torch.atleast_2d(torch.Tensor), TypeError, "atleast_2d", "tensors[0]"),
    (lambda: torch.meshgrid(torch.Tensor), TypeError, "meshgrid"),
    (lambda: torch.tensor(torch.Tensor), (TypeError, RuntimeError), "tensor"),
    (lambda: torch.native_group_norm(T, None, None, int, 1, 3, 1, 1e-5), TypeError, "native_group_norm", "N"),
    (lambda: torch.pca_lowrank(torch.ones(3, 2), int), TypeError, "pca_lowrank", "q"),
    (lambda: torch.svd_lowrank(torch.ones(3, 2), 2, M=int), TypeError, "svd_lowrank", "M"),
    (lambda: torch.lstm(T, (T, T), int, True, 1, 0.0, False, False, False), TypeError, "lstm", "params"),
    (lambda: T.set_(T.untyped_storage(), 0, int), TypeError, "set_", "size"),
    (lambda: T.set_(T.untyped_storage(), 0, (1.5,)), TypeError, "set_", "1.5"),
    (lambda: T.set_(T.untyped_storage(), 0, (3,), int), TypeError, "set_", "stride"),
    (lambda: T.set_(T.untyped_storage(), 0, (3,), [ARRAY]), TypeError, "set_", "stride"),
    (lambda: torch.ones(2, 2).fill_diagonal_(1.0, ARRAY), TypeError, "fill_diagonal_", "wrap"),
    (lambda: torch.vmap(torch.sin, chunk_size=int), TypeError, "vmap", "chunk_size"),
    (lambda: torch.vmap(torch.sin, randomness=ARRAY), RuntimeError, "vmap", "randomness"),
)


@WRONG
def test_what_is_refused(case):
    refused(*case)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand"])
def test_an_array_is_no_dtype(name):
    with pytest.raises(TypeError, match=rf"{name}: dtype must be a torch\.dtype"):
        getattr(torch, name)(2, dtype=np.ones(3))
