"""Exchange with NumPy, buffers and files: operators on both sides, universal functions, conversions, shared memory."""

import operator
from array import array as buffer

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    FileFormatError,
)
from tests.tensor.test_foreign import Exporter

ARRAY = np.array([1.0, 5.0, 3.0])
SYMBOLS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
ORDERS = ("lt", "le", "gt", "ge", "eq", "ne")


def values(found, kind):
    """Check the class and the dtype of a tensor; return its values."""
    assert type(found) is torch.Tensor and found.dtype is kind
    return found.tolist()


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_a_tensor_and_an_array_give_a_tensor_as_numpy_computes_it(symbol):
    call, t = getattr(operator, symbol), torch.tensor([1.0, 2.0, 3.0])
    for kind, wanted in ((np.float64, torch.float64), (np.float32, torch.float32), (np.int64, torch.float64)):
        array = ARRAY.astype(kind)
        assert values(call(t, array), wanted) == call(t.numpy(), array).tolist()
        assert values(call(array, t), wanted) == call(array, t.numpy()).tolist()


def test_products_and_bits_of_arrays_and_tensors():
    t, bits = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1, 2, 4])
    assert values(t @ ARRAY, torch.float64) == values(ARRAY @ t, torch.float64) == 20.0
    assert values(bits | np.array([2, 2, 2]), torch.int64) == [3, 2, 6]
    assert values(np.array([7, 6, 5]) & bits, torch.int64) == [1, 2, 4]
    assert values(np.array([1, 1, 1]) ^ bits, torch.int64) == [0, 3, 5]
    assert values(t + np.array(2.0), torch.float64) == [3.0, 4.0, 5.0], "an array without dimensions has a type too"


@pytest.mark.parametrize("order", ORDERS)
def test_a_comparison_with_an_array_is_a_tensor_of_bools(order):
    compare, t = getattr(operator, order), torch.tensor([1.0, 2.0, 3.0])
    for array in (ARRAY, ARRAY.astype(np.int32), ARRAY[::-1], np.array(2.0)):
        assert values(compare(t, array), torch.bool) == np.broadcast_to(compare(t.numpy(), array), 3).tolist()
        assert values(compare(array, t), torch.bool) == np.broadcast_to(compare(array, t.numpy()), 3).tolist()


def test_what_cannot_be_compared_is_unequal_or_a_type_error():
    t = torch.tensor([1.0, 2.0])
    assert (t == np.array(["a", "b"])) is False and (t != np.array(["a", "b"])) is True
    assert (t == None) is False and (t == [1.0, 2.0]) is False  # noqa: E711
    with pytest.raises(TypeError):
        operator.lt(t, np.array(["a", "b"]))
    with pytest.raises(RuntimeError, match=r"eq: .*\[2\].*\[3\]"):
        operator.eq(t, ARRAY)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_an_augmented_assignment_of_an_array_binds_a_new_tensor(symbol):
    t = torch.tensor([1.0, 2.0, 3.0])
    wanted = getattr(operator, symbol)(t.numpy().copy(), ARRAY).tolist()
    made = getattr(operator, f"i{symbol}")(t, ARRAY)
    assert made is not t and values(made, torch.float64) == wanted and t.tolist() == [1.0, 2.0, 3.0]


def test_augmented_assignment_of_something_else_is_pythons_type_error():
    t = torch.ones(2)
    for value in ([1, 2], None, "a"):
        with pytest.raises(TypeError, match=r"\+=: 'Tensor' and"):
            t += value
    t += np.float64(1)
    assert values(t, torch.float32) == [2.0, 2.0]


def test_universal_functions_give_tensors():
    t = torch.tensor([1.0, 2.0, 4.0])
    assert values(np.sqrt(t), torch.float32) == np.sqrt(t.numpy()).tolist()
    assert values(np.add(ARRAY, t), torch.float64) == [2.0, 7.0, 7.0]
    assert values(np.sqrt(torch.tensor([1, 4])), torch.float64) == [1.0, 2.0]
    assert values(np.isnan(t), torch.uint8) == [0, 0, 0], "truth comes as uint8, as in PyTorch"
    assert values(np.add.reduce(t), torch.float32) == 7.0
    assert [values(each, torch.float32) for each in np.modf(t)] == [[0.0, 0.0, 0.0], [1.0, 2.0, 4.0]]
    into = np.zeros(3)
    assert np.add(ARRAY, t, out=into) is into and into.tolist() == [2.0, 7.0, 7.0]
    assert values(np.reshape(t, (3, 1)), torch.float32) == [[1.0], [2.0], [4.0]]
    assert type(np.concatenate([t, t])) is np.ndarray


