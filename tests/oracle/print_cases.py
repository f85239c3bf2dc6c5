"""Record how PyTorch prints tensors: `python tests/oracle/print_cases.py` rewrites print_cases.json.

Needs PyTorch and NumPy; the tests read only the JSON file.  A case is {values or count, shape, dtype, options, text}:
values as JSON numbers or "nan", "inf", "-inf"; a count stands for 0, 1, 2, … of them.
"""

import json
from pathlib import Path

import numpy as np
import torch

RANDOM = np.random.default_rng(20240229)
SHAPES = [(), (1,), (3,), (7,), (2, 3), (1, 1), (3, 1, 2), (2, 2, 2, 2), (25,), (4, 13), (2, 40)]
FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8", "bool"]


def numbers(count):
    """Values of one of several kinds of range."""
    kind = RANDOM.integers(0, 9)
    normal = RANDOM.normal(size=count)
    if kind == 0:
        return normal
    if kind == 1:
        return np.round(normal * 5)
    if kind == 2:
        return normal * 10.0 ** RANDOM.integers(-8, 9)
    if kind == 3:
        return normal * 10.0 ** RANDOM.integers(-6, 6, size=count)
    if kind == 4:
        return np.round(normal * 1e5)
    if kind == 5:
        return np.where(RANDOM.random(count) < 0.5, np.nan, normal)
    if kind == 6:
        return np.where(RANDOM.random(count) < 0.4, np.inf * np.sign(normal), np.round(normal))
    if kind == 7:
        return np.zeros(count)
    return np.where(RANDOM.random(count) < 0.5, 0.0, normal * 1e-5)


def plain(value):
    """A number that JSON has."""
    return value if isinstance(value, (bool, int)) or np.isfinite(value) else str(value)


def record(tensor, **facts):
    """The case of a tensor under the options that hold now."""
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        **facts,
        "text": repr(tensor),
    }


def small(dtype, shape, **options):
    """A case with recorded values."""
    count = int(np.prod(shape))
    values = numbers(count)
    kind = getattr(torch, dtype)
    if not kind.is_floating_point:
        values = RANDOM.integers(0, 2, count) if dtype == "bool" else np.round(np.nan_to_num(values)) % 100
    elif dtype == "float16":
        values = np.where(np.abs(values) > 6e4, 1.0, values)
    tensor = torch.tensor(values).reshape(shape).to(kind)
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**options)
    return record(tensor, values=[plain(each) for each in tensor.double().flatten().tolist()], options=options)


def large(count, shape, dtype, **options):
    """A case with values that count up."""
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**options)
    return record(torch.arange(count).reshape(shape).to(getattr(torch, dtype)), count=count, options=options)


def cases():
    """All cases."""
    for shape in SHAPES:
        for dtype in FLOATS:
            for _ in range(6):
                yield small(dtype, shape)
        for dtype in INTEGERS:
            yield small(dtype, shape)
    for shape in [(0,), (0, 3), (2, 0)]:
        for dtype in ("float32", "float64", "int64", "bool"):
            yield small(dtype, shape)
    for options in [{"precision": 2}, {"linewidth": 40}, {"sci_mode": True}, {"sci_mode": False}, {"profile": "short"}]:
        for shape in SHAPES[:8]:
            yield small("float32", shape, **options)
    for count, shape in [(1000, (1000,)), (1001, (1001,)), (1200, (2, 600)), (1200, (600, 2)), (4000, (10, 20, 20))]:
        for dtype in ("float32", "int64"):
            yield large(count, shape, dtype)
            yield large(count, shape, dtype, edgeitems=1)
    yield large(300, (20, 15), "float32", threshold=100)
    yield large(1200, (4, 300), "float32", profile="full")


if __name__ == "__main__":
    found = list(cases())
    lines = ",\n".join(json.dumps(each) for each in found)
    Path(__file__).with_suffix(".json").write_text(f"[\n{lines}\n]\n")
    print(f"{len(found)} cases of PyTorch {torch.__version__}")
