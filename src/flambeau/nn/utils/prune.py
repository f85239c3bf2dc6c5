"""torch.nn.utils.prune: parameters with elements that are masked to zero.

A pruned parameter `name` is computed before each forward, by a hook, as `name_orig`, a parameter, times `name_mask`, a
buffer.  Later prunings of the same parameter extend the mask; their methods form a `PruningContainer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from ...errors import ArgumentError, ArgumentTypeError, FlambeauError, IndexRangeError, shown
from ...importer import listing
from ...ops.operator import REGISTRY
from ...tensor import checks, factories, like_factories
from ..module import check_module


class MaskError(FlambeauError, AssertionError):
    """The scores or the mask have a different shape than the parameter."""


class BasePruningMethod(ABC):
    """Base class of pruning methods: forward pre-hooks that multiply a parameter by a mask.

    Subclasses define `compute_mask` and PRUNING_TYPE.  The latter selects the elements that `compute_mask` gets if some
    are already masked: "unstructured" the unmasked ones, "structured" channels with unmasked ones, "global" all.
    Raises: the builtin TypeError for a subclass without `compute_mask`.
    Example:
        >>> class EveryOther(torch.nn.utils.prune.BasePruningMethod):
        ...     PRUNING_TYPE = "unstructured"
        ...     def compute_mask(self, t, default_mask):
        ...         mask = default_mask.clone()
        ...         mask.view(-1)[::2] = 0
        ...         return mask
        >>> layer = torch.nn.Linear(2, 2)
        >>> _ = EveryOther.apply(layer, "weight")
        >>> layer.weight_mask
        tensor([[0., 1.],
                [0., 1.]])
    """

    PRUNING_TYPE = ""
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask of a tensor, 0 for elements to prune and 1 for those to keep.

        Each subclass defines this method.

        t: the values, or scores, that determine the mask.  default_mask: the present mask, of the same shape.
        Shapes: t, default_mask and the result have one shape.
        Raises: the errors of the subclass: MaskError, an AssertionError, in CustomFromMask for a mask of another shape.
        Example:
            >>> prune = torch.nn.utils.prune
            >>> prune.L1Unstructured(amount=2).compute_mask(torch.tensor([3.0, -1.0, 2.0]), torch.ones(3))
            tensor([1., 0., 0.])
        """

    def apply_mask(self, module: Any) -> Any:
        """Return the parameter of `module` times its mask; gradients reach the parameter.

        Shapes: the result has the parameter's shape.
        Raises: AttributeError if the method was not applied to the module.
        Example:
            >>> layer = torch.nn.Linear(3, 1)
            >>> layer.weight.data = torch.tensor([[1.0, -2.0, 3.0]])
            >>> method = torch.nn.utils.prune.L1Unstructured.apply(layer, "weight", 1)
            >>> method.apply_mask(layer).detach()
            tensor([[ 0., -2.,  3.]])
        """
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune the parameter `name` of a module; return the method.

        args, kwargs: passed to the class's constructor.
        importance_scores: a tensor that compute_mask gets instead of the values of the masked parameter.
        Raises: MaskError, an AssertionError, if the scores and the parameter have different shapes; ArgumentTypeError
                if module is not an nn.Module, AttributeError if it has no such parameter.
        Example:
            >>> layer = torch.nn.Linear(3, 1)
            >>> scores = torch.tensor([[5.0, 1.0, 7.0]])
            >>> method = torch.nn.utils.prune.L1Unstructured.apply(layer, "weight", 1, importance_scores=scores)
            >>> layer.weight_mask
            tensor([[1., 0., 1.]])
        """
        check_module(cls.__name__, "module", module)
        earlier = [entry for entry in module._forward_pre_hooks.items() if _prunes(entry[1], name)]
        instance: Any = cls(*args, **kwargs)
        instance._tensor_name = name
        method = instance
        if earlier:
            method = PruningContainer(earlier[0][1])
            method.add_pruning_method(instance)
        present = getattr(module, name)
        original = getattr(module, name + "_orig") if earlier else module._parameters.get(name, present)
        # The masked values decide: norms of channels are those of what the earlier masks have left.
        scores = present if importance_scores is None else _scores_like(original, name, importance_scores)
        former = getattr(module, name + "_mask") if earlier else like_factories.ones_like(original.detach())
        mask = method.compute_mask(scores, default_mask=former)
        if not earlier:
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        for handle, _ in earlier:
            del module._forward_pre_hooks[handle]
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """Return a tensor times the mask that the method computes for it.

        default_mask: the present mask, by default all ones.  importance_scores: a tensor that determines the mask,
        instead of the values.
        Raises: MaskError, an AssertionError, if the scores and the tensor have different shapes.
        Example:
            >>> torch.nn.utils.prune.L1Unstructured(amount=1).prune(torch.tensor([-3.0, 1.0, 2.0]))
            tensor([-3.,  0.,  2.])
        """
        scores = t if importance_scores is None else _scores_like(t, "t", importance_scores)
        former = like_factories.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=former)

    def remove(self, module: Any) -> None:
        """Make the pruned parameter an ordinary one with its masked values; the mask is deleted.

        The function torch.nn.utils.prune.remove removes the hook too.
        Raises: AttributeError if the method was not applied to the module.
        Example:
            >>> layer = torch.nn.Linear(3, 1)
            >>> torch.nn.utils.prune.L1Unstructured.apply(layer, "weight", 1).remove(layer)
            >>> list(layer.state_dict())
            ['bias', 'weight']
        """
        name = self._tensor_name
        value = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = value.detach()
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _prunes(hook: Any, name: str) -> bool:
    return isinstance(hook, BasePruningMethod) and hook._tensor_name == name


def _scores_like(tensor: Any, name: str, scores: Any) -> Any:
    if scores.shape != tensor.shape:
        raise MaskError(
            f"importance_scores should have the shape of {name!r}, {list(tensor.shape)}, got {list(scores.shape)}",
            hint="give a score for each element",
            operator="prune",
        )
    return scores


class PruningContainer(BasePruningMethod):
    """Several pruning methods of one parameter, in the order of their application.

    Pruning a parameter again makes a container.  Its methods are available by index, and their number by len().
    Raises: ArgumentTypeError for an object that is not a pruning method, ArgumentError for methods of different
            parameters, the builtin IndexError for an index out of range.
    Example:
        >>> prune, layer = torch.nn.utils.prune, torch.nn.Linear(3, 1)
        >>> _ = prune.L1Unstructured.apply(layer, "weight", 1)
        >>> container = prune.RandomUnstructured.apply(layer, "weight", 1)
        >>> [type(method).__name__ for method in container], int(layer.weight_mask.sum())
        (['L1Unstructured', 'RandomUnstructured'], 1)
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name if isinstance(args[0], BasePruningMethod) else ""
            self.add_pruning_method(args[0])
        else:
            methods = args[0] if len(args) == 1 else args
            for method in methods:
                if isinstance(method, BasePruningMethod):
                    self._tensor_name = getattr(self, "_tensor_name", method._tensor_name)
                self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Append a pruning method to the container.

        Raises: ArgumentTypeError for an object of another class, ArgumentError for a method of another parameter.
        Example:
            >>> prune, layer = torch.nn.utils.prune, torch.nn.Linear(3, 1)
            >>> container = prune.PruningContainer(prune.L1Unstructured.apply(layer, "weight", 1))
            >>> container.add_pruning_method(prune.Identity.apply(torch.nn.Linear(3, 1), "weight"))
            >>> len(container)
            2
        """
        if not isinstance(method, BasePruningMethod):
            raise ArgumentTypeError(
                f"{type(method).__name__} is not a BasePruningMethod subclass: {shown(method)}",
                hint="give a pruning method",
                operator="PruningContainer",
            )
        if method._tensor_name != self._tensor_name:
            raise ArgumentError(
                f"can only add pruning methods of the parameter {self._tensor_name!r}, this is of "
                f"{method._tensor_name!r}",
                hint="use one container for each parameter",
                operator="PruningContainer",
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the present mask, further pruned by the last method of the container.

        An "unstructured" method chooses among the elements whose mask is 1, a "structured" one among the channels that
        have such elements.
        Shapes: t, default_mask and the result have one shape.
        Raises: IndexRangeError if t and default_mask differ in shape.
        Example:
            >>> prune, layer = torch.nn.utils.prune, torch.nn.Linear(3, 1)
            >>> container = prune.PruningContainer(prune.L1Unstructured.apply(layer, "weight", 1))
            >>> container.compute_mask(torch.tensor([3.0, 1.0, 2.0]), torch.tensor([1.0, 0.0, 1.0]))
            tensor([1., 0., 0.])
        """
        method = self._pruning_methods[-1]
        index = _left(method, t, default_mask)
        mask = default_mask.clone()
        mask[index] = method.compute_mask(t[index], default_mask=mask[index]).to(dtype=mask.dtype)
        return mask