def test_an_array_of_a_tensor_is_a_copy_and_asarray_shares():
    t = torch.tensor([1.0, 2.0])
    for kind in (None, np.float32):
        assert not np.shares_memory(np.array(t, dtype=kind), t.numpy())
        assert np.shares_memory(np.asarray(t, dtype=kind), t.numpy())
        assert np.shares_memory(np.array(t, dtype=kind, copy=False), t.numpy())
        assert not np.shares_memory(np.asarray(t, dtype=kind, copy=True), t.numpy())
    assert np.asarray(t, dtype=np.int32).tolist() == [1, 2]
    for make in (np.array, np.asarray):
        with pytest.raises(ValueError, match="__array__: .*float32.*float64"):
            make(t, dtype=np.float64, copy=False)


def test_a_tensor_that_requires_a_gradient_is_an_array_without_gradient_mode():
    leaf = torch.ones(2, requires_grad=True)
    for t in (leaf, leaf * 1):
        for make in (torch.Tensor.numpy, np.asarray, np.array, np.sqrt):
            with pytest.raises(AutogradError, match=r"numpy: .*float32\[2\]"):
                make(t)
            with torch.no_grad():
                assert list(make(t)) == [1.0, 1.0]
    with torch.no_grad():
        assert np.shares_memory(leaf.numpy(), leaf.detach().numpy())


def test_a_tensor_of_a_gpu_is_no_operand_of_numpys(gpus):
    t = torch.ones(3, device="cuda")
    for call in (lambda: t + ARRAY, lambda: ARRAY + t, lambda: np.sin(t), lambda: np.array(t)):
        with pytest.raises(ArgumentTypeError, match=r"float32\[3\] on cuda:0"):
            call()


FOREIGN = (">i4", ">f8", ">u1", ">i2", ">f2")
WAYS = {
    "tensor": torch.tensor, "as_tensor": torch.as_tensor, "asarray": torch.asarray, "from_numpy": torch.from_numpy,
    "FloatTensor": torch.FloatTensor, "new_tensor": lambda array: torch.ones(1).new_tensor(array),
    "new": lambda array: torch.ones(1).new(array), "typed": lambda array: torch.tensor(array, dtype=torch.float64),
    "eq": lambda array: torch.ones(2) == array, "index": lambda array: torch.ones(3)[array],
    "default_collate": lambda array: torch.utils.data.default_collate([array, array]),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [each for each in FOREIGN if each != ">u1"])
def test_an_array_of_foreign_byte_order_is_refused(way, kind):
    array = np.array([1, 2]).astype(kind)
    with pytest.raises(ArgumentError, match=f"byte order.*{kind}"):
        WAYS[way](array)


def test_values_of_foreign_byte_order_in_a_list_are_numbers():
    array = np.array([1, 2]).astype(">i4")
    assert torch.tensor([array, array]).tolist() == [[1, 2], [1, 2]]
    assert torch.tensor([array[0], array[1]]).tolist() == [1, 2] and torch.ones(3)[array[0]] == 1
    assert torch.tensor(np.array([1, 2], ">u1")).tolist() == [1, 2], "a byte has no order"


def test_numbers_of_numpys_are_numbers():
    assert values(torch.full((2,), np.int64(2)), torch.int64) == [2, 2]
    assert values(torch.full((2,), np.float64(2)), torch.float32) == [2.0, 2.0]
    assert values(torch.full((2,), np.bool_(True)), torch.bool) == [True, True]
    assert values(torch.arange(np.int64(2)), torch.int64) == [0, 1]
    with pytest.raises(ArgumentTypeError, match=r"zeros: sizes must be ints, size 0 is array\(\[2, 3\]\)"):
        torch.zeros(np.array([2, 3]))
    x = torch.arange(4.0).reshape(2, 2)
    for dim in (np.int64(1), np.int32(-1)):
        assert x.sum(dim).tolist() == x.sum(axis=dim).tolist() == [1.0, 5.0]
        assert x.amax((np.int64(0), dim)).item() == 3.0 and x.squeeze(dim).shape == (2, 2)
        assert torch.cat([x, x], dim).shape == (2, 4) and x.movedim(dim, 0).shape == (2, 2)
        assert x.flip(dim).tolist() == [[1.0, 0.0], [3.0, 2.0]] and x.softmax(dim).shape == (2, 2)


# buffers and files


def test_a_buffer_is_shared():
    data = buffer("h", [1, 2, 3])
    x = torch.frombuffer(data, dtype=torch.int16)
    x[0] = 7
    data[2] = 9
    assert x.tolist() == [7, 2, 9] and list(data) == [7, 2, 9]
    assert torch.frombuffer(data, dtype=torch.int16, count=1, offset=2).tolist() == [2]
    assert torch.frombuffer(bytearray(4), dtype=torch.float32, requires_grad=True).requires_grad
    assert torch.frombuffer(bytearray(b"\x80\x3f"), dtype=torch.bfloat16).tolist() == [1.0]


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (bytearray(5), {}), (bytearray(), {}), (bytearray(4), {"count": 3}), (bytearray(4), {"offset": 4}),
        (bytearray(4), {"offset": 1}), (bytearray(4), {"count": 0}), (bytearray(4), {"offset": -1}),
    ],
)  # fmt: skip
def test_a_buffer_holds_whole_elements(data, options):
    with pytest.raises(ArgumentError, match=f"frombuffer: a buffer of {len(data)} bytes .*int16"):
        torch.frombuffer(data, dtype=torch.int16, **options)


