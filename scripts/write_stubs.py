"""Writer of the type stubs (.pyi) of modules whose names are made at run time.

Run `scripts/stubs`.  Names, parameters and defaults come from the objects: an operator's `__signature__`, a function's
own.  A type is that of an annotation where one says more than Any, else it follows from the tables below.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import flambeau
from flambeau import optim
from flambeau.import_paths import TYPED
from flambeau.importer import submodules
from flambeau.nn import functional, modules
from flambeau.ops.operator import Operator
from flambeau.tensor.legacy import TensorType
from flambeau.tensor.methods import KINDS
from flambeau.tensor.storages import CLASSES
from flambeau.utils.data import _utils

PACKAGE = Path(flambeau.__file__).parent
HEADER = "# Written by scripts/stubs, not by hand.\n"
BUILTINS = "bool", "float", "int", "type"  # names that the package and tensors use for something else
OWN = "device", "dtype", "layout", "memory_format"
TYPES = {  # of annotations
    "Operand": "Tensor", "Operand | None": "Tensor | None", "Operands": "Sequence[Tensor]",
    "Value": "Tensor | Number", "Value | None": "Tensor | Number | None", "Number": "float",
    "Dims": "int | Sequence[int] | None", "TensorBase": "Tensor", "st.Shape": "tuple[int, ...]", "st.Size": "Size",
    "dtype | None": "Dtype | None", "storages.UntypedStorage": "UntypedStorage",
}  # fmt: skip
PARAMETERS = {  # types of parameters whose annotations do not say them
    "bias": "Tensor | None", "bounds": "int", "bounds_and_size": "int | Sequence[int] | Dtype", "condition": "Tensor",
    "correction": "float | None", "destination": "Sizes", "device": "Device", "dim": "Sizes | None",
    "dims": "Sizes | None", "dtype": "Dtype | None", "end": "Number", "fill_value": "Number", "generator":
    "Generator | None", "gradient": "Tensor | None", "high": "int | None", "indices": "Sequence[Tensor | None]",
    "input": "Tensor", "inputs": "Tensor | Sequence[Tensor] | None", "layout": "layout | None", "low": "int | None",
    "memory_format": "memory_format | None", "new_state": "Tensor", "normalized_shape": "Sizes",
    "other": "Tensor | Number", "out": "Tensor | None", "p": "float | str | None", "pos_weight": "Tensor | None",
    "reduce": "bool | None", "repeats": "Sizes | Tensor | None", "rounding_mode": "str | None", "self": "",
    "shape": "Sizes", "shifts": "Sizes", "size": "Sizes", "size_average": "bool | None", "sizes": "int | Sequence[int]",
    "source": "Sizes", "split_size_or_sections": "Sizes", "start": "Number", "step": "Number", "stride":
    "Sequence[int]", "tensors": "Tensor", "value": "Tensor | Number", "values": "Tensor", "weight": "Tensor | None",
    "alpha": "Number", "beta": "Number", "requires_grad": "bool", "pin_memory": "bool", "as_tuple": "bool",
}  # fmt: skip
SEVERAL_SIZES = ("reshape", "expand", "broadcast_to", "permute", "repeat", "tile", "flip")
PARTICULAR = {  # types of some functions' parameters
    ("asarray", "obj"): "Any", ("scatter", "reduce"): "str | None", ("scatter_", "reduce"): "str | None",
    ("embedding", "weight"): "Tensor", ("linear", "weight"): "Tensor", ("lerp", "start"): "Tensor",
    ("lerp", "end"): "Tensor", ("lerp_", "end"): "Tensor", ("view_dtype", "dtype"): "Dtype",
    ("index_copy", "source"): "Tensor", ("index_add", "source"): "Tensor", ("embedding", "indices"): "Tensor",
    ("index_copy_", "source"): "Tensor", ("index_add_", "source"): "Tensor", ("squeeze", "dim"): "Sizes | None",
    ("take_along_dim", "indices"): "Tensor", ("equal", "other"): "Tensor", ("isclose", "other"): "Tensor",
    ("allclose", "other"): "Tensor", ("device", "index"): "int | None", ("unflatten", "sizes"): "Sequence[int]",
    ("from_numpy", "ndarray"): "NDArray[Any]", ("expand", "size"): "Sequence[int]",
    ("size", "size"): "Sizes | None", ("repeat_interleave", "repeats"): "int | Tensor | None",
    ("where", "self"): "", ("set_", "source"): "Any", ("unravel_index", "indices"): "Tensor",
    ("module_load", "other"): "Tensor", ("result_type", "other"): "Any",
    ("as_strided", "size"): "Sequence[int]", ("permute", "dims"): "Sequence[int]",
}  # fmt: skip
PAIR = "ValuesAndIndices"
PIECES = (  # functions that return several tensors
    "broadcast_tensors", "dsplit", "hsplit", "meshgrid", "split_copy", "split_with_sizes", "split_with_sizes_copy",
    "tensor_split", "unbind_copy", "unravel_index", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "vsplit",
)  # fmt: skip
RETURNS = {  # of functions that do not return one tensor
    **dict.fromkeys(PIECES, "tuple[Tensor, ...]"), "atleast_1d": "Any", "atleast_2d": "Any", "atleast_3d": "Any",
    "storage_type": "Any", "chunk": "tuple[Tensor, ...]", "split": "tuple[Tensor, ...]",
    "unbind": "tuple[Tensor, ...]", "sort": PAIR, "topk": PAIR, "item": "bool | int | float", "tolist": "Any",
    "is_contiguous": "bool", "numel": "int", "numpy": "NDArray[Any]", "get_rng_state": "Tensor",
    "kthvalue": PAIR, "mode": PAIR, "cummax": PAIR, "cummin": PAIR, "gradient": "tuple[Tensor, ...]",
    **dict.fromkeys(("var_mean", "std_mean"), "tuple[Tensor, Tensor]"),
    **dict.fromkeys(("aminmax", "histogram", "unique", "unique_consecutive"), "Any"),
}  # fmt: skip
OUT = ", *, out: Tensor | None = ..."  # of functions, not of methods
PLACING = "non_blocking: bool = ..., copy: bool = ..., *, memory_format: memory_format | None = ..."
OVERLOADS = {  # names with several forms; `self` stands for the first tensor
    "max": [
        "(self) -> Tensor", f"(self, dim: int, keepdim: bool = ...) -> {PAIR}",
        f"(self, other: Tensor{OUT}) -> Tensor",
    ],
    "nonzero": [
        f"(self, as_tuple: Literal[False] = ...{OUT}) -> Tensor",
        "(self, as_tuple: Literal[True]) -> tuple[Tensor, ...]",
    ],
    "size": ["(self, dim: None = ...) -> Size", "(self, dim: int) -> int"],
    "stride": ["(self, dim: None = ...) -> tuple[int, ...]", "(self, dim: int) -> int"],
    "to": [
        f"(self, dtype: Dtype, {PLACING}) -> Tensor",
        f"(self, device: Device = ..., dtype: Dtype | None = ..., {PLACING}) -> Tensor",
        f"(self, other: Tensor, {PLACING}) -> Tensor",
    ],
    "type": [
        "(self, dtype: None = ...) -> str",
        "(self, dtype: Dtype | str | type[Tensor], non_blocking: bool = ..., *, "
        "memory_format: memory_format | None = ...) -> Tensor",
    ],
}  # fmt: skip
OVERLOADS["min"] = OVERLOADS["max"]
OVERLOADS["median"] = OVERLOADS["nanmedian"] = OVERLOADS["max"][:2]
METHOD_OVERLOADS = {
    "view": [
        "(self, dtype: Dtype) -> Tensor", "(self, size: Sequence[int]) -> Tensor", "(self, *size: int) -> Tensor",
    ],
}  # fmt: skip
FUNCTION_OVERLOADS = {
    "where": [
        "(condition: Tensor) -> tuple[Tensor, ...]",
        "(condition: Tensor, input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor",
    ],
    "arange": [
        "(end: Number, *, {options}) -> Tensor",
        "(start: Number, end: Number, step: Number = ..., *, {options}) -> Tensor",
    ],
    "randint": [
        "(high: int, size: Sequence[int], *, generator: Generator | None = ..., {options}) -> Tensor",
        "(low: int, high: int, size: Sequence[int], *, generator: Generator | None = ..., {options}) -> Tensor",
    ],
    "broadcast_tensors": ["(*tensors: Tensor) -> tuple[Tensor, ...]"],
}  # fmt: skip
FACTORY = (
    "out: Tensor | None = ..., dtype: Dtype | None = ..., layout: layout | None = ..., device: Device = ..., "
    "requires_grad: bool = ..., pin_memory: bool = ..."
)
PROPERTIES = {  # compiled properties do not tell their types
    **{f"is_{kind}": "bool" for kind in (*KINDS, "cpu", "meta")}, "name": "Any", "H": "Tensor", "mH": "Tensor",
    "T": "Tensor", "data": "Tensor", "device": "device", "dtype": "dtype", "grad": "Tensor | None", "grad_fn": "Any",
    "is_cuda": "bool", "is_leaf": "bool", "itemsize": "int", "layout": "layout", "mT": "Tensor", "nbytes": "int",
    "ndim": "int", "output_nr": "int", "requires_grad": "bool", "retains_grad": "bool", "shape": "Size",
    "real": "Tensor", "imag": "Tensor",
    **{f"is_{kind}": "bool" for kind in (*KINDS, "meta")},
}  # fmt: skip
SYMBOLS = {  # signatures of Python's symbols; a tensor's == is no bool, which object's is
    "__(r|)(add|sub|mul|truediv|floordiv|mod|pow)__": "(self, other: Tensor | Number) -> Tensor",
    "__i(add|sub|mul|truediv|floordiv|mod|pow)__": "(self, other: Tensor | Number) -> Self",
    "__(r|)(and|or|xor|lshift|rshift)__": "(self, other: Tensor | int) -> Tensor",
    "__i(and|or|xor|lshift|rshift)__": "(self, other: Tensor | int) -> Self",
    "__(r|)matmul__": "(self, other: Tensor) -> Tensor",
    "__imatmul__": "(self, other: Tensor) -> Self",
    "__(lt|le|gt|ge)__": "(self, other: Tensor | Number) -> Tensor",
    "__(neg|pos|abs|invert|reversed)__": "(self) -> Tensor",
    "__getitem__": "(self, index: Index) -> Tensor",
    "__setitem__": "(self, index: Index, value: Tensor | Number) -> None",
    "__iter__": "(self) -> Iterator[Tensor]",
    "__contains__": "(self, value: Tensor | Number) -> bool",
    "__(len|int|index|hash)__": "(self) -> int",
    "__bool__": "(self) -> bool",
    "__complex__": "(self) -> complex",
    "__float__": "(self) -> float",
    "__format__": "(self, format_spec: str) -> str",
    "__array__": "(self, dtype: Any = ..., copy: bool | None = ...) -> NDArray[Any]",
    "__dlpack__": "(self, **options: Any) -> Any",
    "__dlpack_device__": "(self) -> tuple[int, int]",
    "__deepcopy__": "(self, memo: dict[int, Any]) -> Self",
}
CONSTANTS = (flambeau.dtype, flambeau.layout, flambeau.memory_format)
COMMON = """
from builtins import bool as _bool, float as _float, int as _int, type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager as ContextManager
from typing import Any, Literal, NamedTuple, Self, SupportsIndex, TypeAlias, TypeVar, overload

