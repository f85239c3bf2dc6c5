"""The switches between speed and exactness, and what they decide: torch.backends and its kin.

- `fp32_precision` is a tree: generic, then cuda (also called cudnn), then its operations matmul, conv and rnn.  What
  is "none" asks its parent; conv and rnn are "tf32" until they, or what is above them, are set.
- `allow_tf32` and `set_float32_matmul_precision` are the older names.  Reading one after a newer name was set to
  something else is an error, for there is no answer.
- What flambeau multiplies follows the tree's matmul.  Half types are always summed in float32: the switches that allow
  less are kept and change nothing, and so are those of libraries that flambeau does not use.
- Every kernel gives the same bits in every run, so deterministic algorithms are always in use; the mode is kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from . import config
from .core import thread
from .core.native import whole
from .errors import ArgumentTypeError, ModeError, NotSupportedError
from .ops import linalg
from .runtime import device as devices

INHERIT, IEEE, TF32 = "none", "ieee", "tf32"
GENERIC, CUDA, MATMUL, CONV, RNN = "generic", "cuda", "matmul", "conv", "rnn"
PARENT = {CUDA: GENERIC, MATMUL: CUDA, CONV: CUDA, RNN: CUDA}
LEVELS = ("highest", "high", "medium")
ERROR_MODES = ("default", "warn", "error")
BLAS_LIBRARIES = ("default", "cublas", "cublaslt", "ck")
LINALG_LIBRARIES = ("default", "cusolver", "magma")
DEBUG_HINT = "expected one of `default`, `warn`, `error`, or 0, 1, 2"
LARGEST_LIMIT = (1 << 31) - 1
BENCHMARK_LIMIT = 10  # algorithms that a benchmark would try
MIXED = "use either fp32_precision or the older names, not both"


class Switches:
    """The process's settings.

    precisions: what was set in each place of the tree.  level and cudnn_tf32: what was set by the older names.
    """

    def __init__(self) -> None:
        self.level = LEVELS[1] if config.tf32_override() else LEVELS[0]
        self.cudnn_tf32 = True
        self.precisions: dict[str, str | None] = dict.fromkeys((GENERIC, CUDA, MATMUL), INHERIT)
        self.precisions |= {CONV: None, RNN: None}  # never set
        self.deterministic = False
        self.warn_only = False
        self.libraries = config.preferred_libraries()  # the preferred one, by kind
        if self.level != LEVELS[0]:
            self.set(MATMUL, TF32)

    def get(self, level_name: str) -> str:
        """What holds in a place: its own setting, else its parent's."""
        level: str | None = level_name
        while level is not None:
            setting = self.precisions[level]
            if setting is not None and setting != INHERIT:
                return setting
            level = PARENT.get(level)
        return TF32 if self.precisions[level_name] is None else INHERIT

    def set(self, name: str, value: str) -> None:
        """Raises: ModeError for a value that there is not."""
        if value not in (INHERIT, IEEE, TF32):
            raise ModeError(
                f"Unknown precision: {value!r}", hint="use 'ieee', 'tf32' or 'none'", operator="fp32_precision"
            )
        self.precisions[name] = value
        linalg.allow_tf32.value = self.get(MATMUL) == TF32

    def matmul_is_tf32(self) -> bool:
        """Raises: ModeError if the older and the newer names disagree."""
        is_tf32 = self.get(MATMUL) == TF32
        if is_tf32 != (self.level != LEVELS[0]):
            raise ModeError(
                "a mix of the legacy and new APIs was used: fp32_precision of matmul is "
                f"{self.get(MATMUL)!r}, the matmul precision {self.level!r}",
                hint=MIXED,
                operator="allow_tf32",
            )
        return is_tf32

    def convolutions_are_tf32(self) -> bool:
        """Raises: ModeError if the older and the newer names disagree."""
        conv, rnn = self.get(CONV), self.get(RNN)
        if (conv == TF32, rnn == TF32) != (self.cudnn_tf32, self.cudnn_tf32):
            raise ModeError(
                f"a mix of the legacy and new APIs was used: fp32_precision of conv is {conv!r}, "
                f"of rnn {rnn!r}, and allow_tf32 was {self.cudnn_tf32}",
                hint=MIXED,
                operator="cudnn.allow_tf32",
            )
        return self.cudnn_tf32


switches = Switches()


