"""Selections whose size the device counts: few elements, more than one block takes, all layouts, and what they cost."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import AcceleratorError, ValueRangeError
from flambeau.ops.compaction import FEW, FEW_BINS, FEW_RUNS
from flambeau.testing import machine

SHAPES = [(1,), (), (31, 33), (2, 3, 4, 5), (FEW,), (FEW + 1,), (3, 1, 40, 70)]


def some(shape, dtype, share, seed=0):
    """Values of which about this share is not 0, on the CPU."""
    random = np.random.default_rng(seed)
    values = random.integers(1, 100, shape) * (random.random(shape) < share)
    return torch.tensor(np.asarray(values)).to(dtype)


def same(found, expected):
    """The same values, types and shapes, in storages of the same size."""
    assert found.dtype is expected.dtype and found.shape == expected.shape
    assert found.is_contiguous() and found.untyped_storage().nbytes() == found.numel() * found.element_size()
    assert np.array_equal(found.float().cpu().numpy(), expected.float().cpu().numpy(), equal_nan=True)


def layouts(x):
    """A tensor dense, transposed, of every other column, and expanded."""
    yield x
    if x.ndim > 1:
        yield x.transpose(0, -1)
        yield x[..., ::2]
        yield x[:1].expand(x.shape)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_indexes_of_nonzero_elements(device, share):
    for shape in SHAPES:
        for dtype in (
            (torch.float32, torch.bool, torch.bfloat16, torch.uint8) if shape == (31, 33) else (torch.float32,)
        ):
            whole = some(shape, dtype, share)
            for x, on_device in zip(layouts(whole), layouts(whole.to(device))):
                expected = torch.from_numpy(np.argwhere(x.float().numpy()))
                found = on_device.nonzero()
                same(found, expected)
                assert on_device.argwhere().tolist() == found.tolist()
    special = torch.tensor([0.0, -0.0, np.nan, np.inf, 1e-45], device=device)
    assert special.nonzero().tolist() == [[2], [3], [4]]


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_elements_where_a_mask_is_true(device, share):
    for shape in SHAPES:
        for dtype in dtypes.ALL if shape == (31, 33) else (torch.float32,):
            whole, mask = some(shape, dtype, 0.9, 1), some(shape, torch.bool, share)
            for x, on_device in zip(layouts(whole), layouts(whole.to(device))):
                chosen = mask if mask.shape == x.shape else mask.reshape(-1)[: x.numel()].reshape(x.shape)
                expected = torch.tensor(x.float().numpy()[chosen.numpy()].reshape(-1)).to(dtype)
                same(on_device.masked_select(chosen.to(device)), expected)
                if x.ndim:
                    same(on_device[chosen.to(device)], expected)


def test_masks_that_are_broadcast(device):
    x, mask = some((40, 1, 30), torch.int32, 0.9), some((25, 1), torch.bool, 0.5)
    for one, other in ((x, mask), (some((FEW // 2, 1), torch.int32, 1.0), some((1, 50), torch.bool, 0.5))):
        arrays = np.broadcast_arrays(one.numpy(), other.numpy())
        same(one.to(device).masked_select(other.to(device)), torch.tensor(arrays[0][arrays[1]]))


def test_rows_where_a_mask_is_true(device):
    for shape, ndim in (((9, 4), 1), ((9, 4, 5), 1), ((9, 4, 5), 2), ((FEW // 8, 16), 1)):
        for share in (0.0, 0.4, 1.0):
            x, mask = some(shape, torch.int16, 0.9, 1), some(shape[:ndim], torch.bool, share)
            same(x.to(device)[mask.to(device)], torch.tensor(x.numpy()[mask.numpy()]))
            strided = some((shape[0], *shape[:0:-1]), torch.int16, 0.9, 2).transpose(1, -1)
            chosen = some(strided.shape[:ndim], torch.bool, share)
            same(strided.to(device)[chosen.to(device)], torch.tensor(strided.numpy()[chosen.numpy()]))
    nothing = torch.zeros(3, 0, device=device)[torch.tensor([True, False, True], device=device)]
    assert nothing.shape == (2, 0)


def test_gradients_of_masked_elements(device):
    x = torch.arange(6.0, device=device).reshape(2, 3).requires_grad_()
    mask = torch.tensor([[True, False, True], [False, False, True]], device=device)
    for found in (x[mask], x.masked_select(mask), x[mask.cpu()]):
        assert found.tolist() == [0, 2, 5]
        (grad,) = torch.autograd.grad((found * found).sum(), x)
        assert grad.tolist() == [[0, 0, 4], [0, 0, 10]]


def test_elements_written_in_order_where_a_mask_is_true(device):
    for shape in SHAPES:
        whole, mask = some(shape, torch.float32, 0.9, 1), some(shape, torch.bool, 0.4)
        for x, on_device in zip(layouts(whole), layouts(whole.to(device))):
            chosen = mask if mask.shape == x.shape else mask.reshape(-1)[: x.numel()].reshape(x.shape)
            expected, source = x.numpy().copy(), np.arange(1.0, 3 + 2 * x.numel(), dtype=np.float32)
            expected[chosen.numpy()] = source[: int(chosen.sum())]
            found = on_device.masked_scatter(chosen.to(device), torch.tensor(source, device=device))
            assert np.array_equal(found.cpu().numpy(), expected)
    rows, mask = torch.zeros(3, 2, device=device), torch.tensor([True, False, True], device=device).unsqueeze(1)
    source = torch.arange(8.0, device=device).reshape(2, 4).t()
    assert rows.masked_scatter(mask, source).tolist() == [[0, 4], [0, 0], [1, 5]]
    assert rows.masked_scatter_(mask, source) is rows and rows.tolist() == [[0, 4], [0, 0], [1, 5]]


def test_too_short_a_source_stops_the_device():
    with machine(devices=1):
        x, mask = torch.zeros(4, device="cuda"), torch.ones(4, dtype=torch.bool, device="cuda")
        x.masked_scatter(mask, torch.ones(2, device="cuda"))
        with pytest.raises(AcceleratorError, match="masked_scatter.*index 2 is out of bounds.* size 2"):
            torch.cuda.synchronize()


@pytest.mark.parametrize("count", [1, 2, 700, FEW_RUNS, FEW_RUNS + 1])
def test_unique_elements_and_runs(device, count):
    for dtype in dtypes.ALL if count == 700 else (torch.float32, torch.int64):
        values = np.random.default_rng(count).integers(0, 9, count)
        x = torch.tensor(values).to(dtype).to(device)
        values = x.double().cpu().numpy()
        found, inverse, counts = x.unique(True, True, True)
        expected = np.unique(values, return_inverse=True, return_counts=True)
        assert [each.tolist() for each in (found, inverse, counts)] == [each.tolist() for each in expected]
        assert x.unique().tolist() == found.tolist()
        begins = np.concatenate([[True], values[1:] != values[:-1]])
        found, inverse, counts = x.unique_consecutive(True, True)
        assert found.tolist() == values[begins].tolist() and inverse.tolist() == (np.cumsum(begins) - 1).tolist()
        assert counts.tolist() == np.diff(np.flatnonzero(begins), append=count).tolist()
        for each in (found, counts):
            assert each.untyped_storage().nbytes() == each.numel() * each.element_size()


def test_unique_keeps_shapes_nans_and_the_first_of_equal_zeros(device):
    x = torch.tensor([[3.0, -0.0], [np.nan, 0.0], [3.0, np.nan]], device=device)
    found, inverse = x.unique(return_inverse=True)
    assert found[:2].tolist() == [0, 3] and found[2:].isnan().tolist() == [True, True]
    assert found.signbit().tolist()[0] is True and inverse.tolist() == [[1, 0], [2, 0], [1, 3]]
    found, inverse = x.t().unique_consecutive(return_inverse=True)
    assert found.nan_to_num(9).tolist() == [3, 9, 3, 0, 9] and inverse.tolist() == [[0, 1, 2], [3, 3, 4]]


def test_counts_of_integers(device):
    random = np.random.default_rng(3)
    for most, length in ((5, 9), (FEW_BINS, FEW), (3 * FEW_BINS, 50), (5, FEW + 1)):
        values = random.integers(0, most, length)
        for dtype in (torch.int64, torch.int32):
            x = torch.tensor(values).to(dtype).to(device)
            for minlength in (0, 7, FEW_BINS, 2 * FEW_BINS):
                same(x.bincount(minlength=minlength), torch.tensor(np.bincount(values, minlength=minlength)))
            assert x[::2].bincount().tolist() == np.bincount(values[::2]).tolist()
        weights = random.integers(0, 9, length) * 0.5
        found = x.bincount(torch.tensor(weights, device=device), 4)
        assert found.tolist() == np.bincount(values, weights, 4).tolist()
    assert torch.tensor([255, 1], dtype=torch.uint8, device=device).bincount().sum() == 2
    with pytest.raises(ValueRangeError, match="the least is -3"):
        torch.tensor([1, -3], device=device).bincount()


@pytest.mark.devices(1)
def test_few_elements_take_one_launch_one_copy_and_one_wait(gpus):
    from benchmarks import counts

    x = torch.arange(12.0, device="cuda").reshape(3, 4)
    mask, whole, wide = x > 4, x.long().reshape(-1), torch.zeros(FEW, device="cuda")
    calls = {
        "nonzero": (x.nonzero, 2),
        "of a strided tensor": (x.t().nonzero, 2),
        "of many": (wide.nonzero, 2),
        "masked_select": (lambda: x.masked_select(mask), 2),
        "of a row": (lambda: x.masked_select(mask[1]), 2),
        "x[mask]": (lambda: x[mask], 2),
        "rows": (lambda: x[mask[:, 3]], 2),
        "unique": (x.unique, 2),
        "with counts": (lambda: x.unique(True, True, True), 4),
        "unique_consecutive": (x.unique_consecutive, 2),
        "bincount": (whole.bincount, 2),
    }
    for name, (call, blocks) in calls.items():
        assert counts.of(call) == {"block": blocks, "copy": 1, "host wait": 1, "launch": 1}, name
    assert counts.of(lambda: x.masked_scatter(mask, x)) == {"block": 1, "launch": 1}


@pytest.mark.devices(1)
def test_more_elements_are_a_few_launches_and_one_wait(gpus):
    from benchmarks import counts

    x = torch.arange(FEW + 1, device="cuda") % 50
    floats = x.float()
    mask = x > 4
    calls = {
        "nonzero": (x.nonzero, 4),
        "masked_select": (lambda: x.masked_select(mask), 4),
        "unique_consecutive": (floats.unique_consecutive, 5),
        "bincount": (x.bincount, 4),
    }
    for name, (call, launches) in calls.items():
        found = counts.of(call)
        assert (found["launch"], found["copy"], found["host wait"]) == (launches, 1, 1), (name, found)
