"""Matrix products by cuBLASLt, through ctypes, and cuBLAS handles for other libraries.

- cuBLASLt is column-major.  A row-major [m, n] array is a column-major [n, m] one, so out = a b is computed as
  out^T = b^T a^T: our b is its A, our a is its B, and our bias [n] runs along the rows, as its epilogue expects.
- An algorithm is chosen at the first run with each alignment of the addresses, and kept in the plan.  The algorithm for
  the largest alignment determines the size of a plan's workspace, mostly 0; the other algorithms use no more.
- Plans are used by any thread.  The address of the bias is a field of the descriptor, so such a run holds a lock.
- The device's context is current whenever a function here is called.
- cuBLAS handles are given to other libraries only; flambeau's own products use cuBLASLt.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from functools import cache
from typing import Any, NamedTuple

from ...core.native import Lock
from ...core.nvidia import DESC_BIAS_POINTER, MAX_ALIGNMENT, Stream
from ...dtypes import bfloat16, dtype, float16, float32, float64
from ...errors import AcceleratorError, NotSupportedError
from ...library_operation import GELU, RELU, Gemm
from ..per_thread import PerThread
from . import library
from .library import SUCCESS, check_blas, declare, open_first, packaged

SONAMES = ("libcublasLt.so.13", "libcublasLt.so.12")
WORKSPACE_BYTES = 8 << 20
WORKSPACE_BYTES_HOPPER = 32 << 20  # from compute capability 9.0 on

# library_types.h: cudaDataType
R_32F, R_64F, R_16F, R_16BF = 0, 1, 2, 14
# cublas_api.h: cublasComputeType_t, cublasOperation_t, cublasStatus_t
COMPUTE_32F, COMPUTE_64F, COMPUTE_32F_FAST_TF32 = 68, 70, 77
OP_T = 1
NOT_SUPPORTED = 15
# cublasLt.h: cublasLtMatmulDescAttributes_t, cublasLtEpilogue_t
DESC_TRANSA, DESC_TRANSB, DESC_EPILOGUE = 3, 4, 7
EPILOGUE_RELU, EPILOGUE_BIAS, EPILOGUE_GELU = 2, 4, 32  # flags, which are added
# cublasLt.h: cublasLtMatrixLayoutAttribute_t
LAYOUT_BATCH_COUNT, LAYOUT_STRIDED_BATCH_OFFSET = 5, 6
# cublasLt.h: cublasLtMatmulPreferenceAttributes_t (the alignments of A, B, C and D in bytes)
PREF_MAX_WORKSPACE_BYTES = 1
PREF_MIN_ALIGNMENTS = (5, 6, 7, 8)

EPILOGUES = {"": 0, RELU: EPILOGUE_RELU, GELU: EPILOGUE_GELU}
DATA_TYPES: dict[dtype, int] = {float16: R_16F, bfloat16: R_16BF, float32: R_32F, float64: R_64F}


class HeuristicResult(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t; `algo` is its opaque cublasLtMatmulAlgo_t.  address: its address."""

    _fields_ = (
        ("algo", c_uint64 * 8),
        ("workspace_nbytes", c_size_t),
        ("state", c_int),
        ("waves_count", c_float),
        ("reserved", c_int * 4),
    )

    def __init__(self) -> None:
        super().__init__()
        self.address = ctypes.addressof(self)


SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cublasLtCreate": (POINTER(c_void_p),),
    "cublasLtMatmulDescCreate": (POINTER(c_void_p), c_int, c_int),
    "cublasLtMatmulDescSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "cublasLtMatrixLayoutCreate": (POINTER(c_void_p), c_int, c_uint64, c_uint64, c_int64),
    "cublasLtMatrixLayoutSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "cublasLtMatmulPreferenceCreate": (POINTER(c_void_p),),
    "cublasLtMatmulPreferenceSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "cublasLtMatmulPreferenceDestroy": (c_void_p,),
    # handle, operation, layouts of A B C D, preference, requested number, results, number of results
    "cublasLtMatmulAlgoGetHeuristic": (*[c_void_p] * 7, c_int, POINTER(HeuristicResult), POINTER(c_int)),
    # handle, operation, alpha, A, layout, B, layout, beta, C, layout, D, layout, algorithm, workspace, its size, stream
    "cublasLtMatmul": (*[c_void_p] * 14, c_size_t, c_void_p),
}  # fmt: skip


