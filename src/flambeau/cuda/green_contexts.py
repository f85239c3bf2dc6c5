"""torch.cuda.green_contexts: parts of a device's multiprocessors."""

from ..runtime.green_context import GreenContext

__all__ = ["GreenContext"]
