"""torch.export: importable; `export` says that programs are not exported."""

from ...errors import no_attribute as _no_attribute
from ...tools.eager import GraphModule as ExportedProgram
from ...tools.eager import export_program as export
from ...tools.eager import nothing as Dim  # noqa: N812

__all__ = ["Dim", "ExportedProgram", "export"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
