"""torch.func: derivatives of functions as functions, computed by backward passes.

- A function is called on inputs of this module's own: a view of an input that requires a gradient, so that transforms
  nest, else a new leaf.  A result keeps its graph only if that leads to something else than the new leaves.
- Trees of arguments and results are tuples, lists and dictionaries of tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..core import record
from ..core.record import AccumulateGrad
from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, AutogradError, ModeError, NotSupportedError, ShapeError, shown
from ..ops.join import stack
from ..runtime.device import CPU_INDEX
from ..runtime.generator import default_generator, set_states
from ..strides import is_integer
from . import gradients
from .mode import GradMode, mode

Rebuild = Callable[[list[Any]], Any]


# trees


def flatten(tree: Any) -> tuple[list[Any], Rebuild]:
    """Return the tensors and other values of a tree in order, and a function that makes such a tree of others."""
    if isinstance(tree, dict):
        parts, rebuild = _flatten_all(list(tree.values()))
        return parts, lambda values: dict(zip(tree, rebuild(values)))
    if isinstance(tree, (tuple, list)):
        parts, rebuild = _flatten_all(tree)
        if hasattr(tree, "_fields"):
            return parts, lambda values: type(tree)(*rebuild(values))
        return parts, lambda values: type(tree)(rebuild(values))
    return [tree], lambda values: values[0]


def _flatten_all(trees: Sequence[Any]) -> tuple[list[Any], Rebuild]:
    flat = [flatten(tree) for tree in trees]
    counts = [len(leaves) for leaves, _ in flat]

    def rebuild(values: list[Any]) -> list[Any]:
        result, start = [], 0
        for (_, make), count in zip(flat, counts):
            result.append(make(values[start : start + count]))
            start += count
        return result

    return [leaf for leaves, _ in flat for leaf in leaves], rebuild


# inputs and results


class _Level:
    """The inputs of one transform.  leaves: the nodes of new leaves, by id."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.leaves: dict[int, Any] = {}
        self.was_recording = mode.enabled

    def track(self, tree: Any) -> tuple[list[Any], Any]:
        """Return the tensors of a tree as inputs of this level, and the tree of them."""
        values, rebuild = flatten(tree)
        tracked = [self._tracked(value) for value in values]
        return tracked, rebuild(tracked)

    def _tracked(self, value: Any) -> Any:
        if not isinstance(value, TensorBase):
            raise ArgumentTypeError(
                f"an argument to differentiate with respect to contains {shown(value)}, which is not a tensor",
                hint="pass argnums= with the indexes of the arguments that are tensors, or nested tensors",
                operator=self.name,
            )
        if value.requires_grad and self.was_recording:
            return value.view_as(value)
        leaf: Any = value.detach().requires_grad_()
        edge: Any = record.edge_of(leaf)
        self.leaves[id(edge[0])] = edge[0]
        return leaf

    def release(self, tree: Any) -> Any:
        """Return a tree of results, detached where their graph leads to the new leaves alone."""
        values, rebuild = flatten(tree)
        return rebuild([value.detach() if self._is_own(value) else value for value in values])

    def _is_own(self, value: Any) -> bool:
        if not isinstance(value, TensorBase) or not value.requires_grad:
            return False
        if not self.was_recording:
            return True
        edge: Any = record.edge_of(value)
        waiting, seen = [edge[0]], set()
        while waiting:
            node = waiting.pop()
            if id(node) in seen or id(node) in self.leaves:
                continue
            seen.add(id(node))
            if isinstance(node, AccumulateGrad):
                return False
            waiting += [next_edge[0] for next_edge in node.edges if next_edge is not None]
        return True


