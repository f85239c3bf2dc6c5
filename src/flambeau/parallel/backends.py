"""Backends by type of device (BackendConfig), and queries about the backends of this process's groups."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError, ValueRangeError, shown
from ..runtime.device import as_device
from .group import Backend, ReduceOp
from .process_group import group_count, is_nccl_available, member


class BackendConfig:
    """A table of the backend for each type of device.

    backend: one name, for all types of devices that it supports, or pairs as in "cpu:gloo,cuda:nccl".
    Raises: ArgumentError for a type that is given twice, for a part that is not a pair, and for a value that is not a
            str.
    Example:
        >>> str(torch.distributed.BackendConfig(torch.distributed.Backend("gloo")))
        'cpu:gloo,cuda:gloo'
    """

    def __init__(self, backend: str) -> None:
        self.device_backend_map: dict[str, Backend] = {}
        backend = Backend(backend)
        if ":" not in backend:
            one = Backend("gloo") if backend == Backend.UNDEFINED else backend
            types = ["cpu"] if backend == Backend.UNDEFINED else Backend.backend_capability.get(one, ["cpu", "cuda"])
            self.device_backend_map = dict.fromkeys(types, one)
            return
        for part in backend.split(","):
            device, _, name = part.strip().partition(":")
            if not name or device in self.device_backend_map:
                raise ArgumentError(
                    f"the backend must have one name for each type of device, got {shown(backend)}",
                    hint="pass for example 'cpu:gloo,cuda:nccl'",
                    operator="BackendConfig",
                )
            self.device_backend_map[device] = Backend(name)

    def __repr__(self) -> str:
        return ",".join(f"{device}:{backend}" for device, backend in self.device_backend_map.items())

    def get_device_backend_map(self) -> dict[str, Backend]:
        """Return a dictionary of the backend for each type of device.

        Example:
            >>> torch.distributed.BackendConfig("cpu:gloo,cuda:nccl").get_device_backend_map()
            {'cpu': 'gloo', 'cuda': 'nccl'}
        """
        return self.device_backend_map


def get_backend_config(group: Any = None) -> str:
    """Return the backend of a group for each type of device, as text such as "cpu:gloo,cuda:nccl".

    group: None for the default group.
    Raises: GroupError (RuntimeError, ValueError) before `init_process_group`, ArgumentTypeError for a value that
            is not a group.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_backend_config()
        'cpu:gloo,cuda:gloo'
        >>> torch.distributed.destroy_process_group()
    """
    return str(BackendConfig(member("get_backend_config", group).backend))


def is_backend_available(backend: str) -> bool:
    """Return whether a backend, or each backend of a list such as "cpu:gloo,cuda:nccl", is available.

    Raises: ArgumentError for a value that is not a str, and for a list that names a type of device twice.
    Example:
        >>> torch.distributed.is_backend_available("gloo"), torch.distributed.is_backend_available("mpi")
        (True, False)
    """
    name = Backend(backend)
    names = BackendConfig(name).get_device_backend_map().values() if ":" in name else [name]
    return all(entry == Backend.GLOO or entry == Backend.NCCL and is_nccl_available() for entry in names)


def get_default_backend_for_device(device: Any) -> str:
    """Return the default backend for a device: "gloo" for the CPU, "nccl" for a GPU.

    device: a torch.device, or its name.
    Raises: ValueRangeError for a device that is neither a CPU nor a GPU, DeviceNameError for a text that names no
            device.
    Example:
        >>> torch.distributed.get_default_backend_for_device("cuda:1")
        'nccl'
    """
    device_type = as_device(device).type
    backend_name = Backend.default_device_backend_map.get(device_type)
    if backend_name is None:
        raise ValueRangeError(
            f"no backend is known for device {shown(device)}",
            hint="pass a CPU or a GPU",
            operator="get_default_backend_for_device",
        )
    return backend_name


def get_pg_count() -> int:
    """Return the number of process groups of which this process is a member, with the default group.

    Example:
        >>> torch.distributed.get_pg_count()
        0
    """
    return group_count()


def supports_complex(reduceOp: ReduceOp) -> bool:
    """Return whether a ReduceOp (SUM, AVG, PREMUL_SUM) can reduce complex numbers as pairs of real numbers.

    Example:
        >>> op = torch.distributed.ReduceOp
        >>> torch.distributed.supports_complex(op.SUM), torch.distributed.supports_complex(op.MAX)
        (True, False)
    """
    return reduceOp in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PREMUL_SUM)
