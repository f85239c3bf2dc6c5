"""Every operator that does not wait can be captured, and its replay gives the bits that a call gives."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.ops.operator import REGISTRY
from flambeau.tensor.factories import tensor
from flambeau.testing.samples import made

FAMILIES = sorted({operator.body.__module__.rpartition(".")[2] for operator in REGISTRY.values()})


def family(name):
    """(operator, arguments, keyword arguments) of a family's samples, on the GPU, in each operator's main type."""
    for operator in REGISTRY.values():
        if operator.body.__module__.rpartition(".")[2] != name or operator.host != "never" or not operator.dtypes:
            continue
        kind = dtypes.float32 if dtypes.float32 in operator.dtypes else operator.dtypes[0]
        for sample in operator.samples():
            options = {key: made(value, kind, on_gpu) for key, value in sample.kwargs.items()}
            yield operator, made(sample.args, kind, on_gpu), options


def on_gpu(dense, _):
    return tensor(dense, device="cuda")


def values(result):
    if isinstance(result, (tuple, list)):
        return [bits for each in result for bits in values(each)]
    return [] if result is None else [result.cpu().numpy().tobytes()]


def run(calls):
    return [operator(*args, **options) for operator, args, options in calls]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_replay_gives_the_bits_of_the_calls(gpus, name, sample):
    called, replayed = sample(family(name), 40), sample(family(name), 40)  # operators may write their operands
    if not called:
        return
    graph = torch.cuda.CUDAGraph()
    torch.manual_seed(3)
    expected = run(called)
    with torch.cuda.graph(graph):
        torch.zeros(1, device="cuda")  # views alone would be an empty graph
        found = run(replayed)
    torch.manual_seed(3)
    graph.replay()
    for (operator, args, _), one, other in zip(called, expected, found):
        assert values(one) == values(other), f"{operator.name}{args}"
