"""torch.func.functional_call: calls of modules with substituted parameters and buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, NamingError, ValueRangeError, shown
from ..ops.join import stack
from ..tensor import checks
from .module import Module, check_module
from .normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm
from .state_dict import StateDictError

NAME = "functional_call"


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with tensors in place of its parameters and buffers; the module itself is not changed.

    parameter_and_buffer_dicts: tensors by name, in one dictionary or several.  Parameters and buffers without an entry
    are used as they are.  If the module writes to a replaced buffer, the given tensor is written.  An entry may also
    name another attribute, if that is a tensor, None or missing.
    args: the argument of the call, or a tuple of arguments.
    tie_weights: whether an entry for a parameter with several names replaces it under all of them.
    strict: require an entry for every parameter and buffer, and allow no others.
    Shapes: those of the module.
    Host:   as the module.
    Raises: ArgumentTypeError for a module or value of a wrong type, or a name of an attribute that is not a tensor;
            ArgumentError for a name given twice, an empty name or an object that is not a dictionary; AttributeError
            for a missing submodule; with strict, StateDictError for missing and unknown names.
    Example:
        >>> layer = torch.nn.Linear(2, 1)
        >>> values = {"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([10.0])}
        >>> torch.func.functional_call(layer, values, torch.tensor([[1.0, 1.0]]))
        tensor([[13.]])
    """
    check_module(NAME, "module", module)
    given = _merged(parameter_and_buffer_dicts)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _swapped(module, _places(module, given, tie_weights, strict)):
        return module(*arguments, **(kwargs or {}))


def _merged(tables: Any) -> dict[str, Any]:
    if isinstance(tables, Mapping):
        tables = (tables,)
    if not isinstance(tables, (list, tuple)) or not all(isinstance(table, Mapping) for table in tables):
        raise ArgumentError(
            f"expected a dictionary of tensors, or a tuple of such dictionaries, got {shown(tables)}",
            hint="pass for example dict(module.named_parameters())",
            operator=NAME,
        )
    merged: dict[str, Any] = {}
    for table in tables:
        for name, value in table.items():
            if name in merged:
                raise ArgumentError(
                    f"{name!r} appears in several dictionaries", hint="give each name once", operator=NAME
                )
            if not isinstance(value, TensorBase):
                raise ArgumentTypeError(
                    f"the value of {name!r} is not a tensor: {shown(value)}", hint="pass tensors", operator=NAME
                )
            merged[name] = value
    return merged


def _own(module: Module) -> dict[str, Any]:
    """Return the parameters and buffers of a module by every name that they have."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _places(module: Module, given: dict[str, Any], tie_weights: bool, strict: bool) -> dict[str, Any]:
    """Return the given tensors with those of tied names.  Raises ArgumentError, ArgumentTypeError, StateDictError."""
    own = _own(module)
    groups: dict[int, list[str]] = {}
    if tie_weights:
        for name, value in own.items():
            groups.setdefault(id(value), []).append(name)
    tied = dict(given)
    for names in groups.values():
        values = {id(given[name]): name for name in names if name in given}
        if len(values) > 1:
            raise ArgumentError(
                f"several values are given for {names}, which are tied",
                hint="give one of them, or pass tie_weights=False",
                operator=NAME,
            )
        for name in names:
            if values:
                tied[name] = given[next(iter(values.values()))]
    unknown, missing = sorted(set(tied) - set(own)), sorted(set(own) - set(tied))
    if strict and (unknown or missing):
        raise StateDictError(
            f"{type(module).__name__} has no {unknown}, and the dictionary lacks {missing}",
            hint="correct the names, or pass strict=False to keep the module's own values",
            operator=NAME,
        )
    for name in unknown:
        _check_attribute(module, name)
    return tied


_ABSENT = object()


def _check_attribute(module: Module, name: str) -> None:
    """Raise NamingError, ArgumentTypeError or AttributeError unless a name may be that of an attribute to set."""
    hint = "names are those of named_parameters(), named_buffers() and attributes that are tensors"
    path, _, last = name.rpartition(".")
    if not last:
        raise NamingError("tensor name can't be empty", hint=hint, operator=NAME)
    value = getattr(module.get_submodule(path), last, None)
    if value is not None and not isinstance(value, TensorBase):
        raise ArgumentTypeError(f"attribute {name!r} is not a tensor: {shown(value)}", hint=hint, operator=NAME)


@contextmanager
def _swapped(module: Module, values: dict[str, Any]) -> Iterator[None]:
    """Put tensors into the tables and attributes of a module for the duration of a with block."""
    before: list[Callable[[], object]] = []
    try:
        for name, value in values.items():
            path, _, last = name.rpartition(".")
            owner = module.get_submodule(path)
            if not (last in owner._parameters or last in owner._buffers) and hasattr(
                type(getattr(type(owner), last, None)), "__set__"
            ):  # a property, such as a parametrized tensor
                kept = getattr(owner, last)
                setattr(owner, last, value)
                before.append(partial(setattr, owner, last, kept))
                continue
            tables = owner._parameters, owner._buffers, owner.__dict__
            table = next((table for table in tables if last in table), owner.__dict__)
            before.append(partial(_put, table, last, table.get(last, _ABSENT)))
            table[last] = value
        yield
    finally:
        for restore in reversed(before):
            restore()


def _put(table: dict[str, Any], name: str, value: Any) -> None:
    if value is _ABSENT:
        table.pop(name, None)
    else:
        table[name] = value


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (parameters, buffers) of several modules of one class, stacked, as two dicts by name.

    Each tensor is a copy with a new first dimension of len(models).  functional_call and vmap run the models together.
    Raises: ValueRangeError for no modules, or modules of different classes or modes; ArgumentTypeError for an entry
            that is not a module.
    Example:
        >>> models = [torch.nn.Linear(2, 3) for _ in range(5)]
        >>> params, buffers = torch.func.stack_module_state(models)
        >>> params["weight"].shape, buffers
        (torch.Size([5, 3, 2]), {})
    """
    models = checks.listed("stack_module_state", "models", "modules", models)
    for index, model in enumerate(models):
        check_module("stack_module_state", f"models[{index}]", model)
    if not models or len({type(model) for model in models}) > 1:
        raise ValueRangeError(
            f"expected modules of one class, got {shown(list(models))}",
            hint="pass one module or more, all of one class",
            operator="stack_module_state",
        )
    if len({model.training for model in models}) > 1:
        raise ValueRangeError(
            "expected all modules in training mode or all in evaluation mode, "
            f"got training={[model.training for model in models]}",
            hint="call train() or eval() on each module",
            operator="stack_module_state",
        )
    tables = []
    for method in ("named_parameters", "named_buffers"):
        columns = [dict(getattr(model, method)()) for model in models]
        stacked = {name: stack([column[name] for column in columns], 0).detach() for name in columns[0]}
        tables.append({name: value.requires_grad_(columns[0][name].requires_grad) for name, value in stacked.items()})
    return tables[0], tables[1]


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Make the batch norms of a module always normalize by the statistics of the batch; return the module.

    The running statistics of the batch norms become None.
    Raises: ArgumentTypeError if root is not an nn.Module.
    Example:
        >>> net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        >>> torch.func.replace_all_batch_norm_modules_(net)[1].running_mean is None
        True
    """
    check_module("replace_all_batch_norm_modules_", "root", root)
    for module in root.modules():
        if isinstance(module, (BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm)):
            module.track_running_stats = False
            module.running_mean = module.running_var = module.num_batches_tracked = None
    return root
