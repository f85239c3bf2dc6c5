"""Imports modules that have no file: each is made from its row of a table of names, `import_paths.py`.

The import system asks each object of sys.meta_path for a module, as Python's documentation of importlib describes.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .errors import no_attribute

PACKAGE = __name__.rpartition(".")[0]


class Row:
    """The content of one module.  names: by the module that defines them, as in `from .module import a, b as c`."""

    __slots__ = ("doc", "names", "values")

    def __init__(self, doc: str, names: Mapping[str, str] = {}, values: Mapping[str, object] = {}) -> None:
        self.doc = doc
        self.names = names
        self.values = values


ROWS: dict[str, Row] = {}  # by the module's path below the package


class TableModule(ModuleType):
    """A module made from a row.  Its submodules are imported at their first use."""

    __all__: list[str] = []

    def __getattr__(self, name: str) -> object:
        return submodule(self.__name__, name)

    def __dir__(self) -> list[str]:
        return listing(vars(self))()


class Importer:
    """Meta path finder and loader of the rows."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not has_row(fullname):
            return None
        loader: Any = self  # not an importlib.abc.Loader: that module is slow to import
        return ModuleSpec(fullname, loader, origin="flambeau.import_paths", is_package=bool(submodules(fullname)))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return TableModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        path = module.__name__.removeprefix(f"{PACKAGE}.")
        row = ROWS[path]
        found: dict[str, Any] = dict(row.values)
        for source, names in row.names.items():
            home = importlib.import_module(source, PACKAGE)
            for each in names.split(", "):
                name, _, shown = each.partition(" as ")
                value = getattr(home, name)
                as_function = getattr(value, "as_function", None)  # of an operator
                found[shown or name] = value if as_function is None else as_function(module.__name__)
        module.__doc__ = f"torch.{path}: {row.doc}"
        vars(module).update(found, __all__=sorted({*found, *submodules(module.__name__)}))


def has_row(fullname: str) -> bool:
    """Return whether a module has a row."""
    package, _, path = fullname.partition(".")
    return package == PACKAGE and path in ROWS


def submodules(package: str) -> list[str]:
    """Return the names of the rows directly below a package."""
    split = (f"{PACKAGE}.{path}".rpartition(".") for path in ROWS)
    return [name for parent, _, name in split if parent == package]


def submodule(package: str, name: str) -> ModuleType:
    """Import the row of this name below a package, for its `__getattr__`.  Raises AttributeError if there is none."""
    path = f"{package}.{name}"
    if not has_row(path):
        raise no_attribute(package, name)
    return importlib.import_module(path)


def install(rows: Mapping[str, Row]) -> None:
    """Make rows importable.

    They come before the file system, which would find an empty folder of the same name as a package.
    """
    if not ROWS:
        sys.meta_path.insert(0, Importer())
    ROWS.update(rows)


def listing(module: Mapping[str, Any], *others: str) -> Callable[[], list[str]]:
    """Return the `__dir__` of a module, which is what completion shows: `__dir__ = listing(globals())`.

    It has `__all__`, the rows below the module and Python's own names.  Further names, which only the implementation
    needs, stay attributes.
    others: public names that `__all__` lacks, such as submodules with a file.
    """
    package = module["__name__"]

    def names() -> list[str]:
        rows = (name for name in submodules(package) if not name.startswith("_"))
        own = (name for name in [*module] if name.startswith("__"))
        return sorted({*module["__all__"], *others, *rows, *own})

    return names
