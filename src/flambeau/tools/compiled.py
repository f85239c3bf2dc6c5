"""The compiled modules: which there are, and a warning where they are missing although a C compiler is there."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

from .. import config
from ..core import plan

PACKAGE = Path(__file__).parents[1]
HINT = (
    "build the package again (in a checkout: pip install -e .), or set FLAMBEAU_PURE=1 to run uncompiled; "
    "`flambeau doctor` lists the compiled modules"
)


def is_compiled() -> bool:
    """Whether the core, through which every call goes, is machine code."""
    return not str(plan.__file__).endswith(".py")


def compiled_modules() -> list[str]:
    """The names of the compiled modules below flambeau; empty in a pure package."""
    found = (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.so"))
    return sorted(".".join((*path.parent.parts, path.name.partition(".")[0])) for path in found)


def c_compiler() -> str | None:
    """The path of the C compiler that a build would call; None if there is none."""
    import shutil
    import sysconfig

    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return shutil.which(command.split()[0])


def problem() -> str:
    """The reason for the warning at import: "" if the core is compiled, cannot be, or is not meant to be."""
    if is_compiled() or config.pure():
        return ""
    compiler = c_compiler()
    if compiler is None:
        return ""
    return f"the core is not compiled, although there is a C compiler ({compiler}): calls are slower"


def warn_if_uncompiled() -> None:
    """Warn once, where the program imports flambeau; the processes that it starts are silent."""
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.parent_process() is not None:
        return
    found = problem()
    if found:
        warnings.warn(f"flambeau: {found}\nhint: {HINT}", RuntimeWarning, stacklevel=3)
