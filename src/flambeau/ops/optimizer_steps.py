"""Steps of optimizers, for many parameters in a few launches (see ops/multi_tensor.py)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from ..dtypes import dtype, float32
from ..errors import ArgumentError, DtypeError, ShapeError
from ..host import np
from ..kernel import Grid, Kernel, Pointer, Pointers
from .multi_tensor import (
    HIDDEN,
    LISTS_HINT,
    MANY,
    SHIFT,
    check_lists,
    float64_scalars,
    list_samples,
    lists_kernel,
    update,
)
from .operator import Array, Call, ErrorSample, Number, Operand, Operands, Sample, operator

FOUND = Pointer("found", float32, "r", ())  # a kernel does nothing if this number is not 0; None for no check

# Adam

ADAM_LISTS = {"grads": "r", "params": "rw", "means": "rw", "squares": "rw", "largest": "rw"}


def _adam_samples() -> Iterator[Sample]:
    params, grads, means, squares, largest = list_samples(-1, -2, -1, 0.1, 0.5)
    values = (0.01, 0.9, 0.99, 1e-8, 0.99, 0.0, 0.5)
    yield Sample((params, grads, means, squares, [], *values))
    yield Sample((params, grads, means, squares, largest, 0.01, 0.9, 0.99, 1e-8, 1.0, 0.1, 0.5, True))


def _adam_errors() -> Iterator[ErrorSample]:
    one, other, values = [Array((2,))], [Array((3,))], (0.01, 0.9, 0.99, 1e-8, 1.0, 0.0, 0.5)
    yield ErrorSample((one, other, one, one, [], *values), ShapeError, r"grads\[0\] has shape \[3\], params\[0\] has")
    yield ErrorSample((one, one, [], one, [], *values), ArgumentError, r"params has 1 tensors, exp_avgs has 0")
    half = [Array((2,), dtype="float16")]
    yield ErrorSample((one, one, one, half, [], *values), DtypeError, r"exp_avg_sqs\[0\] is float16, expected float32")


@operator(
    samples=_adam_samples,
    errors=_adam_errors,
    mutates=("params", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"),
    **HIDDEN,
)
def adam_step(
    call: Call, params: Operands, grads: Operands, exp_avgs: Operands, exp_avg_sqs: Operands,
    max_exp_avg_sqs: Operands, step_size: Number, beta1: Number, beta2: Number, eps: Number, shrink: Number,
    decay: Number, root: Number, maximize: bool = False,
) -> Any:  # fmt: skip
    """Apply a step of Adam or AdamW to parameters of one device.  Returns the parameters.

    max_exp_avg_sqs: the largest exp_avg_sqs so far, with amsgrad; else empty.
    step_size: the learning rate over 1 - beta1**step;  root: the square root of 1 - beta2**step.
    shrink: a factor of the parameter before the step;  decay: the share of the parameter that is added to the gradient.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    _check_adam("adam_step", params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
    every = (grads, params, exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
    values = (step_size, beta1, beta2, eps, shrink, decay, root, -1 if maximize else 1)
    update(call, _adam_kernel, every, 1, *values)
    return tuple(params)


def _check_adam(name: str, params: Any, grads: Any, means: Any, squares: Any, largest: Any) -> None:
    lists = {"params": params, "grads": grads, "exp_avgs": means, "exp_avg_sqs": squares}
    if largest:
        lists["max_exp_avg_sqs"] = largest
    check_lists(name, lists, adam_step.mutates)


@cache
def _adam_kernel(dtype: dtype) -> Kernel:
    def reference(
        grads: Any, params: Any, means: Any, squares: Any, largest: Any, shift: int, size: float, beta1: float,
        beta2: float, eps: float, shrink: float, decay: float, root: float, sign: float,
    ) -> None:  # fmt: skip
        for entries in _per_tensor(grads, params, means, squares, largest):
            _take_adam(entries, dtype, size, beta1, beta2, eps, shrink, decay, root, sign)

    names = ("size", "beta1", "beta2", "eps", "shrink", "decay", "root", "sign")
    body = f"adam<{dtype.wide.cuda}>(lists, (int)shift, {', '.join(names)})"
    return lists_kernel("adam_step", dtype, ADAM_LISTS, body, [SHIFT, *float64_scalars(*names)], reference, 20.0)


def _per_tensor(*lists: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the entries of the lists that are not empty, for one tensor after another."""
    return zip(*[tensors for tensors in lists if tensors])


def _take_adam(
    entries: tuple[Any, ...], dtype: dtype, size: float, beta1: float, beta2: float, eps: float, shrink: float,
    decay: float, root: float, sign: float,
) -> None:  # fmt: skip
    """Take the Adam step of one tensor.  entries: those of ADAM_LISTS, in their order."""
    wide = dtype.wide.numpy
    grad, param, mean, square, *largest = entries
    slope = _slope(grad, param, wide, decay, sign)
    new_mean = mean.astype(wide)
    new_mean += (slope - new_mean) * (1 - beta1)
    new_square = square.astype(wide) * beta2 + slope * slope * (1 - beta2)
    mean[...], square[...] = new_mean, new_square
    for most in largest:
        new_square = np.maximum(most.astype(wide), new_square)
        most[...] = new_square
    param[...] = param.astype(wide) * shrink - new_mean / (np.sqrt(new_square) / root + eps) * size


# Adam with step counts in device memory


def _counted_samples() -> Iterator[Sample]:
    params, grads, means, squares, largest = list_samples(-1, -2, -1, 0.1, 0.5)
    steps = [Array((), count, count, dtype="float32") for count in range(len(params))]
    yield Sample((params, grads, means, squares, [], steps, 0.01, 0.9, 0.99, 1e-8, 0.99, 0.0))
    yield Sample((params, grads, means, squares, largest, steps, 0.01, 0.0, 0.99, 1e-8, 1.0, 0.1, True))
    rate = Array((), 0.25, 0.25, dtype="float32")
    yield Sample((params, grads, means, squares, [], steps, 0.0, 0.9, 0.99, 1e-8, 1.0, 0.5, False, rate, True))
    flag = Array((), 1.0, 1.0, dtype="float32")
    yield Sample((params, grads, means, squares, [], steps, 0.1, 0.9, 0.99, 1e-8, 1.0, 0.0, False, None, False, flag))


def _counted_errors() -> Iterator[ErrorSample]:
    one, other, values = [Array((2,))], [Array((3,))], (0.01, 0.9, 0.99, 1e-8, 1.0, 0.0)
    count, whole = Array((), dtype="float32"), Array((), dtype="int64")
    yield ErrorSample((one, other, one, one, [], [count], *values), ShapeError, r"grads\[0\] has shape \[3\], params")
    yield ErrorSample((one, one, one, one, [], [], *values), ArgumentError, r"params has 1 tensors, steps has 0")
    message = r"steps\[0\] must be one float32 number, got "
    yield ErrorSample((one, one, one, one, [], [whole], *values), DtypeError, message + r"int64 of shape \[\]")
    wide = [Array((1,), dtype="float32")]
    yield ErrorSample((one, one, one, one, [], wide, *values), ShapeError, message + r"float32 of shape \[1\]")
    message = "rate must be one float32 number, got "
    given: tuple[Any, ...] = (one, one, one, one, [], [count], *values, False)
    yield ErrorSample((*given, whole), DtypeError, message + r"int64 of shape \[\]")
    yield ErrorSample((*given, wide[0]), ShapeError, message + r"float32 of shape \[1\]")


@operator(
    samples=_counted_samples,
    errors=_counted_errors,
    mutates=("params", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "steps"),
    **HIDDEN,
)
def counted_adam_step(
    call: Call, params: Operands, grads: Operands, exp_avgs: Operands, exp_avg_sqs: Operands,
    max_exp_avg_sqs: Operands, steps: Operands, lr: Number, beta1: Number, beta2: Number, eps: Number, shrink: Number,
    decay: Number, maximize: bool = False, rate: Operand | None = None, decoupled: bool = False,
    found_inf: Operand | None = None,
) -> Any:  # fmt: skip
    """Apply a step of Adam or AdamW with step counts on the device, so that each replay of a graph is the next step.

    Returns the parameters.
    steps: the number of steps of each parameter, to which 1 is added before the bias correction.
    rate: a float32 tensor that the kernel reads instead of lr.
    decoupled: whether to shrink the parameter by rate * decay, instead of adding decay * parameter to the gradient.
    found_inf: a float32 tensor; nothing changes where it is not 0.
    The other parameters are those of `adam_step`.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    _check_adam(call.name, params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
    _check_counters(call.name, params, steps)
    _check_rate(call.name, rate)
    for start in range(0, len(steps), MANY):
        call.launch(_count_kernel(), Grid((1, 1, 1), MANY), steps[start : start + MANY], found_inf)
    every = (grads, params, exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
    added, pull = (0.0, decay) if decoupled else (decay, 0.0)
    values = (lr, beta1, beta2, eps, shrink, added, -1 if maximize else 1, rate, pull, found_inf)
    update(call, _counted_adam_kernel, every, 1, *values, beside=[steps])
    return tuple(params)


def _check_rate(name: str, rate: Any) -> None:
    if rate is not None and (rate.shape or rate.dtype is not float32):
        error = ShapeError if rate.shape else DtypeError
        got = f"{rate.dtype.name} of shape {list(rate.shape)}"
        raise error(f"{name}: rate must be one float32 number, got {got}", hint="make it torch.tensor(0.1)")


def _check_counters(name: str, params: Any, steps: Any) -> None:
    if len(steps) != len(params):
        raise ArgumentError(f"params has {len(params)} tensors, steps has {len(steps)}", hint=LISTS_HINT, operator=name)
    for index, count in enumerate(steps):
        if count.shape or count.dtype is not float32:
            error = ShapeError if count.shape else DtypeError
            got = f"{count.dtype.name} of shape {list(count.shape)}"
            raise error(
                f"{name}: steps[{index}] must be one float32 number, got {got}", hint="make it torch.tensor(0.0)"
            )


@cache
def _count_kernel() -> Kernel:
    def reference(steps: Any, found: Any) -> None:
        if _is_set(found):
            return
        for count in steps:
            count += 1

    return lists_kernel("count_steps", float32, {"steps": "rw"}, "add_one(lists, found)", [FOUND], reference, 1.0)


def _is_set(flag: Any) -> bool:
    """Return whether the step is skipped because its gradients are not finite."""
    return flag is not None and bool(flag)


@cache
def _counted_adam_kernel(dtype: dtype) -> Kernel:
    def reference(
        grads: Any, params: Any, means: Any, squares: Any, largest: Any, steps: Any, shift: int, lr: float,
        beta1: float, beta2: float, eps: float, shrink: float, decay: float, sign: float, rate: Any, pull: float,
        found: Any,
    ) -> None:  # fmt: skip
        if _is_set(found):
            return
        if rate is not None:
            lr = rate.item()
            shrink -= lr * pull
        for entries, count in zip(_per_tensor(grads, params, means, squares, largest), steps):
            size, root = corrected(lr, beta1, beta2, count.item())
            _take_adam(entries, dtype, size, beta1, beta2, eps, shrink, decay, root, sign)

    names = ("lr", "beta1", "beta2", "eps", "shrink", "decay", "sign")
    body = f"adam_counted<{dtype.wide.cuda}>(lists, steps, (int)shift, {', '.join(names)}, rate, pull, found)"
    rate, pull = Pointer("rate", float32, "r", ()), *float64_scalars("pull")
    params = [Pointers("steps", MANY, float32, "r"), SHIFT, *float64_scalars(*names), rate, pull, FOUND]
    return lists_kernel("counted_adam_step", dtype, ADAM_LISTS, body, params, reference, 20.0)


def corrected(lr: float, beta1: float, beta2: float, step: float) -> tuple[float, float]:
    """Return (step_size, root) of `adam_step` for a step number, counted from 1."""
    return lr / (1 - beta1**step), math.sqrt(1 - beta2**step)


def _slope(grad: Any, param: Any, wide: Any, decay: float, sign: float) -> Any:
    """Return the gradient in the wide type, negated to maximize, with weight decay added."""
    slope = grad.astype(wide) * sign
    return slope + param.astype(wide) * decay if decay else slope


# SGD


def _sgd_samples() -> Iterator[Sample]:
    params, grads, buffers = list_samples(-1, -2, -1)
    yield Sample((params, grads, [], 0.1, 0.0, 1.0, 0.05))
    yield Sample((params, grads, buffers, 0.1, 0.9, 0.7, 0.0))
    yield Sample((params, grads, buffers, 0.1, 0.9, 1.0, 0.05, True, True))
    yield Sample((params, grads, [], 0.0, 0.0, 1.0, 0.05, False, False, Array((), 0.1, 0.1, dtype="float32")))
    flag = Array((), 1.0, 1.0, dtype="float32")
    yield Sample((params, grads, buffers, 0.1, 0.9, 1.0, 0.0, False, False, None, flag))


def _sgd_errors() -> Iterator[ErrorSample]:
    one, two = [Array((2,))], [Array((2,)), Array((2,))]
    yield ErrorSample((one, two, [], 0.1, 0.0, 1.0, 0.0), ArgumentError, r"params has 1 tensors, grads has 2")
    whole = [Array((2,), dtype="int64")]
    yield ErrorSample((whole, one, [], 0.1, 0.0, 1.0, 0.0), DtypeError, r"params\[0\] is int64, expected a floating")


@operator(samples=_sgd_samples, errors=_sgd_errors, mutates=("params", "buffers"), **HIDDEN)
def sgd_step(
    call: Call, params: Operands, grads: Operands, buffers: Operands, lr: Number, momentum: Number, taken: Number,
    decay: Number, nesterov: bool = False, maximize: bool = False, rate: Operand | None = None,
    found_inf: Operand | None = None,
) -> Any:  # fmt: skip
    """Apply a step of gradient descent to parameters of one device.  Returns the parameters.

    buffers: the decaying sums of gradients, with momentum; else empty.
    taken: the share of the gradient that is added to its sum.
    decay: the share of the parameter that is added to the gradient.
    rate: a float32 tensor that the kernel reads instead of lr.
    found_inf: a float32 tensor; nothing changes where it is not 0.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    lists = {"params": params, "grads": grads}
    if buffers:
        lists["buffers"] = buffers
    check_lists("sgd_step", lists, sgd_step.mutates)
    _check_rate("sgd_step", rate)
    values = (lr, momentum, taken, decay, nesterov, -1 if maximize else 1, rate, found_inf)
    update(call, _sgd_kernel, (grads, params, buffers), 1, *values)
    return tuple(params)


@cache
def _sgd_kernel(dtype: dtype) -> Kernel:
    wide = dtype.wide.numpy

    def reference(
        grads: Any, params: Any, buffers: Any, shift: int, lr: float, momentum: float, taken: float, decay: float,
        nesterov: float, sign: float, rate: Any, found: Any,
    ) -> None:  # fmt: skip
        if _is_set(found):
            return
        lr = lr if rate is None else rate.item()
        for index, (grad, param) in enumerate(zip(grads, params)):
            slope = _slope(grad, param, wide, decay, sign)
            if buffers:
                total = buffers[index].astype(wide) * momentum + slope * taken
                buffers[index][...] = total
                slope = slope + total * momentum if nesterov else total
            param[...] = param.astype(wide) - slope * lr

    names = ("lr", "momentum", "taken", "decay", "nesterov", "sign")
    body = f"sgd<{dtype.wide.cuda}>(lists, (int)shift, {', '.join(names)}, rate, found)"
    lists = {"grads": "r", "params": "rw", "buffers": "rw"}
    params = [SHIFT, *float64_scalars(*names), Pointer("rate", float32, "r", ()), FOUND]
    return lists_kernel("sgd_step", dtype, lists, body, params, reference, 8.0)


# Other optimizers, each defined by its arithmetic on one element in CUDA C++ and NumPy


class Rule:
    """The arithmetic of an optimizer on one element of a parameter and of its states.

    values: the numbers of every call.  states: the lists besides gradients and parameters; those in `optional` may be
    empty.
    cuda: C++ that changes `param` and the states, by these names.  `grad` is the gradient, negated to maximize, with
    weight decay added.  HAS_x is whether the list x is not empty.  `x_rest` is 1 - x, rounded once: computed in
    float32, 1 - 0.999 has a relative error of 1.3e-5.
    numpy: called with grad, param, one array or None per state, and the values; returns the new param and states.
    """

    def __init__(
        self, name: str, states: Sequence[str], values: Sequence[str], cuda: str, numpy: Callable[..., Any],
        optional: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.name = name
        self.states = tuple(states)
        self.values = ("decay", "sign", *values)
        self.cuda = cuda
        self.numpy = numpy
        self.optional = tuple(optional)
        self._kernels: dict[Any, Kernel] = {}

    def apply(self, call: Call, params: Operands, grads: Operands, states: Sequence[Operands], *values: Any) -> Any:
        """Lower a call to launches.  Returns the parameters.  values: maximize, then `self.values` without the sign."""
        lists = {"params": params, "grads": grads}
        for name, state in zip(self.states, states):
            if state or name not in self.optional:
                lists[name] = state
        check_lists(call.name, lists, ("params", *self.states))
        present = tuple(name for name in lists if name not in ("params", "grads"))
        every = [grads, params, *(lists[name] for name in present)]
        maximize, decay, *rest = values
        update(call, lambda dtype: self._kernel(dtype, present), every, 1, decay, -1 if maximize else 1, *rest)
        return tuple(params)

    def _kernel(self, dtype: dtype, present: tuple[str, ...]) -> Kernel:
        kernel = self._kernels.get((dtype, present))
        if kernel is None:
            kernel = self._kernels[dtype, present] = self._made(dtype, present)
        return kernel

    def _made(self, dtype: dtype, present: tuple[str, ...]) -> Kernel:
        wide, names = dtype.wide.cuda, ("grad", "param", *present)
        given = [f"{value}_given" for value in self.values]
        lines = [f"const {wide} {value} = ({wide}){value}_given;" for value in self.values]
        lines += [f"const {wide} {value}_rest = ({wide})(1 - {value}_given);" for value in self.values]
        lines += [f"constexpr bool HAS_{name} = {str(name in present).lower()};" for name in self.optional]
        unused = [f"{wide} {name} = 0;" for name in self.optional if name not in present]
        elements = [f"{wide}& {name} = at[{index}];" for index, name in enumerate(names)]
        body = (
            f"{' '.join(lines)} update<{len(names)}, 1, {wide}>(lists, (int)shift, [=]({wide} (&at)[{len(names)}]) "
            f"{{ {' '.join(elements + unused)} grad *= sign; if (decay != 0) grad += decay * param; {self.cuda} }})"
        )
        lists = {"grads": "r", "params": "rw"} | {name: "rw" for name in present}
        name = "_".join((self.name, *(name for name in present if name in self.optional)))
        return lists_kernel(
            name, dtype, lists, body, [SHIFT, *float64_scalars(*given)], self._reference(dtype, present), 15.0
        )

    def _reference(self, dtype: dtype, present: tuple[str, ...]) -> Callable[..., None]:
        wide = dtype.wide.numpy

        def reference(*given: Any) -> None:
            count = 2 + len(present)
            decay, sign, *values = given[count + 1 :]
            for grad, param, *states in zip(*given[:count]):
                by_name = dict(zip(present, states))
                slope = _slope(grad, param, wide, decay, sign)
                old = [by_name[name].astype(wide) if name in by_name else None for name in self.states]
                new = self.numpy(slope, param.astype(wide), *old, *values)
                param[...] = new[0]
                for name, value in zip(self.states, new[1:]):
                    if name in by_name:
                        by_name[name][...] = value

        return reference


def _rule_samples(*lows: float, values: Sequence[Any]) -> Callable[[], Iterator[Sample]]:
    """Return samples of the operator of a rule, with the given lowest values of its lists, for both directions."""

    def samples() -> Iterator[Sample]:
        yield Sample((*list_samples(*lows), False, 0.0, *values))
        yield Sample((*list_samples(*lows), True, 0.1, *values))

    return samples


def _rule_errors(states: int, values: Sequence[Any]) -> Callable[[], Iterator[ErrorSample]]:
    def errors() -> Iterator[ErrorSample]:
        one, other, half = [Array((2,))], [Array((3,))], [Array((2,), dtype="float16")]
        rest = (False, 0.0, *values)
        yield ErrorSample(
            (one, other, *[one] * states, *rest), ShapeError, r"grads\[0\] has shape \[3\], params\[0\] has"
        )
        yield ErrorSample((one, [], *[one] * states, *rest), ArgumentError, r"params has 1 tensors, grads has 0")
        yield ErrorSample((one, one, half, *[one] * (states - 1), *rest), DtypeError, r"is float16, expected float32")

    return errors


def _new_adadelta(grad: Any, param: Any, square: Any, delta: Any, lr: float, rho: float, eps: float) -> Any:
    square = square * rho + grad * grad * (1 - rho)
    change = np.sqrt(delta + eps) / np.sqrt(square + eps) * grad
    return param - change * lr, square, delta * rho + change * change * (1 - rho)


ADADELTA = Rule(
    "adadelta_step", ("square_avgs", "acc_deltas"), ("lr", "rho", "eps"),
    """square_avgs = square_avgs * rho + rho_rest * grad * grad;
    const auto change = sqrt(acc_deltas + eps) / sqrt(square_avgs + eps) * grad;
    acc_deltas = acc_deltas * rho + rho_rest * change * change;
    param -= lr * change;""",
    _new_adadelta,
)  # fmt: skip


@operator(
    samples=_rule_samples(-1, -2, 0.1, 0.2, values=(0.5, 0.9, 1e-6)), errors=_rule_errors(2, (0.5, 0.9, 1e-6)),
    mutates=("params", "square_avgs", "acc_deltas"), **HIDDEN,
)  # fmt: skip
def adadelta_step(
    call: Call, params: Operands, grads: Operands, square_avgs: Operands, acc_deltas: Operands, maximize: bool,
    decay: Number, lr: Number, rho: Number, eps: Number,
) -> Any:  # fmt: skip
    """Apply a step of Adadelta to parameters of one device.  Returns the parameters.

    decay: the share of the parameter that is added to the gradient.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    return ADADELTA.apply(call, params, grads, (square_avgs, acc_deltas), maximize, decay, lr, rho, eps)


def _new_adagrad(grad: Any, param: Any, total: Any, rate: float, eps: float) -> Any:
    total = total + grad * grad
    return param - grad / (np.sqrt(total) + eps) * rate, total


ADAGRAD = Rule(
    "adagrad_step", ("sums",), ("rate", "eps"),
    "sums += grad * grad; param -= rate * (grad / (sqrt(sums) + eps));",
    _new_adagrad,
)  # fmt: skip


@operator(
    samples=_rule_samples(-1, -2, 0.1, values=(0.5, 1e-10)), errors=_rule_errors(1, (0.5, 1e-10)),
    mutates=("params", "sums"), **HIDDEN,
)  # fmt: skip
def adagrad_step(
    call: Call, params: Operands, grads: Operands, sums: Operands, maximize: bool, decay: Number, rate: Number,
    eps: Number,
) -> Any:  # fmt: skip
    """Apply a step of Adagrad to parameters of one device.  Returns the parameters.

    rate: the learning rate after its decay;  decay: the share of the parameter that is added to the gradient.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    return ADAGRAD.apply(call, params, grads, (sums,), maximize, decay, rate, eps)


def _new_adamax(
    grad: Any, param: Any, mean: Any, largest: Any, rate: float, beta1: float, beta2: float, eps: float
) -> Any:
    mean = mean + (grad - mean) * (1 - beta1)
    largest = np.maximum(largest * beta2, np.abs(grad) + eps)
    return param - mean / largest * rate, mean, largest


ADAMAX = Rule(
    "adamax_step", ("exp_avgs", "exp_infs"), ("rate", "beta1", "beta2", "eps"),
    """exp_avgs += (grad - exp_avgs) * beta1_rest;
    exp_infs = larger(exp_infs * beta2, absolute(grad) + eps);
    param -= rate * (exp_avgs / exp_infs);""",
    _new_adamax,
)  # fmt: skip


@operator(
    samples=_rule_samples(-1, -2, -1, 0.1, values=(0.5, 0.9, 0.99, 1e-8)),
    errors=_rule_errors(2, (0.5, 0.9, 0.99, 1e-8)), mutates=("params", "exp_avgs", "exp_infs"), **HIDDEN,
)  # fmt: skip
def adamax_step(
    call: Call, params: Operands, grads: Operands, exp_avgs: Operands, exp_infs: Operands, maximize: bool,
    decay: Number, rate: Number, beta1: Number, beta2: Number, eps: Number,
) -> Any:  # fmt: skip
    """Apply a step of Adamax to parameters of one device.  Returns the parameters.

    rate: the learning rate over 1 - beta1**step;  decay: the share of the parameter that is added to the gradient.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    return ADAMAX.apply(call, params, grads, (exp_avgs, exp_infs), maximize, decay, rate, beta1, beta2, eps)


def _new_nadam(
    grad: Any, param: Any, mean: Any, square: Any, of_grad: float, of_mean: float, beta1: float, beta2: float,
    eps: float, shrink: float, root: float,
) -> Any:  # fmt: skip
    mean = mean + (grad - mean) * (1 - beta1)
    square = square * beta2 + grad * grad * (1 - beta2)
    divisor = np.sqrt(square) / root + eps
    return param * shrink - grad / divisor * of_grad - mean / divisor * of_mean, mean, square


NADAM = Rule(
    "nadam_step", ("exp_avgs", "exp_avg_sqs"), ("of_grad", "of_mean", "beta1", "beta2", "eps", "shrink", "root"),
    """exp_avgs += (grad - exp_avgs) * beta1_rest;
    exp_avg_sqs = exp_avg_sqs * beta2 + beta2_rest * grad * grad;
    const auto divisor = sqrt(exp_avg_sqs) / root + eps;
    param = param * shrink - of_grad * (grad / divisor) - of_mean * (exp_avgs / divisor);""",
    _new_nadam,
)  # fmt: skip
_NADAM_SAMPLE = (0.1, 0.2, 0.9, 0.99, 1e-8, 0.99, 0.5)


@operator(
    samples=_rule_samples(-1, -2, -1, 0.1, values=_NADAM_SAMPLE), errors=_rule_errors(2, _NADAM_SAMPLE),
    mutates=("params", "exp_avgs", "exp_avg_sqs"), **HIDDEN,
)  # fmt: skip
def nadam_step(
    call: Call, params: Operands, grads: Operands, exp_avgs: Operands, exp_avg_sqs: Operands, maximize: bool,
    decay: Number, of_grad: Number, of_mean: Number, beta1: Number, beta2: Number, eps: Number, shrink: Number,
    root: Number,
) -> Any:  # fmt: skip
    """Apply a step of NAdam to parameters of one device.  Returns the parameters.

    of_grad, of_mean: the factors of the gradient and of its running mean in this step.
    root: the square root of 1 - beta2**step;  shrink: a factor of the parameter before the step.
    decay: the share of the parameter that is added to the gradient.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    values = (of_grad, of_mean, beta1, beta2, eps, shrink, root)
    return NADAM.apply(call, params, grads, (exp_avgs, exp_avg_sqs), maximize, decay, *values)


def _new_radam(
    grad: Any, param: Any, mean: Any, square: Any, size: float, rectified: float, beta1: float, beta2: float,
    eps: float, shrink: float,
) -> Any:  # fmt: skip
    mean = mean + (grad - mean) * (1 - beta1)
    square = square * beta2 + grad * grad * (1 - beta2)
    factor = rectified / (np.sqrt(square) + eps) if rectified > 0 else 1
    return param * shrink - mean * size * factor, mean, square


RADAM = Rule(
    "radam_step", ("exp_avgs", "exp_avg_sqs"), ("size", "rectified", "beta1", "beta2", "eps", "shrink"),
    """exp_avgs += (grad - exp_avgs) * beta1_rest;
    exp_avg_sqs = exp_avg_sqs * beta2 + beta2_rest * grad * grad;
    param = param * shrink - exp_avgs * size * (rectified > 0 ? rectified / (sqrt(exp_avg_sqs) + eps) : 1);""",
    _new_radam,
)  # fmt: skip
_RADAM_SAMPLE = (0.1, 0.3, 0.9, 0.99, 1e-8, 0.99)


def _radam_samples() -> Iterator[Sample]:
    yield from _rule_samples(-1, -2, -1, 0.1, values=_RADAM_SAMPLE)()
    yield Sample((*list_samples(-1, -2, -1, 0.1), False, 0.0, 0.1, 0.0, *_RADAM_SAMPLE[2:]))


@operator(
    samples=_radam_samples, errors=_rule_errors(2, _RADAM_SAMPLE), mutates=("params", "exp_avgs", "exp_avg_sqs"),
    **HIDDEN,
)  # fmt: skip
def radam_step(
    call: Call, params: Operands, grads: Operands, exp_avgs: Operands, exp_avg_sqs: Operands, maximize: bool,
    decay: Number, size: Number, rectified: Number, beta1: Number, beta2: Number, eps: Number, shrink: Number,
) -> Any:  # fmt: skip
    """Apply a step of RAdam to parameters of one device.  Returns the parameters.

    size: the learning rate over 1 - beta1**step;  shrink: a factor of the parameter before the step.
    rectified: the rectification times the square root of 1 - beta2**step, or 0 for a step without it.
    decay: the share of the parameter that is added to the gradient.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    values = (size, rectified, beta1, beta2, eps, shrink)
    return RADAM.apply(call, params, grads, (exp_avgs, exp_avg_sqs), maximize, decay, *values)


def _new_rmsprop(
    grad: Any, param: Any, square: Any, buffer: Any, mean: Any, lr: float, alpha: float, eps: float, momentum: float
) -> Any:
    square = square * alpha + grad * grad * (1 - alpha)
    mean = None if mean is None else mean + (grad - mean) * (1 - alpha)
    change = grad / (np.sqrt(square if mean is None else square - mean * mean) + eps)
    buffer = None if buffer is None else buffer * momentum + change
    return param - (change if buffer is None else buffer) * lr, square, buffer, mean


RMSPROP = Rule(
    "rmsprop_step", ("square_avgs", "momentum_buffers", "grad_avgs"), ("lr", "alpha", "eps", "momentum"),
    """square_avgs = square_avgs * alpha + alpha_rest * grad * grad;
    auto variance = square_avgs;
    if constexpr (HAS_grad_avgs) {
        grad_avgs += (grad - grad_avgs) * alpha_rest;
        variance -= grad_avgs * grad_avgs;
    }
    auto change = grad / (sqrt(variance) + eps);
    if constexpr (HAS_momentum_buffers) change = momentum_buffers = momentum_buffers * momentum + change;
    param -= lr * change;""",
    _new_rmsprop, optional=("momentum_buffers", "grad_avgs"),
)  # fmt: skip
_RMSPROP_SAMPLE = (0.1, 0.9, 1e-8, 0.5)


def _rmsprop_samples() -> Iterator[Sample]:
    params, grads, squares, buffers, means = list_samples(-1, -2, 5, -1, -1)
    for one in (buffers, []):
        for other in (means, []):
            yield Sample((params, grads, squares, one, other, False, 0.1, *_RMSPROP_SAMPLE))


@operator(
    samples=_rmsprop_samples, errors=_rule_errors(3, _RMSPROP_SAMPLE),
    mutates=("params", "square_avgs", "momentum_buffers", "grad_avgs"), **HIDDEN,
)  # fmt: skip
def rmsprop_step(
    call: Call, params: Operands, grads: Operands, square_avgs: Operands, momentum_buffers: Operands,
    grad_avgs: Operands, maximize: bool, decay: Number, lr: Number, alpha: Number, eps: Number, momentum: Number,
) -> Any:  # fmt: skip
    """Apply a step of RMSprop to parameters of one device.  Returns the parameters.

    momentum_buffers: empty without momentum;  grad_avgs: empty unless centered.
    decay: the share of the parameter that is added to the gradient.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    states = (square_avgs, momentum_buffers, grad_avgs)
    return RMSPROP.apply(call, params, grads, states, maximize, decay, lr, alpha, eps, momentum)


def _new_rprop(
    grad: Any, param: Any, prev: Any, size: Any, shrinking: float, growing: float, least: float, most: float
) -> Any:
    product = grad * prev
    size = np.clip(size * np.where(product > 0, growing, np.where(product < 0, shrinking, 1)), least, most)
    grad = np.where(product < 0, 0, grad)
    return param - ((grad > 0).astype(param.dtype) - (grad < 0)) * size, grad, size


RPROP = Rule(
    "rprop_step", ("prevs", "step_sizes"), ("shrinking", "growing", "least", "most"),
    """const auto product = grad * prevs;
    step_sizes *= product > 0 ? growing : product < 0 ? shrinking : 1;
    step_sizes = smaller(larger(step_sizes, least), most);
    if (product < 0) grad = 0;
    param -= grad > 0 ? step_sizes : grad < 0 ? -step_sizes : 0;
    prevs = grad;""",
    _new_rprop,
)  # fmt: skip
_RPROP_SAMPLE = (0.5, 1.2, 1e-6, 50.0)


@operator(
    samples=_rule_samples(-1, -1, -1, 0.1, values=_RPROP_SAMPLE), errors=_rule_errors(2, _RPROP_SAMPLE),
    mutates=("params", "prevs", "step_sizes"), **HIDDEN,
)  # fmt: skip
def rprop_step(
    call: Call, params: Operands, grads: Operands, prevs: Operands, step_sizes: Operands, maximize: bool,
    decay: Number, shrinking: Number, growing: Number, least: Number, most: Number,
) -> Any:  # fmt: skip
    """Apply a step of Rprop to parameters of one device.  Returns the parameters.

    shrinking, growing: the factor of the step size of an element if its gradient has changed its sign, or not.
    least, most: the bounds of step sizes;  decay: the share of the parameter that is added to the gradient.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    values = (shrinking, growing, least, most)
    return RPROP.apply(call, params, grads, (prevs, step_sizes), maximize, decay, *values)


def _new_asgd(grad: Any, param: Any, average: Any, eta: float, shrink: float, mu: float) -> Any:
    param = param * shrink - grad * eta
    return param, param if mu == 1 else average + (param - average) * mu


ASGD = Rule(
    "asgd_step", ("axs",), ("eta", "shrink", "mu"),
    "param = param * shrink - eta * grad; axs = mu == 1 ? param : axs + (param - axs) * mu;",
    _new_asgd,
)  # fmt: skip


def _asgd_samples() -> Iterator[Sample]:
    for mu in (1.0, 0.25):
        yield Sample((*list_samples(-1, -2, -1), False, 0.1, 0.5, 0.99, mu))


@operator(
    samples=_asgd_samples, errors=_rule_errors(1, (0.5, 0.99, 1.0)), mutates=("params", "axs"), **HIDDEN
)  # fmt: skip
def asgd_step(
    call: Call, params: Operands, grads: Operands, axs: Operands, maximize: bool, decay: Number, eta: Number,
    shrink: Number, mu: Number,
) -> Any:  # fmt: skip
    """Apply a step of averaged gradient descent to parameters of one device.  Returns the parameters.

    eta: the step's learning rate;  shrink: a factor of the parameter before the step.
    axs: averages of the parameters;  mu: the share by which an average moves towards its parameter.
    decay: the share of the parameter that is added to the gradient.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    return ASGD.apply(call, params, grads, (axs,), maximize, decay, eta, shrink, mu)


# Counters of steps on the device, for optimizers whose arithmetic does not depend on them


def _count_samples() -> Iterator[Sample]:
    yield Sample(([Array((), count, count, dtype="float32") for count in range(3)],))


def _count_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(([Array((), dtype="int64")],), DtypeError, r"steps\[0\] must be one float32 number, got int64")


@operator(samples=_count_samples, errors=_count_errors, mutates=("steps",), **(HIDDEN | {"dtypes": (float32,)}))
def count_steps(call: Call, steps: Operands) -> Any:
    """Add 1 to float32 tensors with one element, of one device.  Returns the tensors.

    Host:   returns at once.
    Raises: DtypeError, ShapeError unless they are float32 tensors with one element.
    """
    _check_counters(call.name, steps, steps)
    for start in range(0, len(steps), MANY):
        call.launch(_count_kernel(), Grid((1, 1, 1), MANY), steps[start : start + MANY], None)
    return tuple(steps)


# Running averages of parameters


def _lerp_samples() -> Iterator[Sample]:
    yield Sample((*list_samples(-1, -2), 0.25))


def _lerp_errors() -> Iterator[ErrorSample]:
    one = [Array((2,))]
    yield ErrorSample((one, [Array((3,))], 0.5), ShapeError, r"params\[0\] has shape \[3\], averages\[0\] has")
    yield ErrorSample((one, [], 0.5), ArgumentError, r"averages has 1 tensors, params has 0")


@operator(samples=_lerp_samples, errors=_lerp_errors, mutates=("averages",), **HIDDEN)
def lerp_many(call: Call, averages: Operands, params: Operands, weight: Number) -> Any:
    """Move averages of one device towards other tensors by a share `weight` of the difference.  Returns the averages.

    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    check_lists(call.name, {"averages": averages, "params": params}, lerp_many.mutates)
    update(call, _lerp_kernel, (params, averages), 1, weight)
    return tuple(averages)


@cache
def _lerp_kernel(dtype: dtype) -> Kernel:
    wide = dtype.wide.numpy

    def reference(params: Any, averages: Any, shift: int, weight: float) -> None:
        for param, average in zip(params, averages):
            old = average.astype(wide)
            average[...] = old + (param.astype(wide) - old) * weight

    cuda = dtype.wide.cuda
    step = f"[=]({cuda} (&at)[2]) {{ at[1] += (at[0] - at[1]) * ({cuda})weight; }}"
    body = f"update<2, 1, {cuda}>(lists, (int)shift, {step})"
    lists = {"params": "r", "averages": "rw"}
    return lists_kernel("lerp_many", dtype, lists, body, [SHIFT, *float64_scalars("weight")], reference, 3.0)
