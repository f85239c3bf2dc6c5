"""Methods that change a tensor's own shape, strides or memory.  Values and rules are PyTorch's."""

import pytest

import flambeau as torch
from flambeau.errors import (
    AutogradError,
    DeviceMismatchError,
    DtypeError,
    IndexRangeError,
    NotSupportedError,
    ShapeError,
)  # fmt: skip

VIEWS = {
    "t_": (), "transpose_": (0, 1), "swapaxes_": (1, 0), "swapdims_": (0, -1), "unsqueeze_": (1,), "squeeze_": (),
    "as_strided_": ((3, 2), (1, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(VIEWS))
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_tensor_becomes_the_view(name, device, gpus):
    x = torch.arange(6.0, device=device).reshape(2, 3)
    wanted, address, other = getattr(x, name[:-1])(*VIEWS[name]), x.data_ptr(), x[1]
    version = x._version
    assert getattr(x, name)(*VIEWS[name]) is x
    assert x.equal(wanted) and x.stride() == wanted.stride() and x.data_ptr() == address
    assert x._version == version + 1 and other.tolist() == [3, 4, 5]


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_gradients_flow_through_the_new_shape(name):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    with pytest.raises(AutogradError, match=f"{name}: .*leaf"):
        getattr(x, name)(*VIEWS[name])
    of_view = getattr(x * 2, name[:-1])(*VIEWS[name])
    weight = torch.arange(6.0).reshape(of_view.shape)
    (wanted,) = torch.autograd.grad((of_view * weight).sum(), x)
    y = x * 2
    y.retain_grad()
    getattr(y, name)(*VIEWS[name])
    (y * weight).sum().backward()
    assert x.grad.equal(wanted) and y.grad.equal(weight) and not y._is_view()


def test_a_tensor_in_a_graph_is_turned_without_gradients():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = x * 2
    with torch.no_grad():
        y.t_()
    (y * torch.arange(6.0).reshape(3, 2)).sum().backward()
    assert x.grad.tolist() == [[0, 4, 8], [2, 6, 10]]


def test_a_view_of_a_tensor_in_a_graph():
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 1
    part, other = y[:, 1:], y[0]
    part.t_()
    part.mul_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert part.shape == (2, 2) and part._is_view() and y.tolist() == [[1, 1, 3], [1, 2, 4]]
    (y.sum() + other.sum() + part.sum()).backward()
    assert x.grad.tolist() == [[2, 3, 9], [1, 4, 8]]


def test_a_base_that_is_turned_keeps_its_views():
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 1
    row = y[0]
    y.t_()
    (row * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [[1, 2, 3], [0, 0, 0]]


def test_views_that_may_not_be_written():
    x = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(AutogradError, match="squeeze_: .*view of a leaf"):
        x[:1].squeeze_()
    with pytest.raises(AutogradError, match="unsqueeze_: .*multiple views"):
        (x * 1).unbind()[0].unsqueeze_(0)
    with torch.no_grad():
        view = x[:1]
        assert x.t_().shape == (3, 2) and x.is_leaf and x.requires_grad
    with pytest.raises(AutogradError, match="squeeze_: "):
        view.squeeze_()
    with pytest.raises(IndexRangeError, match="squeeze_: .*got 5"):
        torch.ones(2).squeeze_(5)
    with pytest.raises(ShapeError, match="t_: .*3"):
        torch.ones(2, 3, 4).t_()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_storage_grows_with_its_tensor(device, gpus):
    x = torch.arange(6.0, device=device).reshape(2, 3)
    row = x[1]
    assert x.resize_(2).tolist() == [0, 1] and x.untyped_storage().nbytes() == 24
    assert x.resize_(3, 3) is x and x.flatten()[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert x.untyped_storage() == row.untyped_storage() and x.untyped_storage().nbytes() == 36
    assert row.resize_((7,)).storage_offset() == 3 and row[:3].tolist() == [3, 4, 5]
    row[0] = 9
    assert x[1, 0] == 9
    turned = torch.ones(2, 3, device=device).t()
    assert turned.resize_(3, 2).stride() == (1, 3) and turned.resize_(2, 3).stride() == (3, 1)


def test_sizes_and_formats_of_resized_tensors():
    x = torch.ones(1)
    assert x.resize_((1, 3, 2, 2), memory_format=torch.channels_last).stride() == (12, 1, 6, 3)
    other = torch.ones(2, 3, 2, 2).contiguous(memory_format=torch.channels_last)
    assert x.resize_as_(other).stride() == (12, 4, 2, 1)
    assert x.resize_as_(other, memory_format=torch.preserve_format).stride() == (12, 1, 6, 3)
    with pytest.raises(RuntimeError, match="resize_: .*-1"):
        x.resize_(-1)
    for tensor in (torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True) * 1):
        with pytest.raises(AutogradError, match=r"resize_: .*float32\[2\]"):
            tensor.resize_(3)
    with pytest.raises(NotSupportedError, match="resize_: .*8 bytes"):
        torch.ones(2).share_memory_().resize_(3)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_tensor_over_other_memory(device, gpus):
    x, y = torch.zeros(2, device=device), torch.arange(6.0, device=device)
    assert x.set_(y) is x and x.is_set_to(y)
    assert x.set_(y.untyped_storage(), 1, (2, 2), (2, 1)).tolist() == [[1, 2], [3, 4]]
    assert x.set_(source=y.storage(), storage_offset=4, size=(2,)).tolist() == [4, 5]
    assert x.set_(y.storage()).tolist() == y.tolist() and x.set_(y, 5, ()).item() == 5
    x[...] = 8
    assert y[5] == 8
    x.set_(y.untyped_storage(), 5, (3,))
    assert y.untyped_storage().nbytes() == 32 and x[0] == 8 and y.shape == (6,)
    assert x.set_().shape == (0,) and x.device == y.device


def test_memory_that_does_not_fit():
    x = torch.zeros(2)
    with pytest.raises(DtypeError, match="set_: .*int64.*float32"):
        x.set_(torch.arange(2))
    with pytest.raises(TypeError, match="set_: .*3"):
        x.set_(3)
    weight = torch.ones(2, requires_grad=True)
    with pytest.raises(AutogradError, match="set_: .*leaf"):
        weight.set_(x)
    with torch.no_grad():
        assert weight.set_(torch.ones(5)).shape == (5,) and weight.requires_grad


def test_memory_of_another_device(gpus):
    with pytest.raises(DeviceMismatchError, match="set_: .*cuda:0.*cpu"):
        torch.zeros(2).set_(torch.zeros(2, device="cuda"))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_diagonal_is_set(device, gpus):
    x = torch.zeros(7, 2, device=device)
    assert x.fill_diagonal_(1).nonzero().tolist() == [[0, 0], [1, 1]]
    assert x.fill_diagonal_(2, wrap=True).nonzero().tolist() == [[0, 0], [1, 1], [3, 0], [4, 1], [6, 0]]
    cube = torch.zeros(2, 2, 2, device=device).fill_diagonal_(3)
    assert cube.nonzero().tolist() == [[0, 0, 0], [1, 1, 1]]
    for wrong in ((3,), (2, 3, 2)):
        with pytest.raises(ShapeError, match="fill_diagonal_: "):
            torch.zeros(wrong).fill_diagonal_(1)
    w = torch.ones(2, 2, requires_grad=True)
    (w * 1).fill_diagonal_(5).sum().backward()
    assert w.grad.tolist() == [[0, 1], [1, 0]]
