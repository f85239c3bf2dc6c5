"""Factories: values, types and devices; on a GPU the host neither copies nor waits."""

import copy
import ctypes
import math
import pickle
from array import array

import numpy as np
import pytest

import flambeau as torch
from flambeau.core.queue import hooks
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    InternalError,
    NotSupportedError,
    OutOfMemoryError,
    ValueRangeError,
)
from flambeau.testing import machine

EVERY = [
    lambda **o: torch.empty(2, 3, **o),
    lambda **o: torch.zeros((2, 3), **o),
    lambda **o: torch.ones([2, 3], **o),
    lambda **o: torch.full((2, 3), 1.5, **o),
    lambda **o: torch.arange(5.0, **o),
    lambda **o: torch.linspace(0, 1, 5, **o),
    lambda **o: torch.eye(3, **o),
    lambda **o: torch.rand(2, 3, **o),
    lambda **o: torch.randn(2, 3, **o),
]


@pytest.mark.parametrize("make", EVERY)
def test_every_factory_takes_type_device_and_requires_grad(make, gpus):
    made = make(dtype=torch.float64, device="cuda:1", requires_grad=True)
    assert (made.dtype, str(made.device), made.requires_grad, made.is_leaf) == (torch.float64, "cuda:1", True, True)
    assert made._version == 0
    assert make().dtype is torch.float32


@pytest.mark.parametrize("make", [*EVERY, lambda **o: torch.randint(9, (4,), **o), lambda **o: torch.randperm(9, **o)])
def test_on_a_gpu_factories_neither_copy_nor_wait(make, gpus, monkeypatch):
    def never(*facts):
        raise AssertionError(facts)

    monkeypatch.setattr(hooks, "on_copy", never)
    monkeypatch.setattr(hooks, "on_wait", never)
    assert make(device="cuda").is_cuda


@pytest.mark.parametrize("make", [torch.zeros, torch.ones, torch.rand, torch.empty])
def test_factories_pin(make, gpus):
    assert make(3, pin_memory=True).is_pinned()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (1, torch.int64),
        (1.5, torch.float32),
        (True, torch.bool),
        ([[1, 2.5]], torch.float32),
        ([], torch.float32),
        (np.float64(1.5), torch.float64),
        (np.arange(2.0), torch.float64),
        (np.array([1], np.int8), torch.int8),
    ],
)
def test_values_decide_the_type(data, kind):
    assert torch.tensor(data).dtype is kind


def test_tensor_copies_and_as_tensor_shares():
    array = np.zeros(2)
    copied, shared = torch.tensor(array), torch.as_tensor(array)
    array[0] = 5
    assert (copied.tolist(), shared.tolist()) == ([0, 0], [5, 0])
    assert torch.as_tensor(copied) is copied
    assert torch.tensor([torch.tensor(1.0), torch.tensor(2.0)]).tolist() == [1, 2]


def test_from_numpy_keeps_strides_and_the_array():
    array = np.arange(6.0).reshape(2, 3)
    found = torch.from_numpy(array.T[::2])
    assert found.stride() == (2, 3)
    del array
    found[0, 1] = 9
    assert found.tolist() == [[0, 9], [2, 5]]
    with pytest.raises(ArgumentError, match="negative"):
        torch.from_numpy(np.arange(3)[::-1])
    with pytest.raises(ArgumentTypeError, match=r"expected np.ndarray \(got list\)"):
        torch.from_numpy([1])


@pytest.mark.parametrize("bounds", [(5,), (1, 4), (0, 9, 4), (5, 0, -2), (-3, 4, 3), (0, 1, 0.25), (1.5, 3)])
def test_arange_is_numpys(bounds):
    expected = np.arange(*bounds)
    found = torch.arange(*bounds)
    assert found.dtype is (torch.int64 if expected.dtype.kind == "i" else torch.float32)
    assert np.array_equal(found.numpy(), expected.astype(found.numpy().dtype))


