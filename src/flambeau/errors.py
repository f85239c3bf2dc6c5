"""Every error that flambeau raises on purpose.

    FlambeauError
    +-- ArgumentError          (ValueError)            an argument has a value that cannot be used
        +-- ValueRangeError    (also RuntimeError)     a size, a bound or a count that there cannot be
        +-- NamingError        (also KeyError)         a name or a key is missing, is taken, or can be none
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
    +-- DeferredCudaCallError  (RuntimeError)          what was asked for before the start failed at the start
    +-- ProcessGoneError       (RuntimeError)          the process that shared something has ended
    +-- InternalError          (RuntimeError)          the NumPy meaning of a kernel failed: a mistake of flambeau
    +-- OutOfMemoryError       (RuntimeError)          a device has no room, after everything idle was handed back
    +-- AcceleratorError       (RuntimeError)          the driver reported a failure; `error_code` says which
        +-- CudaError                                  a code that `cuda.check_error` was given is not success
        +-- AccessError                                virtual GPUs: out of bounds, or memory that was freed
        +-- RaceError                                  virtual GPUs: two accesses that nothing orders

Each one also derives from the builtin that PyTorch raises in the same place, so existing handlers work.
"""

from typing import Literal

CODES_HINT = "cudaError_t in CUDA's runtime API says what the number means"
MAX_SHOWN = 80  # characters of a value that an error shows
LACKING = "docs/differences.md says what of PyTorch is not there yet"


def no_attribute(module: str, name: str) -> AttributeError:
    """What a module raises for a name that it does not have."""
    fact = f"module {module!r} has no attribute {name!r}"
    return AttributeError(fact if name.startswith("_") else f"{fact}\nhint: {LACKING}", name=name)


class FlambeauError(Exception):
    """A fact with every value involved, and, where there is one, a way out on a `hint:` line."""

    def __init__(self, fact: str, *, hint: str = "") -> None:
        super().__init__(f"{fact}\nhint: {hint}" if hint else fact)
        self.fact = fact
        self.hint = hint

    def rename(self, called: str) -> None:
        """Begin with the operation that was called, where the text begins with one that it is made of."""
        head, colon, rest = self.fact.partition(": ")
        if colon and head.isidentifier() and head != called:
            self.fact = f"{called}: {rest}"
            self.args = (f"{self.fact}\nhint: {self.hint}" if self.hint else self.fact,)


class ArgumentError(FlambeauError, ValueError):
    """An argument has a value that cannot be used."""


class ArgumentTypeError(FlambeauError, TypeError):
    """An argument has the wrong type."""


class ConfigError(FlambeauError, ValueError):
    """An environment variable or an option makes no sense."""


class ValueRangeError(ArgumentError, RuntimeError):
    """A size, a bound or a count is one that there cannot be."""


class NamingError(ArgumentError, KeyError):
    """A name or a key is missing, is taken already, or can be none."""

    __str__ = Exception.__str__  # a KeyError shows its text as Python would write it


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


class ModeError(FlambeauError, RuntimeError):
    """A switch was given a setting that it does not have, or is in one that it cannot tell."""


class SynchronizationError(FlambeauError, RuntimeError):
    """The host would have waited for a device, and `cuda.set_sync_debug_mode` forbids it."""


class EarlyAccessError(FlambeauError, RuntimeError):
    """The host used memory of a non_blocking copy before it had waited for the copy (FLAMBEAU_STRICT=1)."""


class NotSupportedError(FlambeauError, NotImplementedError):
    """This driver does not have the ability that was asked for."""


class DeviceAssertError(FlambeauError, RuntimeError):
    """A value that a kernel was told to assert is not there.  A GPU stops at it, and reports AcceleratorError."""


class AutogradError(FlambeauError, RuntimeError):
    """A gradient cannot be computed."""


class DeferredCudaCallError(FlambeauError, RuntimeError):
    """A call that was put off until the start failed then; `__cause__` says how."""


class ProcessGoneError(FlambeauError, RuntimeError):
    """The process that shared memory, an event or a tensor has ended, or took it back."""


class InternalError(FlambeauError, RuntimeError):
    """The NumPy meaning of a kernel failed as no GPU would: a mistake of flambeau.  No device is lost."""

    def __init__(self, called: str, where: str, cause: Exception) -> None:
        super().__init__(
            f"{called}: the kernel's NumPy reference failed{where}: {type(cause).__name__}: {cause}",
            hint="this is a mistake of flambeau, not of the program: please report the call with its arguments",
        )


class OutOfMemoryError(FlambeauError, RuntimeError):
    """A device has no room for an allocation, after everything idle was handed back."""


class AcceleratorError(FlambeauError, RuntimeError):
    """The driver reported a failure.

    `error_code` is the CUresult number.  `sticky` is True where the device can do no more work in this process.
    """

    def __init__(self, fact: str, *, hint: str = "", error_code: int = 999, sticky: bool = False) -> None:
        super().__init__(fact, hint=hint)
        self.error_code = error_code
        self.sticky = sticky

    def rename(self, called: str) -> None:
        """Nothing: what failed was called before."""


class CudaError(AcceleratorError):
    """A code of CUDA's runtime that stands for a failure.  code: the cudaError_t, which is `error_code` too."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error {int(code)}", hint=CODES_HINT, error_code=int(code))


class AccessError(AcceleratorError):
    """A virtual GPU was asked to touch bytes outside any live block."""


class RaceError(AcceleratorError):
    """Two accesses to the same bytes, at least one of them a write, that nothing orders."""


OF_ARGUMENTS = (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DeviceIndexError,
    DeviceMismatchError,
    DeviceNameError,
    DtypeError,
    IndexRangeError,
    ModeError,
    NotSupportedError,
    ShapeError,
)


class told_as:  # noqa: N801  (reads as a part of `with`)
    """A block whose wrong arguments are told as those of `called`, the operation that the user called."""

    __slots__ = ("called",)

    def __init__(self, called: str) -> None:
        self.called = called

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: object, traceback: object) -> Literal[False]:
        tell_as(error, self.called)
        return False


def tell_as(error: object, called: str) -> None:
    """Let an error of arguments begin with the operation that the user called; nothing for any other error."""
    if not isinstance(error, OF_ARGUMENTS):
        return
    if not error.fact.partition(": ")[0].isidentifier():
        error.fact = f"_: {error.fact}"
    error.rename(called)


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
