"""Points of Sobol' sequences: torch.quasirandom.

- A point's coordinate is an integer of MAXBIT bits, divided by 2**MAXBIT.
- Point i + 1 is point i with one direction number xored in, that of the lowest zero bit of i.  So point i is the xor
  of the direction numbers of the bits that are set in the Gray code of i.
- Scrambling multiplies the bits of direction numbers by a random triangular matrix, and shifts the first point.
"""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dtypes import dtype, float32, float64
from ..errors import ArgumentError, DtypeError, ValueRangeError, naming
from ..host import np, sobol_polynomials
from ..runtime.device import CPU_INDEX
from ..runtime.generator import Generator, default_generator
from . import checks
from .factories import from_array
from .random import randint

MAXBIT = 30  # bits of a coordinate, as in PyTorch
MAXDIM = 21201  # polynomials in Joe and Kuo's table


def _direction_numbers(dimension: int) -> Any:
    """Return the direction numbers of the first dimensions, [dimension, MAXBIT].

    The recurrence is that of Bratley and Fox, "Algorithm 659" (1988).
    """
    first, polynomials = (rows[:dimension].astype(np.int64) for rows in sobol_polynomials())
    found = np.ones((dimension, MAXBIT), np.int64)  # every number of the first dimension is 1
    degrees = np.frexp(polynomials)[1] - 1
    degrees[0] = 0
    for column in range(MAXBIT):
        known = degrees > column
        if known.any():
            found[known, column] = first[known, column]
        for degree in range(1, min(column, first.shape[1]) + 1):
            rows = degrees == degree
            if not rows.any():
                continue
            bits, earlier = polynomials[rows], found[rows, column - degree : column]
            value = earlier[:, 0].copy()
            for back in range(1, degree + 1):
                value ^= (bits >> (degree - back) & 1) * (earlier[:, degree - back] << back)
            found[rows, column] = value
    return found << np.arange(MAXBIT - 1, -1, -1)


def _scrambled(numbers: Any, matrices: Any) -> Any:
    """Multiply the bits of direction numbers, the highest first, by a lower triangular matrix of bits per dimension."""
    found = np.zeros_like(numbers)
    places = np.arange(MAXBIT - 1, -1, -1)
    for row, place in enumerate(places):
        mask = (matrices[:, row, : row + 1] << places[: row + 1]).sum(-1)
        found |= (np.bitwise_count(numbers & mask[:, None]).astype(np.int64) & 1) << place
    return found


def _point(numbers: Any, index: int) -> Any:
    """Return the point of an index, without a shift."""
    gray = index ^ (index >> 1)
    return np.bitwise_xor.reduce(numbers[:, [bit for bit in range(MAXBIT) if gray >> bit & 1]], axis=1)


def _coordinates(points: Any, wanted: dtype) -> Any:
    return from_array(points.astype(wanted.numpy) * wanted.numpy.type(2.0**-MAXBIT))


