"""cuDNN's graphs for attention and convolutions, run by a stand-in that does each operation in NumPy on the host."""

from __future__ import annotations

import ctypes
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from flambeau import dtypes, errors
from flambeau.core.nvidia import Stream
from flambeau.driver.nvidia import dnn
from flambeau.driver.nvidia import dnn as dg
from flambeau.host import address_of, bytes_at
from flambeau.library_operation import CONVOLUTIONS, Attention, AttentionBackward, Convolution
from flambeau.strides import contiguous

NUMPY = {number: dtype.numpy for dtype, number in dg.DATA_TYPES.items()}
STREAM = Stream(0, 0xABC, is_ours=True)
BAD_PARAMETER, NOT_SUPPORTED, FAILED = 2000, 3001, 5000


class FakeDnn:
    """A stand-in for cuDNN: descriptors are dicts of the attributes that were set; addresses are of host memory.

    fails: the status of a call, by its name, or by (name, kind of descriptor).
    """

    def __init__(self):
        self.objects = {}
        self.calls = []
        self.handles = itertools.count(1000)
        self.fails = {}
        self.configurations = 2
        self.notes = [(), ()]  # numerical notes of the engines of the configurations
        self.cudnnGetVersion = lambda: 91_900
        self.cudnnGetLastErrorString = lambda message, size: setattr(message, "value", b"because\n of it")

    def __getattr__(self, name):
        return lambda *arguments: self._dispatch(name, arguments)

    def _dispatch(self, name, arguments):
        self.calls.append(name)
        kind = self.objects.get(arguments[0], {}).get("kind") if name.startswith("cudnnBackend") else None
        failure = self.fails.get((name, kind), self.fails.get(name, 0))
        if not failure and name == "cudnnCreate":
            arguments[0]._obj.value = 0xD
        elif not failure and name.startswith("cudnnBackend"):
            getattr(self, "_" + name.removeprefix("cudnnBackend").lower())(*arguments)
        return failure

    def _createdescriptor(self, kind, made):
        made._obj.value = next(self.handles)
        self.objects[made._obj.value] = {"kind": kind}

    def _destroydescriptor(self, descriptor):
        del self.objects[descriptor]

    def _setattribute(self, descriptor, attribute, kind, count, elements):
        assert count == len(elements) and "final" not in self.objects[descriptor]
        self.objects[descriptor][attribute] = elements.raw if kind == dg.CHAR else list(elements)

    def _finalize(self, descriptor):
        self.objects[descriptor]["final"] = True

    def _getattribute(self, descriptor, attribute, kind, count, found, elements):
        of = self.objects[descriptor]
        if attribute == dnn.HEURISTIC_RESULTS:
            found._obj.value = self.configurations
            for made in list(elements)[: self.configurations]:
                self.objects[made][dnn.HEURISTIC_GRAPH] = of[dnn.HEURISTIC_GRAPH]
                self.objects[made]["notes"] = self.notes[list(elements).index(made)]
        elif attribute == dnn.CONFIGURATION_ENGINE:
            self.objects[elements[0]]["notes"] = of["notes"]
        elif attribute == dnn.ENGINE_NOTES:
            found._obj.value = len(of["notes"])
            elements[: len(of["notes"])] = list(of["notes"])
        elif attribute == dnn.PLAN_WORKSPACE:
            elements[0] = 300
        else:
            text = of.get(dnn.PLAN_JSON) or str(of[dnn.PLAN_CONFIGURATION][0]).encode()
            found._obj.value = len(text)
            if count:
                elements.raw = text

    def _execute(self, handle, plan, pack):
        of = self.objects[plan]
        configuration = of[dnn.PLAN_CONFIGURATION][0] if dnn.PLAN_CONFIGURATION in of else int(of[dnn.PLAN_JSON])
        named = self.objects[pack]
        pointers = dict(zip(named[dnn.PACK_UIDS], named[dnn.PACK_POINTERS], strict=True))
        (graph,) = self.objects[configuration][dnn.HEURISTIC_GRAPH]
        Run(self.objects, pointers).all(self.objects[graph][dg.GRAPH_OPERATIONS])


