"""Indexing reads and writes as NumPy does, for every kind of index, on the CPU and on GPUs."""

from array import array
from collections import UserList, deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import flambeau as torch
from flambeau.core.queue import hooks
from flambeau.errors import ArgumentError, ArgumentTypeError, IndexRangeError, ShapeError
from flambeau.testing import machine

pytestmark = pytest.mark.devices(1)


@pytest.fixture(params=["cpu", "cuda"])
def device(request, gpus):
    return request.param


def one_index(size):
    """Return strategies for indexes of a dimension of `size` elements."""
    bound = some.integers(-size - 2, size + 2) | some.none()
    kinds = [some.builds(slice, bound, bound, some.integers(1, 3) | some.none()), some.just(slice(None))]
    if size:
        kinds += [some.integers(-size, size - 1), some.lists(some.integers(-size, size - 1), min_size=2, max_size=2)]
        kinds += [some.lists(some.booleans(), min_size=size, max_size=size).filter(lambda mask: sum(mask) == 2)] * (
            size > 1
        )
    return some.one_of(kinds)


@some.composite
def indexed(draw):
    """Draw a shape and an index of it."""
    shape = tuple(draw(some.lists(some.integers(0, 4), min_size=1, max_size=4)))
    items = [draw(one_index(size)) for size in shape[: draw(some.integers(1, len(shape)))]]
    for _ in range(draw(some.integers(0, 1))):
        items.insert(draw(some.integers(0, len(items))), None)
    if draw(some.booleans()):
        items.append(Ellipsis)
    return shape, tuple(items)


def for_numpy(index):
    return tuple(np.array(each) if isinstance(each, list) else each for each in index)


def for_torch(index, device):
    return tuple(torch.tensor(each, device=device) if isinstance(each, list) else each for each in index)


def differs_from_numpy(index):
    """Return whether an index mixes integers and lists: NumPy reads the integers as lists, flambeau selects first."""
    return any(isinstance(each, int) for each in index) and any(isinstance(each, list) for each in index)


@settings(deadline=None, max_examples=150)
@given(indexed())
def test_reading_and_writing_is_numpys(case):
    shape, index = case
    if differs_from_numpy(index):
        return
    plain = np.arange(float(np.prod(shape))).reshape(shape)
    expected = plain[for_numpy(index)]
    written = plain.copy()
    written[for_numpy(index)] = -expected
    with machine(devices=1):
        for device in ("cpu", "cuda"):
            x = torch.tensor(plain, device=device)
            place = for_torch(index, device)
            found = x[place]
            assert np.array_equal(found.cpu().numpy(), expected)
            x[place] = -found
            assert np.array_equal(x.cpu().numpy(), written)


def test_integers_and_slices_are_views(device):
    x = torch.zeros(3, 4, device=device)
    x[1][2:] = 5
    x[..., 0] = 1
    assert x.tolist() == [[1, 0, 0, 0], [1, 0, 5, 5], [1, 0, 0, 0]]
    assert x[:]._storage is x._storage and x[:] is not x


def test_a_mask_takes_a_number_without_the_host_waiting(device, monkeypatch):
    x = torch.arange(6, device=device).reshape(2, 3)
    mask = torch.tensor([True, False], device=device)
    with monkeypatch.context() as patch:
        patch.setattr(hooks, "on_copy", lambda *facts: pytest.fail(str(facts)))
        x[x > 3] = 9.7
        x[mask] = True
    assert x.tolist() == [[1, 1, 1], [3, 9, 9]]


def test_a_mask_takes_a_tensor_of_as_many_values(device):
    x = torch.zeros(2, 3, device=device)
    x[torch.tensor([[True, False, True], [False, True, False]], device=device)] = torch.tensor(
        [1.0, 2.0, 3.0], device=device
    )
    assert x.tolist() == [[1, 0, 2], [0, 3, 0]]
    with pytest.raises(ShapeError, match=r"shape \[2\] cannot be broadcast to indexing result of shape \[3\]"):
        x[torch.tensor([True, True, True], device=device).expand(2, 3) & (x > 0)] = torch.ones(2, device=device)


def test_values_of_another_type_and_place_are_converted(gpus):
    x = torch.zeros(3, device="cuda")
    x[1:] = torch.tensor([1, 2])
    x[[0]] = torch.tensor(7.5, dtype=torch.float64)
    assert x.tolist() == [7.5, 1, 2]


