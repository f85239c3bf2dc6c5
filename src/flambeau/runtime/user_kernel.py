"""torch.cuda.kernel: user-written kernels in CUDA C++, with a NumPy reference for virtual GPUs.

- On NVIDIA GPUs, NVRTC compiles the source when the kernel is first launched on a device.  On virtual GPUs the
  reference runs on the arrays of the launch, which are checked for races and bounds like those of any kernel.
- The launch buffer has the bytes of the C parameters.  For drivers that run references, `Code.pack_launch` appends the
  grid, the block, and the type and shape of each array, which `Code.bind` reads: the C parameters lack them.
- Before the reference runs, arrays that are declared "w" are filled with poison, unless another argument shares their
  bytes: the poison shows in the results of a reference that reads them or leaves elements unwritten.
"""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from .. import host
from ..core import thread
from ..core.call_errors import former_machine
from ..core.inplace import record_inplace
from ..core.locks import whole
from ..core.tensor import TensorBase, before_write, in_graph
from ..driver.api import KernelHandle
from ..dtypes import ALL, UNSIGNED, dtype, uint8
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DeviceAssertError,
    KernelReferenceError,
    NotSupportedError,
    shown,
)
from ..kernel import MAX_BLOCK, MAX_BLOCKS, MAX_THREADS, Access, Buffer, Grid, Kernel, Pointer, Scalar
from . import device as devices
from .kernel_parameters import NAME, ArrayParameter, NumberParameter, Parameter, parameters_of, signature_of
from .stream import Stream, adopted, check_alive

DTYPES = (*ALL, *UNSIGNED)  # a launch buffer stores a dtype as its index here
POISON = 0xFF  # value of each byte: reads as NaN, or -1
ONE = (1, 1, 1)


class Form(NamedTuple):
    """The dtype and shape of one array argument."""

    dtype: dtype
    shape: tuple[int, ...]