class Run:
    """One execution: operations in order, half values rounded as they are stored."""

    def __init__(self, objects, pointers):
        self.objects, self.pointers, self.values = objects, pointers, {}

    def all(self, operations):
        steps = {dg.MATMUL: self.matmul, dg.POINTWISE: self.pointwise, dg.REDUCE: self.reduce, dg.RESHAPE: self.reshape}
        steps |= dict.fromkeys((dg.CONVOLUTION, dg.CONVOLUTION_INPUT, dg.CONVOLUTION_WEIGHT), self.convolution)
        for each in operations:
            of = self.objects[each]
            steps[of["kind"]](of)

    def array(self, descriptor):
        of = self.objects[descriptor]
        assert of[dg.TENSOR_ALIGNMENT] == [16]
        if of[dg.TENSOR_VIRTUAL] == [True]:
            if descriptor not in self.values:
                self.values[descriptor] = np.full(of[dg.TENSOR_SIZES], np.nan, "float32")
            return self.values[descriptor]
        kind = NUMPY[of[dg.TENSOR_TYPE][0]]
        sizes, strides = of[dg.TENSOR_SIZES], of[dg.TENSOR_STRIDES]
        count = 1 + sum((size - 1) * step for size, step in zip(sizes, strides))
        flat = bytes_at(self.pointers[of[dg.TENSOR_UID][0]], count * kind.itemsize).view(kind)
        return np.lib.stride_tricks.as_strided(flat, sizes, [step * kind.itemsize for step in strides])

    def read(self, of, name):
        return self.array(of[name][0]).astype("float32") if name in of else None

    def write(self, of, name, value):
        out = self.array(of[name][0])
        assert out.shape == value.shape
        out[...] = value

    def matmul(self, of):
        a, b = self.read(of, dg.MATMUL_A), self.read(of, dg.MATMUL_B)
        self.write(of, dg.MATMUL_C, a @ np.repeat(b, a.shape[1] // b.shape[1], axis=1))

    def reduce(self, of):
        x, out = self.read(of, dg.REDUCE_X), self.array(of[dg.REDUCE_Y][0])
        operator = self.objects[of[dg.REDUCE_OF][0]][dg.REDUCE_OPERATOR][0]
        if x.shape[1] != out.shape[1]:  # the heads of a group
            x = x.reshape(x.shape[0], out.shape[1], -1, *x.shape[2:]).sum(2)
        else:
            x = {dg.SUM: np.sum, dg.MAX: np.max}[operator](x, axis=-1, keepdims=True)
        self.write(of, dg.REDUCE_Y, x)

    def reshape(self, of):
        self.write(of, dg.RESHAPE_Y, self.read(of, dg.RESHAPE_X).swapaxes(2, 3))

    def convolution(self, of):
        """From the definition, one product of numbers after the other."""
        which = next(each for each in dg.CONVOLVING.values() if each.kind == of["kind"])
        x, w, y = (self.array(of[name][0]) for name in (which.x, which.w, which.y))
        how = self.objects[of[which.of][0]]
        assert (of[which.alpha], of[which.beta], how[dg.CONVOLUTION_KIND]) == ([1], [0], [dg.CROSS_CORRELATION])
        spatial = how[dg.CONVOLUTION_DIMS][0]
        front, behind = how[dg.CONVOLUTION_FRONT], how[dg.CONVOLUTION_BEHIND]
        steps, spread = how[dg.CONVOLUTION_STRIDES], how[dg.CONVOLUTION_DILATIONS]
        for dim in range(spatial):
            reach = (w.shape[2 + dim] - 1) * spread[dim] + 1
            padded = x.shape[2 + dim] + front[dim] + behind[dim]
            assert y.shape[2 + dim] == (padded - reach) // steps[dim] + 1 and behind[dim] >= 0
        result = {dg.CONVOLUTION: y, dg.CONVOLUTION_INPUT: x, dg.CONVOLUTION_WEIGHT: w}[of["kind"]]
        sums = np.zeros(result.shape)
        terms, outputs = w.shape[1], w.shape[0] * w.shape[1] // x.shape[1]
        for n, o, *at in np.ndindex(*y.shape):
            for c, *k in np.ndindex(*w.shape[1:]):
                place = [p * s - f + e * d for p, s, f, e, d in zip(at, steps, front, k, spread)]
                if all(0 <= a < size for a, size in zip(place, x.shape[2:])):
                    of_x, of_w, of_y = (n, o // outputs * terms + c, *place), (o, c, *k), (n, o, *at)
                    if result is y:
                        sums[of_y] += float(x[of_x]) * float(w[of_w])
                    elif result is x:
                        sums[of_x] += float(y[of_y]) * float(w[of_w])
                    else:
                        sums[of_w] += float(x[of_x]) * float(y[of_y])
        result[...] = sums

    def pointwise(self, of):
        described = self.objects[of[dg.POINTWISE_OF][0]]
        x, b = self.read(of, dg.POINTWISE_X), self.read(of, dg.POINTWISE_B)
        mode = described[dg.POINTWISE_MODE][0]
        if mode == dg.INDEX:
            value = np.indices(x.shape)[described[dg.POINTWISE_AXIS][0]]
        elif mode == dg.SELECT:
            value = np.where(self.read(of, dg.POINTWISE_T) != 0, x, b)
        elif b is None:
            value = {dg.EXP: np.exp, dg.LOG: np.log, dg.IDENTITY: np.copy}[mode](x)
        else:
            two = {dg.ADD: np.add, dg.MUL: np.multiply, dg.DIV: np.divide, dg.SUB: np.subtract}
            value = (two | {dg.GREATER_EQUAL: np.greater_equal})[mode](x, b)
        self.write(of, dg.POINTWISE_Y, value)


@pytest.fixture
def library(tmp_path, monkeypatch):
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))
    return FakeDnn()


@pytest.fixture
def cudnn(library):
    dnn.warn.cache_clear()
    return dnn.Dnn(library, 0, "Fake GPU", "sm_90")


def laid_out(values, heads_inside):
    return values.swapaxes(1, 2).copy().swapaxes(1, 2) if heads_inside else values


def steps(array):
    return tuple(step // array.itemsize for step in array.strides)


def arrays(kind, sizes, heads_inside=False):
    """(out, query, key, value): zeros, and numbers."""
    b, h, g, q, k, d, e = sizes
    random = np.random.default_rng(4)
    shapes = (b, h, q, d), (b, g, k, d), (b, g, k, e)
    inputs = [laid_out(random.uniform(-1, 1, shape).astype(kind.numpy), heads_inside) for shape in shapes]
    return laid_out(np.zeros((b, h, q, e), kind.numpy), heads_inside), *inputs


def problem_of(kind, out, query, key, value, is_causal=True, scale=0.4):
    b, h, q, d = query.shape
    sizes = b, h, key.shape[1], q, key.shape[2], d, value.shape[3]
    return Attention(kind, *sizes, scale, is_causal, *map(steps, (query, key, value, out)))


SIZES = [(2, 4, 4, 5, 7, 8, 8), (1, 4, 2, 9, 6, 16, 8), (1, 2, 1, 3, 8, 8, 24)]
CASES = [(sizes, is_causal) for sizes in SIZES for is_causal in (False, True)]


@pytest.mark.parametrize("heads_inside", [False, True])
@pytest.mark.parametrize(("sizes", "is_causal"), CASES, ids=str)
@pytest.mark.parametrize("kind", dnn.HALVES, ids=lambda each: each.name)
def test_the_graphs_mean_what_the_problems_do(cudnn, kind, sizes, is_causal, heads_inside):
    out, *inputs = arrays(kind, sizes, heads_inside)
    forward = problem_of(kind, out, *inputs, is_causal)
    logsumexp, wanted_log = np.zeros((2, *out.shape[:3]), "float32")
    cudnn.plan(forward).run(tuple(map(address_of, (out, logsumexp, *inputs))), 0, STREAM)
    wanted = np.zeros_like(out)
    forward.reference(wanted, wanted_log, *inputs)
    tolerance = {"rtol": 0, "atol": 2.0 ** (-8 if kind is dtypes.float16 else -5)}
    np.testing.assert_allclose(logsumexp, wanted_log, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(out.astype("float32"), wanted.astype("float32"), **tolerance)

    grad = laid_out(np.random.default_rng(5).uniform(-1, 1, out.shape).astype(kind.numpy), heads_inside)
    results, expected = [[laid_out(np.zeros_like(each), heads_inside) for each in inputs] for _ in range(2)]
    backward = AttentionBackward(forward, steps(grad), *map(steps, results))
    plan = cudnn.plan(backward)
    workspace = np.zeros(plan.workspace_nbytes, "uint8")
    saved = grad, out, logsumexp, *inputs
    plan.run(tuple(map(address_of, (*results, *saved))), address_of(workspace), STREAM)
    backward.reference(*expected, *saved)
    for found, want in zip(results, expected):
        np.testing.assert_allclose(found.astype("float32"), want.astype("float32"), **tolerance)


def small(kind=dtypes.float16, **options):
    return problem_of(kind, *arrays(kind, SIZES[0]), **options)


def run(plan, count=5, workspace=0, stream=STREAM):
    held = [np.zeros(4096, "uint8") for _ in range(count)]
    plan.run(tuple(map(address_of, held)), workspace, stream)


def test_a_plan_is_compiled_once_and_then_read_from_disk(cudnn, library):
    cudnn.plan(small())
    assert dg.GRAPH in [each["kind"] for each in library.objects.values()]
    library.calls.clear()
    again = dnn.Dnn(library, 1, "Fake GPU", "sm_90")
    seen = set(library.objects)
    run(again.plan(small()))
    made = [library.objects[each] for each in set(library.objects) - seen]
    assert dg.GRAPH not in [each["kind"] for each in made]
    assert [each for each in made if dnn.PLAN_JSON in each]


@pytest.mark.parametrize("other", [("Other GPU", "sm_90"), ("Fake GPU", "sm_80")])
def test_another_device_compiles_its_own(cudnn, library, other):
    cudnn.plan(small())
    seen = set(library.objects)
    dnn.Dnn(library, 1, *other).plan(small())
    assert dg.GRAPH in [library.objects[each]["kind"] for each in set(library.objects) - seen]


def test_a_kept_plan_that_is_not_taken_is_compiled_again(cudnn, library, monkeypatch):
    cudnn.plan(small())
    compiled = []
    monkeypatch.setattr(dnn.Dnn, "_restored", lambda self, kept: None)
    monkeypatch.setattr(dnn.Dnn, "_chosen", lambda self, program: compiled.append(1) or cudnn_plan(library))
    cudnn.plan(small())
    assert compiled == [1]


def cudnn_plan(library):
    library.objects[7] = {"kind": dg.PLAN, dnn.PLAN_CONFIGURATION: [7]}
    return 7


def test_the_next_configuration_is_tried_where_one_is_refused(cudnn, library):
    refused = []

    def finalize(descriptor):
        if library.objects[descriptor]["kind"] == dg.PLAN and not refused:
            refused.append(descriptor)
            return NOT_SUPPORTED
        library.objects[descriptor]["final"] = True
        return 0

    library.cudnnBackendFinalize = finalize
    assert cudnn.plan(small()) is not None and len(refused) == 1


@pytest.mark.parametrize("status", [BAD_PARAMETER, NOT_SUPPORTED])
def test_a_refusal_is_said_once_and_leaves_no_plan(cudnn, library, status):
    library.fails["cudnnBackendFinalize", dg.PLAN] = status
    with pytest.warns(RuntimeWarning, match=f"cuDNN refuses an attention .*status {status}: because of it.*own kernel"):
        assert cudnn.plan(small()) is None
    library.configurations = 0
    with pytest.warns(RuntimeWarning, match="no kernel for it"):
        assert cudnn.plan(small()) is None


@pytest.mark.parametrize("name", [*dnn.SIGNATURES])
def test_every_status_is_checked(library, name):
    library.fails[name] = FAILED
    with pytest.raises(errors.AcceleratorError, match=f"{name}: cuDNN status 5000: because of it"):
        run(dnn.Dnn(library, 0, "Fake GPU", "sm_90").plan(small()))


def test_a_run_leaves_no_descriptor(cudnn, library):
    plan = cudnn.plan(small())
    before = set(library.objects)
    library.calls.clear()
    run(plan, workspace=512)
    assert set(library.objects) == before
    assert library.calls.count("cudnnBackendExecute") == 1 and library.calls[-1] == "cudnnBackendDestroyDescriptor"
    library.fails["cudnnBackendExecute"] = FAILED
    with pytest.raises(errors.AcceleratorError, match="cudnnBackendExecute"):
        run(plan, workspace=512)
    assert set(library.objects) == before


def test_the_stream_is_set_where_it_differs(cudnn, library):
    plan = cudnn.plan(small())
    for stream in (STREAM, STREAM, Stream(0, 0xDEF, is_ours=True)):
        run(plan, stream=stream)
    assert library.calls.count("cudnnSetStream") == 2


def test_the_workspace_holds_cudnns_and_ours(cudnn):
    forward = small()
    assert cudnn.plan(forward).workspace_nbytes == 512
    backward = AttentionBackward(forward, *[contiguous(each) for each in (
        forward.out_shape, forward.query_shape, forward.key_shape, forward.value_shape,
    )])  # fmt: skip
    assert cudnn.plan(backward).workspace_nbytes == 512 + 256 + 1280  # 40 sums, and 40 rows of 8, of 4 bytes


def with_(problem, **changes):
    return problem._replace(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"dtype": dtypes.float32},
        {"scale": 0.0},
        {"scale": -1.0},
        {"scale": float("nan")},
        {"keys": 0},
        {"head_dim": 12},
        {"head_dim": 264, "value_dim": 264},
        {"head_dim": 136},
        {"query_strides": (160, 40, 8, 2)},
        {"query_strides": (160, 40, 9, 1)},
        {"out_strides": (0, 40, 8, 1)},
    ],
    ids=str,
)
def test_what_is_left_to_the_own_kernel(cudnn, library, changes):
    library.calls.clear()
    assert cudnn.plan(with_(small(), **changes)) is None
    assert library.calls == []


def test_the_gradients_of_one_query_are_left_to_the_own_kernel():
    forward = with_(small(), queries=1)
    assert dnn.takes(forward)
    rows = (160, 40, 8, 1)
    assert not dnn.takes(AttentionBackward(forward, rows, rows, rows, rows))
    assert dnn.takes(AttentionBackward(small(), rows, rows, rows, rows))
    assert not dnn.takes(AttentionBackward(small(), (0, 0, 0, 0), rows, rows, rows))


def loaded(monkeypatch, version=91_900, cudart=13_000, has_blas=True):
    functions = {name: SimpleNamespace() for name in (*dnn.SIGNATURES, "cudnnGetLastErrorString")}
    version_of = {"cudnnGetVersion": version, "cudnnGetCudartVersion": cudart}

    class Number:
        def __init__(self, value):
            self.value = value

        def __call__(self):
            return self.value

    library = SimpleNamespace(**functions, **{name: Number(value) for name, value in version_of.items()})
    monkeypatch.setattr(dnn, "open_first", lambda *paths: library)
    monkeypatch.setattr(dnn, "_has_blas", lambda major: has_blas and major == 13)
    return dnn.load()


def test_loading_declares_every_signature(monkeypatch):
    library, problem = loaded(monkeypatch)
    assert problem == ""
    assert library.cudnnBackendExecute.argtypes == dnn.SIGNATURES["cudnnBackendExecute"]
    assert library.cudnnGetVersion.restype is ctypes.c_size_t


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"version": 91_400}, "cuDNN 91400 is older than 91600"),
        ({"has_blas": False}, "needs cuBLAS for CUDA 13, which was not found"),
    ],
)
def test_why_cudnn_is_not_used(monkeypatch, options, why):
    library, problem = loaded(monkeypatch, **options)
    assert library is None and why in problem