def load() -> Any | None:
    """Return the library with its signatures declared, or None if it is not installed."""
    library = open_first(*packaged("cublasLt"), *SONAMES)
    if library is not None:
        declare(library, SIGNATURES)
    return library


class Matrix(NamedTuple):
    """A matrix as cuBLASLt reads it: column-major [rows, cols], columns `ld` elements apart, optionally transposed."""

    rows: int
    cols: int
    ld: int
    is_transposed: bool


def column_major(rows: int, cols: int, row_stride: int, col_stride: int) -> Matrix | None:
    """Describe a [rows, cols] matrix with these strides in elements, or None where cuBLASLt cannot read it."""
    as_it_is, transposed = (rows, cols, row_stride, col_stride), (cols, rows, col_stride, row_stride)
    for is_transposed, (height, width, step, jump) in enumerate((as_it_is, transposed)):
        ld = jump if width > 1 else height
        if (step == 1 or height == 1) and ld >= height:
            return Matrix(height, width, ld, bool(is_transposed))
    return None


class Arrangement(NamedTuple):
    """One product in cuBLASLt's terms.  is_swapped: its A is our b and its B our a, because out is row-major."""

    a: Matrix
    b: Matrix
    d: Matrix
    is_swapped: bool


def arrange(problem: Gemm) -> Arrangement | None:
    """Choose cuBLASLt's operands and layouts for a product; None if it cannot compute it."""
    if problem.dtype not in DATA_TYPES or 0 in (problem.batch, problem.m, problem.n, problem.k):
        return None
    m, n, k = problem.m, problem.n, problem.k
    (_, a_row, a_col), (_, b_row, b_col) = problem.a_strides, problem.b_strides
    _, out_row, out_col = problem.out_strides
    straight = column_major(n, k, b_col, b_row), column_major(k, m, a_col, a_row), column_major(n, m, out_col, out_row)
    swapped = column_major(m, k, a_row, a_col), column_major(k, n, b_row, b_col), column_major(m, n, out_row, out_col)
    for is_swapped, (a, b, d) in enumerate((straight, swapped)):
        can_add_bias = not (problem.has_bias and is_swapped)
        if a and b and d and not d.is_transposed and can_add_bias:
            return Arrangement(a, b, d, bool(is_swapped))
    return None


