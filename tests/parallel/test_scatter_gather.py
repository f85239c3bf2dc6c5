"""Nested inputs and outputs over devices, with gradients (1.16.4, 1.16.7)."""

from collections import OrderedDict, namedtuple

import pytest

import flambeau as torch
from flambeau.errors import ArgumentError
from flambeau.parallel import gather, scatter, scatter_kwargs
from flambeau.testing import machine

Pair = namedtuple("Pair", "x y")


def test_structures_are_walked(gpus):
    x = torch.arange(4.0)
    shared = object()
    first, second = scatter([x, (x, {"a": x}), Pair(x, 3), shared, "text", [], None], [0, 1])
    for part, expected, index in ((first, [0.0, 1.0], 0), (second, [2.0, 3.0], 1)):
        assert isinstance(part, list)
        assert isinstance(part[1], tuple)
        assert isinstance(part[2], Pair)
        tensors = (part[0], part[1][0], part[1][1]["a"], part[2].x)
        assert all(each.tolist() == expected and each.get_device() == index for each in tensors)
        assert part[2].y == 3
        assert part[3] is shared
        assert part[4:] == ["text", [], None]
    assert type(scatter(OrderedDict(a=x), [0, 1])[0]) is OrderedDict


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.devices(4)
def test_rows_go_to_as_many_devices_as_they_fill(gpus, count):
    x = torch.arange(float(count))
    parts = scatter(x, range(4))
    assert [each.get_device() for each in parts] == list(range(len(parts)))
    assert [row for part in parts for row in part.tolist()] == x.tolist()
    assert len(parts) == len(x.chunk(4))


def test_keywords_and_positions_get_equal_length(gpus):
    x = torch.arange(2.0)
    args, kwargs = scatter_kwargs((x,), {"y": x}, [0, 1])
    assert [len(each) for each in args] == [1, 1]
    assert [each["y"].tolist() for each in kwargs] == [[0.0], [1.0]]
    assert scatter_kwargs((), {"y": x[:1]}, [0, 1])[0] == ((),)
    args, kwargs = scatter_kwargs((x,), None, [0, 1])
    assert kwargs == ({}, {})
    assert scatter_kwargs((), {}, [0, 1]) == ((), ())


@pytest.mark.parametrize("device", ["cpu", "cuda:0", "cuda:1"])
def test_gradients_are_joined_where_the_tensor_is(gpus, device):
    x = torch.arange(5.0, device=device, requires_grad=True)
    parts = scatter(x, [0, 1])
    assert [str(each.device) for each in parts] == ["cuda:0", "cuda:1"]
    whole = gather([parts[0] * 2, parts[1] * 3], 1)
    assert (whole.get_device(), whole.tolist()) == (1, [0.0, 2.0, 4.0, 9.0, 12.0])
    (whole * whole).sum().backward()
    assert str(x.grad.device) == device
    assert x.grad.tolist() == [0.0, 8.0, 16.0, 54.0, 72.0]


def test_gradients_have_gradients(gpus):
    x = torch.tensor([2.0, 3.0], device="cuda:0", requires_grad=True)
    whole = gather([each**3 for each in scatter(x, [0, 1])], 0)
    (first,) = torch.autograd.grad(whole.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [12.0, 18.0]


def test_outputs_are_joined_by_structure(gpus):
    def output(index):
        x = torch.full((2,), float(index), device=f"cuda:{index}")
        return {"a": x, "b": (x, None), "c": Pair(x, [x])}

    found = gather([output(0), output(1)], 0)
    expected = [0.0, 0.0, 1.0, 1.0]
    assert found["b"][1] is None
    assert isinstance(found["c"], Pair)
    for each in (found["a"], found["b"][0], found["c"].x, found["c"].y[0]):
        assert (each.tolist(), each.get_device()) == (expected, 0)
    assert gather([output(0), output(1)], "cpu")["a"].device.type == "cpu"


def test_scalars_become_a_vector(gpus):
    x = torch.ones(2, device="cuda:0", requires_grad=True)
    with pytest.warns(UserWarning, match="all inputs were scalars; they are joined into a vector"):
        whole = gather([each.sum() * (index + 2) for index, each in enumerate(scatter(x, [0, 1]))], 0)
    assert whole.tolist() == [2.0, 3.0]
    whole.sum().backward()
    assert x.grad.tolist() == [2.0, 3.0]


def test_outputs_of_other_lengths_are_refused(gpus):
    x = torch.ones(1, device="cuda:0")
    with pytest.raises(ArgumentError, match=r"All dicts must have the same number of entries, they have \[1, 2\]"):
        gather([{"a": x}, {"a": x, "b": x}], 0)
    with pytest.raises(ArgumentError, match=r"All sequences must .* they have \[2, 1\]"):
        gather([(x, x), (x,)], 0)


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("schedule", ["submission", "seeded:1", "seeded:2"])
def test_cpu_inputs_are_ordered_before_their_use_on_any_stream(pinned, schedule):
    with machine(devices=2, schedule=schedule, races="error"):
        sides = [torch.cuda.Stream(index) for index in range(2)]
        for step in range(3):
            x = torch.full((6,), float(step))
            x = x.pin_memory() if pinned else x
            with torch.cuda.stream(sides[0]), torch.cuda.stream(sides[1]):
                parts = [each + 1 for each in scatter(x, [0, 1])]
                whole = gather(parts, 1)
            del x, parts
            torch.cuda.synchronize(1)
            with torch.cuda.stream(sides[1]):
                assert whole.tolist() == [step + 1.0] * 6
