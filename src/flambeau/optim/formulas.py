"""Steps of optimizers as expressions of tensor operators, which have gradients and read no number on the host.

`differentiable=True` records them; a few optimizers also use them with `capturable=True`.  Otherwise a step is one
kernel for all parameters (`ops/optimizer_steps.py`).

A formula is a function of (parameter, gradient, state, group, step, lr) and returns the new parameter and the new
entries of the state.  The step counts from 1; it and lr are numbers, or tensors without dimensions.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from ..dtypes import float32, float64
from ..ops.operator import REGISTRY
from ..tensor.tensor import Tensor

Entries: TypeAlias = dict[str, Any]
MOMENTUM_BASE = 0.96  # of NAdam's momentum schedule: T. Dozat, "Incorporating Nesterov Momentum into Adam", 2016
LEAST_LENGTH = 5.0  # RAdam: the shortest average of squares whose variance is considered known


def _root(value: Any) -> Any:
    return value.sqrt() if isinstance(value, Tensor) else math.sqrt(value)


def _decayed(param: Any, grad: Any, group: Entries, lr: Any) -> tuple[Any, Any]:
    """Apply the weight decay to the parameter or to the gradient."""
    decay = group["weight_decay"]
    if isinstance(decay, float | int) and not decay:
        return param, grad
    if group.get("decoupled_weight_decay"):
        return param * (1 - lr * decay), grad
    return param, grad + param * decay


def _means(grad: Any, state: Entries, group: Entries) -> tuple[Any, Any]:
    """Return the running mean of the gradient, and of its square."""
    beta1, beta2 = group["betas"]
    mean = state["exp_avg"] + (grad - state["exp_avg"]) * (1 - beta1)
    return mean, state["exp_avg_sq"] * beta2 + grad * grad * (1 - beta2)


def sgd(param: Any, grad: Any, state: Entries, group: Entries, step: Any, lr: Any) -> tuple[Any, Entries]:
    """Compute one step of SGD for one parameter; return (new parameter, dict of the new entries of its state).

    step: the step's number, from 1.  lr: the learning rate; the group's other options are read from `group`.
    """
    _, grad = _decayed(param, grad, group, lr)
    momentum = group["momentum"]
    if not momentum:
        return param - grad * lr, {}
    total = state.get("momentum_buffer")
    total = grad.clone() if total is None else total * momentum + grad * (1 - group["dampening"])
    return param - (grad + total * momentum if group["nesterov"] else total) * lr, {"momentum_buffer": total}


def adam(param: Any, grad: Any, state: Entries, group: Entries, step: Any, lr: Any) -> tuple[Any, Entries]:
    """Compute a step of Adam or AdamW for one parameter; return (new parameter, dict of the new entries of its state).

    step: the step's number, from 1.  lr: the learning rate; the group's other options are read from `group`.
    """
    param, grad = _decayed(param, grad, group, lr)
    beta1, beta2 = group["betas"]
    mean, square = _means(grad, state, group)
    new_state = {"exp_avg": mean, "exp_avg_sq": square}
    if group["amsgrad"]:
        new_state["max_exp_avg_sq"] = square = REGISTRY["maximum"](state["max_exp_avg_sq"], square)
    divisor = square.sqrt() / _root(1 - beta2**step) + group["eps"]
    return param - mean / divisor * (lr / (1 - beta1**step)), new_state


def adamax(param: Any, grad: Any, state: Entries, group: Entries, step: Any, lr: Any) -> tuple[Any, Entries]:
    """Compute one step of Adamax for one parameter; return (new parameter, dict of the new entries of its state).

    step: the step's number, from 1.  lr: the learning rate; the group's other options are read from `group`.
    """
    param, grad = _decayed(param, grad, group, lr)
    beta1, beta2 = group["betas"]
    mean = state["exp_avg"] + (grad - state["exp_avg"]) * (1 - beta1)
    largest = REGISTRY["maximum"](state["exp_inf"] * beta2, grad.abs() + group["eps"])
    return param - mean / largest * (lr / (1 - beta1**step)), {"exp_avg": mean, "exp_inf": largest}


def nadam(param: Any, grad: Any, state: Entries, group: Entries, step: Any, lr: Any) -> tuple[Any, Entries]:
    """Compute one step of NAdam for one parameter; return (new parameter, dict of the new entries of its state).

    step: the step's number, from 1.  lr: the learning rate; the group's other options are read from `group`.
    """
    param, grad = _decayed(param, grad, group, lr)
    beta1, beta2 = group["betas"]
    mean, square = _means(grad, state, group)
    now, following = [
        beta1 * (1 - 0.5 * MOMENTUM_BASE ** (number * group["momentum_decay"])) for number in (step, step + 1)
    ]
    kept = state["mu_product"] * (now.to(float32) if isinstance(now, Tensor) else now)  # in float32, as PyTorch's
    product = kept.to(float64)
    divisor = (square / (1 - beta2**step)).sqrt() + group["eps"]
    param = param - grad / divisor * (lr * (1 - now) / (1 - product))
    param = param - mean / divisor * (lr * following / (1 - product * following))
    return param, {"mu_product": kept, "exp_avg": mean, "exp_avg_sq": square}


def radam(param: Any, grad: Any, state: Entries, group: Entries, step: Any, lr: Any) -> tuple[Any, Entries]:
    """Compute one step of RAdam for one parameter; return (new parameter, dict of the new entries of its state).

    step: the step's number, from 1.  lr: the learning rate; the group's other options are read from `group`.
    """
    param, grad = _decayed(param, grad, group, lr)
    beta1, beta2 = group["betas"]
    mean, square = _means(grad, state, group)
    new_state = {"exp_avg": mean, "exp_avg_sq": square}
    change = mean * (lr / (1 - beta1**step))
    correction = 1 - beta2**step
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / correction
    is_known = length > LEAST_LENGTH
    if not isinstance(length, Tensor) and not is_known:
        return param - change, new_state
    share = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
    if isinstance(length, Tensor):
        share = REGISTRY["where"](is_known, share, 1.0)  # the root of a negative number has no gradient
    scaled = change / (square.sqrt() + group["eps"]) * (_root(share) * _root(correction))
    return param - (REGISTRY["where"](is_known, scaled, change) if isinstance(length, Tensor) else scaled), new_state


def adagrad(param: Any, grad: Any, state: Entries, group: Entries, step: Any, lr: Any) -> tuple[Any, Entries]:
    """Compute one step of Adagrad for one parameter; return (new parameter, dict of the new entries of its state).

    step: the step's number, from 1.  lr: the learning rate; the group's other options are read from `group`.
    """
    param, grad = _decayed(param, grad, group, lr)
    total = state["sum"] + grad * grad
    return param - grad / (total.sqrt() + group["eps"]) * (lr / (1 + (step - 1) * group["lr_decay"])), {"sum": total}


def adadelta(param: Any, grad: Any, state: Entries, group: Entries, step: Any, lr: Any) -> tuple[Any, Entries]:
    """Compute one step of Adadelta for one parameter; return (new parameter, dict of the new entries of its state).

    step: the step's number, from 1.  lr: the learning rate; the group's other options are read from `group`.
    """
    param, grad = _decayed(param, grad, group, lr)
    rho, eps = group["rho"], group["eps"]
    square = state["square_avg"] * rho + grad * grad * (1 - rho)
    change = (state["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * grad
    steps = state["acc_delta"] * rho + change * change * (1 - rho)
    return param - change * lr, {"square_avg": square, "acc_delta": steps}


def rmsprop(param: Any, grad: Any, state: Entries, group: Entries, step: Any, lr: Any) -> tuple[Any, Entries]:
    """Compute one step of RMSprop for one parameter; return (new parameter, dict of the new entries of its state).

    step: the step's number, from 1.  lr: the learning rate; the group's other options are read from `group`.
    """
    param, grad = _decayed(param, grad, group, lr)
    alpha = group["alpha"]
    square = variance = state["square_avg"] * alpha + grad * grad * (1 - alpha)
    new_state = {"square_avg": square}
    if group["centered"]:
        new_state["grad_avg"] = mean = state["grad_avg"] + (grad - state["grad_avg"]) * (1 - alpha)
        variance = square - mean * mean
    change = grad / (variance.sqrt() + group["eps"])
    if group["momentum"]:
        new_state["momentum_buffer"] = change = state["momentum_buffer"] * group["momentum"] + change
    return param - change * lr, new_state


def rprop(param: Any, grad: Any, state: Entries, group: Entries, step: Any, lr: Any) -> tuple[Any, Entries]:
    """Compute one step of Rprop for one parameter; return (new parameter, dict of the new entries of its state).

    step: the step's number, from 1.  lr: the learning rate; the group's other options are read from `group`.
    """
    (shrinking, growing), (least, largest) = group["etas"], group["step_sizes"]
    where, sign = REGISTRY["where"], (grad * state["prev"]).sign()
    size = state["step_size"]
    size = where(sign > 0, size * growing, where(sign < 0, size * shrinking, size)).clamp(least, largest)
    grad = where(sign < 0, 0.0, grad)
    return param - grad.sign() * size, {"prev": grad, "step_size": size}


def asgd(param: Any, grad: Any, state: Entries, group: Entries, step: Any, lr: Any) -> tuple[Any, Entries]:
    """Compute one step of ASGD for one parameter; return (new parameter, dict of the new entries of its state).

    step: the step's number, from 1.  lr: the learning rate; the group's other options are read from `group`.
    """
    param, grad = _decayed(param, grad, group, lr)
    lambd, eta = group["lambd"], state["eta"].to(float64)
    param = param * (1 - lambd * eta) - grad * eta
    mean = state["ax"] + (param - state["ax"]) * state["mu"].to(float64)
    past = step - group["t0"]
    mu = 1 / (past.clamp(min=1.0) if isinstance(past, Tensor) else max(1.0, past))
    return param, {"ax": mean, "eta": lr / (1 + lambd * lr * step) ** group["alpha"], "mu": mu}
