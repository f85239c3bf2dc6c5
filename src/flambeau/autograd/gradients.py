"""backward and grad, the two entry points of the engine, and the pass that is running."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import callers
from ..core import record, thread
from ..core.engine import GraphTask
from ..core.operator import REGISTRY
from ..core.record import NO_STREAMS, Node
from ..core.tensor import TensorBase, empty_tensor, in_graph, new_tensor
from ..errors import ArgumentError, ArgumentTypeError, AutogradError, DeviceMismatchError, ShapeError, shown
from ..ops.join import stack
from .graph_node import GradientEdge, keep_gradient


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` to the `grad` of their leaves, or, with `inputs`, to the `grad` of these alone.

    tensors: results, or their gradient edges (see `autograd.graph.get_gradient_edge`).
    grad_tensors: the gradients of `tensors`, which backward starts from.  grad_variables: its former name.
    retain_graph: keep the graph for another backward pass; None means the value of create_graph.
    create_graph: record the computation of the gradients, so that they can be differentiated.
    Shapes: each gradient has the shape of its tensor; it may be left out for a tensor of one element.
    Host:   returns at once.
    Order:  the backward of each operator runs on the stream of its forward call.  At the end the current streams
            wait for the streams on which the gradients of leaves were added.
    Raises: AutogradError if a tensor requires no gradient, or a gradient is missing for one of several elements,
            ShapeError if a gradient has another shape, ArgumentTypeError for anything but tensors.
    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> torch.autograd.backward((x * x).sum())
        >>> x.grad
        tensor([2., 4.])
        >>> torch.autograd.backward(x * 3, torch.tensor([1.0, 10.0]), inputs=x)
        >>> x.grad
        tensor([ 5., 34.])
    """
    if grad_variables is not None:
        grad_tensors = _renamed(grad_tensors, grad_variables)
    outputs = as_list("backward", "tensors", tensors)
    grads = [None] * len(outputs) if grad_tensors is None else as_list("backward", "grad_tensors", grad_tensors)
    if inputs is None:
        _run("backward", outputs, grads, None, retain_graph, create_graph, True)
        return
    leaves = as_list("backward", "inputs", _values(inputs))
    _run("backward", outputs, grads, leaves, retain_graph, create_graph, True)


def _renamed(grad_tensors: Any, grad_variables: Any) -> Any:
    """Return the gradients passed under their former name, with a warning.  Raises AutogradError if both are passed."""
    callers.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
    if grad_tensors is not None:
        raise AutogradError(
            "`grad_tensors` and `grad_variables` (deprecated) arguments were both passed",
            hint="pass grad_tensors alone",
            operator="backward",
        )
    return grad_variables


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Return the gradients of the sum of `outputs` with respect to `inputs`; no leaf's `grad` is changed.

    outputs, inputs: tensors or gradient edges.  A dictionary of inputs gives a dictionary of gradients.
    grad_outputs: the gradients of `outputs`; None is 1 for an output of one element.
    retain_graph, create_graph: see `backward`.  only_inputs: has no effect.
    is_grads_batched: whether grad_outputs have an extra first dimension; a backward pass runs for each of its elements,
    and the gradients are stacked.
    allow_unused: whether the gradient of an unused input is None instead of an error.
    materialize_grads: whether the gradient of an unused input is zeros instead of None.
    Host:   returns at once.
    Raises: AutogradError if an input was not used and allow_unused is False.
    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> torch.autograd.grad((x * x).sum(), x)
        (tensor([2., 4.]),)
        >>> y = torch.tensor([5.0], requires_grad=True)
        >>> torch.autograd.grad(x.sum(), (x, y), allow_unused=True)
        (tensor([1., 1.]), None)
    """
    results, wanted = as_list("grad", "outputs", outputs), as_list("grad", "inputs", _values(inputs))
    grads = [None] * len(results) if grad_outputs is None else as_list("grad", "grad_outputs", grad_outputs)
    if allow_unused is not None or materialize_grads is not False:
        _check_unused(allow_unused, materialize_grads)
    if is_grads_batched:
        input_grads = _batched(results, wanted, grads, retain_graph, create_graph, allow_unused, materialize_grads)
        return dict(zip(inputs, input_grads)) if isinstance(inputs, dict) else input_grads
    gradients = _run("grad", results, grads, wanted, retain_graph, create_graph, False)
    for index, gradient in enumerate(gradients):
        if gradient is None and materialize_grads:
            gradients[index] = _zeros_like("grad", wanted[index])
        elif gradient is None and not allow_unused:
            raise AutogradError(
                f"One of the differentiated Tensors (number {index}, {_described(wanted[index])}) appears to not "
                f"have been used in the graph",
                hint="pass allow_unused=True to get None for it",
                operator="grad",
            )
    return dict(zip(inputs, gradients)) if isinstance(inputs, dict) else tuple(gradients)


def _batched(
    outputs: list[Any], inputs: list[Any], weights: list[Any], retain: bool | None, create_graph: bool, *options: Any
) -> tuple[Any, ...]:
    """Run one backward pass per element of the weights' first dimension, and stack the gradients."""
    counts = [weight.shape[0] for weight in weights if isinstance(weight, TensorBase) and weight.shape]
    if len(counts) != len(weights) or len(set(counts)) != 1 or not counts[0]:
        raise AutogradError(
            f"with is_grads_batched=True, all grad_outputs must have the same first size of at least 1, got "
            f"{', '.join([shown(weight) for weight in weights])}",
            hint="stack the gradients of each output",
            operator="grad",
        )
    rows = []
    for index in range(counts[0]):
        keeps = (create_graph if retain is None else retain) or index < counts[0] - 1
        row = [weight.select(0, index) for weight in weights]
        rows.append(grad(outputs, inputs, row, keeps, create_graph, True, options[0], False, options[1]))
    return tuple(None if column[0] is None else stack(column, 0) for column in zip(*rows))


