"""Optimizer: the base class, with parameter groups, their options, and the state of each parameter."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import wraps
from typing import Any, TypeAlias, TypeVar, cast

from .. import callers
from ..autograd.mode import GradMode
from ..autograd.node_hooks import RemovableHandle
from ..core.locks import whole
from ..core.tensor import TensorBase
from ..dtypes import float32, float64
from ..errors import ArgumentError, ArgumentTypeError, ModeError, NamingError, NotSupportedError, naming, shown
from ..importer import listing
from ..ops import optimizer_steps  # noqa: F401  (registers the operators)
from ..ops.operator import REGISTRY
from ..runtime.device import CPU
from ..runtime.graph import refuse_capture
from ..tensor import checks, factories, like_factories
from ..tensor.interop import adopted, is_foreign
from ..tensor.tensor import Tensor

Closure = Callable[[], Any]
_Step = TypeVar("_Step", bound=Callable[..., Any])


ParamsT: TypeAlias = Iterable[Any] | Iterable[dict[str, Any]] | Iterable[tuple[str, Any]]
params_t = ParamsT  # former name


def _get_value(x: Any) -> Any:
    """Return the number in a tensor of one element; any other value unchanged."""
    return x.item() if isinstance(x, Tensor) else x


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a `step` to record gradients only if the optimizer is differentiable."""

    @wraps(func)
    def plain(self: Any, *args: Any, **kwargs: Any) -> Any:
        with GradMode(bool(self.defaults.get("differentiable"))):
            return func(self, *args, **kwargs)

    return plain


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()  # the default of an option that every group must give

Hooks = OrderedDict[int, Callable[..., Any]]

every_pre_hook: Hooks = OrderedDict()  # hooks around the steps of all optimizers
every_post_hook: Hooks = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(optimizer, args, kwargs) before every step of every optimizer, before the optimizer's own hooks.

    Returns a handle, whose `remove()` removes the hook.
    Raises: ArgumentTypeError for a hook that is not callable.
    Example:
        >>> from flambeau.optim.optimizer import register_optimizer_step_pre_hook
        >>> with register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print(type(optimizer).__name__)):
        ...     torch.optim.SGD([torch.nn.Parameter(torch.ones(1))]).step()
        SGD
    """
    return _register("register_optimizer_step_pre_hook", every_pre_hook, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(optimizer, args, kwargs) after every step of every optimizer, after the optimizer's own hooks.

    Returns a handle, whose `remove()` removes the hook.
    Raises: ArgumentTypeError for a hook that is not callable.
    Example:
        >>> from flambeau.optim.optimizer import register_optimizer_step_post_hook
        >>> with register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print(type(optimizer).__name__)):
        ...     torch.optim.SGD([torch.nn.Parameter(torch.ones(1))]).step()
        SGD
    """
    return _register("register_optimizer_step_post_hook", every_post_hook, hook)


def _with_hooks(step: _Step) -> _Step:
    """Wrap a `step` to call the optimizer's hooks around it, with the arguments as given, the optimizer first."""

    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        # a wrapper of another optimizer, which did not call Optimizer.__init__, has no hooks
        if self._is_in_hooks or "_optimizer_step_pre_hooks" not in self.__dict__:
            return step(self, *args, **kwargs)
        args, kwargs = self._before_step((self, *args), kwargs)
        self._is_in_hooks = True
        try:
            result = step(*args, **kwargs)
        finally:
            self._is_in_hooks = False
        self.has_stepped = True
        self._after_step(args, kwargs)
        return result

    # reports name the call by its code
    hooked.__code__ = hooked.__code__.replace(co_name=step.__name__, co_qualname=step.__qualname__)
    return cast("_Step", wraps(step)(hooked))


