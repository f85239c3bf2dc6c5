"""check_kernel: compares a kernel of `torch.cuda.kernel` with its reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from .. import host
from ..core import thread
from ..core.tensor import TensorBase, array_of
from ..driver.nvidia.compile import compile_cubin, nvrtc_version
from ..errors import AcceleratorError, ArgumentError, ArgumentTypeError, NoDeviceError, shown
from ..runtime.control import synchronize
from ..runtime.kernel_parameters import ArrayParameter, NumberParameter
from ..runtime.user_kernel import CudaKernel
from ..tensor import factories
from .tensors import assert_close

ARCHITECTURE = "sm_90"  # to compile for on a machine without an NVIDIA GPU
GUARD = 256  # bytes before and after an array, which keep its alignment
GUARD_BYTE = 0xA5
FILLS = (0xFF, 0x55)  # bytes of arrays that are declared "w", before two runs of a reference
KEYS = ("grid", "block", "args", "shared_mem")
NAME = "check_kernel"


def check_kernel(
    kernel: CudaKernel, samples: Iterable[Mapping[str, Any]], *, rtol: float | None = None, atol: float | None = None
) -> None:
    """Raise AssertionError unless a CUDA kernel and its reference in Python agree on each sample.

    samples: dicts of the arguments of a launch, such as {"grid": 1, "block": 32, "args": [out, x, 4]}, with tensors or
    NumPy arrays, which are copied.
    rtol, atol: as in `assert_close`.
    Each sample runs on the current device.  On an NVIDIA GPU, the kernel's results are compared with the reference's;
    writes to arrays that are declared "r", and writes up to 256 bytes before or after an array, are detected.  On a
    virtual GPU, the reference and the declarations are tested; where NVRTC is installed, the source is compiled too.
    The reference must write all elements of an array that is declared "w", and must not read them.
    Host:   waits.
    Raises: AssertionError, which names the sample and the parameter; ArgumentTypeError for another value than a kernel;
            ArgumentError for a kernel without a reference, for no samples, and for a sample that is not a launch; also
            the errors of launches, of the reference and of compiling the source.
    Example:
        >>> source = 'extern "C" __global__ void negate(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= -1; }'
        >>> def negate_reference(x, n):
        ...     x *= -1
        >>> negate = torch.cuda.kernel(source, "negate", {"x": "rw[n]"}, reference=negate_reference)
        >>> torch.testing.check_kernel(negate, [{"block": 32, "args": [torch.arange(8.0), n]} for n in (1, 8)])
    """
    if not isinstance(kernel, CudaKernel):
        raise ArgumentTypeError(
            f"expected a kernel, got {shown(kernel)}", hint="pass a result of torch.cuda.kernel(...)", operator=NAME
        )
    if kernel.reference is None:
        raise ArgumentError(
            f"{kernel.name} has no reference to compare with",
            hint="pass reference= to torch.cuda.kernel",
            operator=NAME,
        )
    count = 0
    for number, sample in enumerate(samples):
        _check_sample(kernel, f"{kernel.name}, sample {number}", _launch_of(number, sample), rtol, atol)
        count += 1
    if not count:
        raise ArgumentError("samples is empty", hint="pass at least one sample", operator=NAME)
    if thread.machine().driver.capabilities.runs_references:
        _compile(kernel)


def _launch_of(number: int, sample: Any) -> dict[str, Any]:
    unknown = [key for key in sample if key not in KEYS] if isinstance(sample, Mapping) else [sample]
    if unknown:
        raise ArgumentError(
            f"sample {number} has {', '.join(map(shown, unknown))}, which is not an argument of a launch",
            hint=f"pass a dict with {', '.join(KEYS)} for each sample",
            operator=NAME,
        )
    args = [_on_host(arg) for arg in sample.get("args", ())]
    return {**sample, "args": args}


def _on_host(arg: Any) -> Any:
    """Return a contiguous copy of an array on the host; other arguments unchanged."""
    if isinstance(arg, host.np.ndarray):
        arg = factories.tensor(arg)
    if not isinstance(arg, TensorBase):
        return arg
    tensor: Any = arg
    return tensor.detach().cpu().contiguous()


def _compile(kernel: CudaKernel) -> None:
    try:
        nvrtc_version()
    except (AcceleratorError, NoDeviceError):  # not installed
        return
    compile_cubin(kernel.code, ARCHITECTURE)


def _check_sample(
    kernel: CudaKernel, title: str, launch: dict[str, Any], rtol: float | None, atol: float | None
) -> None:
    args = launch["args"]
    guarded = [Guarded(arg) if isinstance(arg, TensorBase) else None for arg in args]
    given = [arg if inner is None else inner.tensor for arg, inner in zip(args, guarded)]
    kernel(**{**launch, "args": given})  # the launch checks the arguments too
    synchronize()
    expected, other = (_expected(kernel, launch, fill) for fill in FILLS)
    for parameter, arg, inner, one, two in zip(kernel.parameters, args, guarded, expected, other):
        if inner is None or not isinstance(parameter, ArrayParameter):
            continue
        title_of = f"{title}: {parameter.name}"
        if one.tobytes() != two.tobytes():
            raise AssertionError(
                f'{title_of} is declared "w", and the reference does not write all of its elements, or reads them'
            )
        if beyond := inner.damage():
            raise AssertionError(f"{title_of}: the kernel wrote {beyond}")
        result = inner.tensor.cpu()
        if parameter.access == "r" and array_of(result).tobytes() != array_of(arg).tobytes():
            raise AssertionError(f'{title_of} is declared "r", and the kernel wrote it')
        text = f"{title_of}: the kernel and its reference differ\n"
        assert_close(result, factories.tensor(one), rtol=rtol, atol=atol, equal_nan=True, msg=text.__add__)


class Guarded:
    """A copy of an array on the current device, between guard bytes that reveal writes outside the array."""

    def __init__(self, array: TensorBase) -> None:
        values = host.np.ascontiguousarray(array_of(array))
        whole = host.np.full(values.nbytes + 2 * GUARD, GUARD_BYTE, "uint8")
        whole[GUARD : GUARD + values.nbytes] = values.reshape(-1).view("uint8")
        self._whole: Any = factories.tensor(whole, device="cuda")
        inner = self._whole[GUARD : GUARD + values.nbytes].view(array.dtype)
        self.tensor: Any = inner.view(array.shape)

    def damage(self) -> str:
        """Return a text that says where guard bytes were overwritten; "" if none were."""
        whole = array_of(self._whole.cpu())
        sides = (("before", whole[:GUARD]), ("after", whole[-GUARD:]))
        return " and ".join(
            f"{(side != GUARD_BYTE).sum()} bytes {where} it" for where, side in sides if (side != GUARD_BYTE).any()
        )


def _expected(kernel: CudaKernel, launch: dict[str, Any], fill: int) -> list[Any]:
    """Return the arrays after the reference ran on copies; None for other arguments.

    fill: the byte with which arrays declared "w" are filled before the run.
    """
    numbers = {
        parameter.name: parameter.number(kernel.name, arg)
        for parameter, arg in zip(kernel.parameters, launch["args"])
        if isinstance(parameter, NumberParameter)
    }
    wholes: list[Any] = []
    values: list[Any] = []
    for parameter, arg in zip(kernel.parameters, launch["args"]):
        if isinstance(parameter, NumberParameter):
            wholes.append(None)
            values.append(numbers[parameter.name])
            continue
        wholes.append(None if arg is None else array_of(arg).copy())
        if arg is None:
            values.append(None)
            continue
        sizes = parameter.shape(kernel.name, arg, numbers)
        view = wholes[-1].reshape(-1)[: prod(sizes)].reshape(sizes)
        if parameter.access == "w":
            view.reshape(-1).view("uint8").fill(fill)
        view.flags.writeable = parameter.access != "r"
        values.append(view)
    kernel.run_reference(values, launch.get("grid", 1), launch.get("block", 1))
    return wholes
