"""Decorators that define operators, and the interfaces that their bodies use.

Functions, methods, stubs, tests and derivatives are generated from one definition.  There are four kinds:

    @pointwise(...)   the body is the reference in NumPy, on arrays of the compute type      (ops/pointwise.py)
    @operator(...)    the body lowers a call to launches: body(call, *operands, *attributes)
    @view(...)        the body returns (shape, strides, offset) of a view of its first operand
    @composite(...)   the body calls other operators

core/operator.py documents the annotations of parameters, and the names that a derivative may take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from ..core.binding import Setting
from ..core.operator import (
    COMPOSITE,
    LOWERED,
    POINTWISE,
    REGISTRY,
    VIEW,
    ErrorSample,
    Number,
    Operator,
    Parameter,
    Sample,
    passed_as,
)
from ..dtypes import dtype
from ..kernel import Grid, Kernel
from ..library_operation import LibraryOperation


class Operand(Protocol):
    """A tensor argument, as the body of an operator receives it; the body is the function that implements the operator.

    A body that queues launches or makes a view gets a placeholder without memory.  A body that calls other operators
    gets a tensor, and the body of a pointwise operator a NumPy array of the compute type.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def dtype(self) -> dtype: ...

    # attributes of placeholders and tensors
    def numel(self) -> int:
        """Return the number of elements."""

    def is_contiguous(self) -> bool:
        """Return whether the elements lie in memory in row-major order without gaps."""

    def is_aligned(self) -> bool:
        """Return whether the first element's address is a multiple of 16 bytes, the widest access of a GPU."""

    # attributes of tensors
    def contiguous(self) -> Any:
        """Return the tensor itself if it is contiguous, else a contiguous copy."""

    def detach(self) -> Any:
        """Return a tensor with the same memory that autograd does not follow."""

    def max(self) -> Any:
        """Return the largest element, as a tensor without dimensions."""

    def reshape(self, shape: Sequence[int]) -> Any:
        """Return the elements in another shape, as a view if the strides allow it, else as a copy."""

    def to(self, dtype: Any) -> Any:
        """Return the tensor converted to a dtype."""

    def transpose(self, dim0: int, dim1: int) -> Any:
        """Return a view with the dimensions dim0 and dim1 exchanged."""

    # attributes of tensors and arrays
    def __array__(self) -> Any: ...
    def __add__(self, other: Any) -> Any: ...
    def __radd__(self, other: Any) -> Any: ...
    def __sub__(self, other: Any) -> Any: ...
    def __rsub__(self, other: Any) -> Any: ...
    def __mul__(self, other: Any) -> Any: ...
    def __rmul__(self, other: Any) -> Any: ...
    def __truediv__(self, other: Any) -> Any: ...
    def __rtruediv__(self, other: Any) -> Any: ...
    def __mod__(self, other: Any) -> Any: ...
    def __neg__(self) -> Any: ...
    def __lt__(self, other: Any) -> Any: ...
    def __le__(self, other: Any) -> Any: ...
    def __gt__(self, other: Any) -> Any: ...
    def __ge__(self, other: Any) -> Any: ...


Operands = Sequence[Operand]
Value = Operand | bool | int | float


class Call(Protocol):
    """One call of an operator while it is lowered, that is, turned into allocations and launches.

    name: the operator's name.  called: the name that the user called.
    given: the tensor of out=, or None.  is_on_host: whether the call runs on the CPU.
    device: the device of the call.
    """

    name: str
    called: str
    given: Any
    is_on_host: bool
    device: Any

    def output(self, shape: Sequence[int], dtype: dtype, strides: Sequence[int] | None = None) -> Any:
        """Return a new result, contiguous unless `strides` is given; or the tensor of out= if its layout fits."""

    def scratch(self, shape: Sequence[int], dtype: dtype) -> Any:
        """Return contiguous uninitialized memory, which is freed when the launches of this call are done."""

    def part(self, operand: Operand, shape: Sequence[int], strides: Sequence[int], offset: int) -> Any:
        """Return a view of a contiguous operand, with strides and an offset in elements, as `as_strided`."""

    def assign(self, target: Any, source: Any) -> None:
        """Write `source`, converted and broadcast, into `target`."""

    def contiguous(self, operand: Operand, dtype: dtype | None = None) -> Any:
        """Return the operand itself if it is contiguous and of this dtype, else a contiguous copy of this dtype."""

    def make_on_host(self, body: Callable[..., Any], *operands: Any) -> None:
        """Run `body` on the operands' arrays, in place of the call's only launch, when the call runs on the CPU."""

    def launch(self, kernel: Kernel, grid: Grid, *values: Any) -> None:
        """Queue a kernel with `values`, one for each parameter of the kernel.

        A Pointer parameter takes an operand or None, a Scalar a number, a Strided (shape, strides of each operand),
        and a Pointers a list of at most `count` contiguous operands.
        """

    def library(self, operation: LibraryOperation, *operands: Any) -> None:
        """Queue a call of a CUDA library on operands, in the order that `operation` lists them."""

    def reserve(self, operation: LibraryOperation) -> int:
        """Return the size in bytes of the data that a library operation keeps for its backward pass.

        Raises: NotSupportedError if the library is not available.
        """

    def random(self, count: int, generator: Any) -> tuple[Any, Any, Any]:
        """Reserve `count` Philox counters; return (state, seed, first counter), to be passed unchanged to a launch."""

    def draw_on_host(self, function: Callable[..., None], generator: Any, written: Sequence[Any], *values: Any) -> None:
        """Call a function that draws random numbers, in place of a launch on the CPU.

        It is called as function(state of the generator, *arrays of the tensors `written`, *values).  The tensors in
        `written` and `values` are contiguous.
        """


