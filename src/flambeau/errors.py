"""The errors of flambeau.

    FlambeauError
    +-- ArgumentError          (ValueError)            an argument has a value that cannot be used
        +-- ValueRangeError    (also RuntimeError)     a size, bound or count is out of range
        +-- NamingError        (also KeyError)         a name or a key is missing, taken or invalid
        +-- FileFormatError    (also RuntimeError)     a file is damaged, or has an unknown format
    +-- ArgumentTypeError      (TypeError)             an argument has the wrong type
    +-- ConfigError            (ValueError)            an environment variable or option is invalid
    +-- DtypeError             (NotImplementedError)   operands have data types that the operator does not accept
    +-- ShapeError             (RuntimeError)          operands have shapes that do not fit
    +-- IndexRangeError        (IndexError, RuntimeError)   an index lies outside its dimension
    +-- DeviceMismatchError    (RuntimeError)          operands are on different devices
    +-- DeviceNameError        (RuntimeError)          a text or a number is not a device
    +-- DeviceIndexError       (RuntimeError)          no device has that index
        +-- DeviceQueryError   (also AssertionError)   a query of a device that does not exist
    +-- NoDeviceError          (RuntimeError)          CUDA was used and there is no GPU, real or virtual
    +-- ModeError              (RuntimeError)          a setting is invalid
    +-- SynchronizationError   (RuntimeError)          a wait of the host that is forbidden
    +-- EarlyAccessError       (RuntimeError)          the host used bytes before waiting for their copy
    +-- NotSupportedError      (NotImplementedError)   this driver, or this version, does not support a feature
    +-- AutogradError          (RuntimeError)          a gradient cannot be computed
        +-- CheckpointError                            a recomputation differs from the call
        +-- DerivativeError    (also NotSupportedError) no derivative by this input
        +-- GradcheckError                             a derivative differs from finite differences
    +-- LinAlgError            (RuntimeError)          a matrix has no such factorization, inverse or solution
    +-- DeferredCudaCallError  (RuntimeError)          a call deferred to initialization failed
    +-- ProcessGoneError       (RuntimeError)          the process that shared something has ended
    +-- ReentryError           (RuntimeError)          a finalizer called the library inside a lock
    +-- InternalError          (RuntimeError)          a kernel's NumPy reference failed: a bug of flambeau
    +-- KernelReferenceError   (RuntimeError)          the NumPy reference of a program's own kernel failed
    +-- OutOfMemoryError       (RuntimeError)          a device has no memory left
    +-- AcceleratorError       (RuntimeError)          the driver reported an error, with its `error_code`
        +-- CudaError                                  `cuda.check_error` got a code of a failure
        +-- AccessError                                virtual GPUs: access out of bounds or to freed memory
        +-- RaceError                                  virtual GPUs: two unordered accesses

Each class also derives from the builtin error that PyTorch raises in the same place, so existing handlers work.
"""

from typing import Any, Literal, NamedTuple

CODES_HINT = "cudaError_t in CUDA's runtime API says what the number means"
MAX_SHOWN = 80  # characters of a value that errors show
MAX_NESTING = 64  # of containers, in errors about recursion; as many as the most dimensions of a NumPy array
LACKING = (
    "it is not in flambeau: docs/reference/coverage.md lists PyTorch's names, docs/differences.md the parts left out"
)
# Parts of PyTorch that are left out: a word of their names, and the hint.
LEFT_OUT = {
    "sparse": "there are no sparse tensors: use a dense one, or its indices and values with index_add or scatter_add",
    "complex": "there are no complex numbers: keep real and imaginary parts in two tensors",
    "polar": "there are no complex numbers: keep real and imaginary parts in two tensors",
    "view_as_real": "there are no complex numbers: keep real and imaginary parts in two tensors",
    "stft": "there are no complex numbers: products of frames (unfold) with cosines and sines have both parts",
    "quantiz": "there are no quantized tensors: the smallest floating point types are float16 and bfloat16",
    "nested": "there are no nested tensors: torch.nn.utils.rnn.pad_sequence makes one tensor of several",
}


