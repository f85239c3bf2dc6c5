"""torch.cuda.kernel: kernels that a program writes in CUDA C++, with a reference in NumPy for virtual GPUs.

- On NVIDIA GPUs, NVRTC compiles the source when the kernel is first launched on a device.  On virtual GPUs the
  reference runs on the arrays of the launch, which are checked for races and bounds as those of every kernel.
- The launch buffer has the bytes of the C parameters.  For drivers that run references, `Code.pack_launch` appends the
  grid, the block, and the type and shape of each array, which `Code.bind` reads: the C parameters lack them.
- Before the reference runs, arrays that are declared "w" are filled with poison, unless another argument shares their
  bytes: a reference that reads them, or leaves elements out, shows it.
"""

from __future__ import annotations

import inspect
import operator
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from math import isinf, prod
from typing import Any, NamedTuple

from .. import host
from ..core import thread
from ..core.inplace import record_inplace
from ..core.tensor import TensorBase, address_of, before_write, in_graph
from ..dtypes import ALL, BOOL, BY_NAME, FLOATING, UNSIGNED, dtype, uint8
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DeviceAssertError,
    DeviceMismatchError,
    DtypeError,
    KernelReferenceError,
    NamingError,
    NotSupportedError,
    ShapeError,
    ValueRangeError,
    shown,
)
from ..kernel import MAX_BLOCK, MAX_BLOCKS, MAX_THREADS, Access, Buffer, Grid, Kernel, Pointer, Scalar
from . import device as devices
from .kernel_signature import CParameter, Signature, names_in, signatures
from .stream import Stream, adopted, check_alive

NAME = "cuda.kernel"
DTYPES = (*ALL, *UNSIGNED)  # by their number in a launch buffer
POISON = 0xFF  # of each byte: NaN, or -1
DESCRIPTION = re.compile(r"(?:(r|w|rw)\b)? ?([a-z]\w*)? ?(?:\[([^\[\]]*)\])?")
DESCRIPTION_HINT = (
    'describe an array as "r", "w" or "rw", with a type and sizes if they are needed, as in "w float32[rows, n]"; '
    'a number as its type, as in "int32"'
)
ONE = (1, 1, 1)

# parameters


