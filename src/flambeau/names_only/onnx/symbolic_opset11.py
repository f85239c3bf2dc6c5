"""torch.onnx.symbolic_opset11: importable; networks are not exported."""

from ...errors import no_attribute as _no_attribute
from ...tools.eager import onnx_export as export

__all__ = ["export"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