def _grad(outputs: Sequence[Any], inputs: Sequence[Any], weights: Sequence[Any] | None) -> list[Any]:
    """Gradients that can be differentiated; zeros where an input is not used."""
    used = [at for at, output in enumerate(outputs) if isinstance(output, TensorBase) and output.requires_grad]
    grads: Sequence[Any] = [None] * len(inputs)
    if used:
        chosen = None if weights is None else [weights[at] for at in used]
        grads = gradients.grad(
            [outputs[at] for at in used], inputs, chosen, retain_graph=True, create_graph=True, allow_unused=True
        )
    return [value.new_zeros(value.shape) if grad is None else grad for grad, value in zip(grads, inputs)]


def _numbers(name: str, argnums: Any, count: int) -> tuple[int, ...]:
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    for number in numbers:
        if not isinstance(number, int) or not -count <= number < count:
            raise AutogradError(
                f"argnums must be the indexes of arguments, got {shown(argnums)} for {count} positional arguments",
                hint="pass the arguments to differentiate by position",
                operator=name,
            )
    normalized = tuple(number % count for number in numbers)
    if len(set(normalized)) < len(normalized):
        raise AutogradError(
            f"argnums must differ, got {shown(argnums)} for {count} positional arguments",
            hint="name each argument once",
            operator=name,
        )
    return normalized


def _check_outputs(name: str, outputs: Sequence[Any]) -> None:
    """Raise AutogradError for an output that has no derivative."""
    for output in outputs:
        if not isinstance(output, TensorBase) or not output.dtype.is_floating_point:
            raise AutogradError(
                f"all outputs of the function must be floating point tensors, got {shown(output)}",
                hint="return other values with has_aux=True",
                operator=name,
            )


def _check_tangents(name: str, tangents: Sequence[Any], primals: Sequence[Any]) -> None:
    """Raise AutogradError unless there is a tangent of the same shape for each primal."""
    shapes = [list(tangent.shape) if isinstance(tangent, TensorBase) else shown(tangent) for tangent in tangents]
    expected = [list(primal.shape) for primal in primals]
    if shapes != expected:
        raise AutogradError(
            f"tangents have shapes {shapes}, primals {expected}", hint="pass a tangent for each primal", operator=name
        )


def _replaced(args: tuple[Any, ...], numbers: Sequence[int], values: Sequence[Any]) -> list[Any]:
    result = list(args)
    for number, value in zip(numbers, values):
        result[number] = value
    return result