class Blas:
    """cuBLASLt on one device."""

    def __init__(self, loaded: Any, device: int, workspace_nbytes: int) -> None:
        """workspace_nbytes: the largest workspace of a product.  Raises AcceleratorError."""
        self._library = loaded
        self.device = device
        self.workspace_limit = workspace_nbytes
        self.handle = self._make("cublasLtCreate")

    def plan(self, problem: Gemm) -> BlasPlan | None:
        """Return a plan of the product; None if cuBLASLt has no algorithm."""
        arrangement = arrange(problem)
        if arrangement is None:
            return None
        plan = BlasPlan(self, problem, arrangement)
        algorithm = plan.find_algorithm(MAX_ALIGNMENT)
        if algorithm is None:
            return None
        plan.settle_on(algorithm.workspace_nbytes)
        return plan

    def native_product(
        self, has_bias: bool, is_swapped: bool, parts: tuple[int, ...], algorithms: dict[int, int], lock: Lock
    ) -> Any:
        """Return a plan's compiled runner, or None if the package was built without compiled calls.

        parts: addresses of the operation, of alpha, beta and the layouts, and the size of the workspace in bytes.
        """
        native = library.native()
        if native is None or not isinstance(self._library, ctypes.CDLL):
            return None
        functions = self._library.cublasLtMatmul, self._library.cublasLtMatmulDescSetAttribute
        multiply, set_bias = (ctypes.cast(function, c_void_p).value or 0 for function in functions)
        fields = multiply, set_bias if has_bias else 0, self.handle.value or 0, *parts
        packed = bytes((c_uint64 * len(fields))(*fields))
        return native.Product(self.device, is_swapped, packed, algorithms, lock if has_bias else None)

    def call(self, name: str, *arguments: Any) -> None:
        check_blas(getattr(self._library, name)(*arguments), name, device=self.device)

    def _make(self, name: str, *arguments: Any) -> c_void_p:
        handle = c_void_p()
        self.call(name, byref(handle), *arguments)
        return handle

    def operation(self, problem: Gemm, arrangement: Arrangement) -> c_void_p:
        """Return a cublasLtMatmulDesc_t."""
        scale = R_64F if problem.dtype is float64 else R_32F
        descriptor = self._make("cublasLtMatmulDescCreate", _compute_type(problem), scale)
        for attribute, matrix in ((DESC_TRANSA, arrangement.a), (DESC_TRANSB, arrangement.b)):
            if matrix.is_transposed:
                self.set("cublasLtMatmulDescSetAttribute", descriptor, attribute, c_int32(OP_T))
        epilogue = EPILOGUES[problem.activation] + (EPILOGUE_BIAS if problem.has_bias else 0)
        if epilogue:
            self.set("cublasLtMatmulDescSetAttribute", descriptor, DESC_EPILOGUE, c_uint32(epilogue))
        return descriptor

    def layout(self, problem: Gemm, matrix: Matrix, batch_stride: int) -> c_void_p:
        """Return a cublasLtMatrixLayout_t."""
        rows, cols, ld, _ = matrix
        layout = self._make("cublasLtMatrixLayoutCreate", DATA_TYPES[problem.dtype], rows, cols, ld)
        if problem.batch > 1:
            self.set("cublasLtMatrixLayoutSetAttribute", layout, LAYOUT_BATCH_COUNT, c_int32(problem.batch))
            self.set("cublasLtMatrixLayoutSetAttribute", layout, LAYOUT_STRIDED_BATCH_OFFSET, c_int64(batch_stride))
        return layout

    def heuristic(
        self, operation: c_void_p, layouts: tuple[c_void_p, ...], alignment: int, workspace_nbytes: int
    ) -> HeuristicResult | None:
        """Return the best algorithm for operands aligned to `alignment` bytes, or None if there is none."""
        result, count = HeuristicResult(), c_int()
        preference = self._preference(alignment, workspace_nbytes)
        try:
            arguments = self.handle, operation, *layouts, preference, 1, byref(result), byref(count)
            status = self._library.cublasLtMatmulAlgoGetHeuristic(*arguments)
        finally:
            self.call("cublasLtMatmulPreferenceDestroy", preference)
        if status == NOT_SUPPORTED:
            return None
        check_blas(status, "cublasLtMatmulAlgoGetHeuristic", device=self.device)
        return result if count.value and result.state == SUCCESS else None

    def _preference(self, alignment: int, workspace_nbytes: int) -> c_void_p:
        preference = self._make("cublasLtMatmulPreferenceCreate")
        name = "cublasLtMatmulPreferenceSetAttribute"
        self.set(name, preference, PREF_MAX_WORKSPACE_BYTES, c_uint64(workspace_nbytes))
        for attribute in PREF_MIN_ALIGNMENTS:
            self.set(name, preference, attribute, c_uint32(alignment))
        return preference

    def set(self, name: str, of: c_void_p, attribute: int, value: Any) -> None:
        self.call(name, of, attribute, byref(value), ctypes.sizeof(value))