def test_index_put_accumulates_in_place_also_where_dimensions_cannot_be_flattened(device):
    x = torch.zeros(3, 2, device=device)
    i = torch.tensor([0, 1, 0], device=device)
    x.t().index_put_((i, torch.tensor([2, 0, 2], device=device)), torch.ones(3, device=device), accumulate=True)
    assert x.tolist() == [[0, 1], [0, 0], [2, 0]]


def test_index_put_takes_indexes_and_a_number_of_the_cpu(gpus):
    at, other = torch.tensor([2, 0]), torch.tensor([1])
    x, value = torch.zeros(3, device="cuda"), torch.tensor(3.0, requires_grad=True)
    x.index_put_((at,), torch.tensor(2.0), accumulate=True)
    assert x.index_put_((other,), value) is x and x.tolist() == [2.0, 3.0, 2.0]
    x.sum().backward()
    assert value.grad.item() == 1
    assert torch.index_put(torch.zeros(3, device="cuda"), (at,), torch.ones(2).cuda()).tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(RuntimeError, match="same device"):
        x.index_put_((at,), torch.ones(2))


def test_gradients_flow_to_the_values_and_around_what_was_overwritten():
    x, value = torch.ones(2, 3, requires_grad=True), torch.ones(2, requires_grad=True)
    y = x * 2
    y[:, 1] = value * 3
    y[torch.tensor([0]), torch.tensor([0])] = value[:1]
    y.sum().backward()
    assert x.grad.tolist() == [[0, 0, 2], [2, 0, 2]]
    assert value.grad.tolist() == [4, 3]


def test_a_repeated_index_adds_up_its_gradients():
    x = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    x[[0, 0, 2]].sum().backward()
    assert x.grad.tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("index", "error", "fact"),
    [
        (5, IndexRangeError, "index 5 is out of bounds for dimension 0 with size 3"),
        ((0, 0, 0), IndexRangeError, "too many indices for tensor of dimension 2"),
        (slice(None, None, -1), ArgumentError, "step must be greater than zero, got -1"),
        (1.0, IndexRangeError, r"valid indices \(got float\)"),
        ([True, False], IndexRangeError, r"shape of the mask \[2\] at index 0 does not match .* \[3, 4\]"),
        (([0, 1], [0, 1, 2]), IndexRangeError, r"could not be broadcast together: \[2\], \[3\]"),
        ([3], IndexRangeError, "index 3 is out of bounds for dimension 0 with size 3"),
    ],
)
def test_what_cannot_index_says_why(index, error, fact):
    with pytest.raises(error, match=fact):
        torch.zeros(3, 4)[index]
    x = torch.zeros(3, 4)
    with pytest.raises(error, match=fact):
        x[index] = 1
    assert x.sum().item() == 0 and x._version == 0


def test_a_list_is_no_value():
    with pytest.raises(ArgumentTypeError, match=r"can't assign a list to a torch.FloatTensor"):
        torch.zeros(2)[0] = [1]


def test_byte_masks_warn():
    with pytest.warns(UserWarning, match=r"torch.uint8 is now deprecated"):
        assert torch.arange(3)[torch.tensor([1, 0, 1], dtype=torch.uint8)].tolist() == [0, 2]


def test_a_list_of_several_indexes_is_a_tuple_and_warns(device):
    x = torch.arange(16, device=device).view(4, 4)
    several = {
        "lists": ([[1, 2], [0, 0]], [4, 8]),
        "a slice": ([slice(None), [1, 2]], [[1, 2], [5, 6], [9, 10], [13, 14]]),
        "None": ([None, 1], [[4, 5, 6, 7]]),
        "tensors": ([torch.tensor([1, 2]), torch.tensor([0, 0])], [4, 8]),
        "one list": ([[1, 2]], [[4, 5, 6, 7], [8, 9, 10, 11]]),
        "an ellipsis": ([..., 0], [0, 4, 8, 12]),
        "arrays": ([np.array([1, 2]), np.array([0, 0])], [4, 8]),
    }
    for index, values in several.values():
        with pytest.warns(UserWarning, match="use a tuple"):
            assert x[index].tolist() == values
    with pytest.warns(UserWarning, match="use a tuple"):
        x[[[1, 2], [0, 0]]] = -1
    assert x[:, 0].tolist() == [0, -1, -1, 12]
    assert x[[1, 2]].shape == (2, 4) and x[[True, False, True, False]].shape == (2, 4)
    assert x[[]].shape == (0, 4) and x[range(2)].shape == (2, 4)


