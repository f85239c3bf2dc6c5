"""Signatures of the `__global__` functions in a CUDA C++ source: their names, linkage and parameters.

The source is read as tokens, not compiled: macros and typedefs are not resolved.  A parameter of
such a type is described by the program (see kernel_parameters.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..dtypes import BY_NAME, dtype

TOKEN = re.compile(r'[A-Za-z_]\w*|\d[\w.]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|\S')
SKIPPED = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\.)*', re.MULTILINE | re.DOTALL
)  # strings are found first, so that what looks like a comment in them is none
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
    alignment: bytes of which the address must be a multiple.
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

    line: of its name;  is_c: whether it has C linkage, so that compiled code has its name as it is in the source.
    is_template, of_template: whether it is a template, and the names of that one's parameters.
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
        return self._replace(parameters=tuple(_substituted(each, known) for each in self.parameters))


class _Token(NamedTuple):
    text: str
    line: int


def signatures(source: str) -> list[Signature]:
    """Return the kernels that a source declares or defines, in its order; a definition follows its declarations."""
    tokens = list(_tokens(source))
    found: list[Signature] = []
    scopes: list[bool] = []  # of each open brace, whether it is that of `extern "C" {`
    start = 0  # of the statement
    for index, token in enumerate(tokens):
        if token.text in (";", "{", "}"):
            if token.text == "{":
                scopes.append([each.text for each in tokens[start:index]] == ["extern", '"C"'])
            elif token.text == "}" and scopes:
                scopes.pop()
            start = index + 1
        elif token.text == "__global__":
            before = tokens[start:index]
            is_c = any(scopes) or any(each.text == '"C"' for each in before)
            kernel = _signature(tokens, index + 1, is_c, before)
            if kernel is not None:
                found.append(kernel)
    return found


def names_in(source: str) -> set[str]:
    """Return the identifiers of a source, those of comments excluded."""
    return {token.text for token in _tokens(source)} | set(re.findall(r"[A-Za-z_]\w*", _directives(source)))


def _tokens(source: str) -> Iterator[_Token]:
    code = SKIPPED.sub(_blank, source)
    line, at = 1, 0
    for match in TOKEN.finditer(code):
        line += code.count("\n", at, match.start())
        at = match.start()
        yield _Token(match[0], line)


def _blank(match: re.Match[str]) -> str:
    """Keep strings, and the line breaks of what is left out."""
    return match[0] if match[0].startswith('"') else " " + "\n" * match[0].count("\n")


def _directives(source: str) -> str:
    return "\n".join(match[0] for match in SKIPPED.finditer(source) if match[0].lstrip().startswith("#"))


def _signature(tokens: Sequence[_Token], at: int, is_c: bool, before: Sequence[_Token]) -> Signature | None:
    """Read the declaration after `__global__`; None if it has no parameter list that can be read.

    before: the tokens of the statement up to there.
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
    """Return the names of a template's parameters; None if the tokens before `__global__` begin no template."""
    texts = [token.text for token in before]
    if "template" not in texts:
        return None
    inner = before[texts.index("template") + 2 : -texts[::-1].index(">") - 1]
    return tuple(_until(part, "=")[-1] for part in _split(inner) if part)


def _substituted(parameter: CParameter, known: Mapping[str, list[str]]) -> CParameter:
    """Return a parameter with the arguments of a template in its type."""
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
    """Return the texts before the first token of a text, or all."""
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
    """Whether the last word is part of the type, so that the parameter has no name."""
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
