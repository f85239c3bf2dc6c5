"""Random numbers on a GPU, compared with PyTorch's on the same GPU.

    FLAMBEAU_GPUS=nvidia python -m tests.oracle.cuda_random           every case, on the GPU and on a virtual one
    FLAMBEAU_GPUS=nvidia python -m tests.oracle.cuda_random dropout   the cases with that in their name

Every case draws twice from one seed with both libraries, and compares the values and the generator's state.  A report
names the first differing index with both values, so that one run says how a mapping differs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

SIZES = (1, 5, 250, 257, 1000, 4099, 65536, 270336, 270337, 600_002, 2_000_003, 2_162_688)
SEED = 1234
FLOATING = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "bool")
ROUNDING = {"float64": 1e-13, "float32": 1.1e-5, "float16": 4e-3, "bfloat16": 3e-2}  # of a virtual GPU's NumPy


class Case(NamedTuple):
    """name: of the call, the type and the size.  draw: called with the library and the device.

    dtype: of the values.  is_rounded: whether a virtual GPU may differ in rounding.
    """

    name: str
    draw: Callable[[Any, Any], Any]
    dtype: str
    is_rounded: bool = False


def _filled(name: str, dtype: str, n: int, *args: Any) -> Callable[[Any, Any], Any]:
    return lambda library, device: getattr(library.empty(n, dtype=getattr(library, dtype), device=device), name)(*args)


def cases() -> Iterator[Case]:
    """All cases."""
    for n in SIZES:
        for dtype in FLOATING:
            yield Case(f"uniform {dtype} {n}", _filled("uniform_", dtype, n), dtype)
            yield Case(f"uniform -1.3 2.7 {dtype} {n}", _filled("uniform_", dtype, n, -1.3, 2.7), dtype)
            yield Case(f"normal {dtype} {n}", _filled("normal_", dtype, n), dtype, True)
            yield Case(f"normal 1.3 2.7 {dtype} {n}", _filled("normal_", dtype, n, 1.3, 2.7), dtype, True)
            yield Case(f"dropout {dtype} {n}", _dropout(dtype, n, 0.3), dtype)
            yield Case(f"exponential {dtype} {n}", _filled("exponential_", dtype, n, 1.7), dtype, True)
        for dtype in (*FLOATING, *INTEGERS):
            yield Case(f"bernoulli {dtype} {n}", _filled("bernoulli_", dtype, n, 0.3), dtype)
            yield Case(f"random {dtype} {n}", _filled("random_", dtype, n), dtype)
        for dtype in ("int64", "int32", "float32", "uint8"):
            yield Case(f"random to 10 {dtype} {n}", _filled("random_", dtype, n, 10), dtype)
        for dtype in ("int64", "int32", "float64"):
            yield Case(f"random to 2^28 {dtype} {n}", _filled("random_", dtype, n, 0, 1 << 28), dtype)
            yield Case(f"random to 2^28 - 1 {dtype} {n}", _filled("random_", dtype, n, 0, (1 << 28) - 1), dtype)
        yield Case(f"random wide int64 {n}", _filled("random_", "int64", n, -(1 << 40), 1 << 50), "int64")
        for dtype in ("float32", "float64"):
            yield Case(f"bernoulli each {dtype} {n}", _chances(dtype, n), "float32")
        yield Case(f"randperm {n}", lambda library, device, n=n: library.randperm(n, device=device), "int64")
        yield Case(f"cauchy float32 {n}", _filled("cauchy_", "float32", n, 0.3, 1.7), "float32", True)
        yield Case(f"log_normal float32 {n}", _filled("log_normal_", "float32", n, 0.3, 0.7), "float32", True)
        yield Case(f"geometric float32 {n}", _filled("geometric_", "float32", n, 0.3), "float32", True)
    for shape in ((4, 7), (300, 1000)):
        yield Case(f"transposed uniform {shape}", _transposed("uniform_", shape), "float32")
        yield Case(f"transposed normal {shape}", _transposed("normal_", shape), "float32", True)
    for replacement in (False, True):
        for rows, size, samples in ((1, 5, 1), (1, 5, 4), (3, 1000, 7), (300, 40, 13)):
            name = f"multinomial {rows} {size} {samples} {replacement}"
            yield Case(name, _multinomial(rows, size, samples, replacement), "int64")


def _dropout(dtype: str, n: int, p: float) -> Callable[[Any, Any], Any]:
    return lambda library, device: library.nn.functional.dropout(
        library.ones(n, dtype=getattr(library, dtype), device=device), p
    )


def _chances(dtype: str, n: int) -> Callable[[Any, Any], Any]:
    return lambda library, device: library.empty(n, device=device).bernoulli_(
        library.tensor(np.linspace(0, 1, n), dtype=getattr(library, dtype), device=device)
    )


def _transposed(name: str, shape: tuple[int, int]) -> Callable[[Any, Any], Any]:
    return lambda library, device: getattr(library.empty(shape, device=device).t(), name)()


def _multinomial(rows: int, size: int, samples: int, replacement: bool) -> Callable[[Any, Any], Any]:
    weights = np.random.default_rng(3).uniform(size=(rows, size)).astype(np.float32)
    return lambda library, device: library.multinomial(library.tensor(weights, device=device), samples, replacement)


def drawn(library: Any, case: Case) -> tuple[list[Any], list[int]]:
    """The values of two draws, and the generator's state after each."""
    library.cuda.manual_seed(SEED)
    values, states = [], []
    for _ in range(2):
        tensor = case.draw(library, "cuda").cpu()
        values.append((tensor.double() if tensor.dtype is library.bfloat16 else tensor).numpy())
        states.append(int.from_bytes(bytes(library.cuda.get_rng_state().tolist())[8:], "little"))
    return values, states


