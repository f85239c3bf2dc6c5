"""torch.cuda.kernel: kernels of a program, with their NumPy references, on virtual GPUs."""

import copy
import pickle
import re
import struct
import traceback

import numpy as np
import pytest

import flambeau as torch
from flambeau import driver as drivers
from flambeau import errors
from flambeau.config import Gpus
from flambeau.core import thread
from flambeau.driver.nvidia.compile import compile_cubin
from flambeau.driver.nvidia.driver import NvidiaDriver
from flambeau.runtime.machine import Machine
from flambeau.testing import check, machine

SOURCE = """
extern "C" __global__ void scale(float* out, const float* x, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = factor * x[i];
}
"""
DECLARED = {"out": "w[n]", "x": "r[n]"}


def scale_reference(out, x, factor, n):
    np.multiply(x, np.float32(factor), out=out)


def scale_kernel(reference=scale_reference, parameters=DECLARED):
    return torch.cuda.kernel(SOURCE, "scale", parameters, reference=reference)


scale = scale_kernel()


def of_one(text, reference, parameters=None):
    """A kernel `f` with these C parameters."""
    return torch.cuda.kernel(f'extern "C" __global__ void f({text}) {{}}', "f", parameters, reference=reference)


@pytest.fixture
def gpus():
    """Run these tests on virtual GPUs, on which alone references run."""
    with machine(devices=2) as made:
        yield made


@pytest.fixture
def x(gpus):
    return torch.arange(4.0, device="cuda")


def test_it_runs_its_reference(x):
    out = torch.empty_like(x)
    assert scale(grid=(1, 1, 1), block=(256, 1, 1), args=[out, x, 10.0, 4]) is None
    assert out.tolist() == [0, 10, 20, 30]
    assert repr(scale) == "CudaKernel(scale(out: w float32[n], x: r float32[n], factor: float32, n: int32))"


def test_the_reference_gets_what_the_launch_says(gpus):
    seen = []

    def reference(a, b, c, d, e, n, wide, yes, small, *, grid, block):
        seen.append((a.shape, a.dtype.name, b.shape, b.flags.writeable, c, d.shape, e.shape, n, wide, yes, small))
        seen.append((grid, block))

    text = "float* a, const __nv_bfloat16* b, int* c, void* d, float* e, short n, double wide, bool yes, uint8_t small"
    kernel = of_one(text, reference, {"a": "rw[n, 2]", "n": "int16"})
    a, b = torch.zeros(3, 3, device="cuda"), torch.zeros(2, 1, 2, device="cuda", dtype=torch.bfloat16)
    d, e = torch.zeros((), device="cuda", dtype=torch.int8), torch.zeros(0, 3, device="cuda")
    kernel(grid=(2, 3), block=[8, 4, 2], args=[a, b, None, d, e, np.int64(4), 1, True, 255], shared_mem=128)
    torch.cuda.synchronize()
    assert seen == [
        ((4, 2), "float32", (2, 1, 2), False, None, (), (0, 3), 4, 1.0, True, 255),
        ((2, 3, 1), (8, 4, 2)),
    ]


def test_numbers_reach_the_reference_as_the_kernel_gets_them(gpus):
    seen = []
    of_one("float a, unsigned long long b", lambda a, b: seen.append((a, b)))(args=[0.1, 2**64 - 1])
    torch.cuda.synchronize()
    assert seen == [(float(np.float32(0.1)), 2**64 - 1)]


def test_nothing_runs_before_it_is_waited_for(x):
    ran = []
    of_one("float* x", ran.append)(args=[x])
    assert ran == []
    torch.cuda.synchronize()
    assert len(ran) == 1


def test_pinned_memory_is_reached_from_the_device(gpus):
    x, out = torch.ones(3).pin_memory(), torch.empty(3, device="cuda")
    scale(args=[out, x, 2, 3])
    assert out.tolist() == [2, 2, 2]


def test_it_runs_on_the_device_of_its_tensors(gpus):
    x = torch.ones(3, device="cuda:1")
    out = torch.empty_like(x)
    scale(args=[out, x, 2, 3])
    assert out.tolist() == [2, 2, 2] and torch.cuda.current_device() == 0