CUDA_TEXTS = {  # CUDA's texts for its error codes, which the driver and the runtime share
    1: "invalid argument", 2: "out of memory", 3: "initialization error", 4: "driver shutting down",
    35: "CUDA driver version is insufficient for CUDA runtime version",
    46: "CUDA-capable device(s) is/are busy or unavailable", 98: "invalid device function",
    100: "no CUDA-capable device is detected", 101: "invalid device ordinal", 200: "device kernel image is invalid",
    201: "invalid device context", 209: "no kernel image is available for execution on the device",
    214: "uncorrectable ECC error encountered", 217: "peer access is not supported between these two devices",
    219: "PTX JIT compilation failed", 220: "uncorrectable NVLink error detected during the execution",
    300: "invalid source", 400: "invalid resource handle", 600: "device not ready",
    700: "an illegal memory access was encountered", 701: "too many resources requested for launch",
    702: "the launch timed out and was terminated", 704: "peer access is already enabled",
    705: "peer access has not been enabled", 709: "context is destroyed", 710: "device-side assert triggered",
    712: "part or all of the requested memory range is already mapped",
    713: "pointer does not correspond to a registered memory region", 714: "hardware stack error",
    715: "an illegal instruction was encountered", 716: "misaligned address",
    717: "operation not supported on global/shared address space", 718: "invalid program counter",
    719: "unspecified launch failure", 801: "operation not supported", 802: "system not yet initialized",
    803: "system has unsupported display driver / cuda driver combination",
    900: "operation not permitted when stream is capturing",
    901: "operation failed due to a previous error during capture",
}  # fmt: skip


def cuda_text(code: int) -> str:
    """Return CUDA's text for an error code."""
    return CUDA_TEXTS.get(int(code), "unrecognized error code")


def lacking(name: str) -> str:
    """Return the hint for a name of PyTorch that does not exist: the remedy, or the pages that list the names."""
    return next((hint for word, hint in LEFT_OUT.items() if word in name.lower()), LACKING)


