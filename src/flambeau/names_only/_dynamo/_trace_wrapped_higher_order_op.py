"""torch._dynamo._trace_wrapped_higher_order_op: names that programs import."""

from ...errors import no_attribute as _no_attribute
from ...tools.eager import Setting as TransformGetItemToIndex

__all__ = ["TransformGetItemToIndex"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