class Optimizer:
    """Base class of optimizers, which change parameters by their gradients.

    Subclasses define `update`, which takes one group, or `step`.

    params: tensors, (name, tensor) pairs, or dicts with "params" and a group's own options.
    defaults: the options of groups that do not give their own.
    Raises: ArgumentTypeError for params that are not a list of tensors, pairs or dicts; ArgumentError for an empty
            list, a tensor that is not a leaf, or options out of range; NamingError for a dict without "params".
    Example:
        >>> class Halve(torch.optim.Optimizer):
        ...     def update(self, group):
        ...         for param in group["params"]:
        ...             param.mul_(0.5)
        >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
        >>> Halve([weight], {}).step()
        >>> weight.item()
        2.0
    """

    has_stepped = False  # whether `step` was ever called; read by schedulers
    counts_on_device = False  # whether `step` counts in device memory with capturable, so that it can be captured
    formula: Any = None  # the step as an expression, a function of `optim.formulas`, for differentiable=True
    _captures_formula = False  # whether capturable=True also uses the formula
    grad_scale: Any = None  # GradScaler sets these two during a step: see amp/grad_scaler.py
    found_inf: Any = None  # a tensor of one number; a step for which it is not 0 is skipped
    _is_in_hooks = False  # whether a subclass's own `step` is running, between its hooks
    _not_negative: tuple[str, ...] = ()  # options that `check` requires to be numbers of 0 or more
    # entries of a parameter's state that are one number, and lie on its device with capturable; none in SGD
    _counters: frozenset[str] = frozenset({"step"})
    _zeros: tuple[str, ...] = ()  # entries of a parameter's state that `begin` makes as zeros of its shape

    def __init_subclass__(cls) -> None:
        """Wrap a subclass's own `step` to call the hooks around it."""
        super().__init_subclass__()
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]  # wrapping a method is an assignment to it

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        name = type(self).__name__
        groups = list(_checked(name, params))
        if not groups:
            raise ArgumentError(
                "optimizer got an empty parameter list",
                hint="check that the module has parameters, and that a generator was not used up before",
                operator=name,
            )
        if not isinstance(defaults, dict):
            raise ArgumentTypeError(
                f"defaults must be a dict, got {shown(defaults)}", hint="as in {'lr': 0.1}", operator=name
            )
        self.defaults = defaults
        self.param_groups: list[dict[str, Any]] = []
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self._begin_hooks()
        with naming(name):
            for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
                self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters with its own options.

        param_group: a dict with "params" and options; the optimizer's defaults complete it.
        Raises: ArgumentTypeError for an object of another type; ArgumentError for parameters that already are in a
                group, or options out of range; NamingError for a dict without "params".  Nothing is added then.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> optimizer = torch.optim.SGD([weight], lr=1.0)
            >>> optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))], "lr": 0.25})
            >>> [group["lr"] for group in optimizer.param_groups]
            [1.0, 0.25]
        """
        if not isinstance(param_group, dict):
            raise ArgumentTypeError(
                f"param_group must be a dict, but got {type(param_group).__name__}: {shown(param_group)}",
                hint='as in {"params": [...], "lr": 0.1}',
                operator="add_param_group",
            )
        if "params" not in param_group:
            raise NamingError(
                f"a parameter group needs the key 'params', this one has "
                f"{', '.join(map(repr, param_group)) or 'no keys'}",
                hint='as in {"params": [...], "lr": 0.1}',
                operator="add_param_group",
            )
        params, names = _tensors(param_group["params"], bool(self.defaults.get("differentiable")))
        group: dict[str, Any] = {"params": params}
        group |= {key: value for key, value in param_group.items() if key != "params"}
        if names:
            group["param_names"] = names
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
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            raise ArgumentError(
                "all optimizer param groups should be with/without names, the new one has "
                f"{len(names)} names and group 0 {len(self.param_groups[0].get('param_names', []))}",
                hint="give (name, tensor) pairs in every group, or in none",
                operator="add_param_group",
            )
        with naming("add_param_group"):
            self._check_modes(group)
            self.check(group)
        self.param_groups.append(group)

    def _check_new(self, params: list[Any]) -> None:
        ids = [id(param) for param in params]
        if len(set(ids)) != len(ids):
            callers.warn(f"{type(self).__name__}: optimizer contains a parameter group with duplicate parameters")
        known = {id(param): index for index, group in enumerate(self.param_groups) for param in group["params"]}
        for param in params:
            if id(param) in known:
                raise ArgumentError(
                    f"some parameters appear in more than one parameter group: {param.describe()} is "
                    f"in group {known[id(param)]}",
                    hint="list each parameter once",
                    operator="add_param_group",
                )

    def check(self, group: dict[str, Any]) -> None:
        """Check the options of a group before it is added; subclasses extend this method.

        group: a dict of the group's options.
        Raises: ArgumentError or ArgumentTypeError for an option that is out of range or of a wrong type; ModeError in
                LBFGS for an unknown line_search_fn.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> optimizer = torch.optim.SGD([weight], lr=1.0)
            >>> optimizer.check(optimizer.param_groups[0] | {"lr": -1.0})
            Traceback (most recent call last):
            flambeau.errors.ArgumentError: check: Invalid learning rate: -1.0
            hint: pass lr of 0 or more
        """
        check_not_negative(group, self._not_negative)

    def _check_modes(self, group: dict[str, Any]) -> None:
        """Raise ModeError for foreach with fused, NotSupportedError for a step without a formula."""
        if group.get("foreach") and group.get("fused"):
            raise ModeError(
                "`fused` and `foreach` cannot be `True` together, got fused=True and foreach=True",
                hint="leave both out: a launch always updates many parameters",
                operator="check",
            )
        if group.get("differentiable") and group.get("fused"):
            raise ModeError(
                "`fused` does not support `differentiable`, got fused=True and differentiable=True",
                hint="leave one of them out",
                operator="check",
            )
        if group.get("differentiable") and self.formula is None:
            raise NotSupportedError(
                "differentiable=True is not supported: a step cannot be differentiated",
                hint="leave it out, or write the step by hand",
                operator="check",
            )

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None or, if not set_to_none, to zero.

        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> weight.sum().backward()
            >>> torch.optim.SGD([weight]).zero_grad()
            >>> weight.grad is None
            True
        """
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param._grad = None
                elif param.grad is not None:
                    param.grad = param.grad.detach().zero_()

    @_with_hooks
    def step(self, closure: Closure | None = None) -> Any:
        """Update every parameter that has a gradient; return the closure's result, or None.

        closure: a function that clears the gradients, recomputes the loss and its gradients, and returns the loss.
        Host: returns at once.
        Raises: ArgumentTypeError for a closure that is not callable, NotSupportedError if the class does not define
                `update`.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> weight.sum().backward()
            >>> torch.optim.SGD([weight], lr=0.5).step()
            >>> weight.item()
            3.5
        """
        loss = None
        if closure is not None:
            checks.function("step", "closure", closure)
            with GradMode(True):
                loss = closure()
        with GradMode(False):
            self._update_all()
        return loss

    @whole
    def _update_all(self) -> None:
        for group in self.param_groups:
            if group.get("differentiable") or self._captures_formula and group["capturable"]:
                self._update_by_formula(group)
            else:
                self.update(group)
        self.has_stepped = True

    def _before_step(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Call the hooks before a step; return the arguments as modified."""
        for hook in (*every_pre_hook.values(), *self._optimizer_step_pre_hooks.values()):
            result = hook(self, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise ModeError(
                        f"{shown(hook)} must return None or a tuple of (new_args, new_kwargs), but got {shown(result)}",
                        hint="return None to leave the arguments as they are",
                        operator="step",
                    )
                args, kwargs = result
        return args, kwargs

    def _after_step(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for hook in (*self._optimizer_step_post_hooks.values(), *every_post_hook.values()):
            hook(self, args, kwargs)

    def update(self, group: dict[str, Any]) -> None:
        """Update the parameters of one group.

        group: a dict of "params" and options.
        Subclasses define this method.  `step` calls it for each group, with gradient recording off.
        Raises: NotSupportedError if the class does not define it.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> weight.sum().backward()
            >>> optimizer = torch.optim.SGD([weight], lr=0.5)
            >>> with torch.no_grad():
            ...     optimizer.update(optimizer.param_groups[0])
            >>> weight.item()
            3.5
        """
        raise NotSupportedError(
            "update is not defined", hint="define update(self, group)", operator=type(self).__name__
        )

    # state of parameters: step counters, and entries of subclasses

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        """Return the state of a parameter before its first step, without the entry "step".

        Subclasses may override this method.
        param: the parameter.  group: its group, a dict of options.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> optimizer = torch.optim.Adam([weight])
            >>> optimizer.begin(weight, optimizer.param_groups[0])
            {'exp_avg': tensor([0.]), 'exp_avg_sq': tensor([0.])}
        """
        return {name: like_factories.zeros_like(param) for name in self._zeros}

    def due(self, group: dict[str, Any]) -> Iterator[tuple[list[Any], float]]:
        """Yield batches of parameters with a gradient, as (parameters, number of their next step).

        The parameters of a batch have the same device and step number.  Subclasses call this method in `update`, and
        update each batch with one launch.  The method creates the state of new parameters.
        The counters of a batch are incremented when the next batch is requested; a batch that raised is not counted.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> weight.sum().backward()
            >>> optimizer = torch.optim.Adam([weight])
            >>> for params, step in optimizer.due(optimizer.param_groups[0]):
            ...     print(len(params), step)
            1 1.0
        """
        if self.counts_on_device and group.get("capturable"):
            yield from self._due_by_device(group)
            return
        self._refuse_capture("steps are counted on the host, and every replay would repeat one step's corrections")
        batches: dict[tuple[int, float], list[tuple[Any, Any]]] = {}
        for param in with_gradients(group):
            state = self.state[param]
            if not state:
                state.update({"step": factories.tensor(0.0, device=CPU)} | self.begin(param, group))
            counter = self._cell(state, "step")
            batches.setdefault((param.device_index, float(counter) + 1), []).append((param, counter))
        for (_, step), entries in batches.items():
            yield [param for param, _ in entries], step
            for _, counter in entries:
                counter[...] = step

    def lists(self, params: list[Any], *names: str) -> list[list[Any]]:
        """Return [parameters, their gradients, for each name the list of the entries with that name in their states].

        A list skips parameters without the entry.  Subclasses pass the lists to an operator that updates many
        parameters.
        Raises: AttributeError for an object that is not a tensor.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> weight.sum().backward()
            >>> optimizer = torch.optim.SGD([weight])
            >>> optimizer.state[weight]["momentum_buffer"] = torch.tensor([0.5])
            >>> optimizer.lists([weight], "momentum_buffer")[1:]
            [[tensor([1.])], [tensor([0.5000])]]
        """
        states = [self.state[param] for param in params]
        columns = [[state[name] for state in states if name in state] for name in names]
        return [params, [param._grad for param in params], *columns]

    def _update_by_formula(self, group: dict[str, Any]) -> None:
        """Update one group by the formula: with gradients, or from counters in device memory."""
        formula = type(self).formula  # `_check_modes` has refused differentiable groups without a formula
        is_recorded, on_device = bool(group["differentiable"]), bool(group.get("capturable"))
        for param in with_gradients(group):
            state, lr = self.state[param], group["lr"]
            if not state and self._counters:
                self._refuse_capture("every replay would reset the state of a parameter", "call step() once before")
                state.update({"step": factories.tensor(0.0, device=CPU)} | self.begin(param, group))
            if on_device:
                for name in self._counters:
                    state[name] = counter_beside(state[name], param)
                step = state["step"].add_(1).to(float64)
            elif self._counters:
                step = float(self.cell(param, "step")) + 1
                self.cell(param, "step")[...] = step
            else:
                step = None
            with GradMode(is_recorded):
                if isinstance(lr, Tensor):
                    lr = lr.reshape(()) if is_recorded or lr.device == param.device else lr.item()
                grad = -param.grad if group["maximize"] else param.grad
                new, entries = formula(param.clone() if is_recorded else param, grad, state, group, step, lr)
                param.copy_(new)
            for name, value in entries.items():
                if is_recorded or name not in state:
                    state[name] = (
                        value if isinstance(value, Tensor) else factories.tensor(value, dtype=float32, device=CPU)
                    )
                else:
                    state[name].copy_(value)

    def alike(self, params: list[Any], *names: str) -> list[tuple[tuple[Any, ...], list[Any]]]:
        """Group parameters whose states hold equal numbers under the given names; return [(values, parameters)].

        The values are NumPy scalars, in the order of `names`.
        Raises: KeyError for a name that a state does not have.
        Example:
            >>> first, second = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
            >>> optimizer = torch.optim.SGD([first, second])
            >>> optimizer.state[first]["eta"] = optimizer.state[second]["eta"] = torch.tensor(0.5)
            >>> [(float(eta), len(params)) for (eta,), params in optimizer.alike([first, second], "eta")]
            [(0.5, 2)]
        """
        groups: dict[Any, list[Any]] = {}
        for param in params:
            groups.setdefault(tuple([self.cell(param, name)[()] for name in names]), []).append(param)
        return list(groups.items())

    def cell(self, param: Any, name: str) -> Any:
        """Return a NumPy array that shares the memory of a one-element entry of a parameter's state.

        name: the entry's key.  An entry that is not a tensor is first replaced by a tensor on the CPU.
        Raises: KeyError for a name that the parameter's state does not have.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> optimizer = torch.optim.SGD([weight])
            >>> optimizer.state[weight]["eta"] = torch.tensor(0.5)
            >>> optimizer.cell(weight, "eta")[...] = 2.0
            >>> optimizer.state[weight]["eta"]
            tensor(2.)
        """
        return self._cell(self.state[param], name)

    def _cell(self, state: dict[str, Any], name: str) -> Any:
        kept = state[name]
        known = self._cells.get(id(kept))
        if known is None or known[0] is not kept or known[1] != kept.address():  # share_memory_ moves it
            if not isinstance(kept, TensorBase) or kept.is_cuda:
                state[name] = kept = factories.tensor(float(kept), dtype=getattr(kept, "dtype", None), device=CPU)
            known = self._cells[id(kept)] = kept, kept.address(), kept.array()
        return known[2]

    def _due_by_device(self, group: dict[str, Any]) -> Iterator[tuple[list[Any], float]]:
        """Do the same as `due` with step counters in device memory: the host does not know them and yields 0."""
        batches: dict[int, list[Any]] = {}
        for param in with_gradients(group):
            state = self.state[param]
            if not state:
                self._refuse_capture("every replay would reset the state of a parameter", "call step() once before")
                state.update({"step": factories.tensor(0.0, device=CPU)} | self.begin(param, group))
            state["step"] = counter_beside(state["step"], param)
            batches.setdefault(param.device_index, []).append(param)
        for params in batches.values():
            yield params, 0.0
            REGISTRY["count_steps"]([self.state[param]["step"] for param in params])

    def _refuse_capture(self, why: str, hint: str = "") -> None:
        name = type(self).__name__
        capturable = f"make it with {name}(..., capturable=True), or " if self.counts_on_device else ""
        refuse_capture(f"{name}.step", why, hint or f"{capturable}call step() after each replay")

    # saving and loading

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin_hooks()

    def state_dict(self) -> dict[str, Any]:
        """Return a dict with "state" and "param_groups", which name parameters by their index over all groups.

        The tensors in it are those of the optimizer, not copies.
        Raises: only the errors of hooks.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> torch.optim.SGD([weight], lr=0.5).state_dict()["param_groups"][0]["params"]
            [0]
        """
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        number = {id(param): index for index, param in enumerate(self._all_params())}
        groups = [
            {
                **{key: value for key, value in group.items() if key != "params"},
                "params": [number[id(p)] for p in group["params"]],
            }
            for group in self.param_groups
        ]
        state = {number[id(key)] if isinstance(key, TensorBase) else key: value for key, value in self.state.items()}
        saved = {"state": state, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            result = hook(self, saved)
            saved = saved if result is None else result
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a copy of a state_dict, with tensors on each parameter's device and of its dtype.

        Raises: ArgumentError if the number or the sizes of the groups differ, ArgumentTypeError for an object that is
                not a dict, NamingError for one without "param_groups" or "state"; nothing is loaded then.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> optimizer = torch.optim.SGD([weight], lr=0.5)
            >>> optimizer.load_state_dict(torch.optim.SGD([weight], lr=0.25).state_dict())
            >>> optimizer.param_groups[0]["lr"]
            0.25
        """
        if self._optimizer_load_state_dict_pre_hooks and isinstance(state_dict, dict):
            state_dict = dict(state_dict)
            for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
                result = hook(self, state_dict)
                state_dict = state_dict if result is None else result
        given = checks.entry("load_state_dict", "state_dict", state_dict, "param_groups")
        state = checks.entry("load_state_dict", "state_dict", state_dict, "state")
        _check_same_sizes(given, self.param_groups)
        if not isinstance(state, dict):
            raise ArgumentTypeError(
                f"state_dict['state'] must be a dict, got {shown(state)}",
                hint="give the result of state_dict()",
                operator="load_state_dict",
            )
        groups = [{name: deepcopy(_ours(value)) for name, value in group.items()} for group in given]
        params = self._all_params()
        numbers = [number for group in groups for number in group["params"]]
        params_by_number = dict(zip(numbers, params))
        loaded: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in state.items():
            if key in params_by_number:
                loaded[params_by_number[key]] = _copied(value, params_by_number[key])
            else:
                loaded[key] = deepcopy(value)
        for group, own in zip(groups, self.param_groups):
            group["params"] = own["params"]
            if "param_names" in own:
                group.setdefault("param_names", own["param_names"])
            for name, value in self.defaults.items():  # an option that is newer than the file
                group.setdefault(name, value)
        self.state, self.param_groups = loaded, groups
        self._cells.clear()
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def _all_params(self) -> list[Any]:
        return [param for group in self.param_groups for param in group["params"]]

    # hooks

    def _begin_hooks(self) -> None:
        """Reset the hooks, and the arrays over numbers of the state."""
        self._optimizer_step_pre_hooks: Hooks = OrderedDict()
        self._optimizer_step_post_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_post_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: Hooks = OrderedDict()
        self._cells: dict[int, tuple[Any, int, Any]] = {}  # by a tensor's id: (tensor, address, array over it)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) before each step; it may return a new (args, kwargs).

        args: the arguments of `step`, the optimizer itself first.
        Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> optimizer = torch.optim.SGD([weight])
            >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
            >>> optimizer.step()
            before
        """
        return _register("register_step_pre_hook", self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) after each step.

        Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> weight.sum().backward()
            >>> optimizer = torch.optim.SGD([weight], lr=0.5)
            >>> handle = optimizer.register_step_post_hook(lambda optimizer, args, kwargs: print(weight.item()))
            >>> optimizer.step()
            3.5
        """
        return _register("register_step_post_hook", self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer) before state_dict.

        prepend: call it before the existing hooks.  Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> optimizer = torch.optim.SGD([weight])
            >>> handle = optimizer.register_state_dict_pre_hook(lambda optimizer: print(type(optimizer).__name__))
            >>> state = optimizer.state_dict()
            SGD
        """
        return _register("register_state_dict_pre_hook", self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer, state_dict) after state_dict; a result other than None replaces the dict.

        prepend: call it before the existing hooks.  Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> optimizer = torch.optim.SGD([weight])
            >>> handle = optimizer.register_state_dict_post_hook(lambda optimizer, state: state | {"note": "run 7"})
            >>> optimizer.state_dict()["note"]
            'run 7'
        """
        return _register("register_state_dict_post_hook", self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer, state_dict) before load_state_dict, with a shallow copy of the dict.

        A result other than None replaces the dict.  prepend: call the hook before the existing ones.
        Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> optimizer = torch.optim.SGD([weight])
            >>> handle = optimizer.register_load_state_dict_pre_hook(lambda optimizer, state: print(sorted(state)))
            >>> optimizer.load_state_dict(optimizer.state_dict())
            ['param_groups', 'state']
        """
        return _register("register_load_state_dict_pre_hook", self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer) after load_state_dict.

        prepend: call it before the existing hooks.  Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable.
        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))])
            >>> handle = optimizer.register_load_state_dict_post_hook(lambda optimizer: print(type(optimizer).__name__))
            >>> optimizer.load_state_dict(optimizer.state_dict())
            SGD
        """
        name = "register_load_state_dict_post_hook"
        return _register(name, self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def __repr__(self) -> str:
        parts = []
        for index, group in enumerate(self.param_groups):
            options = [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            parts.append("\n".join([f"Parameter Group {index}", *options]))
        return f"{type(self).__name__} (\n" + "\n\n".join(parts) + "\n)"


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Any], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Replace the parameters and state of an optimizer inside a `with` block, and restore them at its end.

    swapin_parameters: a dict of tensors in the order of the optimizer's parameters; its keys are not used.
    swapin_optim_state: a state like that of `state_dict`; its tensors are used, not copied.
    Raises: ArgumentError for a wrong number of parameters or groups.
    Example:
        >>> weight, other = torch.nn.Parameter(torch.tensor([4.0])), torch.tensor([1.0])
        >>> optimizer = torch.optim.SGD([weight], lr=0.5)
        >>> with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"weight": other}, optimizer.state_dict()):
        ...     other.grad = torch.tensor([1.0])
        ...     optimizer.step()
        >>> weight.item(), other.item()
        (4.0, 0.5)
    """
    name = "swap_in_optimizer_params_and_state"
    given = list(swapin_parameters.values())
    count = len(optimizer._all_params())
    if len(given) != count:
        raise ArgumentError(
            f"the optimizer has {count} parameters, got {len(given)}",
            hint="pass one tensor for each parameter",
            operator=name,
        )
    with naming(name):
        groups = checks.entry(name, "swapin_optim_state", swapin_optim_state, "param_groups")
        state = checks.entry(name, "swapin_optim_state", swapin_optim_state, "state")
        _check_same_sizes(groups, optimizer.param_groups)
    before = optimizer.param_groups, optimizer.state
    optimizer.param_groups = [
        {**own, **group, "params": [given[index] for index in group["params"]]}
        for own, group in zip(optimizer.param_groups, groups)
    ]
    optimizer.state = defaultdict(dict, {given[index]: dict(entries) for index, entries in state.items()})
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = before


def _register(called: str, hooks: Hooks, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    checks.function(called, "hook", hook)
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _tensors(params: Any, is_differentiable: bool) -> tuple[list[Any], list[str]]:
    """Return the tensors of a group, checked, and their names; no names if they have none."""
    if isinstance(params, (set, frozenset)):
        raise ArgumentTypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of "
            f"tensors in sets will change between runs; got a {type(params).__name__} of {len(params)}",
            hint="use a list instead",
            operator="add_param_group",
        )
    whole: list[Any] = [params] if isinstance(params, TensorBase) else list(_checked("add_param_group", params))
    named = [isinstance(entry, tuple) and len(entry) == 2 for entry in whole]
    if any(named) and not all(named):
        raise ArgumentError(
            f"all optimizer params should be with/without names, params[{named.index(False)}] has none",
            hint="give (name, tensor) pairs alone, as named_parameters() does, or tensors alone",
            operator="add_param_group",
        )
    tensors = [entry[1] if is_named else entry for entry, is_named in zip(whole, named)]
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, TensorBase):
            raise ArgumentTypeError(
                "optimizer can only optimize Tensors, but one of the params is "
                f"{type(tensor).__name__}: params[{index}] is {shown(tensor)}",
                hint="give module.parameters(), or dicts with 'params'",
                operator="add_param_group",
            )
        if tensor._grad_fn is not None and not (is_differentiable or tensor.retains_grad):
            raise ArgumentError(
                f"can't optimize a non-leaf Tensor, params[{index}] is {tensor.describe()} of {tensor._grad_fn}",
                hint="optimize the leaf it comes from, or its detach()",
                operator="add_param_group",
            )
    return tensors, [entry[0] for entry in whole] if all(named) else []


def _checked(name: str, params: Any) -> Iterable[Any]:
    """Check that parameters are an iterable.  Raises ArgumentTypeError."""
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
    hint = "create the optimizer with the same parameter groups as the saved one"
    loaded = checks.listed("load_state_dict", "state_dict['param_groups']", "dicts", groups)
    if len(loaded) != len(own):
        raise ArgumentError(
            f"loaded state dict has a different number of parameter groups: {len(loaded)}, this "
            f"optimizer has {len(own)}",
            hint=hint,
            operator="load_state_dict",
        )
    for index, (group, mine) in enumerate(zip(loaded, own)):
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
    """Copy a loaded value, with tensors on the parameter's device, floating-point ones of its dtype."""
    value = _ours(value)
    if isinstance(value, Tensor):
        dtype = param.dtype if value.dtype.is_floating_point else value.dtype
        with GradMode(False):
            return value.to(param.device, dtype, copy=True)
    if isinstance(value, dict):
        return {key: deepcopy(_ours(entry)) if key == "step" else _copied(entry, param) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(entry, param) for entry in value)
    return deepcopy(value)


