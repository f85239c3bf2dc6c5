"""torch.autograd.functional: Jacobians, Hessians and their products with vectors, of functions of tensors.

- Every function calls `func` on inputs that require gradients: views of the given ones with create_graph, so that
  results can be differentiated, else copies without a graph.
- A product of the Jacobian with a vector from the right is the derivative of a product from the left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor import TensorBase
from ..errors import ArgumentTypeError, AutogradError, NotSupportedError, ShapeError, shown
from ..importer import listing
from ..ops.join import stack
from . import gradients
from .mode import GradMode

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
__dir__ = listing(globals())


def _as_tuple(name: str, what: str, values: Any) -> tuple[tuple[Any, ...], bool]:
    """Return tensors as a tuple, and whether they were one.  Raises ArgumentTypeError for anything else."""
    is_tuple = isinstance(values, tuple)
    listed = values if is_tuple else (values,)
    for index, value in enumerate(listed):
        if not isinstance(value, TensorBase):
            raise ArgumentTypeError(
                f"{what} must be a Tensor or a tuple of Tensors, element {index} is {shown(value)}",
                hint="bind other arguments with a lambda",
                operator=name,
            )
    return tuple(listed), is_tuple


class _Evaluation:
    """One call of `func`: its inputs as they were passed, and its outputs.

    is_graph: whether results shall be differentiable.
    """

    def __init__(self, name: str, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool) -> None:
        self.name = name
        self.is_graph = create_graph
        self.strict = strict
        given, self.several_inputs = _as_tuple(name, "inputs", inputs)
        self.inputs = tuple(
            value.view_as(value) if create_graph and value.requires_grad else value.detach().requires_grad_()
            for value in given
        )
        self.outputs, self.several_outputs = _as_tuple(name, "the outputs of func", func(*self.inputs))
        for index, output in enumerate(self.outputs):
            if strict and not output.requires_grad:
                raise AutogradError(
                    f"output {index} of func does not require gradients: it is independent of the inputs",
                    hint="pass strict=False to take the derivative as 0",
                    operator=name,
                )

    def vectors(self, v: Any, like: Sequence[Any], what: str) -> tuple[Any, ...]:
        """Check a vector argument.  None stands for 1 where there is one element."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise AutogradError(
                    f"the vector v can only be None if {what} is one tensor with one element",
                    hint="pass a tensor of its shape",
                    operator=self.name,
                )
            return (like[0].detach() * 0 + 1,)
        vectors, _ = _as_tuple(self.name, "v", v)
        if len(vectors) != len(like):
            raise AutogradError(
                f"v has {len(vectors)} tensors, and {what} has {len(like)}",
                hint="pass one tensor for each",
                operator=self.name,
            )
        for index, (vector, value) in enumerate(zip(vectors, like)):
            if vector.shape != value.shape:
                raise ShapeError(
                    f"v[{index}] has shape {list(vector.shape)}, expected {list(value.shape)}, that of {what}",
                    hint="reshape it",
                    operator=self.name,
                )
        return tuple(
            vector.view_as(vector) if self.is_graph and vector.requires_grad else vector.detach() for vector in vectors
        )

    def scalar(self) -> Any:
        """Return the only output.  Raises AutogradError unless it is one tensor with one element."""
        if self.several_outputs or self.outputs[0].numel() != 1:
            shapes = [list(output.shape) for output in self.outputs]
            raise AutogradError(
                f"func must return one tensor with one element, got shapes {shapes}",
                hint="return its sum",
                operator=self.name,
            )
        return self.outputs[0]

    def gradients(
        self, outputs: Sequence[Any], inputs: Sequence[Any], vectors: Sequence[Any] | None, create_graph: bool
    ) -> tuple[Any, ...]:
        """Return the gradients of outputs; zeros for an unused input, or AutogradError if strict."""
        used = [at for at, output in enumerate(outputs) if output.requires_grad]
        grads: Sequence[Any] = [None] * len(inputs)
        if used:
            grads = gradients.grad(
                [outputs[at] for at in used],
                inputs,
                None if vectors is None else [vectors[at] for at in used],
                retain_graph=True,
                create_graph=create_graph,
                allow_unused=True,
            )
        for index, gradient in enumerate(grads):
            if self.strict and (gradient is None or create_graph and not gradient.requires_grad):
                fact = "the output of func" if gradient is None else "the derivative of func"
                raise AutogradError(
                    f"{fact} is independent of input {index}",
                    hint="pass strict=False to take the derivative as 0",
                    operator=self.name,
                )
        pairs = zip(grads, inputs)
        return tuple(value.new_zeros(value.shape) if gradient is None else gradient for gradient, value in pairs)

    def result(self, values: Any) -> Any:
        """Return tensors to the caller, without their graph unless create_graph is set."""
        if isinstance(values, tuple):
            return tuple(self.result(value) for value in values)
        return values if self.is_graph else values.detach()

    def of_outputs(self, values: tuple[Any, ...]) -> Any:
        return self.result(values if self.several_outputs else values[0])

    def of_inputs(self, values: tuple[Any, ...]) -> Any:
        return self.result(values if self.several_inputs else values[0])


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return (outputs of func, v @ J), where J is the Jacobian of func at `inputs`.

    v: shaped like the outputs; may be omitted if func has one output element.  create_graph: whether results can be
    differentiated.
    strict: raise an error, instead of returning zeros, if an output does not depend on an input.
    Raises: ArgumentTypeError unless inputs and results are tensors, ShapeError if v does not have the results' shapes,
            AutogradError without v, unless the result has one element, and with `strict` if a result does not depend on
            an input.
    Example:
        >>> outputs, product = torch.autograd.functional.vjp(torch.exp, torch.zeros(2), torch.tensor([1.0, 3.0]))
        >>> product
        tensor([1., 3.])
    """
    with GradMode(True):
        call = _Evaluation("vjp", func, inputs, create_graph, strict)
        vectors = call.vectors(v, call.outputs, "the output of func")
        products = call.gradients(call.outputs, call.inputs, vectors, create_graph)
    return call.of_outputs(call.outputs), call.of_inputs(products)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return (outputs of func, J @ v), where J is the Jacobian of func at `inputs`.

    v: shaped like the inputs; may be omitted if there is one input element.  Options: see `vjp`.
    Raises: ArgumentTypeError unless inputs and results are tensors, ShapeError if v does not have the inputs' shapes,
            AutogradError without v, unless the input has one element, and with `strict` if a result does not depend on
            an input.
    Example:
        >>> x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])
        >>> torch.autograd.functional.jvp(lambda x: x * x, x, v)
        (tensor([1., 4.]), tensor([2., 0.]))
    """
    with GradMode(True):
        call = _Evaluation("jvp", func, inputs, create_graph, strict)
        vectors = call.vectors(v, call.inputs, "the input")
        weights = tuple(_zeros(output) for output in call.outputs)
        products = call.gradients(call.outputs, call.inputs, weights, True)
        turned = call.gradients(products, weights, vectors, create_graph)
    return call.of_outputs(call.outputs), call.of_outputs(turned)


