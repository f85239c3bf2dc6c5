"""Lets `import torch` find flambeau: `torch` and `torch.<any module>` are flambeau's modules, the same objects.

In this process a meta path finder is installed; child processes find alias/torch.py on their path.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

NAME, OURS = "torch", "flambeau"
VERSION = "2.13.0+flambeau"  # the version of PyTorch whose names and meanings flambeau has
ALIAS = str(Path(__file__).parent / "alias")


class TorchVersion(str):
    """A version that compares by its numbers, with texts such as "2.4" and with tuples such as (2, 4)."""

    def __lt__(self, other: object) -> bool:
        return _compared(self, other) < 0

    def __le__(self, other: object) -> bool:
        return _compared(self, other) <= 0

    def __gt__(self, other: object) -> bool:
        return _compared(self, other) > 0

    def __ge__(self, other: object) -> bool:
        return _compared(self, other) >= 0


def _compared(one: object, other: object) -> int:
    """Compare two versions: -1, 0 or 1.  Missing numbers count as 0; a local part ranks above none."""
    first, second = _numbers(one), _numbers(other)
    width = max(len(first), len(second))
    keys = [
        (*numbers, *[0] * (width - len(numbers)), isinstance(version, str) and "+" in version)
        for numbers, version in ((first, one), (second, other))
    ]
    return (keys[0] > keys[1]) - (keys[0] < keys[1])


def _numbers(version: object) -> tuple[int, ...]:
    """The leading numbers of a version.  Raises TypeError for anything but a text, tuple or list."""
    if isinstance(version, str):
        match = re.match(r"\d+(\.\d+)*", version)
        return tuple(map(int, match[0].split("."))) if match else ()
    if isinstance(version, (tuple, list)):
        return tuple(int(part) for part in version)
    raise TypeError(f"a version compares with a text or a tuple of numbers, not with {version!r}")


class Alias(Loader):
    """Loader that returns an existing module under a second name."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.target)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has put its own there


class TorchDistribution(Distribution):
    """The installed package `torch`, for programs that ask importlib.metadata for its version."""

    TEXTS = {"METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n", "top_level.txt": NAME}

    def read_text(self, filename: str) -> str | None:
        return self.TEXTS.get(str(filename))

    def locate_file(self, path: Any) -> Path:
        return Path(ALIAS, path)


class Finder(MetaPathFinder):
    """Meta path finder that maps `torch` and its submodules to flambeau's; absent ones are not found."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != NAME and not fullname.startswith(f"{NAME}."):
            return None
        ours = OURS + fullname.removeprefix(NAME)
        spec = find_spec(ours)
        if spec is None:
            return None
        return ModuleSpec(
            fullname, Alias(ours), origin=spec.origin, is_package=spec.submodule_search_locations is not None
        )

    def find_distributions(
        self, context: DistributionFinder.Context = DistributionFinder.Context()
    ) -> Iterator[Distribution]:
        """Yield the package `torch` if its name is sought, or all packages are."""
        if context.name is None or context.name.lower() == NAME:
            yield TorchDistribution()


def install() -> None:
    """Make `import torch` find flambeau, here and in new processes, with PyTorch's version number.

    A second call has no effect.
    """
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
        ours = importlib.import_module(OURS)
        vars(ours).update(__name__=NAME, __version__=TorchVersion(VERSION), torch=ours)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if ALIAS not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([ALIAS, *filter(None, paths)])
    if ALIAS not in sys.path:  # which multiprocessing hands to its children
        sys.path.insert(1, ALIAS)
