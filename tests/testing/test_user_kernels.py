"""check_kernel: kernels against their references."""

import os

import numpy as np
import pytest

import flambeau as torch
from flambeau import errors
from flambeau.runtime.user_kernel import Code
from flambeau.testing import check_kernel, machine, user_kernels

SOURCE = """
extern "C" __global__ void add(float* out, const float* x, const __nv_bfloat16* y, int n) {}
"""
PLAIN = SOURCE.replace("__nv_bfloat16", "unsigned short")
DECLARED = {"out": "w[n]", "x": "r[n]", "y": "r bfloat16"}


def add(out, x, y, n):
    out[...] = x + y[:n].astype("float32")


def kernel(reference=add, described=DECLARED, source=SOURCE):
    return torch.cuda.kernel(source, "add", described, reference=reference)


def sample(n=4, x=None, **keywords):
    x = torch.arange(6.0) if x is None else x
    args = [np.zeros(6, "float32"), x, torch.ones(6, dtype=torch.bfloat16), n]
    return {"grid": 1, "block": (32, 2), "args": args, **keywords}


@pytest.fixture
def no_compiler(monkeypatch):
    def missing():
        raise errors.NoDeviceError("no compiler")

    monkeypatch.setattr(user_kernels, "nvrtc_version", missing)


@pytest.fixture
def gpu(no_compiler):
    with machine() as made:
        yield made


virtual = pytest.mark.usefixtures("gpu")


@virtual
def test_a_kernel_that_agrees():
    x = torch.arange(12.0, device="cuda").view(6, 2)[:, 0]
    samples = [sample(), sample(0), sample(6, x, shared_mem=64)]
    before = [each.tolist() for each in (samples[0]["args"][0], x)]
    check_kernel(kernel(), samples)
    assert [each.tolist() for each in (samples[0]["args"][0], x)] == before


@virtual
@pytest.mark.parametrize(
    ("index", "text"),
    [(0, "out: the kernel and its reference differ\n(.|\n)*1 / 6"), (1, 'x is declared "r", and the kernel wrote it')],
)
def test_code_that_differs(monkeypatch, index, text):
    """A launch whose device code does something else, as hardware may."""
    run = Code._run

    def wrong(self, *values):
        run(self, *values)
        if values[3] == 4:
            values[index].flags.writeable = True
            values[index][3] += 1

    monkeypatch.setattr(Code, "_run", wrong)
    with pytest.raises(AssertionError, match=f"^add, sample 1: {text}"):
        check_kernel(kernel(), [sample(3), sample(4)])


@virtual
def test_tolerances(monkeypatch):
    run = Code._run

    def inexact(self, *values):
        run(self, *values)
        values[0][...] += 0.25

    monkeypatch.setattr(Code, "_run", inexact)
    check_kernel(kernel(), [sample()], rtol=0, atol=0.5)
    with pytest.raises(AssertionError, match="0.25"):
        check_kernel(kernel(), [sample()])


@virtual
def test_writes_beside_an_array_show():
    guarded = user_kernels.Guarded(torch.arange(3.0))
    assert guarded.damage() == "" and guarded.tensor.tolist() == [0, 1, 2]
    assert guarded.tensor.data_ptr() % 256 == 0
    whole = guarded._whole
    whole[: user_kernels.GUARD][-8:] = 0
    whole[-1] = 7
    assert guarded.damage() == "8 bytes before it and 1 bytes after it"


