"""Indexing by masks and by index tensors, and the indexes of what is not zero."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import flambeau as torch
from benchmarks import counts
from flambeau.core import thread
from flambeau.core.entries import RunBody
from flambeau.core.operator import REGISTRY
from flambeau.core.plan import Plan
from flambeau.errors import AcceleratorError, DtypeError, IndexRangeError
from flambeau.ops.indexing import NONZERO_CHUNK
from flambeau.testing import machine

pytestmark = pytest.mark.devices(1)


@pytest.fixture(params=["cpu", "cuda"])
def device(request, gpus):
    return request.param


def test_index_select_takes_rows_in_the_order_asked(device):
    x = torch.arange(12.0, device=device).reshape(3, 4)
    index = torch.tensor([2, 0, 2], device=device)
    assert x.index_select(0, index).tolist() == x.cpu().numpy()[[2, 0, 2]].tolist()
    assert x.t().index_select(1, index.int()).tolist() == x.cpu().numpy().T[:, [2, 0, 2]].tolist()


def test_of_several_writes_to_one_place_the_last_counts(device):
    x = torch.zeros(3, device=device)
    x[torch.tensor([1, 2, 1, 1, 2], device=device)] = torch.arange(1.0, 6.0, device=device)
    assert x.tolist() == [0, 4, 5]
    index = torch.tensor([[0, 0, 1, 0]], device=device)
    assert torch.zeros(1, 2, device=device).scatter(1, index, torch.arange(4.0, device=device)[None]).tolist() == [
        [3, 2]
    ]


def test_additions_to_one_place_are_made_in_order(device):
    values = torch.tensor([1e8, 1.0, -1e8, 1.0], device=device)
    index = torch.zeros(4, dtype=torch.int64, device=device)
    in_order = np.float32(0)
    for each in values.cpu().numpy():
        in_order = in_order + each
    assert torch.zeros(1, device=device).index_add(0, index, values).item() == in_order
    assert torch.zeros(1, device=device).scatter_add(0, index, values).item() == in_order


def test_half_types_are_added_in_float32_and_rounded_once(device):
    ones = torch.ones(4096, dtype=torch.bfloat16, device=device)
    total = torch.zeros(1, dtype=torch.bfloat16, device=device)
    assert total.index_add(0, torch.zeros(4096, dtype=torch.int64, device=device), ones).item() == 4096


@settings(deadline=None, max_examples=30)
@given(some.integers(1, 3000), some.integers(1, 2500), some.integers(1, 3), some.integers(0, 2**32 - 1))
def test_index_add_is_numpys_add_at(count, size, inner, seed):
    random = np.random.default_rng(seed)
    index, source = random.integers(0, size, count), random.integers(-9, 9, (count, inner))
    expected = np.zeros((size, inner), np.int64)
    np.add.at(expected, index, source)
    with machine(devices=1):
        for device in ("cpu", "cuda"):
            whole = torch.zeros(size, inner, dtype=torch.int64, device=device)
            whole.index_add_(0, torch.tensor(index, device=device), torch.tensor(source, device=device))
            assert np.array_equal(whole.cpu().numpy(), expected)


def test_gather_and_take_along_dim_are_numpys(device):
    x = torch.arange(12.0, device=device).reshape(3, 4)
    index = torch.tensor([[0, 3], [1, 1], [2, 0]], device=device)
    expected = np.take_along_axis(x.cpu().numpy(), index.cpu().numpy(), 1)
    assert np.array_equal(x.gather(1, index).cpu().numpy(), expected)
    one = np.take_along_axis(x.cpu().numpy(), index[:1].cpu().numpy(), 1)
    assert np.array_equal(x.take_along_dim(index[:1], 1).cpu().numpy(), one)


def test_a_source_larger_than_the_index_gets_zeros_where_it_is_not_used():
    src = torch.ones(3, 3, requires_grad=True)
    index = torch.tensor([[0, 1]])
    (torch.zeros(2, 3).scatter(0, index, src) * 5).sum().backward()
    assert src.grad.tolist() == [[5, 5, 0], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.index_add(0, i, torch.ones(1, 2)),
        lambda x, i: x.index_copy(0, i, torch.ones(1, 2)),
        lambda x, i: x.index_fill_(0, i, 1.0),
        lambda x, i: x.gather(0, i[:, None]),
        lambda x, i: x.scatter_(0, i[:, None], 1.0),
        lambda x, i: x[i],
        lambda x, i: x[i, i],
    ],
)
def test_an_index_out_of_range_is_a_fact_and_changes_nothing(call):
    x = torch.zeros(3, 2)
    with pytest.raises(IndexRangeError, match="index 3 is out of bounds for dimension 0 with size 3"):
        call(x, torch.tensor([3]))
    assert x.tolist() == [[0, 0]] * 3
    assert x._version == 0


def test_on_a_gpu_an_index_out_of_range_stops_the_device():
    with machine(devices=1):
        x = torch.zeros(3, device="cuda")
        found = x[torch.tensor([7], device="cuda")]
        with pytest.raises(AcceleratorError):
            found.cpu()


def test_negative_indexes_count_from_the_end_only_in_brackets():
    x = torch.arange(3)
    assert x[torch.tensor([-1])].tolist() == [2]
    with pytest.raises(IndexRangeError, match="index -1 is out of bounds"):
        x.index_select(0, torch.tensor([-1]))


def test_a_float_index_is_refused():
    with pytest.raises(DtypeError, match="must be of an integer type, got float32"):
        torch.zeros(3).index_select(0, torch.ones(1))


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("kind", ["float16", "float32", "int64", "bool"])
def test_rows_of_whole_sixteen_bytes_move_as_others_do(device, kind, start):
    values = torch.arange(3 * 48 + start, device=device).to(getattr(torch, kind))
    x = values[start:].view(3, 48)
    index = torch.tensor([2, 0, 0, 1], device=device)
    assert x.index_select(0, index).tolist() == [x[i].tolist() for i in (2, 0, 0, 1)]
    target = torch.zeros_like(values)[start:].view(3, 48)
    target[index] = x[index]
    assert target.tolist() == x.tolist()
    assert torch.cat([x, x], 1)[:, 48:].tolist() == x.tolist()


def test_index_fill_counts_negative_indexes_from_the_end(device):
    index = torch.tensor([-1, 1, -4], device=device)
    assert torch.arange(4.0, device=device).index_fill_(0, index, 7).tolist() == [7, 7, 2, 7]
    x = torch.arange(4.0, requires_grad=True)
    x.index_fill(0, torch.tensor([-1]), 7).sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 0]
    with pytest.raises(IndexRangeError, match="index -5 is out of bounds"):
        torch.arange(4.0).index_fill(0, torch.tensor([-5]), 7)


def test_index_fill_gives_a_tensor_its_gradient(device):
    value = torch.tensor(3.0, device=device, requires_grad=True)
    x = torch.ones(2, 3, device=device, requires_grad=True)
    index = torch.tensor([0, 2, -1], device=device)
    (x.index_fill(1, index, value) ** 2).sum().backward()
    assert value.grad.item() == 24 and x.grad.tolist() == [[0, 2, 0]] * 2
    y = torch.zeros(3, device=device)
    y.index_fill_(0, index, value).sum().backward()
    assert value.grad.item() == 26 and y.tolist() == [3, 0, 3]
    assert torch.zeros(2, device=device).index_fill(0, index[:1], torch.tensor(4)).tolist() == [4, 0]


def test_a_number_takes_one_index_but_for_index_fill(device):
    x, twice = torch.tensor(3.0, device=device), torch.tensor([0, 0], device=device)
    assert x.index_fill(0, twice, 1).item() == 1
    assert x.index_select(0, twice[:1]).item() == 3
    for call in (
        lambda: x.index_select(0, twice),
        lambda: x.index_add(0, twice, x),
        lambda: x.index_copy(0, twice, x),
    ):
        with pytest.raises(IndexRangeError, match="takes one index, got 2"):
            call()
    assert x.item() == 3


def test_take_along_dim_takes_indexes_modulo_the_size(device):
    x = torch.arange(4.0, device=device).view(2, 2)
    assert torch.take_along_dim(x, torch.tensor([[-5, 3]], device=device), 1).tolist() == [[1, 1], [3, 3]]
    assert torch.take_along_dim(x, torch.tensor([[-1, 2]], device=device), 0).tolist() == [[2, 1]]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: x.gather(0, i),
        lambda x, i: x.scatter(0, i, x),
        lambda x, i: x.scatter_add(0, i, x),
        lambda x, i: torch.nn.functional.one_hot(i, 3),
        lambda x, i: x.index_select(0, i),
        lambda x, i: x[i],
    ],
)
@pytest.mark.parametrize("handler", [IndexError, RuntimeError])
def test_handlers_of_both_classes_catch_an_index_out_of_range(call, handler):
    with pytest.raises(handler, match="9"):
        call(torch.zeros(1), torch.tensor([9]))


@pytest.mark.parametrize("name", ["gather", "take_along_dim"])
def test_nothing_is_gathered_from_a_dimension_without_elements(name, device):
    x, index = torch.zeros(2, 0, device=device), torch.zeros(2, 1, dtype=torch.int64, device=device)
    calls = {"gather": lambda: x.gather(1, index), "take_along_dim": lambda: x.take_along_dim(index, 1)}
    with pytest.raises(IndexRangeError, match="gather|take_along_dim.*dimension 1 with size 0"):
        calls[name]()
    assert torch.ones(2, device=device).tolist() == [1, 1]


# nonzero


@pytest.mark.parametrize(
    "shape", [(5,), (NONZERO_CHUNK,), (NONZERO_CHUNK + 1,), (3, NONZERO_CHUNK), (7, 11, 13), (0, 4), (2, 0)]
)
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_places_are_numpys_argwhere(device, shape, share):
    mask = np.random.default_rng(1).random(shape) < share
    x = torch.tensor(mask, device=device)
    assert np.array_equal(x.nonzero().cpu().numpy(), np.argwhere(mask))
    columns = x.nonzero(as_tuple=True)
    assert all(np.array_equal(a.cpu().numpy(), b) for a, b in zip(columns, np.nonzero(mask), strict=True))


def test_negative_zero_is_zero_and_nan_is_not(device):
    x = torch.tensor([0.0, -0.0, float("nan"), 1.0], device=device)
    assert x.nonzero().tolist() == [[2], [3]]
    assert x.half().nonzero().tolist() == [[2], [3]]


def test_a_number_has_no_index(device):
    assert torch.tensor(3, device=device).nonzero().shape == (1, 0)
    assert torch.tensor(0, device=device).nonzero().shape == (0, 0)


def test_masked_select_broadcasts(device):
    x = torch.arange(6, device=device).reshape(2, 3)
    assert x.masked_select(torch.tensor([True, False, True], device=device)).tolist() == [0, 2, 3, 5]


def test_index_tensors_make_a_plan_and_masks_do_not(gpus):
    def kinds():
        plans = thread.machine().plans.entries.items()
        return {type(entry) for key, entry in plans if key[0] is REGISTRY["index"] and key not in former}

    former = set(thread.machine().plans.entries)  # a machine of hardware outlives a test, so the shape is rare
    x, at = torch.arange(222.0, device="cuda").view(2, 3, 37), torch.tensor([1, 0, 1], device="cuda")
    selections = [[at], [None, at], [at, None, at], [None, at, at]]
    for indices in selections:
        expected = x.cpu().numpy()[tuple(slice(None) if index is None else [1, 0, 1] for index in indices)]
        for _ in range(2):
            assert REGISTRY["index"](x, indices).tolist() == expected.tolist()
            written = torch.index_put(x, indices, torch.zeros((), device="cuda"))
            assert (written == 0).sum() == np.unique(expected[expected != 0]).size + 1
    assert kinds() == {Plan}
    assert x[x > 5].tolist() == x[x > 5].tolist() == list(range(6, 222))
    assert RunBody in kinds()


def test_writing_by_index_tensors_is_two_launches(gpus):
    x, at = torch.ones(4, 4, device="cuda"), torch.tensor([3, 1], device="cuda")
    y = torch.zeros(2, 4, device="cuda")
    assert counts.of(lambda: torch.index_put(x, (at,), y))["launch"] == 2
    assert counts.of(lambda: x[at])["launch"] == 1
    assert counts.of(lambda: torch.fill(x, 3))["launch"] == 1
