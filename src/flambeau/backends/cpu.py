"""torch.backends.cpu: which instructions of the processor are used."""

from ..host import get_cpu_capability

__all__ = ["get_cpu_capability"]