def _zeros(value: Any) -> Any:
    return value.new_zeros(value.shape).requires_grad_()


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of func: per output and input, a tensor of the output's shape followed by the input's.

    Tuples of outputs or inputs give tuples.  create_graph, strict: see `vjp`.  vectorize, strategy: without effect.
    Raises: ArgumentTypeError unless inputs and results are tensors, AutogradError with `strict` if a result does not
            depend on an input, NotSupportedError for vectorize=True with strict=True.
    Example:
        >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    _check_options("jacobian", strict, vectorize, strategy)
    with GradMode(True):
        call = _Evaluation("jacobian", func, inputs, create_graph, strict)
        blocks = tuple(_rows(call, output, create_graph) for output in call.outputs)
    rows = tuple(call.of_inputs(block) for block in blocks)
    return rows if call.several_outputs else rows[0]


def _check_options(name: str, strict: bool, vectorize: bool, strategy: str) -> None:
    if strategy not in ("reverse-mode", "forward-mode"):
        raise NotSupportedError(
            f"the strategy must be 'reverse-mode' or 'forward-mode', got {shown(strategy)}",
            hint="leave it out",
            operator=name,
        )
    if strict and vectorize:
        raise NotSupportedError(
            "strict=True and vectorize=True are not supported together", hint="leave one of them out", operator=name
        )