def test_the_bounds_of_arange_may_be_tensors_without_dimensions():
    bounds = torch.tensor(3, dtype=torch.uint8), torch.tensor(0), torch.tensor(-1)
    assert torch.arange(*bounds).tolist() == [3, 2, 1]
    assert torch.arange(torch.tensor(True)).tolist() == torch.arange(True).tolist() == [0]
    with pytest.raises(ArgumentTypeError, match="arange: end must be a number, got float32"):
        torch.arange(torch.ones(2))


def test_arange_refuses_what_never_ends():
    with pytest.raises(ArgumentError, match="inconsistent with step sign: .* 0, 3, -1"):
        torch.arange(0, 3, -1)
    with pytest.raises(ArgumentError, match="nonzero"):
        torch.arange(0, 3, 0)


def test_eye_and_full(gpus):
    assert np.array_equal(torch.eye(2, 3, device="cuda").cpu().numpy(), np.eye(2, 3))
    assert torch.eye(0).shape == (0, 0)
    assert torch.full((2,), 3).dtype is torch.int64
    assert torch.full((2,), torch.tensor(2.5, dtype=torch.float64)).tolist() == [2.5, 2.5]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_full_of_a_tensor_of_one_element(device, gpus):
    for value in (torch.tensor(3.5), torch.tensor([3.5]), torch.tensor([[3.5]], requires_grad=True)):
        for fill in (value, value.to(device)):
            like = torch.zeros(2, dtype=torch.int32, device=device)
            made = [
                (torch.full((2,), fill, device=device), torch.float32, [3.5, 3.5]),
                (torch.full((2,), fill, device=device, dtype=torch.int64), torch.int64, [3, 3]),
                (torch.full_like(like, fill), torch.int32, [3, 3]),
                (torch.full_like(like, fill, dtype=torch.float16), torch.float16, [3.5, 3.5]),
                (like.new_full((2,), fill), torch.int32, [3, 3]),
            ]
            for result, dtype, expected in made:
                assert (result.dtype, result.tolist(), result.device) == (dtype, expected, like.device)
                assert not result.requires_grad
            out = torch.zeros(2, dtype=torch.float64, device=device)
            assert torch.full((2,), fill, out=out) is out and out.tolist() == [3.5, 3.5]
    for name, call in (
        ("full", lambda fill: torch.full((2,), fill)),
        ("full_like", lambda fill: torch.full_like(out, fill)),
        ("new_full", lambda fill: out.new_full((2,), fill)),
    ):
        with pytest.raises(NotSupportedError, match=rf"^{name}: .*meta"):
            call(torch.ones(1, device="meta"))
        with pytest.raises(ArgumentTypeError, match=rf"^{name}: .*of one element, got float32\[2\]"):
            call(torch.ones(2))


def test_random_factories_follow_their_generator(gpus):
    for device in ("cpu", "cuda"):
        drawn = []
        for _ in range(2):
            generator = torch.Generator(device).manual_seed(3)
            makers = (torch.rand, torch.randn, lambda n, **o: torch.randint(0, 100, (n,), **o), torch.randperm)
            drawn.append([make(7, generator=generator, device=device).tolist() for make in makers])
        assert drawn[0] == drawn[1]
        assert sorted(drawn[0][3]) == list(range(7))
        assert all(0 <= each < 100 for each in drawn[0][2])


@pytest.mark.parametrize("make", [torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn])
def test_a_size_may_be_named(make):
    assert make(size=(2, 3)).shape == make(size=[2, 3]).shape == (2, 3) and make(size=()).shape == ()
    assert torch.zeros(1).new_zeros(size=(4,)).shape == (4,)


def test_bounds_may_be_named():
    torch.manual_seed(3)
    expected = torch.randint(2, 9, (50,)).tolist()
    for positional, named in [((2, 9), {}), ((2,), {"high": 9}), ((), {"low": 2, "high": 9})]:
        torch.manual_seed(3)
        assert torch.randint(*positional, **named, size=(50,)).tolist() == expected
    assert set(torch.randint(high=2, size=(50,)).tolist()) == {0, 1}
    assert torch.arange(end=3).tolist() == [0, 1, 2] and torch.arange(end=2.0, step=0.5).tolist() == [0, 0.5, 1, 1.5]


