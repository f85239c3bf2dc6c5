"""Module: what is registered, where it is found, and what moves."""

import copy

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, ArgumentTypeError, NotSupportedError


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Linear(3, 1, bias=False)
        self.scale = nn.Parameter(torch.tensor([2.0]))
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)
        self.plain = torch.ones(1)

    def forward(self, x):
        return self.second(self.first(x)) * self.scale


def test_names_come_in_order_of_registration():
    net = Net()
    names = ["scale", "first.weight", "first.bias", "second.weight"]
    assert [name for name, _ in net.named_parameters()] == names
    assert [name for name, _ in net.named_parameters(recurse=False)] == ["scale"]
    assert [name for name, _ in net.named_parameters(prefix="net")] == [f"net.{name}" for name in names]
    assert [name for name, _ in net.named_buffers()] == ["count", "scratch"]
    assert [name for name, _ in net.named_children()] == ["first", "second"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "second"]
    assert list(net.modules()) == [net, net.first, net.second]


def test_a_shared_parameter_counts_once():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    assert [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias", "1.bias"]
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert sorted(net.state_dict()) == ["0.bias", "0.weight", "1.bias", "1.weight"]


def test_assigning_moves_a_name_between_kinds():
    net = nn.Module()
    net.x = torch.ones(1)
    assert "x" in net.__dict__
    net.x = nn.Parameter(torch.ones(1))
    assert "x" not in net.__dict__
    assert [name for name, _ in net.named_parameters()] == ["x"]
    for value in (nn.Linear(1, 1), nn.Buffer(torch.ones(1))):
        with pytest.raises(ArgumentTypeError, match=f"{type(value).__name__}' object to parameter 'x'"):
            net.x = value
    del net.x
    net.x = nn.Buffer(torch.ones(1), persistent=False)
    assert [name for name, _ in net.named_buffers()] == ["x"]
    net.x = nn.Linear(1, 1)
    assert [name for name, _ in net.named_parameters()] == ["x.weight", "x.bias"]
    assert list(net.buffers()) == []
    with pytest.raises(ArgumentTypeError, match="'Buffer' as child module 'x'"):
        net.x = nn.Buffer(torch.ones(1))
    net.x = nn.Parameter(torch.ones(1))
    assert list(net.children()) == [] and list(net.state_dict()) == ["x"]
    del net.x
    assert not hasattr(net, "x")


def test_a_buffer_s_name_takes_plain_tensors_and_none():
    net = Net()
    net.count = torch.tensor([3.0])
    assert net.get_buffer("count").tolist() == [3.0]
    net.count = None
    assert [name for name, _ in net.named_buffers()] == ["scratch"]
    with pytest.raises(ArgumentTypeError, match="'int' object to buffer 'count'"):
        net.count = 3


def test_a_parameter_s_name_takes_no_plain_tensor():
    net = Net()
    with pytest.raises(ArgumentTypeError, match="cannot assign 'Tensor' object to parameter 'scale'"):
        net.scale = torch.ones(1)
    net.scale = None
    assert net.scale is None
    with pytest.raises(ArgumentTypeError, match="cannot assign 'int' as child module 'first'"):
        net.first = 3


def test_registering_checks_names():
    net = Net()
    for name, text in (("a.b", "contain a dot"), ("", "can't be empty"), ("forward", "already exists in Net")):
        with pytest.raises(ArgumentError, match=text):
            net.register_parameter(name, None)
        with pytest.raises(ArgumentError, match=text):
            net.register_buffer(name, None)
        with pytest.raises(ArgumentError, match=text):
            net.add_module(name, None)


def test_assigning_before_init_says_so():
    class Early(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(torch.ones(1))

    with pytest.raises(AttributeError, match=r"cannot assign parameter before Module.__init__\(\) call"):
        Early()


def test_a_missing_attribute_names_the_class():
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'third'"):
        _ = Net().third
    with pytest.raises(NotSupportedError, match=r"Module \[Module\] is missing the required \"forward\""):
        nn.Module()(1)


def test_paths_lead_to_members():
    net = nn.Sequential(Net(), nn.ReLU())
    assert net.get_submodule("0.first") is net[0].first
    assert net.get_submodule("") is net
    assert net.get_parameter("0.first.bias") is net[0].first.bias
    assert net.get_buffer("0.count") is net[0].count
    with pytest.raises(AttributeError, match="'Net' object has no parameter 'count'"):
        net.get_parameter("0.count")
    with pytest.raises(AttributeError, match="get_parameter: 'bias' is None"):
        nn.Linear(1, 1, bias=False).get_parameter("bias")


def test_casting_keeps_parameters_themselves_and_integers_as_they_are():
    net = Net()
    net.register_buffer("index", torch.zeros(2, dtype=torch.int64))
    weight = net.first.weight
    weight.grad = torch.ones(3, 2)
    assert net.double() is net
    assert net.first.weight is weight
    assert weight.dtype is torch.float64
    assert weight.grad.dtype is torch.float64
    assert net.count.dtype is torch.float64
    assert net.index.dtype is torch.int64
    assert net.half().first.bias.dtype is torch.float16
    assert net.bfloat16().first.bias.dtype is torch.bfloat16
    assert net.float().first.bias.dtype is torch.float32
    assert net.to(torch.float64).scale.dtype is torch.float64
    with pytest.raises(ArgumentTypeError, match="only accepts floating point"):
        net.to(torch.int64)


@pytest.mark.devices(2)
def test_moving_takes_gradients_and_buffers_along(gpus):
    net = Net()
    weight = net.first.weight
    net(torch.ones(4, 2)).sum().backward()
    before = weight.grad.tolist()
    net.to("cuda:1")
    assert net.first.weight is weight
    assert {str(each.device) for each in (*net.parameters(), *net.buffers())} == {"cuda:1"}
    assert str(weight.grad.device) == "cuda:1"
    assert weight.grad.tolist() == before
    assert net.plain.device.type == "cpu"
    net(torch.ones(4, 2, device="cuda:1")).sum().backward()
    assert weight.grad.tolist() == (2 * torch.tensor(before)).tolist()
    assert str(net.cuda().scale.device) == "cuda:0"
    assert net.cpu().scale.device.type == "cpu"


def test_modes_reach_every_module():
    net = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout()))
    assert net.eval() is net
    assert [each.training for each in net.modules()] == [False] * 4
    assert all(each.training for each in net.train().modules())
    with pytest.raises(ArgumentError, match="expected to be boolean, got 1"):
        net.train(1)


