"""Detection of Python state that a module's forward changes, and that n replicas in threads would change n times.

- A container is compared by its length, any other value by equality or identity.
- Containers in attributes of the modules are compared, and closure variables and globals that the methods of the
  modules' classes name.  Other state, such as a file, is not.
"""

from __future__ import annotations

import dis
from collections import OrderedDict, defaultdict, deque
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from ..nn.module import Module

CONTAINERS = frozenset((list, dict, set, deque, OrderedDict, defaultdict, bytearray))
NUMBERS = frozenset((int, float, bool, str, type(None)))
OWN = frozenset(Module().__dict__)  # attributes that every module has
LIBRARY = __name__.partition(".")[0] + "."

Place = tuple[Any, str]
_of_classes: WeakKeyDictionary[type, list[Place]] = WeakKeyDictionary()
_of_functions: WeakKeyDictionary[FunctionType, list[Place]] = WeakKeyDictionary()


def places(modules: list[Any], states: list[dict[str, Any]]) -> list[Place]:
    """Return the places where the forward of the modules may change state.  states: the modules' `__dict__`."""
    entries: list[Place] = []
    for own in states:
        left = len(own) - len(OWN)  # a module's own attributes are mostly the last ones
        for name, value in reversed(own.items()) if left else ():
            if name not in OWN:
                left -= 1
                if type(value) in CONTAINERS:
                    entries.append((own, name))
                elif type(value) is FunctionType:
                    entries += _of_function(value)
                if not left:
                    break
    for cls in dict.fromkeys(map(type, modules)):
        entries += _of_class(cls)
    return entries


def marks(states: list[dict[str, Any]], found: list[Place]) -> list[Any]:
    """Return a value that changes if state changes at one of the places, or a module gets or loses an attribute."""
    return [sum(map(len, states)), *[_mark(*entry) for entry in found]]


def _mark(owner: Any, key: str) -> Any:
    """Return the value by which changes of a variable are detected."""
    try:
        value = owner.get(key) if key else owner.cell_contents
    except ValueError:  # an empty cell
        return None
    value_type = type(value)
    return len(value) if value_type in CONTAINERS else value if value_type in NUMBERS else id(value)


def _of_class(cls: type) -> list[Place]:
    """Return the places of the methods that a program defined."""
    places = _of_classes.get(cls)
    if places is None:
        bases = [base for base in cls.__mro__ if base is not object and not _is_ours(base)]
        methods = [value for base in bases for value in vars(base).values() if type(value) is FunctionType]
        places = _of_classes[cls] = [entry for method in methods for entry in _of_function(method)]
    return places


def _is_ours(cls: type) -> bool:
    return f"{cls.__module__}.".startswith(LIBRARY)


def _of_function(function: FunctionType) -> list[Place]:
    """Return a function's closure cells, and the globals that it names: (cell, "") and (globals, name)."""
    places = _of_functions.get(function)
    if places is None:
        places = _of_functions[function] = [(cell, "") for cell in function.__closure__ or ()]
        places += [(function.__globals__, name) for name in _globals_of(function.__code__)]
    return places


def _globals_of(code: CodeType) -> set[str]:
    names = {str(op.argval) for op in dis.get_instructions(code) if op.opname.endswith("_GLOBAL")}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _globals_of(constant)
    return names
