"""gradcheck: compares derivatives with finite differences.

- For each output, the derivative of its sum with random weights is checked: an error in any element changes it.
- Inputs are changed in place and restored, so that functions that close over them see the change.
- Central differences have an error of order step².  In float64, a step of 1e-6 leaves about 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from .. import callers
from .. import strides as st
from ..core.tensor import TensorBase
from ..dtypes import float64
from ..errors import ArgumentError, GradcheckError, NotSupportedError, ShapeError, shown
from ..host import np
from ..importer import listing
from ..transfer import read
from . import gradients
from .function import Function
from .mode import GradMode

SEED = 12345  # seed of the outputs' weights


class _Options(NamedTuple):
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    fast_mode: bool


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Return whether the gradients of `func` at `inputs` agree with central differences of step `eps`.

    atol, rtol: the absolute and the relative difference that is allowed.
    inputs: arguments of `func`.  Those that require gradients are checked; a warning names those that are not float64.
    raise_exception: whether a disagreement raises an error; otherwise it returns False.
    nondet_tol: the largest difference allowed between the gradients of two backward passes.
    check_undefined_grad: whether backward must accept None for gradients of outputs.
    check_grad_dtypes: whether gradients must have the type of their input.
    fast_mode: compare along one random direction per input, which takes two calls of `func` per input.
    masked: has no effect.  Options for batched and forward gradients must be False.
    Host:   waits.
    Raises: GradcheckError that names the output, the input and the difference; ArgumentError if nothing is checked.
    Example:
        >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(torch.exp, x)
        True
        >>> torch.autograd.gradcheck(lambda x: x * x.detach(), x, raise_exception=False)
        False
    """
    _check_options("gradcheck", check_backward_ad, check_batched_grad, check_batched_forward_grad, check_forward_ad)
    args = (inputs,) if isinstance(inputs, TensorBase) else tuple(inputs)
    checked = _checked_inputs(args)
    options = _Options(eps, atol, rtol, nondet_tol, fast_mode)
    try:
        _check_gradients(func, args, checked, options, check_grad_dtypes)
        if check_undefined_grad:
            _check_undefined(func, args, checked)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check second derivatives: `gradcheck` for the gradients of `func`, as functions of inputs and grad_outputs.

    grad_outputs: gradients of the outputs; random ones if None, with gaps in memory if gen_non_contig_grad_outputs.
    Raises: ArgumentError if no input requires a gradient, GradcheckError if a derivative differs and raise_exception is
            set.
    Example:
        >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradgradcheck(lambda x: x**3, x, grad_outputs=torch.ones_like(x).requires_grad_())
        True
    """
    _check_options("gradgradcheck", check_rev_over_rev, check_batched_grad, check_fwd_over_rev)
    args = (inputs,) if isinstance(inputs, TensorBase) else tuple(inputs)
    with GradMode(True):
        outputs = _differentiable(func(*args))
    if grad_outputs is None:
        grads = _random_grads(outputs, gen_non_contig_grad_outputs)
    else:
        grads = [grad_outputs] if isinstance(grad_outputs, TensorBase) else list(grad_outputs)

    def slopes(*values: Any) -> tuple[Any, ...]:
        arguments, grad_arguments = values[: len(args)], values[len(args) :]
        wanted = [arg for arg in arguments if isinstance(arg, TensorBase) and arg.requires_grad]
        computed = gradients.grad(
            _differentiable(func(*arguments)), wanted, list(grad_arguments), create_graph=True, allow_unused=True
        )
        return tuple(gradient for gradient in computed if gradient is not None)

    return gradcheck(
        slopes, (*args, *grads), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        fast_mode=fast_mode,
    )  # fmt: skip


def _check_options(name: str, checks_backward: bool, *unsupported: bool) -> None:
    if any(unsupported):
        raise NotSupportedError(
            "batched gradients and forward-mode derivatives are not supported",
            hint="leave their options out",
            operator=name,
        )
    if not checks_backward:
        raise ArgumentError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True",
            hint="leave check_backward_ad out",
            operator=name,
        )


def _checked_inputs(args: Sequence[Any]) -> list[Any]:
    """Return the inputs that require gradients.  Raises ArgumentError without any, ShapeError for overlapping ones."""
    checked = []
    for index, arg in enumerate(args):
        if not isinstance(arg, TensorBase) or not arg.requires_grad:
            continue
        if arg.dtype is not float64:
            callers.warn(
                f"Input #{index} requires gradient and is not a double precision floating point: {arg.describe()}. "
                f"This check will likely fail if all the inputs are not of double precision floating point."
            )
        if st.overlaps_itself(arg.shape, arg.strides):
            raise ShapeError(
                f"input {index}, {arg.describe()} with strides {list(arg.strides)}, has elements that share memory",
                hint="pass a clone() of it",
                operator="gradcheck",
            )
        checked.append(arg)
    if not checked:
        listed = ", ".join(shown(arg) for arg in args)
        raise ArgumentError(
            f"expects at least one input tensor to require gradient, but none of them have: {listed}",
            hint="call requires_grad_() on an input",
            operator="gradcheck",
        )
    return checked


def _outputs(result: Any) -> list[Any]:
    """Return the differentiable tensors among a function's results, or, without any, the floating point ones."""
    results = result if isinstance(result, (tuple, list)) else [result]
    floating = [value for value in results if isinstance(value, TensorBase) and value.dtype.is_floating_point]
    return _differentiable(floating) or floating