def test_streams_order_it(x):
    side, out = torch.cuda.Stream(), torch.empty_like(x)
    side.wait_stream(torch.cuda.current_stream())
    scale(args=[out, x, 2, 4], stream=side)
    torch.cuda.current_stream().wait_stream(side)
    assert (out + 1).tolist() == [1, 3, 5, 7]
    with torch.cuda.stream(side):
        scale(args=[out, x, 3, 4])
    side.synchronize()
    assert out.cpu().tolist() == [0, 3, 6, 9]


def test_an_unordered_read_is_a_race():
    with machine(races="error"):
        x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
        out = torch.empty_like(x)
        side.wait_stream(torch.cuda.current_stream())
        scale(args=[out, x, 2, 4], stream=side)
        scale(args=[torch.empty_like(x), x, 2, 4])  # both only read x
        with pytest.raises(errors.RaceError) as caught:
            scale(args=[torch.empty_like(x), out, 2, 4])
    reader, writer = caught.value.accesses
    assert (reader.operator, reader.verb, writer.operator, writer.verb) == ("scale", "reads", "scale", "writes")
    assert reader.shape == writer.shape == (4,) and reader.dtype == "float32"


def test_only_the_declared_elements_are_accessed():
    with machine(races="error"):
        x, side = torch.ones(8, device="cuda"), torch.cuda.Stream()
        out = torch.zeros_like(x)
        side.wait_stream(torch.cuda.current_stream())
        scale(args=[out, x, 2, 4], stream=side)
        scale(args=[out[4:], x, 3, 4])  # other elements
        torch.cuda.synchronize()
        assert out.tolist() == [2, 2, 2, 2, 3, 3, 3, 3]


def test_check_names_the_kernel_and_the_variables(gpus):
    with check() as report:
        x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
        out = torch.zeros_like(x)
        scale(args=[out, x, 2, 4], stream=side)
        torch.cuda.synchronize()
    found = [(race.newer.operator, race.newer.verb, race.newer.name) for race in report.races]
    assert found == [("scale", "writes", "out")]
    assert [edit.statement for edit in report.edits] == ["side.wait_stream(torch.cuda.default_stream())"]


def test_a_graph_replays_it(x):
    out, graph = torch.empty_like(x), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scale(args=[out, x, 2, 4])
    x.fill_(5)
    graph.replay()
    assert out.tolist() == [10, 10, 10, 10]
    x.fill_(6)
    graph.replay()
    assert out.tolist() == [12, 12, 12, 12]


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        out = torch.empty_like(x)
        scale(args=[out, x, factor, x.numel()])
        return out

    @staticmethod
    def backward(ctx, grad):
        out = torch.empty_like(grad)
        scale(args=[out, grad.contiguous(), ctx.factor, grad.numel()])
        return out, None


def test_a_function_of_autograd(x):
    y = x.requires_grad_() * 1
    Scale.apply(y, 3.0).sum().backward()
    assert x.grad.tolist() == [3, 3, 3, 3]


def test_a_write_counts_as_one(x):
    w = torch.ones(4, device="cuda", requires_grad=True)
    y = w * x
    scale(args=[x, torch.ones(4, device="cuda"), 2, 4])
    with pytest.raises(errors.AutogradError, match=r"float32\[4\]"):
        y.sum().backward()


def test_an_array_may_be_its_own_operand(x):
    scale(args=[x, x, 2, 4])
    assert x.tolist() == [0, 2, 4, 6]


def test_a_copy_is_the_kernel_itself_and_it_is_not_pickled():
    assert copy.deepcopy([scale])[0] is copy.copy(scale) is scale
    with pytest.raises(errors.ArgumentTypeError, match=r"^cuda\.kernel: scale cannot be pickled(.|\n)*hint: "):
        pickle.dumps(scale)


def test_tensors_of_a_machine_that_has_ended(gpus):
    x = torch.ones(4, device="cuda")
    with machine():
        y = torch.ones(4, device="cuda")
        for args in ([x, y, 1, 4], [y, x, 1, 4]):
            with pytest.raises(errors.AcceleratorError, match="^scale: 16 bytes of cuda:0 .* no longer exists"):
                scale(args=args)


