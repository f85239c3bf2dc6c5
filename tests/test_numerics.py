"""The switches of torch.backends reach the products.  Rows 1.11.*"""

import warnings

import pytest

import flambeau as torch
from flambeau import numerics
from flambeau.ops.linalg import allow_tf32


@pytest.fixture(autouse=True)
def as_they_were(monkeypatch):
    monkeypatch.setattr(numerics, "switches", numerics.Switches())
    yield
    allow_tf32.value = False


@pytest.mark.parametrize("name", ["fp32_precision of matmul", "of cuda", "generic", "level", "allow_tf32"])
def test_every_name_of_the_switch_reaches_the_products(name):
    places = {"fp32_precision of matmul": numerics.MATMUL, "of cuda": numerics.CUDA, "generic": numerics.GENERIC}
    if name in places:
        numerics.switches.set(places[name], "tf32")
    elif name == "level":
        torch.set_float32_matmul_precision("medium")
    else:
        torch.backends.cuda.matmul.allow_tf32 = True
    assert allow_tf32.value is True


def test_an_unknown_level_is_a_warning_and_changes_nothing():
    torch.set_float32_matmul_precision("high")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.set_float32_matmul_precision("low")
    assert "low is not one of 'highest', 'high', 'medium'" in str(caught[0].message) and caught[0].filename == __file__
    assert torch.get_float32_matmul_precision() == "high"


def test_a_mix_of_names_is_told_with_both_values():
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    with pytest.raises(RuntimeError, match="of matmul is 'tf32', the matmul precision 'highest'\nhint: use either"):
        torch.get_float32_matmul_precision()


def test_the_second_half_of_a_pair_is_only_read():
    with pytest.raises(AttributeError, match="set allow_fp16_reduced_precision_reduction to a pair"):
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction_split_k = False


@pytest.mark.parametrize("mode", [None, 1.0, ["warn"]])
def test_a_deterministic_mode_is_a_text_or_a_number(mode):
    with pytest.raises(TypeError, match="set_deterministic_debug_mode: debug_mode must be str or int, but got"):
        torch.set_deterministic_debug_mode(mode)
    assert torch.get_deterministic_debug_mode() == 0


@pytest.mark.parametrize("limit", [1.5, True, -1, 2**31, 2**70])
def test_the_benchmark_limit_is_checked(limit):
    cudnn = torch.backends.cudnn
    with pytest.raises(RuntimeError, match=f"benchmark_limit: expects an int from 0 to {2**31 - 1}, but got {limit}"):
        cudnn.benchmark_limit = limit
    with pytest.raises(RuntimeError, match="benchmark_limit: expects an int"), cudnn.flags(benchmark_limit=limit):
        pass
    assert (cudnn.benchmark_limit, cudnn.enabled) == (10, True)


def test_the_benchmark_limit_is_kept():
    with torch.backends.cudnn.flags(benchmark_limit=0):
        assert torch.backends.cudnn.benchmark_limit == 0
    assert torch.backends.cudnn.benchmark_limit == 10


def test_flags_of_none_stay_as_they_are():
    cudnn = torch.backends.cudnn
    outer = cudnn.flags(enabled=None, benchmark=True, deterministic=True, benchmark_limit=3, allow_tf32=False)
    nothing = cudnn.flags(enabled=None, benchmark=None, deterministic=None, benchmark_limit=None, allow_tf32=None)
    with outer, nothing:
        inner = cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.benchmark_limit, cudnn.allow_tf32
    assert inner == (True, True, True, 3, False)


@pytest.mark.parametrize("kernel", ["flash", "math", "mem_efficient", "cudnn"])
def test_the_kernels_of_attention_are_kept(kernel):
    cuda = torch.backends.cuda
    enable, is_enabled = getattr(cuda, f"enable_{kernel}_sdp"), getattr(cuda, f"{kernel}_sdp_enabled")
    assert cuda.is_built() and is_enabled()
    enable(False)
    assert not is_enabled()
    enable(True)
    with cuda.sdp_kernel(**{f"enable_{kernel}": False}):
        assert not is_enabled()
    assert is_enabled()


@pytest.mark.parametrize("version", [None, 91002])
def test_cudnn_is_there_if_it_is_installed(monkeypatch, version):
    from types import SimpleNamespace

    from flambeau.driver.nvidia import dnn

    library = None if version is None else SimpleNamespace(cudnnGetVersion=lambda: version)
    monkeypatch.setattr(dnn, "load", lambda: (library, ""))
    cudnn = torch.backends.cudnn
    assert cudnn.version() == version and cudnn.is_available() is (version is not None)
    assert not cudnn.is_acceptable(torch.ones(2))
    with pytest.raises(TypeError, match="is_acceptable: expected a Tensor, got 3"):
        cudnn.is_acceptable(3)


@pytest.mark.usefixtures("gpus")
def test_cudnn_accepts_tensors_of_gpus_while_it_is_enabled(monkeypatch):
    cudnn = torch.backends.cudnn
    monkeypatch.setattr(type(cudnn), "version", lambda self: 91002)
    x = torch.ones(2, device="cuda")
    assert cudnn.is_acceptable(x) and cudnn.is_acceptable(x.half()) and not cudnn.is_acceptable(x.int())
    with cudnn.flags(enabled=False):
        assert not cudnn.is_acceptable(x)
