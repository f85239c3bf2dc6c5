"""torch.hub: entry points of a local folder's hubconf.py, and files that are downloaded to a cache.

A folder of the user holds the program's models (`source="local"`).  Programs of remote repositories are not fetched.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from ..errors import ArgumentError, ArgumentTypeError, FileFormatError, NamingError, NotSupportedError, shown
from .files import load as load_file

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # hash in file names such as resnet18-bf5a02a6.pth
READ_DATA_CHUNK = 128 * 1024  # bytes


class NoFunctionError(NamingError, RuntimeError):
    """A hubconf.py has no function of this name."""


class Silence:
    """A progress bar that shows nothing; it is used if the package tqdm is not installed."""

    def __init__(self, iterable: Any = None, *args: Any, **kwargs: Any) -> None:
        self.iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        return iter(self.iterable)

    def __enter__(self) -> Silence:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def update(self, n: int = 1) -> None:
        """Add `n` to the count of steps."""

    def set_description(self, desc: str = "", refresh: bool = True) -> None:
        """Record a title; it is not shown."""

    def close(self) -> None:
        """End the progress bar."""


tqdm: Any = importlib.import_module("tqdm").tqdm if importlib.util.find_spec("tqdm") else Silence
CONFIG, DEPENDENCIES = "hubconf.py", "dependencies"
_chosen: list[str] = []  # the folder of set_dir


def home() -> str:
    """Return the folder of PyTorch's caches: TORCH_HOME, else torch in XDG_CACHE_HOME, else ~/.cache/torch."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """Return the folder of downloaded files: that of `set_dir`, else the folder hub in PyTorch's cache.

    Example:
        >>> torch.hub.get_dir().endswith("hub")
        True
    """
    return _chosen[-1] if _chosen else os.path.join(home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder in which downloaded files are stored.

    d: a path; ~ is the home directory.
    Raises: ArgumentTypeError for an object that is not a path.
    Example:
        >>> before = torch.hub.get_dir()
        >>> torch.hub.set_dir("/tmp/models")
        >>> torch.hub.get_dir()
        '/tmp/models'
        >>> torch.hub.set_dir(before)
    """
    if not isinstance(d, (str, os.PathLike)):
        raise ArgumentTypeError(f"d must be a path, got {shown(d)}", hint="as in '/tmp/models'", operator="set_dir")
    _chosen[:] = [os.path.expanduser(os.fspath(d))]


