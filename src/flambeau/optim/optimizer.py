"""Optimizer: parameters in groups, the options of each group, and what is remembered per parameter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from .. import trace
from ..autograd.mode import GradMode
from ..core import TensorCore
from ..errors import ArgumentError, ArgumentTypeError, NotSupportedError

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

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, TensorCore):
            raise ArgumentTypeError(
                f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{params.describe()}"
            )
        self.defaults = defaults
        self.param_groups: list[dict[str, Any]] = []
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        groups = list(params)
        if not groups:
            raise ArgumentError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own.  Raises ArgumentError, ArgumentTypeError; nothing is added then."""
        if not isinstance(param_group, dict):
            raise ArgumentTypeError(f"param_group must be a dict, but got {type(param_group).__name__}")
        group = {"params": _tensors(param_group["params"])}
        group |= {key: value for key, value in param_group.items() if key != "params"}
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ArgumentError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, default)
        self._check_new(group["params"])
        self.check(group)
        self.param_groups.append(group)

    def _check_new(self, params: list[Any]) -> None:
        ids = [id(each) for each in params]
        if len(set(ids)) != len(ids):
            trace.warn("optimizer contains a parameter group with duplicate parameters")
        if not {id(each) for group in self.param_groups for each in group["params"]}.isdisjoint(ids):
            raise ArgumentError("some parameters appear in more than one parameter group")

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
            with GradMode(True):
                loss = closure()
        with GradMode(False):
            for group in self.param_groups:
                self.update(group)
        return loss

    def update(self, group: dict[str, Any]) -> None:
        """Change one group's parameters; called without gradients being recorded."""
        raise NotSupportedError(f"{type(self).__name__}: update is not defined", hint="define update(self, group)")

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
        state = {number[id(key)] if isinstance(key, TensorCore) else key: value for key, value in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what state_dict gave, copied to each parameter's device and type.

        Raises: ArgumentError if the groups are of other numbers or sizes; nothing is loaded then.
        """
        groups = deepcopy(state_dict["param_groups"])
        _check_same_sizes(groups, self.param_groups)
        params = self._all_params()
        numbers = [number for group in groups for number in group["params"]]
        place = dict(zip(numbers, params))
        loaded: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in state_dict["state"].items():
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
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change "
            "between runs",
            hint="use a list instead",
        )
    whole: Iterable[Any] = [params] if isinstance(params, TensorCore) else params
    found = [each[1] if isinstance(each, tuple) and len(each) == 2 else each for each in whole]
    for each in found:
        if not isinstance(each, TensorCore):
            raise ArgumentTypeError(
                f"optimizer can only optimize Tensors, but one of the params is {type(each).__name__}"
            )
        if each._grad_fn is not None:
            raise ArgumentError(
                f"can't optimize a non-leaf Tensor, {each.describe()}", hint="optimize the leaf it comes from"
            )
    return found


def _check_same_sizes(groups: list[dict[str, Any]], own: list[dict[str, Any]]) -> None:
    if len(groups) != len(own):
        raise ArgumentError(
            f"loaded state dict has a different number of parameter groups: {len(groups)}, this optimizer has "
            f"{len(own)}"
        )
    for index, (group, mine) in enumerate(zip(groups, own)):
        if len(group["params"]) != len(mine["params"]):
            raise ArgumentError(
                f"loaded state dict contains a parameter group that doesn't match the size of optimizer's group: "
                f"group {index} "
                f"has {len(group['params'])} parameters, the optimizer's has {len(mine['params'])}"
            )


def _copied(value: Any, param: Any) -> Any:
    if isinstance(value, TensorCore):
        kind = param.dtype if value.dtype.is_floating_point else value.dtype
        with GradMode(False):
            return value.to(param.device, kind, copy=True)  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {key: _counted(each, param) if key == "step" else _copied(each, param) for key, each in value.items()}
    return deepcopy(value)


def _counted(step: Any, param: Any) -> Any:
    """A number of steps, which keeps its type."""
    return step.to(param.device, copy=True) if isinstance(step, TensorCore) else step


def with_gradients(group: dict[str, Any]) -> list[Any]:
    """The parameters of a group that have a gradient; one that is listed twice comes once."""
    return list({id(each): each for each in group["params"] if each.grad is not None}.values())


def check_not_negative(group: dict[str, Any], names: dict[str, str]) -> None:
    """Raise ArgumentError if one of a group's options is negative; names: how each is called."""
    for name, called in names.items():
        if not group[name] >= 0:
            raise ArgumentError(f"Invalid {called}: {group[name]}")