def test_types_of_python_are_types(gpus):
    x = torch.tensor([1.5, 0], device="cuda")
    for python, kind in ((bool, torch.bool), (int, torch.int64), (float, torch.float64)):
        values = np.array([1.5, 0]).astype(python).tolist()
        for made in (x.to(python), x.to(dtype=python), x.to("cuda", python)):
            assert made.dtype is kind and made.tolist() == values
        for made in (torch.tensor([1, 0], dtype=python), torch.as_tensor([1, 0], dtype=python)):
            assert made.dtype is kind and made.tolist() == [1, 0]
        for made in (torch.ones(2, dtype=python), torch.ones_like(x, dtype=python), torch.full((2,), 1, dtype=python)):
            assert made.dtype is kind and made.tolist() == [1, 1]
        assert torch.empty(2, dtype=python).dtype is kind
    assert torch.arange(3, dtype=float).dtype is x.sum(dtype=float).dtype is torch.float64
    with pytest.raises(NotImplementedError, match="arange: not implemented for torch.bool"):
        torch.arange(2, dtype=bool)


def test_likes_and_new_keep_device_and_type(gpus):
    x = torch.empty(2, 3, dtype=torch.float16, device="cuda:1")
    for made in (
        torch.zeros_like(x), torch.ones_like(x), torch.empty_like(x), torch.full_like(x, 2), torch.rand_like(x),
        torch.randn_like(x), torch.randint_like(x, 9), x.new_zeros(2, 3), x.new_ones((2, 3)), x.new_full((2, 3), 1),
        x.new_empty(2, 3), x.new_tensor([[1, 2, 3]] * 2), x.new(2, 3), x.new([[1, 2, 3]] * 2), x.new(x.size()),
    ):  # fmt: skip
        assert (made.shape, made.dtype, made.device) == (x.shape, x.dtype, x.device)
    moved = torch.zeros_like(x, dtype=torch.int64, device="cpu")
    assert (moved.dtype, moved.is_cuda) == (torch.int64, False)


def test_elements_of_buffers_are_python_numbers():
    for code in "bBhHiIlLqQ":
        held = array(code, [1, 2])
        for data in (held, memoryview(held)):
            assert (torch.tensor(data).dtype, torch.tensor(data).tolist()) == (torch.int64, [1, 2]), code
        assert torch.tensor([held, held], dtype=torch.float64).tolist() == [[1, 2], [1, 2]], code
    for code in "fd":
        assert (torch.as_tensor(array(code, [0.5])).dtype, torch.tensor(array(code)).dtype) == (torch.float32,) * 2
    assert torch.tensor(bytearray(b"a")).dtype is torch.tensor((ctypes.c_short * 1)(1)).dtype is torch.int64
    with pytest.raises(ValueError, match="does not fit in int64: 9223372036854775808"):
        torch.tensor(array("Q", [2**63]))


def test_asarray_shares_the_memory_of_buffers():
    held = array("f", [1.0, 2.0])
    shared = torch.asarray(held)
    held[0] = 3.0
    assert (shared.dtype, shared.tolist()) == (torch.float32, [3.0, 2.0])
    whole = (ctypes.c_short * 2)(1, 2)
    shared = torch.asarray(whole, dtype=torch.int16)
    shared[0] = 3
    assert list(whole) == [3, 2]


def test_wrong_data_says_what_is_wrong():
    with pytest.raises(ArgumentError, match="differ in length"):
        torch.tensor([[1, 2], [3]])
    with pytest.raises(ArgumentTypeError, match="could not infer dtype of str"):
        torch.tensor("text")
    with pytest.raises(DtypeError, match="only Tensors of floating point dtype can require gradients"):
        torch.zeros(2, dtype=torch.int64, requires_grad=True)
    with pytest.raises(ArgumentError, match="low=5 >= high=5"):
        torch.randint(5, 5, (2,))


