"""torch.jit.annotations: annotations of arguments that are a number or a list of numbers."""

from ..errors import no_attribute as _no_attribute

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = list

__all__ = [
    "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "BroadcastingList4", "BroadcastingList5",
    "BroadcastingList6",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