def leaves_out(out, x, y, n):
    out[: n // 2] = 1


def reads(out, x, y, n):
    out += x


@virtual
@pytest.mark.parametrize("reference", [leaves_out, reads])
def test_a_reference_must_write_what_it_is_declared_to_write(reference):
    with pytest.raises(AssertionError, match='add, sample 0: out is declared "w", and the reference'):
        check_kernel(kernel(reference), [sample()])
    check_kernel(kernel(reference, {**DECLARED, "out": "rw[n]"}), [sample()])


@virtual
def test_a_reference_that_fails():
    def fails(out, x, y, n):
        out[n] = 1

    with pytest.raises(errors.KernelReferenceError, match="IndexError"):
        check_kernel(kernel(fails), [sample()])


@virtual
@pytest.mark.parametrize(
    ("samples", "parts"),
    [
        ([], ["samples is empty"]),
        ([sample(), {"args": [], "stream": None}], ["sample 1", "'stream'", "grid, block, args"]),
        ([[1, 2]], ["sample 0", "[1, 2]"]),
    ],
)
def test_samples_that_are_no_launches(samples, parts):
    with pytest.raises(errors.ArgumentError) as caught:
        check_kernel(kernel(), samples)
    assert str(caught.value).startswith("check_kernel: ")
    assert [part for part in parts if part not in str(caught.value)] == []


@virtual
def test_a_sample_that_does_not_fit():
    with pytest.raises(errors.ShapeError, match=r"add: out is float32\[6\] .*\[n\] = \[7\]"):
        check_kernel(kernel(), [sample(7)])


@virtual
def test_what_is_no_kernel():
    with pytest.raises(errors.ArgumentTypeError, match="check_kernel: expected a kernel, got function add"):
        check_kernel(add, [sample()])
    with pytest.raises(errors.ArgumentError, match=r"check_kernel: add has no reference"):
        check_kernel(kernel(None), [sample()])


@virtual
@pytest.mark.parametrize("source", [SOURCE, PLAIN])
def test_the_source_is_compiled_where_that_is_possible(monkeypatch, source):
    compiled = []
    monkeypatch.setattr(user_kernels, "nvrtc_version", lambda: (13, 5))
    monkeypatch.setattr(user_kernels, "compile_cubin", lambda kernel, arch: compiled.append((kernel.source, arch)))
    described = DECLARED if source is SOURCE else {**DECLARED, "y": "r"}
    made = torch.cuda.kernel(source, "add", described, reference=lambda out, x, y, n: out.fill(1))
    y = torch.ones(2, dtype=torch.bfloat16 if source is SOURCE else torch.uint16)
    check_kernel(made, [{"args": [torch.ones(2), torch.ones(2), y, 2]}])
    assert compiled == [(source, "sm_90")]


# with the code of a GPU

ON_HARDWARE = """
extern "C" __global__ void triple(float* out, const float* x, int n) {
  int i = blockIdx.x * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
  if (i < n) out[i] = ADD + 3 * x[i];
  if (BEYOND && i == 0) out[n] = 1;
  if (WRITES && i == 0) const_cast<float*>(x)[n - 1] += 1;
}
"""


def triple(out, x, n):
    np.multiply(x, 3, out=out)


SAMPLES = [(n, torch.arange(float(n))) for n in (1, 64, 100)]
needs_hardware = pytest.mark.skipif(os.environ.get("FLAMBEAU_GPUS") != "nvidia", reason="FLAMBEAU_GPUS is not nvidia")


def check_on_hardware(wrong=None):
    """Check a kernel whose code has one mistake, or none.  Return the kernel."""
    options = [f"-D{name}={int(name == wrong)}" for name in ("ADD", "BEYOND", "WRITES")]
    made = torch.cuda.kernel(ON_HARDWARE, "triple", {"out": "w[n]", "x": "r[n]"}, reference=triple, options=options)
    samples = [{"grid": -(-n // 64), "block": (32, 2), "args": [torch.empty(n), x, n]} for n, x in SAMPLES]
    check_kernel(made, samples)
    return made


@pytest.mark.gpu
@needs_hardware
def test_right_code_passes_on_hardware():
    made = check_on_hardware()
    x = torch.arange(100.0, device="cuda")
    out = torch.empty_like(x)
    made((2,), (32, 2), (out, x, 100))
    assert out.tolist() == [3.0 * value for value in range(100)]


@pytest.mark.gpu
@needs_hardware
@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("ADD", "^triple, sample 0: out: the kernel and its reference differ"),
        ("BEYOND", "^triple, sample 0: out: the kernel wrote [1-4] bytes after it"),
        ("WRITES", '^triple, sample 0: x is declared "r", and the kernel wrote it'),
    ],
)
def test_wrong_code_is_found_on_hardware(wrong, text):
    with pytest.raises(AssertionError, match=text):
        check_on_hardware(wrong)
