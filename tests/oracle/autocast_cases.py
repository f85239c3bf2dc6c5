"""What autocast on the CPU makes of every operator's samples in PyTorch: run with PyTorch to record it anew.

scripts/oracle autocast_cases --record

Without --record, prints the cases in which flambeau disagrees with the record.  A case is the path of a function, the
number of a sample, autocast's lower type and the type of the floating arguments, such as `matmul-0-bfloat16-float32`.
The types of the results are recorded, and the values where autocast changes the result's type; and the losses of a
training.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import flambeau
from flambeau.dtypes import dtype
from flambeau.testing.samples import cases

from . import sample_values

RECORDED = Path(__file__).with_suffix(".json")
LOWER = "bfloat16", "float16"
SAMPLES = 2  # of each operator
STEPS = 12  # of a training
MOST = 6  # values of a result that are recorded
TOLERANCE = {"bfloat16": 3e-2, "float16": 4e-3, "float32": 2e-2}  # of the largest value; float32 follows a lower type

EXPLAINED = {  # functions that differ, with the reason
    "Tensor.svd": "columns of singular vectors have other signs",
    "linalg.matrix_exp": "flambeau rounds once; PyTorch rounds at each step",
    "linalg.pinv": "pinv stays in float32; PyTorch multiplies the factors of its decomposition in the lower type",
    "linalg.svd": "columns of singular vectors have other signs",
    "lu_unpack": "flambeau's LU decompositions are of float32 and float64 only",
    "nn.functional.local_response_norm": "in float32 also where PyTorch uses a pooling that its list does not have",
    "svd": "columns of singular vectors have other signs",
    "triplet_margin_loss": "the sample's reduction is one of nn.functional, which flambeau takes here too",
}


@cache
def samples() -> dict[str, tuple[Any, int, Any]]:
    """The first samples of every public operator by path and number: (operator, number, sample)."""
    found = {}
    for _, operator, data_type, number, sample in cases():
        if data_type.name != "float32" or number >= SAMPLES or operator.name in sample_values.SKIPPED:
            continue
        for path in sample_values.places(operator) if sample_values.is_public(operator) else ():
            found[f"{path}-{number}"] = (operator, number, sample)
    return found


def names() -> Iterator[str]:
    for sample in samples():
        for lower in LOWER:
            for given in ("float32", lower):
                yield f"{sample}-{lower}-{given}"


def run(library: Any, case: str, enabled: bool = True) -> list[tuple[str, list[float]]]:
    """(type, values) of each tensor in the result of a case."""
    path, number, lower, given = case.split("-")
    _, _, sample = samples()[f"{path}-{number}"]
    types = {each: getattr(library, each) for each in ("float32", *LOWER)}

    def make(dense: np.ndarray, array: Any) -> Any:
        tensor = library.tensor(dense)
        return tensor.to(types[given]) if dense.dtype == np.float32 else tensor

    def convert(value: Any) -> Any:
        return getattr(library, value.name) if isinstance(value, dtype) else value

    float32 = flambeau.float32
    args = [convert(each) for each in sample_values.made(sample.args, float32, make)]
    kwargs = {key: convert(sample_values.made(each, float32, make)) for key, each in sample.kwargs.items()}
    with library.autocast("cpu", dtype=types[lower], enabled=enabled):
        result = sample_values.public(library, path)(*args, **kwargs)
    tensors = [each for each in sample_values.flatten(result) if isinstance(each, library.Tensor)]
    return [(str(each.dtype)[6:], _values(library, each)) for each in tensors]


def _values(library: Any, tensor: Any) -> list[float]:
    if not tensor.is_floating_point():
        return []
    flat = tensor.detach().to(library.float64).reshape(-1)
    every = max(1, flat.numel() // MOST)
    return [float(f"{value:.4g}") for value in flat.tolist()[::every]]


def training(library: Any, lower: str, device: str = "cpu") -> list[float]:
    """The losses of a small network that is trained under autocast, with a scaler for float16."""
    nn, F = library.nn, library.nn.functional
    library.manual_seed(0)
    features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU(), nn.MaxPool2d(2))
    words, mix, norm, last = nn.Embedding(10, 8), nn.MultiheadAttention(8, 2), nn.LayerNorm(8), nn.Linear(8, 5)
    net = nn.ModuleList([features, words, mix, norm, last])
    x, tokens, target = library.randn(4, 3, 6, 6), library.randint(0, 10, (3, 4)), library.randint(0, 5, (4,))
    net, x, tokens, target = net.to(device), x.to(device), tokens.to(device), target.to(device)
    optimizer = library.optim.AdamW(net.parameters(), lr=1e-2)
    scaler = library.amp.GradScaler(device, enabled=lower == "float16")
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        with library.autocast(device, dtype=getattr(library, lower)):
            sequence = library.cat([features(x).flatten(2).permute(2, 0, 1), words(tokens)])
            sequence = norm(sequence + mix(sequence, sequence, sequence)[0])
            loss = F.cross_entropy(last(sequence.mean(0)), target)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        library.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(round(loss.item(), 5))
    return losses


def difference(case: str, mine: list, recorded: list) -> str:
    """How flambeau's result differs from the recorded one, or an empty text."""
    kinds, values = recorded
    if [each for each, _ in mine] != kinds:
        return f"{case}: {[each for each, _ in mine]}, not {kinds}"
    for (kind, found), expected in zip(mine, values, strict=False):
        a, b = np.array(found), np.array(expected)
        finite = np.isfinite(b)
        if a.shape != b.shape or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            return f"{case}: {found}, not {expected}"
        bound = TOLERANCE.get(kind, 0) * max(np.abs(b[finite]).max(initial=0), 1e-3)
        if np.abs(a[finite] - b[finite]).max(initial=0) > bound:
            return f"{case}: {found}, not {expected}"
    return ""


@cache
def recorded() -> dict[str, list]:
    """By case: [types of the results, their values where they are recorded]."""
    found: dict[str, list] = json.loads(RECORDED.read_text())
    return found


def differences() -> Iterator[str]:
    for case, expected in recorded().items():
        if case.startswith("training"):
            continue
        try:
            found = run(flambeau, case)
        except Exception as error:  # noqa: BLE001  (it is what differs)
            yield f"{case}: {type(error).__name__} {error}"
            continue
        if text := difference(case, found, expected):
            yield text


def record() -> None:
    import torch

    torch.manual_seed(0)
    found = {}
    for case in names():
        try:
            results = run(torch, case)
        except Exception:  # noqa: BLE001  (PyTorch has no such function, or it takes no such arguments)
            continue
        kinds = [kind for kind, _ in results]
        if not any(kind in ("float32", *LOWER) for kind in kinds):
            continue
        try:
            plain = [kind for kind, _ in run(torch, case, enabled=False)]
        except Exception:  # noqa: BLE001  (only autocast makes a type of it that PyTorch takes)
            plain = []
        if plain == kinds and not case.partition("-")[2].startswith("0-"):
            continue
        found[case] = [kinds, [values for _, values in results] if plain != kinds else []]
    for lower in LOWER:
        found[f"training-{lower}"] = training(torch, lower)
    lines = ",\n".join(f"{json.dumps(case)}: {json.dumps(value)}" for case, value in found.items())
    RECORDED.write_text(f"{{\n{lines}\n}}\n")
    print(f"{len(found)} cases of PyTorch {torch.__version__}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if "--record" in sys.argv:
        record()
    for text in differences():
        if text.split("-")[0] not in EXPLAINED:
            print(text)
