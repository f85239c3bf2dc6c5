"""Parameters of user-written kernels: parsed from CUDA C++ source, completed by the user, and checked at each launch.

The source is read as tokens, not compiled: macros and typedefs are not resolved.  The user describes parameters of such
types.
"""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isinf, prod
from typing import Any, NamedTuple

from ..core.tensor import TensorBase, address_of
from ..dtypes import BOOL, BY_NAME, FLOATING, dtype
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceMismatchError,
    DtypeError,
    NamingError,
    ShapeError,
    ValueRangeError,
    shown,
)
from ..kernel import Scalar

TOKEN = re.compile(r'[A-Za-z_]\w*|\d[\w.]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|\S')
SKIPPED = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\.)*', re.MULTILINE | re.DOTALL
)  # strings match first, so that `//` inside a string does not begin a comment
QUALIFIERS = {"volatile", "restrict", "__restrict__", "__restrict", "__grid_constant__", "struct", "class", "enum"}
C_TYPES = {
    "bool": "bool", "char": "int8", "signed char": "int8", "unsigned char": "uint8", "short": "int16",
    "unsigned short": "uint16", "int": "int32", "signed": "int32", "unsigned": "uint32", "unsigned int": "uint32",
    "long": "int64", "unsigned long": "uint64", "long long": "int64", "unsigned long long": "uint64",
    "float": "float32", "double": "float64", "half": "float16", "__half": "float16", "__nv_bfloat16": "bfloat16",
    "nv_bfloat16": "bfloat16", "size_t": "uint64", "ptrdiff_t": "int64", "ssize_t": "int64",
    **{f"{name}_t": name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
}  # fmt: skip
VECTOR_BASES = {
    "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32",
    "longlong": "int64", "ulonglong": "uint64", "float": "float32", "double": "float64", "half": "float16",
    "__half": "float16", "__nv_bfloat16": "bfloat16", "nv_bfloat16": "bfloat16",
}  # fmt: skip
VECTOR = re.compile(rf"({'|'.join(VECTOR_BASES)})([124])")
WIDEST_VECTOR = 16  # bytes; a longer vector is accessed in parts


class CParameter(NamedTuple):
    """A parameter of a kernel.

    ctype: its C type without qualifiers, for a pointer the type that it points to.  is_const: for a pointer, whether
    the kernel may only read through it.  dtype: the type of the elements or of the number; None if it is not known.
    alignment: the address must be a multiple of this number of bytes.
    """

    name: str
    ctype: str
    is_pointer: bool
    is_const: bool
    dtype: dtype | None
    alignment: int

    @property
    def declaration(self) -> str:
        """The parameter as C writes it."""
        const = "const " if self.is_pointer and self.is_const else ""
        return f"{const}{self.ctype}{'*' if self.is_pointer else ''} {self.name}".rstrip()


class Signature(NamedTuple):
    """A `__global__` function.

    line: of its name;  is_c: whether it has C linkage, so that its name is not mangled.
    is_template, of_template: whether it is a template, and the names of the template's parameters.
    """

    name: str
    line: int
    is_c: bool
    is_template: bool
    of_template: tuple[str, ...]
    parameters: tuple[CParameter, ...]

    def instance(self, arguments: str) -> Signature:
        """Return the signature of an instance of a template, from its arguments as C++ writes them."""
        known = dict(zip(self.of_template, ([token.text for token in part] for part in _split(_tokens(arguments)))))
        return self._replace(parameters=tuple(_substituted(parameter, known) for parameter in self.parameters))


class _Token(NamedTuple):
    text: str
    line: int


def signatures(source: str) -> list[Signature]:
    """Return the kernels that a source declares or defines, in source order; definitions follow declarations."""
    tokens = list(_tokens(source))
    kernels: list[Signature] = []
    scopes: list[bool] = []  # for each open brace, whether it is that of `extern "C" {`
    start = 0  # index of the statement's first token
    for index, token in enumerate(tokens):
        if token.text in (";", "{", "}"):
            if token.text == "{":
                scopes.append([earlier.text for earlier in tokens[start:index]] == ["extern", '"C"'])
            elif token.text == "}" and scopes:
                scopes.pop()
            start = index + 1
        elif token.text == "__global__":
            before = tokens[start:index]
            is_c = any(scopes) or any(earlier.text == '"C"' for earlier in before)
            kernel = _signature(tokens, index + 1, is_c, before)
            if kernel is not None:
                kernels.append(kernel)
    return kernels


def names_in(source: str) -> set[str]:
    """Return the identifiers of a source, except those in comments."""
    return {token.text for token in _tokens(source)} | set(re.findall(r"[A-Za-z_]\w*", _directives(source)))


def _tokens(source: str) -> Iterator[_Token]:
    code = SKIPPED.sub(_blank, source)
    line, at = 1, 0
    for match in TOKEN.finditer(code):
        line += code.count("\n", at, match.start())
        at = match.start()
        yield _Token(match[0], line)


def _blank(match: re.Match[str]) -> str:
    """Blank out a comment but keep its line breaks; keep strings unchanged."""
    return match[0] if match[0].startswith('"') else " " + "\n" * match[0].count("\n")


def _directives(source: str) -> str:
    return "\n".join(match[0] for match in SKIPPED.finditer(source) if match[0].lstrip().startswith("#"))


def _signature(tokens: Sequence[_Token], at: int, is_c: bool, before: Sequence[_Token]) -> Signature | None:
    """Read the declaration after `__global__`; None if its parameter list cannot be read.

    before: the tokens of the statement before `__global__`.
    """
    name: _Token | None = None
    while at < len(tokens) and tokens[at].text not in (";", "{", "}"):
        if tokens[at].text != "(":
            name = tokens[at]
            at += 1
            continue
        end = _closing(tokens, at)
        if name is None or end is None:
            return None
        follower = tokens[end + 1].text if end + 1 < len(tokens) else ";"
        if follower in ("{", ";", "__attribute__"):  # else it was an attribute, such as __launch_bounds__(256)
            names = _template_names(before)
            parameters = _parameters(tokens[at + 1 : end])
            return Signature(name.text, name.line, is_c, names is not None, names or (), parameters)
        at = end + 1
    return None


def _closing(tokens: Sequence[_Token], at: int) -> int | None:
    depth = 0
    for index in range(at, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[index].text, 0)
        if depth == 0:
            return index
    return None


def _template_names(before: Sequence[_Token]) -> tuple[str, ...] | None:
    """Return the names of a template's parameters; None if the tokens before `__global__` do not begin a template."""
    texts = [token.text for token in before]
    if "template" not in texts:
        return None
    inner = before[texts.index("template") + 2 : -texts[::-1].index(">") - 1]
    return tuple(_until(part, "=")[-1] for part in _split(inner) if part)


def _substituted(parameter: CParameter, known: Mapping[str, list[str]]) -> CParameter:
    """Return a parameter with template arguments substituted in its type."""
    texts = [word for text in parameter.ctype.split(" ") for word in known.get(text, [text])]
    stars = texts.count("*")
    words, is_const = _words([text for text in texts if text != "*"])
    if stars + parameter.is_pointer > 1:
        return parameter
    ctype = " ".join(words)
    data_type, alignment = _dtype_of(ctype)
    is_const = parameter.is_const or is_const
    return CParameter(parameter.name, ctype, parameter.is_pointer or stars > 0, is_const, data_type, alignment)


def _parameters(tokens: Sequence[_Token]) -> tuple[CParameter, ...]:
    if [token.text for token in tokens] in ([], ["void"]):
        return ()
    return tuple(_parameter([token.text for token in part]) for part in _split(tokens))


def _split(tokens: Iterable[_Token]) -> list[list[_Token]]:
    """Split at the commas that no bracket encloses."""
    parts: list[list[_Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += {"(": 1, "[": 1, "<": 1, "{": 1, ")": -1, "]": -1, ">": -1, "}": -1}.get(token.text, 0)
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _until(tokens: Sequence[_Token], text: str) -> list[str]:
    """Return the texts of the tokens before the first one with a given text, or all of them."""
    texts = [token.text for token in tokens]
    return texts[: texts.index(text)] if text in texts else texts


def _parameter(texts: list[str]) -> CParameter:
    if "=" in texts:
        texts = texts[: texts.index("=")]
    is_array = "[" in texts
    if is_array:
        texts = texts[: texts.index("[")]
    texts = [text for text in texts if text not in QUALIFIERS]
    name = texts.pop() if len(texts) > 1 and re.match(r"[A-Za-z_]", texts[-1]) and not _is_type(texts) else ""
    stars = texts.count("*") + is_array
    until = texts.index("*") if "*" in texts else len(texts)
    words, is_const = _words(texts[:until])
    ctype = " ".join(words) + "*" * max(0, stars - 1)
    known, alignment = _dtype_of(ctype)
    return CParameter(name, ctype, stars > 0, is_const, known, alignment)


def _is_type(texts: list[str]) -> bool:
    """Return whether the last word is part of the type, so that the parameter has no name."""
    return "*" not in texts and (_words(texts)[0][-1] in ("int", "char", "long", "short", "float", "double", "bool"))


def _words(texts: list[str]) -> tuple[list[str], bool]:
    """Return the words of a type in their usual order, and whether it is const."""
    words = [text for text in texts if text not in ("const", "std", ":", "&")]
    simple = {"unsigned", "signed", "long", "short", "int", "char"}
    if words and all(word in simple for word in words):
        sign = [word for word in ("unsigned", "signed") if word in words]
        size = [word for word in words if word in ("long", "short", "char")]
        words = [*(sign if sign == ["unsigned"] or "char" in size else []), *size] or ["int"]
        words = ["unsigned", "int"] if words == ["unsigned"] else words
    return words, "const" in texts


def _dtype_of(ctype: str) -> tuple[dtype | None, int]:
    """Return the dtype of a C type, None if it has none, and the alignment of a pointer to it."""
    name = C_TYPES.get(ctype, "")
    if name:
        return BY_NAME[name], BY_NAME[name].itemsize
    vector = VECTOR.fullmatch(ctype)
    if vector is None:
        return None, 1
    base = BY_NAME[VECTOR_BASES[vector[1]]]
    return base, min(base.itemsize * int(vector[2]), WIDEST_VECTOR)


NAME = "cuda.kernel"
DESCRIPTION = re.compile(r"(?:(r|w|rw)\b)? ?([a-z]\w*)? ?(?:\[([^\[\]]*)\])?")
DESCRIPTION_HINT = (
    'describe an array as "r", "w" or "rw", with a type and sizes if they are needed, as in "w float32[rows, n]"; '
    'a number as its type, as in "int32"'
)


class ArrayParameter:
    """An array: how the kernel accesses it, and its type and sizes where they are declared.

    sizes: numbers, or the names of integer parameters; None for the tensor's own shape.
    may_have_gaps: whether tensors need not be contiguous.
    """

    __slots__ = ("access", "alignment", "dtype", "may_have_gaps", "name", "sizes")

    def __init__(
        self, name: str, access: str, dtype: dtype | None, sizes: tuple[int | str, ...] | None, alignment: int
    ) -> None:
        self.name = name
        self.access = access
        self.dtype = dtype
        self.sizes = sizes
        self.alignment = alignment
        self.may_have_gaps = False

    def __repr__(self) -> str:
        sizes = "" if self.sizes is None else f"[{', '.join(map(str, self.sizes))}]"
        return f"{self.name}: {self.access}{f' {self.dtype.name}' if self.dtype else ''}{sizes}"

    def address(self, kernel: str, value: Any, device: int) -> int:
        """Check an argument; return its address, or 0 (a null pointer) for None or a tensor without elements."""
        if value is None:
            return 0
        if not isinstance(value, TensorBase):
            raise ArgumentTypeError(
                f"{self.name} must be a tensor, got {shown(value)}",
                hint="pass a tensor; None is a null pointer",
                operator=kernel,
            )
        if value.device_index != device and not (value.device_index < 0 and value._storage.is_pinned):
            raise DeviceMismatchError(
                f"{self.name} is {value.describe()}, and the kernel runs on cuda:{device}",
                hint=f'move it there: {self.name}.to("cuda:{device}")',
                operator=kernel,
            )
        if self.dtype is not None and value.dtype is not self.dtype:
            raise DtypeError(
                f"{self.name} must be {self.dtype.name}, got {value.describe()}",
                hint=f"convert it: {self.name}.to(torch.{self.dtype.name})",
                operator=kernel,
            )
        if not self.may_have_gaps and not value.is_contiguous():
            raise ShapeError(
                f"{self.name} is not contiguous: {value.describe()} has strides {list(value.strides)}, "
                "and the kernel gets only an address",
                hint=f"pass {self.name}.contiguous()",
                operator=kernel,
            )
        address = address_of(value) if value.numel() else 0
        if address % self.alignment:
            raise ArgumentError(
                f"{self.name} begins at {address:#x}, and the kernel accesses {self.alignment} bytes at a time, "
                f"at multiples of {self.alignment}",
                hint=f"pass {self.name}.clone()",
                operator=kernel,
            )
        return address

    def shape(self, kernel: str, value: TensorBase, numbers: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the shape that the kernel accesses; raise ShapeError if the tensor is too small."""
        if self.sizes is None:
            return tuple(value.shape)
        sizes = tuple(numbers[size] if isinstance(size, str) else size for size in self.sizes)
        if min(sizes, default=1) < 0 or prod(sizes) > value.numel():
            raise ShapeError(
                f"{self.name} is {value.describe()} and has {value.numel()} elements; the kernel accesses "
                f"[{', '.join(map(str, self.sizes))}] = {list(sizes)}",
                hint="correct the size, or pass a tensor that is large enough",
                operator=kernel,
            )
        return sizes


class NumberParameter:
    """A number, passed by value."""

    __slots__ = ("_struct", "dtype", "name")

    def __init__(self, name: str, dtype: dtype) -> None:
        self.name = name
        self.dtype = dtype
        self._struct = Scalar(name, dtype.name).struct

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype.name}"

    def number(self, kernel: str, value: Any) -> Any:
        """Check an argument; return it as the kernel receives it."""
        try:
            if isinstance(value, TensorBase):
                raise TypeError
            if self.dtype.category == FLOATING:
                plain = float(operator.index(value)) if hasattr(value, "__index__") else value.__float__()
            else:
                plain = operator.index(value) if self.dtype.category != BOOL else _boolean(value)
            number = self._struct.unpack(self._struct.pack(plain))[0]
            if isinf(number) and not isinf(plain):
                raise OverflowError
            return number
        except (TypeError, AttributeError):
            wanted = {BOOL: "a bool", FLOATING: "a number"}.get(self.dtype.category, "an int")
            hint = "pass tensor.item()" if isinstance(value, TensorBase) else f"pass a number of type {self.dtype.name}"
            raise ArgumentTypeError(
                f"{self.name} must be {wanted}, got {shown(value)}", hint=hint, operator=kernel
            ) from None
        except (OverflowError, struct.error):
            raise ValueRangeError(
                f"{self.name} is {shown(value)}, which {self.dtype.name} cannot hold",
                hint="use a wider parameter",
                operator=kernel,
            ) from None


Parameter = ArrayParameter | NumberParameter


def _boolean(value: Any) -> bool:
    if operator.index(value) not in (0, 1):
        raise OverflowError
    return bool(value)


def _described(name: str, text: Any, known: CParameter | None) -> Parameter:
    """Combine a user's description and the source's signature into one parameter; either may be missing."""
    if isinstance(text, dtype):
        text = text.name
    match = DESCRIPTION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ArgumentError(
            f"parameters[{name!r}] is {shown(text)}, which is not a parameter description",
            hint=DESCRIPTION_HINT,
            operator=NAME,
        )
    access, type_name, sizes = match.groups()
    if type_name and type_name not in BY_NAME:
        raise ArgumentError(
            f"parameters[{name!r}] is {text!r}, and {type_name!r} is not a type",
            hint=f"use one of {', '.join(BY_NAME)}",
            operator=NAME,
        )
    data_type = BY_NAME[type_name] if type_name else None
    is_pointer = known.is_pointer if known else bool(access)
    if known is not None:
        _compare(name, text, access, data_type, known, is_pointer)
        data_type = data_type or known.dtype
        access = access or ("r" if known.is_const else "rw")
    if is_pointer:
        alignment = known.alignment if known else data_type.itemsize if data_type else 1
        return ArrayParameter(name, access, data_type, _sizes(name, text, sizes), alignment)
    if data_type is None or data_type.name == "bfloat16" or sizes is not None:
        declared = f"is {known.declaration!r} in the source" if known else f"is described as {text!r}"
        raise ArgumentError(
            f"the parameter {name} {declared}, which is not a number that can be passed",
            hint=f'describe its type, as in parameters={{"{name}": "int32"}}; pass a structure through a pointer',
            operator=NAME,
        )
    return NumberParameter(name, data_type)


def _compare(
    name: str, text: str, access: str | None, data_type: dtype | None, known: CParameter, is_pointer: bool
) -> None:
    """Raise ArgumentError where a description contradicts the signature."""
    if text and bool(access) != is_pointer and (access or data_type):
        problem = "an array" if is_pointer else "a number"
    elif data_type and known.dtype and data_type is not known.dtype:
        problem = f"of type {known.dtype.name}"
    elif access in ("w", "rw") and known.is_const:
        problem = "read-only"
    else:
        return
    raise ArgumentError(
        f"parameters[{name!r}] is {text!r}, but the source has {known.declaration!r}, which is {problem}",
        hint=DESCRIPTION_HINT,
        operator=NAME,
    )


def _sizes(name: str, text: str, sizes: str | None) -> tuple[int | str, ...] | None:
    if sizes is None:
        return None
    parts = [part.strip() for part in sizes.split(",")] if sizes.strip() else []
    if not all(part.isdecimal() or part.isidentifier() for part in parts):
        raise ArgumentError(
            f"parameters[{name!r}] is {text!r}: a size is a number or the name of an integer parameter",
            hint=DESCRIPTION_HINT,
            operator=NAME,
        )
    return tuple(int(part) if part.isdecimal() else part for part in parts)


def signature_of(source: str, name: str, is_described: bool) -> Signature | None:
    """Return a kernel's signature; None if a macro declares the kernel and the user describes its parameters."""
    declared = signatures(source)
    plain = name.partition("<")[0].rpartition("::")[2].strip()
    matching = [signature for signature in declared if signature.name == plain]
    if not matching:
        if is_described and plain in names_in(source):
            return None
        names = ", ".join(dict.fromkeys(signature.name for signature in declared))
        raise NamingError(
            f"the source has no __global__ function {name!r}; it has {names or 'none'}",
            hint="name a kernel of the source; describe the parameters if a macro makes it",
            operator=NAME,
        )
    signature = matching[-1]
    if signature.is_template and "<" not in name:
        raise ArgumentError(
            f"{name}, at line {signature.line} of the source, is a template, which must be instantiated",
            hint=f'name one of its instances, as in "{name}<float>"',
            operator=NAME,
        )
    if "<" in name:
        signature = signature.instance(name.partition("<")[2].rpartition(">")[0])
    return signature._replace(is_c=any(candidate.is_c for candidate in matching))


def parameters_of(signature: Signature | None, name: str, described: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """Return a kernel's parameters.  Raises ArgumentError, NamingError."""
    if signature is None:
        parameters = [_described(key, text, None) for key, text in described.items()]
    else:
        names = [param.name or f"argument {index}" for index, param in enumerate(signature.parameters)]
        unknown = [key for key in described if key not in names]
        if unknown:
            raise NamingError(
                f"parameters names {', '.join(map(repr, unknown))}; {name} has {', '.join(names) or 'none'}",
                hint="use the names of the source",
                operator=NAME,
            )
        parameters = [_described(key, described.get(key, ""), known) for key, known in zip(names, signature.parameters)]
    integers = {param.name for param in parameters if isinstance(param, NumberParameter) and not _is_float(param.dtype)}
    for parameter in parameters:
        if isinstance(parameter, ArrayParameter):
            missing = [size for size in parameter.sizes or () if isinstance(size, str) and size not in integers]
            if missing:
                raise NamingError(
                    f"the sizes of {parameter.name} name {', '.join(missing)}, not an integer parameter of {name}",
                    hint=f"use its integer parameters: {', '.join(sorted(integers)) or 'none'}",
                    operator=NAME,
                )
    return tuple(parameters)


def _is_float(data_type: dtype) -> bool:
    return data_type.category == FLOATING