from numpy.typing import NDArray
"""
NAMES = """
from @dtypes import dtype as _dtype
from @memory_formats import memory_format as _memory_format
from @runtime.device import device as _device
from @runtime.generator import Generator as Generator
from @memory_formats import layout as _layout
from @tensor.tensor import *
"""
MODES = """
_F = TypeVar("_F", bound=Callable[..., Any])

class _Mode:
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...
    def __call__(self, function: _F, /) -> _F: ...

class no_grad(_Mode):
    @overload
    def __new__(cls) -> Self: ...
    @overload
    def __new__(cls, function: _F, /) -> _F: ...  # type: ignore[misc]  # the decorated function

class enable_grad(_Mode):
    @overload
    def __new__(cls) -> Self: ...
    @overload
    def __new__(cls, function: _F, /) -> _F: ...  # type: ignore[misc]  # the decorated function

class inference_mode(_Mode):
    @overload
    def __new__(cls, mode: _bool = ...) -> Self: ...
    @overload
    def __new__(cls, mode: _F) -> _F: ...  # type: ignore[misc]  # the decorated function

class set_grad_enabled(_Mode):
    def __init__(self, mode: _bool) -> None: ...
"""
ALIASES = """
Number: TypeAlias = _bool | _int | _float
Device: TypeAlias = _device | str | _int | None
Dtype: TypeAlias = _dtype | _type[_bool] | _type[_int] | _type[_float]
Sizes: TypeAlias = _int | Sequence[_int]
Item: TypeAlias = Tensor | SupportsIndex | slice | _bool | EllipsisType | NDArray[Any] | Sequence[Any] | None
Index: TypeAlias = Item | tuple[Item, ...]
"""


def private(text: str) -> str:
    """A type with the names that the stub's own definitions would hide replaced by private ones."""
    return re.sub(rf"(?<![\w.:])\b({'|'.join((*BUILTINS, *OWN))})\b(?!\s*:)", r"_\1", text)


