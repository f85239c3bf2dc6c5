"""L-BFGS.

Parameters and gradients form one vector.  A step reads numbers from the device, so the host waits for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..autograd.mode import GradMode
from ..errors import ArgumentError, ModeError
from ..importer import listing
from ..ops.operator import REGISTRY
from ..tensor import checks, factories
from .optimizer import Closure, Optimizer, number, options

LEAST_CURVATURE = 1e-10  # smallest curvature of a step that is stored
DECREASE, CURVATURE = 1e-4, 0.9  # the two constants of the Wolfe conditions: J. Nocedal, S. Wright, 2006, section 3.1
NARROWEST = 1e-9  # bracket of a line search, times the largest element of the direction


class Point(NamedTuple):
    """A point of a line search: the step along the direction, the loss, the gradient, its slope along the direction."""

    step: float
    loss: float
    grad: Any
    slope: float


class LBFGS(Optimizer):
    """L-BFGS: quasi-Newton steps, computed from the last `history_size` changes of the gradient.

    D. Liu, J. Nocedal, "On the Limited Memory BFGS Method for Large Scale Optimization", 1989.

    There is one group of parameters, on one device.  A step takes up to max_iter iterations.
    max_eval: evaluations of the closure per step, max_iter * 5 // 4 by default.
    tolerance_grad: stop if no element of the gradient is larger in absolute value.
    tolerance_change: stop if no element of the step is larger in absolute value, or if the loss changes by less.
    line_search_fn: "strong_wolfe", or None for steps of length lr.
    Host:   waits for the device in every iteration.
    Raises: ArgumentError for several groups or an option out of range, ArgumentTypeError for an option of a wrong type,
            ModeError for an unknown line_search_fn.
    Example:
        >>> x = torch.nn.Parameter(torch.tensor([4.0]))
        >>> optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((x - 1) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).item()
        9.0
        >>> round(x.item(), 3)
        1.0
    """

    _not_negative = ("lr",)

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        checks.integer("LBFGS", "max_iter", max_iter)
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, options(locals()))
        if len(self.param_groups) != 1:
            raise ArgumentError(
                f"doesn't support per-parameter options (parameter groups), got {len(self.param_groups)} groups",
                hint="give one list of parameters",
                operator="LBFGS",
            )

    def check(self, group: dict[str, Any]) -> None:
        super().check(group)
        for name in ("max_eval", "history_size"):
            checks.integer("check", name, group[name])
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise ModeError(
                f"only 'strong_wolfe' is supported as line_search_fn, got {group['line_search_fn']!r}",
                hint='use "strong_wolfe" or None',
                operator="check",
            )

    def step(self, closure: Closure) -> Any:  # type: ignore[override]  # the closure is required
        """Minimize the loss in up to max_iter iterations; return the loss before the first one.

        closure: a function that clears the gradients, recomputes the loss and its gradients, and returns the loss.
        Host: waits for the loss and the gradients of every iteration.
        Raises: ArgumentTypeError for a closure that is not callable, and the errors of the closure.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> optimizer = torch.optim.LBFGS([weight])
            >>> def closure():
            ...     optimizer.zero_grad()
            ...     loss = ((weight - 3) ** 2).sum()
            ...     loss.backward()
            ...     return loss
            >>> optimizer.step(closure).item(), round(weight.item(), 3)
            (1.0, 3.0)
        """
        checks.function("step", "closure", closure)
        with GradMode(False):
            return self._step(closure)

    def _step(self, closure: Closure) -> Any:
        group, params = self.param_groups[0], self.param_groups[0]["params"]
        run = _Run(params, closure)
        state = self.state[params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = run.evaluate()
        loss, grad = run.loss, run.grad
        state["func_evals"] += 1
        if _largest(grad) <= group["tolerance_grad"]:  # NaN goes on, and shows in the parameters
            return first_loss
        for left in range(group["max_iter"] - 1, -1, -1):
            state["n_iter"] += 1
            direction = _direction(state, grad, group["history_size"])
            state["d"], state["prev_flat_grad"], state["prev_loss"] = direction, grad, loss
            lr = number(group["lr"])
            length = min(1.0, 1.0 / float(grad.abs().sum())) * lr if state["n_iter"] == 1 else lr
            state["t"], slope = length, float(grad.dot(direction))
            if slope > -group["tolerance_change"]:
                break
            former, evaluations = loss, run.evaluations
            if group["line_search_fn"] is None:
                run.move(direction, length)
                if left:
                    run.evaluate()
            else:
                start = Point(0.0, loss, grad, slope)
                length = run.search(direction, start, length, group["max_eval"] - run.evaluations)
                state["t"] = length
            loss, grad = run.loss, run.grad
            state["func_evals"] += run.evaluations - evaluations
            if not left or run.evaluations >= group["max_eval"] or _largest(grad) <= group["tolerance_grad"]:
                break
            if _largest(direction) * abs(length) <= group["tolerance_change"]:
                break
            if abs(loss - former) < group["tolerance_change"]:
                break
        return first_loss


class _Run:
    """The closure of one step, and the parameters as one vector.  loss, grad: of the last evaluation."""

    def __init__(self, params: list[Any], closure: Closure) -> None:
        self._params = params
        self._closure = closure
        self.evaluations = 0
        self.loss = math.nan
        self.grad: Any = None

    def evaluate(self) -> Any:
        """Call the closure and return its result."""
        with GradMode(True):
            loss = self._closure()
        self.evaluations += 1
        self.loss = float(loss)
        parts = [factories.zeros(p.numel(), dtype=p.dtype, device=p.device) if p.grad is None else p.grad.reshape(-1)
                 for p in self._params]  # fmt: skip
        self.grad = REGISTRY["cat"](parts)
        return loss

    def move(self, direction: Any, length: float) -> None:
        """Add `length` times a vector to the parameters."""
        start = 0
        for param in self._params:
            param.add_(direction[start : start + param.numel()].reshape(param.shape), alpha=length)
            start += param.numel()

    def search(self, direction: Any, start: Point, length: float, most: int) -> float:
        """Move to a point that meets the strong Wolfe conditions; return the step's length."""
        kept = [param.clone() for param in self._params]

        def at(step: float) -> Point:
            self.move(direction, step)
            self.evaluate()
            for param, value in zip(self._params, kept):
                param.copy_(value)
            return Point(step, self.loss, self.grad, float(self.grad.dot(direction)))

        point = _strong_wolfe(at, start, length, _largest(direction), most)
        self.move(direction, point.step)
        self.loss, self.grad = point.loss, point.grad
        return point.step


