"""The text that every kernel begins with: it compiles for every type, without a header and without a warning."""

from __future__ import annotations

from importlib import resources

import pytest

from flambeau import dtypes
from flambeau.driver.nvidia.prebuilt_cubins import OPTIONS
from flambeau.kernel import Kernel, Pointers, Strided

PRELUDE = resources.files("flambeau").joinpath("ops/kernels/prelude.cu").read_text()
COMPUTE = ("bool", "unsigned char", "signed char", "short", "int", "long long", "float", "double")


def log_of(nvrtc, source, arch):
    """Compile a source; return the compiler's status and its log."""
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"test.cu", 0, [], [])
    options = [f"--gpu-architecture={arch}".encode(), *(option.encode() for option in OPTIONS)]
    (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = bytearray(size)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(program)
    return int(code), log.rstrip(b"\0").decode()


def convert(index, storage, *computes):
    """A strided kernel that takes one storage type through compute types."""
    through = """
        {{ {compute} x = load<{compute}>(a[offset(layout, 1, i)]);
           *to++ = store<{storage}>(x == highest<{compute}>() ? lowest<{compute}>() : x); }}"""
    return f"""
    extern "C" __global__ void convert_{index}({storage}* out, const {storage}* a, Layout<2> layout, long long n) {{
        long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
        if (i >= n) return;
        long long at[2];
        offsets(layout, i, at);
        {storage}* to = out + at[0];{"".join(through.format(storage=storage, compute=each) for each in computes)}
    }}"""


@pytest.mark.parametrize(
    ("arch", "types"),
    [("sm_75", (dtypes.bfloat16,)), ("sm_80", dtypes.ALL[::3]), ("sm_90", dtypes.ALL), ("sm_100", dtypes.ALL[1::3])],
)
def test_every_storage_type_with_its_compute_type(nvrtc, arch, types):
    kernels = [convert(index, each.cuda, each.compute) for index, each in enumerate(types)]
    assert log_of(nvrtc, PRELUDE + "".join(kernels), arch) == (0, "")


@pytest.mark.full
@pytest.mark.slow
def test_every_storage_type_with_every_compute_type(nvrtc):
    kernels = [convert(index, each.cuda, *COMPUTE) for index, each in enumerate(dtypes.ALL)]
    assert log_of(nvrtc, PRELUDE + "".join(kernels), "sm_90") == (0, "")


def test_nothing_in_it_is_compiled_unless_used(nvrtc):
    assert log_of(nvrtc, PRELUDE, "sm_90") == (0, "")


def test_the_structures_have_the_size_that_is_packed(nvrtc):
    layout = Kernel("k", "", (Strided("layout", ("a", "b", "c")),), lambda: None).pack([((2,), [(1,)] * 3)])
    arrays = Kernel("k", "", (Pointers("arrays", 5, dtypes.float32, "r"),), lambda: None).pack([[(0, 0)] * 5])
    checks = f"""
    static_assert(sizeof(Layout<3>) == {len(layout)}, "Layout");
    static_assert(sizeof(Pointers<float, 5>) == {len(arrays)}, "Pointers");
    static_assert(sizeof(half_t) == 2 && sizeof(bfloat16_t) == 2 && sizeof(bool) == 1, "storage types");
    """
    assert log_of(nvrtc, PRELUDE + checks, "sm_90") == (0, "")


def test_a_warning_would_be_seen(nvrtc):
    code, log = log_of(nvrtc, PRELUDE + 'extern "C" __global__ void k() { int unused; }', "sm_90")
    assert code == 0
    assert "never referenced" in log
