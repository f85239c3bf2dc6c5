"""Tensors of the device meta: how they are made, what their results are, and what programs do with them."""

import io
import pickle

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import NotSupportedError
from flambeau.testing import machine

META = torch.device("meta")


@pytest.fixture(autouse=True)
def gpus():
    with machine(devices=2):
        yield


def test_factories_make_them():
    with META:
        made = [
            torch.empty(2),
            torch.ones(2),
            torch.tensor([1.0, 2.0]),
            torch.arange(3),
            torch.rand(2),
            torch.tensor([]),
        ]
    made += [
        torch.zeros(2, device="meta"),
        torch.empty_like(torch.ones(2), device=META),
        torch.as_tensor([1], device="meta"),
    ]
    made += [
        torch.ones(2).to("meta"),
        torch.ones(2, device="cuda").to("meta", torch.float64),
        torch.zeros_like(made[0]),
    ]
    for x in made:
        assert x.is_meta and x.device == META and not x.is_cuda
    assert (
        not torch.ones(1).is_meta and torch.ones(1).is_cpu and not made[0].is_cpu and torch.ones(1).device.type == "cpu"
    )
    assert torch.empty_like(made[0], device="cpu").device.type == "cpu" and "device='meta'" in repr(made[1])


def test_results_and_views_are_on_meta_too():
    x = torch.ones(2, 3, device="meta", requires_grad=True)
    y = (x @ torch.ones(3, 4, device="meta")).relu()
    assert y.shape == (2, 4) and all(each.is_meta for each in (x + 1, x.T, x[0], x.detach(), y, torch.cat([x, x])))
    y.sum().backward()
    assert x.grad.shape == x.shape


def test_nothing_is_computed():
    x = torch.zeros(20_000, 20_000, device="meta")  # 1.5 GiB, and the product would take minutes
    y = (x @ x + 1).softmax(-1).cumsum_(0)
    assert y.is_meta and y.shape == x.shape and y.sum().shape == ()


def test_modules_are_made_and_filled():
    with META:
        net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    assert all(x.is_meta for x in (*net.parameters(), *net.buffers()))
    state = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).state_dict()
    net.load_state_dict(state, assign=True)
    assert not any(x.is_meta for x in net.state_dict().values()) and net(torch.ones(4, 2)).shape == (4, 3)
    assert net.to("meta")[0].weight.is_meta and net.to_empty(device="cuda")[0].weight.is_cuda


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers_give_shapes(kind):
    def shapes(device, is_packed, **options):
        layer = getattr(torch.nn, kind)(3, 4, device=device, **options)
        x = torch.zeros(5, 2, 3, device=device, requires_grad=True)
        given = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3])) if is_packed else x
        out, state = layer(given)
        values = out.data if is_packed else out
        states = state if kind == "LSTM" else (state,)
        values.sum().backward()
        assert all(each.device.type == device for each in (values, *states, x.grad, layer.weight_hh_l0.grad))
        return [each.shape for each in (values, *states, x.grad, layer.weight_hh_l0.grad)]

    for options in ({}, {"num_layers": 2, "bidirectional": True, "dropout": 0.5}, {"batch_first": True, "bias": False}):
        for is_packed in (False, not options.get("batch_first")):
            assert shapes("meta", is_packed, **options) == shapes("cpu", is_packed, **options)
    cell = getattr(torch.nn, f"{kind}Cell")(3, 4, device="meta")
    found = cell(torch.zeros(2, 3, device="meta"))
    assert all(each.is_meta and each.shape == (2, 4) for each in (found if kind == "LSTM" else (found,)))


def test_initialization_draws_nothing():
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    with META:
        nn = torch.nn
        for net in (
            nn.Linear(3, 3),
            nn.Conv2d(1, 2, 3),
            nn.LSTM(2, 2),
            nn.Embedding(3, 2),
            nn.MultiheadAttention(4, 2),
        ):
            assert all(x.is_meta for x in net.parameters())
        for draw in (torch.rand, torch.randn, torch.randperm, lambda size: torch.ones(size).normal_()):
            assert draw(3).is_meta
        assert torch.nn.functional.dropout(torch.ones(3)).is_meta
        weight = torch.empty(3, 3)
        for fill in (nn.init.orthogonal_, nn.init.trunc_normal_, nn.init.xavier_normal_, nn.init.ones_):
            assert fill(weight) is weight
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize(
    "leave", [lambda x: x.cpu(), lambda x: x.cuda(), lambda x: x.to("cpu"), lambda x: x.to("cuda:1")]
)
def test_values_do_not_leave(leave):
    with pytest.raises(NotSupportedError, match="Cannot copy out of meta tensor; no data"):
        leave(torch.ones(2, device="meta"))
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        leave(torch.nn.Linear(1, 1, device="meta"))


READS = {
    "item": lambda x: x.sum().item(),
    "bool": lambda x: bool(x.sum()),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "array": lambda x: np.asarray(x),
    "dlpack": lambda x: x.__dlpack__(),
    "dlpack device": lambda x: x.__dlpack_device__(),
    "storage": lambda x: x.untyped_storage().tolist(),
    "save": lambda x: torch.save(x, io.BytesIO()),
    "pickle": lambda x: pickle.dumps(x),
    "equal": lambda x: torch.equal(x, x),
    "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 0],
    "to the CPU": lambda x: torch.zeros(2, 3).copy_(x),
    "to a GPU": lambda x: torch.zeros(2, 3, device="cuda").copy_(x),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_no_call_returns_values(read):
    with pytest.raises((NotImplementedError, TypeError), match="meta"):
        read(torch.ones(2, 3, device="meta"))


def test_a_file_is_left_as_it_was(tmp_path):
    path = tmp_path / "file.pt"
    torch.save([1], path)
    for value in (torch.ones(2, 3, device="meta"), torch.nn.Linear(2, 2, device="meta").state_dict()):
        with pytest.raises(NotSupportedError, match=r"save: Cannot copy out of meta tensor"):
            torch.save({"a": value}, path)
        with pytest.raises(NotSupportedError, match=r"pickle: Cannot copy out of meta tensor"):
            pickle.dumps(value)
    assert torch.load(path) == [1]


def test_shapes_are_printed_without_values():
    x = torch.zeros(2, 3, device="meta", dtype=torch.int64)
    assert repr(x) == "tensor(..., device='meta', size=(2, 3), dtype=torch.int64)" and x.data_ptr() == 0
    assert repr(x.sum()) == "tensor(..., device='meta', size=(), dtype=torch.int64)"


def test_numbers_mix_with_them_and_other_tensors_do_not():
    x = torch.ones(2, 3, device="meta")
    for y in (torch.tensor(2.0) * x, x * torch.tensor(2.0), x + 1, torch.where(x > 0, x, torch.tensor(0.0))):
        assert y.is_meta and y.view(-1).is_meta and y.shape == (2, 3)
    for other in (torch.ones(3), torch.ones(3, device="cuda")):
        with pytest.raises(
            RuntimeError, match=r"same device: input is float32\[2, 3\] on meta, other is float32\[3\] on c"
        ):
            x * other
    assert x.copy_(torch.ones(3)).is_meta and x.copy_(torch.ones(3, device="cuda")).is_meta
