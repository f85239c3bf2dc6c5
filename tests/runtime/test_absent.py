"""Hardware and libraries that are not used, and versions."""

import importlib
from importlib import metadata

import pytest

import flambeau as torch
from flambeau.errors import NoDeviceError, NotSupportedError
from flambeau.runtime import absent


def test_what_is_not_used_is_not_available():
    modules = [torch.mps, torch.xpu, *(getattr(torch.backends, name) for name in ("mps", "mkl", "mkldnn", "openmp"))]
    assert [module for module in modules if module.is_available()] == [] and not torch.backends.mps.is_built()
    assert torch.mps.device_count() == torch.xpu.device_count() == 0 and not torch.is_vulkan_available()
    for call in (torch.mps.synchronize, torch.mps.empty_cache, torch.mtia.init, torch.xpu.Stream, torch.xpu.init):
        with pytest.raises(NoDeviceError, match="no devices of the types mps, mtia and xpu\nhint: "):
            call()


def test_devices_that_are_not_used_answer_as_without_hardware():
    for module in (torch.mps, torch.mtia, torch.xpu):
        assert module.device_count() == 0 and not module.is_available() and module.manual_seed(1) is None
    for module in (torch.mtia, torch.xpu):
        assert not module.is_initialized() and module.memory_allocated() == module.max_memory_allocated(0) == 0
        assert module.memory_stats() == {} and module.get_rng_state_all() == []
        assert module.seed_all() is module.reset_peak_memory_stats() is module.manual_seed_all(1) is None
        with module.device(0):
            pass
    assert torch.mtia.is_bf16_supported() and not torch.xpu.is_bf16_supported(False)
    assert torch.xpu.get_arch_list() == [] and torch.xpu.get_gencode_flags() == "" and torch.xpu.empty_cache() is None


def test_settings_of_libraries_that_are_not_used_are_kept():
    backends = torch.backends
    with backends.mkldnn.flags(enabled=False, deterministic=True):
        assert not backends.mkldnn.enabled and backends.mkldnn.deterministic and backends.mkldnn.allow_tf32
    assert backends.mkldnn.enabled and not backends.mkldnn.deterministic and backends.mkldnn.allow_tf32 is None
    with backends.nnpack.flags(enabled=False):
        assert backends.nnpack.set_flags(False) == (False,)
    assert backends.nnpack.set_flags(True) == (True,)
    with backends.mkl.verbose(backends.mkl.VERBOSE_ON), backends.mkldnn.verbose(backends.mkldnn.VERBOSE_ON_CREATION):
        assert not backends.kleidiai.is_available() and backends.cusparselt.version() is None
    backends.mha.set_fastpath_enabled(False)
    assert not backends.mha.get_fastpath_enabled()
    backends.mha.set_fastpath_enabled(True)
    assert backends.opt_einsum.get_opt_einsum() is None and not backends.miopen.immediate
    future = importlib.import_module("flambeau.__future__")
    for name in ("overwrite", "swap"):
        change, ask = (getattr(future, f"{verb}_{name}_module_params_on_conversion") for verb in ("set", "get"))
        assert not ask()
        change(True)
        assert ask()
        change(False)
    assert torch.utils.deterministic.fill_uninitialized_memory is True


def test_versions(monkeypatch):
    major, minor = torch.version.cuda.split(".")
    assert int(major) >= 12 and int(minor) >= 0 and torch.version.__version__ == torch.__version__
    assert torch.version.hip is None and torch.version.debug is False

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert torch.version.cuda == absent.NEWEST_CUDA


@pytest.mark.parametrize("name", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"])
def test_layouts_that_tensors_cannot_have(name):
    layout = getattr(torch, name)
    assert isinstance(layout, torch.layout) and layout != torch.ones(1).layout and repr(layout) == f"torch.{name}"
    with pytest.raises(NotSupportedError, match=f"zeros: .*torch.{name}"):
        torch.zeros(2, layout=layout)


def test_names_of_arguments():
    assert torch.types.Size is torch.Size and torch.device in torch.types.Device.__args__
