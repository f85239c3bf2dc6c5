"""backward and grad: the two ways into the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import TensorCore
from ..errors import AutogradError
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
    outputs = as_list(tensors)
    grads = [None] * len(outputs) if grad_tensors is None else as_list(grad_tensors)
    if inputs is None:
        _run(outputs, grads, None, retain_graph, create_graph)
        return
    leaves = as_list(inputs)
    found = _run(outputs, grads, leaves, retain_graph, create_graph)
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
    results, wanted = as_list(outputs), as_list(inputs)
    grads = [None] * len(results) if grad_outputs is None else as_list(grad_outputs)
    found = _run(results, grads, wanted, retain_graph, create_graph)
    for index, each in enumerate(found):
        if each is None and not allow_unused:
            raise AutogradError(
                f"grad: One of the differentiated Tensors (number {index}, {wanted[index].describe()}) appears to not "
                f"have been used in the graph",
                hint="pass allow_unused=True to get None for it",
            )
    return tuple(found)


def as_list(values: Any) -> list[Any]:
    """One tensor, or a sequence of them, as a list."""
    return [values] if isinstance(values, TensorCore) or values is None else list(values)


def _run(
    outputs: Sequence[Any], grads: Sequence[Any], inputs: Sequence[Any] | None, retain: bool | None, create_graph: bool
) -> list[Any]:
    started = initial_grads(outputs, grads)
    targets = None if inputs is None else [_edge(each) for each in inputs]
    roots = [_edge(each) for each in outputs]
    task = GraphTask(targets, create_graph if retain is None else retain, create_graph)
    captured = task.run(roots, started)
    return [] if targets is None else [captured.get(each) for each in targets]


def _edge(tensor: Any) -> Any:
    edge = record.edge_of(tensor)
    if edge is None:
        raise AutogradError(
            f"grad: one of the tensors, {tensor.describe()}, does not require grad",
            hint="call requires_grad_() on it first",
        )
    return edge