def no_attribute(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module does not have."""
    fact = f"module {module!r} has no attribute {name!r}"
    hint = f"\nhint: {lacking(name)}"
    return AttributeError(fact if name.startswith("_") else fact + hint, name=name)


class FlambeauError(Exception):
    """An error: a fact with every value involved, and a `hint:` line if there is a remedy.

    what: the fact.  operator: the public operation that failed, or "".  hint: the remedy, or the valid values.
    operands: (name, description) of each argument of the operator that raised it, if one did.
    `str()` joins them: `operator: what`, then the hint.
    """

    raised_in: Any = None  # weak reference to the module whose call raised it; `nn.module` notes its path
    is_named = True  # whether it takes the name of the outermost public operation that raises it

    def __init__(self, what: str = "", *, hint: str = "", operator: object = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.operator = str(operator)
        self.operands: tuple[tuple[str, str], ...] = ()
        self.is_sealed = False

    @property
    def fact(self) -> str:
        """The text without the hint."""
        return f"{self.operator}: {self.what}" if self.operator else self.what

    @property
    def args(self) -> tuple[str]:  # type: ignore[override]  # Exception declares an attribute, which is never set here
        return (str(self),)

    def __str__(self) -> str:
        return f"{self.fact}\nhint: {self.hint}" if self.hint else self.fact

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), {name: value for name, value in self.__dict__.items() if name != "raised_in"})


def _restored(cls: type[FlambeauError], fields: dict[str, Any]) -> FlambeauError:
    """Restore an unpickled error."""
    error = cls.__new__(cls)
    error.__dict__.update(fields)
    return error


def name_error(error: BaseException, operator: str, operands: tuple[tuple[str, str], ...] = ()) -> None:
    """Set the public operation of an error.  The last call, by the outermost operation, takes precedence.

    Errors of other libraries, sealed errors, and those with is_named False are not changed.
    """
    if isinstance(error, FlambeauError) and error.is_named and not error.is_sealed:
        error.operator = operator
        error.operands = operands


class naming:  # noqa: N801  (reads as a part of `with`)
    """A block whose errors take the name of one public operation: `with naming("xavier_uniform_"):`."""

    __slots__ = ("operator",)

    def __init__(self, operator: str) -> None:
        self.operator = operator

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> Literal[False]:
        if error is not None:
            name_error(error, self.operator)
        return False


class walking(naming):  # noqa: N801  (reads as a part of `with`)
    """A block that walks recursively through the containers of a value, such as a batch.

    Raises: ArgumentError in place of RecursionError if they nest too deeply, as where a list contains itself.
    """

    __slots__ = ("value",)

    def __init__(self, operator: str, value: object) -> None:
        super().__init__(operator)
        self.value = value

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> Literal[False]:
        if isinstance(error, RecursionError) and _nests_too_deeply(self.value):
            raise ArgumentError(
                f"containers are nested more than {MAX_NESTING} deep in {shown(type(self.value))}",
                hint="a container must not contain itself",
                operator=self.operator,
            ) from None
        return super().__exit__(kind, error, traceback)


def _nests_too_deeply(value: Any) -> bool:
    """Return whether lists, tuples and dicts nest more than MAX_NESTING deep.  It looks at each once per level."""
    level = [value]
    for _ in range(MAX_NESTING + 1):
        containers = {id(each): each for each in level if isinstance(each, (list, tuple, dict))}.values()
        level = [entry for each in containers for entry in (each.values() if isinstance(each, dict) else each)]
    return bool(level)


def seal(error: BaseException) -> None:
    """Fix the name of an error that a user's callback raised: the operation that called the callback did not fail."""
    if isinstance(error, FlambeauError):
        error.is_sealed = True


class ArgumentError(FlambeauError, ValueError):
    """An argument has a value that cannot be used."""


class ArgumentTypeError(FlambeauError, TypeError):
    """An argument has the wrong type."""


class ConfigError(FlambeauError, ValueError):
    """An environment variable or an option is invalid."""

    is_named = False


class ValueRangeError(ArgumentError, RuntimeError):
    """A size, bound or count is out of range."""


class NamingError(ArgumentError, KeyError):
    """A name or a key is missing, taken or invalid."""


class FileFormatError(ArgumentError, RuntimeError):
    """A file is damaged, or has an unknown format."""


class DtypeError(FlambeauError, NotImplementedError):
    """Operands have data types that the operator does not accept.  As in PyTorch, a NotImplementedError."""


class ShapeError(FlambeauError, RuntimeError):
    """Operands have shapes that do not fit together."""


class IndexRangeError(FlambeauError, IndexError, RuntimeError):
    """An index is outside the dimension that it selects from.

    PyTorch raises IndexError, or RuntimeError in `gather`, `scatter` and `one_hot`.  Handlers of both catch this error.
    """


class IndexCountError(ShapeError, IndexError):
    """The number of indexes is not that of the elements to write."""


class DeviceMismatchError(FlambeauError, RuntimeError):
    """Operands are on different devices."""


class DeviceNameError(FlambeauError, RuntimeError):
    """A text or a number is not a device."""


class DeviceIndexError(FlambeauError, RuntimeError):
    """No device has that index."""


class DeviceQueryError(DeviceIndexError, AssertionError):
    """A device that does not exist was queried."""


class NoDeviceError(FlambeauError, RuntimeError):
    """CUDA was used, and there is no GPU, real or virtual."""

    is_named = False


class ModeError(FlambeauError, RuntimeError):
    """A setting is invalid, or cannot be read because older and newer settings disagree."""


class ScalingError(ArgumentError, RuntimeError, AssertionError):
    """A GradScaler was given a wrong argument, or its methods were called in the wrong order."""


class SynchronizationError(FlambeauError, RuntimeError):
    """The host would wait for a device, which `cuda.set_sync_debug_mode` forbids."""

    is_named = False


class EarlyAccessError(FlambeauError, RuntimeError):
    """The host used memory of a non_blocking copy before waiting for the copy (FLAMBEAU_STRICT=1)."""

    is_named = False


class NotSupportedError(FlambeauError, NotImplementedError):
    """This driver does not support a feature."""


class DeviceAssertError(FlambeauError, RuntimeError):
    """A value that a kernel asserts is wrong.  A GPU stops at it, and reports AcceleratorError."""


class AutogradError(FlambeauError, RuntimeError):
    """A gradient cannot be computed."""


class DerivativeError(AutogradError, NotSupportedError):
    """An operator has no derivative by an input that requires a gradient."""


class CheckpointError(AutogradError):
    """A checkpointed function saved different values in its recomputation than in its call."""


class GradcheckError(AutogradError):
    """The error of `gradcheck` and `gradgradcheck`: a gradient differs from finite differences."""


class LinAlgError(FlambeauError, RuntimeError):
    """A matrix lacks the requested factorization, inverse or solution, or an algorithm did not converge."""


class DeferredCudaCallError(FlambeauError, RuntimeError):
    """A call that was deferred until CUDA was initialized has failed; `__cause__` is the error of that call."""

    is_named = False


class ProcessGoneError(FlambeauError, RuntimeError):
    """The process that shared memory, an event or a tensor has ended or has freed it."""

    is_named = False


class ReentryError(FlambeauError, RuntimeError):
    """A finalizer or a hook called the library while its thread held the lock that the call needs."""


def raiser(error: BaseException) -> Any:
    """Return a function that raises an error, whatever its arguments."""

    def raise_error(*args: object) -> None:
        raise error

    return raise_error


def reentered() -> ReentryError:
    """Return the error for a lock that its own thread holds."""
    return ReentryError(
        "the calling thread is in the middle of an allocation or another call that holds the same lock: a finalizer "
        "(__del__ or a weakref callback), a signal handler or a hook called the library there",
        hint="record the work in __del__, and do it in the next ordinary call",
    )


class InternalError(FlambeauError, RuntimeError):
    """A kernel's NumPy reference failed in a way that no GPU does: a bug of flambeau.  No device is lost."""


def reference_failed(called: str, where: str, cause: Exception) -> InternalError:
    """Return the error for a NumPy reference that raised `cause`."""
    return InternalError(
        f"the kernel's NumPy reference failed{where}: {type(cause).__name__}: {cause}",
        hint="this is a bug of flambeau, not of the program: please report the call with its arguments",
        operator=called,
    )


class KernelReferenceError(FlambeauError, RuntimeError):
    """The NumPy reference of a kernel that the program wrote raised `__cause__`.  No device is lost."""

    is_named = False  # an earlier launch caused the error


READ_ONLY_HINT = 'an array that is const or declared "r" is only read: declare it "w" or "rw", or correct the reference'


def user_reference_failed(kernel: str, where: str, cause: BaseException | None) -> KernelReferenceError:
    """Return the error for a program's reference that raised `cause`."""
    is_read_only = isinstance(cause, ValueError) and "read-only" in str(cause)
    correct = "correct the reference; the device can still be used"
    return KernelReferenceError(
        f"the kernel's reference failed{where}: {type(cause).__name__}: {cause}",
        hint=READ_ONLY_HINT if is_read_only else correct,
        operator=kernel,
    )


class OutOfMemoryError(FlambeauError, RuntimeError):
    """A device has no memory for an allocation, even after all idle memory was freed."""

    is_named = False


class AcceleratorError(FlambeauError, RuntimeError):
    """The CUDA driver reported an error.

    `error_code` is the CUresult number.  `sticky` is True if this process cannot use the device any more.
    """

    is_named = False  # an earlier call caused the error

    def __init__(
        self, what: str, *, hint: str = "", error_code: int = 999, sticky: bool = False, operator: object = ""
    ) -> None:
        super().__init__(what, hint=hint, operator=operator)
        self.error_code = error_code
        self.sticky = sticky


class CudaError(AcceleratorError):
    """An error of the CUDA runtime, from `torch.cuda.check_error`.  code: the cudaError_t, also in `error_code`."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error: {cuda_text(code)} ({int(code)})", hint=CODES_HINT, error_code=int(code))


class AccessError(AcceleratorError):
    """A virtual GPU accessed bytes outside any live block."""


class RaceAccess(NamedTuple):
    """One side of a race.

    operator: the operator that accesses the bytes, or "allocation".  verb: "reads", "writes", "reads and writes", or
    "takes" for an allocation.  stream, device: "the host" and None for the host.  low, high: the first byte accessed
    and the end of the last one.  site: the program's line.  made_at: the line that made the stream, "" if unknown.
    shape, dtype: of the array, None and "" for an allocation.  name: the program's variable, "" if unknown.
    """

    operator: str
    verb: str
    stream: str
    device: int | None
    low: int
    high: int
    site: str
    made_at: str = ""
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    name: str = ""


class MissingWait(NamedTuple):
    """Two streams, as errors name them: the first must wait for the second.  The host may be the first."""

    waiter: str
    awaited: str


class RaceError(AcceleratorError):
    """Unordered accesses to the same bytes, where each pair has a write.

    accesses: the refused one, then one of each stream that it races with.
    missing:  all waits that would order it.
    low, high: the shared bytes of the first two accesses.
    """

    def __init__(
        self,
        what: str,
        *,
        hint: str = "",
        operator: object = "",
        accesses: tuple[RaceAccess, ...] = (),
        missing: tuple[MissingWait, ...] = (),
        low: int = 0,
        high: int = 0,
    ) -> None:
        super().__init__(what, hint=hint, operator=operator)
        self.accesses = accesses
        self.missing = missing
        self.low = low
        self.high = high


def shown(value: object) -> str:
    """Format a value for errors: a tensor's type, shape and device, else its text, or its type if the text is long."""
    describe = getattr(value, "describe", None)
    if callable(describe) and not isinstance(value, type):
        return str(describe())
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  (a list of tensors whose values cannot be read)
        text = "\n"
    if len(text) <= MAX_SHOWN and "\n" not in text and " at 0x" not in text and not isinstance(value, type):
        return text
    named = getattr(value, "__name__", None)
    kind = type(value).__name__
    if isinstance(value, type):
        return f"the type {named}"
    article = "an" if kind[0] in "AEIOaeio" else "a"
    return f"{kind} {named}" if isinstance(named, str) else f"{article} {kind}"
