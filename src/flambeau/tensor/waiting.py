"""Waiting for the bytes of one tensor."""

from __future__ import annotations

from typing import Any

from .. import strides as st
from ..runtime import pending_copies


def wait(self: Any) -> Any:
    """This tensor, with the non_blocking copies into it arrived; at once if there are none, or it is on a GPU.

    Host: waits for those copies alone, not for what their streams got later.
    Example:
        >>> x = torch.tensor([1.0, 2.0], device="cuda")
        >>> x.to("cpu", non_blocking=True).wait()
        tensor([1., 2.])
    """
    if self.numel() and self.device_index < 0:
        pending_copies.wait_for(self.storage, self.address(), st.extent(self.shape, self.strides) * self.element_size())
    return self


METHODS = (wait,)
