"""copy, deepcopy and pickle: which attributes are kept, and which results share memory."""

import copy
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, AutogradError
from flambeau.tensor import pickling


def through_pickle(value):
    return pickle.loads(pickle.dumps(value))


def trained(made):
    (made * 3).sum().backward()
    return made


@pytest.mark.parametrize("device", ["cpu", "cuda:1"])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.bool, torch.int64])
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, through_pickle])
def test_values_type_place_and_flag_are_kept(device, kind, duplicate, gpus):
    x = torch.tensor([[0, 1], [2, 3]], device=device).to(kind).t()
    x.requires_grad_(kind.is_floating_point)
    found = duplicate(x)
    assert (found.tolist(), found.dtype, found.device) == (x.tolist(), x.dtype, x.device)
    assert found.requires_grad is x.requires_grad and found.stride() == x.stride() and found is not x


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("duplicate", [copy.deepcopy, through_pickle])
def test_tensors_that_share_memory_share_it_afterwards(device, duplicate, gpus):
    x = torch.arange(6.0, device=device).reshape(2, 3)
    whole, row, column, turned = duplicate([x, x[1], x[:, 2], x.t()])
    assert (row.storage_offset(), column.stride(), turned.stride()) == (3, (3,), (1, 3))
    whole[1, 2] = 9
    assert [row.tolist(), column.tolist(), turned.tolist()[2]] == [[3.0, 4.0, 9.0], [2.0, 9.0], [2.0, 9.0]]
    assert x[1, 2].item() == 5.0, "the original keeps its values"


@pytest.mark.parametrize("made", [torch.ones(0), torch.ones(0, 3), torch.ones(1).expand(3), torch.ones(())])
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, through_pickle])
def test_shapes_without_values_and_repeated_ones(made, duplicate):
    found = duplicate(made)
    assert (found.shape, found.stride(), found.tolist()) == (made.shape, made.stride(), made.tolist())


def test_a_copy_shares_memory_and_leaves_the_graph():
    x = torch.ones(2, requires_grad=True)
    for source in (torch.ones(2), x, x * 1, nn.Parameter(torch.ones(2))):
        found = copy.copy(source)
        assert found.data_ptr() == source.data_ptr() and type(found) is type(source)
        assert found.is_leaf and found.requires_grad is source.requires_grad and found.grad is None


def test_deepcopy_keeps_the_gradient_of_a_leaf():
    x = trained(torch.ones(2, requires_grad=True))
    made, grad = copy.deepcopy([x, x.grad])
    assert made.grad is grad and grad.tolist() == [3.0, 3.0] and grad.data_ptr() != x.grad.data_ptr()
    assert copy.copy(x).grad is None and through_pickle(x).grad is None
    assert copy.deepcopy(trained(nn.Parameter(torch.ones(2)))).grad is None, "a parameter's is left out, as in PyTorch"


def test_only_leaves_are_copied_deeply():
    made = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(AutogradError, match=r"deepcopy: .*float32\[2\].*MulBackward0"):
        copy.deepcopy(made)
    assert through_pickle(made).is_leaf and through_pickle(made).requires_grad


def test_attributes_of_a_tensor_go_with_it():
    for made in (torch.ones(1), nn.Parameter(torch.ones(1))):
        made.labels = [1]
        assert copy.copy(made).labels is made.labels and through_pickle(made).labels == [1]
    made = torch.ones(1)
    made.labels = [made]
    found = copy.deepcopy(made)
    assert found.labels[0] is found


def test_tied_parameters_of_a_module_stay_tied():
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    net = nn.Sequential(first, nn.GELU(), second, nn.CrossEntropyLoss(weight=torch.ones(2)))
    for duplicate in (copy.deepcopy, through_pickle):
        found = duplicate(net)
        assert found[0].weight is found[2].weight and found[0].weight is not first.weight
        assert torch.equal(found[0].weight, first.weight) and repr(found) == repr(net)


def test_a_buffer_keeps_its_class_and_whether_it_is_state():
    made = nn.Buffer(torch.ones(2), persistent=False)
    for duplicate in (copy.copy, copy.deepcopy, through_pickle):
        found = duplicate(made)
        assert type(found) is nn.Buffer and found.persistent is False and found.tolist() == [1.0, 1.0]


def test_a_deep_copy_reads_after_the_work_of_the_current_stream(gpus):
    x = torch.zeros(1 << 16, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x.fill_(2)
        found = copy.deepcopy(x)
    side.synchronize()
    assert found.sum().item() == 2 << 16


def test_legacy_types_are_pickled_by_name(gpus):
    for kind in (torch.FloatTensor, torch.BoolTensor, torch.cuda.HalfTensor):
        assert through_pickle(kind) is copy.deepcopy(kind) is kind


def test_numpy_arrays_of_a_pickled_tensor_are_writable():
    found = through_pickle(torch.ones(2))
    found.numpy()[0] = 5
    assert found.tolist() == [5.0, 1.0] and np.asarray(found).flags.writeable


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=3), st.integers(0, 6), st.integers(0, 40),
    st.sampled_from([1, 2, 8]),
)  # fmt: skip
def test_a_layout_fits_if_every_element_lies_in_the_storage(dims, offset, nbytes, itemsize):
    shape, strides = tuple(size for size, _ in dims), tuple(step for _, step in dims)
    indexes = product(*map(range, shape))
    ends = [(offset + int(np.dot(index, strides)) + 1) * itemsize for index in indexes]
    fault = pickling.layout_fault(shape, strides, offset, itemsize, nbytes)
    assert (fault is None) == (max(ends, default=0) <= nbytes)


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ((-1,), (1,), 0), ((1,), (-1,), 0), ((1,), (1,), -1), ((1,), (), 0), ((1.0,), (1,), 0), ((True,), (1,), 0),
        (3, (1,), 0), ((1,), None, 0), ((1,), (1,), None), ((2**60,), (0,), 0), ((2**40, 2**40), (0, 0), 0),
        ((0, 2**40, 2**40), (1, 1, 1), 0), ((1,), (2**58,), 0), ((1,) * 65, (1,) * 65, 0), ((0,), (1,), 2**58),
        ((10**4000,), (1,), 0),
    ],
)  # fmt: skip
def test_layouts_of_other_kinds_are_refused_by_the_name_of_the_operation(shape, strides, offset):
    storage = torch.arange(4.0)._storage
    with pytest.raises(ArgumentError, match=r"^receive: float32.* does not fit in 16 bytes") as caught:
        pickling.over(storage, torch.float32, shape, strides, offset, "receive")
    assert caught.value.hint and len(str(caught.value)) < 6000


def test_tensors_are_taken_apart_and_put_together(gpus):
    x = torch.arange(6.0, device="cuda:1").view(2, 3).t()
    storage = x._storage
    assert pickling.location(storage) == "cuda:1" and pickling.location(torch.ones(1)._storage) == "cpu"
    assert pickling.host_bytes(storage).view(np.float32).tolist() == [0, 1, 2, 3, 4, 5]
    assert pickling.flat(storage).shape == (24,) and str(pickling.flat(storage).device) == "cuda:1"
    made = pickling.over(storage, torch.float32, (3, 2), (1, 3), 0, "test")
    assert made.tolist() == x.tolist() and made._storage is storage