def test_sequences_of_numbers_are_index_tensors(device):
    x = torch.arange(9, device=device).view(3, 3)
    two, diagonal = [[0, 1, 2], [3, 4, 5]], [0, 4]
    pair = array("l", [0, 1])
    sequences = [pair, array("B", [0, 1]), array("d", [0, 1]), memoryview(pair), bytearray(b"\0\1")]
    sequences += [range(2), deque([0, 1]), UserList([0, 1]), [0.0, 1.9], [np.int64(0), 1], [np.float64(0), 1]]
    sequences += [np.array([0.0, 1.9]), np.array([0, 1], np.uint16), np.array([0, 1], np.float16)]
    for sequence in sequences:
        assert x[sequence].tolist() == x[(sequence,)].tolist() == two, sequence
        assert x[sequence, sequence].tolist() == diagonal, sequence
        written = x.clone()
        written[sequence] = 7
        assert written.tolist() == [[7] * 3, [7] * 3, [6, 7, 8]], sequence
    assert x[array("l", [])].shape == x[deque()].shape == (0, 3)
    assert x[memoryview(np.array([True, False, True]))].tolist() == [[0, 1, 2], [6, 7, 8]]
    for several in ([pair, pair], deque([pair, pair]), UserList([deque([0, 1]), [0, 1]])):
        with pytest.warns(UserWarning, match="use a tuple"):
            assert x[several].tolist() == diagonal


def test_values_that_are_no_sequences_of_numbers_are_no_index():
    x = torch.zeros(3, 3)
    refused = [("a", TypeError), (b"\0", TypeError), ({0: 1}, IndexError), ({0}, IndexError), (int, IndexError)]
    refused += [(iter([0]), IndexError), ([float("nan")], ValueError), (object(), IndexError)]
    for index, error in refused:
        with pytest.raises(error, match="^index: "):
            x[index]
        with pytest.raises(error, match="^index: "):
            x[index] = 1
    assert x._version == 0


def test_masks_without_dimensions(device):
    number, x = torch.tensor(3.0, device=device), torch.zeros(2, 3, device=device)
    yes, no = number > 0, number > 9
    assert number[yes].tolist() == [3] and number[no].tolist() == []
    assert x[yes].shape == (1, 2, 3) and x[no].shape == (0, 2, 3)
    assert x[:, yes].shape == (2, 1, 3) and x[yes, 0].shape == (1, 3)
    number[no] = 5
    assert number.item() == 3
    number[yes] = 1
    assert number.item() == 1
    x[yes] = 7
    assert x.tolist() == [[7] * 3] * 2


def test_values_lose_their_leading_ones(device):
    x = torch.arange(6.0, device=device).view(2, 3)
    x[x > 2] = torch.tensor([[[7.0, 8.0, 9.0]]], device=device)
    assert x.tolist() == [[0, 1, 2], [7, 8, 9]]
    x[torch.tensor([0, 1], device=device)] = torch.tensor([[[1.0, 2.0, 3.0]]], device=device)
    assert x.tolist() == [[1, 2, 3], [1, 2, 3]]
    x[0] = torch.zeros(1, 1, 3, device=device)
    assert x[0].tolist() == [0, 0, 0]
    with pytest.raises(ShapeError, match=r"value tensor of shape \[3, 1\] .* shape \[3\]"):
        x[x > 0] = torch.ones(3, 1, device=device)


def test_index_put_without_an_index_is_refused(device):
    x = torch.zeros(2, device=device)
    for indices in ((), (None,)):
        with pytest.raises(RuntimeError, match=r"index_put_: got no index tensor, .*\[2\]"):
            x.index_put_(indices, torch.tensor(1.0, device=device))
    assert x.tolist() == [0, 0]


def test_elements_cannot_be_deleted():
    x = torch.zeros(2, 3)
    with pytest.raises(ArgumentTypeError, match="does not support deleting items"):
        del x[0]


def test_an_empty_slice_begins_where_it_was_asked_to(device):
    x = torch.arange(6.0, device=device).view(2, 3)
    assert [each.storage_offset() for each in (x[2:], x[5:], x[:, 3:], x[1:1], x.narrow(0, 2, 0), x[-9:0])] == [
        6, 6, 3, 3, 6, 0,
    ]  # fmt: skip
    assert x[2:].data_ptr() == 0 and x[2:].sum().item() == 0


def test_reversed_and_plus(device):
    x = torch.arange(6, device=device).view(2, 3)
    assert reversed(x).tolist() == [[3, 4, 5], [0, 1, 2]]
    assert reversed(x[0, 0]).item() == 0
    assert +x is x
    with pytest.raises(RuntimeError, match="pos: .* bool"):
        _ = +(x > 0)