def type_of(function: str, parameter: str, annotation: str) -> str:
    """The type of a parameter, without private names."""
    found = PARTICULAR.get((function, parameter))
    if found is not None:
        return found
    if annotation in ("", "Any"):
        return PARAMETERS.get(parameter, "Any")
    return TYPES.get(annotation, annotation)


def annotations_of(found: Any) -> dict[str, str]:
    function = inspect.unwrap(found)
    if isinstance(function, Operator):
        return {each.name: each.annotation for each in function.parameters}
    if inspect.ismethoddescriptor(function):  # compiled without them
        return annotations_in_source(function)
    return {name: each if isinstance(each, str) else each.__name__ for name, each in function.__annotations__.items()}


def annotations_in_source(method: Any) -> dict[str, str]:
    tree = ast.parse((PACKAGE.parent / f"{method.__objclass__.__module__.replace('.', '/')}.py").read_text())
    (node,) = (
        each
        for cls in tree.body
        if isinstance(cls, ast.ClassDef) and cls.name == method.__objclass__.__name__
        for each in cls.body
        if isinstance(each, ast.FunctionDef) and each.name == method.__name__
    )
    given = {each.arg: each.annotation for each in node.args.args} | {"return": node.returns}
    return {name: ast.unparse(each) for name, each in given.items() if each is not None}


