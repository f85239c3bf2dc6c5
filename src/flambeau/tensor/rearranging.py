"""rearrange: dimensions by name, as in the package einops."""

from __future__ import annotations

import re
from math import prod
from typing import Any

from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ..ops.join import stack

REST = "..."
TOKEN = re.compile(r"\s*(\.\.\.|->|[()]|[A-Za-z]\w*|1)")
Side = list[list[str]]  # the axes of each dimension; a dimension of size 1 has none


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """Permute, split and merge the dimensions of a tensor, by a pattern such as "n (h w) c -> n c h w".

    pattern: names of axes before and after "->"; axes in parentheses share one dimension, 1 is a dimension of size 1,
        and ... stands for any other dimensions.
    axes_lengths: sizes of axes in parentheses; the size of one axis in each pair of parentheses is inferred.
    Shapes: a view where strides allow it.  A list of tensors is stacked first.
    Raises: ArgumentTypeError if an argument has a wrong type, ArgumentError for an invalid pattern, ShapeError for a
            pattern that does not fit the shape.
    Example:
        >>> images = torch.zeros(2, 6, 4, 3)
        >>> torch.func.rearrange(images, "b h w c -> b c h w").shape
        torch.Size([2, 3, 6, 4])
        >>> torch.func.rearrange(images, "b (h two) w c -> (b h) (two w c)", two=2).shape
        torch.Size([6, 24])
    """
    whole = stack(tuple(tensor)) if isinstance(tensor, (list, tuple)) else tensor
    if not isinstance(whole, TensorBase) or not isinstance(pattern, str):
        raise ArgumentTypeError(
            f"expected a tensor and a str, got {shown(whole)} and {shown(pattern)}",
            hint="as in rearrange(x, 'a b -> b a')",
            operator="rearrange",
        )
    source: Any = whole
    before, after = _sides(pattern, source.ndim)
    sizes = _sizes(pattern, before, tuple(source.shape), axes_lengths)
    axes = [name for group in before for name in group]
    order = [name for group in after for name in group]
    split = source.reshape([sizes[name] for name in axes])
    moved = split.permute([axes.index(name) for name in order])
    return moved.reshape([prod(sizes[name] for name in group) for group in after])


def _wrong(pattern: str, fact: str, hint: str) -> ArgumentError:
    return ArgumentError(f"pattern {pattern!r}: {fact}", hint=hint, operator="rearrange")


def _sides(pattern: str, ndim: int) -> tuple[Side, Side]:
    """Return the dimensions before and after the arrow, with names for those that "..." stands for."""
    texts = pattern.split("->")
    if len(texts) != 2:
        raise _wrong(pattern, f"expected one '->', got {len(texts) - 1}", "as in 'a b -> b a'")
    before, after = (_groups(pattern, text) for text in texts)
    rest = ndim - sum(group != [REST] for group in before)
    if [REST] in before and rest >= 0:
        names = [f"...{at}" for at in range(rest)]
        before, after = _filled(before, names), _filled(after, names)
    if len(before) != ndim:
        raise ShapeError(
            f"pattern {pattern!r} has {len(before)} dimensions before '->', the tensor has {ndim}",
            hint="... stands for any other dimensions",
            operator="rearrange",
        )
    first, second = ([name for group in side for name in group] for side in (before, after))
    for names in (first, second):
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise _wrong(pattern, f"{', '.join(repeated)} occurs twice on one side", "give each axis its own name")
    if set(first) != set(second):
        alone = sorted(set(first) ^ set(second))
        raise _wrong(pattern, f"{', '.join(alone)} occurs on one side only", "use reduce or repeat of einops")
    return before, after


def _filled(side: Side, names: list[str]) -> Side:
    """Replace "..." by names: by one dimension each, or inside parentheses by axes of that dimension."""
    filled: Side = []
    for group in side:
        if group == [REST]:
            filled += [[name] for name in names]
        else:
            filled.append([axis for name in group for axis in (names if name in (REST, f"({REST}") else [name])])
    return filled


def _groups(pattern: str, text: str) -> Side:
    groups: Side = []
    inside, at = False, 0
    while text[at:].strip():
        found = TOKEN.match(text, at)
        if found is None:
            raise _wrong(pattern, f"{text[at:].strip()[:10]!r} is no axis", "use names, 1, parentheses and ...")
        token, at = found[1], found.end()
        if token in "()" and inside == (token == "("):
            raise _wrong(pattern, "parentheses do not match", "they cannot be nested")
        if token == "(":
            groups.append([])
        elif token == "1":
            groups += [] if inside else [[]]
        elif token != ")":
            name = f"({REST}" if token == REST and inside else token
            groups[-1:] = [[*groups[-1], name]] if inside else [*groups[-1:], [name]]
        inside = token == "(" or inside and token != ")"
    if inside:
        raise _wrong(pattern, "parentheses do not match", "they cannot be nested")
    return groups


def _sizes(pattern: str, before: Side, shape: tuple[int, ...], given: dict[str, int]) -> dict[str, int]:
    """Return the size of every axis."""
    sizes: dict[str, int] = {}
    names = {name for group in before for name in group}
    for name in given:
        if name not in names:
            raise _wrong(pattern, f"{name} does not occur, got {name}={given[name]}", "leave it out")
    for group, size in zip(before, shape):
        unknown = [name for name in group if name not in given]
        if len(unknown) > 1:
            raise _wrong(pattern, f"the sizes of {', '.join(unknown)} are unknown", f"pass {unknown[0]}=...")
        known = prod(given[name] for name in group if name in given)
        if (size % known if known else size) if unknown else size != known:
            raise ShapeError(
                f"pattern {pattern!r}: a dimension of size {size} is not ({' '.join(group) or '1'})"
                + (f" with sizes whose product is {known}" if group else ""),
                hint="the product of the sizes of an axis in parentheses is the size of the dimension",
                operator="rearrange",
            )
        sizes |= {name: given.get(name, size // known if known else 0) for name in group}
    return sizes
