"""Modules that make their parameters at the first call, and parameters without a shape."""

import copy
import pickle

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, ModeError, ShapeError, ValueRangeError
from flambeau.nn.lazy import LazyModuleMixin
from flambeau.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

LAYERS = [(nn.LazyLinear, nn.Linear, (), (5, 3))] + [
    (getattr(nn, f"Lazy{kind}{spatial}d"), getattr(nn, f"{kind}{spatial}d"), (2,), (2, 3, 4, 5, 6)[: 2 + spatial])
    for kind in ("Conv", "ConvTranspose")
    for spatial in (1, 2, 3)
]


@pytest.mark.parametrize(("kind", "becomes", "kernel", "shape"), LAYERS, ids=lambda each: getattr(each, "__name__", ""))
def test_the_first_call_makes_the_parameters(kind, becomes, kernel, shape):
    layer = kind(4, *kernel)
    assert isinstance(layer, becomes) and layer.has_uninitialized_params()
    assert [is_lazy(each) for each in layer.parameters()] == [True, True]
    weight, x = layer.weight, torch.rand(shape)
    torch.manual_seed(4)
    found = layer(x)
    assert type(layer) is becomes and layer.weight is weight and type(weight) is nn.Parameter
    torch.manual_seed(4)
    eager = becomes(3, 4, *kernel)
    assert repr(layer) == repr(eager) and found.equal(eager(x)) and layer(x).equal(found)
    assert not layer._forward_pre_hooks and not layer._load_state_dict_pre_hooks


def test_text_before_the_first_call():
    assert repr(nn.LazyConv2d(4, 3)) == "LazyConv2d(0, 4, kernel_size=(3, 3), stride=(1, 1))"
    assert repr(nn.LazyLinear(4, bias=False)) == "LazyLinear(in_features=0, out_features=4, bias=False)"


def test_type_and_copies_before_the_first_call():
    layer = nn.Sequential(nn.LazyConv1d(4, 3)).double()
    other = copy.deepcopy(layer)
    assert layer[0].weight.dtype is torch.float64 and is_lazy(other[0].weight)
    assert other(torch.ones(1, 2, 4, dtype=torch.float64)).dtype is torch.float64
    assert type(other[0]) is nn.Conv1d and type(layer[0]) is nn.LazyConv1d


def test_loading_a_state_makes_the_parameters():
    eager, layer = nn.Conv2d(2, 4, 3), nn.LazyConv2d(4, 3)
    layer.load_state_dict(eager.state_dict())
    assert layer.weight.equal(eager.weight) and not layer.has_uninitialized_params()
    x = torch.rand(1, 2, 5, 5)
    assert layer(x).equal(eager(x)) and repr(layer) == repr(eager)
    state = nn.LazyConv2d(4, 3).state_dict()
    assert is_lazy(state["weight"])
    with pytest.raises(ShapeError, match="uninitialized parameter"):
        eager.load_state_dict(state)
    again = nn.LazyConv2d(4, 3)
    again.load_state_dict(state)
    assert again.has_uninitialized_params()


def test_inputs_that_do_not_fit_leave_the_module_as_it_was():
    layer = nn.LazyConv2d(4, 3, groups=2)
    with pytest.raises(ShapeError, match=r"LazyConv2d.*\[5, 5\]"):
        layer(torch.ones(5, 5))
    with pytest.raises(ArgumentError, match="in_channels=3 and groups=2"):
        layer(torch.ones(1, 3, 5, 5))
    assert layer.has_uninitialized_params() and layer(torch.ones(1, 2, 5, 5)).shape == (1, 4, 3, 3)