def _differentiable(result: Any) -> list[Any]:
    results = result if isinstance(result, (tuple, list)) else [result]
    return [value for value in results if isinstance(value, TensorBase) and value.requires_grad]


def _check_gradients(
    func: Callable[..., Any], args: tuple[Any, ...], checked: Sequence[Any], options: _Options, check_dtypes: bool
) -> None:
    with GradMode(True):
        outputs = _outputs(func(*args))
    generator = np.random.default_rng(SEED)
    weights = [generator.uniform(0.5, 1.5, output.shape) for output in outputs]
    gradients = [_analytic(output, weight, checked, options) for output, weight in zip(outputs, weights)]
    for index, tensor in enumerate(checked):
        direction = np.random.default_rng(index).standard_normal(tensor.shape) if options.fast_mode else None
        expected = _numeric(func, args, tensor, weights, options.eps, direction)
        for number, (of_output, want) in enumerate(zip(gradients, expected)):
            grad = of_output[index]
            if check_dtypes and grad is not None and grad.dtype is not tensor.dtype:
                raise GradcheckError(
                    f"the gradient of input {index} is {grad.describe()}, the input {tensor.describe()}",
                    operator="gradcheck",
                )
            have = np.zeros(tensor.shape) if grad is None else _array(grad)
            have = have if direction is None else np.sum(have * direction)
            _compare(have, want, f"output {number} with respect to input {index} ({tensor.describe()})", options)


def _analytic(output: Any, weight: Any, checked: Sequence[Any], options: _Options) -> Sequence[Any]:
    """Return the gradients of an output's weighted sum; None for inputs that it does not depend on."""
    if not output.requires_grad:
        return [None] * len(checked)
    grad_output = output.new_tensor(weight)
    first, second = (
        gradients.grad([output], checked, [grad_output], retain_graph=True, allow_unused=True) for _ in range(2)
    )
    for index, (one, other) in enumerate(zip(first, second)):
        if (
            one is not None
            and other is not None
            and np.max(np.abs(_array(one) - _array(other)), initial=0) > (options.nondet_tol)
        ):
            raise GradcheckError(
                f"Backward is not reentrant: two passes gave different gradients of input {index}: "
                f"\n{_array(one)}\nand\n{_array(other)}",
                hint="pass nondet_tol, if that is expected",
                operator="gradcheck",
            )
    return list(first)


