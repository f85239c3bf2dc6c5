"""torch.nn.utils.convert_parameters: parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...errors import ShapeError, naming
from ...importer import listing
from ...ops.operator import REGISTRY
from ...tensor import checks
from .clip_grad import listed


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """Concatenate all parameters as one vector.

    Shapes: result [the number of all elements].
    Raises: ArgumentTypeError for entries that are not tensors, ValueRangeError without parameters, DeviceMismatchError
            for parameters on several devices.
    Example:
        >>> torch.nn.utils.parameters_to_vector([torch.ones(1, 2), torch.zeros(1)])
        tensor([1., 1., 0.])
    """
    with naming("parameters_to_vector"):
        return REGISTRY["cat"](
            [param.reshape(-1) for param in listed("parameters_to_vector", "parameters", parameters)]
        )


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Write consecutive parts of a vector into parameters, in their order.

    Shapes: vec [n], with at least as many elements as all parameters together; further elements are ignored.
    Raises: ShapeError if the vector is too short, ArgumentTypeError for arguments that are not tensors.
    Example:
        >>> weight = torch.nn.Parameter(torch.zeros(2))
        >>> torch.nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0]), [weight])
        >>> weight.tolist()
        [1.0, 2.0]
    """
    checks.tensor("vector_to_parameters", "vec", vec)
    whole = listed("vector_to_parameters", "parameters", parameters)
    needed = sum(param.numel() for param in whole)
    if vec.ndim != 1 or vec.numel() < needed:
        raise ShapeError(
            f"the vector is {vec.describe()}, the parameters have {needed} elements",
            hint=f"give one of shape [{needed}], as parameters_to_vector() does",
            operator="vector_to_parameters",
        )
    start = 0
    for param in whole:
        param.data = vec[start : start + param.numel()].view_as(param).detach()
        start += param.numel()


__all__ = ["parameters_to_vector", "vector_to_parameters"]
__dir__ = listing(globals())
