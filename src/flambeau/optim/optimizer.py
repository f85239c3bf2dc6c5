"""Optimizer: parameters in groups, the options of each group, and what is remembered per parameter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from .. import trace
from ..autograd.mode import GradMode
from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, NamingError, NotSupportedError, naming, shown
from ..tensor import checks

Closure = Callable[[], Any]


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()  # the default of an option that every group must give


class Optimizer:
    """Changes parameters by their gradients.  Subclasses write `update`, which is given one group.

    params: tensors, (name, tensor) pairs, or dicts with "params" and a group's own options.
    defaults: the options of groups that do not give their own.
    Raises: ArgumentError, ArgumentTypeError.
    """

    has_stepped = False  # whether `step` was ever called, which schedulers ask

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        name = type(self).__name__
        groups = list(_checked(name, params))
        if not groups:
            raise ArgumentError(
                "optimizer got an empty parameter list",
                hint="is parameters() of a module without parameters, or a generator that was used up?",
                operator=name,
            )
        if not isinstance(defaults, dict):
            raise ArgumentTypeError(
                f"defaults must be a dict, got {shown(defaults)}", hint="as in {'lr': 0.1}", operator=name
            )
        self.defaults = defaults
        self.param_groups: list[dict[str, Any]] = []
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        with naming(name):
            for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
                self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own.  Raises ArgumentError, ArgumentTypeError; nothing is added then."""
        if not isinstance(param_group, dict):
            raise ArgumentTypeError(
                f"param_group must be a dict, but got {type(param_group).__name__}: {shown(param_group)}",
                hint='as in {"params": [...], "lr": 0.1}',
                operator="add_param_group",
            )
        if "params" not in param_group:
            raise NamingError(
                f"a group needs 'params', this has {', '.join(map(repr, param_group)) or 'nothing'}",
                hint='as in {"params": [...], "lr": 0.1}',
                operator="add_param_group",
            )
        group = {"params": _tensors(param_group["params"])}
        group |= {key: value for key, value in param_group.items() if key != "params"}
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ArgumentError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}: it has {', '.join(map(repr, param_group))}",
                    hint=f'give it in the group, as in {{"params": [...], {name!r}: ...}}',
                    operator="add_param_group",
                )
            group.setdefault(name, default)
        self._check_new(group["params"])
        with naming("add_param_group"):
            self.check(group)
        self.param_groups.append(group)

    def _check_new(self, params: list[Any]) -> None:
        ids = [id(each) for each in params]
        if len(set(ids)) != len(ids):
            trace.warn(f"{type(self).__name__}: optimizer contains a parameter group with duplicate parameters")
        known = {id(each): index for index, group in enumerate(self.param_groups) for each in group["params"]}
        for each in params:
            if id(each) in known:
                raise ArgumentError(
                    f"some parameters appear in more than one parameter group: {each.describe()} is "
                    f"in group {known[id(each)]}",
                    hint="list each parameter once",
                    operator="add_param_group",
                )

    def check(self, group: dict[str, Any]) -> None:
        """Raise ArgumentError if a group's options make no sense."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop every parameter's gradient, or set it to zero."""
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None and not set_to_none:
                    param.grad = param.grad.detach().zero_()
                elif set_to_none:
                    param.grad = None

    def step(self, closure: Closure | None = None) -> Any:
        """Change every parameter that has a gradient.

        closure: computes the loss anew, with gradients, and returns it; step returns the same.
        Host: returns at once.
        """
        loss = None
        if closure is not None:
            checks.function("step", "closure", closure)
            with GradMode(True):
                loss = closure()
        with GradMode(False):
            for group in self.param_groups:
                self.update(group)
        self.has_stepped = True
        return loss

    def update(self, group: dict[str, Any]) -> None:
        """Change one group's parameters; called without gradients being recorded."""
        raise NotSupportedError(
            "update is not defined", hint="define update(self, group)", operator=type(self).__name__
        )

    def state_dict(self) -> dict[str, Any]:
        """{"state", "param_groups"}, with a parameter's number, in the order of the groups, in its place."""
        number = {id(each): index for index, each in enumerate(self._all_params())}
        groups = [
            {
                **{key: value for key, value in group.items() if key != "params"},
                "params": [number[id(p)] for p in group["params"]],
            }
            for group in self.param_groups
        ]
        state = {number[id(key)] if isinstance(key, TensorBase) else key: value for key, value in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what state_dict gave, copied to each parameter's device and type.

        Raises: ArgumentError if the groups are of other numbers or sizes; nothing is loaded then.
        """
        given = checks.entry("load_state_dict", "state_dict", state_dict, "param_groups")
        state = checks.entry("load_state_dict", "state_dict", state_dict, "state")
        _check_same_sizes(given, self.param_groups)
        if not isinstance(state, dict):
            raise ArgumentTypeError(
                f"state_dict['state'] must be a dict, got {shown(state)}",
                hint="give what state_dict() gave",
                operator="load_state_dict",
            )
        groups = deepcopy(given)
        params = self._all_params()
        numbers = [number for group in groups for number in group["params"]]
        place = dict(zip(numbers, params))
        loaded: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in state.items():
            if key in place:
                loaded[place[key]] = _copied(value, place[key])
            else:
                loaded[key] = deepcopy(value)
        for group, own in zip(groups, self.param_groups):
            group["params"] = own["params"]
        self.state, self.param_groups = loaded, groups

    def _all_params(self) -> list[Any]:
        return [each for group in self.param_groups for each in group["params"]]

    def __repr__(self) -> str:
        lines = []
        for index, group in enumerate(self.param_groups):
            options = [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            lines += [f"Parameter Group {index}", *options]
        return f"{type(self).__name__} (\n" + "\n".join(lines) + "\n)"


def _tensors(params: Any) -> list[Any]:
    """The tensors of a group, checked."""
    if isinstance(params, (set, frozenset)):
        raise ArgumentTypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of "
            f"tensors in sets will change between runs; got a {type(params).__name__} of {len(params)}",
            hint="use a list instead",
            operator="add_param_group",
        )
    whole = [params] if isinstance(params, TensorBase) else list(_checked("add_param_group", params))
    named = [isinstance(each, tuple) and len(each) == 2 for each in whole]
    if any(named) and not all(named):
        raise ArgumentError(
            f"all optimizer params should be with/without names, params[{named.index(False)}] has none",
            hint="give (name, tensor) pairs alone, as named_parameters() does, or tensors alone",
            operator="add_param_group",
        )
    found = [each[1] if is_named else each for each, is_named in zip(whole, named)]
    for place, each in enumerate(found):
        if not isinstance(each, TensorBase):
            raise ArgumentTypeError(
                "optimizer can only optimize Tensors, but one of the params is "
                f"{type(each).__name__}: params[{place}] is {shown(each)}",
                hint="give module.parameters(), or dicts with 'params'",
                operator="add_param_group",
            )
        if each._grad_fn is not None:
            raise ArgumentError(
                f"can't optimize a non-leaf Tensor, params[{place}] is {each.describe()} of {each._grad_fn}",
                hint="optimize the leaf it comes from, or its detach()",
                operator="add_param_group",
            )
    return found


def _checked(name: str, params: Any) -> Iterable[Any]:
    """What holds parameters, if it can be gone through.  Raises ArgumentTypeError."""
    if isinstance(params, TensorBase) or hasattr(params, "parameters"):
        raise ArgumentTypeError(
            "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
            f"{shown(params)}",
            hint="put it in a list: [...]" if isinstance(params, TensorBase) else "give module.parameters()",
            operator=name,
        )
    if isinstance(params, dict):
        raise ArgumentTypeError(
            f"optimizer can only optimize Tensors, but params is a dict with {', '.join(map(repr, params))}",
            hint="put it in a list: [{...}]" if "params" in params else "give its values()",
            operator=name,
        )
    return checks.listed(name, "params", "tensors or dicts", params)


def _check_same_sizes(groups: Any, own: list[dict[str, Any]]) -> None:
    hint = "make the optimizer of the same groups of parameters first"
    found = checks.listed("load_state_dict", "state_dict['param_groups']", "dicts", groups)
    if len(found) != len(own):
        raise ArgumentError(
            f"loaded state dict has a different number of parameter groups: {len(found)}, this "
            f"optimizer has {len(own)}",
            hint=hint,
            operator="load_state_dict",
        )
    for index, (group, mine) in enumerate(zip(found, own)):
        params = checks.entry("load_state_dict", f"state_dict['param_groups'][{index}]", group, "params")
        if len(params) != len(mine["params"]):
            raise ArgumentError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                f"optimizer's group: group {index} has {len(params)} parameters, the optimizer's has "
                f"{len(mine['params'])}",
                hint=hint,
                operator="load_state_dict",
            )


def _copied(value: Any, param: Any) -> Any:
    if isinstance(value, TensorBase):
        kind = param.dtype if value.dtype.is_floating_point else value.dtype
        with GradMode(False):
            return value.to(param.device, kind, copy=True)  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {key: _counted(each, param) if key == "step" else _copied(each, param) for key, each in value.items()}
    return deepcopy(value)


def _counted(step: Any, param: Any) -> Any:
    """A number of steps, which keeps its type."""
    return step.to(param.device, copy=True) if isinstance(step, TensorBase) else step


def with_gradients(group: dict[str, Any]) -> list[Any]:
    """The parameters of a group that have a gradient; one that is listed twice comes once."""
    return list({id(each): each for each in group["params"] if each.grad is not None}.values())


def check_not_negative(group: dict[str, Any], names: dict[str, str]) -> None:
    """Raise ArgumentError if one of a group's options is negative; names: how each is called."""
    for name, called in names.items():
        checks.number("check", name, group[name])
        if not group[name] >= 0:
            raise ArgumentError(f"Invalid {called}: {group[name]}", hint=f"{name} is 0 or more", operator="check")
