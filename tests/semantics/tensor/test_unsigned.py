"""uint16, uint32 and uint64: exchange with other libraries, conversions, and values beyond the signed types."""

import io
import zipfile

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import ArgumentError, DtypeError, ValueRangeError

TOP = {torch.uint16: 2**16 - 1, torch.uint32: 2**32 - 1, torch.uint64: 2**64 - 1}
each_type = pytest.mark.parametrize("kind", TOP, ids=str)
each_device = pytest.mark.parametrize("device", ["cpu", "cuda"])


def arrays(kind):
    top = TOP[kind]
    return np.array([0, 1, 7, top - 1, top], kind.name), np.array([3, 5, 6, 2, 1], kind.name)


@each_type
def test_exchange(kind, tmp_path):
    array, _ = arrays(kind)
    x = torch.from_numpy(array)
    assert x.dtype is kind and x.numpy().dtype == array.dtype and x.tolist() == array.tolist()
    assert x[4].item() == TOP[kind] and torch.tensor(array.tolist(), dtype=kind).equal(x)
    assert torch.from_dlpack(array).dtype is kind and np.from_dlpack(x).dtype == array.dtype
    torch.save({"x": x}, tmp_path / "saved.pt")
    loaded = torch.load(tmp_path / "saved.pt")["x"]
    assert loaded.dtype is kind and loaded.equal(x)
    assert x.view(getattr(torch, kind.name[1:])).tolist() == [0, 1, 7, -2, -1]


def test_a_file_of_pytorch_s():
    data = (
        b"\x80\x02}q\x00X\x01\x00\x00\x00xq\x01ctorch._utils\n_rebuild_tensor_v3\nq\x02((X\x07\x00\x00\x00storageq\x03"
        b"ctorch.storage\nUntypedStorage\nq\x04X\x01\x00\x00\x000q\x05X\x03\x00\x00\x00cpuq\x06K\x04tq\x07Q"
        b"K\x00K\x02\x85q\x08"
        b"K\x01\x85q\t\x89ccollections\nOrderedDict\nq\n)Rq\x0bctorch\nuint16\nq\x0ctq\rRq\x0es."
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/byteorder", b"little")
        archive.writestr("archive/data/0", b"\x01\x00\xff\xff")
        archive.writestr("archive/version", b"3\n")
    file.seek(0)
    assert torch.load(file)["x"].tolist() == [1, 65535]


@each_device
@each_type
def test_conversions_are_those_of_numpy(gpus, kind, device):
    array, _ = arrays(kind)
    x = torch.from_numpy(array).to(device)
    for other in (torch.float64, torch.float32, torch.int64, torch.int16, torch.uint8, torch.bool, *TOP):
        assert x.to(other).cpu().numpy().tolist() == array.astype(other.name).tolist()
    small = torch.tensor([0.0, 1.0, 200.0], device=device)
    assert small.to(kind).tolist() == [0, 1, 200]


@each_device
@each_type
def test_operators_take_values_beyond_the_signed_types(gpus, kind, device):
    first, second = arrays(kind)
    x, y = torch.from_numpy(first).to(device), torch.from_numpy(second).to(device)
    for found, expected in (
        (x * y, first * second), (x & y, first & second), (x | y, first | second), (x ^ y, first ^ second),
        (x == y, first == second), (x < y, first < second), (x + y, first + second), (x // y, first // second),
        (x.sort(descending=True).values, np.sort(first)[::-1]), (torch.cat([x, y]), np.concatenate([first, second])),
        (torch.cat([x, y]).unique(), np.unique([first, second])), (x.roll(2), np.roll(first, 2)),
        (x[[0, 4]], first[[0, 4]]), (x.max(), first.max()), (torch.where(x == y, x, y), second), (x + 1, first + 1),
    ):  # fmt: skip
        assert found.cpu().numpy().dtype == expected.dtype and found.tolist() == expected.tolist()
    assert x.sum().dtype is torch.int64 and (x / y).dtype is torch.float32
    assert torch.zeros(2, dtype=kind, device=device).fill_(9).tolist() == [9, 9]
    assert repr(x[1:3].cpu()) == f"tensor([1, 7], dtype=torch.{kind.name})"


@each_type
def test_there_is_no_common_type_with_other_integers(kind):
    assert torch.promote_types(kind, torch.float16) is torch.float16
    for other in (torch.bool, torch.uint8, torch.int64, *(set(TOP) - {kind})):
        with pytest.raises(DtypeError, match=f"promote_types: promotion of {kind.name} and {other.name} is not"):
            torch.promote_types(kind, other)
    with pytest.raises(DtypeError, match=f"add: promotion of {kind.name} and int32"):
        torch.ones(2, dtype=kind) + torch.ones(2, dtype=torch.int32)
    with pytest.raises(ArgumentError, match=f"{TOP[kind] + 1}"):
        torch.tensor([TOP[kind] + 1], dtype=kind)


def test_full_takes_integers_beyond_int64():
    assert torch.full((2,), 2**63, dtype=torch.uint64).tolist() == [2**63] * 2
    assert torch.full((1,), 2**64 - 1, dtype=torch.uint64).tolist() == [2**64 - 1]
    assert torch.full((1,), 2**63, dtype=torch.float64).tolist() == [2.0**63]
    for number, kind in ((2**64, torch.uint64), (2**63, torch.int64), (2**63, None)):
        with pytest.raises(ValueRangeError, match=str(number)):
            torch.full((1,), number, dtype=kind)
