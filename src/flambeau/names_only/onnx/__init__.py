"""torch.onnx: names that programs import.  Networks are not exported."""

from ...errors import no_attribute as _no_attribute
from ...tools.eager import OperatorExportTypes, TrainingMode
from ...tools.eager import no as is_in_onnx_export
from ...tools.eager import nothing as register_custom_op_symbolic
from ...tools.eager import nothing as unregister_custom_op_symbolic
from ...tools.eager import onnx_export as export
from . import symbolic_helper, symbolic_opset9, symbolic_opset11

__all__ = [
    "OperatorExportTypes", "TrainingMode", "export", "is_in_onnx_export", "register_custom_op_symbolic",
    "symbolic_helper", "symbolic_opset9", "symbolic_opset11", "unregister_custom_op_symbolic",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