def _largest(vector: Any) -> float:
    return float(vector.abs().max())


def _direction(state: dict[str, Any], grad: Any, history_size: int) -> Any:
    """Store the last change; return the next direction, by the two-loop recursion over the stored changes."""
    if state["n_iter"] == 1:
        state.update({"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1.0})
        return -grad
    changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
    change, step = grad - state["prev_flat_grad"], state["d"] * state["t"]
    curvature = float(change.dot(step))
    if curvature > LEAST_CURVATURE:
        if len(changes) == history_size:
            for history in (changes, steps, inverses):
                del history[0]
        changes.append(change)
        steps.append(step)
        inverses.append(1.0 / curvature)
        state["H_diag"] = curvature / float(change.dot(change))
    direction, shares = -grad, []
    for change, step, inverse in zip(reversed(changes), reversed(steps), reversed(inverses)):
        shares.append(float(step.dot(direction)) * inverse)
        direction.add_(change, alpha=-shares[-1])
    direction.mul_(state["H_diag"])
    for change, step, inverse, share in zip(changes, steps, inverses, reversed(shares)):
        direction.add_(step, alpha=share - float(change.dot(direction)) * inverse)
    return direction


def _strong_wolfe(at: Callable[[float], Point], start: Point, length: float, size: float, most: int) -> Point:
    """Return a point that meets the strong Wolfe conditions, or the best one after `most` tries.

    The step is first extended until such a point lies in a bracket, which is then narrowed.
    size: the largest element of the direction.
    """
    before, now, tries = start, at(length), 0
    bracket: list[Point] = []
    while tries < most and not bracket:
        if _is_too_high(now, start) or (tries > 1 and now.loss >= before.loss):
            bracket = [before, now]
        elif abs(now.slope) <= -CURVATURE * start.slope:
            return now
        elif now.slope >= 0:
            bracket = [before, now]
        else:
            bounds = now.step + 0.01 * (now.step - before.step), now.step * 10
            before, now = now, at(_cubic_minimum(before, now, bounds))
            tries += 1
    return _narrowed(at, start, bracket or [start, now], size, most - tries)


def _narrowed(at: Callable[[float], Point], start: Point, bracket: list[Point], size: float, most: int) -> Point:
    """Return the best point of a bracket, which is narrowed until a point meets the conditions."""
    is_slow, is_found = False, False
    low = 0 if bracket[0].loss <= bracket[1].loss else 1
    while most > 0 and not is_found and abs(bracket[1].step - bracket[0].step) * size >= NARROWEST:
        step, is_slow = _next_step(bracket, is_slow)
        now, high = at(step), 1 - low
        most -= 1
        if _is_too_high(now, start) or now.loss >= bracket[low].loss:
            bracket[high] = now
            low = 0 if bracket[0].loss <= bracket[1].loss else 1
        else:
            is_found = abs(now.slope) <= -CURVATURE * start.slope
            if not is_found and now.slope * (bracket[high].step - bracket[low].step) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = now
    return bracket[low]


def _is_too_high(now: Point, start: Point) -> bool:
    """Return whether the loss has decreased by less than the first Wolfe condition requires."""
    return now.loss > start.loss + DECREASE * now.step * start.slope


def _next_step(bracket: list[Point], is_slow: bool) -> tuple[float, bool]:
    """Return (the step to try in a bracket, whether it is close to an end of the bracket).

    A second step in a row that is close to an end is moved away from it.
    """
    one, other = bracket
    step = _cubic_minimum(one, other)
    least, most = min(point.step for point in bracket), max(point.step for point in bracket)
    margin = 0.1 * (most - least)
    if min(most - step, step - least) >= margin:
        return step, False
    if not is_slow and least < step < most:
        return step, True
    return (most - margin if abs(step - most) < abs(step - least) else least + margin), False


def _cubic_minimum(one: Point, other: Point, bounds: tuple[float, float] | None = None) -> float:
    """Return the minimum of the cubic through two points with their slopes, within bounds (the points by default)."""
    first, last = sorted((one, other), key=lambda point: point.step)
    least, most = bounds or (first.step, last.step)
    width = last.step - first.step
    inner = one.slope + other.slope - 3 * (last.loss - first.loss) / width if width else math.nan
    square = inner * inner - one.slope * other.slope
    root = math.sqrt(square) if square >= 0 else math.nan
    divisor = last.slope - first.slope + 2 * root
    if math.isnan(root) or not divisor:  # the cubic has no minimum
        return (least + most) / 2
    return min(max(last.step - width * ((last.slope + root - inner) / divisor), least), most)


__all__ = ["LBFGS"]
__dir__ = listing(globals())