class Code(Kernel):
    """A user's kernel, as drivers load and launch it."""

    __slots__ = ("_extras", "_function")

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
            Pointer(param.name, param.dtype or uint8, param.access, ())
            if isinstance(param, ArrayParameter)
            else Scalar(param.name, param.dtype.name)
            for param in parameters
        ]
        super().__init__(name, source, params, self._run, options=options, is_c=is_c)
        self._function = function
        self._extras = _keywords_of(name, parameters, function) if function is not None else ()

    def pack_launch(self, values: Sequence[Any], grid: Grid, arrays: Sequence[Form | None]) -> bytes:
        """Pack a launch for a driver that runs the reference.  arrays: one per array parameter, None for null."""
        words = [*grid.blocks, grid.threads, grid.threads_y, grid.threads_z]
        for array in arrays:
            words += (-1, 0) if array is None else (DTYPES.index(array.dtype), len(array.shape), *array.shape)
        return self.pack(values) + struct.pack(f"={len(words)}q", *words)

    def bind(self, buffer: Buffer) -> list[Any]:
        """Like `Kernel.bind`; grid and block are appended to the arguments."""
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
                raise TypeError(f"it returned a {type(result).__name__}, but must write its results into its arrays")
        except DeviceAssertError:  # reported like an assert of the kernel itself
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
        raise ArgumentTypeError(
            f"reference must be a function, got {shown(function)}",
            hint="pass a function that computes with NumPy, as in reference=lambda out, x: out.fill(0)",
            operator=NAME,
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin without a signature: a mismatch shows when it runs
        return ()
    keywords = [param.name for param in signature.parameters.values() if param.kind is inspect.Parameter.KEYWORD_ONLY]
    extras = tuple(keyword for keyword in ("grid", "block") if keyword in keywords)
    try:
        signature.bind(*parameters, **dict.fromkeys(extras))
    except TypeError as failure:
        names = ", ".join(param.name for param in parameters)
        raise ArgumentError(
            f"the reference {getattr(function, '__name__', 'of ' + name)}{signature} does not take the "
            f"{len(parameters)} parameters of {name} ({names}): {failure}",
            hint="give the reference the kernel's parameters, in the same order; keywords grid and block are optional",
            operator=NAME,
        ) from None
    return extras


class CudaKernel:
    """A user-written kernel, made by `torch.cuda.kernel`; a call with grid, block and args=[...] launches the kernel.

    In the example, `zero` is a kernel, and "w[n]" an array of n elements that it writes: see `torch.cuda.kernel`.
    name, source, reference: as passed to `torch.cuda.kernel`.  parameters: the kernel's parameters, in order.
    Raises: the launch raises ArgumentError, ArgumentTypeError, DtypeError, ShapeError, DeviceMismatchError for
            arguments that do not fit; AutogradError for a write to a tensor of an autograd graph; NotSupportedError on
            virtual GPUs without a reference.
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
        """Run the kernel's NumPy reference.

        arguments: NumPy arrays and numbers, one for each parameter of the kernel.
        grid, block: the numbers of blocks, and of threads in a block, in one to three dimensions.
        Raises: KernelReferenceError if the reference raises, NotSupportedError if there is none; ArgumentError,
                ArgumentTypeError for a wrong grid or block.
        Example:
            >>> import numpy
            >>> source = 'extern "C" __global__ void zero(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 0; }'
            >>> zero = torch.cuda.kernel(source, "zero", {"x": "w[n]"}, reference=lambda x, n: x.fill(0))
            >>> x = numpy.ones(3, "float32")
            >>> zero.run_reference([x, 3], grid=1, block=32)
            >>> x
            array([0., 0., 0.], dtype=float32)
        """
        if self.reference is None:
            raise _no_reference(self.name, "the kernel has no NumPy reference")
        size = _grid(self.name, grid, block, 0)
        self._code.call_reference(arguments, size.blocks, (size.threads, size.threads_y, size.threads_z))

    def __copy__(self) -> CudaKernel:
        return self

    def __deepcopy__(self, _: object) -> CudaKernel:
        return self

    def __reduce__(self) -> Any:
        raise ArgumentTypeError(
            f"{self.name} cannot be pickled: its compiled code belongs to its process",
            hint="create the kernel at the top level of a module that each process imports",
            operator=NAME,
        )

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
                fit; AutogradError for a write to a tensor of an autograd graph; NotSupportedError on virtual GPUs
                without a reference.  A reference that fails raises KernelReferenceError from the next wait.
        """
        size = _grid(self.name, grid, block, shared_mem)
        values = self._checked_count(args)
        devices.unmirror("a kernel was launched by hand")
        stream = self._stream(stream, values)
        driver = stream.machine.driver
        if driver.capabilities.runs_references and self.reference is None:
            raise _no_reference(self.name, "virtual GPUs run a kernel's NumPy reference, and this kernel has none")
        packed, forms = self._packed(values, stream.device_index)
        written = [
            value
            for parameter, value in zip(self.parameters, values)
            if isinstance(parameter, ArrayParameter) and value is not None and parameter.access != "r"
        ]
        for tensor in written:
            self._check_written(tensor)
        if driver.capabilities.runs_references:
            buffer = self._code.pack_launch(packed, size, forms)
        else:
            buffer = self._code.pack(packed)
        handle = stream.machine.devices[stream.device_index].kernel(self._code)
        _launch(stream, handle, size, buffer, written)

    def set_shared_memory_config(self, shared_mem_bytes: int) -> None:
        """Do nothing, since each launch already allows the dynamic shared memory that it requests.

        shared_mem_bytes: a number of bytes.
        Raises: ArgumentTypeError if it is not an int, ArgumentError if it is negative.
        Example:
            >>> source = 'extern "C" __global__ void zero(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 0; }'
            >>> zero = torch.cuda.kernel(source, "zero", {"x": "w[n]"})
            >>> zero.set_shared_memory_config(64 * 1024)
        """
        _natural(self.name, "shared_mem_bytes", shared_mem_bytes)

    def _checked_count(self, args: Sequence[Any] | None) -> Sequence[Any]:
        values = () if args is None else args
        if not isinstance(values, (list, tuple)):
            raise ArgumentTypeError(
                f"args must be a list, got {shown(values)}", hint="as in args=[out, x, n]", operator=self.name
            )
        if len(values) != len(self.parameters):
            names = ", ".join(param.name for param in self.parameters)
            raise ArgumentError(
                f"args has {len(values)} values, and the kernel takes {len(self.parameters)}: {names or 'none'}",
                hint="pass one value for each parameter, in order",
                operator=self.name,
            )
        return values

    def _stream(self, stream: Stream | None, values: Sequence[Any]) -> Stream:
        """Return the stream to launch on: the given one, or the current one of the first CUDA tensor's device."""
        stream = adopted(stream)
        machine = thread.machine()
        tensors = [value for value in values if isinstance(value, TensorBase) and value.is_cuda]
        for tensor in tensors:
            if tensor._layout.device.machine is not machine:
                raise former_machine(self.name, tensor._storage, machine)
        if stream is None:
            return thread.current_stream(tensors[0].device_index if tensors else devices.cuda_index())
        if not isinstance(stream, Stream):
            raise ArgumentTypeError(
                f"stream must be a Stream or None, got {shown(stream)}",
                hint="make one with cuda.Stream()",
                operator=self.name,
            )
        check_alive(stream, machine, self.name)
        return stream

    def _packed(self, values: Sequence[Any], device: int) -> tuple[list[Any], list[Form | None]]:
        """Return the values of all parameters (addresses and numbers), and the dtype and shape of each array."""
        numbers = {
            param.name: param.number(self.name, value)
            for param, value in zip(self.parameters, values)
            if isinstance(param, NumberParameter)
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
                f"the kernel would write {tensor.describe()}, which takes part in a graph: autograd cannot "
                "differentiate a user-written kernel",
                hint="write to a new tensor, in the forward of a torch.autograd.Function or under torch.no_grad()",
                operator=self.name,
            )


def _no_reference(name: str, fact: str) -> NotSupportedError:
    hint = "pass one: torch.cuda.kernel(source, name, reference=a_numpy_function)"
    return NotSupportedError(fact, hint=hint, operator=name)


@whole
def _launch(stream: Stream, handle: KernelHandle, grid: Grid, buffer: Buffer, written: Sequence[TensorBase]) -> None:
    """Queue a launch, and increment the versions of the tensors that it writes."""
    stream.launch(handle, grid, buffer)
    for tensor in written:
        record_inplace(tensor, None)


def _grid(name: str, grid: Any, block: Any, shared: Any) -> Grid:
    blocks = _three(name, "grid", grid, MAX_BLOCKS)
    threads = _three(name, "block", block, MAX_BLOCK)
    if prod(threads) > MAX_THREADS:
        raise ArgumentError(
            f"a block of {list(threads)} has {prod(threads)} threads, but the limit is {MAX_THREADS}",
            hint="use smaller blocks, and more of them",
            operator=name,
        )
    return Grid(blocks, threads[0], _natural(name, "shared_mem", shared), threads[1], threads[2])


def _three(name: str, what: str, given: Any, limits: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return one to three sizes as three; missing ones are 1.  Raises ArgumentError beyond the limits."""
    if type(given) is tuple and len(given) == 3:  # fast path for the usual form
        x, y, z = given
        are_ints = type(x) is int and type(y) is int and type(z) is int
        if are_ints and 1 <= x <= limits[0] and 1 <= y <= limits[1] and 1 <= z <= limits[2]:
            return given
    sizes = (given,) if devices.is_integer(given) else given
    is_sizes = isinstance(sizes, (tuple, list)) and all(devices.is_integer(size) for size in sizes)
    if not is_sizes or not 1 <= len(sizes) <= 3:
        raise ArgumentTypeError(
            f"{what} must be one to three ints, got {shown(given)}", hint=f"as in {what}=(4, 1, 1)", operator=name
        )
    x, y, z = (*(int(size) for size in sizes), *ONE[len(sizes) :])
    if not all(1 <= size <= limit for size, limit in zip((x, y, z), limits)):
        raise ArgumentError(
            f"{what} is {[x, y, z]}, but its sizes must lie from 1 to {limits[0]}, {limits[1]} and {limits[2]}",
            hint="skip the launch if there are no elements" if 0 in (x, y, z) else "let each thread do more",
            operator=name,
        )
    return x, y, z


def _natural(name: str, what: str, value: Any) -> int:
    if not devices.is_integer(value):
        raise ArgumentTypeError(
            f"{what} must be an int, got {shown(value)}", hint="pass a number of bytes", operator=name
        )
    if value < 0:
        raise ArgumentError(
            f"{what} must not be negative, got {value}", hint="pass a number of bytes of 0 or more", operator=name
        )
    return int(value)


def kernel(
    source: str,
    name: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    reference: Callable[..., object] | None = None,
    options: Sequence[str] = (),
) -> CudaKernel:
    """Make a kernel from CUDA C++ source; on virtual GPUs its NumPy reference runs instead.

    source: code with a `__global__` function `name`; for a template, name an instance: "scale<float>".
    parameters: descriptions of parameters, by name, where the source does not say enough.  A description starts with
    "r", "w" or "rw": the kernel reads the array, writes all of it, or does both.  A type may follow, for a parameter
    whose type is a macro or typedef, and then sizes.  With "w float32[rows, n]", the kernel accesses rows * n elements,
    and the reference gets an array of this shape.  By default, a `const` pointer is "r", any other pointer is "rw", and
    the reference gets arrays with the shapes of the tensors.
    reference: a function with the kernel's parameters that takes NumPy arrays and numbers, and writes its results into
    the arrays.  If it has keyword-only parameters `grid` and `block`, it gets those of the launch.  A DeviceAssertError
    that it raises stops the device, as an assertion of the kernel does.
    options: NVRTC options, such as "-DTILE=16" and "-I/path/of/headers".  CUDA's headers are found if a package of
    NVIDIA's installed them or CUDA_HOME contains them.
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
            raise ArgumentTypeError(
                f"{what} must be a str, got {shown(text)}",
                hint="pass CUDA C++ source, then the name of its __global__ function",
                operator=NAME,
            )
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ArgumentTypeError(
            f"parameters must be a dict, got {shown(parameters)}", hint='as in {"out": "w", "x": "r"}', operator=NAME
        )
    signature = signature_of(source, name, bool(parameters))
    described = parameters_of(signature, name, parameters or {})
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
    compute_capability: that of the current device, as "90".  nvcc_options: options that are passed to NVRTC.
    Host:   waits for the compiler.
    Raises: NotSupportedError on virtual GPUs; ArgumentError for an invalid capability; otherwise as `kernel`.
    """
    name = "cuda._compile_kernel"
    index = devices.cuda_index()
    accelerator = thread.machine().devices[index]
    if accelerator.driver.capabilities.runs_references:
        raise NotSupportedError(
            "virtual GPUs run a kernel's reference, and cannot run CUDA C++",
            hint="use torch.cuda.kernel(source, name, reference=a_numpy_function), which runs on both",
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
