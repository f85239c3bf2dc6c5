"""The list of compiled modules, and a warning if they are missing on a machine with a C compiler."""

from __future__ import annotations

import os
import sys
import warnings

from .. import config
from ..core import plan

CORE = os.path.dirname(plan.__file__)
HINT = (
    "build the package again (in a checkout: pip install -e .), or set FLAMBEAU_PURE=1 to run uncompiled; "
    "`flambeau doctor` lists the compiled modules"
)


def is_compiled() -> bool:
    """Return whether the core, which every call uses, is compiled."""
    return not str(plan.__file__).endswith(".py")


def compiled_modules() -> list[str]:
    """Return the names of the compiled modules below flambeau, all in `core`; empty in a pure package."""
    return sorted(f"core.{name.partition('.')[0]}" for name in os.listdir(CORE) if name.endswith(".so"))


def configuration() -> str:
    """Return a text that names the compiled modules, for `torch.__config__.show()`."""
    modules = compiled_modules()
    return f"flambeau: {len(modules)} compiled modules{': ' if modules else ''}{', '.join(modules)}\n"


def c_compiler() -> str | None:
    """Return the path of the C compiler that a build would call; None if there is none."""
    import shutil
    import sysconfig

    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return shutil.which(command.split()[0])


def problem() -> str:
    """Return why the core is not compiled although it could be, for the warning at import; else ""."""
    if is_compiled() or config.pure():
        return ""
    compiler = c_compiler()
    if compiler is None:
        return ""
    return f"the core is not compiled, although there is a C compiler ({compiler}): calls are slower"


def warn_if_uncompiled() -> None:
    """Warn once, at the line that imports flambeau; child processes do not warn."""
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.parent_process() is not None:
        return
    reason = problem()
    if reason:
        warnings.warn(f"flambeau: {reason}\nhint: {HINT}", RuntimeWarning, stacklevel=3)