def _split_aux(name: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise AutogradError(
            f"with has_aux the function must return (output, aux), got {shown(result)}",
            hint="leave has_aux out",
            operator=name,
        )
    return result


# transforms


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of `func`, which must return a tensor of one element.

    argnums: the index of the argument to differentiate by; a tuple of indexes gives a tuple of gradients.
    has_aux: whether func returns (output, aux); the result is then (gradient, aux).
    Shapes: the gradients have the shapes of the arguments.
    Raises: AutogradError in the call, if the output is not a tensor of one element.
    Example:
        >>> torch.func.grad(lambda x: x**2)(torch.tensor(3.0))
        tensor(6.)
        >>> torch.func.grad(torch.mul, argnums=(0, 1))(torch.tensor(3.0), torch.tensor(5.0))
        (tensor(5.), tensor(3.))
    """
    of_both = grad_and_value(func, argnums, has_aux)

    @wraps(func, updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        grads, value = of_both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return gradient


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient and the value of `func`, which must return one element.

    argnums: the index of the argument to differentiate by, or a tuple of indexes.  The result is (gradient, output); if
    has_aux, `func` returns (output, aux), and the result is (gradient, (output, aux)).
    Shapes: the gradients have the shapes of the arguments.
    Raises: AutogradError in the call, if the output is not a tensor of one element.
    Example:
        >>> torch.func.grad_and_value(lambda x: x**2)(torch.tensor(3.0))
        (tensor(6.), tensor(9.))
    """

    @wraps(func, updated=())
    def both(*args: Any, **kwargs: Any) -> Any:
        name = "grad"
        level, numbers = _Level(name), _numbers(name, argnums, len(args))
        with GradMode(True):
            inputs, trees = level.track([args[number] for number in numbers])
            output, aux = _split_aux(name, func(*_replaced(args, numbers, trees), **kwargs), has_aux)
            if not isinstance(output, TensorBase) or output.shape:
                raise AutogradError(
                    f"expected the function to return a tensor without dimensions, got {shown(output)}",
                    hint="return its sum",
                    operator=name,
                )
            _, rebuild = flatten([args[number] for number in numbers])
            grads = rebuild(_grad([output], inputs, None))
        result = tuple(grads) if isinstance(argnums, tuple) else grads[0]
        value = (output, aux) if has_aux else output
        return level.release((result, value))

    return both


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return (output of func, function that multiplies a vector by the transposed Jacobians of func at the primals).

    The function takes a cotangent of the output's shape, and returns a tuple with one product for each primal.
    has_aux: whether func returns (output, aux); aux is then the third result.
    Raises: AutogradError unless func returns tensors of floating point, and for a wrong number of cotangents;
            ShapeError for a cotangent of another shape; ArgumentTypeError, DtypeError for a primal that is not a tensor
            of floating point.
    Example:
        >>> output, product = torch.func.vjp(lambda x: x**2, torch.tensor([1.0, 2.0]))
        >>> output, product(torch.tensor([1.0, 10.0]))
        (tensor([1., 4.]), (tensor([ 2., 40.]),))
    """
    level = _Level("vjp")
    with GradMode(True):
        inputs, trees = level.track(list(primals))
        output, aux = _split_aux("vjp", func(*trees), has_aux)
    outputs, _ = flatten(output)
    _check_outputs("vjp", outputs)
    _, rebuild = flatten(list(primals))

    def product(*cotangents: Any, **kwargs: Any) -> Any:
        weights, _ = flatten(cotangents[0] if len(cotangents) == 1 else tuple(cotangents))
        if len(weights) != len(outputs):
            raise AutogradError(
                f"got {len(weights)} cotangents for {len(outputs)} outputs",
                hint="pass one cotangent for each output",
                operator="vjp",
            )
        for index, (weight, value) in enumerate(zip(weights, outputs)):
            if weight.shape != value.shape:
                raise ShapeError(
                    f"cotangent {index} has shape {list(weight.shape)}, expected {list(value.shape)}",
                    hint="pass a cotangent of the output's shape",
                    operator="vjp",
                )
        with GradMode(True):
            grads = rebuild(_grad(outputs, inputs, weights))
        return level.release(tuple(grads))

    released = level.release(output)
    return (released, product, level.release(aux)) if has_aux else (released, product)


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """Return (output of func, product of the Jacobian of func at the primals with the tangents).

    The product takes two backward passes.  primals, tangents: tuples with one entry for each argument of func.
    strict: without effect.  has_aux: whether func returns (output, aux); aux is then the third result.
    Raises: AutogradError unless primals and tangents are tuples of tensors of the same shapes, and func returns tensors
            of floating point; ArgumentTypeError, DtypeError for a primal that is not a tensor of floating point.
    Example:
        >>> x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])
        >>> torch.func.jvp(lambda x: x**2, (x,), (v,))
        (tensor([1., 4.]), tensor([2., 0.]))
    """
    for called, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, tuple):
            raise AutogradError(
                f"{called} must be a tuple, got {shown(value)}", hint="pass one entry per argument", operator="jvp"
            )
    level = _Level("jvp")
    vectors, _ = flatten(list(tangents))
    with GradMode(True):
        inputs, trees = level.track(list(primals))
        _check_tangents("jvp", vectors, inputs)
        output, aux = _split_aux("jvp", func(*trees), has_aux)
        outputs, rebuild = flatten(output)
        _check_outputs("jvp", outputs)
        weights, _ = level.track([value.detach() * 0 for value in outputs])
        products = _grad(outputs, inputs, weights)
        turned = rebuild(_grad(products, weights, vectors))
    output, turned, aux = level.release((output, turned, aux))
    return (output, turned, aux) if has_aux else (output, turned)


def jacrev(
    func: Callable[..., Any], argnums: Any = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """Return a function that computes the Jacobian of `func`, by one backward pass for each element of the result.

    argnums: the index of the argument to differentiate by; a tuple of indexes gives a tuple of Jacobians.
    chunk_size: has no effect.
    has_aux: whether func returns (output, aux); the result is then (Jacobian, aux).
    Shapes: a result of shape R and an argument of shape A give a Jacobian [*R, *A]; nested results or arguments give
            nested Jacobians.
    Raises: when it is called, AutogradError for argnums out of range, and unless func returns tensors of
            floating point; ArgumentTypeError, DtypeError for an argument that is not a tensor of floating point.
    Example:
        >>> torch.func.jacrev(lambda x: x**2)(torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @wraps(func, updated=())
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        level, numbers = _Level("jacrev"), _numbers("jacrev", argnums, len(args))
        chosen = [args[number] for number in numbers]
        with GradMode(True):
            inputs, trees = level.track(chosen)
            output, aux = _split_aux("jacrev", func(*_replaced(args, numbers, trees), **kwargs), has_aux)
            outputs, rebuild_outputs = flatten(output)
            _check_outputs("jacrev", outputs)
            _, rebuild = flatten(chosen)
            blocks = []
            for value in outputs:
                result = rebuild(_jacobian_of(value, inputs))
                blocks.append(tuple(result) if isinstance(argnums, tuple) else result[0])
        result = level.release((rebuild_outputs(blocks), aux))
        return result if has_aux else result[0]

    return jacobian


def _jacobian_of(output: Any, inputs: Sequence[Any]) -> list[Any]:
    flat = output.reshape((-1,))
    rows = [_grad([flat[at]], inputs, None) for at in range(output.numel())]
    shapes = [(*output.shape, *value.shape) for value in inputs]
    if not rows:
        return [value.new_zeros(shape) for value, shape in zip(inputs, shapes)]
    return [stack([row[at] for row in rows], 0).reshape(shape) for at, shape in enumerate(shapes)]


def jacfwd(
    func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *, chunk_size: int | None = None,
    randomness: str = "error",
) -> Callable[..., Any]:  # fmt: skip
    """Return a function that computes the Jacobian of `func`, in the same way as `jacrev`: by backward passes.

    argnums: the index of the argument to differentiate by, or a tuple of indexes.  has_aux: whether func returns
    (output, aux); the result is then (Jacobian, aux).  chunk_size, randomness: have no effect.
    Shapes: a result of shape R and an argument of shape A give a Jacobian [*R, *A].
    Raises: when it is called, AutogradError for argnums out of range, and unless func returns tensors of
            floating point; ArgumentTypeError, DtypeError for an argument that is not a tensor of floating point.
    Example:
        >>> torch.func.jacfwd(lambda x: x**2)(torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    return jacrev(func, argnums, has_aux=has_aux, chunk_size=chunk_size)


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of `func`: the Jacobian of its Jacobian.

    argnums: the index of the argument to differentiate by, or a tuple of indexes.
    Shapes: a result of shape R and an argument of shape A give a Hessian [*R, *A, *A].
    Raises: as `jacrev`.
    Example:
        >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return (output of func, function that multiplies tangents by the Jacobian of func at the primals).

    The function takes one tangent for each primal, and can be called repeatedly.
    Raises: AutogradError unless func returns tensors of floating point, and the tangents have the shapes of the
            primals; ArgumentTypeError, DtypeError for a primal that is not a tensor of floating point.
    Example:
        >>> output, product = torch.func.linearize(lambda x: x**2, torch.tensor([1.0, 2.0]))
        >>> output, product(torch.tensor([1.0, 0.0]))
        (tensor([1., 4.]), tensor([2., 0.]))
    """
    level = _Level("linearize")
    with GradMode(True):
        inputs, trees = level.track(list(primals))
        output = func(*trees)
        outputs, rebuild = flatten(output)
        _check_outputs("linearize", outputs)
        weights, _ = level.track([value.detach() * 0 for value in outputs])
        products = _grad(outputs, inputs, weights)

    def product(*tangents: Any) -> Any:
        vectors, _ = flatten(list(tangents))
        _check_tangents("linearize", vectors, inputs)
        with GradMode(True):
            turned = _grad(products, weights, vectors)
        return level.release(rebuild(turned))

    return level.release(output), product


# calls for each element of a dimension

RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """Return a function that calls `func` for each index of a dimension of its arguments, and stacks the results.

    The calls are made one after another.
    in_dims: the dimension of all positional arguments, or a tuple with an entry for each: its dimension, None to pass
    it whole to every call, or dimensions nested like the argument.
    out_dims: the position of the stacked dimension in each result; None returns the result of the first call.
    randomness: "error" makes random numbers in `func` an error; "different" draws others in each call, "same" the same.
    chunk_size: has no effect.
    Raises: ArgumentError for dimensions that do not fit the arguments, results that are not tensors, and a chunk_size
            below 1; ArgumentTypeError if chunk_size is not an int; ModeError for any other randomness; AutogradError if
            `func` draws random numbers and randomness is "error".
    Example:
        >>> rows = torch.arange(6.0).reshape(2, 3)
        >>> torch.vmap(torch.dot, in_dims=(0, None))(rows, torch.ones(3))
        tensor([ 3., 12.])
    """
    if not isinstance(randomness, str) or randomness not in RANDOMNESS:
        raise ModeError(
            f"randomness must be one of {', '.join(RANDOMNESS)}, got {shown(randomness)}",
            hint="pass 'different' to draw other numbers in each call, or 'same'",
            operator="vmap",
        )
    if chunk_size is not None and not is_integer(chunk_size):
        raise ArgumentTypeError(
            f"chunk_size must be None or an int, got {shown(chunk_size)}", hint="leave it out", operator="vmap"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ArgumentError(
            f"chunk_size must be None or greater than 0, got {chunk_size}", hint="leave it out", operator="vmap"
        )

    @wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        values, rebuild = flatten(args)
        dims, size = _mapped_dims(args, values, in_dims)
        columns = [
            value if dim is None else value.unbind(dim) if size else [value.new_zeros(_without(value.shape, dim))]
            for value, dim in zip(values, dims)
        ]
        generators = _generators(values)
        before = [generator.state_bytes() for generator in generators]
        results: list[list[Any]] = []
        for number in range(max(size, 1)):
            if number and randomness == "same":
                set_states("vmap", generators, before)
            given = [column if dim is None else column[number] for column, dim in zip(columns, dims)]
            output = func(*rebuild(given), **kwargs)
            if not number and randomness == "error":
                _check_unused(generators, before)
            leaves, make = flatten(output)
            results.append(leaves)
        places = _spread(output, out_dims[0] if _is_one_of_one(output, out_dims) else out_dims, "out_dims")
        return make([_stacked(list(parts), dim, size) for parts, dim in zip(zip(*results), places)])

    return mapped


def _without(shape: Sequence[int], dim: int) -> tuple[int, ...]:
    sizes = list(shape)
    del sizes[dim]
    return tuple(sizes)


def _is_one_of_one(output: Any, dims: Any) -> bool:
    return isinstance(dims, (tuple, list)) and len(dims) == 1 and not isinstance(output, (tuple, list, dict))


def _spread(tree: Any, dims: Any, what: str) -> list[Any]:
    """Return the dimension of each value of a tree: `dims` is a prefix of the tree, with ints or None as leaves."""
    if dims is None or isinstance(dims, int) and not isinstance(dims, bool):
        return [dims] * len(flatten(tree)[0])
    pairs: list[tuple[Any, Any]] | None = None
    if isinstance(tree, dict) and isinstance(dims, dict) and tree.keys() == dims.keys():
        pairs = [(part, dims[key]) for key, part in tree.items()]
    elif isinstance(tree, (tuple, list)) and isinstance(dims, (tuple, list)) and len(tree) == len(dims):
        pairs = list(zip(tree, dims))
    if pairs is None:
        raise ArgumentError(
            f"{what}={shown(dims)} is not compatible with the structure of {shown(tree)}",
            hint="pass an int, or a tuple with an int or None for each",
            operator="vmap",
        )
    return [dim for part, below in pairs for dim in _spread(part, below, what)]


def _mapped_dims(args: tuple[Any, ...], values: list[Any], in_dims: Any) -> tuple[list[Any], int]:
    """Return (dimension of each value, counted from the front, or None; their common size)."""
    wrong, hint = "", "None is for arguments that every call gets whole"
    if not args:
        raise ArgumentError("there are no arguments", hint="call func without vmap", operator="vmap")
    if isinstance(in_dims, bool) or not isinstance(in_dims, (int, tuple)):
        raise ArgumentError(f"in_dims must be an int or a tuple, got {shown(in_dims)}", hint=hint, operator="vmap")
    dims, sizes = _spread(args, in_dims, "in_dims"), set()
    for index, (value, dim) in enumerate(zip(values, dims)):
        if dim is None:
            continue
        if not isinstance(value, TensorBase):
            wrong = f"in_dims has {dim} for an argument that is no tensor: {shown(value)}"
        elif not -len(value.shape) <= dim < len(value.shape):
            wrong = f"in_dims has {dim} for a tensor of {len(value.shape)} dimensions, shape {list(value.shape)}"
        if wrong:
            raise ArgumentError(wrong, hint=hint, operator="vmap")
        dims[index] = dim % len(value.shape)
        sizes.add(value.shape[dim])
    if len(sizes) != 1:
        wrong = f"the sizes of the mapped dimensions differ: {sorted(sizes)}" if sizes else "no argument is mapped"
        raise ArgumentError(wrong, hint=hint, operator="vmap")
    return dims, sizes.pop()


def _generators(values: list[Any]) -> list[Any]:
    """Return the default generators of the CPU and of the devices of tensors."""
    places = {value.device_index for value in values if isinstance(value, TensorBase)}
    return [default_generator(index) for index in sorted(places | {CPU_INDEX})]


def _check_unused(generators: list[Any], before: list[bytes]) -> None:
    """Raise AutogradError if a call has drawn from generators; restore their states first."""
    if before != [generator.state_bytes() for generator in generators]:
        set_states("vmap", generators, before)
        raise AutogradError(
            "the function draws random numbers, and randomness is 'error'",
            hint="pass randomness='different' or 'same'",
            operator="vmap",
        )


def _stacked(parts: list[Any], dim: Any, size: int) -> Any:
    if dim is None:
        first = parts[0]
        if isinstance(first, TensorBase) and not all(part is first or part.equal(first) for part in parts[1:]):
            raise ArgumentError(
                "a result with out_dims=None differs between calls",
                hint="give the dimension for the calls, as in out_dims=0",
                operator="vmap",
            )
        return first
    for value in parts:
        if not isinstance(value, TensorBase):
            raise ArgumentError(
                f"the function must return tensors, got {shown(value)}",
                hint="return tensors, or pass out_dims=None for a value that is no tensor",
                operator="vmap",
            )
    whole = stack(parts, dim)
    return whole if size else whole.narrow(dim, 0, 0)


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Raise NotSupportedError: removing the in-place operations of func is not supported.

    Example:
        >>> try:
        ...     torch.func.functionalize(torch.relu_)
        ... except NotImplementedError as error:
        ...     print(str(error).startswith("functionalize: "))
        True
    """
    raise NotSupportedError(
        "removing the in-place operations of func is not supported", hint="call func itself", operator="functionalize"
    )