def _rows(call: _Evaluation, output: Any, create_graph: bool) -> tuple[Any, ...]:
    """Return the Jacobian of one output with respect to each input."""
    flat = output.reshape((-1,))
    rows = [call.gradients([flat[at]], call.inputs, None, create_graph) for at in range(output.numel())]
    shapes = [(*output.shape, *value.shape) for value in call.inputs]
    if not rows:
        return tuple(value.new_zeros(shape) for value, shape in zip(call.inputs, shapes))
    return tuple(stack([row[at] for row in rows], 0).reshape(shape) for at, shape in enumerate(shapes))


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the Hessian of func, whose result has one element.

    Each pair of inputs gives a tensor of the first input's shape followed by the second's.  Options: see `jacobian`.
    Raises: ArgumentTypeError unless inputs and results are tensors, AutogradError unless func returns one element, and
            with `strict` if that does not depend on an input, NotSupportedError for vectorize=True with strict=True.
    Example:
        >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    _check_options("hessian", strict, vectorize, outer_jacobian_strategy)
    given, several = _as_tuple("hessian", "inputs", inputs)

    def slope(*values: Any) -> tuple[Any, ...]:
        call = _Evaluation("hessian", func, values, True, strict)
        return call.gradients([call.scalar()], call.inputs, None, True)

    blocks = jacobian(slope, given, create_graph, strict)
    return blocks if several else blocks[0][0]


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return (output of func, v @ H), where H is the Hessian of func at `inputs`.

    v: shaped like the inputs.  Options: see `vjp`.
    Raises: ArgumentTypeError unless inputs and results are tensors, ShapeError if v does not have the inputs' shapes,
            AutogradError unless func returns one element, and with `strict` if its result does not depend on an input.
    Example:
        >>> x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0])
        >>> torch.autograd.functional.vhp(lambda x: (x * x).sum(), x, v)
        (tensor(5.), tensor([ 2., 20.]))
    """
    with GradMode(True):
        call = _Evaluation("vhp", func, inputs, create_graph, strict)
        vectors = call.vectors(v, call.inputs, "the input")
        slopes = call.gradients([call.scalar()], call.inputs, None, True)
        products = call.gradients(slopes, call.inputs, vectors, create_graph)
    return call.of_outputs(call.outputs), call.of_inputs(products)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return (output of func, H @ v), where H is the Hessian of func at `inputs`; `vhp` needs one pass less.

    v: shaped like the inputs.  Options: see `vjp`.
    Raises: ArgumentTypeError unless inputs and results are tensors, ShapeError if v does not have the inputs' shapes,
            AutogradError unless func returns one element, and with `strict` if its result does not depend on an input.
    Example:
        >>> x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0])
        >>> torch.autograd.functional.hvp(lambda x: (x * x).sum(), x, v)
        (tensor(5.), tensor([ 2., 20.]))
    """
    with GradMode(True):
        call = _Evaluation("hvp", func, inputs, create_graph, strict)
        vectors = call.vectors(v, call.inputs, "the input")
        slopes = call.gradients([call.scalar()], call.inputs, None, True)
        weights = tuple(_zeros(value) for value in call.inputs)
        turned = call.gradients(slopes, call.inputs, weights, True)
        products = call.gradients(turned, weights, vectors, create_graph)
    return call.of_outputs(call.outputs), call.of_inputs(products)
