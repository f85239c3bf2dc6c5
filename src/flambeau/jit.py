"""torch.jit: functions and modules are returned as they are, and run eagerly."""

from typing import Final as Final

from .importer import submodule as _submodule
from .tools.eager import (
    Attribute,
    ScriptFunction,
    ScriptModule,
    TracerWarning,
    annotate,
    fork,
    ignore,
    script,
    trace,
    trace_module,
)
from .tools.eager import ScriptModule as RecursiveScriptModule
from .tools.eager import Setting as fuser
from .tools.eager import Setting as optimized_execution
from .tools.eager import Setting as strict_fusion
from .tools.eager import is_instance as isinstance
from .tools.eager import jit_load as load
from .tools.eager import jit_save as save
from .tools.eager import no as is_scripting
from .tools.eager import no as is_tracing
from .tools.eager import no as onednn_fusion_enabled
from .tools.eager import nothing as _overload  # noqa: F401  (an overload has no body that runs)
from .tools.eager import nothing as enable_onednn_fusion
from .tools.eager import nothing as set_fusion_strategy
from .tools.eager import same as _overload_method  # noqa: F401
from .tools.eager import same as _script_if_tracing  # noqa: F401
from .tools.eager import same as export
from .tools.eager import same as freeze
from .tools.eager import same as interface
from .tools.eager import same as optimize_for_inference
from .tools.eager import same as script_if_tracing
from .tools.eager import same as script_method
from .tools.eager import same as unused
from .tools.eager import same as wait

__path__: list[str] = []  # a package: import_paths.py has its submodule
__all__ = [  # noqa: F822  (annotations is a row)
    "Attribute", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "TracerWarning", "annotate",
    "annotations", "enable_onednn_fusion", "export", "fork", "freeze", "fuser", "ignore", "interface",
    "is_scripting", "is_tracing", "isinstance", "load", "onednn_fusion_enabled", "optimize_for_inference",
    "optimized_execution", "save", "script", "script_if_tracing", "script_method", "set_fusion_strategy",
    "strict_fusion", "trace", "trace_module", "unused", "wait",
]  # fmt: skip


def __getattr__(name: str) -> object:
    return _submodule(__name__, name)