def _numeric(
    func: Callable[..., Any], args: tuple[Any, ...], tensor: Any, weights: Sequence[Any], eps: float, direction: Any
) -> list[Any]:
    """Return the derivatives of the outputs' weighted sums by an input, along `direction` unless it is None."""
    if direction is not None:
        return _slopes(func, args, tensor, weights, eps * direction, eps)
    results = [np.zeros(tensor.shape) for _ in weights]
    for index in np.ndindex(*tensor.shape):
        step = np.zeros(tensor.shape)
        step[index] = eps
        for result, slope in zip(results, _slopes(func, args, tensor, weights, step, eps)):
            result[index] = slope
    return results


def _slopes(
    func: Callable[..., Any], args: tuple[Any, ...], tensor: Any, weights: Sequence[Any], step: Any, eps: float
) -> list[float]:
    """Return the differences of the weighted sums for an input moved by step and by -step, divided by 2 * eps."""
    ends = []
    for moved in (step, -step):
        with _moved(tensor, moved), GradMode(True):
            ends.append([_array(output) for output in _outputs(func(*args))])
    return [float(np.sum(weight * (after - before))) / (2 * eps) for weight, after, before in zip(weights, *ends)]


@contextmanager
def _moved(tensor: Any, step: Any) -> Iterator[None]:
    """Return a context in which an input is moved by `step`."""
    with GradMode(False):
        memory, former = tensor.detach(), tensor.detach().clone()
        memory.copy_(memory.new_tensor(_array(former) + step))
    try:
        yield
    finally:
        with GradMode(False):
            memory.copy_(former)


def _array(tensor: Any) -> Any:
    """Return a tensor's values as float64."""
    return np.array(read(tensor.detach()), np.float64)


def _compare(have: Any, want: Any, what: str, options: _Options) -> None:
    if np.allclose(have, want, rtol=options.rtol, atol=options.atol):
        return
    worst = float(np.max(np.abs(have - want)))
    raise GradcheckError(
        f"Jacobian mismatch for {what}: the derivative differs from central differences by up to "
        f"{worst:.3g}\nderivative:\n{have}\ndifferences:\n{want}",
        operator="gradcheck",
    )


class _Undefined(Function):
    """An identity whose gradient is None."""

    @staticmethod
    def forward(ctx: Any, value: Any) -> Any:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None


def _check_undefined(func: Callable[..., Any], args: tuple[Any, ...], checked: Sequence[Any]) -> None:
    """Raise GradcheckError unless backward accepts None for the outputs' gradients, all together and one by one."""
    with GradMode(True):
        count = len(_differentiable(func(*args)))
    every = set(range(count))
    for undefined in [every, *({index} for index in every if count > 1)]:
        with GradMode(True):
            outputs = _differentiable(func(*args))
            ends = [_Undefined.apply(output) if index in undefined else output for index, output in enumerate(outputs)]
        if not ends:
            return
        try:
            zeros = [end.new_zeros(end.shape) for end in ends]
            grads = gradients.grad(ends, checked, zeros, allow_unused=True)
        except Exception as error:
            raise GradcheckError(
                "Expected backward function to handle undefined output grads: those of outputs "
                f"{sorted(undefined)} were undefined, and it raised {type(error).__name__}: {error}",
                operator="gradcheck",
            ) from error
        for index, grad in enumerate(grads):
            if grad is not None and _array(grad).any():
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined "
                    f"or zero, and that of input {index} is\n{_array(grad)}",
                    operator="gradcheck",
                )


def _random_grads(outputs: Sequence[Any], with_gaps: bool) -> list[Any]:
    """Return random gradients of outputs, which require gradients themselves."""
    generator = np.random.default_rng(SEED)
    grads = []
    for output in outputs:
        values = output.new_tensor(generator.uniform(-1, 1, (*output.shape, 2) if with_gaps else output.shape))
        grads.append((values.select(-1, 0) if with_gaps else values).detach().requires_grad_())
    return grads


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
__dir__ = listing(globals())
