"""How a module prints: one line per child, nested ones indented."""

from __future__ import annotations

from typing import Any

INDENT = "  "


def describe(module: Any) -> str:
    """`Name(extra)`, or `Name(` with a line for each child."""
    extra = module.extra_repr()
    lines = extra.split("\n") if extra else []
    children = [f"({name}): {indented(repr(child))}" for name, child in module._modules.items()]
    return enclosed(module._get_name(), lines, children)


def indented(text: str) -> str:
    """`text` with every line but the first moved right."""
    return text.replace("\n", f"\n{INDENT}")


def enclosed(name: str, extra: list[str], children: list[str]) -> str:
    """A module's text from its own lines and its children's."""
    if len(extra) == 1 and not children:
        return f"{name}({extra[0]})"
    lines = extra + children
    return f"{name}({''.join(f'{chr(10)}{INDENT}{line}' for line in lines)}{chr(10) if lines else ''})"


def folded(name: str, children: list[Any]) -> str:
    """A list of modules, neighbours that print alike on one line with their number."""
    runs: list[tuple[int, int, str]] = []
    for index, child in enumerate(children):
        text = repr(child)
        if runs and runs[-1][2] == text:
            runs[-1] = (runs[-1][0], index, text)
        else:
            runs.append((index, index, text))
    return enclosed(name, [], [_run_text(*each) for each in runs])


def _run_text(first: int, last: int, text: str) -> str:
    label = f"({first})" if first == last else f"({first}-{last})"
    count = "" if first == last else f"{last - first + 1} x "
    return f"{label}: {count}{indented(text)}"
