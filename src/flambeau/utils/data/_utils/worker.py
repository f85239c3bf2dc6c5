"""torch.utils.data._utils.worker."""

from ....data.worker_info import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]
