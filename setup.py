"""Compiles the hot path where Cython and a C compiler are at hand; without them the same .py files run.

FLAMBEAU_PURE=1 leaves the compiled files out.
"""

import contextlib
import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

BROKEN_CYTHON = "3.3.0"  # drops the evaluation of some loops' iterables: what it compiles crashes
ROOT = Path(__file__).parent / "src"
TRACEBACK = "src/flambeau/core/traceback.h"
# modules whose time is spent in calls of Python's: -O1 halves the time to compile them and leaves their speed
SIMPLE = {
    "allocator", "binding", "engine", "factories", "layout", "pool", "queue", "record", "storage", "tensor", "thread",
    "views",
}  # fmt: skip
DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,  # annotations are for people: `x: float` takes None, as it does uncompiled
    "binding": True,  # not in tensor.py and queue.py: such methods, called through the class, do not check `self`
    "embedsignature": False,
    "auto_pickle": False,  # no object of core/ is pickled but tensors, which say how
}


def extensions() -> list[Extension]:
    """One for each .pyx file, and for each other .py file with a .pxd beside it."""
    if os.environ.get("FLAMBEAU_PURE", "0") not in ("", "0"):
        return uncompiled("FLAMBEAU_PURE is set")
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    if shutil.which(shlex.split(compiler)[0]) is None:
        return uncompiled(f"there is no C compiler ({compiler})")
    try:
        from Cython import __version__ as version
        from Cython.Build import cythonize
    except ImportError:
        return uncompiled("Cython is not installed")
    if version == BROKEN_CYTHON:
        sys.exit(f"setup.py: Cython {version} compiles loops wrongly; install another, or set FLAMBEAU_PURE=1")
    sources = set(ROOT.rglob("*.pyx"))
    sources |= {each.with_suffix(".py") for each in ROOT.rglob("*.pxd") if each.with_suffix(".pyx") not in sources}
    wanted = [
        Extension(
            ".".join(each.relative_to(ROOT).with_suffix("").parts),
            [str(each.relative_to(ROOT))],
            # symbols for a debugger take a third of the time to compile
            extra_compile_args=["-g0", "-include", TRACEBACK, *(["-O1"] if each.stem in SIMPLE else [])],
            optional=True,
        )
        for each in sorted(sources)
    ]
    # Cython names files of tracebacks as they are given to it: see traceback.h
    here, build_dir = os.getcwd(), os.path.abspath("build/cython")
    with contextlib.chdir(ROOT):
        made = cythonize(wanted, compiler_directives=DIRECTIVES, build_dir=build_dir, quiet=True)
    for each in made:
        each.sources = [os.path.relpath(ROOT / source, here) for source in each.sources]
        each.depends = [str(header.relative_to(ROOT.parent)) for header in (ROOT / "flambeau/core").glob("*.h")]
    return made


def uncompiled(reason: str) -> list[Extension]:
    """No extensions; say why."""
    note = "the package works the same, and its calls are slower"
    print(f"setup.py: no module of flambeau is compiled: {reason}; {note}", file=sys.stderr)
    return []


setup(
    package_dir={"": "src"},
    ext_modules=extensions(),
    options={"build_ext": {"parallel": os.cpu_count() or 1}},
)