def _left(method: Any, t: Any, mask: Any) -> Any:
    """Return the index of the elements that a method may prune."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * t.ndim
    if method.PRUNING_TYPE != "structured" or not hasattr(method, "dim"):
        raise ArgumentError(
            f"unrecognized PRUNING_TYPE {method.PRUNING_TYPE!r} of {type(method).__name__}",
            hint="use 'unstructured', 'global', or 'structured' with an attribute dim",
            operator="PruningContainer",
        )
    dim = _dimension(t, method.dim)
    counts = mask.sum(dim=[axis for axis in range(t.ndim) if axis != dim])
    return (*(slice(None),) * dim, counts != 0)


class Identity(BasePruningMethod):
    """Pruning method that keeps every element; `identity` applies it.

    Raises: in `apply`, ArgumentTypeError for an object that is not a module, AttributeError for a
            missing parameter.
    Example:
        >>> layer = torch.nn.Linear(2, 1)
        >>> _ = torch.nn.utils.prune.Identity.apply(layer, "weight")
        >>> layer.weight_mask
        tensor([[1., 1.]])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the present mask, `default_mask`: nothing is pruned.

        Shapes: t, default_mask and the result have one shape.
        Example:
            >>> torch.nn.utils.prune.Identity().compute_mask(torch.tensor([3.0, -1.0]), torch.ones(2))
            tensor([1., 1.])
        """
        return default_mask


class _ByAmount(BasePruningMethod):
    """Base of methods that prune a given number or share of elements or channels."""

    def __init__(self, amount: Any) -> None:
        self.amount = _checked_amount(amount)


class RandomUnstructured(_ByAmount):
    """Pruning method that masks random elements; `random_unstructured` applies it.

    amount: an int is the number of elements to mask, a float in [0, 1] their share.
    Raises: ArgumentTypeError, ArgumentError for an invalid amount.
    Example:
        >>> layer = torch.nn.Linear(4, 2)
        >>> _ = torch.nn.utils.prune.RandomUnstructured.apply(layer, "weight", 0.25)
        >>> int(layer.weight_mask.sum())
        6
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return `default_mask` with 0 at `amount` elements of t, chosen at random.

        Shapes: t, default_mask and the result have one shape.
        Example:
            >>> method = torch.nn.utils.prune.RandomUnstructured(amount=2)
            >>> method.compute_mask(torch.ones(5), torch.ones(5)).sum()
            tensor(3.)
        """
        return _without(default_mask, like_factories.rand_like(t), _count(self.amount, t.numel()), largest=True)


class L1Unstructured(_ByAmount):
    """Pruning method that masks the elements with the smallest absolute values; `l1_unstructured` applies it.

    amount: an int is the number of elements to mask, a float in [0, 1] their share.
    Raises: ArgumentTypeError, ArgumentError for an invalid amount.
    Example:
        >>> torch.nn.utils.prune.L1Unstructured(amount=1).prune(torch.tensor([-3.0, 1.0, 2.0]))
        tensor([-3.,  0.,  2.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return `default_mask` with 0 at the `amount` elements of t with the smallest absolute values.

        Shapes: t, default_mask and the result have one shape.
        Example:
            >>> method = torch.nn.utils.prune.L1Unstructured(amount=2)
            >>> method.compute_mask(torch.tensor([3.0, -1.0, 2.0]), torch.ones(3))
            tensor([1., 0., 0.])
        """
        return _without(default_mask, t.detach().abs(), _count(self.amount, t.numel()), largest=False)


def _without(mask: Any, scores: Any, count: int, largest: bool) -> Any:
    """Return a mask without the elements of the largest or smallest scores."""
    result = mask.clone()
    if count:
        chosen = REGISTRY["topk"](scores.reshape(-1), count, largest=largest)[1]
        flat = result.reshape(-1)
        flat[chosen] = 0
        result = flat.reshape(mask.shape)
    return result


class RandomStructured(_ByAmount):
    """Pruning method that masks random channels, the entries along `dim`; `random_structured` applies it.

    amount: an int is the number of channels to mask, a float in [0, 1] their share.
    Raises: ArgumentTypeError, ArgumentError for an invalid amount.
    Example:
        >>> mask = torch.nn.utils.prune.RandomStructured(1, dim=0).compute_mask(torch.ones(3, 2), torch.ones(3, 2))
        >>> mask.sum(1).sort().values
        tensor([0., 2., 2.])
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return `default_mask` with 0 in `amount` channels of t, chosen at random.

        Shapes: t, default_mask and the result have one shape.
        Raises: IndexRangeError if t has no dimension `dim`, ArgumentError if it has fewer channels than `amount`.
        Example:
            >>> method = torch.nn.utils.prune.RandomStructured(1, dim=0)
            >>> method.compute_mask(torch.ones(3, 2), torch.ones(3, 2)).sum(1).sort().values
            tensor([0., 2., 2.])
        """
        dim, count = _channels(t, self.dim, self.amount)
        if not count:
            return default_mask
        drawn = factories.empty(t.shape[dim], device=t.device).uniform_()
        return _of_channels(t, dim, drawn > REGISTRY["kthvalue"](drawn, count)[0]) * default_mask


class LnStructured(_ByAmount):
    """Pruning method that masks the channels with the smallest norms; `ln_structured` applies it.

    Channels are the entries along `dim`.  n: order of the norm.
    amount: an int is the number of channels to mask, a float in [0, 1] their share.
    Raises: ArgumentTypeError, ArgumentError for an invalid amount.
    Example:
        >>> torch.nn.utils.prune.LnStructured(1, n=2, dim=0).prune(torch.tensor([[3.0, 4.0], [1.0, 1.0]]))
        tensor([[3., 4.],
                [0., 0.]])
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return `default_mask` with 0 in the `amount` channels of t with the smallest norms.

        Shapes: t, default_mask and the result have one shape.
        Raises: IndexRangeError if t has no dimension `dim`, ArgumentError if it has fewer channels than `amount`.
        Example:
            >>> method = torch.nn.utils.prune.LnStructured(1, n=2, dim=0)
            >>> method.compute_mask(torch.tensor([[3.0, 4.0], [1.0, 1.0]]), torch.ones(2, 2))
            tensor([[1., 1.],
                    [0., 0.]])
        """
        dim, count = _channels(t, self.dim, self.amount)
        if not count:
            return default_mask
        others = [axis for axis in range(t.ndim) if axis != dim]
        norms = t.detach().norm(p=self.n, dim=others)
        kept = norms.new_zeros(norms.shape).bool()
        kept[REGISTRY["topk"](norms, t.shape[dim] - count)[1]] = True
        return _of_channels(t, dim, kept) * default_mask


def _of_channels(t: Any, dim: int, kept: Any) -> Any:
    """Return a mask of the shape of `t` from one value per channel."""
    shape = [1] * t.ndim
    shape[dim] = -1
    return like_factories.ones_like(t.detach()) * kept.reshape(shape).to(dtype=t.dtype)


class CustomFromMask(BasePruningMethod):
    """Pruning method that masks the elements where a given mask is 0; `custom_from_mask` applies it.

    mask: a tensor of the parameter's shape, of numbers or bools.
    Raises: MaskError, an AssertionError, if the mask has a different shape.
    Example:
        >>> torch.nn.utils.prune.CustomFromMask(torch.tensor([1, 0, 1])).prune(torch.tensor([-3.0, 1.0, 2.0]))
        tensor([-3.,  0.,  2.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return `default_mask` with 0 also where the mask passed to the constructor is 0.

        Shapes: t, default_mask and the result have one shape.
        Raises: MaskError, an AssertionError, if the mask of the constructor has another shape.
        Example:
            >>> method = torch.nn.utils.prune.CustomFromMask(torch.tensor([1, 0, 1]))
            >>> method.compute_mask(torch.ones(3), torch.tensor([0.0, 1.0, 1.0]))
            tensor([0., 0., 1.])
        """
        if self.mask.shape != default_mask.shape:
            raise MaskError(
                f"the mask {list(self.mask.shape)} should have the shape of the parameter, {list(default_mask.shape)}",
                hint="give a value for each element",
                operator="custom_from_mask",
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def _checked_amount(amount: Any) -> Any:
    if not isinstance(amount, (int, float)) or isinstance(amount, bool):
        raise ArgumentTypeError(
            f"invalid type for amount: {shown(amount)}, must be int or float",
            hint="pass an int for a number of elements, or a float for a fraction",
            operator="prune",
        )
    if amount < 0 or (isinstance(amount, float) and amount > 1.0):
        raise ArgumentError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer",
            hint="a float is a fraction, an int a number of elements or channels",
            operator="prune",
        )
    return amount


def _count(amount: Any, size: int) -> int:
    """Return the number of elements to prune.  Raises ArgumentError if there are fewer elements."""
    if isinstance(amount, float):
        return round(amount * size)
    if amount > size:
        raise ArgumentError(
            f"amount={amount} should be smaller than the number of parameters to prune={size}",
            hint="pass a smaller int, or a float from 0 to 1 for a fraction",
            operator="prune",
        )
    return int(amount)


def _dimension(t: Any, dim: int) -> int:
    rank: int = t.ndim
    if not -rank <= dim < rank:
        raise IndexRangeError(
            f"invalid dimension {dim} of a tensor of shape {list(t.shape)}",
            hint=f"use {-rank} to {rank - 1}",
            operator="prune",
        )
    return dim % rank


def _channels(t: Any, dim: int, amount: Any) -> tuple[int, int]:
    """Return (dimension, number of channels to prune).  Raises ArgumentError, IndexRangeError."""
    if t.ndim < 2:
        raise ArgumentError(
            f"structured pruning can only be applied to multidimensional tensors, got shape {list(t.shape)}",
            hint="prune a weight, or use an unstructured method",
            operator="prune",
        )
    axis = _dimension(t, dim)
    return axis, _count(amount, t.shape[axis])


def identity(module: Any, name: str) -> Any:
    """Give the parameter `name` a mask of ones, which prunes nothing; return the module.

    Raises: ArgumentTypeError if module is not an nn.Module, AttributeError if it has no such parameter.
    Example:
        >>> torch.nn.utils.prune.identity(torch.nn.Linear(2, 1), "bias").bias_mask
        tensor([1.])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune random elements of the parameter `name`; return the module.

    amount: an int is the number of elements to mask, a float in [0, 1] their share.
    Raises: ArgumentTypeError, ArgumentError for an invalid amount.
    Example:
        >>> layer = torch.nn.utils.prune.random_unstructured(torch.nn.Linear(4, 2), "weight", amount=3)
        >>> int(layer.weight_mask.sum())
        5
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the elements of the parameter `name` with the smallest absolute values; return the module.

    amount: an int is the number of elements to mask, a float in [0, 1] their share.
    importance_scores: a tensor of the parameter's shape whose absolute values are compared instead.
    Raises: ArgumentError, ArgumentTypeError for an amount out of range.
    Example:
        >>> layer = torch.nn.Linear(3, 1)
        >>> layer.weight.data = torch.tensor([[1.0, -2.0, 3.0]])
        >>> _ = torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=1)
        >>> layer.weight_mask, torch.nn.utils.prune.is_pruned(layer)
        (tensor([[0., 1., 1.]]), True)
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune random channels of the parameter `name` and return the module.

    A channel is one index along `dim`.
    amount: an int is the number of channels to mask, a float in [0, 1] their share.
    Raises: ArgumentTypeError, ArgumentError for an invalid amount, or a parameter with one dimension; IndexRangeError
            for a dimension out of range.
    Example:
        >>> layer = torch.nn.utils.prune.random_structured(torch.nn.Linear(4, 2), "weight", amount=1, dim=0)
        >>> layer.weight_mask.sum(1).sort().values
        tensor([0., 4.])
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prune the channels of the parameter `name` with the smallest norms and return the module.

    A channel is one index along `dim`.
    amount: an int is the number of channels to mask, a float in [0, 1] their share.  n: order of the norm.
    importance_scores: a tensor of the parameter's shape whose norms are compared instead.
    Raises: ArgumentTypeError, ArgumentError for an invalid amount, or a parameter with one dimension; IndexRangeError
            for a dimension out of range, ModeError for an n that is not the order of a norm.
    Example:
        >>> layer = torch.nn.Linear(2, 2)
        >>> layer.weight.data = torch.tensor([[3.0, 4.0], [1.0, 1.0]])
        >>> torch.nn.utils.prune.ln_structured(layer, "weight", amount=1, n=2, dim=0).weight_mask
        tensor([[1., 1.],
                [0., 0.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune the parameter `name` where a mask is 0; return the module.

    mask: a tensor of the parameter's shape, of numbers or bools.
    Raises: MaskError, an AssertionError, if the mask has a different shape.
    Example:
        >>> layer = torch.nn.Linear(3, 1)
        >>> torch.nn.utils.prune.custom_from_mask(layer, "weight", torch.tensor([[1, 0, 1]])).weight_mask
        tensor([[1., 0., 1.]])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]], pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune elements of several parameters, chosen among the elements of all of them.

    parameters: a list of (module, name).  pruning_method: the class of an unstructured method.
    kwargs: arguments of its constructor, such as `amount`.
    importance_scores: a dict from (module, name) to scores that are compared instead of the values.
    Raises: ArgumentTypeError for a method that is not unstructured or parameters that are not a list, ArgumentError for
            no parameters, AttributeError for a parameter that is not there.
    Example:
        >>> prune, first, second = torch.nn.utils.prune, torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
        >>> first.weight.data, second.weight.data = torch.tensor([[1.0, 9.0]]), torch.tensor([[2.0, 8.0]])
        >>> prune.global_unstructured([(first, "weight"), (second, "weight")], prune.L1Unstructured, amount=2)
        >>> first.weight_mask, second.weight_mask
        (tensor([[0., 1.]]), tensor([[0., 1.]]))
    """
    named = checks.listed("global_unstructured", "parameters", "(module, name) pairs", parameters)
    if not named:
        raise ArgumentError("parameters is empty", hint="give (module, name) pairs", operator="global_unstructured")
    given = {} if importance_scores is None else importance_scores
    for index, pair in enumerate(named):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[1], str):
            raise ArgumentTypeError(
                f"parameters[{index}] must be a (module, name) pair, got {shown(pair)}",
                hint='as in (layer, "weight")',
                operator="global_unstructured",
            )
        check_module("global_unstructured", f"the module of parameters[{index}]", pair[0])
    values = [getattr(module, name).detach() for module, name in named]
    scores = [given.get((module, name), value) for (module, name), value in zip(named, values)]
    masks = [getattr(module, name + "_mask", None) for module, name in named]
    former = [like_factories.ones_like(value) if mask is None else mask for value, mask in zip(values, masks)]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise ArgumentTypeError(
            f'only "unstructured" methods are supported, {pruning_method.__name__} is {method.PRUNING_TYPE!r}',
            hint="pass L1Unstructured or RandomUnstructured",
            operator="global_unstructured",
        )
    container = PruningContainer()
    container._tensor_name = method._tensor_name = "temp"
    container.add_pruning_method(method)
    joined = [REGISTRY["cat"]([tensor.reshape(-1) for tensor in group]) for group in (scores, former)]
    mask = container.compute_mask(joined[0].detach(), joined[1])
    start = 0
    for (module, name), value in zip(named, values):
        custom_from_mask(module, name, mask[start : start + value.numel()].reshape(value.shape))
        start += value.numel()


def remove(module: Any, name: str) -> Any:
    """Make the parameter `name` an ordinary one with its pruned values; the mask and the hook are removed.

    Returns the module.
    Raises: ArgumentError if the parameter is not pruned, ArgumentTypeError if module is not an nn.Module.
    Example:
        >>> layer = torch.nn.utils.prune.identity(torch.nn.Linear(2, 1), "weight")
        >>> list(torch.nn.utils.prune.remove(layer, "weight").state_dict())
        ['bias', 'weight']
    """
    check_module("remove", "module", module)
    for handle, hook in module._forward_pre_hooks.items():
        if _prunes(hook, name):
            hook.remove(module)
            del module._forward_pre_hooks[handle]
            return module
    raise ArgumentError(
        f"parameter {name!r} of {type(module).__name__} has to be pruned before pruning can be removed",
        hint="check with is_pruned() whether the module has pruned parameters",
        operator="remove",
    )


def is_pruned(module: Any) -> bool:
    """Return whether a module or one of its descendants has pruned parameters.

    Raises: ArgumentTypeError if module is not an nn.Module.
    Example:
        >>> layer = torch.nn.Linear(2, 1)
        >>> prune = torch.nn.utils.prune
        >>> prune.is_pruned(layer), prune.is_pruned(prune.identity(layer, "weight"))
        (False, True)
    """
    check_module("is_pruned", "module", module)
    return any(
        isinstance(hook, BasePruningMethod)
        for submodule in module.modules()
        for hook in submodule._forward_pre_hooks.values()
    )


__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured",
    "PruningContainer", "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured",
    "identity", "is_pruned", "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip
__dir__ = listing(globals())