def _ours(value: Any) -> Any:
    """Take another library's tensor through DLPack; return anything else unchanged."""
    return adopted(value) if is_foreign(value) else value


def counter_beside(step: Any, param: Any) -> Any:
    """Return a step counter as a float32 tensor on a parameter's device."""
    if isinstance(step, Tensor):
        return step.to(param.device, float32)
    return factories.full((), float(step), dtype=float32, device=param.device)


def with_gradients(group: dict[str, Any]) -> list[Any]:
    """Return the parameters of a group that have a gradient, each once."""
    return list({id(param): param for param in group["params"] if param._grad is not None}.values())


def options(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a constructor, its `locals()`, without self and params: the defaults of groups."""
    return {name: value for name, value in arguments.items() if name not in ("self", "params", "__class__")}


def number(value: Any) -> float:
    """Return an option, a number or a tensor of one element, as a float.  Host: waits if it is on a GPU."""
    return value if type(value) is float else float(value)


def numbers(group: dict[str, Any], *names: str) -> tuple[float, ...]:
    """Return options of a group as floats."""
    return tuple([number(group[name]) for name in names])


def rate_for(group: dict[str, Any], device: int) -> tuple[float, Any]:
    """Return a group's learning rate for a device: (number, None), or (0, tensor) for a tensor on that device."""
    rate = group["lr"]
    if isinstance(rate, Tensor) and rate.device.index == device:
        return 0.0, rate.reshape(()).to(float32)
    return number(rate), None


def found_on(optimizer: Optimizer, param: Any) -> Any:
    """Return an optimizer's `found_inf` on the device of a parameter, or None."""
    found_inf = optimizer.found_inf
    return None if found_inf is None else found_inf.to(param.device, non_blocking=True)


def check_number(group: dict[str, Any], name: str) -> None:
    """Raise ArgumentTypeError unless an option is a number, ArgumentError for a tensor of several elements."""
    value = group[name]
    if isinstance(value, TensorBase) and value.numel() != 1:
        raise ArgumentError(
            f"Tensor {name} must be 1-element, got {shown(value)}", hint="as in torch.tensor(0.1)", operator="check"
        )
    if not isinstance(value, TensorBase):
        checks.number("check", name, value)


def check_not_negative(group: dict[str, Any], names: Iterable[str]) -> None:
    """Raise ArgumentTypeError or ArgumentError unless options of a group are numbers of 0 or more."""
    for name in names:
        check_number(group, name)
        if not group[name] >= 0:
            text = {"lr": "learning rate", "eps": "epsilon value"}.get(name, f"{name} value")  # PyTorch's wording
            raise ArgumentError(
                f"Invalid {text}: {shown_number(group[name])}", hint=f"pass {name} of 0 or more", operator="check"
            )


def shown_number(value: Any) -> Any:
    """Return an option's value as errors show it."""
    return value.item() if isinstance(value, Tensor) else value


def check_pair(group: dict[str, Any], name: str, example: str) -> None:
    """Raise ArgumentTypeError or ArgumentError unless an option is a pair."""
    pair = group[name]
    if not isinstance(pair, (tuple, list)):
        raise ArgumentTypeError(
            f"{name} must be two numbers, got {shown(pair)}", hint=f"as in {example}", operator="check"
        )
    if len(pair) != 2:
        raise ArgumentError(f"{name} must be two numbers, got {pair}", hint=f"as in {example}", operator="check")


def check_betas(group: dict[str, Any]) -> None:
    """Raise ArgumentTypeError or ArgumentError unless betas are two numbers in [0, 1)."""
    check_pair(group, "betas", "(0.9, 0.999)")
    for index, beta in enumerate(group["betas"]):
        checks.number("check", f"betas[{index}]", beta)
        if not 0 <= beta < 1:
            raise ArgumentError(
                f"Invalid beta parameter at index {index}: {shown_number(beta)}",
                hint="pass betas of at least 0 and less than 1",
                operator="check",
            )


__all__ = ["Optimizer", "ParamsT", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]
__dir__ = listing(globals())