def load(
    repo_or_dir: Any,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Call the function `model` in the hubconf.py of the folder `repo_or_dir`, and return its result.

    source: must be "local".  args, kwargs: the function's arguments.
    Raises: NotSupportedError for source="github"; NoFunctionError if there is no such function; RuntimeError if
            packages are missing that hubconf.py lists in `dependencies`.
    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "hubconf.py").write_text("def double(number): return number * 2")
        ...     torch.hub.load(folder, "double", 3, source="local")
        6
    """
    return _entry(_local("hub.load", repo_or_dir, source), model)(*args, **kwargs)


def entry_points(
    github: Any, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check", **kwargs: Any
) -> list[str]:
    """Return the names of the functions in the hubconf.py of the local folder `github`.

    Raises: NotSupportedError for anything but a local folder.
    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "hubconf.py").write_text("def double(number): return number * 2")
        ...     torch.hub.list(folder)
        ['double']
    """
    module = _configuration(_local("hub.list", github, kwargs.get("source", _source_of(github))))
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def help_of(
    github: Any,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
    **kwargs: Any,
) -> str | None:
    """Return the docstring of the function `model` in the hubconf.py of the local folder `github`.

    Raises: NotSupportedError for anything but a local folder.
    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "hubconf.py").write_text("def double(number): 'Twice as much.'")
        ...     torch.hub.help(folder, "double")
        'Twice as much.'
    """
    text: str | None = _entry(_local("hub.help", github, kwargs.get("source", _source_of(github))), model).__doc__
    return text


def _source_of(repository: Any) -> str:
    return "local" if os.path.isdir(repository) else "github"


def _local(name: str, repository: Any, source: str) -> Path:
    """Return a local folder with a hubconf.py.  Raises NotSupportedError for a repository."""
    if source not in ("local", "github"):
        raise ArgumentError(
            f"Unknown source: {shown(source)}. Allowed values: 'github' | 'local'",
            hint="pass source='local' and a folder",
            operator=name,
        )
    if source == "github":
        raise NotSupportedError(
            f"the repository {shown(repository)} is not fetched: flambeau does not download and run code",
            hint="clone it, and pass its folder with source='local'",
            operator=name,
        )
    folder = Path(repository).expanduser()
    if not (folder / CONFIG).is_file():
        raise FileNotFoundError(f"{name}: there is no {CONFIG} in {str(folder)!r}\nhint: pass the folder that has it")
    return folder


def _configuration(folder: Path) -> ModuleType:
    """Execute a folder's hubconf.py, with the folder temporarily on Python's path."""
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("hubconf", folder / CONFIG)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


def _entry(folder: Path, model: Any) -> Any:
    """Return a function of a folder's hubconf.py."""
    if not isinstance(model, str):
        raise ArgumentError(
            f"the function's name must be a str, got {shown(model)}", hint="as in 'resnet18'", operator="hub.load"
        )
    module = _configuration(folder)
    missing = [name for name in getattr(module, DEPENDENCIES, []) if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"hub.load: Missing dependencies: {', '.join(missing)}\nhint: install these packages")
    entrypoint = getattr(module, model, None)
    if not callable(entrypoint):
        raise NoFunctionError(
            f"there is no function {model!r} in {folder / CONFIG}",
            hint="use one of the functions that torch.hub.list(folder) returns",
            operator="hub.load",
        )
    return entrypoint


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download the file at `url` to the path `dst`, where it appears once it is complete.

    hash_prefix: the first digits that the SHA-256 of the file must have.  progress: show a bar, if tqdm is installed.
    Raises: FileFormatError if the hash differs; OSError if the download fails, ArgumentTypeError for a url that
            is not a string, the builtin ValueError for one without a known scheme.
    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     source, target = pathlib.Path(folder, "source"), pathlib.Path(folder, "target")
        ...     _ = source.write_text("text")
        ...     torch.hub.download_url_to_file(source.as_uri(), str(target), progress=False)
        ...     target.read_text()
        'text'
    """
    if not isinstance(url, str):
        raise ArgumentTypeError(
            f"url must be a str, got {shown(url)}",
            hint="as in 'https://example.com/model.pt'",
            operator="download_url_to_file",
        )
    target = os.path.expanduser(dst)
    digest = hashlib.sha256()
    with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as response:
        length = response.headers.get("Content-Length")
        handle, partial = tempfile.mkstemp(prefix=f"{os.path.basename(target)}.", dir=os.path.dirname(target) or ".")
        try:
            with os.fdopen(handle, "wb") as file, _bar(int(length) if length else None, progress) as bar:
                while chunk := response.read(READ_DATA_CHUNK):
                    file.write(chunk)
                    digest.update(chunk)
                    bar.update(len(chunk))
            if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
                raise FileFormatError(
                    f"invalid hash value of {url} (expected {hash_prefix!r}, got {digest.hexdigest()!r})",
                    hint="download it again, or check the file's source",
                    operator="download_url_to_file",
                )
            os.replace(partial, target)
        except BaseException:
            with suppress(OSError):
                os.remove(partial)
            raise


def _bar(total: int | None, is_shown: bool) -> Any:
    return (tqdm if is_shown else Silence)(total=total, unit="B", unit_scale=True, unit_divisor=1024)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """Download a file that `torch.save` wrote, unless the cache has it, and load it.

    model_dir: the cache's folder, checkpoints in `get_dir()` by default.
    file_name: the name of the file in the cache, by default that in the URL.
    check_hash: whether the downloaded file must have the SHA-256 whose first digits are in the name, as in
    "net-1a2b3c4d.pt".  map_location, weights_only: as in `torch.load`.
    Raises: ArgumentTypeError for a url that is not a string, and the errors of `download_url_to_file` and `torch.load`.
    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     torch.save({"x": torch.ones(1)}, f"{folder}/net.pt")
        ...     place = pathlib.Path(folder, "net.pt").as_uri()
        ...     torch.hub.load_state_dict_from_url(place, f"{folder}/cache", progress=False)
        {'x': tensor([1.])}
    """
    if os.getenv("TORCH_MODEL_ZOO"):
        warnings.warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    if not isinstance(url, str):
        raise ArgumentTypeError(
            f"url must be a str, got {shown(url)}",
            hint="as in 'https://example.com/model.pt'",
            operator="load_state_dict_from_url",
        )
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    cached = os.path.join(folder, name)
    if not os.path.exists(cached):
        sys.stderr.write(f'Downloading: "{url}" to {cached}\n')
        match = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, cached, match[1] if match else None, progress)
    return load_file(cached, map_location=map_location, weights_only=weights_only)