class ArrayParameter:
    """An array: what the kernel does with it, and its type and sizes where they are declared.

    sizes: numbers, or the names of integer parameters; None for the tensor's own shape.
    may_have_gaps: whether tensors need not be contiguous.
    """

    __slots__ = ("access", "alignment", "dtype", "may_have_gaps", "name", "sizes")

    def __init__(
        self, name: str, access: str, dtype: dtype | None, sizes: tuple[int | str, ...] | None, alignment: int
    ) -> None:
        self.name = name
        self.access = access
        self.dtype = dtype
        self.sizes = sizes
        self.alignment = alignment
        self.may_have_gaps = False

    def __repr__(self) -> str:
        sizes = "" if self.sizes is None else f"[{', '.join(map(str, self.sizes))}]"
        return f"{self.name}: {self.access}{f' {self.dtype.name}' if self.dtype else ''}{sizes}"

    def address(self, kernel: str, value: Any, device: int) -> int:
        """Return the address of an argument that fits; 0 for None, a null pointer."""
        if value is None:
            return 0
        if not isinstance(value, TensorBase):
            raise ArgumentTypeError(
                f"{self.name} must be a tensor, got {shown(value)}", hint="None is a null pointer", operator=kernel
            )
        if value.device_index != device and not (value.device_index < 0 and value._storage.is_pinned):
            raise DeviceMismatchError(
                f"{self.name} is {value.describe()}, and the kernel runs on cuda:{device}",
                hint=f'move it there: {self.name}.to("cuda:{device}")',
                operator=kernel,
            )
        if self.dtype is not None and value.dtype is not self.dtype:
            raise DtypeError(
                f"{self.name} must be {self.dtype.name}, got {value.describe()}",
                hint=f"convert it: {self.name}.to(torch.{self.dtype.name})",
                operator=kernel,
            )
        if not self.may_have_gaps and not value.is_contiguous():
            raise ShapeError(
                f"{self.name} is not contiguous: {value.describe()} has strides {list(value.strides)}, "
                "and the kernel gets only an address",
                hint=f"pass {self.name}.contiguous()",
                operator=kernel,
            )
        address = address_of(value) if value.numel() else 0
        if address % self.alignment:
            raise ArgumentError(
                f"{self.name} begins at {address:#x}, and the kernel accesses {self.alignment} bytes at a time, "
                f"at multiples of {self.alignment}",
                hint=f"pass {self.name}.clone()",
                operator=kernel,
            )
        return address

    def shape(self, kernel: str, value: TensorBase, numbers: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the shape that the kernel accesses, of a tensor that has as many elements."""
        if self.sizes is None:
            return tuple(value.shape)
        sizes = tuple(numbers[size] if isinstance(size, str) else size for size in self.sizes)
        if min(sizes, default=1) < 0 or prod(sizes) > value.numel():
            raise ShapeError(
                f"{self.name} is {value.describe()} and has {value.numel()} elements; the kernel accesses "
                f"[{', '.join(map(str, self.sizes))}] = {list(sizes)}",
                hint="correct the size, or pass a tensor that is large enough",
                operator=kernel,
            )
        return sizes


class NumberParameter:
    """A number, by value."""

    __slots__ = ("_struct", "dtype", "name")

    def __init__(self, name: str, dtype: dtype) -> None:
        self.name = name
        self.dtype = dtype
        self._struct = Scalar(name, dtype.name).struct

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype.name}"

    def number(self, kernel: str, value: Any) -> Any:
        """Return an argument as the kernel receives it."""
        try:
            if isinstance(value, TensorBase):
                raise TypeError
            if self.dtype.category == FLOATING:
                plain = float(operator.index(value)) if hasattr(value, "__index__") else value.__float__()
            else:
                plain = operator.index(value) if self.dtype.category != BOOL else _boolean(value)
            number = self._struct.unpack(self._struct.pack(plain))[0]
            if isinf(number) and not isinf(plain):
                raise OverflowError
            return number
        except (TypeError, AttributeError):
            wanted = {BOOL: "a bool", FLOATING: "a number"}.get(self.dtype.category, "an int")
            hint = "pass tensor.item()" if isinstance(value, TensorBase) else f"the parameter is {self.dtype.name}"
            raise ArgumentTypeError(
                f"{self.name} must be {wanted}, got {shown(value)}", hint=hint, operator=kernel
            ) from None
        except (OverflowError, struct.error):
            raise ValueRangeError(
                f"{self.name} is {shown(value)}, which {self.dtype.name} cannot hold",
                hint="use a wider parameter",
                operator=kernel,
            ) from None


Parameter = ArrayParameter | NumberParameter


def _boolean(value: Any) -> bool:
    if operator.index(value) not in (0, 1):
        raise OverflowError
    return bool(value)


def _described(name: str, text: Any, known: CParameter | None) -> Parameter:
    """Return the parameter that a description and the signature make together; either may be missing."""
    if isinstance(text, dtype):
        text = text.name
    match = DESCRIPTION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ArgumentError(
            f"parameters[{name!r}] is {shown(text)}, which is no description", hint=DESCRIPTION_HINT, operator=NAME
        )
    access, type_name, sizes = match.groups()
    if type_name and type_name not in BY_NAME:
        raise ArgumentError(
            f"parameters[{name!r}] is {text!r}, and {type_name!r} is no type",
            hint=f"use one of {', '.join(BY_NAME)}",
            operator=NAME,
        )
    data_type = BY_NAME[type_name] if type_name else None
    is_pointer = known.is_pointer if known else bool(access)
    if known is not None:
        _compare(name, text, access, data_type, known, is_pointer)
        data_type = data_type or known.dtype
        access = access or ("r" if known.is_const else "rw")
    if is_pointer:
        alignment = known.alignment if known else data_type.itemsize if data_type else 1
        return ArrayParameter(name, access, data_type, _sizes(name, text, sizes), alignment)
    if data_type is None or data_type.name == "bfloat16" or sizes is not None:
        declared = f"is {known.declaration!r} in the source" if known else f"is described as {text!r}"
        raise ArgumentError(
            f"the parameter {name} {declared}, which is not a number that can be passed",
            hint=f'describe its type, as in parameters={{"{name}": "int32"}}; pass a structure through a pointer',
            operator=NAME,
        )
    return NumberParameter(name, data_type)


def _compare(
    name: str, text: str, access: str | None, data_type: dtype | None, known: CParameter, is_pointer: bool
) -> None:
    """Raise ArgumentError where a description contradicts the signature."""
    if text and bool(access) != is_pointer and (access or data_type):
        problem = "an array" if is_pointer else "a number"
    elif data_type and known.dtype and data_type is not known.dtype:
        problem = f"of type {known.dtype.name}"
    elif access in ("w", "rw") and known.is_const:
        problem = "read-only"
    else:
        return
    raise ArgumentError(
        f"parameters[{name!r}] is {text!r}, but the source has {known.declaration!r}, which is {problem}",
        hint=DESCRIPTION_HINT,
        operator=NAME,
    )


def _sizes(name: str, text: str, sizes: str | None) -> tuple[int | str, ...] | None:
    if sizes is None:
        return None
    parts = [part.strip() for part in sizes.split(",")] if sizes.strip() else []
    if not all(part.isdecimal() or part.isidentifier() for part in parts):
        raise ArgumentError(
            f"parameters[{name!r}] is {text!r}: a size is a number or the name of an integer parameter",
            hint=DESCRIPTION_HINT,
            operator=NAME,
        )
    return tuple(int(part) if part.isdecimal() else part for part in parts)


def _signature_of(source: str, name: str, is_described: bool) -> Signature | None:
    """Return a kernel's signature.  None if a macro makes it, and the program describes the parameters."""
    found = signatures(source)
    plain = name.partition("<")[0].rpartition("::")[2].strip()
    matching = [signature for signature in found if signature.name == plain]
    if not matching:
        if is_described and plain in names_in(source):
            return None
        names = ", ".join(dict.fromkeys(signature.name for signature in found))
        raise NamingError(
            f"the source has no __global__ function {name!r}; it has {names or 'none'}",
            hint="name a kernel of the source; describe the parameters if a macro makes it",
            operator=NAME,
        )
    signature = matching[-1]
    if signature.is_template and "<" not in name:
        raise ArgumentError(
            f"{name}, at line {signature.line} of the source, is a template, which has no code of its own",
            hint=f'name one of its instances, as in "{name}<float>"',
            operator=NAME,
        )
    if "<" in name:
        signature = signature.instance(name.partition("<")[2].rpartition(">")[0])
    return signature._replace(is_c=any(each.is_c for each in matching))


def _parameters_of(signature: Signature | None, name: str, described: Mapping[str, Any]) -> tuple[Parameter, ...]:
    if signature is None:
        parameters = [_described(key, text, None) for key, text in described.items()]
    else:
        names = [each.name or f"argument {index}" for index, each in enumerate(signature.parameters)]
        unknown = [key for key in described if key not in names]
        if unknown:
            raise NamingError(
                f"parameters names {', '.join(map(repr, unknown))}; {name} has {', '.join(names) or 'none'}",
                hint="use the names of the source",
                operator=NAME,
            )
        parameters = [
            _described(key, described.get(key, ""), known) for key, known in zip(names, signature.parameters)
        ]
    integers = {each.name for each in parameters if isinstance(each, NumberParameter) and not _is_float(each.dtype)}
    for parameter in parameters:
        if isinstance(parameter, ArrayParameter):
            missing = [size for size in parameter.sizes or () if isinstance(size, str) and size not in integers]
            if missing:
                raise NamingError(
                    f"the sizes of {parameter.name} name {', '.join(missing)}, which is no integer parameter of {name}",
                    hint=f"its integer parameters are {', '.join(sorted(integers)) or 'none'}",
                    operator=NAME,
                )
    return tuple(parameters)


def _is_float(data_type: dtype) -> bool:
    return data_type.category == FLOATING


# launches


class Form(NamedTuple):
    """The type and shape of an array of a launch."""

    dtype: dtype
    shape: tuple[int, ...]


class Code(Kernel):
    """A user's kernel, as drivers load and launch it."""

    __slots__ = ("_extras", "_function", "_is_array")

    def __init__(
        self,
        name: str,
        source: str,
        parameters: Sequence[Parameter],
        function: Callable[..., object] | None,
        options: tuple[str, ...],
        is_c: bool,
    ) -> None:
        params = [
            Pointer(each.name, each.dtype or uint8, each.access, ())
            if isinstance(each, ArrayParameter)
            else Scalar(each.name, each.dtype.name)
            for each in parameters
        ]
        super().__init__(name, source, params, self._run, options=options, is_c=is_c)
        self._function = function
        self._extras = _keywords_of(name, parameters, function) if function is not None else ()

    def pack_launch(self, values: Sequence[Any], grid: Grid, arrays: Sequence[Form | None]) -> bytes:
        """Pack a launch for a driver that runs the reference.  arrays: one per array, None if it is absent."""
        words = [*grid.blocks, grid.threads, grid.threads_y, grid.threads_z]
        for array in arrays:
            words += (-1, 0) if array is None else (DTYPES.index(array.dtype), len(array.shape), *array.shape)
        return self.pack(values) + struct.pack(f"={len(words)}q", *words)

    def bind(self, buffer: Buffer) -> list[Any]:
        """As `Kernel.bind`; grid and block follow the arguments."""
        values = self._struct.unpack_from(buffer)
        count = (len(buffer) - self._struct.size) // 8
        words = iter(struct.unpack_from(f"={count}q", buffer, self._struct.size))
        grid, block = (tuple(next(words) for _ in range(3)) for _ in range(2))
        bound: list[Any] = []
        for param, value in zip(self.params, values):
            if not isinstance(param, Pointer):
                bound.append(value)
                continue
            number, ndim = next(words), next(words)
            shape = tuple(next(words) for _ in range(ndim))
            bound.append(None if number < 0 else Access(value, DTYPES[number], param.access, shape, None))
        return [*bound, grid, block]

    def _run(self, *values: Any) -> None:
        """Run the reference on the arrays and numbers of a launch."""
        *arguments, grid, block = values
        self._poison(arguments)
        self.call_reference(arguments, grid, block)

    def call_reference(self, arguments: Sequence[Any], grid: Sequence[int], block: Sequence[int]) -> None:
        """Call the reference with arrays and numbers.  Raises KernelReferenceError."""
        assert self._function is not None
        extras = {name: {"grid": grid, "block": block}[name] for name in self._extras}
        try:
            result = self._function(*arguments, **extras)
            if result is not None and not any(result is argument for argument in arguments):
                raise TypeError(f"it returned a {type(result).__name__}, and has to write into its arrays instead")
        except DeviceAssertError:  # as the kernel's own assert
            raise
        except Exception as failure:
            raise KernelReferenceError(str(failure), operator=self.entry) from failure

    def _poison(self, arguments: Sequence[Any]) -> None:
        arrays = [(param, value) for param, value in zip(self.params, arguments) if isinstance(param, Pointer)]
        shares = host.numpy().may_share_memory
        for param, array in arrays:
            if param.access != "w" or array is None:
                continue
            if not any(other is not array and other is not None and shares(array, other) for _, other in arrays):
                array.reshape(-1).view("uint8").fill(POISON)


def _keywords_of(name: str, parameters: Sequence[Parameter], function: Callable[..., object]) -> tuple[str, ...]:
    """Return which of `grid` and `block` a reference takes by keyword.  Raises ArgumentError if it does not fit."""
    if not callable(function):
        raise ArgumentTypeError(f"reference must be a function, got {shown(function)}", operator=NAME)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin: it tells when it runs
        return ()
    keywords = [each.name for each in signature.parameters.values() if each.kind is inspect.Parameter.KEYWORD_ONLY]
    extras = tuple(each for each in ("grid", "block") if each in keywords)
    try:
        signature.bind(*parameters, **dict.fromkeys(extras))
    except TypeError as failure:
        names = ", ".join(each.name for each in parameters)
        raise ArgumentError(
            f"the reference {getattr(function, '__name__', 'of ' + name)}{signature} does not take the "
            f"{len(parameters)} parameters of {name} ({names}): {failure}",
            hint="give it one parameter for each of the kernel's, in the same order; * grid and block are optional",
            operator=NAME,
        ) from None
    return extras


class CudaKernel:
    """A kernel that a program wrote; `torch.cuda.kernel` makes it.

    name, source, reference: as given.  parameters: what the kernel takes, in order.
    Example:
        >>> source = 'extern "C" __global__ void zero(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 0; }'
        >>> torch.cuda.kernel(source, "zero", {"x": "w[n]"})
        CudaKernel(zero(x: w float32[n], n: int32))
    """

    def __init__(self, code: Code, parameters: tuple[Parameter, ...], reference: Callable[..., object] | None) -> None:
        self.source = code.source
        self.name = code.entry
        self.parameters = parameters
        self.reference = reference
        self._code = code

    @property
    def code(self) -> Kernel:
        """The kernel, as drivers load it."""
        return self._code

    def run_reference(self, arguments: Sequence[Any], grid: int | Sequence[int], block: int | Sequence[int]) -> None:
        """Run the reference on NumPy arrays and numbers.  Raises KernelReferenceError."""
        size = _grid(self.name, grid, block, 0)
        self._code.call_reference(arguments, size.blocks, (size.threads, size.threads_y, size.threads_z))

    def __repr__(self) -> str:
        return f"CudaKernel({self.name}({', '.join(map(repr, self.parameters))}))"

    def __call__(
        self,
        grid: int | Sequence[int] = ONE,
        block: int | Sequence[int] = ONE,
        args: Sequence[Any] | None = None,
        shared_mem: int = 0,
        stream: Stream | None = None,
    ) -> None:
        """Launch the kernel.

        grid, block: the numbers of blocks, and of threads in a block, in one to three dimensions.
        args: one per parameter: contiguous tensors on the stream's device, or pinned ones; numbers; None for a null
        pointer.
        shared_mem: bytes of dynamic shared memory.  stream: the current stream of the tensors' device by default.
        Host:   returns at once.
        Raises: ArgumentError, ArgumentTypeError, DtypeError, ShapeError, DeviceMismatchError for arguments that do not
                fit; AutogradError for a write to a tensor of a graph; NotSupportedError on virtual GPUs without a
                reference.  A reference that fails raises KernelReferenceError from the next wait.
        """
        size = _grid(self.name, grid, block, shared_mem)
        values = self._checked_count(args)
        devices.unmirror("a kernel was launched by hand")
        stream = self._stream(stream, values)
        driver = stream.machine.driver
        if driver.capabilities.runs_references and self.reference is None:
            raise NotSupportedError(
                "virtual GPUs run a kernel's reference, and this kernel has none",
                hint="give it one: torch.cuda.kernel(source, name, reference=a_numpy_function)",
                operator=self.name,
            )
        packed, forms = self._packed(values, stream.device_index)
        written = [
            value
            for parameter, value in zip(self.parameters, values)
            if isinstance(parameter, ArrayParameter) and value is not None and parameter.access != "r"
        ]
        for tensor in written:
            self._check_written(tensor)
        handle = stream.machine.devices[stream.device_index].kernel(self._code)
        if driver.capabilities.runs_references:
            stream.launch(handle, size, self._code.pack_launch(packed, size, forms))
        else:
            stream.launch(handle, size, self._code.pack(packed))
        for tensor in written:
            record_inplace(tensor, None)

    def set_shared_memory_config(self, shared_mem_bytes: int) -> None:
        """Do nothing: a launch allows the kernel as much shared memory as it asks for."""
        _natural(self.name, "shared_mem_bytes", shared_mem_bytes)

    def _checked_count(self, args: Sequence[Any] | None) -> Sequence[Any]:
        values = () if args is None else args
        if not isinstance(values, (list, tuple)):
            raise ArgumentTypeError(
                f"args must be a list, got {shown(values)}", hint="as in args=[out, x, n]", operator=self.name
            )
        if len(values) != len(self.parameters):
            names = ", ".join(each.name for each in self.parameters)
            raise ArgumentError(
                f"args has {len(values)} values, and the kernel takes {len(self.parameters)}: {names or 'none'}",
                hint="pass one value for each parameter, in order",
                operator=self.name,
            )
        return values

    def _stream(self, stream: Stream | None, values: Sequence[Any]) -> Stream:
        """Return the stream to launch on: the given one, or the current one of the first CUDA tensor's device."""
        stream = adopted(stream)
        if stream is None:
            tensors = (value for value in values if isinstance(value, TensorBase) and value.is_cuda)
            first = next(tensors, None)
            return thread.current_stream(devices.cuda_index() if first is None else first.device_index)
        if not isinstance(stream, Stream):
            raise ArgumentTypeError(
                f"stream must be a Stream or None, got {shown(stream)}",
                hint="make one with cuda.Stream()",
                operator=self.name,
            )
        check_alive(stream, thread.machine(), self.name)
        return stream

    def _packed(
        self, values: Sequence[Any], device: int
    ) -> tuple[list[Any], list[Form | None]]:
        """Return addresses and numbers of a launch, and the form of each array."""
        numbers = {
            each.name: each.number(self.name, value)
            for each, value in zip(self.parameters, values)
            if isinstance(each, NumberParameter)
        }
        packed: list[Any] = []
        forms: list[Form | None] = []
        for parameter, value in zip(self.parameters, values):
            if isinstance(parameter, NumberParameter):
                packed.append(numbers[parameter.name])
                continue
            packed.append(parameter.address(self.name, value, device))
            shape = () if value is None else parameter.shape(self.name, value, numbers)
            forms.append(None if value is None else Form(value.dtype, shape))
        return packed, forms

    def _check_written(self, tensor: TensorBase) -> None:
        before_write(self.name, tensor)
        if thread.here().grad_enabled and in_graph(tensor):
            raise AutogradError(
                f"the kernel would write {tensor.describe()}, which takes part in a graph: no gradient flows through a "
                "kernel of one's own",
                hint="write to a new tensor, in the forward of a torch.autograd.Function or under torch.no_grad()",
                operator=self.name,
            )


def _grid(name: str, grid: Any, block: Any, shared: Any) -> Grid:
    blocks = _three(name, "grid", grid, MAX_BLOCKS)
    threads = _three(name, "block", block, MAX_BLOCK)
    if prod(threads) > MAX_THREADS:
        raise ArgumentError(
            f"a block of {list(threads)} has {prod(threads)} threads, and at most {MAX_THREADS} are possible",
            hint="use smaller blocks, and more of them",
            operator=name,
        )
    return Grid(blocks, threads[0], _natural(name, "shared_mem", shared), threads[1], threads[2])


def _three(name: str, what: str, given: Any, limits: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return one to three sizes as three, each within its limit."""
    sizes = (given,) if devices.is_integer(given) else given
    is_sizes = isinstance(sizes, (tuple, list)) and all(devices.is_integer(size) for size in sizes)
    if not is_sizes or not 1 <= len(sizes) <= 3:
        raise ArgumentTypeError(
            f"{what} must be one to three ints, got {shown(given)}", hint=f"as in {what}=(4, 1, 1)", operator=name
        )
    x, y, z = (*(int(size) for size in sizes), *ONE[len(sizes) :])
    if not all(1 <= size <= limit for size, limit in zip((x, y, z), limits)):
        raise ArgumentError(
            f"{what} is {[x, y, z]}, and its sizes go from 1 to {limits[0]}, {limits[1]} and {limits[2]}",
            hint="do not launch where there is no element" if 0 in (x, y, z) else "let each thread do more",
            operator=name,
        )
    return x, y, z


def _natural(name: str, what: str, value: Any) -> int:
    if not devices.is_integer(value):
        raise ArgumentTypeError(f"{what} must be an int, got {shown(value)}", hint="it counts bytes", operator=name)
    if value < 0:
        raise ArgumentError(f"{what} is {value}", hint="it counts bytes: use 0 or more", operator=name)
    return int(value)


def kernel(
    source: str,
    name: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    reference: Callable[..., object] | None = None,
    options: Sequence[str] = (),
) -> CudaKernel:
    """Make a kernel of CUDA C++ source, which runs on NVIDIA GPUs, and as its NumPy reference on virtual ones.

    source: code with a `__global__` function `name`; of a template, name an instance: "scale<float>".
    parameters: what the source does not say, by parameter: "r", "w" or "rw" for an array that the kernel reads, writes
    entirely, or both; then a type, for macros and typedefs; then sizes, as in "w float32[rows, n]": the kernel accesses
    so many elements, and the reference gets an array of this shape.  By default a `const` pointer is "r", another "rw",
    and the reference gets arrays of the tensors' shapes.
    reference: a function of as many NumPy arrays and numbers, which writes its results into the arrays.  If it has
    keyword-only parameters `grid` and `block`, it gets those of the launch.  A DeviceAssertError that it raises stops
    the device, as an assertion of the kernel does.
    options: of NVRTC, such as "-DTILE=16" and "-I/path/of/headers".  CUDA's own headers are found where they are
    installed, by a package of NVIDIA's or in CUDA_HOME.
    Host:   returns at once; the first launch on an NVIDIA GPU compiles the source.
    Raises: NamingError, ArgumentError, ArgumentTypeError if source, name, parameters and reference do not fit together.
            A source that does not compile is an AcceleratorError of the first launch, with the compiler's log.
    Example:
        >>> source = '''
        ... extern "C" __global__ void scale(float* out, const float* x, float factor, int n) {
        ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
        ...     if (i < n) out[i] = factor * x[i];
        ... }'''
        >>> def scale_reference(out, x, factor, n):
        ...     out[:n] = factor * x[:n]
        >>> scale = torch.cuda.kernel(source, "scale", {"out": "w[n]", "x": "r[n]"}, reference=scale_reference)
        >>> x = torch.arange(4.0, device="cuda")
        >>> out = torch.empty_like(x)
        >>> scale(grid=1, block=256, args=[out, x, 10.0, 4])
        >>> out
        tensor([ 0., 10., 20., 30.], device='cuda:0')
    """
    for what, text in (("source", source), ("name", name)):
        if not isinstance(text, str):
            raise ArgumentTypeError(f"{what} must be a str, got {shown(text)}", operator=NAME)
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ArgumentTypeError(
            f"parameters must be a dict, got {shown(parameters)}", hint='as in {"out": "w", "x": "r"}', operator=NAME
        )
    signature = _signature_of(source, name, bool(parameters))
    described = _parameters_of(signature, name, parameters or {})
    is_c = signature is None or signature.is_c
    return CudaKernel(
        Code(name, source, described, reference, _texts(NAME, "options", options), is_c), described, reference
    )


def compile_kernel(
    kernel_source: str,
    kernel_name: str,
    compute_capability: str | None = None,
    cuda_include_dirs: Sequence[str] | None = None,
    nvcc_options: Sequence[str] | None = None,
) -> CudaKernel:
    """torch.cuda._compile_kernel: compile and load a kernel without a reference, for NVIDIA GPUs.

    Tensors of its launches need not be contiguous.
    compute_capability: that of the current device, as "90".  nvcc_options: options of NVRTC.
    Host:   waits for the compiler.
    Raises: NotSupportedError on virtual GPUs; ArgumentError for another capability; otherwise as `kernel`.
    """
    name = "cuda._compile_kernel"
    index = devices.cuda_index()
    accelerator = thread.machine().devices[index]
    if accelerator.driver.capabilities.runs_references:
        raise NotSupportedError(
            "virtual GPUs run a kernel's reference, and cannot run CUDA C++",
            hint="torch.cuda.kernel(source, name, reference=a_numpy_function) runs on both",
            operator=name,
        )
    own = f"{accelerator.properties.major}{accelerator.properties.minor}"
    if compute_capability not in (None, own):
        raise ArgumentError(
            f"code for compute capability {shown(compute_capability)} does not run on cuda:{index}, which has {own}",
            hint="leave compute_capability out",
            operator=name,
        )
    folders = [f"-I{folder}" for folder in _texts(name, "cuda_include_dirs", cuda_include_dirs)]
    options = (*folders, *_texts(name, "nvcc_options", nvcc_options))
    compiled = kernel(kernel_source, kernel_name, options=options)
    for parameter in compiled.parameters:
        if isinstance(parameter, ArrayParameter):
            parameter.may_have_gaps = True
    accelerator.kernel(compiled.code)
    return compiled


def _texts(name: str, what: str, values: Sequence[str] | None) -> tuple[str, ...]:
    texts = () if values is None else values
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise ArgumentTypeError(
            f"{what} must be a list of str, got {shown(texts)}", hint='as in ["-DTILE=16"]', operator=name
        )
    return tuple(texts)
