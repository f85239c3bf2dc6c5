"""Hardware and libraries that are not used, and versions."""

from importlib import metadata

import pytest

import flambeau as torch
from flambeau.errors import NotSupportedError
from flambeau.runtime import absent


def test_what_is_not_used_is_not_available():
    modules = [torch.mps, torch.xpu, *(getattr(torch.backends, name) for name in ("mps", "mkl", "mkldnn", "openmp"))]
    assert [module for module in modules if module.is_available()] == [] and not torch.backends.mps.is_built()
    assert torch.mps.device_count() == torch.xpu.device_count() == 0 and not torch.is_vulkan_available()
    with pytest.raises(AttributeError, match="no attribute 'empty_cache'"):
        _ = torch.mps.empty_cache


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
