"""The fast path of views, compared with the bodies of their operators and with NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau as torch
from flambeau.core import views
from flambeau.errors import FlambeauError, IndexRangeError
from flambeau.ops.operator import REGISTRY

DIM = st.integers(-4, 4)
SIZE = st.integers(-1, 7)
BOUND = st.none() | st.integers(-9, 9)
ARGUMENTS = {
    "select": st.tuples(DIM, st.integers(-6, 6)),
    "slice": st.tuples(DIM, BOUND, BOUND, st.integers(0, 3)),
    "split": st.tuples(SIZE, DIM),
    "chunk": st.tuples(SIZE, DIM),
    "unbind": st.tuples(DIM),
    "reshape": st.tuples(st.lists(SIZE, max_size=4).map(tuple)),
    "view": st.tuples(st.lists(SIZE, max_size=4).map(tuple)),
    "flatten": st.tuples(DIM, DIM),
    "t": st.just(()),
    "transpose": st.tuples(DIM, DIM),
    "permute": st.tuples(st.lists(DIM, max_size=4).map(tuple)),
    "unsqueeze": st.tuples(DIM),
    "squeeze": st.tuples(st.none() | DIM),
    "expand": st.tuples(st.lists(SIZE, max_size=4).map(tuple)),
    "adjoint": st.just(()),
    "diagonal": st.tuples(DIM, DIM, DIM),
    "hsplit": st.tuples(SIZE | st.lists(DIM, max_size=3)),
    "movedim": st.tuples(DIM, DIM) | st.tuples(st.permutations([0, 1]), st.permutations([0, -1])),
    "narrow": st.tuples(DIM, DIM, SIZE),
    "split_with_sizes": st.tuples(st.lists(SIZE, max_size=3), DIM),
    "tensor_split": st.tuples(SIZE | st.lists(DIM, max_size=3).map(tuple), DIM),
    "unflatten": st.tuples(DIM, st.lists(SIZE, max_size=3).map(tuple)),
    "unfold": st.tuples(DIM, SIZE, SIZE),
    "unsafe_chunk": st.tuples(SIZE, DIM),
    "unsafe_split": st.tuples(SIZE, DIM),
    "unsafe_split_with_sizes": st.tuples(st.lists(SIZE, max_size=3), DIM),
}
SHAPES = st.lists(st.integers(0, 5), max_size=3)


def source(shape, is_permuted, start, is_odd=False, is_cut=False):
    whole = (*shape[:-1], 2 * shape[-1]) if is_cut and shape else tuple(shape)
    flat = torch.arange(float(np.prod(whole, dtype=int) + start))[start:]
    made = flat.view(whole)
    if whole != tuple(shape):  # rows with gaps between them
        made = made[..., : shape[-1]]
    if is_odd:  # the strides of dimensions of size 1 are any numbers
        strides = [3 if size == 1 else step for size, step in zip(shape, made.stride())]
        made = flat.as_strided(tuple(shape), strides)
    return made.permute(tuple(reversed(range(len(shape))))) if is_permuted else made


def told(call):
    """Return a call's outcome: layouts and bases of its results, or its error."""
    try:
        found = call()
    except FlambeauError as error:
        return type(error), str(error)
    results = found if isinstance(found, tuple) else (found,)
    return [
        (each.shape, each.stride(), each.storage_offset(), each.is_contiguous(), each.is_aligned(), each._origin,
         each._base is None, type(each.shape), each.grad_fn and each.grad_fn.name())
        for each in results
    ]  # fmt: skip


def slope(call, x):
    """Return the gradient of a call's results, each weighted by other numbers; None without results in a graph."""
    found = call()
    results = found if isinstance(found, tuple) else (found,)
    if all(each.grad_fn is None for each in results):
        return None
    weights = [torch.arange(float(each.numel())).reshape(each.shape) + at for at, each in enumerate(results)]
    return torch.autograd.grad(results, [x], weights)[0].tolist()


@pytest.mark.parametrize(("name", "arguments"), [("split", (2, -1)), ("split", ([1, 3], 1)), ("unbind", (-1,))])
def test_pieces_in_a_graph_are_computed_once_for_a_layout(monkeypatch, name, arguments):
    operator = REGISTRY[name]
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    expected = operator(x, *arguments)

    def refuse(*arguments):
        raise AssertionError(name)

    monkeypatch.setattr(operator, "body", refuse)
    pieces = operator(x, *arguments)
    assert [each.tolist() for each in pieces] == [each.tolist() for each in expected]
    assert pieces[1].grad_fn is pieces[0].grad_fn
    slope = torch.autograd.grad(sum((each * each).sum() for each in pieces), x)[0]
    assert slope.tolist() == (2 * x).tolist()


