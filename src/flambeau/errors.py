"""Every error that flambeau raises on purpose.

    FlambeauError
    +-- ArgumentError          (ValueError)            an argument has a value that cannot be used
        +-- ValueRangeError    (also RuntimeError)     a size, a bound or a count that there cannot be
        +-- NamingError        (also KeyError)         a name or a key is missing, is taken, or can be none
        +-- FileFormatError    (also RuntimeError)     a file is damaged, or has a format that is not read
    +-- ArgumentTypeError      (TypeError)             an argument has the wrong type
    +-- ConfigError            (ValueError)            an environment variable or option makes no sense
    +-- DtypeError             (RuntimeError)          operands have data types the operator does not take
    +-- ShapeError             (RuntimeError)          operands have shapes that do not fit
    +-- IndexRangeError        (IndexError, RuntimeError)   an index lies outside its dimension
    +-- DeviceMismatchError    (RuntimeError)          operands live on different devices
    +-- DeviceNameError        (RuntimeError)          a text or a number is no device's name
    +-- DeviceIndexError       (RuntimeError)          there is no device with that index
        +-- DeviceQueryError   (also AssertionError)   a device that does not exist was asked what it is
    +-- NoDeviceError          (RuntimeError)          CUDA was used and there is no GPU, real or virtual
    +-- ModeError              (RuntimeError)          a switch was given a setting that it does not have
    +-- SynchronizationError   (RuntimeError)          the host would have waited, and was told not to
    +-- EarlyAccessError       (RuntimeError)          the host used bytes before it had waited for their copy
    +-- NotSupportedError      (NotImplementedError)   this driver, or this version, does not have the ability
    +-- AutogradError          (RuntimeError)          a gradient cannot be computed
        +-- CheckpointError                            a checkpointed function did not do the same again
        +-- GradcheckError                             a derivative disagrees with differences
    +-- DeferredCudaCallError  (RuntimeError)          what was asked for before the start failed at the start
    +-- ProcessGoneError       (RuntimeError)          the process that shared something has ended
    +-- ReentryError           (RuntimeError)          a finalizer called what its thread was in the middle of
    +-- InternalError          (RuntimeError)          the NumPy meaning of a kernel failed: a mistake of flambeau
    +-- OutOfMemoryError       (RuntimeError)          a device has no room, after everything idle was handed back
    +-- AcceleratorError       (RuntimeError)          the driver reported a failure; `error_code` says which
        +-- CudaError                                  a code that `cuda.check_error` was given is not success
        +-- AccessError                                virtual GPUs: out of bounds, or memory that was freed
        +-- RaceError                                  virtual GPUs: two accesses that nothing orders

Each one also derives from the builtin that PyTorch raises in the same place, so existing handlers work.
"""

from typing import Any, Literal, NamedTuple

CODES_HINT = "cudaError_t in CUDA's runtime API says what the number means"
MAX_SHOWN = 80  # characters of a value that an error shows
LACKING = "docs/differences.md says what of PyTorch is not there yet"


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
    """CUDA's text for an error code."""
    return CUDA_TEXTS.get(int(code), "unrecognized error code")


def no_attribute(module: str, name: str) -> AttributeError:
    """What a module raises for a name that it does not have."""
    fact = f"module {module!r} has no attribute {name!r}"
    return AttributeError(fact if name.startswith("_") else f"{fact}\nhint: {LACKING}", name=name)


class FlambeauError(Exception):
    """A fact with every value involved, and, where there is one, a way out on a `hint:` line.

    what: the fact.  operator: the public operation that failed, "" if it is none.  hint: the way out, or what is valid.
    operands: (name, description) of each argument of the operator, where one raised it.
    The text is made of these when it is read: `operator: what`, then the hint.
    """

    is_named = True  # whether the outermost public operation that raises it gives it its name

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
    def args(self) -> tuple[str]:  # type: ignore[override]  # Exception's is an attribute that nothing here sets
        return (str(self),)

    def __str__(self) -> str:
        return f"{self.fact}\nhint: {self.hint}" if self.hint else self.fact

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.__dict__)


