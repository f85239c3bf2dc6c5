"""Copies of a module (1.16.5)."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import DeviceMismatchError
from flambeau.parallel import replicate


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 1, bias=False)
        self.frozen = nn.Parameter(torch.ones(1), requires_grad=False)
        self.tied = nn.ModuleList([self.linear, nn.ReLU()])
        self.register_buffer("count", torch.zeros(1))
        self.register_parameter("none", None)
        self.note = ["shared"]

    def forward(self, x):
        return self.linear(x) * self.frozen


def net():
    made = Net().to("cuda:0")
    with torch.no_grad():
        made.linear.weight.copy_(torch.tensor([[2.0, 3.0]]))
    return made


def test_copies_have_values_on_their_devices(gpus):
    source = net()
    copies = replicate(source, [0, 1])
    for index, copy in enumerate(copies):
        assert type(copy) is Net
        assert copy.linear.weight.tolist() == [[2.0, 3.0]]
        assert {each.get_device() for each in (copy.linear.weight, copy.frozen, copy.count)} == {index}
        assert copy.tied[0] is copy.linear
        assert copy.linear is not source.linear
        assert copy.note is source.note
        assert copy.none is None
        assert list(copy.parameters()) == []
        assert not copy.linear.weight.is_leaf
        assert copy(torch.ones(1, 2, device=f"cuda:{index}")).tolist() == [[5.0]]


def test_gradients_are_summed_into_the_original(gpus):
    source = net()
    outputs = [
        copy(torch.full((1, 2), 10.0**index, device=f"cuda:{index}"))
        for index, copy in enumerate(replicate(source, [0, 1]))
    ]
    (outputs[0] + outputs[1].to("cuda:0")).sum().backward()
    assert source.linear.weight.grad.tolist() == [[11.0, 11.0]]
    assert source.linear.weight.grad.get_device() == 0
    assert source.frozen.grad is None


def test_buffers_on_the_first_device_are_the_original_s(gpus):
    source = net()
    first, second = replicate(source, [0, 1])
    first.count += 1
    second.count += 5
    first.extra = 3
    assert source.count.tolist() == [1.0]
    assert not hasattr(source, "extra")


def test_a_written_buffer_spoils_no_saved_parameter(gpus):
    source = net()
    copy = replicate(source, [0, 1])[1]
    out = copy(torch.ones(1, 2, device="cuda:1"))
    copy.count.add_(1)
    out.sum().backward()
    assert source.linear.weight.grad.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("detach", [True, False])
def test_without_gradients_copies_are_plain(gpus, detach):
    source = net()
    with torch.set_grad_enabled(detach):
        copies = replicate(source, [0, 1], detach=detach)
    assert not any(copy.linear.weight.requires_grad for copy in copies)
    assert copies[0].linear.weight.data_ptr() == source.linear.weight.data_ptr()


def test_buffers_may_need_gradients(gpus):
    source = net()
    source.scale = nn.Buffer(torch.ones(1, device="cuda:0"))
    source.scale.requires_grad_()
    copies = replicate(source, [0, 1])
    (copies[1].scale * 3).sum().backward()
    assert source.scale.grad.tolist() == [3.0]


def test_zero_grad_of_a_copy_warns(gpus):
    copy = replicate(net(), [0, 1])[1]
    with pytest.warns(UserWarning, match="this module is a replica made by DataParallel"):
        copy.zero_grad()


def test_parameters_must_be_on_the_first_device(gpus):
    with pytest.raises(DeviceMismatchError, match=r"on cuda:0, devices\[0\] is cuda:1"):
        replicate(net(), [1, 0])