def test_tools_see_it(x, tmp_path):
    out, graph = torch.empty_like(x), torch.cuda.CUDAGraph()
    with torch.profiler.profile(record_shapes=True) as profile:
        scale(args=[out, x, 2, 4])
        torch.cuda.synchronize()
    assert [(event.name, event.input_shapes) for event in profile.events()] == [("scale", ((4,), (4,)))]
    graph.enable_debug_mode()
    with torch.cuda.graph(graph):
        scale(args=[out, x, 2, 4])
    graph.debug_dump(tmp_path / "graph.dot")
    assert "scale" in (tmp_path / "graph.dot").read_text()


@pytest.mark.parametrize(("access", "found"), [("w", [7, None, None, None]), ("rw", [7, 1, 2, 3])])
def test_what_a_reference_leaves_out_of_a_written_array_is_poison(x, access, found):
    def reference(x):
        x[0] = 7

    of_one("float* x", reference, {"x": access})(args=[x])
    assert [None if np.isnan(value) else value for value in x.tolist()] == found


def failing(x):
    x[4] = 1


def test_a_reference_that_fails_reaches_the_next_wait(x):
    of_one("float* x", failing)(args=[x])
    with pytest.raises(errors.KernelReferenceError) as caught:
        x.sum().item()
    assert re.match(r"f: .* device 0, .*test_user_kernel\.py:\d+: IndexError: index 4", str(caught.value))
    cause = caught.value.__cause__
    assert isinstance(cause, IndexError)
    assert traceback.extract_tb(cause.__traceback__)[-1].lineno == failing.__code__.co_firstlineno + 1
    assert (x + 1).tolist() == [1, 2, 3, 4]  # the device is usable


def test_a_reference_that_writes_what_it_only_reads_fails(x):
    def reference(x):
        x += 1

    of_one("const float* x", reference)(args=[x])
    with pytest.raises(errors.KernelReferenceError, match='read-only(.|\n)*hint: .*"rw"'):
        torch.cuda.synchronize()
    assert x.tolist() == [0, 1, 2, 3]


def test_a_reference_returns_nothing(x):
    of_one("float* x", lambda x: x * 2)(args=[x])
    with pytest.raises(errors.KernelReferenceError, match="TypeError: it returned a ndarray,"):
        torch.cuda.synchronize()


def test_an_error_of_flambeau_in_a_reference_does_not_stop_the_device(x):
    def reference(x):
        torch.ones(2) + torch.ones(3)

    of_one("float* x", reference)(args=[x])
    with pytest.raises(errors.KernelReferenceError, match="ShapeError"):
        torch.cuda.synchronize()
    assert x.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("wait", [lambda: torch.cuda.synchronize(), lambda: torch.ones(3, device="cuda").tolist()])
def test_a_reference_that_waits_for_a_gpu_fails(x, wait):
    def reference(x):
        wait()
        x[:] = 1

    of_one("float* x", reference)(args=[x])
    with pytest.raises(errors.KernelReferenceError, match="NotSupportedError: f: .* waits for a GPU(.|\n)*NumPy"):
        x.tolist()
    assert x.tolist() == [0, 1, 2, 3]


def test_a_reference_that_exits_leaves_its_stream_usable(x):
    def reference(x):
        raise SystemExit(3)

    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    of_one("float* x", reference, {"x": "rw"})(args=[x], stream=side)
    torch.cuda.current_stream().wait_stream(side)
    y = x + 1
    with pytest.raises(SystemExit):
        y.tolist()
    assert y.tolist() == [1, 2, 3, 4]


def test_a_failed_assertion_stops_the_device(x):
    def reference(x):
        raise errors.DeviceAssertError("x is negative")

    of_one("float* x", reference)(args=[x])
    for _ in range(2):
        with pytest.raises(errors.AcceleratorError, match="x is negative|device-side assert") as caught:
            torch.cuda.synchronize()
        assert caught.value.sticky