def test_what_is_no_writable_buffer():
    with pytest.raises(ArgumentError, match="frombuffer: .*buffer protocol: 3"):
        torch.frombuffer(3, dtype=torch.int8)
    transposed = np.zeros((2, 3), np.int8).T
    for data, facts in ((transposed, r"\[3, 2\] .*\[1, 3\]"), (memoryview(bytearray(8))[::2], r"\[4\] .*\[2\]")):
        with pytest.raises(ArgumentError, match=f"frombuffer: .*contiguous buffer: .*{facts}"):
            torch.frombuffer(data, dtype=torch.int8)
    with pytest.warns(UserWarning, match="frombuffer: .*not writable"):
        assert torch.frombuffer(b"ab", dtype=torch.uint8).tolist() == [97, 98]


def test_a_file_is_mapped(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(bytes([1, 0, 2, 0]))
    own = torch.from_file(str(path), size=2, dtype=torch.int16)
    assert own.add_(1).tolist() == [2, 3] and path.read_bytes() == bytes([1, 0, 2, 0])
    shared = torch.from_file(str(path), shared=True, size=3, dtype=torch.int16)
    shared.add_(1)
    assert shared.tolist() == [2, 3, 1] and path.read_bytes() == bytes([2, 0, 3, 0, 1, 0])
    with pytest.raises(FileFormatError, match=r"from_file: .*6 bytes.*8 of 4 elements of int16"):
        torch.from_file(str(path), size=4, dtype=torch.int16)
    with pytest.raises(FileNotFoundError):
        torch.from_file(str(tmp_path / "none"), size=1)
    assert torch.from_file(str(path)).shape == (0,)


def test_bytes_as_an_array():
    data = bytearray([1, 0, 2, 0])
    x = torch.asarray(data, dtype=torch.int16)
    data[0] = 7
    assert x.tolist() == [7, 2] and torch.asarray(data, dtype=torch.uint8, copy=True).tolist() == [7, 0, 2, 0]
    assert torch.asarray(memoryview(data), dtype=torch.int8).tolist() == [7, 0, 2, 0]


def test_a_capsule_goes_to_other_libraries():
    x = torch.arange(3)
    assert type(torch.to_dlpack(x)).__name__ == "PyCapsule"
    with pytest.raises(TypeError, match="to_dlpack: .*3"):
        torch.to_dlpack(3)


class Pixels:
    """An object with the array interface of NumPy, as images have."""

    def __init__(self):
        self.array = np.arange(6, dtype=np.uint8).reshape(2, 3)
        self.__array_interface__ = self.array.__array_interface__


class Convertible:
    """An object with `__array__`, as tables have."""

    def __array__(self, dtype=None, copy=None):
        return np.array([1.5, 2.5], dtype)


def test_anything_like_an_array_becomes_a_tensor():
    for share in (torch.as_tensor, torch.asarray, torch.tensor):
        assert share(Pixels()).tolist() == [[0, 1, 2], [3, 4, 5]] and share(Pixels()).dtype is torch.uint8
        assert share(Convertible()).tolist() == [1.5, 2.5] and share(Convertible()).dtype is torch.float64
        assert share(np.float32(2)).dtype is torch.float32 and share(range(3)).tolist() == [0, 1, 2]
        assert share(Exporter(np.array([1, 2]))).tolist() == [1, 2]


def test_the_namespace_of_the_array_api():
    x = torch.ones(1)
    assert x.__array_namespace__() is torch.array_api is x.__array_namespace__(api_version="2024.12")
    with pytest.raises(ArgumentError, match="__array_namespace__: .*'1999.01'"):
        x.__array_namespace__(api_version="1999.01")


def test_a_number_becomes_complex():
    assert torch.tensor([[2.5]]).__complex__() == complex(torch.tensor(2.5)) == 2.5 + 0j
    with pytest.raises(RuntimeError, match="complex: .*2 elements"):
        torch.ones(2).__complex__()


def test_the_method_of_the_array_api_that_moves_a_tensor(gpus):
    x = torch.ones(2)
    assert x.to_device("cpu") is x and x.to_device(torch.device("cuda", 0)).is_cuda
    with pytest.raises(ArgumentError, match="to_device: stream must be None, got 1"):
        x.to_device("cuda", stream=1)


def test_conversions_by_name():
    x = torch.ones(2)
    assert x.float() is x
    names = ["half", "bfloat16", "double", "byte", "char", "short", "int", "long", "bool"]
    kinds = [getattr(x, name)().dtype.name for name in names]
    assert kinds == ["float16", "bfloat16", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"]