def test_gradients_are_dropped_or_zeroed():
    net = Net()
    net(torch.ones(1, 2)).sum().backward()
    kept = net.scale.grad
    net.zero_grad(set_to_none=False)
    assert kept.tolist() == [0.0]
    net.zero_grad()
    assert all(each.grad is None for each in net.parameters())
    assert not any(each.requires_grad for each in net.requires_grad_(False).parameters())


def test_apply_visits_children_first():
    seen = []
    Net().apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Linear", "Linear", "Net"]


def test_a_deep_copy_shares_nothing():
    net = Net()
    twin = copy.deepcopy(net)
    with torch.no_grad():
        for each in (*twin.parameters(), *twin.buffers()):
            each.add_(1)
    assert isinstance(twin.scale, nn.Parameter)
    assert twin.scale.tolist() == [3.0]
    assert net.scale.tolist() == [2.0]
    assert twin.first.weight.tolist() == (net.first.weight + 1).tolist()
    assert net.count.tolist() == [0.0]


def test_it_prints_as_a_tree():
    net = nn.Sequential(Net(), nn.Flatten())
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Net(\n"
        "    (first): Linear(in_features=2, out_features=3, bias=True)\n"
        "    (second): Linear(in_features=3, out_features=1, bias=False)\n"
        "  )\n"
        "  (1): Flatten(start_dim=1, end_dim=-1)\n"
        ")"
    )
    assert repr(nn.Module()) == "Module()"


def test_children_move_by_their_own_apply_and_shared_buffers_stay_shared():
    class Holder(nn.Module):
        def __init__(self, table):
            super().__init__()
            self.register_buffer("table", table)
            self.plain = torch.ones(1)

        def _apply(self, fn, recurse=True):
            super()._apply(fn, recurse)
            self.plain = fn(self.plain)
            return self

    table = torch.ones(2)
    net = nn.Sequential(Holder(table), Holder(table)).double()
    assert net[0].plain.dtype is torch.float64
    assert net[0].table is net[1].table and net[0].table.dtype is torch.float64


def test_a_submodule_is_set_at_a_path():
    net = nn.Sequential(nn.Sequential(nn.Tanh()))
    net.set_submodule("0.0", nn.ReLU())
    net.set_submodule("0.more", nn.Linear(1, 1))
    assert [type(each).__name__ for each in net[0]] == ["ReLU", "Linear"]
    with pytest.raises(AttributeError, match="other"):
        net.set_submodule("0.other", nn.ReLU(), strict=True)
    with pytest.raises(AttributeError, match="weight"):
        net.set_submodule("0.more.weight", nn.ReLU())
    for path, value in (("", nn.ReLU()), ("0.0", 3)):
        with pytest.raises(ArgumentError, match="set_submodule"):
            net.set_submodule(path, value)


def test_to_empty_keeps_shapes_and_objects():
    layer = nn.Linear(2, 3)
    weight = layer.weight
    assert layer.to_empty(device="cpu") is layer and layer.weight is weight
    assert (weight.shape, weight.requires_grad) == ((3, 2), True)


def test_the_next_constructor_is_called_where_the_class_asks_for_it():
    class Named:
        def __init__(self, name):
            self.name = name

    class Plain(nn.Module, Named):
        pass

    class Both(nn.Module, Named):
        call_super_init = True

    assert Both("net").name == "net"
    with pytest.raises(ArgumentTypeError, match="takes no arguments, got 'net'"):
        Plain("net")


def test_compile_has_no_effect():
    layer = nn.Linear(1, 1)
    assert layer.compile(mode="max-autotune") is None
    assert layer(torch.zeros(1, 1)).tolist() == [layer.bias.tolist()]