def _check_unused(allow_unused: Any, materialize_grads: Any) -> None:
    """Raise ArgumentTypeError or ArgumentError for options that are not bools or contradict each other."""
    _check_flag("grad", "materialize_grads", materialize_grads)
    if allow_unused is not None:
        _check_flag("grad", "allow_unused", allow_unused)
        if materialize_grads and not allow_unused:
            raise ArgumentError(
                "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                f"allow_unused={allow_unused}",
                hint="leave allow_unused out",
                operator="grad",
            )


def _values(inputs: Any) -> Any:
    return list(inputs.values()) if isinstance(inputs, dict) else inputs


def _described(value: Any) -> str:
    return value.describe() if isinstance(value, TensorBase) else f"an edge of {value.node!r}"


def _zeros_like(name: str, value: Any) -> Any:
    if isinstance(value, TensorBase):
        return empty_tensor(value.shape, value.dtype, value.device_index).zero_()
    raise AutogradError(
        f"materialize_grads=True cannot make zeros for an unused GradientEdge of {value.node!r}: its shape is unknown",
        hint="pass the tensor instead of its GradientEdge",
        operator=name,
    )


def as_list(name: str, what: str, values: Any) -> list[Any]:
    """Return one tensor or edge, or a sequence of them, as a list.  Raises ArgumentTypeError for anything else."""
    if isinstance(values, (TensorBase, GradientEdge)) or values is None:
        return [values]
    if not isinstance(values, (list, tuple, Iterable)):  # Iterable comes last: its check is slow
        fact = f"{what} must be a tensor or a list of them, got {shown(values)}"
        raise ArgumentTypeError(fact, operator=name, hint="pass computed tensors, or leaves that they depend on")
    return list(values)


def _check_flag(name: str, what: str, value: Any) -> None:
    if not isinstance(value, int):
        raise ArgumentTypeError(f"{what} must be a bool, got {shown(value)}", hint="pass True or False", operator=name)


def _run(
    name: str,
    outputs: list[Any],
    grads: list[Any],
    inputs: Sequence[Any] | None,
    retain: bool | None,
    create_graph: bool,
    accumulates: bool,
) -> list[Any]:
    _check_flag(name, "create_graph", create_graph)
    if retain is not None:
        _check_flag(name, "retain_graph", retain)
    started = _initial_grads(name, outputs, grads)
    if inputs is not None:
        _check_inputs(name, inputs)
    targets = None if inputs is None else [_edge(name, input, True) for input in inputs]
    roots = [_edge(name, output, False) for output in outputs]
    if inputs is not None and accumulates:
        for input in inputs:
            if isinstance(input, TensorBase):
                keep_gradient(input)
    task = GraphTask(targets, create_graph if retain is None else retain, create_graph, accumulates)
    task.code, task.origin = _run.__code__, callers.origin()
    gradients = task.run(roots, started)
    if task.notes is not None:
        for callback in tuple(task.notes.get(queue_callback, {}).values()):
            callback()
    return gradients


def _check_inputs(name: str, inputs: Sequence[Any]) -> None:
    """Raise AutogradError unless `inputs` are tensors or gradient edges, at least one."""
    if not inputs:
        hint = "pass at least one tensor" if name == "grad" else "leave inputs out for all leaves"
        raise AutogradError(f"inputs cannot be empty, got {inputs}", hint=hint, operator=name)
    for index, value in enumerate(inputs):
        if not isinstance(value, (TensorBase, GradientEdge)):
            raise AutogradError(
                f"all inputs have to be Tensors or GradientEdges, inputs[{index}] is {shown(value)}",
                hint="pass the leaves to compute gradients for",
                operator=name,
            )