def test_without_cudnn_there_is_none(monkeypatch):
    monkeypatch.setattr(dnn, "packaged", lambda name: ())
    monkeypatch.setattr(dnn, "SONAMES", ("libcudnn-that-is-not-there.so",))
    assert dnn.load() == (None, "cuDNN was not found")


def test_a_missing_cudnn_is_said_once():
    dnn.warn.cache_clear()
    with pytest.warns(RuntimeWarning, match="cuDNN was not found, so attention runs .* pip install nvidia-cudnn-cu13"):
        dnn.warn("cuDNN was not found")
    dnn.warn("cuDNN was not found")  # a second warning would be an error here


# convolutions


def convolved(kind=dtypes.float32, which="convolution", allow_tf32=False, spatial=2, padding=(1, 0, 1), behind=1):
    """(problem, (x, w, y)) with numbers in the operands.  behind: the padding behind the first dimension."""
    random = np.random.default_rng(2)
    stride, front, dilation = (2, 1, 1)[:spatial], padding[:spatial], (1, 2, 1)[:spatial]
    x, w = (2, 4, 5, 6, 3)[: 2 + spatial], (6, 2, 2, 3, 2)[: 2 + spatial]
    extra = (behind, *front[1:])
    sizes = zip(x[2:], front, extra, dilation, w[2:], stride)
    y = (2, 6, *((size + f + b - d * (k - 1) - 1) // s + 1 for size, f, b, d, k, s in sizes))
    arrays = [random.uniform(-1, 1, shape).astype(kind.numpy) for shape in (x, w, y)]
    arrays[0] = np.moveaxis(np.ascontiguousarray(np.moveaxis(arrays[0], 1, -1)), -1, 1)
    shapes = [each.shape for each in arrays]
    problem = Convolution(which, kind, *shapes, *map(steps, arrays), stride, front, dilation, 2, allow_tf32)
    return problem, arrays


@pytest.mark.parametrize("behind", [0, 1, 2])
@pytest.mark.parametrize("spatial", [2, 3])
@pytest.mark.parametrize("which", CONVOLUTIONS)
@pytest.mark.parametrize("kind", dnn.CONVOLVED_TYPES, ids=lambda each: each.name)
def test_the_graph_of_a_convolution_means_what_the_problem_does(cudnn, kind, which, spatial, behind):
    problem, found = convolved(kind, which, spatial=spatial, behind=behind)
    _, wanted = convolved(kind, which, spatial=spatial, behind=behind)
    cudnn.plan(problem).run(tuple(map(address_of, found)), 0, STREAM)
    problem.reference(*wanted)
    tolerance = {"float64": 1e-12, "float32": 1e-5}.get(kind.name, 2.0**-5)
    for one, want in zip(found, wanted):
        np.testing.assert_allclose(one.astype("float64"), want.astype("float64"), rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("kind", "allow_tf32", "notes", "taken"),
    [
        (dtypes.float32, False, dnn.TENSOR_CORE, False),
        (dtypes.float32, True, dnn.TENSOR_CORE, True),
        (dtypes.float16, False, dnn.TENSOR_CORE, True),
        (dtypes.float32, True, dnn.DOWN_CONVERT_INPUTS, False),
        (dtypes.float16, True, dnn.NONDETERMINISTIC, False),
    ],
)
def test_engines_that_are_not_allowed_are_passed_over(cudnn, library, kind, allow_tf32, notes, taken):
    library.notes = [(notes,), ()]
    cudnn.plan(convolved(kind, allow_tf32=allow_tf32)[0])
    chosen = [each[dnn.PLAN_CONFIGURATION][0] for each in library.objects.values() if dnn.PLAN_CONFIGURATION in each]
    assert [library.objects[each]["notes"] for each in chosen] == [(notes,) if taken else ()]


def test_a_convolution_that_no_engine_may_compute_is_left_to_the_own_kernel(cudnn, library):
    library.notes = [(dnn.NONDETERMINISTIC,)] * 2
    with pytest.warns(RuntimeWarning, match="refuses a convolution .*no kernel for it.*so convolutions run many times"):
        assert cudnn.plan(convolved()[0]) is None


def test_a_plan_without_a_text_form_is_used_and_not_kept(cudnn, library):
    problem, arrays = convolved()
    wanted = convolved()[1]
    dispatch = library._dispatch
    library._dispatch = lambda name, arguments: (
        NOT_SUPPORTED
        if name == "cudnnBackendGetAttribute" and arguments[1] == dnn.PLAN_JSON
        else dispatch(name, arguments)
    )
    cudnn.plan(problem).run(tuple(map(address_of, arrays)), 0, STREAM)
    problem.reference(*wanted)
    np.testing.assert_allclose(arrays[2], wanted[2], rtol=0, atol=1e-5)


def test_integers_are_left_to_the_own_kernel(cudnn, library):
    library.calls.clear()
    assert cudnn.plan(convolved(dtypes.int64)[0]) is None
    assert library.calls == []