def returned(name: str, annotation: str) -> str:
    if name in RETURNS or annotation in ("", "Any"):
        return RETURNS.get(name, "Tensor")
    return TYPES.get(annotation, annotation)


def signature(name: str, found: Any, method: bool = False, inplace: bool = False) -> str:
    """The parameters and the result of a function or an operator, as a stub writes them."""
    given = annotations_of(found)
    shown, starred = [], False
    for place, parameter in enumerate(inspect.signature(found).parameters.values()):
        if parameter.name.startswith("_"):
            continue
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
        starred |= star == "*" or parameter.kind is parameter.KEYWORD_ONLY
        kind = type_of(name, parameter.name, given.get(parameter.name, ""))
        if method and place == 0:
            shown.append("self")
            continue
        if parameter.name == "size" and parameter.default is None:
            kind = "Sizes | None"
        if parameter.name == "out" and returned(name, "") == PAIR:
            kind = "tuple[Tensor, Tensor] | None"
        default = "" if parameter.default is parameter.empty or star else " = ..."
        if parameter.name == "self":  # of a function that is a method too
            shown.append("input: Tensor")
            continue
        shown.append(f"{star}{parameter.name}: {kind}{default}")
    result = "Self" if inplace else returned(name, given.get("return", ""))
    return f"({', '.join(shown)}) -> {result}"


