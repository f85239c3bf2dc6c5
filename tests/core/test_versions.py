"""Writes through `.data` have counters of their own; what depends on every write sees them."""

import gc

import pytest

import flambeau as torch
from flambeau.core.versions import writes_to
from flambeau.errors import AutogradError

OVERWRITTEN = "modified by an inplace operation"


@pytest.fixture(params=["cpu", "cuda"])
def device(request, gpus):
    return request.param


def test_backward_does_not_see_writes_through_data(device):
    def squared(write):
        x = torch.tensor([2.0, 3.0], device=device, requires_grad=True)
        z = x * 1
        square = z * z
        write(z)
        square.sum().backward()
        assert z._version == 0
        return x.grad.tolist()

    assert squared(lambda z: z.data.add_(1)) == [6, 8]
    assert squared(lambda z: z.data[0].add_(1)) == [6, 6]
    assert squared(lambda z: z.data.detach().add_(1)) == [6, 8]
    assert squared(lambda z: torch.add(z.detach(), 1, out=z.data)) == [6, 8]
    assert squared(lambda z: torch._foreach_add_([z.data], 1)) == [6, 8]
    assert squared(lambda z: z.data.copy_(torch.ones(2))) == [2, 2]
    for other in (lambda z: z.detach().add_(1), lambda z: z.detach()[0].add_(1)):
        with pytest.raises(AutogradError, match=f"{OVERWRITTEN}: float32.* is at version 1; expected version 0"):
            squared(other)


def test_a_saved_data_tensor_is_checked_by_its_own_counter(device):
    def product(write, part=lambda data: data):
        weight = torch.ones(2, device=device, requires_grad=True)
        x = torch.tensor([2.0, 3.0], device=device)
        data = x.data
        loss = (weight * part(data)).sum()
        write(x, data)
        loss.backward()
        return weight.grad.tolist()

    assert product(lambda x, data: x.add_(1)) == product(lambda x, data: x.data.add_(1)) == [3, 4]
    writes = [lambda x, data: data.add_(1), lambda x, data: data[0].add_(1), lambda x, data: data.detach().add_(1)]
    writes += [lambda x, data: torch.nn.Parameter(data).detach().add_(1)]
    for write in writes:
        with pytest.raises(AutogradError, match=OVERWRITTEN):
            product(write)
        with pytest.raises(AutogradError, match=OVERWRITTEN):
            product(write, lambda data: data.view(2, 1).t())


def test_versions_of_data(device):
    x = torch.ones(2, device=device)
    data = x.data
    x.add_(1)
    assert (data._version, x._version) == (0, 1)
    data.add_(1)
    data.mul_(2)
    assert (data._version, data.detach()._version, data[0]._version, x._version) == (2, 2, 2, 1)
    assert x.data._version == data.data._version == 0
    data.t_()
    assert (data._version, x._version) == (3, 1)
    with torch.inference_mode():
        assert x.data._version == 0 and torch.ones(2).data.is_inference()


def test_an_assigned_data_keeps_the_counter_of_its_tensor(device):
    x, y = torch.ones(2, device=device), torch.zeros(3, device=device)
    x.add_(1)
    y.add_(1).add_(1)
    x.data = y
    assert (x._version, y._version) == (1, 2)
    weight = torch.ones(3, device=device, requires_grad=True)
    loss = (weight * x).sum()
    y.add_(1)
    loss.backward()
    assert weight.grad.tolist() == [3, 3, 3] and (x._version, y._version) == (1, 3)
    loss = (weight * x).sum()
    x.add_(1)
    with pytest.raises(AutogradError, match="is at version 2; expected version 1"):
        loss.backward()
    assert y.tolist() == [4, 4, 4] and y._version == 3


def test_an_assigned_data_drops_the_former_memory(gpus):
    start = torch.cuda.memory_allocated()
    x = torch.ones(1024, device="cuda", requires_grad=True)
    gc.disable()
    try:
        x.data = torch.ones(2, device="cuda")
        assert torch.cuda.memory_allocated() - start == 512
    finally:
        gc.enable()


def test_every_write_to_a_storage_is_seen():
    x = torch.ones(4)
    seen = [writes_to(x._storage)]

    def is_new():
        seen.append(writes_to(x._storage))
        return seen[-1] not in seen[:-1]

    assert not is_new()
    x.add_(1)
    assert is_new()
    data = x.data
    seen.append(writes_to(x._storage))
    data.add_(1)
    assert is_new()
    data[0].add_(1)
    assert is_new()
    del data
    seen.append(writes_to(x._storage))
    x.data.add_(1)
    assert is_new()
    other = torch.zeros(1)
    other.data = x
    seen.append(writes_to(x._storage))
    other.zero_()
    assert is_new() and x.tolist() == [0, 0, 0, 0]


def test_a_cast_that_autocast_kept_is_renewed_after_a_write_through_data():
    weight = torch.ones(2, 2, requires_grad=True)
    data = weight.data
    with torch.autocast("cpu"):
        assert (torch.ones(1, 2) @ weight).tolist() == [[2, 2]]
        data.zero_()
        assert (torch.ones(1, 2) @ weight).tolist() == [[0, 0]]
        weight.data.fill_(3)
        assert (torch.ones(1, 2) @ weight).tolist() == [[6, 6]]