def _restored(kind: type[FlambeauError], fields: dict[str, Any]) -> FlambeauError:
    """An unpickled error."""
    made = kind.__new__(kind)
    made.__dict__.update(fields)
    return made


def name_error(error: BaseException, operator: str, operands: tuple[tuple[str, str], ...] = ()) -> None:
    """Say which public operation an error is about; the last to say so, the outermost one, counts.

    Errors of other libraries, sealed ones and those that are about the device keep the name that they have.
    """
    if isinstance(error, FlambeauError) and error.is_named and not error.is_sealed:
        error.operator = operator
        error.operands = operands


class naming:  # noqa: N801  (reads as a part of `with`)
    """A block whose errors are about one public operation: `with naming("xavier_uniform_"):`."""

    __slots__ = ("operator",)

    def __init__(self, operator: str) -> None:
        self.operator = operator

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> Literal[False]:
        if error is not None:
            name_error(error, self.operator)
        return False


def seal(error: BaseException) -> None:
    """Keep the name of an error that a user's callback raised: the operation that called it did not fail itself."""
    if isinstance(error, FlambeauError):
        error.is_sealed = True


class ArgumentError(FlambeauError, ValueError):
    """An argument has a value that cannot be used."""


class ArgumentTypeError(FlambeauError, TypeError):
    """An argument has the wrong type."""


class ConfigError(FlambeauError, ValueError):
    """An environment variable or an option makes no sense."""

    is_named = False


class ValueRangeError(ArgumentError, RuntimeError):
    """A size, a bound or a count is one that there cannot be."""


class NamingError(ArgumentError, KeyError):
    """A name or a key is missing, is taken already, or can be none."""


class FileFormatError(ArgumentError, RuntimeError):
    """A file is damaged, or has a format that is not read."""


class DtypeError(FlambeauError, RuntimeError):
    """Operands have data types that the operator does not take."""


class ShapeError(FlambeauError, RuntimeError):
    """Operands have shapes that do not fit together."""


class IndexRangeError(FlambeauError, IndexError, RuntimeError):
    """An index lies outside the dimension that it selects from.

    PyTorch raises IndexError or, in `gather`, `scatter` and `one_hot`, RuntimeError: handlers of both catch this one.
    """


class DeviceMismatchError(FlambeauError, RuntimeError):
    """Operands live on different devices."""


class DeviceNameError(FlambeauError, RuntimeError):
    """A text or a number is no device's name."""


class DeviceIndexError(FlambeauError, RuntimeError):
    """There is no device with that index."""


class DeviceQueryError(DeviceIndexError, AssertionError):
    """A device that does not exist was asked what it is."""


class NoDeviceError(FlambeauError, RuntimeError):
    """CUDA was used, and there is no GPU, real or virtual."""

    is_named = False


class ModeError(FlambeauError, RuntimeError):
    """A switch was given a setting that it does not have, or is in one that it cannot tell."""


class SynchronizationError(FlambeauError, RuntimeError):
    """The host would have waited for a device, and `cuda.set_sync_debug_mode` forbids it."""

    is_named = False


class EarlyAccessError(FlambeauError, RuntimeError):
    """The host used memory of a non_blocking copy before it had waited for the copy (FLAMBEAU_STRICT=1)."""

    is_named = False


class NotSupportedError(FlambeauError, NotImplementedError):
    """This driver does not have the ability that was asked for."""


class DeviceAssertError(FlambeauError, RuntimeError):
    """A value that a kernel was told to assert is not there.  A GPU stops at it, and reports AcceleratorError."""


class AutogradError(FlambeauError, RuntimeError):
    """A gradient cannot be computed."""


class CheckpointError(AutogradError):
    """A checkpointed function saved other values when it ran again than the first time."""


class GradcheckError(AutogradError):
    """A derivative disagrees with differences."""