def test_asarray_keeps_a_tensor_in_its_graph():
    leaf = torch.ones(2, requires_grad=True)
    inner = leaf * 2
    assert torch.asarray(leaf) is leaf and torch.asarray(inner) is inner
    for found in (torch.asarray(inner, dtype=torch.float64), torch.asarray(inner, copy=True)):
        assert found.requires_grad and not found.is_leaf
        leaf.grad = None
        found.sum().backward()
        assert leaf.grad.tolist() == [2, 2]
    assert not torch.asarray(inner, requires_grad=False).requires_grad
    assert not torch.asarray([1.0]).requires_grad and torch.asarray([1.0], requires_grad=True).is_leaf


def test_a_number_beyond_int64_is_refused_among_others():
    for data in ([1, 2**63], (-(2**63) - 1, 5)):
        with pytest.raises(ValueError, match="does not fit in int64"):
            torch.tensor(data)


@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array")  # as NumPy from 2.5 on advises against
def test_an_array_may_change_its_shape_under_a_tensor():
    array = np.arange(6)
    x = torch.from_numpy(array)
    array.shape = (2, 3)
    array[1, 0] = 9
    assert (x.shape, x.tolist()) == ((6,), [0, 1, 2, 9, 4, 5])


def test_floats_beyond_float32_become_infinite_without_a_warning():
    assert torch.tensor([1e300, -1e300]).tolist() == [math.inf, -math.inf]


def test_integers_beyond_int64_for_types_that_hold_them():
    assert torch.tensor(2**63, dtype=torch.uint64).item() == 2**63
    assert torch.tensor([[2**64 - 1], [2]], dtype=torch.uint64).tolist() == [[2**64 - 1], [2]]
    assert torch.tensor([2**70], dtype=torch.float32).tolist() == [2.0**70]
    assert torch.tensor([2**70, 0.5]).tolist() == [2.0**70, 0.5]
    for data, kind in ((2**64, torch.uint64), ([2**2000], torch.float32)):
        with pytest.raises(ValueRangeError, match=f"tensor: .*{str(kind).removeprefix('torch.')}"):
            torch.tensor(data, dtype=kind)
    with pytest.raises(ArgumentError, match=str(2**70)):
        torch.tensor([2**70])
    with pytest.raises(ArgumentError, match=str(2**70)):
        torch.tensor([2**70, None])


# nested lists, also of tensors or without end; sizes that do not fit

ONE, NUMBER = torch.tensor([2.0]), torch.tensor(3.0)


@pytest.mark.parametrize(
    ("data", "values", "kind"),
    [
        ([NUMBER, ONE], [3, 2], "float32"),
        ([ONE, ONE], [2, 2], "float32"),
        ([[NUMBER], [torch.tensor([[2]])]], [[3], [2]], "float32"),
        ([torch.tensor(1), 2.5], [1, 2.5], "float32"),
        ([2.5, torch.tensor(1)], [2.5, 1], "float32"),
        ([torch.tensor(True), torch.tensor(False)], [True, False], "bool"),
        ([torch.tensor(1.5, dtype=torch.float64), 2], [1.5, 2], "float64"),
        ([torch.tensor(1, dtype=torch.int8), torch.tensor(2, dtype=torch.uint8)], [1, 2], "int16"),
        ([np.float64(1.5), torch.tensor(2)], [1.5, 2], "float64"),
    ],
)
def test_tensors_of_one_element_are_numbers(data, values, kind):
    made = torch.tensor(data)
    assert made.tolist() == values and made.dtype is getattr(torch, kind)
    assert torch.as_tensor(data).tolist() == values


def test_tensors_of_several_elements_are_refused():
    for data in ([NUMBER, torch.ones(2)], [torch.ones(0), torch.ones(0)], [[1, torch.ones(2)]]):
        with pytest.raises(ValueError, match=r"tensor: only one element tensors .*data\[[01]\]"):
            torch.tensor(data)


def nested(depth):
    found = [1]
    for _ in range(depth):
        found = [found]
    return found