class Array(NamedTuple):
    """Description of a tensor argument in a test sample of an operator.

    Its values are spread evenly over [low, high], in an order that `seed` determines.
    dtype: a name, or "" for the dtype under test.  layout: "dense", "transposed" or "strided".
    grad: whether the test checks the tensor's gradient, if the dtype has gradients.
    Example:
        >>> from flambeau.ops.operator import Array
        >>> Array((2, 3), low=0.0, high=1.0).dtype
        ''
    """

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    dtype: str = ""
    layout: str = "dense"
    seed: int = 0
    grad: bool = True


def operator(**options: Any) -> Callable[[Callable[..., Any]], Operator]:
    """Return a decorator that makes an operator from a body that records the kernel launches of a call.

    The body is called as body(call, *operands, *attributes), with placeholders for tensors, and returns the results.
    The body gets memory from `call.output` and `call.scratch`, and records launches with `call.launch`: see Call.
    options: the arguments of Operator, such as samples, dtypes, errors and inplace.
    Example:
        >>> from flambeau.ops.operator import REGISTRY, operator
        >>> @operator(samples=tuple)
        ... def copied(call, input: "Operand"):
        ...     result = call.output(input.shape, input.dtype)
        ...     call.assign(result, input)
        ...     return result
        >>> copied(torch.tensor([1.0, 2.0], device="cuda"))
        tensor([1., 2.], device='cuda:0')
        >>> del REGISTRY["copied"]
    """
    return lambda body: Operator(body, LOWERED, **options)


def view(**options: Any) -> Callable[[Callable[..., Any]], Operator]:
    """Return a decorator that makes an operator from a body that returns (shape, strides, extra offset) of a view.

    The body gets the first operand and the attributes.  Strides and offset count elements; the offset is added to that
    of the operand.
    options: the arguments of Operator, such as samples and errors.
    Example:
        >>> from flambeau.ops.operator import REGISTRY, view
        >>> @view(samples=tuple)
        ... def without_first(input: "Operand"):
        ...     return (input.shape[0] - 1,), input.strides, input.strides[0]
        >>> without_first(torch.tensor([1, 2, 3]))
        tensor([2, 3])
        >>> del REGISTRY["without_first"]
    """
    return lambda body: Operator(body, VIEW, **options)


def composite(**options: Any) -> Callable[[Callable[..., Any]], Operator]:
    """Return a decorator that makes an operator from a body that calls other operators.

    The operator needs no derivative of its own: autograd records the operators that the body calls.
    options: the arguments of Operator, such as samples, errors and host.
    Example:
        >>> from flambeau.ops.operator import REGISTRY, composite
        >>> @composite(samples=tuple)
        ... def mean_square(input: "Operand"):
        ...     return (input * input).mean()
        >>> mean_square(torch.tensor([1.0, 3.0]))
        tensor(5.)
        >>> del REGISTRY["mean_square"]
    """
    return lambda body: Operator(body, COMPOSITE, **options)


__all__ = [
    "COMPOSITE", "LOWERED", "POINTWISE", "REGISTRY", "VIEW", "Array", "Call", "ErrorSample", "Number", "Operand",
    "Operands", "Operator", "Parameter", "Sample", "Setting", "Value", "composite", "operator", "passed_as", "view",
]  # fmt: skip