class DeferredCudaCallError(FlambeauError, RuntimeError):
    """A call that was put off until the start failed then; `__cause__` says how."""

    is_named = False


class ProcessGoneError(FlambeauError, RuntimeError):
    """The process that shared memory, an event or a tensor has ended, or took it back."""

    is_named = False


class ReentryError(FlambeauError, RuntimeError):
    """A finalizer or a hook called the library while its thread held the lock that the call needs."""


def reentered() -> ReentryError:
    """The error of a lock that its own thread holds."""
    return ReentryError(
        "the calling thread is in the middle of an allocation or another call that holds the same lock: a finalizer "
        "(__del__ or a weakref callback), a signal handler or a hook called the library there",
        hint="let __del__ only note what is to be done, and do it in the next ordinary call",
    )


class InternalError(FlambeauError, RuntimeError):
    """The NumPy meaning of a kernel failed as no GPU would: a mistake of flambeau.  No device is lost."""


def reference_failed(called: str, where: str, cause: Exception) -> InternalError:
    """The error of a NumPy reference that raised `cause`."""
    return InternalError(
        f"the kernel's NumPy reference failed{where}: {type(cause).__name__}: {cause}",
        hint="this is a mistake of flambeau, not of the program: please report the call with its arguments",
        operator=called,
    )


class OutOfMemoryError(FlambeauError, RuntimeError):
    """A device has no room for an allocation, after everything idle was handed back."""

    is_named = False


class AcceleratorError(FlambeauError, RuntimeError):
    """The driver reported a failure.

    `error_code` is the CUresult number.  `sticky` is True where the device can do no more work in this process.
    """

    is_named = False  # what failed was called before

    def __init__(
        self, what: str, *, hint: str = "", error_code: int = 999, sticky: bool = False, operator: object = ""
    ) -> None:
        super().__init__(what, hint=hint, operator=operator)
        self.error_code = error_code
        self.sticky = sticky


class CudaError(AcceleratorError):
    """A code of CUDA's runtime that stands for a failure.  code: the cudaError_t, which is `error_code` too."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error: {cuda_text(code)} ({int(code)})", hint=CODES_HINT, error_code=int(code))


class AccessError(AcceleratorError):
    """A virtual GPU was asked to touch bytes outside any live block."""


class RaceAccess(NamedTuple):
    """One side of a race.

    operator: what touches the bytes, "allocation" for the taking of a block;  verb: "reads", "writes",
    "reads and writes" or "takes";  stream, device: where, "the host" and None for the host itself;  low, high: the
    first byte that it touches and the end of the last one;  site: its line.
    """

    operator: str
    verb: str
    stream: str
    device: int | None
    low: int
    high: int
    site: str


class MissingWait(NamedTuple):
    """Two streams, as errors spell them: the first must wait for the second.  The host may be the first."""

    waiter: str
    awaited: str


class RaceError(AcceleratorError):
    """Accesses to the same bytes, at least one of each pair a write, that nothing orders.

    accesses: the one that was refused, then one of each stream that it races with.
    missing:  all waits that would have ordered it.
    """

    def __init__(
        self,
        what: str,
        *,
        hint: str = "",
        operator: object = "",
        accesses: tuple[RaceAccess, ...] = (),
        missing: tuple[MissingWait, ...] = (),
    ) -> None:
        super().__init__(what, hint=hint, operator=operator)
        self.accesses = accesses
        self.missing = missing


def shown(value: object) -> str:
    """A value as errors show it: a tensor's type, shape and device, else its text, or its type where that is long."""
    describe = getattr(value, "describe", None)
    if callable(describe) and not isinstance(value, type):
        return str(describe())
    text = repr(value)
    if len(text) <= MAX_SHOWN and "\n" not in text and " at 0x" not in text and not isinstance(value, type):
        return text
    named = getattr(value, "__name__", None)
    return f"{type(value).__name__} {named}" if isinstance(named, str) else f"a {type(value).__name__}"
