"""Modules that make their parameters at the first call, from the shape of its input."""

from __future__ import annotations

from typing import Any

from ..errors import ModeError, NotSupportedError, ShapeError
from ..tensor import checks
from ..tensor.tensor import Tensor
from .layers import Linear
from .parameter import UninitializedParameter, is_lazy


class LazyModuleMixin:
    """Mixin for modules whose parameters get their shapes from the first input.

    A subclass lists this mixin before its module class, and defines `initialize_parameters`, which makes parameters.
    The module's first call passes its arguments to this method, and then to forward.  In between, it changes the class
    of the module to `cls_to_become`, a class attribute, unless that is None.
    Raises: in the first call, ModeError if initialize_parameters leaves a parameter without a shape; ValueRangeError
            for other operations on such a parameter.
    Example:
        >>> class LazyScale(torch.nn.modules.LazyModuleMixin, torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.scale = torch.nn.UninitializedParameter()
        ...     def initialize_parameters(self, x):
        ...         self.scale.materialize(x.shape[-1:])
        ...         torch.nn.init.constant_(self.scale, 2.0)
        ...     def forward(self, x):
        ...         return self.scale * x
        >>> LazyScale()(torch.tensor([1.0, 3.0])).detach()
        tensor([2., 6.])
    """

    cls_to_become: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        self._load_hook = module.register_load_state_dict_pre_hook(_adopt_shapes)
        self._initialize_hook = module.register_forward_pre_hook(_infer, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes and values; subclasses define it.

        The module's first call passes its arguments to this method.
        Raises: NotSupportedError if the class does not define it.
        Example:
            >>> layer = torch.nn.LazyLinear(2)
            >>> layer.initialize_parameters(torch.ones(5, 3))
            >>> layer.weight.shape
            torch.Size([2, 3])
        """
        raise NotSupportedError(
            f"initialize_parameters is not implemented for {type(self).__name__}",
            hint="define initialize_parameters(self, ...) in the class, with the arguments of forward",
            operator=type(self).__name__,
        )

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer of this module has no shape yet.

        Example:
            >>> layer = torch.nn.LazyLinear(2)
            >>> layer.has_uninitialized_params()
            True
            >>> layer.initialize_parameters(torch.ones(5, 3))
            >>> layer.has_uninitialized_params()
            False
        """
        own = self.__dict__
        return any(is_lazy(tensor) for tensor in (*own["_parameters"].values(), *own["_buffers"].values()))


def _infer(module: Any, args: Any, kwargs: Any) -> None:
    """Make the parameters before the first call.  Raises ModeError if some are still missing afterwards."""
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise ModeError(
            f"module {module._get_name()} has not been fully initialized",
            hint="let initialize_parameters create all parameters of the module",
            operator=module._get_name(),
        )
    module._initialize_hook.remove()
    module._load_hook.remove()
    del module._initialize_hook, module._load_hook
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


def _adopt_shapes(module: Any, state: Any, prefix: str, *_: Any) -> None:
    """Before a state_dict is loaded, give parameters without a shape the shapes of its entries."""
    for name, value in (*module._parameters.items(), *module._buffers.items()):
        entry = state.get(prefix + name)
        if is_lazy(value) and entry is not None and not is_lazy(entry) and hasattr(entry, "shape"):
            value.materialize(entry.shape)


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` that takes in_features from its first input, and then becomes a plain Linear.

    Shapes: as `Linear`: input [*, in_features]; result [*, out_features].
    Raises: ArgumentTypeError, ValueRangeError for an out_features that is not an int or is negative; in forward,
            ShapeError for an input without dimensions, DtypeError for one of another dtype than the weight.
    Example:
        >>> layer = torch.nn.LazyLinear(2)
        >>> layer
        LazyLinear(in_features=0, out_features=2, bias=True)
        >>> layer(torch.ones(4, 3)).shape, layer
        (torch.Size([4, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        checks.count(self._get_name(), "out_features", out_features)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if self.in_features and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Create weight and bias; in_features is the size of the last dimension of `input`.

        Raises: ArgumentTypeError for an input that is not a tensor, ShapeError for one without dimensions.
        Example:
            >>> layer = torch.nn.LazyLinear(2)
            >>> layer.initialize_parameters(torch.ones(5, 3))
            >>> layer.weight.shape
            torch.Size([2, 3])
        """
        if not self.has_uninitialized_params():
            self.in_features = self.weight.shape[-1]
            return
        checks.tensor(self._get_name(), "input", input)
        if not input.ndim:
            raise ShapeError(
                "the input must have at least one dimension, got shape []",
                hint="pass a tensor whose last dimension holds the features",
                operator=self._get_name(),
            )
        self.in_features = input.shape[-1]
        weight: Any = self.weight
        weight.materialize((self.out_features, self.in_features))
        if self.bias is not None:
            bias: Any = self.bias
            bias.materialize((self.out_features,))
        self.reset_parameters()