def forms(name: str, found: Any, method: bool) -> list[str]:
    """Every form in which a function or method can be called."""
    own = METHOD_OVERLOADS if method else FUNCTION_OVERLOADS
    if name in own:
        return [each.replace("{options}", FACTORY) for each in own[name]]
    if name in OVERLOADS:
        listed = OVERLOADS[name]
        return [each.replace(OUT, "") if method else each.replace("self", "input: Tensor") for each in listed]
    if method and name in SEVERAL_SIZES:
        parameter = list(inspect.signature(found).parameters)[1]
        return [f"(self, {parameter}: Sequence[int]) -> Tensor", f"(self, *{parameter}: int) -> Tensor"]
    inplace = method and name.endswith("_") and not name.startswith("_")
    return [signature(name, found, method, inplace)]


def defined(name: str, found: Any, method: bool = False) -> Iterator[str]:
    """The lines that define a function or a method, with the first line of its documentation."""
    indent = "    " * method
    found_forms = forms(name, found, method)
    for form in found_forms:
        if len(found_forms) > 1:
            yield f"{indent}@overload"
        yield f"{indent}def {name}{private(form)}:{documentation(found, indent)}"


def method_lines(cls: type) -> Iterator[str]:
    """The public members of Tensor."""
    for name in sorted(dir(cls)):
        found = inspect.getattr_static(cls, name)
        symbol = next((form for pattern, form in SYMBOLS.items() if re.fullmatch(pattern, name)), "")
        if symbol:
            yield f"    def {name}{private(symbol)}: ..."
        elif name.startswith("_"):
            continue
        elif name in PROPERTIES:
            yield f"    @property\n    def {name}(self) -> {private(PROPERTIES[name])}:{documentation(found, '    ')}"
            if getattr(found, "fset", None) is not None:
                yield f"    @{name}.setter\n    def {name}(self, value: {private(PROPERTIES[name])}) -> None: ..."
            if getattr(found, "fdel", None) is not None:
                yield f"    @{name}.deleter\n    def {name}(self) -> None: ..."
        elif callable(found):
            yield from defined(name, found, method=True)
    for name in ("__eq__", "__ne__"):  # object's return bool
        yield f"    def {name}(self, other: object) -> Tensor: ...  # type: ignore[override]"


def documentation(found: Any, indent: str) -> str:
    """Return the body of a stub: the first line of the object's docstring, or nothing."""
    text = first_line(found)
    return f'\n{indent}    """{text}"""' if text else " ..."


def first_line(found: Any) -> str:
    return "" if found is None else (inspect.getdoc(found) or "").split("\n")[0].replace("\\", "\\\\")


def tensor_stub() -> str:
    """The stub of the module that defines Tensor."""
    imports = """
from types import EllipsisType

from ..autograd.node_hooks import RemovableHandle
from ..dtypes import dtype as _dtype
from ..memory_formats import layout as _layout, memory_format as _memory_format
from ..runtime.device import device as _device
from ..runtime.generator import Generator
from ..runtime.stream import Stream
from ..strides import Size
from .storages import TypedStorage, UntypedStorage
"""
    members = "\n".join(method_lines(flambeau.Tensor))
    return (
        f"{HEADER}{COMMON}{imports}{ALIASES}\nclass {PAIR}(NamedTuple):\n    values: Tensor\n    indices: Tensor\n\n"
        f'class Tensor:\n    """{first_line(flambeau.Tensor)}"""\n'
        "    def __init__(self, *args: Any, device: Device = ...) -> None: ...\n"
        "    def __init_subclass__(cls, *, overrides: _bool = ...) -> None: ...\n"
        f"{members}\n"
    )


