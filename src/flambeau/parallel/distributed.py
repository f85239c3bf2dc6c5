"""DistributedDataParallel of one process, which has nothing to exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import ArgumentError, ArgumentTypeError, AutogradError, shown
from ..nn.module import Module
from ..runtime.device import cuda_index
from . import process_group
from .data_parallel import check_place, scatter_kwargs


class DistributedDataParallel(Module):
    """Call a module in a process group of one process; its gradients are those of the module.

    device_ids: None, or the GPU that has the parameters; inputs are copied to it.  The options of the exchange have no
    effect.
    Raises: GroupError (RuntimeError) before `init_process_group`; AutogradError (RuntimeError) if no parameter requires
            a gradient; DeviceMismatchError if a parameter is on another device.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
        >>> net(torch.ones(4, 3)).shape, list(net.state_dict())
        (torch.Size([4, 2]), ['module.weight', 'module.bias'])
        >>> torch.distributed.destroy_process_group()
    """

    def __init__(
        self,
        module: Any,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        name = "DistributedDataParallel"
        self.process_group = _group(name, process_group)
        if not isinstance(module, Module):
            raise ArgumentTypeError(
                f"module must be a Module, got {shown(module)}", hint="derive from torch.nn.Module", operator=name
            )
        if not any(each.requires_grad for each in module.parameters()):
            raise AutogradError(
                f"DistributedDataParallel is not needed when a module doesn't have any parameters that require a "
                f"gradient: {type(module).__name__} has none",
                hint="call the module itself",
                operator=name,
            )
        self.module = module
        self.device_ids = _device_ids(name, device_ids)
        self.output_device = self.device_ids[0] if self.device_ids and output_device is None else output_device
        self.dim = dim
        self.device = next(module.parameters()).device
        self.broadcast_buffers = bool(broadcast_buffers)
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        if self.device_ids:
            check_place(module, self.device_ids[0], name)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self.device_ids:
            args, named = scatter_kwargs(inputs, kwargs, self.device_ids, self.dim)
            inputs, kwargs = (args[0], named[0]) if args else ((), {})
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Leave out the exchange of gradients inside: of one process there is none."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextmanager
    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True, **options: Any) -> Iterator[None]:
        """Let processes have different numbers of inputs: of one process, nothing is to be done."""
        yield

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Accept a function that would exchange gradients.  It is not called: of one process there is no exchange."""
        if not callable(hook):
            raise ArgumentTypeError(
                f"the hook cannot be called: {shown(hook)}", hint="pass a function", operator="register_comm_hook"
            )

    def _set_static_graph(self) -> None:
        self.static_graph = True


def _group(name: str, group: Any) -> Any:
    """Return a checked group.  The argument of __init__ hides the module's name there."""
    process_group.get_rank(group)
    return process_group.GroupMember.WORLD if group is None else group


def _device_ids(name: str, device_ids: Any) -> list[int]:
    """Return the indexes of a list of at most one GPU."""
    if device_ids is None:
        return []
    given = list(device_ids)
    if len(given) > 1:
        raise ArgumentError(
            f"device_ids can only be None or contain a single element, got {shown(given)}",
            hint="torch.nn.DataParallel takes several GPUs",
            operator=name,
        )
    return [cuda_index(each) for each in given]