def difference(case: Case, ours: Any, theirs: Any, tolerance: float) -> str:
    """Say how two results of `drawn` differ; "" if they do not."""
    said = []
    if ours[1] != theirs[1]:
        said.append(f"offsets {ours[1]}, PyTorch's {theirs[1]}")
    for draw, (found, expected) in enumerate(zip(ours[0], theirs[0])):
        wide_found, wide_expected = found.astype(np.float64), expected.astype(np.float64)
        size = np.abs(wide_expected)
        limit = tolerance * (1 + (size * size if case.name.startswith("cauchy") else size))  # tangents are steep
        wrong = np.flatnonzero((np.abs(wide_found - wide_expected) > limit).reshape(-1))
        rounded = (
            found.size // 1_000_000 if tolerance and case.name.startswith("geometric") else 0
        )  # to another integer
        if len(wrong) > rounded:
            at = wrong[:4].tolist()
            pairs = ", ".join(f"[{i}] {found.reshape(-1)[i]!r} for {expected.reshape(-1)[i]!r}" for i in at)
            said.append(f"draw {draw}: {len(wrong)} of {found.size} differ: {pairs}, last [{wrong[-1]}]")
    return f"{case.name}: {'; '.join(said)}" if said else ""


def dropout_vectors(n: int, mask: Any, first: int, blocks: int) -> list[int]:
    """The numbers of elements loaded at once that explain a mask of dropout, with p = 0.3 and the seed SEED."""
    from flambeau.ops import cuda_random

    def fits(vector: int) -> bool:
        element, threads = np.arange(n), 256 * blocks
        if vector == 1:
            word = cuda_random.spread(SEED, first, n, blocks, 4, lambda words: words)
        else:
            step = element // (vector * threads) * -(-vector // 4) + element % vector // 4
            word = np.choose(
                element % vector % 4, cuda_random.words_of(SEED, first + step, element // vector % threads)
            )
        return bool(((cuda_random.open_fractions(word) < np.float32(0.7)) == mask).all())

    return [vector for vector in (1, 2, 4, 8, 16) if n % vector == 0 and fits(vector)]


def reports(wanted: str = "") -> Iterator[str]:
    """Yield a report for every case that differs, on the GPU and on a virtual one."""
    import torch

    import flambeau
    from flambeau.testing import machine

    for case in cases():
        if wanted not in case.name:
            continue
        theirs = drawn(torch, case)
        places: dict[str, Any] = {"GPU": lambda case=case: drawn(flambeau, case)}
        places["virtual"] = lambda case=case: _on_virtual(machine, flambeau, case)
        for place, draw in places.items():
            tolerance = ROUNDING.get(case.dtype, 0.0) if place == "virtual" and case.is_rounded else 0.0
            try:
                said = difference(case, draw(), theirs, tolerance)
            except Exception as error:  # noqa: BLE001  (it is reported)
                said = f"{case.name}: {error!r}"
            if said and case.name.startswith("dropout") and place == "GPU":
                blocks = min(132 * 8, -(-theirs[0][0].size // 256))
                vectors = dropout_vectors(theirs[0][0].size, theirs[0][0] != 0, 0, blocks)
                said += f"; PyTorch's mask is that of {vectors} elements at once"
            if said:
                yield f"{place}: {said}"


def _on_virtual(machine: Any, library: Any, case: Case) -> Any:
    with machine(devices=1):
        return drawn(library, case)


def main() -> int:
    found = 0
    for report in reports(sys.argv[1] if len(sys.argv) > 1 else ""):
        found += 1
        print(report, flush=True)
    print(f"{found} differences")
    return min(found, 1)


if __name__ == "__main__":
    sys.exit(main())