def package_stub() -> str:
    """The stub of the package itself."""
    imports: list[str] = []
    constants: list[str] = []
    functions: list[str] = []
    for name in sorted({*flambeau.__all__, *flambeau._SUBMODULES}):
        found = getattr(flambeau, name)
        if isinstance(found, ModuleType):
            imports.append(f"from . import {name} as {name}")
        elif type(found) in CONSTANTS:
            constants.append(f"{name}: _{type(found).__name__}")
        elif found is None or isinstance(found, float):
            constants.append(f"{name}: {'None' if found is None else '_float'}")
        elif isinstance(found, TensorType):
            constants.append(f"class {name}(Tensor): ...")
        elif found in CLASSES.values():
            constants.append(f"class {name}(TypedStorage): ...")
        elif f"class {name}(_Mode)" in MODES:
            continue
        elif is_typed(found):
            home = sys.modules[found.__module__].__name__.removeprefix("flambeau")
            imports.append(f"from {home} import {found.__name__} as {name}")
        else:
            functions += defined(name, found)
    names = NAMES.replace("@", ".")
    return "\n".join((HEADER, COMMON, names, *imports, MODES, *constants, "__version__: str", *functions, ""))


def functional_stub() -> str:
    """The stub of nn.functional."""
    functions = [line for name in sorted(functional.__all__) for line in defined(name, getattr(functional, name))]
    return "\n".join((HEADER, COMMON, NAMES.replace("@", ".."), *functions, ""))


def alias_stubs() -> dict[str, str]:
    """The stubs of modules of PyTorch's that are another module here."""
    found = {}
    for package in (optim, _utils):
        folder = package.__name__.removeprefix("flambeau.").replace(".", "/")
        up = "." * (folder.count("/") + 2)
        for name in package._MODULES:
            target = getattr(package, name).__name__.removeprefix("flambeau.")
            found[f"{folder}/{name}.pyi"] = f"{HEADER}from {up}{target} import *\n"
    return found | row_stubs() | module_stubs()


def row_stubs() -> dict[str, str]:
    """The stubs of modules that are rows of a table."""
    found = {}
    for path, row in TYPED.items():
        children = submodules(f"flambeau.{path}")
        up = "." * (path.count(".") + 1 + bool(children))
        listed = list(children)
        lines = [f"from . import {name} as {name}" for name in children]
        for source, names in row.names.items():
            pairs = [each.partition(" as ")[::2] for each in names.split(", ")]
            home = f"{up}{source[1:]}" if source.startswith(".") else source
            lines += [f"from {home} import {name} as {shown or name}" for name, shown in pairs]
            listed += [shown or name for name, shown in pairs]
        file = f"{path.replace('.', '/')}{'/__init__' if children else ''}.pyi"
        # without __all__, type checkers hide names that are imported under another name
        exported = f"__all__ = {sorted(listed)!r}".replace("'", '"')
        found[file] = "\n".join((HEADER.rstrip("\n"), *sorted(lines), exported, ""))
    return found


def module_stubs() -> dict[str, str]:
    """The stubs of the modules of nn.modules, which import classes from elsewhere."""
    found = {}
    for path, names in modules._MODULES.items():
        module = getattr(modules, path)
        lines = []
        for name in sorted(names.split()):
            made = getattr(module, name)
            lines.append(f"from {made.__module__.replace('flambeau.nn.', '..')} import {made.__name__} as {name}")
        found[f"nn/modules/{path}.pyi"] = "\n".join((HEADER.rstrip("\n"), *sorted(lines), ""))
    return found


def is_typed(found: Any) -> bool:
    """Whether an object's own source says its types."""
    if isinstance(found, type) or isinstance(inspect.unwrap(found), Operator):
        return isinstance(found, type)
    return not found.__module__.startswith(("flambeau.tensor.", "flambeau.ops."))


def stubs() -> dict[Path, str]:
    """The text of every stub."""
    made = {"__init__.pyi": package_stub, "tensor/tensor.pyi": tensor_stub, "nn/functional.pyi": functional_stub}
    texts = {path: text() for path, text in made.items()} | alias_stubs()
    return {PACKAGE / path: text for path, text in texts.items()}


def main(arguments: list[str]) -> int:
    """Write the stubs; with --check, tell which ones are stale instead."""
    stale = [(path, text) for path, text in stubs().items() if not path.exists() or path.read_text() != text]
    for path, text in stale:
        if "--check" in arguments:
            print(f"{path.relative_to(PACKAGE.parent)} is stale: run scripts/stubs")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return int("--check" in arguments and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
