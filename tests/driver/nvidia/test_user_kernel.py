"""torch.cuda.kernel and torch.cuda._compile_kernel on the nvidia driver, with a stand-in for CUDA."""

import struct

import pytest

import flambeau as torch
from flambeau import driver as drivers
from flambeau import errors
from flambeau.config import Gpus
from flambeau.core import thread
from flambeau.driver.nvidia.compile import compile_cubin
from flambeau.driver.nvidia.driver import NvidiaDriver
from flambeau.runtime.machine import Machine

SOURCE = """
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
    kernel = torch.cuda.kernel(SOURCE, "scale", {"x": "r[n]"})
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
    kernel = torch.cuda.kernel(SOURCE, "plain", options=["-DVALUE=1"])
    x, y = (torch.empty(4, device=f"cuda:{index}", dtype=torch.int32) for index in range(2))
    for each in (x, y, x):
        kernel(args=[each])
    assert loaded == [("plain", "sm_90", ("-DVALUE=1",), False)] * 2
    assert [name for _, name in cuda.named("cuModuleGetFunction")] == [b"_Zplain"] * 2


def test_compile_kernel_compiles_at_once(loaded, cuda):
    torch.cuda._compile_kernel(SOURCE, "inner::fill<float>", "90", ["/of/headers"], ["-DA"])
    assert loaded == [("inner::fill<float>", "sm_90", ("-I/of/headers", "-DA"), False)]


def test_compile_kernel_takes_tensors_with_gaps(loaded, cuda):
    kernel = torch.cuda._compile_kernel(kernel_source=SOURCE, kernel_name="plain")
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
        torch.cuda._compile_kernel(SOURCE, "plain", **keywords)
    assert str(caught.value).startswith("cuda._compile_kernel: ")
    assert [part for part in parts if part not in str(caught.value)] == [] and loaded == []


def test_virtual_gpus_cannot_run_it(new_gpus):
    with pytest.raises(errors.NotSupportedError, match=r"^cuda._compile_kernel: virtual GPUs(.|\n)*reference="):
        torch.cuda._compile_kernel(SOURCE, "plain")


@pytest.mark.parametrize("name", ["scale", "inner::fill<float>", "plain"])
def test_kernels_compile(nvrtc, name):
    kernel = torch.cuda.kernel(SOURCE, name, options=["-DVALUE=7"])
    assert CUBIN in compile_cubin(kernel.code, "sm_90")


def test_a_header_that_is_missing(nvrtc):
    kernel = torch.cuda.kernel('#include "gone.h"\nextern "C" __global__ void f(int n) {}', "f")
    with pytest.raises(errors.AcceleratorError, match=r"gone\.h(.|\n)*hint: .*nvidia-cuda-runtime.*-I/"):
        compile_cubin(kernel.code, "sm_90")


def test_a_source_that_does_not_compile_has_the_log_with_lines(nvrtc):
    kernel = torch.cuda.kernel(SOURCE, "scale")  # VALUE is not defined
    with pytest.raises(errors.AcceleratorError) as caught:
        compile_cubin(kernel.code, "sm_90")
    assert 'scale.cu(14): error: identifier "VALUE" is undefined' in str(caught.value)