def test_the_end_of_a_program_reports_failures_and_runs_the_rest(x, capsys):
    out = torch.empty_like(x)
    kernel = of_one("float* x", failing)
    kernel(args=[x])
    scale(args=[out, x, 2, 4])
    kernel(args=[x])
    torch.core.thread.machine().driver.drain()
    assert capsys.readouterr().err.count("f: the kernel's reference failed") == 2
    assert out.tolist() == [0, 2, 4, 6]


def test_without_a_reference_it_does_not_run_on_virtual_gpus(x):
    with pytest.raises(errors.NotSupportedError, match=r"^scale: virtual GPUs.*\nhint: .*reference="):
        torch.cuda.kernel(SOURCE, "scale")(args=[x, x, 1, 4])
    with pytest.raises(errors.NotSupportedError, match=r"^scale: the kernel has no .*\nhint: .*reference="):
        scale_kernel(None).run_reference([np.ones(2), np.ones(2), 1.0, 2], 1, 2)


# arguments of a launch

X = "float32[4] on cuda:0"
LAUNCHES = {
    "few": (lambda x: {"args": [x, x, 1]}, errors.ArgumentError, ["3", "4", "out, x, factor, n"]),
    "none": (lambda x: {}, errors.ArgumentError, ["0", "4"]),
    "no list": (lambda x: {"args": x}, errors.ArgumentTypeError, [X]),
    "beyond": (lambda x: {"args": [x, x, 1, 5]}, errors.ShapeError, ["out", X, "[n] = [5]"]),
    "negative": (lambda x: {"args": [x, x, 1, -1]}, errors.ShapeError, ["out", "[n] = [-1]"]),
    "dtype": (
        lambda x: {"args": [x, x.double(), 1, 4]}, errors.DtypeError, ["x must be float32", "float64[4]"],
    ),
    "cpu": (lambda x: {"args": [x, x.cpu(), 1, 4]}, errors.DeviceMismatchError, ["x is float32[4] on cpu", "cuda:0"]),
    "device": (lambda x: {"args": [x, x.to("cuda:1"), 1, 4]}, errors.DeviceMismatchError, ["cuda:1", "cuda:0"]),
    "stream": (
        lambda x: {"args": [x, x, 1, 4], "stream": torch.cuda.Stream(1)}, errors.DeviceMismatchError, [X, "cuda:1"],
    ),
    "strides": (lambda x: {"args": [x, x[::2], 1, 2]}, errors.ShapeError, ["x is not contiguous", "[2]"]),
    "number for array": (lambda x: {"args": [x, 5, 1, 4]}, errors.ArgumentTypeError, ["x must be a tensor", "5"]),
    "array": (lambda x: {"args": [x, np.ones(4), 1, 4]}, errors.ArgumentTypeError, ["x must be a tensor", "array(["]),
    "tensor for number": (lambda x: {"args": [x, x, x[0], 4]}, errors.ArgumentTypeError, ["factor", "item()"]),
    "text": (lambda x: {"args": [x, x, "1", 4]}, errors.ArgumentTypeError, ["factor must be a number", "'1'"]),
    "float": (lambda x: {"args": [x, x, 1, 4.0]}, errors.ArgumentTypeError, ["n must be an int", "4.0", "int32"]),
    "int range": (lambda x: {"args": [x, x, 1, 2**31]}, errors.ValueRangeError, ["n is 2147483648", "int32"]),
    "float range": (lambda x: {"args": [x, x, 1e39, 4]}, errors.ValueRangeError, ["factor is 1e+39", "float32"]),
    "huge": (lambda x: {"args": [x, x, 10**400, 4]}, errors.ValueRangeError, ["factor is", "float32"]),
    "no block": (lambda x: {"grid": 0, "args": [x, x, 1, 4]}, errors.ArgumentError, ["grid is [0, 1, 1]", "65535"]),
    "blocks": (lambda x: {"grid": (1, 65536), "args": [x, x, 1, 4]}, errors.ArgumentError, ["65536", "65535"]),
    "four": (lambda x: {"grid": (1, 1, 1, 1), "args": []}, errors.ArgumentTypeError, ["grid", "(1, 1, 1, 1)"]),
    "float grid": (lambda x: {"grid": (1.5,), "args": []}, errors.ArgumentTypeError, ["grid", "(1.5,)"]),
    "threads": (lambda x: {"block": (64, 32), "args": []}, errors.ArgumentError, ["[64, 32, 1]", "2048", "1024"]),
    "deep": (lambda x: {"block": (1, 1, 65), "args": []}, errors.ArgumentError, ["[1, 1, 65]", "64"]),
    "shared": (lambda x: {"shared_mem": -1, "args": []}, errors.ArgumentError, ["shared_mem", "got -1"]),
    "shared type": (lambda x: {"shared_mem": 1.5, "args": []}, errors.ArgumentTypeError, ["shared_mem", "1.5"]),
    "much shared": (
        lambda x: {"shared_mem": 1 << 20, "args": [x, x, 1, 4]}, errors.AcceleratorError, ["1048576 bytes", "232448"],
    ),
    "no stream": (lambda x: {"stream": 3, "args": [x, x, 1, 4]}, errors.ArgumentTypeError, ["stream", "3"]),
    "graph": (
        lambda x: {"args": [torch.ones(4, device="cuda", requires_grad=True), x, 1, 4]}, errors.AutogradError, [X],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAUNCHES)
def test_wrong_launches(x, name):
    given, error, parts = LAUNCHES[name]
    arguments = given(x)
    version = x._version
    with pytest.raises(error) as caught:
        scale(**arguments)
    assert type(caught.value) is error and str(caught.value).startswith("scale: ")
    assert [part for part in parts if part not in str(caught.value)] == []
    assert x._version == version and x.tolist() == [0, 1, 2, 3]


def test_vectors_are_aligned(gpus):
    x = torch.zeros(9, device="cuda")
    kernel = of_one("float4* x", lambda x: None)
    kernel(args=[x])
    with pytest.raises(errors.ArgumentError, match=r"x begins at 0x\w+4, .* 16 bytes.*\nhint: .*clone"):
        kernel(args=[x[1:]])


# definitions


def of_all(out, x, factor, n): ...


DEFINITIONS = {
    "no such name": ((SOURCE, "scales"), {}, errors.NamingError, ["'scales'", "it has scale"]),
    "no kernel": (("int x;", "scale"), {}, errors.NamingError, ["'scale'", "none"]),
    "template": (
        ("\ntemplate <class T> __global__ void f(T* x) {}", "f"), {}, errors.ArgumentError, ["line 2", "f<float>"],
    ),
    "source": ((3, "f"), {}, errors.ArgumentTypeError, ["source", "3"]),
    "name": ((SOURCE, None), {}, errors.ArgumentTypeError, ["name", "None"]),
    "no dict": ((SOURCE, "scale", ["w"]), {}, errors.ArgumentTypeError, ["parameters", "['w']"]),
    "unknown parameter": ((SOURCE, "scale", {"y": "r"}), {}, errors.NamingError, ["'y'", "out, x, factor, n"]),
    "no description": ((SOURCE, "scale", {"x": "read"}), {}, errors.ArgumentError, ["'x'", "'read'", "not a type"]),
    "nonsense": ((SOURCE, "scale", {"x": "r w"}), {}, errors.ArgumentError, ["'r w'"]),
    "a size": ((SOURCE, "scale", {"x": "r[n + 1]"}), {}, errors.ArgumentError, ["'r[n + 1]'", "a size is"]),
    "size of a float": ((SOURCE, "scale", {"x": "r[factor]"}), {}, errors.NamingError, ["x", "factor", "eters: n"]),
    "const": ((SOURCE, "scale", {"x": "w"}), {}, errors.ArgumentError, ["'w'", "const float* x", "read-only"]),
    "type": ((SOURCE, "scale", {"x": "r int32"}), {}, errors.ArgumentError, ["'r int32'", "float32"]),
    "options": ((SOURCE, "scale"), {"options": "-DA"}, errors.ArgumentTypeError, ["options", "'-DA'"]),
    "number": ((SOURCE, "scale", {"n": "r"}), {}, errors.ArgumentError, ["'r'", "int n", "a number"]),
    "array": ((SOURCE, "scale", {"x": "float32"}), {}, errors.ArgumentError, ["'float32'", "an array"]),
    "structure": (
        ('extern "C" __global__ void f(Point p) {}', "f"), {}, errors.ArgumentError, ["p is", "Point p", "pointer"],
    ),
    "reference": ((SOURCE, "scale"), {"reference": 3}, errors.ArgumentTypeError, ["reference", "3"]),
    "arity": (
        (SOURCE, "scale"), {"reference": lambda x: None}, errors.ArgumentError, ["(x)", "4", "out, x, factor, n"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFINITIONS)
def test_wrong_definitions(name):
    args, keywords, error, parts = DEFINITIONS[name]
    with pytest.raises(error) as caught:
        torch.cuda.kernel(*args, **{"reference": of_all, **keywords})
    assert type(caught.value) is error and str(caught.value).startswith("cuda.kernel: ")
    assert [part for part in parts if part not in str(caught.value)] == []


def test_a_kernel_that_a_macro_makes_is_described(x):
    source = '#define KERNEL(name) extern "C" __global__ void name(float* x, int n) {}\nKERNEL(f)'
    kernel = torch.cuda.kernel(source, "f", {"x": "rw float32[n]", "n": "int32"}, reference=lambda x, n: x.fill(n))
    x.fill_(0)
    kernel(args=[x, 3])
    assert x.tolist() == [3, 3, 3, 0]


def test_an_instance_of_a_template(gpus):
    source = "template <class T> __global__ void fill(T* out, T value) { out[threadIdx.x] = value; }"

    def reference(out, value):
        out[...] = value

    kernel = torch.cuda.kernel(source, "fill<double>", {"out": "w"}, reference=reference)
    out = torch.empty(3, device="cuda", dtype=torch.float64)
    kernel(args=[out, 2.5])
    assert out.tolist() == [2.5] * 3
    with pytest.raises(errors.DtypeError, match="^fill<double>: out must be float64"):
        kernel(args=[out.float(), 2.5])


def test_a_type_of_the_program_is_described(gpus):
    text = "const real* x, real factor"
    kernel = of_one(text, lambda x, factor: None, {"x": "r float32", "factor": torch.float32})
    assert [repr(each) for each in kernel.parameters] == ["x: r float32", "factor: float32"]
    with pytest.raises(errors.DtypeError):
        kernel(args=[torch.ones(2, device="cuda", dtype=torch.float64), 1.0])


# the nvidia driver, with a stand-in for CUDA

TEMPLATES = """
template <class T>
__device__ T twice(T x) { return x + x; }

extern "C" __global__ void scale(float* out, const float* x, float factor, short step, long long n) {
  extern __shared__ float tile[];
  for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) out[i] = twice(factor) * x[i] + tile[0];
}

namespace inner {
template <class T> __global__ void fill(T* out, T value) { out[threadIdx.x] = value; }
}

__global__ void plain(int* out) { out[threadIdx.x] = VALUE; }
"""
CUBIN = b"\x7fELF"


@pytest.fixture
def loaded(monkeypatch, cuda):
    """The kernels that were compiled, on a machine of the stand-in's two devices."""
    compiled = []

    def cubin(kernel, arch):
        compiled.append((kernel.entry, arch, kernel.options, kernel.is_c))
        return CUBIN if kernel.is_c else b"_Z" + kernel.entry.encode() + b"\0" + CUBIN

    made = NvidiaDriver(cuda)
    monkeypatch.setattr(drivers, "make", lambda choice, schedule: made)
    monkeypatch.setattr(drivers, "nvidia_device_count", lambda: 2)
    former = thread.swap_machine(Machine(Gpus("nvidia")))
    thread.machine().start()
    made._compiler.cubin = cubin
    yield compiled
    thread.swap_machine(former)


def test_a_launch_has_the_arguments_of_c(loaded, cuda):
    kernel = torch.cuda.kernel(TEMPLATES, "scale", {"x": "r[n]"})
    assert loaded == []
    out, x = (torch.empty(4, device="cuda") for _ in range(2))
    for _ in range(2):
        kernel(grid=(3, 2), block=(8, 4, 2), args=[out, x, 0.5, -1, 4], shared_mem=64 << 10)
    assert loaded == [("scale", "sm_90", (), True)]
    packed = struct.pack("=QQfh2xq", out.data_ptr(), x.data_ptr(), 0.5, -1, 4)
    assert cuda.launched == [packed] * 2
    assert cuda.named("cuLaunchKernel")[0][1:8] == (3, 2, 1, 8, 4, 2, 64 << 10)
    assert cuda.named("cuModuleGetFunction")[0][1] == b"scale"
    assert [size for _, _, size in cuda.named("cuFuncSetAttribute")] == [64 << 10]
    assert out._version == 2 and x._version == 0


def test_each_device_loads_it(loaded, cuda):
    kernel = torch.cuda.kernel(TEMPLATES, "plain", options=["-DVALUE=1"])
    x, y = (torch.empty(4, device=f"cuda:{index}", dtype=torch.int32) for index in range(2))
    for each in (x, y, x):
        kernel(args=[each])
    assert loaded == [("plain", "sm_90", ("-DVALUE=1",), False)] * 2
    assert [name for _, name in cuda.named("cuModuleGetFunction")] == [b"_Zplain"] * 2


def test_compile_kernel_compiles_at_once(loaded, cuda):
    torch.cuda._compile_kernel(TEMPLATES, "inner::fill<float>", "90", ["/of/headers"], ["-DA"])
    assert loaded == [("inner::fill<float>", "sm_90", ("-I/of/headers", "-DA"), False)]


def test_compile_kernel_takes_tensors_with_gaps(loaded, cuda):
    kernel = torch.cuda._compile_kernel(kernel_source=TEMPLATES, kernel_name="plain")
    x = torch.empty(4, 2, device="cuda", dtype=torch.int32)
    kernel(grid=(1, 1, 1), block=(4, 1, 1), args=[x[:, 1]], shared_mem=0, stream=torch.cuda.Stream())
    kernel.set_shared_memory_config(64 << 10)
    assert cuda.launched == [struct.pack("=Q", x.data_ptr() + 4)]


@pytest.mark.parametrize(
    ("keywords", "error", "parts"),
    [
        ({"compute_capability": "80"}, errors.ArgumentError, ["'80'", "cuda:0", "90"]),
        ({"nvcc_options": "-DA"}, errors.ArgumentTypeError, ["nvcc_options", "'-DA'"]),
        ({"cuda_include_dirs": [3]}, errors.ArgumentTypeError, ["cuda_include_dirs", "[3]"]),
    ],
)
def test_wrong_arguments_of_compile_kernel(loaded, keywords, error, parts):
    with pytest.raises(error) as caught:
        torch.cuda._compile_kernel(TEMPLATES, "plain", **keywords)
    assert str(caught.value).startswith("cuda._compile_kernel: ")
    assert [part for part in parts if part not in str(caught.value)] == [] and loaded == []


def test_virtual_gpus_cannot_run_it(new_gpus):
    with pytest.raises(errors.NotSupportedError, match=r"^cuda._compile_kernel: virtual GPUs(.|\n)*reference="):
        torch.cuda._compile_kernel(TEMPLATES, "plain")


@pytest.mark.parametrize("name", ["scale", "inner::fill<float>", "plain"])
def test_kernels_compile(nvrtc, name):
    kernel = torch.cuda.kernel(TEMPLATES, name, options=["-DVALUE=7"])
    assert CUBIN in compile_cubin(kernel.code, "sm_90")


def test_a_header_that_is_missing(nvrtc):
    kernel = torch.cuda.kernel('#include "gone.h"\nextern "C" __global__ void f(int n) {}', "f")
    with pytest.raises(errors.AcceleratorError, match=r"gone\.h(.|\n)*hint: .*nvidia-cuda-runtime.*-I/"):
        compile_cubin(kernel.code, "sm_90")


def test_a_source_that_does_not_compile_has_the_log_with_lines(nvrtc):
    kernel = torch.cuda.kernel(TEMPLATES, "scale")  # VALUE is not defined
    with pytest.raises(errors.AcceleratorError) as caught:
        compile_cubin(kernel.code, "sm_90")
    assert 'scale.cu(14): error: identifier "VALUE" is undefined' in str(caught.value)
