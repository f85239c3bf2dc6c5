"""Files that PyTorch wrote, and what is in them: run with PyTorch to write files/ and file_cases.json anew.

python tests/oracle/file_cases.py
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from pathlib import Path

FOLDER = Path(__file__).parent / "files"
EXPECTED = Path(__file__).with_suffix(".json")
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")


def dtypes(torch):
    values = torch.tensor([0.0, -0.0, 1.5, -2.25, 100.0])
    specials = torch.tensor([float("inf"), float("-inf"), float("nan"), 3e-41, 65504.0])
    found = {name: values.abs().to(getattr(torch, name)) for name in DTYPES}
    return found | {f"special {name}": specials.to(getattr(torch, name)) for name in DTYPES if "float" in name}


def views(torch):
    x = torch.arange(24.0)
    table = x.view(4, 6)
    other = torch.zeros(2, dtype=torch.int64)
    return {
        "all": x, "part": x[3:9], "transposed": table.t(), "steps": table[1:, ::2], "repeated": x[5:6].expand(2, 3),
        "number": x[7], "none": x[4:4], "empty": torch.empty(0, 3), "other": other, "same": [other, other[1:]],
    }  # fmt: skip


def parameters(torch):
    weight = torch.nn.Parameter(torch.arange(6.0).view(2, 3))
    frozen = torch.nn.Parameter(torch.tensor([1, 2]), requires_grad=False)
    named = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    named.note = ["kept", 1]
    noted = torch.tensor([7], dtype=torch.int16)
    noted.note = "a tensor's"
    return {
        "weight": weight, "tied": weight, "data": weight.data, "frozen": frozen, "named": named, "noted": noted,
        "leaf": torch.ones(2, requires_grad=True), "result": weight * 2,
        "buffer": torch.nn.Buffer(torch.ones(1), persistent=False),
    }  # fmt: skip


def containers(torch):
    shared = ["shared"]
    return [
        {"a": 1, 2: "b", (3, 4): None, 2.5: True, b"k": False}, OrderedDict([("z", 1), ("a", [])]), Counter("abca"),
        {1, "two", (3,)}, frozenset([1, 2]), shared, (shared, [shared]), (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4),
        [], {}, 0, 255, 256, 65535, 65536, -1, -(2**31), 2**31, -(2**63), 2**200, 0.1, float("inf"), 1e308, 2j,
        "", "text", "\u00e9\U0001f600\n", "x" * 300, b"", b"\x00\xff", bytearray(b"bytes"), torch.Size([2, 3]),
        torch.Size([]), torch.device("cpu"), torch.device("cuda"), torch.device("cuda:3"),
        torch.float32, torch.bool, torch.bfloat16,
    ]  # fmt: skip


def state(torch):
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.LayerNorm(3))
    for index, parameter in enumerate(net.parameters()):
        parameter.data.copy_(torch.arange(float(parameter.numel())).view(parameter.shape) + index)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.5, betas=(0.5, 0.75))
    for parameter in net.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    return {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}


def arrays(torch):
    import numpy as np

    return {
        "float32": np.float32(1.5), "int64": np.int64(-3), "bool": np.bool_(True), "float64": np.float64(0.1),
        "rows": np.arange(6, dtype=np.int16).reshape(2, 3), "columns": np.asfortranarray(np.eye(3)[:2]),
        "swapped": np.array([1, 2], dtype=">i4"), "text": np.array(["a", "bcd"]), "bytes": np.array([b"xy"]),
        "complex": np.array([1j], dtype=np.complex64), "number": np.array(7), "none": np.zeros((0, 3), np.float16),
    }  # fmt: skip


CASES = {each.__name__: each for each in (dtypes, views, parameters, containers, state, arrays)}
PROTOCOLS = (2, 3, 4, 5)


def described(value, storages=None):
    """An object of either library as JSON: types, values, layouts, the bytes of every storage, and what is shared."""
    storages = {} if storages is None else storages
    if hasattr(value, "untyped_storage"):
        return tensor_described(value, storages)
    if isinstance(value, dict):
        pairs = [[described(key, storages), described(each, storages)] for key, each in value.items()]
        return [type(value).__name__, pairs, described(getattr(value, "__dict__", None) or None, storages)]
    if isinstance(value, (set, frozenset)):
        return [type(value).__name__, sorted(repr(each) for each in value)]
    if type(value).__module__ == "numpy":
        kind = value.dtype.newbyteorder("=").str  # NumPy unpickles arrays in the machine's order
        return [type(value).__name__, kind, list(value.shape), repr(value.tolist())]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, [described(each, storages) for each in value]]
    return [type(value).__name__, ascii(value)]


def tensor_described(tensor, storages):
    storage = tensor.untyped_storage()
    number = storages.setdefault(key_of(storage), len(storages))
    attributes = {name: each for name, each in vars(tensor).items() if name not in ("_is_buffer", "persistent")}
    is_parameter = type(tensor).__name__ == "Parameter"
    return [
        "Parameter" if is_parameter else "tensor", str(tensor.dtype), list(tensor.shape), list(tensor.stride()),
        tensor.storage_offset(), tensor.requires_grad, str(tensor.device), number, bytes_of(storage).hex(),
        described(attributes, storages), getattr(tensor, "persistent", None),
    ]  # fmt: skip


def key_of(storage):
    """An identity of a storage; storages without bytes have no address in PyTorch."""
    return getattr(storage, "_cdata", None) or hash(storage)


def bytes_of(storage):
    return bytes(storage.cpu())


def main() -> None:
    import torch

    FOLDER.mkdir(exist_ok=True)
    expected = {}
    for name, build in CASES.items():
        value = build(torch)
        expected[name] = described(value)
        for protocol in PROTOCOLS if build in (containers, arrays) else (2,):
            torch.save(value, FOLDER / f"{name}-{protocol}.pt", pickle_protocol=protocol)
    record_devices(torch)
    record_refused(torch)
    EXPECTED.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in expected.items()) + "\n}\n")
    print(f"{len(list(FOLDER.iterdir()))} files of PyTorch {torch.__version__}")


def record_devices(torch) -> None:
    """Storages tagged as PyTorch tags those of two GPUs, on a machine without any."""
    tags = iter(("cuda:0", "cuda:1"))
    torch.serialization.register_package(1, lambda storage: next(tags, None), lambda storage, location: None)
    torch.save([torch.arange(3), torch.arange(4.0)], FOLDER / "devices-2.pt")


def record_refused(torch) -> None:
    """Files of PyTorch that are refused, by name."""
    x = torch.arange(3.0)
    refused = {
        "module": torch.nn.Linear(1, 1), "complex": x.to(torch.complex64),
        "sparse": torch.eye(2).to_sparse(), "function": torch.nn.functional.relu,
    }  # fmt: skip
    for name, value in refused.items():
        torch.save(value, FOLDER / f"refused-{name}.pt")
    torch.save(x, FOLDER / "refused-legacy.pt", _use_new_zipfile_serialization=False)
    torch.serialization.set_crc32_options(False)
    torch.save(x, FOLDER / "refused-unchecked.pt")
    torch.serialization.set_crc32_options(True)


if __name__ == "__main__":
    main()