def set_float32_matmul_precision(precision: str) -> None:
    """How exact products of float32 matrices are: "highest", or "high" and "medium", which both mean TF32.

    Another text changes nothing, with a warning.
    Example:
        >>> torch.set_float32_matmul_precision("high")
        >>> torch.backends.cuda.matmul.allow_tf32
        True
        >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in LEVELS:
        warnings.warn(
            f"{precision} is not one of {', '.join(map(repr, LEVELS))}; the current precision is kept", stacklevel=2
        )
        return
    switches.set(MATMUL, IEEE if precision == LEVELS[0] else TF32)
    switches.level = precision


def get_float32_matmul_precision() -> str:
    """ "highest", "high" or "medium".  Raises ModeError if `fp32_precision` says otherwise.

    Example:
        >>> torch.get_float32_matmul_precision()
        'highest'
    """
    switches.matmul_is_tf32()
    return switches.level


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for algorithms that give the same bits in every run: flambeau's always do.  The mode is kept.

    Example:
        >>> torch.use_deterministic_algorithms(True)
        >>> torch.are_deterministic_algorithms_enabled()
        True
        >>> torch.use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool):
        raise ArgumentTypeError(
            f"mode must be bool, not {type(mode).__name__}", operator="use_deterministic_algorithms"
        )
    switches.deterministic, switches.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """What use_deterministic_algorithms was told.

    Example:
        >>> torch.are_deterministic_algorithms_enabled()
        False
    """
    return switches.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What use_deterministic_algorithms was told as warn_only.

    Example:
        >>> torch.is_deterministic_algorithms_warn_only_enabled()
        False
    """
    return switches.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """use_deterministic_algorithms by name: "default" or 0, "warn" or 1, "error" or 2.

    Raises: ModeError for an unknown one, ArgumentTypeError for what is neither a text nor a number.
    Example:
        >>> torch.set_deterministic_debug_mode("warn")
        >>> torch.get_deterministic_debug_mode()
        1
        >>> torch.set_deterministic_debug_mode("default")
    """
    if not isinstance(debug_mode, (int, str)):
        raise ArgumentTypeError(
            f"debug_mode must be str or int, but got {debug_mode!r}",
            hint=DEBUG_HINT,
            operator="set_deterministic_debug_mode",
        )
    known = range(len(ERROR_MODES)) if isinstance(debug_mode, int) else ERROR_MODES
    if debug_mode not in known:
        raise ModeError(
            f"invalid value of debug_mode, got {debug_mode}",
            hint=DEBUG_HINT,
            operator="set_deterministic_debug_mode",
        )
    index = debug_mode if isinstance(debug_mode, int) else ERROR_MODES.index(debug_mode)
    use_deterministic_algorithms(index > 0, warn_only=index == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2 for "default", "warn" and "error".

    Example:
        >>> torch.get_deterministic_debug_mode()
        0
    """
    return 0 if not switches.deterministic else 1 if switches.warn_only else 2


def preferred_blas_library(backend: str | None = None) -> str:
    """The library that products are asked of first, after choosing one if it is named.  It is kept and changes nothing.

    Raises: ModeError for an unknown one.
    """
    return _prefer("blas", BLAS_LIBRARIES, backend)


def preferred_linalg_library(backend: str | None = None) -> str:
    """As preferred_blas_library, for linear algebra beyond products."""
    return _prefer("linalg", LINALG_LIBRARIES, backend)


def _prefer(kind: str, known: tuple[str, ...], wanted: str | None) -> str:
    if wanted is not None:
        if wanted not in known:
            raise ModeError(
                f"preferred_{kind}_library: Unknown input value {wanted!r}. Choose from: {', '.join(known)}"
            )
        switches.libraries[kind] = wanted
    return switches.libraries.get(kind, known[0])


def cublas_workspace_size(size: int | None = None) -> int:
    """Bytes of workspace that a matrix product gets on the current device.  It is given back after each product.

    CUBLASLT_WORKSPACE_SIZE says it, else CUBLAS_WORKSPACE_CONFIG, before the start: there is one setting for both.
    Raises: NotSupportedError if `size` is given, since plans that were made would keep theirs.
    """
    if size is not None:
        raise NotSupportedError(
            f"{size} bytes cannot be set now",
            hint=f"set CUBLASLT_WORKSPACE_SIZE={size >> 10}, which is in KiB, before the program starts",
            operator="cublas_workspace_size",
        )
    index = devices.cuda_index()
    return thread.machine().driver.product_workspace(index)


class Flag:
    """A bool that is checked and kept."""

    def __init__(self, value: bool) -> None:
        self.initial = value
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, holder: Any, owner: Any = None) -> Any:
        return self if holder is None else vars(holder).get(self.name, self.initial)

    def __set__(self, holder: Any, value: bool) -> None:
        if not isinstance(value, bool):
            raise ModeError(f"expects a bool, but got {value!r}", hint="use True or False", operator=self.name)
        vars(holder)[self.name] = value


class Limit:
    """A number of algorithms that is checked and kept."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, holder: Any, owner: Any = None) -> Any:
        return self if holder is None else vars(holder).get(self.name, BENCHMARK_LIMIT)

    def __set__(self, holder: Any, value: int) -> None:
        if not devices.is_integer(value) or not 0 <= value <= LARGEST_LIMIT:
            raise ModeError(
                f"expects an int from 0 to {LARGEST_LIMIT}, but got {value!r}", hint="0 is no limit", operator=self.name
            )
        vars(holder)[self.name] = int(value)


class Reduction:
    """Whether products of a half type may be summed in that type: a bool, or (reduced, split_k).

    It stands beside a read-only name with `_split_k` at its end.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, holder: Any, owner: Any = None) -> Any:
        return self if holder is None else self.pair(holder)[0]

    def pair(self, holder: Any) -> tuple[bool, bool]:
        values: tuple[bool, bool] = vars(holder).get(self.name, (True, True))
        return values

    def __set__(self, holder: Any, value: Any) -> None:
        pair = (value, True) if isinstance(value, bool) else value
        is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(flag, bool) for flag in pair)
        if not is_pair:
            raise ArgumentTypeError(f"expects a bool or a pair of bools, but got {value!r}", operator=self.name)
        if tuple(pair) == (True, False):
            raise ModeError("split_k=False is not supported when reduced precision is allowed", operator=self.name)
        vars(holder)[self.name] = tuple(pair)


class SplitK:
    """The second half of a Reduction."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.reduction = name.removesuffix("_split_k")

    def __get__(self, holder: Any, owner: Any = None) -> Any:
        return self if holder is None else getattr(type(holder), self.reduction).pair(holder)[1]

    def __set__(self, holder: Any, value: object) -> None:
        raise AttributeError(f"{self.reduction}_split_k cannot be set: set {self.reduction} to a pair")


class Precision:
    """The `fp32_precision` of one place of the tree."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __get__(self, holder: Any, owner: Any = None) -> Any:
        return self if holder is None else switches.get(self.place)

    def __set__(self, holder: Any, value: str) -> None:
        switches.set(self.place, value)


class Matmul:
    """torch.backends.cuda.matmul: how exact matrix products are."""

    fp32_precision = Precision(MATMUL)
    allow_fp16_reduced_precision_reduction = Reduction()
    allow_fp16_reduced_precision_reduction_split_k = SplitK()
    allow_bf16_reduced_precision_reduction = Reduction()
    allow_bf16_reduced_precision_reduction_split_k = SplitK()
    allow_fp16_accumulation = Flag(False)

    @property
    def allow_tf32(self) -> bool:
        """Whether products of float32 matrices may round their inputs to 10 bits of mantissa.  Raises ModeError."""
        return switches.matmul_is_tf32()

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise ModeError(f"expects a bool, but got {value!r}", hint="use True or False", operator="allow_tf32")
        set_float32_matmul_precision(LEVELS[1] if value else LEVELS[0])

    def __setattr__(self, name: str, value: object) -> None:
        if not hasattr(type(self), name):
            raise AttributeError(f"Unknown attribute {name}")
        object.__setattr__(self, name, value)


class Convolution:
    """torch.backends.cudnn.conv."""

    fp32_precision = Precision(CONV)


class Recurrent:
    """torch.backends.cudnn.rnn."""

    fp32_precision = Precision(RNN)


class BackendsModule(ModuleType):
    """The class of torch.backends, whose `fp32_precision` is checked when it is set."""

    fp32_precision = Precision(GENERIC)


class CudnnModule(ModuleType):
    """The class of torch.backends.cudnn, whose names are checked when they are set."""

    fp32_precision = Precision(CUDA)
    enabled = Flag(True)
    benchmark = Flag(False)
    deterministic = Flag(False)
    benchmark_limit = Limit()
    conv = Convolution()
    rnn = Recurrent()

    @property
    def allow_tf32(self) -> bool:
        """Whether convolutions may round their inputs to 10 bits of mantissa.  Raises ModeError."""
        return switches.convolutions_are_tf32()

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        switches.cudnn_tf32 = bool(value)
        for name in (CONV, RNN):
            switches.set(name, TF32 if value else IEEE)

    @contextmanager
    def flags(
        self,
        enabled: bool = False,
        benchmark: bool = False,
        benchmark_limit: int = BENCHMARK_LIMIT,
        deterministic: bool = False,
        allow_tf32: bool = True,
    ) -> Iterator[None]:
        """Set the switches, named or not, for a block."""
        wanted = {"enabled": enabled, "benchmark": benchmark, "deterministic": deterministic}
        former = {name: getattr(self, name) for name in (*wanted, "benchmark_limit")}
        precisions, cudnn_tf32 = dict(switches.precisions), switches.cudnn_tf32
        try:
            for name, value in {**wanted, "benchmark_limit": benchmark_limit, "allow_tf32": allow_tf32}.items():
                setattr(self, name, value)
            yield
        finally:
            self._restore(former, precisions, cudnn_tf32)

    @whole
    def _restore(self, former: dict[str, Any], precisions: dict[Any, Any], cudnn_tf32: Any) -> None:
        for name, value in former.items():
            setattr(self, name, value)
        switches.precisions, switches.cudnn_tf32 = precisions, cudnn_tf32


matmul = Matmul()
