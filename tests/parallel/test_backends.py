"""Backends: their names, and which are available."""

import pytest

from flambeau import distributed as dist
from flambeau.testing import machine


@pytest.mark.parametrize("name", [None, 1])
def test_names_of_backends_are_text(name):
    for call in (dist.Backend, dist.BackendConfig, dist.is_backend_available):
        with pytest.raises(ValueError, match=f"Backend: the name must be a str, got {name}\nhint: "):
            call(name)


def test_a_list_of_backends_is_available_if_all_are():
    assert dist.is_backend_available("CPU:gloo") and dist.is_backend_available("cpu:gloo,cuda:gloo")
    with machine(devices=1):
        assert dist.is_backend_available("cpu:gloo,cuda:nccl")
    assert not dist.is_backend_available("cpu:gloo,cuda:mpi") and not dist.is_backend_available("undefined")
