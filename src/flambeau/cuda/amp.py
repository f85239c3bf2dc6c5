"""torch.cuda.amp: the former names of torch.amp for CUDA devices."""

from ..amp.autocast_mode import CudaAutocast as autocast
from ..amp.autocast_mode import CudaGradScaler as GradScaler
from ..amp.autocast_mode import cuda_custom_bwd as custom_bwd
from ..amp.autocast_mode import cuda_custom_fwd as custom_fwd
from ..autograd.autocast import amp_definitely_not_available
from ..importer import submodule as _submodule

__path__: list[str] = []  # a package: import_paths.py has its submodules
__all__ = [  # noqa: F822  (the submodules are rows)
    "GradScaler", "amp_definitely_not_available", "autocast", "autocast_mode", "common", "custom_bwd", "custom_fwd",
    "grad_scaler",
]  # fmt: skip


def __getattr__(name: str) -> object:
    return _submodule(__name__, name)
