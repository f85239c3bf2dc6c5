"""Mutate saved files and load them: only the library's errors, only bytes that were saved, memory below twice the file.

python -m tests.oracle.fuzz_files --seed 1 --count 100000

- A mutated archive gives a FlambeauError, or exactly the object that was saved.
- An archive whose pickle was mutated and sealed anew, with a right checksum, gives a FlambeauError, or an object whose
  storages all have the bytes of saved ones and whose tensors lie in them.
- A mutated file of the former format, which has no checksums, gives a FlambeauError or an object.
- No load allocates more than twice the file and SLACK bytes, which the interpreter's own objects take.
"""

from __future__ import annotations

import argparse
import io
import random
import time
import tracemalloc
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import flambeau
from flambeau.core.storage import Storage
from flambeau.core.tensor import TensorBase
from flambeau.errors import FlambeauError
from flambeau.tensor import pickling
from tests.oracle import file_cases, former_files

SLACK = 1 << 20  # bytes
LARGE = 1 << 18  # elements of the large file's tensor
SIGNS = (b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\6\6", b"PK\6\7", b"PK\7\x08")
EXTREMES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
OPCODES = bytes(range(0x28, 0x100))
CALLS = b"cRbQ\x81\x92\x93"  # opcodes that name, call and build


class Case(NamedTuple):
    """A file, what may come out of it, and whether its checksums cover everything."""

    name: str
    data: bytes
    expected: str
    storages: frozenset[bytes]
    is_archive: bool


class Outcome(NamedTuple):
    """The outcome of a load.  what: the result, or the class of the error;  peak: memory in bytes."""

    what: str
    peak: int
    seconds: float


# mutations of bytes


def flip(rng: random.Random, data: bytearray) -> None:
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def overwrite(rng: random.Random, data: bytearray) -> None:
    at, count = rng.randrange(len(data)), rng.choice((1, 2, 4, 8, 64))
    fill = rng.choice((b"\0" * count, b"\xff" * count, rng.randbytes(count)))
    data[at : at + count] = fill[: len(data) - at]


def set_number(rng: random.Random, data: bytearray) -> None:
    size = rng.choice((1, 2, 4, 8))
    at = rng.randrange(max(len(data) - size, 1))
    value = rng.choice(EXTREMES) + rng.choice((0, 0, len(data)))
    data[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")


def delete(rng: random.Random, data: bytearray) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.choice((1, 2, 16, 200))]


def insert(rng: random.Random, data: bytearray) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.choice((rng.randbytes(rng.choice((1, 2, 30))), part(rng, data)))


def swap(rng: random.Random, data: bytearray) -> None:
    first, second = sorted(rng.randrange(len(data)) for _ in range(2))
    count = min(rng.choice((1, 4, 46, 64)), second - first, len(data) - second)
    one, other = data[first : first + count], data[second : second + count]
    data[first : first + count], data[second : second + count] = other, one


def truncate(rng: random.Random, data: bytearray) -> None:
    del data[rng.randrange(len(data)) :]


def append(rng: random.Random, data: bytearray) -> None:
    data += rng.choice((rng.randbytes(rng.choice((1, 22, 100))), part(rng, data), bytes(data)))


def part(rng: random.Random, data: bytearray) -> bytes:
    at = rng.randrange(len(data))
    return bytes(data[at : at + rng.choice((1, 46, 200))])


def set_header(rng: random.Random, data: bytearray) -> None:
    """Change a number in one of the headers of an archive."""
    starts = [at for sign in SIGNS for at in occurrences(data, sign)]
    if not starts:
        return flip(rng, data)
    at, size = rng.choice(starts) + rng.randrange(4, 46), rng.choice((2, 4, 8))
    old = int.from_bytes(data[at : at + size], "little")
    value = rng.choice((*EXTREMES, old + 1, old - 1, old * 2, len(data), rng.choice(starts)))
    data[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")


def occurrences(data: bytearray, sign: bytes) -> list[int]:
    found, at = [], data.find(sign)
    while at >= 0:
        found.append(at)
        at = data.find(sign, at + 1)
    return found


ANYWHERE: tuple[Callable[[random.Random, bytearray], None], ...] = (
    flip, overwrite, set_number, delete, insert, swap, truncate, append, set_header, set_header,
)  # fmt: skip


def mutated(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if changed:
            rng.choice(ANYWHERE)(rng, changed)
    return bytes(changed)


# mutations of the pickle, with a right checksum


def set_opcode(rng: random.Random, data: bytearray) -> None:
    data[rng.randrange(len(data))] = rng.choice(OPCODES if rng.random() < 0.7 else CALLS)


def repeat(rng: random.Random, data: bytearray) -> None:
    at = rng.randrange(len(data))
    data[at:at] = part(rng, data) * rng.choice((1, 2, 20))


OF_PICKLES = (flip, overwrite, set_number, set_opcode, set_opcode, repeat, delete, insert, swap)


def resealed(rng: random.Random, data: bytes) -> bytes:
    """The archive with another pickle, whose checksum and sizes are right."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            record = bytearray(old.read(name))
            if name.endswith("data.pkl"):
                for _ in range(rng.choice((1, 1, 2, 4))):
                    if record:
                        rng.choice(OF_PICKLES)(rng, record)
            new.writestr(name, bytes(record))
    return made.getvalue()


# what comes out


def storages_in(value: object, found: dict[int, Storage]) -> dict[int, Storage]:
    """The storages in an object, each of whose tensors is read on the way."""
    pending, seen = [value], set()
    while pending:
        each = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, TensorBase):
            layout = each.shape, each.strides, each._offset, each._layout.itemsize
            assert pickling.layout_fault(*layout, each._storage.nbytes) is None, layout
            found[id(each._storage)] = each._storage
            pending.append(vars(each))
        elif isinstance(each, Storage):
            found[id(each)] = each
        elif isinstance(each, dict):
            pending += [*each, *each.values()]
        elif isinstance(each, (list, tuple, set, frozenset)):
            pending += each
    return found


def storage_bytes(value: object) -> frozenset[bytes]:
    return frozenset(each.array().tobytes() for each in storages_in(value, {}).values() if each.nbytes)


def text_of(value: object) -> str:
    return repr(file_cases.described(value))


def loaded(data: bytes) -> tuple[object, Outcome]:
    tracemalloc.reset_peak()
    before, start = tracemalloc.get_traced_memory()[0], time.perf_counter()
    value, what = None, "loaded"
    file = io.BytesIO(data)
    try:
        value = flambeau.load(file, map_location="cpu", mmap=False)
    except FlambeauError as error:
        what = type(error).__name__
    return value, Outcome(what, tracemalloc.get_traced_memory()[1] - before, time.perf_counter() - start)


# the run


def cases() -> list[Case]:
    files = [(path.stem, path.read_bytes()) for path in sorted(file_cases.FOLDER.glob("*.pt"))]
    files = [(name, data) for name, data in files if not name.startswith("refused")]
    for name, build in file_cases.CASES.items():
        files.append((f"own {name}", saved(build(flambeau))))
    files.append(("own large", saved({"x": flambeau.arange(LARGE), "y": flambeau.ones(3)})))
    files += [(f"former {name}", data) for name, data in former_files.FILES.items()]
    made = []
    for name, data in files:
        value = flambeau.load(io.BytesIO(data), map_location="cpu")
        made.append(Case(name, data, text_of(value), storage_bytes(value), not name.startswith("former")))
    return made


def saved(value: object) -> bytes:
    file = io.BytesIO()
    flambeau.save(value, file)
    return file.getvalue()


def one(rng: random.Random, case: Case) -> tuple[Outcome, str]:
    """One mutation.  Returns what it gave, and what was wrong with that, "" for nothing."""
    is_resealed = case.is_archive and rng.random() < 0.4
    data = resealed(rng, case.data) if is_resealed else mutated(rng, case.data)
    try:
        value, outcome = loaded(data)
    except Exception as error:  # noqa: BLE001  (whatever comes is what is looked for)
        return Outcome(type(error).__name__, 0, 0.0), f"{type(error).__name__}: {error}"
    if outcome.peak > 2 * len(data) + SLACK:
        return outcome, f"{outcome.peak} bytes for a file of {len(data)}"
    if outcome.what != "loaded" or not case.is_archive:
        return outcome, ""
    if not storage_bytes(value) <= case.storages:
        return outcome, "bytes that were not saved"
    if not is_resealed and text_of(value) != case.expected:
        return outcome, "another object"
    return outcome, ""


def run(seed: int, count: int, report: Callable[[str], None] = print) -> int:
    """Make `count` mutations; how many went wrong, each of which is reported with the seed that repeats it."""
    known = cases()
    large = [case for case in known if len(case.data) >= LARGE]
    small = [case for case in known if len(case.data) < LARGE]
    outcomes: Counter[str] = Counter()
    wrong, slowest, highest = 0, 0.0, 0.0
    tracemalloc.start()
    for index in range(count):
        rng = random.Random(f"{seed}-{index}")
        case = rng.choice(large if rng.random() < 0.02 else small)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zipfile's, about names that a mutation doubled
            outcome, fault = one(rng, case)
        outcomes[outcome.what] += 1
        slowest = max(slowest, outcome.seconds)
        highest = max(highest, outcome.peak / max(len(case.data), 1)) if len(case.data) >= LARGE else highest
        if fault:
            wrong += 1
            report(f"seed {seed}, mutation {index}, {case.name}: {fault}")
    tracemalloc.stop()
    report(f"{count} mutations of {len(known)} files: {dict(outcomes.most_common())}")
    report(f"{wrong} wrong; slowest {slowest * 1e3:.0f} ms; at most {highest:.2f} times the large file in memory")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    raise SystemExit(run(options.seed, options.count) > 0)


if __name__ == "__main__":
    main()