def test_a_split_of_nothing_has_a_gradient():
    for _ in range(2):
        x = torch.zeros(0, 3, requires_grad=True)
        (piece,) = x.split(0, -2)
        assert torch.autograd.grad(piece.sum(), x)[0].shape == (0, 3)


@settings(deadline=None, max_examples=600)
@given(
    st.sampled_from(sorted(ARGUMENTS)),
    SHAPES,
    st.booleans(),
    st.integers(0, 3),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.data(),
)
def test_a_computed_view_is_that_of_the_operator(
    name, shape, is_permuted, start, is_odd, is_cut, in_graph, records, data
):
    operator, arguments = REGISTRY[name], data.draw(ARGUMENTS[name])
    x = source(shape, is_permuted, start, is_odd, is_cut)
    if in_graph:
        x = x.detach().requires_grad_()
    ordinary = operator.called_as(name + "_ordinary")
    ordinary.quick = None
    with torch.set_grad_enabled(records):
        first, one = told(lambda: operator(x, *arguments)), told(lambda: operator(x, *arguments))
        other = told(lambda: ordinary(x, *arguments))
        if isinstance(one, list):
            assert slope(lambda: operator(x, *arguments), x) == slope(lambda: ordinary(x, *arguments), x)
    assert first == one, "a view whose geometry is known is like the first one"
    assert one == other or str(one).replace(name, "") == str(other).replace(name + "_ordinary", "").replace(name, "")


@settings(deadline=None, max_examples=300)
@given(SHAPES, st.booleans(), st.lists(DIM | st.builds(slice, BOUND, BOUND, st.none() | st.integers(1, 3)), max_size=4))
def test_integers_and_slices_select_as_in_numpy(shape, is_permuted, items):
    x = source(shape, is_permuted, 1)
    index = items[0] if len(items) == 1 else tuple(items)
    try:
        expected = x.numpy()[index]
    except IndexError:
        with pytest.raises(IndexRangeError, match="^index: "):
            x[index]
        return
    found = views.get_item(x, index)
    assert found.shape == expected.shape and found.tolist() == expected.tolist()
    assert found._base is x._base


@pytest.mark.parametrize("index", [10**30, -(10**30), (0, 10**30)])
def test_an_index_beyond_64_bits_is_out_of_range(index):
    with pytest.raises(IndexRangeError, match=r"^index: .*10{30}"):
        torch.ones(2, 3)[index]


def test_a_view_in_a_graph_is_recorded():
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    (x.t()[1] * x.chunk(2)[0][0, 1]).sum().backward()
    assert x.grad.tolist() == [[0, 1.0 + 1 + 4, 0], [0, 1, 0]]


def test_views_of_device_memory_are_computed_too(gpus):
    x = torch.ones(2, 2, device="cuda")
    assert x.t().stride() == (1, 2) and x[1].storage_offset() == 2
    assert views.get_item(x, [0]) is None and views.get_item(x, True) is None


def test_arguments_of_other_types_are_no_known_ones():
    x = torch.arange(6.0).view(2, 3)
    assert x.unsqueeze(1).shape == (2, 1, 3)
    with pytest.raises(FlambeauError, match=r"^unsqueeze: .*True"):
        x.unsqueeze(True)
    with pytest.raises(FlambeauError, match=r"^unsqueeze: .*float"):
        x.unsqueeze(1.0)


def test_a_known_geometry_counts_from_the_operand():
    x = torch.arange(12.0).view(4, 3)
    assert [row.diagonal().tolist() for row in (x[:2], x[1:3], x[2:])] == [[0, 4], [3, 7], [6, 10]]
    assert [row.is_aligned() for row in (x[:2].T, x[1:3].T)] == [True, False]


def test_the_geometries_kept_per_layout_are_bounded():
    x = torch.arange(600.0)
    assert sum(x.narrow(0, at, 1).item() for at in range(600)) == sum(range(600))
    assert 0 < len(x._layout.views) <= views.MOST_KNOWN


def test_a_view_of_a_storage_depends_on_where_the_tensor_starts():
    x = torch.arange(6.0)
    for _ in range(2):
        assert [each.as_strided((2,), (1,), 1).tolist() for each in (x, x[2:], x[:3])] == [[1, 2]] * 3
        assert [each.as_strided((2,), (1,)).tolist() for each in (x, x[2:], x[:3])] == [[0, 1], [2, 3], [0, 1]]
        with pytest.raises(FlambeauError, match="storage of 3"):
            x[:3].clone().as_strided((4,), (1,))
        assert x[:3].as_strided((4,), (1,)).tolist() == [0, 1, 2, 3]
