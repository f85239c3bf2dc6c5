"""Tensors over buffers and files."""

import array

import pytest

import flambeau as torch
from flambeau.errors import ArgumentError, FileFormatError


def test_a_buffer_is_shared():
    data = array.array("h", [1, 2, 3])
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
    with pytest.raises(ArgumentError, match=f"frombuffer: {len(data)} bytes .*int16"):
        torch.frombuffer(data, dtype=torch.int16, **options)


def test_what_is_no_writable_buffer():
    with pytest.raises(ArgumentError, match="frombuffer: .*buffer protocol: 3"):
        torch.frombuffer(3, dtype=torch.int8)
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