class SobolEngine:
    """Generator of the points of a Sobol' sequence, which fill the unit cube more evenly than random points.

    dimension: the number of coordinates of a point, 1 to 21201.
    scramble: whether to scramble the points at random.  seed: seed of the scrambling; None draws it from the CPU's
    generator.
    Raises: ArgumentError for a dimension out of range, ArgumentTypeError for one that is not an integer.
    Example:
        >>> engine = torch.quasirandom.SobolEngine(dimension=2)
        >>> engine.draw(4)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500],
                [0.2500, 0.7500]])
    """

    MAXBIT = MAXBIT
    MAXDIM = MAXDIM

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        checks.integer("SobolEngine", "dimension", dimension)
        if not 1 <= dimension <= MAXDIM:
            raise ArgumentError(
                f"dimension must be from 1 to {MAXDIM}, got {dimension}",
                hint=f"pass 1 to {MAXDIM}",
                operator="SobolEngine",
            )
        self.dimension = int(dimension)
        self.scramble = scramble
        self.seed = seed
        self.num_generated = 0
        numbers, shift = _direction_numbers(self.dimension), np.zeros(self.dimension, np.int64)
        if scramble:
            with naming("SobolEngine"):
                numbers, shift = self._scrambling(numbers)
        self.sobolstate = from_array(numbers)
        self.shift = from_array(shift)
        self._first_point = _coordinates(shift, dtypes.default.floating)

    def _scrambling(self, numbers: Any) -> tuple[Any, Any]:
        """Return scrambled direction numbers and the shift, drawn in PyTorch's order."""
        generator = default_generator(CPU_INDEX) if self.seed is None else Generator().manual_seed(self.seed)
        shift = randint(2, (self.dimension, MAXBIT), generator=generator, device="cpu").numpy()
        matrices = randint(2, (self.dimension, MAXBIT, MAXBIT), generator=generator, device="cpu").numpy()
        matrices[:, range(MAXBIT), range(MAXBIT)] = 1
        return _scrambled(numbers, matrices), (shift << np.arange(MAXBIT)).sum(-1)

    def draw(self, n: int = 1, out: Any = None, dtype: dtype | None = None) -> Any:
        """Return the next n points, [n, dimension], on the CPU.

        out: receives the points, and is resized for them.  dtype: float32 or float64; None means the default type.
        Shapes: [n, dimension].
        Raises: ValueRangeError for a negative n or more than 2**30 points in all, DtypeError for another dtype.
        Example:
            >>> torch.quasirandom.SobolEngine(1).draw(3, dtype=torch.float64)
            tensor([[0.0000],
                    [0.5000],
                    [0.7500]], dtype=torch.float64)
        """
        wanted = checks.as_dtype("draw", dtype) or dtypes.default.floating
        if wanted not in (float32, float64):
            raise DtypeError(
                f"dtype must be torch.float32 or torch.float64, got {wanted}",
                hint="pass torch.float32 or torch.float64",
                operator="draw",
            )
        if out is not None:
            checks.tensor("draw", "out", out)
        start = self.num_generated
        count = self._checked("draw", n)
        found = self._points(start, count, wanted)
        if out is not None:
            with naming("draw"):
                found = out.resize_(found.shape).copy_(found)
        self.num_generated = start + count
        return found

    def _checked(self, name: str, n: Any) -> int:
        """Check how many points a call draws or skips."""
        checks.count(name, "n", n)
        if self.num_generated + n > 1 << MAXBIT:
            raise ValueRangeError(
                f"{self.num_generated} points have been generated, and {n} more are beyond the last one",
                hint=f"a sequence has 2**{MAXBIT} points; begin again with reset()",
                operator=name,
            )
        return int(n)

    def _points(self, start: int, count: int, wanted: dtype) -> Any:
        """Return the points from an index on."""
        if not count:
            return _coordinates(np.empty((0, self.dimension)), wanted)
        numbers = self.sobolstate.numpy()
        indexes = np.arange(start, start + count)
        lowest = np.bitwise_count((indexes & -indexes) - 1)  # the lowest zero bit of the index before
        lowest[0] = 0  # replaced, and index 0 has no bit
        points = numbers.astype(np.int32).T[lowest]
        points[0] = _point(numbers, start) ^ self.shift.numpy()
        found = _coordinates(np.bitwise_xor.accumulate(points, axis=0, out=points), wanted)
        if not start:  # PyTorch rounds this point to the type that was the default when the engine was made
            found[0] = self._first_point
        return found

    def draw_base2(self, m: int, out: Any = None, dtype: dtype | None = None) -> Any:
        """Return the next 2**m points.

        The number of all points drawn so far, with these, must be a power of 2.
        Shapes: [2**m, dimension].
        Raises: ArgumentError if the number of points in all would not be a power of 2; also the errors of `draw`.
        Example:
            >>> torch.quasirandom.SobolEngine(2).draw_base2(1)
            tensor([[0.0000, 0.0000],
                    [0.5000, 0.5000]])
        """
        checks.count("draw_base2", "m", m)
        drawn, n = self.num_generated, 1 << min(int(m), MAXBIT + 1)
        if (drawn + n).bit_count() > 1:
            raise ArgumentError(
                f"{drawn} points have been generated, and with 2**{m} more their number is not a power of 2",
                hint="call draw(), or reset() first",
                operator="draw_base2",
            )
        with naming("draw_base2"):
            return self.draw(n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begin the sequence again; return the engine.

        Example:
            >>> engine = torch.quasirandom.SobolEngine(1)
            >>> first = engine.draw(3)
            >>> torch.equal(engine.reset().draw(3), first)
            True
        """
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skip n points; return the engine.

        Raises: ValueRangeError for a negative n or more than 2**30 points in all.
        Example:
            >>> torch.quasirandom.SobolEngine(2).fast_forward(2).draw(1)
            tensor([[0.7500, 0.2500]])
        """
        self.num_generated += self._checked("fast_forward", n)
        return self

    def __repr__(self) -> str:
        scramble = ", scramble=True" if self.scramble else ""
        seed = "" if self.seed is None else f", seed={self.seed}"
        return f"SobolEngine(dimension={self.dimension}{scramble}{seed})"
