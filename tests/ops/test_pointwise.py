"""Pointwise kernels walk every layout: packs, single elements, what packs leave over, repeats and permutations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import flambeau as torch
from flambeau import dtypes
from flambeau.host import MANY
from flambeau.ops import pointwise as source
from flambeau.strides import contiguous
from flambeau.testing import machine

pytestmark = pytest.mark.devices(1)

EDGES = (1, 3, 4, 7, 8, 15, 16, 17, 255, 257, 1023, 1024, 1025, 4099)
KINDS = (dtypes.float32, dtypes.bfloat16, dtypes.uint8, dtypes.int64, dtypes.float64)


def whole(shape, kind, seed=0):
    """Small whole numbers, exact in every type."""
    values = np.random.default_rng(seed).integers(0, 50, shape)
    return torch.from_numpy(values).to(kind).to("cuda")


def exact(tensor):
    return tensor.cpu().to(dtypes.float64).numpy()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("first, second", [(0, 0), (1, 1), (0, 1)])
def test_sums_of_every_length_and_alignment(gpus, kind, first, second):
    x, y = whole(max(EDGES) + 1, kind), whole(max(EDGES) + 1, kind, 1)
    for length in EDGES:
        a, b = x[first : first + length], y[second : second + length]
        assert np.array_equal(exact(a + b), exact(a) + exact(b)), length


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(
    "shape", [(64, 64), (33, 7), (16, 32, 5), (4, 6, 8, 16), (3, 2, 5, 4, 2, 16), (1, 9), (10, 513)]
)
def test_sums_of_every_layout(gpus, kind, shape):
    x = whole(shape, kind)
    rows = whole((*shape[:-1], 2 * shape[-1] + 1), kind, 1)
    turned = whole(shape[::-1], kind, 2).permute(*range(len(shape))[::-1])
    column = whole((shape[0], *[1] * (len(shape) - 1)), kind, 3)
    for y in (
        rows[..., :-1:2],
        rows[..., 1 : shape[-1] + 1],
        turned,
        column,
        whole(shape[-1:], kind, 4),
        x[:1, ..., :1],
    ):
        want = exact(x) + exact(y)
        assert np.array_equal(exact(x + y), want), (y.shape, y.strides)
        part = whole(tuple(size + 4 for size in shape), kind)[tuple(slice(size) for size in shape)]
        torch.add(x, y, out=part)
        assert np.array_equal(exact(part), want), (y.shape, y.strides)


@pytest.mark.parametrize("to", [dtypes.bool_, dtypes.float16, dtypes.float64])
def test_types_of_different_sizes_share_a_walk(gpus, to):
    for length in EDGES:
        x = whole(length + 1, dtypes.float32)[1:]
        assert np.array_equal(exact(x.to(to)), exact(x).astype(to.numpy).astype(float))
        assert np.array_equal(exact((x > 20) * x), (exact(x) > 20) * exact(x))


def test_a_written_part_leaves_its_surroundings(gpus):
    x = torch.zeros(40, 70, device="cuda")
    x[1:-1, 3:-2].add_(1)
    want = np.zeros((40, 70))
    want[1:-1, 3:-2] = 1
    assert np.array_equal(exact(x), want)


def test_operands_turned_alike_are_one_line(gpus):
    x = whole((30, 20), dtypes.float32)
    y = x.t()
    y.mul_(3)
    assert np.array_equal(exact(x), 3 * exact(whole((30, 20), dtypes.float32)))
    assert source.kernel_layout((20, 30), [y.strides, y.strides], 4)[0] == (600,)


def test_offsets_that_need_64_bits_are_counted_so(gpus, monkeypatch):
    monkeypatch.setattr(source, "MAX_OFFSETS", 10)
    x, y = whole((33, 20, 17), dtypes.float32), whole((17,), dtypes.float32, 1)
    assert np.array_equal(exact(x + y), exact(x) + exact(y))
    z = whole(101, dtypes.float32)[::2]
    assert np.array_equal(exact(z + z), 2 * exact(z))
    assert np.array_equal(exact(x[0, 0] + x[0, 0, 0]), exact(x[0, 0]) + exact(x[0, 0, 0]))


def test_exp_is_within_three_ulps_of_float64(gpus):
    x = torch.linspace(-80, 80, 10_007, device="cuda")
    want = np.exp(exact(x))
    assert np.max(np.abs(exact(torch.exp(x)) - want) / np.spacing(want.astype(np.float32))) <= 3.0


SIZES = some.lists(some.integers(1, 40), min_size=1, max_size=5)


@given(SIZES, some.sampled_from([2, 4, 8, 16]), some.data())
def test_the_row_of_a_walk_finds_every_position(sizes, pack, data):
    steps = contiguous(sizes)
    other = tuple(data.draw(some.sampled_from([0, step])) for step in steps)
    shape, rows = source.kernel_layout(sizes, [steps, other], pack)
    row = rows[-1]
    assert len(row) == len(shape) == len(rows[0]) and math.prod(shape) == math.prod(sizes)
    halves = [row[0] & 0xFFFFFFFF, *row[1:]]
    assert halves[:-1] == [0xFFFFFFFF // size for size in shape[:-1]] or len(shape) == 1
    position = data.draw(some.integers(0, math.prod(shape) - 1))
    rest, index = position, []
    for size, inverse in zip(shape[:-1], halves):
        quotient = rest * inverse >> 32
        quotient += rest - quotient * size >= size
        index.append(rest - quotient * size)
        rest = quotient
    want = np.unravel_index(position, shape, order="F")
    assert [*index, rest] == [int(each) for each in want]


def test_a_walk_has_packs_only_where_every_operand_has():
    assert source.is_vectorized((8, 3), [(1, 8), (1, 12)], 4)
    assert source.is_vectorized((8, 3), [(1, 8), (0, 1)], 4)
    assert not source.is_vectorized((8, 3), [(1, 8), (1, 9)], 4)
    assert not source.is_vectorized((6, 3), [(1, 8), (1, 8)], 4)
    assert not source.is_vectorized((8,), [(1,), (2,)], 4)
    assert source.is_vectorized((7,), [(1,), (0,)], 4)


def test_one_kernel_serves_every_layout_of_its_types():
    with machine(devices=1) as made:
        x = torch.ones(8, 8, device="cuda")
        x + x
        x + x.t()
        x[1:, 1:] + x[0, 1:]
        assert [each.entry for each in made.devices[0].kernels if each.entry.startswith("add")] == [
            "add_float32_float32_float32"
        ]


def test_a_pack_is_16_bytes_of_the_widest_and_32_where_the_result_is_narrower():
    assert source.vector_width(dtypes.float32, [dtypes.float32]) == 4
    assert source.vector_width(dtypes.float32, [dtypes.bfloat16]) == 4
    assert source.vector_width(dtypes.bfloat16, [dtypes.float32]) == 8
    assert source.vector_width(dtypes.bool_, [dtypes.float64, dtypes.float64]) == 4
    assert source.vector_width(dtypes.uint8, []) == 16


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_many_elements_are_computed_as_few(dtype):
    own = getattr(torch, dtype)
    values, others = torch.arange(MANY + 5).remainder(97).to(own), torch.arange(MANY + 5).remainder(89).to(own)
    expected = values.numpy() * others.numpy() + 3
    changed = values.clone()
    assert np.array_equal(changed.mul_(others).add_(3).numpy(), expected)
    assert np.array_equal(torch.mul(values, others, out=torch.empty_like(values)).add(3).numpy(), expected)
    columns = torch.empty(2, MANY + 5, dtype=own).t()  # not contiguous
    columns[:, 0], columns[:, 1] = values, others
    assert np.array_equal(columns.mul_(others[:, None]).add_(3)[:, 0].numpy(), expected)