def test_lists_without_an_end_are_refused():
    endless = []
    endless.append(endless)
    for data in (endless, nested(5000), [nested(200)]):
        with pytest.raises(ArgumentError, match="tensor: too many dimensions"):
            torch.tensor(data)
    assert torch.tensor(nested(40)).ndim == 41


def endless():
    found = []
    found.append(found)
    return found


@pytest.mark.parametrize("make", [endless, lambda: nested(100_000)], ids=["endless", "deep"])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, data: x.sum(data),
        lambda x, data: x.std(data),
        lambda x, data: x.norm(dim=data),
        lambda x, data: x.view(data),
        lambda x, data: x.permute(data),
        lambda x, data: x.roll(data, data),
        lambda x, data: x.unflatten(0, data),
        lambda x, data: torch.cat(data),
        lambda x, data: torch.stack(data),
        lambda x, data: torch.hstack(data),
        lambda x, data: torch.add(x, data),
        lambda x, data: torch.isin(x, data),
        lambda x, data: torch.where(x > 0, data, data),
        lambda x, data: torch.tensordot(x, x, data),
        lambda x, data: torch.nn.functional.pad(x, data),
        lambda x, data: torch.device(data),
    ],
)
def test_no_operator_takes_lists_without_an_end(call, make):
    with pytest.raises(TypeError, match=r"\nhint: "):
        call(torch.ones(2), make())


class Marked(torch.Tensor):
    pass


def test_a_subclass_is_made_as_a_tensor_is():
    assert type(Marked([1.0])) is Marked and Marked([1.0, 2.0]).tolist() == [1, 2]
    assert Marked(2, 3).shape == (2, 3) and Marked().shape == (0,)
    source = torch.ones(2)
    Marked(source).zero_()
    assert source.tolist() == [0, 0]


@pytest.mark.parametrize("function", [torch.relu, torch.add, torch.clip, torch.true_divide, torch.where, torch.sum])
def test_operators_are_pickled_by_name(function):
    operator = function.__wrapped__
    again = pickle.loads(pickle.dumps(operator))
    assert again.name == operator.name and again.called == operator.called
    assert copy.deepcopy(function) is function and pickle.loads(pickle.dumps(function)) is function


def test_trace():
    x = torch.arange(6.0).view(2, 3)
    assert torch.trace(x).item() == 4 and x.trace().item() == 4
    assert x.int().trace().dtype is torch.int64
    with pytest.raises(RuntimeError, match=r"trace: expected a matrix, got shape \[2\]"):
        torch.trace(torch.ones(2))
    leaf = torch.ones(2, 2, requires_grad=True)
    torch.trace(leaf).backward()
    assert leaf.grad.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.zeros(2**46),
        lambda: torch.linspace(0, 1, 2**50),
        lambda: torch.ones(1).repeat(2**23, 2**23),
    ],
)
def test_memory_that_the_host_does_not_have(call):  # more than its 47 bits of addresses
    with pytest.raises(OutOfMemoryError, match="CPU out of memory.*[0-9]+ bytes"):
        call()


@pytest.mark.parametrize(
    "call",
    [lambda x: x.expand(2**62, 4), lambda x: x.repeat(2**31, 2**31), lambda x: torch.zeros(2**31, 2**31, 2**31)],
)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_sizes_that_64_bits_do_not_count(call, device):
    with machine(devices=1), pytest.raises(RuntimeError, match=r"2147483648|4611686018427387904") as caught:
        call(torch.ones(1, device=device))
    assert not isinstance(caught.value, InternalError)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_float64_becomes_a_half_type_through_float32(device):
    with machine(devices=1):
        x = torch.tensor([2049.0000001, 4097.0], dtype=torch.float64, device=device)
        assert x.to(torch.float16).tolist() == [2048, 4096]
        assert torch.tensor([2049.0000001], dtype=torch.float16).tolist() == [2048]
        assert torch.zeros(2, dtype=torch.float16, device=device).copy_(x).tolist() == [2048, 4096]
        assert torch.zeros(2, dtype=torch.float16, device=device).add_(x).tolist() == [2048, 4096]
