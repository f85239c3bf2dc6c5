"""Matrix products by cuBLASLt, against a stand-in that computes them on the host, column by column."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest

from flambeau import dtypes, errors
from flambeau.core.nvidia import Stream
from flambeau.driver.nvidia import blas
from flambeau.driver.nvidia.blas import Matrix, alignment_of, arrange, column_major
from flambeau.host import address_of, bytes_at
from flambeau.library_operation import Gemm

NUMPY = {number: dtype.numpy for dtype, number in blas.DATA_TYPES.items()}
STREAM = Stream(0, 0xABC, is_ours=True)


class FakeBlasLt:
    """A stand-in for cuBLASLt: objects are dicts of the attributes that were set; addresses are of host memory."""

    def __init__(self):
        self.objects = {}
        self.searches = []
        self.runs = []
        self.epilogues = []
        self.fails = {}
        self.found = 1
        self.needs = 0

    def __getattr__(self, name):
        return lambda *arguments: self.fails.get(name) or self._dispatch(name, arguments) or 0

    def _dispatch(self, name, arguments):
        if name.endswith("SetAttribute"):
            of, attribute, value, size = arguments
            assert size == ctypes.sizeof(value._obj)
            self.objects[of.value][attribute] = value._obj.value
        elif name.endswith("Create"):
            made, *initial = arguments
            made._obj.value = len(self.objects) + 1
            self.objects[made._obj.value] = {"initial": initial}
        elif name.endswith("Destroy"):
            del self.objects[arguments[0].value]
        else:
            getattr(self, "_heuristic" if name.endswith("Heuristic") else "_matmul")(*arguments)

    def _heuristic(self, handle, operation, a, b, c, d, preference, asked, result, found):
        self.searches.append((dict(self.objects[operation.value]), dict(self.objects[preference.value])))
        found._obj.value = self.found
        result._obj.algo[0] = self.objects[preference.value][5]
        result._obj.workspace_nbytes = min(self.needs, self.objects[preference.value][blas.PREF_MAX_WORKSPACE_BYTES])

    def _matmul(self, handle, operation, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algo, *rest):
        described = self.objects[operation.value]
        assert (alpha._obj.value, beta._obj.value, c) == (1, 0, d)
        left, right = self._matrix(a, a_layout), self._matrix(b, b_layout)
        left = left.swapaxes(1, 2) if described.get(blas.DESC_TRANSA) else left
        right = right.swapaxes(1, 2) if described.get(blas.DESC_TRANSB) else right
        out = self._matrix(d, d_layout)
        product = left.astype("float64") @ right.astype("float64")
        epilogue = described.get(blas.DESC_EPILOGUE, 0)
        if epilogue & blas.EPILOGUE_BIAS:
            height = out.shape[1]
            bias = bytes_at(described[blas.DESC_BIAS_POINTER], height * out.itemsize).view(out.dtype)
            product += bias.astype("float64")[:, None]
        out[...] = np.maximum(product, 0) if epilogue & blas.EPILOGUE_RELU else product
        self.epilogues.append(epilogue)
        self.runs.append((algo._obj[0], *rest))

    def _matrix(self, address, layout):
        described = self.objects[layout.value]
        kind, rows, cols, ld = described["initial"]
        assert ld >= rows
        batch, step = described.get(blas.LAYOUT_BATCH_COUNT, 1), described.get(blas.LAYOUT_STRIDED_BATCH_OFFSET, 0)
        size = NUMPY[kind].itemsize
        flat = bytes_at(address, ((batch - 1) * step + (cols - 1) * ld + rows) * size).view(NUMPY[kind])
        return np.lib.stride_tricks.as_strided(flat, (batch, rows, cols), (step * size, size, ld * size))


@pytest.fixture
def library():
    return FakeBlasLt()


@pytest.fixture
def cublas(library):
    return blas.Blas(library, 0, 32 << 20)


def laid_out(array, order):
    """The same values: row-major, column-major, or with a gap after each row or column."""
    batch, rows, cols = array.shape
    if order in ("column", "column with gaps"):
        return laid_out(array.swapaxes(1, 2), order.replace("column", "row")).swapaxes(1, 2)
    wide = np.zeros((batch, rows, cols + 3 * (order == "row with gaps")), array.dtype)
    wide[:, :, :cols] = array
    return wide[:, :, :cols]


def problem_of(dtype, out, a, b, **options):
    steps = [tuple(step // each.itemsize for step in each.strides) for each in (a, b, out)]
    return Gemm(dtype, *a.shape[:2], b.shape[2], a.shape[2], *steps, **options)


def arrays(dtype, batch, m, n, k, orders=("row", "row", "row")):
    random = np.random.default_rng(1)
    shapes = (batch, m, n), (batch, m, k), (batch, k, n)
    return [laid_out(random.integers(-4, 5, shape).astype(dtype.numpy), order) for shape, order in zip(shapes, orders)]


def run(cublas, problem, out, a, b, bias=None):
    plan = cublas.plan(problem)
    addresses = *map(address_of, (out, a, b)), address_of(bias) if bias is not None else 0
    plan.run(addresses, 0x5000, STREAM)
    wanted = a.astype("float64") @ b.astype("float64") + (0 if bias is None else bias.astype("float64"))
    assert np.array_equal(out.astype("float64"), wanted)


ORDERS = ("row", "column", "row with gaps", "column with gaps")


@pytest.mark.parametrize("orders", list(itertools.product(ORDERS, repeat=3)), ids="-".join)
def test_every_order_of_every_operand(cublas, orders):
    out, a, b = arrays(dtypes.float32, 2, 3, 5, 4, orders)
    run(cublas, problem_of(dtypes.float32, out, a, b), out, a, b)


@pytest.mark.parametrize("sizes", list(itertools.product((1, 3), repeat=4)), ids=str)
@pytest.mark.parametrize("orders", [("row", "row", "column"), ("row", "column", "row with gaps")], ids="-".join)
def test_sizes_of_one(cublas, sizes, orders):
    out, a, b = arrays(dtypes.float32, *sizes, orders)
    run(cublas, problem_of(dtypes.float32, out, a, b), out, a, b)


@pytest.mark.parametrize("dtype", blas.DATA_TYPES, ids=lambda each: each.name)
@pytest.mark.parametrize("order", ["row", "row with gaps"])
def test_a_bias_is_added_to_every_row(cublas, dtype, order):
    out, a, b = arrays(dtype, 2, 3, 5, 4, (order, "row", "column"))
    run(cublas, problem_of(dtype, out, a, b, has_bias=True), out, a, b, np.arange(5).astype(dtype.numpy))


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize(("activation", "number"), [("", 0), ("relu", 2), ("gelu", 32)])
def test_bias_and_activation_are_one_epilogue(cublas, library, activation, number, with_bias):
    out, a, b = arrays(dtypes.float32, 1, 3, 5, 4)
    bias = np.arange(5).astype("float32")
    plan = cublas.plan(problem_of(dtypes.float32, out, a, b, has_bias=with_bias, activation=activation))
    plan.run((*map(address_of, (out, a, b)), address_of(bias) if with_bias else 0), 0x5000, STREAM)
    assert library.epilogues == [number + 4 * with_bias]
    if activation == "relu":
        assert np.array_equal(out, np.maximum(a @ b + bias * with_bias, 0)) and (out == 0).any()


def test_one_operand_for_the_whole_batch(cublas):
    out, a, b = arrays(dtypes.float64, 3, 2, 4, 5)
    shared = np.broadcast_to(b[:1], b.shape)
    run(cublas, problem_of(dtypes.float64, out, a, shared), out, a, shared)


@pytest.mark.parametrize(
    ("dtype", "allow_tf32", "compute", "scale"),
    [
        (dtypes.float16, False, 68, 0),
        (dtypes.bfloat16, True, 68, 0),
        (dtypes.float32, False, 68, 0),
        (dtypes.float32, True, 77, 0),
        (dtypes.float64, True, 70, 1),
    ],
)
def test_what_sums_are_kept_in(cublas, library, dtype, allow_tf32, compute, scale):
    out, a, b = arrays(dtype, 1, 2, 2, 2)
    cublas.plan(problem_of(dtype, out, a, b, allow_tf32=allow_tf32))
    assert library.searches[0][0]["initial"] == [compute, scale]


def test_an_algorithm_is_searched_once_per_alignment(cublas, library):
    out, a, b = arrays(dtypes.float32, 1, 4, 4, 4)
    problem = problem_of(dtypes.float32, out, a, b)
    plan = cublas.plan(problem)
    assert [search[1][5] for search in library.searches] == [256]
    memory = np.zeros(2048, "uint8")
    base = -address_of(memory) % 256 + address_of(memory)
    for shift in (0, 256, 4, 4, 16):
        plan.run((base + shift, base + 512, base + 1024, 0), 0, STREAM)
    assert [search[1][5] for search in library.searches] == [256, 4, 16]
    assert [algorithm for algorithm, *_ in library.runs] == [256, 256, 4, 4, 16]


def test_a_search_does_not_disturb_the_bias_of_the_run(cublas, library):
    out, a, b = arrays(dtypes.float32, 1, 2, 3, 2)
    holder = np.zeros(64, "float32")
    bias = holder[1:4]  # an alignment that the plan has not met
    bias[:] = (5, 6, 7)
    run(cublas, problem_of(dtypes.float32, out, a, b, has_bias=True), out, a, b, bias)


def test_the_workspace_is_what_the_algorithm_needs(cublas, library):
    library.needs = 1 << 20
    out, a, b = arrays(dtypes.float32, 1, 2, 2, 2)
    plan = cublas.plan(problem_of(dtypes.float32, out, a, b))
    assert plan.workspace_nbytes == 1 << 20
    library.needs = 4 << 20
    plan.find_algorithm(16)  # one for other addresses makes do with it
    assert [each[blas.PREF_MAX_WORKSPACE_BYTES] for _, each in library.searches] == [32 << 20, 1 << 20]
    run(cublas, problem_of(dtypes.float32, out, a, b), out, a, b)
    assert library.runs[0][1:] == (0x5000, 4 << 20, 0xABC)


def test_preferences_are_destroyed(cublas, library):
    out, a, b = arrays(dtypes.float32, 1, 2, 2, 2)
    cublas.plan(problem_of(dtypes.float32, out, a, b))
    assert len(library.objects) == 5  # handle, operation, three layouts


ROW, OUT = (8, 4, 1), (4, 2, 1)


@pytest.mark.parametrize(
    "problem",
    [
        Gemm(dtypes.int32, 1, 2, 2, 4, ROW, ROW, OUT),
        Gemm(dtypes.float32, 1, 2, 2, 0, ROW, ROW, OUT),
        Gemm(dtypes.float32, 1, 0, 2, 4, ROW, ROW, OUT),
        Gemm(dtypes.float32, 1, 2, 2, 4, (8, 0, 1), ROW, OUT),
        Gemm(dtypes.float32, 1, 2, 2, 4, (16, 8, 2), ROW, OUT),
        Gemm(dtypes.float32, 1, 2, 2, 4, ROW, ROW, (4, 1, 2), has_bias=True),
    ],
    ids=["integers", "no terms", "no rows", "repeated row", "two steps", "bias down the columns"],
)
def test_what_is_left_to_the_own_kernel(cublas, library, problem):
    assert arrange(problem) is None
    assert cublas.plan(problem) is None


@pytest.mark.parametrize("status", [0, blas.NOT_SUPPORTED])
def test_without_an_algorithm_there_is_no_plan(cublas, library, status):
    library.found = 0
    library.fails["cublasLtMatmulAlgoGetHeuristic"] = status
    out, a, b = arrays(dtypes.float32, 1, 2, 2, 2)
    assert cublas.plan(problem_of(dtypes.float32, out, a, b)) is None


@pytest.mark.parametrize("name", blas.SIGNATURES)
def test_every_status_is_checked(library, name):
    out, a, b = arrays(dtypes.float32, 2, 2, 2, 2, ("row", "column", "column"))
    library.fails[name] = 13
    with pytest.raises(errors.AcceleratorError, match=f"{name}: cuBLAS status 13; device is 0"):
        run(blas.Blas(library, 0, 32 << 20), problem_of(dtypes.float32, out, a, b), out, a, b)


def test_the_result_of_a_search_has_the_c_layout():
    assert ctypes.sizeof(blas.HeuristicResult) == 96


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ((3, 5, 1, 7), Matrix(3, 5, 7, False)),
        ((3, 5, 7, 1), Matrix(5, 3, 7, True)),
        ((1, 5, 99, 1), Matrix(1, 5, 1, False)),
        ((3, 1, 1, 1), Matrix(3, 1, 3, False)),
        ((3, 1, 4, 1), Matrix(1, 3, 4, True)),
        ((3, 5, 2, 7), None),
        ((3, 5, 1, 2), None),
    ],
)
def test_column_major(arguments, wanted):
    assert column_major(*arguments) == wanted


@pytest.mark.parametrize(
    ("addresses", "wanted"), [((0,), 256), ((512, 1024), 256), ((512, 16), 16), ((512, 2, 8), 2), ((7,), 1)]
)
def test_alignment(addresses, wanted):
    assert alignment_of(addresses) == wanted