@pytest.mark.parametrize("kind", [UninitializedParameter, UninitializedBuffer])
def test_tensors_without_a_shape(kind):
    made = kind(dtype=torch.float64)
    assert made.dtype is torch.float64 and made.requires_grad == (kind is UninitializedParameter)
    assert repr(made) == f"<{kind.__name__}>" and is_lazy(pickle.loads(pickle.dumps(made)))
    for use in (lambda: made.sum(), lambda: made + 1, lambda: 2 * made, lambda: made.fill_(1), lambda: made == made):
        with pytest.raises(ValueRangeError, match="uninitialized parameter"):
            use()
    for name in ("numel", "nelement", "stride", "tolist", "numpy", "item", "clone", "is_contiguous", "untyped_storage"):
        with pytest.raises(ValueRangeError, match=f"{name}: .*uninitialized parameter"):
            getattr(made, name)()
    for use in (lambda: made.shape, lambda: made.share_memory_()):
        with pytest.raises(ShapeError, match="uninitialized parameter"):
            use()
    made.materialize((2, 3))
    assert made.shape == (2, 3) and made.dtype is torch.float64 and not is_lazy(made)
    assert (made * 0 + 1).sum().item() == 6


class Scale(LazyModuleMixin, nn.Module):
    """A module of one's own that makes its parameter, or forgets it."""

    def __init__(self, forgets=False):
        super().__init__()
        self.forgets = forgets
        self.factor = UninitializedParameter()
        self.register_buffer("count", UninitializedBuffer())

    def initialize_parameters(self, x):
        self.count.materialize(())
        if not self.forgets:
            self.factor.materialize(x.shape[-1:])
            nn.init.ones_(self.factor)

    def forward(self, x):
        return x * self.factor


def test_a_lazy_module_of_ones_own():
    module = Scale()
    assert module(torch.ones(2, 3)).tolist() == [[1, 1, 1]] * 2 and type(module) is Scale
    with pytest.raises(ModeError, match="Scale has not been fully initialized"):
        Scale(forgets=True)(torch.ones(2, 3))


NORMS = [
    (getattr(nn, f"Lazy{kind}Norm{spatial}d"), getattr(nn, f"{kind}Norm{spatial}d"), (2, 3, 4, 5, 6)[: 2 + spatial])
    for kind in ("Batch", "Instance")
    for spatial in (1, 2, 3)
]


@pytest.mark.parametrize(("kind", "becomes", "shape"), NORMS, ids=lambda each: getattr(each, "__name__", ""))
def test_norms_find_their_channels(kind, becomes, shape):
    layer, eager = kind(1e-4, 0.2), becomes(3, 1e-4, 0.2, True, True)
    assert list(layer.state_dict()) == list(eager.state_dict()) and isinstance(layer, becomes)
    assert repr(layer).startswith(f"{kind.__name__}(0, eps=0.0001, momentum=0.2, affine=True, bias=True")
    x = torch.rand(shape)
    assert layer(x).equal(eager(x)) and type(layer) is becomes and repr(layer) == repr(eager)
    assert all(one.equal(other) for one, other in zip(layer.state_dict().values(), eager.state_dict().values()))
    loaded = kind()
    loaded.load_state_dict(eager.state_dict())
    assert loaded.running_mean.equal(eager.running_mean) and loaded.eval()(x).shape == x.shape
    with pytest.raises(ArgumentError, match=f"{kind.__name__}: expected .* input"):
        kind()(torch.ones(3))


def test_norms_without_parameters():
    layer = nn.LazyBatchNorm1d(affine=False, track_running_stats=False)
    assert not layer.has_uninitialized_params() and not layer.state_dict()
    assert repr(nn.LazyBatchNorm1d(bias=False)).count("bias=False") == 1
    x = torch.tensor([[1.0], [3.0]])
    assert layer(x).flatten().tolist() == pytest.approx([-1.0, 1.0], abs=1e-4) and layer.num_features == 1
    single = nn.LazyInstanceNorm1d()
    assert single(torch.rand(4, 7)).shape == (4, 7) and single.weight.shape == (4,)


def test_parameters_without_a_shape_move_and_convert(gpus):
    layer = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d())
    for move in (layer.cuda, layer.half, layer.float, layer.cpu, lambda: layer.to("cuda")):
        move()
        assert all(map(is_lazy, layer.parameters()))
    copied = copy.deepcopy(layer)
    assert copied(torch.ones(2, 3, device="cuda")).shape == (2, 4) and copied[0].weight.shape == (4, 3)
    assert all(map(is_lazy, layer.parameters()))