class BlasPlan:
    """One product, ready to run on any addresses.  It lives as long as the driver.

    native: its compiled runner, or None.
    """

    def __init__(self, blas: Blas, problem: Gemm, arrangement: Arrangement) -> None:
        self._blas = blas
        self._problem = problem
        self._is_swapped = arrangement.is_swapped
        a_stride, b_stride = problem.b_strides[0], problem.a_strides[0]
        if self._is_swapped:
            a_stride, b_stride = b_stride, a_stride
        self._operation = blas.operation(problem, arrangement)
        self._a = blas.layout(problem, arrangement.a, a_stride)
        self._b = blas.layout(problem, arrangement.b, b_stride)
        self._d = blas.layout(problem, arrangement.d, problem.out_strides[0])
        scalar = c_double if problem.dtype is float64 else c_float
        self._alpha, self._beta = scalar(1), scalar(0)
        self._algorithms: dict[int, HeuristicResult] = {}
        self._native_algorithms: dict[int, int] = {}  # their addresses
        self._lock = Lock()
        self.native: Any = None
        self.workspace_nbytes = blas.workspace_limit

    def settle_on(self, workspace_nbytes: int) -> None:
        """Limit the workspace of all later runs to a number of bytes, and create `native`."""
        self.workspace_nbytes = workspace_nbytes
        scalars = [ctypes.addressof(scalar) for scalar in (self._alpha, self._beta)]
        layouts = [layout.value or 0 for layout in (self._a, self._b, self._d)]
        parts = self._operation.value or 0, *scalars, *layouts, workspace_nbytes
        self.native = self._blas.native_product(
            self._problem.has_bias, self._is_swapped, parts, self._native_algorithms, self._lock
        )

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None:
        """Queue the product of (out, a, b, bias).  Raises AcceleratorError."""
        if not self._problem.has_bias:
            self._multiply(addresses, self._algorithm_for(addresses[:3]), workspace, stream)
            return
        with self._lock:
            algorithm = self._algorithm_for(addresses)  # before _set_bias: a search sets another bias
            self._set_bias(addresses[3])
            self._multiply(addresses, algorithm, workspace, stream)

    def find_algorithm(self, alignment: int) -> HeuristicResult | None:
        """Return the best algorithm for operands aligned to `alignment` bytes, or None if there is none."""
        if alignment in self._algorithms:
            return self._algorithms[alignment]
        if self._problem.has_bias:
            self._set_bias(alignment)  # any address of that alignment: it is not read here
        layouts = self._a, self._b, self._d, self._d
        algorithm = self._blas.heuristic(self._operation, layouts, alignment, self.workspace_nbytes)
        if algorithm is not None:
            self._algorithms[alignment] = algorithm
            self._native_algorithms[alignment] = algorithm.address
        return algorithm

    def _multiply(self, addresses: tuple[int, ...], algorithm: HeuristicResult, workspace: int, stream: Stream) -> None:
        out, a, b, _ = addresses
        if not self._is_swapped:
            a, b = b, a
        self._blas.call(
            "cublasLtMatmul", self._blas.handle, self._operation, byref(self._alpha), a, self._a, b, self._b,
            byref(self._beta), out, self._d, out, self._d, byref(algorithm.algo), workspace, self.workspace_nbytes,
            stream.raw,
        )  # fmt: skip

    def _algorithm_for(self, addresses: tuple[int, ...]) -> HeuristicResult:
        alignment = alignment_of(addresses)
        algorithm = self._algorithms.get(alignment) or self.find_algorithm(alignment)
        if algorithm is None:
            raise AcceleratorError(
                f"cuBLASLt has no algorithm for {self._problem} at {alignment}-byte alignment", operator="gemm"
            )
        return algorithm

    def _set_bias(self, address: int) -> None:
        self._blas.set("cublasLtMatmulDescSetAttribute", self._operation, DESC_BIAS_POINTER, c_void_p(address))


def alignment_of(addresses: tuple[int, ...]) -> int:
    """Return the largest power of two, up to MAX_ALIGNMENT, that divides all of them."""
    bits = MAX_ALIGNMENT
    for address in addresses:
        bits |= address
    return bits & -bits


def _compute_type(problem: Gemm) -> int:
    if problem.dtype is float64:
        return COMPUTE_64F
    return COMPUTE_32F_FAST_TF32 if problem.dtype is float32 and problem.allow_tf32 else COMPUTE_32F


CUBLAS_SONAMES = ("libcublas.so.13", "libcublas.so.12")
CUBLAS_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cublasCreate_v2": (ctypes.POINTER(c_void_p),),
    "cublasSetStream_v2": (c_void_p, c_void_p),
}


@cache
def load_cublas() -> Any:
    """Return the library with its signatures declared.  Raises NotSupportedError if it is not installed."""
    library = open_first(*packaged("cublas"), *CUBLAS_SONAMES)
    if library is None:
        raise NotSupportedError(
            "cuBLAS is not installed", hint='pip install "nvidia-cublas"', operator="current_blas_handle"
        )
    declare(library, CUBLAS_SIGNATURES)
    return library


class BlasHandles:
    """One handle per thread and device.  They live as long as the process."""

    def __init__(self) -> None:
        self._handles: PerThread[int, int] = PerThread()

    def of(self, stream: Stream) -> int:
        """Return the calling thread's handle, set to a stream.  The stream's device is current."""
        library = load_cublas()
        handle = self._handles.get(stream.device, lambda: _make_handle(library, stream.device))
        check_blas(library.cublasSetStream_v2(handle, stream.raw), "cublasSetStream", device=stream.device)
        return handle


def _make_handle(library: Any, device: int) -> int:
    handle = c_void_p()
    check_blas(library.cublasCreate_v2(byref(handle)), "cublasCreate", device=device)
    return int(handle.value or 0)
