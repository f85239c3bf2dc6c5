"""torch.utils.data._utils.worker."""

from ....data.worker import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]
