"""backward and grad: the two ways into the engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..core.tensor import TensorBase
from ..errors import ArgumentTypeError, AutogradError, shown
from . import record
from .engine import GraphTask, initial_grads


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` to the `grad` of their leaves (only of `inputs`, if given).

    Host:   returns at once.
    Order:  each node on the stream of its forward; the current streams then wait for the leaves'.
    Raises: AutogradError, ShapeError.
    """
    outputs = as_list("backward", "tensors", tensors)
    grads = [None] * len(outputs) if grad_tensors is None else as_list("backward", "grad_tensors", grad_tensors)
    if inputs is None:
        _run("backward", outputs, grads, None, retain_graph, create_graph)
        return
    leaves = as_list("backward", "inputs", inputs)
    found = _run("backward", outputs, grads, leaves, retain_graph, create_graph)
    for leaf, grad in zip(leaves, found):
        if grad is not None:
            leaf.grad = grad if leaf.grad is None else leaf.grad + grad


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Any, ...]:
    """The gradients of the sum of `outputs` with respect to `inputs`; no leaf's `grad` is touched.

    Host:   returns at once.
    Raises: AutogradError if an input was not used and allow_unused is False.
    """
    results, wanted = as_list("grad", "outputs", outputs), as_list("grad", "inputs", inputs)
    grads = [None] * len(results) if grad_outputs is None else as_list("grad", "grad_outputs", grad_outputs)
    _check_flag("grad", "allow_unused", allow_unused)
    found = _run("grad", results, grads, wanted, retain_graph, create_graph)
    for index, each in enumerate(found):
        if each is None and not allow_unused:
            raise AutogradError(
                f"One of the differentiated Tensors (number {index}, {wanted[index].describe()}) appears to not "
                f"have been used in the graph",
                hint="pass allow_unused=True to get None for it",
                operator="grad",
            )
    return tuple(found)


def as_list(name: str, what: str, values: Any) -> list[Any]:
    """One tensor, or a sequence of them, as a list.  Raises ArgumentTypeError for what is neither."""
    if isinstance(values, TensorBase) or values is None:
        return [values]
    if not isinstance(values, (list, tuple, Iterable)):  # to ask the last one takes long
        fact = f"{what} must be a tensor or a list of them, got {shown(values)}"
        raise ArgumentTypeError(fact, operator=name, hint="give what was computed, or the leaves it was computed from")
    return list(values)


def _check_flag(name: str, what: str, value: Any) -> None:
    if not isinstance(value, int):
        raise ArgumentTypeError(f"{what} must be a bool, got {shown(value)}", hint="give True or False", operator=name)


def _run(
    name: str,
    outputs: Sequence[Any],
    grads: Sequence[Any],
    inputs: Sequence[Any] | None,
    retain: bool | None,
    create_graph: bool,
) -> list[Any]:
    _check_flag(name, "create_graph", create_graph)
    if retain is not None:
        _check_flag(name, "retain_graph", retain)
    started = initial_grads(name, outputs, grads)
    if inputs is not None:
        _check_inputs(name, inputs)
    targets = None if inputs is None else [_edge(name, each) for each in inputs]
    roots = [_edge(name, each) for each in outputs]
    task = GraphTask(targets, create_graph if retain is None else retain, create_graph)
    return task.run(roots, started)


def _check_inputs(name: str, inputs: Sequence[Any]) -> None:
    """Raise AutogradError unless these are tensors, at least one."""
    if not inputs:
        raise AutogradError(f"inputs cannot be empty, got {inputs}", hint="leave it out for all leaves", operator=name)
    for place, each in enumerate(inputs):
        if not isinstance(each, TensorBase):
            raise AutogradError(
                f"all inputs have to be Tensors, inputs[{place}] is {shown(each)}",
                hint="name the leaves that shall have gradients",
                operator=name,
            )


def _edge(name: str, tensor: Any) -> Any:
    edge = record.edge_of(tensor)
    if edge is None:
        raise AutogradError(
            f"one of the tensors, {tensor.describe()}, does not require grad",
            hint="call requires_grad_() on it first",
            operator=name,
        )
    return edge