def _edge(name: str, tensor: Any, is_input: bool) -> Any:
    """Return the edge of a tensor.  An input that requires gradients and is in no graph gets an unreachable edge."""
    if isinstance(tensor, GradientEdge):
        return tensor.node._node, tensor.output_nr
    edge = record.edge_of(tensor)
    if edge is None and is_input and tensor.requires_grad:
        return Node("Unreachable", (), NO_STREAMS), 0
    if edge is None:
        raise AutogradError(
            f"one of the tensors, {tensor.describe()}, does not require grad",
            hint="call requires_grad_() on it first",
            operator=name,
        )
    return edge


def _initial_grads(name: str, outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    """Return the gradients that a pass starts with; ones for scalars.

    Raises: AutogradError; for a passed gradient, ArgumentTypeError, ShapeError or DeviceMismatchError.
    """
    if len(grads) != len(outputs):
        raise AutogradError(
            f"got {len(outputs)} tensors and {len(grads)} gradients",
            hint="pass one gradient, or None, for each tensor",
            operator=name,
        )
    result = []
    for index, output in enumerate(outputs):
        grad = grads[index]
        if isinstance(output, GradientEdge):
            result.append(_grad_of_edge(name, grad, output))
            continue
        if not isinstance(output, TensorBase):
            raise ArgumentTypeError(
                f"element {index} of tensors must be a Tensor, got {shown(output)}",
                hint="pass a computed tensor, such as a loss",
                operator=name,
            )
        if not in_graph(output):
            raise AutogradError(
                f"element {index} of tensors does not require grad and does not have a grad_fn: {output.describe()}",
                hint="set requires_grad=True on an input, and do not compute it under no_grad()",
                operator=name,
            )
        if grad is None and output.numel() != 1:
            raise AutogradError(
                f"grad can be implicitly created only for scalar outputs, not for {output.describe()}",
                hint="reduce the output, for example output.sum().backward(), or pass a gradient of its shape",
                operator=name,
            )
        if grad is not None:
            _check_given(name, grad, output)
        result.append(_one_like(output) if grad is None else grad)
    return result


def _grad_of_edge(name: str, grad: Any, edge: Any) -> Any:
    """Return the gradient that a pass starts with at a gradient edge.  Raises: AutogradError."""
    if grad is None:
        made_of = edge.made_of
        if made_of is None or made_of[0].numel != 1:
            raise AutogradError(
                f"grad can be implicitly created only for scalar outputs, not for an edge of {edge.node!r}",
                hint="pass a gradient of the shape of the edge's tensor",
                operator=name,
            )
        layout, device = made_of
        ones: Any = empty_tensor(layout.shape, layout.dtype, device)
        return ones.fill_(1)
    if not isinstance(grad, TensorBase):
        raise ArgumentTypeError(
            f"a gradient is a tensor or None, not {shown(grad)}", hint="as in torch.ones_like(output)", operator=name
        )
    return grad


def _check_given(name: str, grad: Any, output: Any) -> None:
    if not isinstance(grad, TensorBase):
        raise ArgumentTypeError(
            f"a gradient is a tensor or None, not {shown(grad)}", hint="as in torch.ones_like(output)", operator=name
        )
    if grad.shape != output.shape:
        raise ShapeError(
            f"the gradient has shape {list(grad.shape)}, the output {list(output.shape)}",
            hint="make it with torch.ones_like(output)",
            operator=name,
        )
    if grad._layout.device.index != output._layout.device.index:
        raise DeviceMismatchError(
            f"the gradient is {grad.describe()}, the output {output.describe()}",
            hint="move the gradient to the device of the output",
            operator=name,
        )


def _one_like(output: Any) -> Any:
    fill, like = REGISTRY["fill"], new_tensor(output._storage, output._layout, output._offset)
    return fill(like, 1)  # fill does not read its operand


def current_task() -> Any:
    """Return the innermost backward pass that runs in this thread, or None."""
    return thread.here().task


def notes(owner: Any) -> Any:
    """Return the dictionary that the running backward pass keeps for an owner; None outside a pass."""
    task = current_task()
    if task is None:
        return None
    if task.notes is None:
        task.notes = {}
    return task.notes.setdefault(owner, {})


def queue_callback(callback: Callable[[], None]) -> None:
    """Call a function when the innermost backward pass of this thread ends without an error.

    Order:  the caller's streams are current again, and wait for the gradients.
    Raises: AutogradError outside a backward pass.
    """
    callbacks = notes(queue_callback)
    if callbacks is None:
        raise AutogradError("no backward pass is running", hint="call it in a hook", operator="queue_callback")
    callbacks[len(callbacks)] = callback
