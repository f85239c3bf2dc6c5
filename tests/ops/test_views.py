"""Views share memory, and their gradients land where the view lies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import flambeau as torch
from flambeau.errors import ArgumentTypeError, AutogradError, IndexRangeError, ShapeError

SHAPES = some.lists(some.integers(0, 4), max_size=4)


def counted(*shape):
    """0, 1, 2, … in a shape, as float64."""
    return torch.from_numpy(np.arange(float(np.prod(shape))).reshape(shape))


@pytest.mark.parametrize(
    "part",
    [
        lambda x: x.view(4, 3),
        lambda x: x.t(),
        lambda x: x.permute(1, 0),
        lambda x: x.unsqueeze(1),
        lambda x: x.narrow(1, 1, 2),
        lambda x: x.select(0, -1),
        lambda x: x.diagonal(1),
        lambda x: x.unfold(1, 2, 2),
        lambda x: x.expand(2, 3, 4)[0],
        lambda x: x.as_strided((2, 2), (4, 1), 1),
        lambda x: x.split(2)[1],
        lambda x: x.chunk(2, 1)[1],
        lambda x: x.unbind(1)[2],
        lambda x: x.movedim(0, 1),
        lambda x: x.view(torch.int64),
    ],
)
def test_a_view_shares_its_memory_and_version(part):
    x = counted(3, 4)
    view = part(x)
    view.zero_()
    assert view._storage is x._storage
    assert x._version == 1
    assert (x.numpy() == 0).sum() > 1


@given(SHAPES, some.randoms(use_true_random=False))
def test_permute_reads_as_numpy_transposes(shape, random):
    order = random.sample(range(len(shape)), len(shape))
    x = counted(*shape)
    assert np.array_equal(x.permute(order).numpy(), x.numpy().transpose(order))


@given(some.integers(-9, 9) | some.none(), some.integers(-9, 9) | some.none(), some.integers(1, 4))
def test_slices_read_as_numpys(start, end, step):
    x = counted(6, 2)
    assert np.array_equal(x[start:end:step].numpy(), x.numpy()[start:end:step])


def test_reshape_copies_only_where_it_must():
    x = counted(3, 4)
    assert x.reshape(2, 6)._storage is x._storage
    assert x.t().reshape(12)._storage is not x._storage
    assert x.t().reshape(12).tolist() == x.numpy().T.reshape(12).tolist()


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_t_returns_a_view_of_every_tensor(shape):
    x = torch.ones(shape)
    y = x.t()
    assert y is not x and y._base is x and y.shape == shape[::-1]


def test_view_of_strides_that_cannot_show_it_says_so():
    with pytest.raises(
        ShapeError, match=r"size is not compatible with .*: size \[12\], of shape \[4, 3\] with strides \[1, 4\]"
    ) as error:
        counted(3, 4).t().view(12)
    assert "use reshape" in error.value.hint


def test_squeeze_of_a_size_that_is_not_one_changes_nothing():
    assert counted(3, 1, 2).squeeze(0).shape == (3, 1, 2)


def test_view_as_another_type_counts_bytes():
    x = torch.tensor([1.0, -2.0])
    assert x.view(torch.int32).tolist() == [0x3F800000, 0xC0000000 - (1 << 32)]
    assert x.view(torch.uint8).shape == (8,)
    with pytest.raises(ShapeError, match=r"cannot be viewed as float64, of 8 bytes"):
        torch.ones(3).view(torch.float64)


def test_windows_that_overlap_add_up_their_gradients():
    x = torch.ones(5, dtype=torch.float64, requires_grad=True)
    x.unfold(0, 3, 1).sum().backward()
    assert x.grad.tolist() == [1, 2, 3, 2, 1]


def test_as_strided_of_a_transposed_input_finds_its_elements():
    x = counted(2, 3).requires_grad_()
    y = x.t().as_strided((2,), (2,), 1)
    (y * counted(2)).sum().backward()
    assert y.tolist() == [1, 3]
    assert x.grad.tolist() == [[0, 0, 0], [1, 0, 0]]


def test_as_strided_of_an_input_that_overlaps_has_no_gradient():
    x = torch.ones(1, requires_grad=True)
    y = x.expand(3).as_strided((2,), (0,))
    with pytest.raises(AutogradError, match="elements overlap"):
        y.sum().backward()


def test_numbers_have_no_dimension_to_cut():
    with pytest.raises(IndexRangeError, match="select: cannot be applied to a 0-dim tensor"):
        torch.tensor(1.0).select(0, 0)


def test_in_place_writes_through_a_view_are_differentiated():
    x = torch.ones(3, 2, requires_grad=True)
    y = x * 2
    y[1] = y[0] * 10
    y.sum().backward()
    assert x.grad.tolist() == [[22, 22], [0, 0], [2, 2]]


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda x: x.view(size=(6,)), (6,)),
        (lambda x: x.view(dtype=torch.int64), (2, 3)),
        (lambda x: x.reshape(shape=[3, -1]), (3, 2)),
        (lambda x: x.permute(dims=(1, 0)), (3, 2)),
        (lambda x: x.expand(size=(4, -1, 3)), (4, 2, 3)),
        (lambda x: x.broadcast_to(size=(4, 2, 3)), (4, 2, 3)),
        (lambda x: x.repeat(repeats=(2, 1)), (4, 3)),
    ],
)
def test_sizes_by_name(call, wanted):
    assert call(counted(2, 3)).shape == wanted


def test_sizes_by_name_and_by_place_are_refused():
    with pytest.raises(ArgumentTypeError, match="expand: got an unexpected keyword argument 'size'"):
        counted(1).expand(2, size=(2,))
    with pytest.raises(ArgumentTypeError, match="view: got an unexpected keyword argument 'size'"):
        counted(1).view(1, size=(1,))
