"""Clipping of gradients, and parameters as one vector."""

import importlib

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.core.queue import hooks
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DeviceIndexError,
    DtypeError,
    ModeError,
    ShapeError,
)
from flambeau.nn import utils


def params(*grads):
    made = [nn.Parameter(torch.zeros(len(each))) for each in grads]
    for param, each in zip(made, grads):
        param.grad = torch.tensor(each)
    return [*made, nn.Parameter(torch.zeros(1))]


def grads(found):
    return [value for each in found if each.grad is not None for value in each.grad.tolist()]


@pytest.mark.parametrize(("order", "norm"), [(2.0, 5.0), (1.0, 7.0), (float("inf"), 4.0), (3.0, 91 ** (1 / 3))])
def test_norms_are_of_all_gradients_together(order, norm):
    found = params([3.0], [0.0, -4.0])
    assert utils.clip_grad_norm_(found, 1e9, order).item() == pytest.approx(norm, rel=1e-6)
    assert grads(found) == [3.0, 0.0, -4.0]


def test_the_norm_of_order_zero_counts_gradients_that_are_not_all_zeros(gpus):
    """The values are those of PyTorch 2.13."""
    found = params([3.0, 0.0, 4.0], [0.0, -2.0], [0.0], [float("nan")])[:-1]
    where = [0, 0, 1, 1] if torch.cuda.device_count() > 1 else [0] * 4
    moved = [each.grad.to(device) for each, device in zip(found, where)]
    assert [utils.get_total_norm(each, 0).item() for each in (moved, [each.grad for each in found])] == [3.0, 3.0]
    assert utils.clip_grad_norm_(found[:3], 1.0, norm_type=0.0).item() == 2.0
    assert grads(found[:3]) == pytest.approx([1.5, 0.0, 2.0, 0.0, -1.0, 0.0], rel=1e-5)
    with pytest.raises(DtypeError, match=r"get_total_norm: tensors\[0\] is int64"):
        utils.get_total_norm([torch.ones(2, dtype=torch.int64)], 0)


def test_gradients_are_scaled_down_to_the_norm():
    found = params([3.0], [0.0, -4.0])
    utils.clip_grad_norm_(found, 1.0)
    assert grads(found) == pytest.approx([0.6, 0.0, -0.8], rel=1e-5)
    assert utils.clip_grad_norm_([nn.Parameter(torch.zeros(1))], 1.0).item() == 0.0
    assert utils.clip_grad_norm_(found[0], 1.0).item() == pytest.approx(0.6, rel=1e-5)


def test_a_norm_that_is_not_finite_may_be_an_error():
    found = params([float("inf")], [1.0])
    with pytest.raises(AutogradError, match="norm of order 2.0 of the gradients is non-finite: inf"):
        utils.clip_grad_norm_(found, 1.0, error_if_nonfinite=True)
    assert grads(found) == [float("inf"), 1.0]


@pytest.mark.devices(2)
def test_gradients_may_lie_on_several_devices(gpus):
    found = [nn.Parameter(torch.zeros(1, device=device)) for device in ("cuda:0", "cuda:1")]
    for param, value in zip(found, (3.0, 4.0)):
        param.grad = torch.full((1,), value, device=param.device)
    total = utils.clip_grad_norm_(found, 2.5)
    assert (str(total.device), total.item()) == ("cuda:0", 5.0)
    assert grads(found) == pytest.approx([1.5, 2.0], rel=1e-5)


def test_values_are_cut_off():
    found = params([3.0, -0.5], [-4.0])
    utils.clip_grad_value_(found, 1.0)
    assert grads(found) == [1.0, -0.5, -1.0]


def test_parameters_as_one_vector():
    net = nn.Linear(2, 1)
    vector = utils.parameters_to_vector(net.parameters())
    assert vector.tolist() == [*net.weight.tolist()[0], net.bias.item()]
    utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), net.parameters())
    assert (net.weight.tolist(), net.bias.tolist()) == ([[1.0, 2.0]], [3.0])
    with pytest.raises(ShapeError, match=r"the vector is float32\[2\] on cpu, the parameters have 3"):
        utils.vector_to_parameters(torch.ones(2), net.parameters())


@pytest.mark.devices(1)
def test_halves_are_scaled_by_a_norm_they_cannot_hold(gpus):
    found = [nn.Parameter(torch.zeros(100, device="cuda", dtype=torch.float16))]
    found[0].grad = torch.full((100,), 60000.0, device="cuda", dtype=torch.float16)
    total = utils.clip_grad_norm_(found, 10.0)
    assert (total.dtype, total.item()) == (torch.float16, float("inf"))
    assert found[0].grad.tolist() == pytest.approx([1.0] * 100, rel=1e-3)


@pytest.mark.devices(1)
def test_limits_are_writes_and_do_not_wait(gpus):
    found = [nn.Parameter(torch.zeros(3, device="cuda")) for _ in range(2)]
    for each in found:
        each.grad = torch.ones(3, device="cuda")
    before = [each.grad._storage.version for each in found]
    waits = []
    hooks.on_wait, kept = lambda *waiter: waits.append(waiter), hooks.on_wait
    try:
        utils.clip_grad_norm_(found, 1.0)
        utils.clip_grad_value_(found, 0.25)
    finally:
        hooks.on_wait = kept
    assert waits == []
    assert [each.grad._storage.version - version for each, version in zip(found, before)] == [2, 2]
    assert grads(found) == [0.25] * 6


def test_gradients_are_scaled_by_a_norm_that_was_made_before():
    found = params([3.0], [0.0, -4.0])
    total = utils.get_total_norm([each.grad for each in found if each.grad is not None])
    utils.clip_grads_with_norm_(found, 1.0, total)
    assert grads(found) == pytest.approx([0.6, 0.0, -0.8], rel=1e-5)
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        assert utils.clip_grad_norm(found, 0.5).item() == pytest.approx(1.0, rel=1e-5)


def test_modules_of_pytorch_have_their_functions():
    for path, name in (
        ("clip_grad", "clip_grad_value_"), ("convert_parameters", "parameters_to_vector"), ("init", "skip_init"),
        ("fusion", "fuse_conv_bn_eval"), ("memory_format", "convert_conv3d_weight_memory_format"),
        ("weight_norm", "remove_weight_norm"), ("spectral_norm", "remove_spectral_norm"),
    ):  # fmt: skip
        assert getattr(importlib.import_module(f"flambeau.nn.utils.{path}"), name) is getattr(utils, name)


@pytest.mark.parametrize("transpose", [False, True])
def test_batch_normalization_becomes_a_part_of_the_convolution(transpose):
    torch.manual_seed(0)
    conv = (nn.ConvTranspose2d if transpose else nn.Conv2d)(2, 3, 2, bias=not transpose).eval()
    norm = nn.BatchNorm2d(3).eval()
    norm.running_mean.normal_()
    norm.running_var.uniform_(1, 2)
    nn.init.normal_(norm.weight)
    x = torch.randn(2, 2, 4, 4)
    made = utils.fuse_conv_bn_eval(conv, norm, transpose)
    assert torch.allclose(made(x), norm(conv(x)), atol=1e-5) and isinstance(made.bias, nn.Parameter)
    assert made.weight.requires_grad and made.bias.requires_grad == (conv.bias is not None)
    with pytest.raises(AssertionError, match="training mode: BatchNorm2d"):
        utils.fuse_conv_bn_eval(conv, norm.train())


def test_batch_normalization_becomes_a_part_of_the_linear_layer():
    linear, norm, x = nn.Linear(2, 3).eval(), nn.BatchNorm1d(3).eval(), torch.ones(2, 2)
    norm.running_mean.fill_(2)
    assert torch.allclose(utils.fuse_linear_bn_eval(linear, norm)(x), norm(linear(x)), atol=1e-6)
    bare = nn.Linear(2, 3, bias=False).eval()
    fused = utils.fuse_linear_bn_eval(linear, norm), utils.fuse_linear_bn_eval(bare, norm)
    assert [each.bias.requires_grad for each in fused] == [True, False]
    with pytest.raises(AssertionError, match="3 outputs and a normalization of 4"):
        utils.fuse_linear_bn_eval(linear, nn.BatchNorm1d(4).eval())


def test_weights_change_their_memory_format():
    net = nn.Sequential(nn.Conv2d(2, 3, 2), nn.Conv3d(2, 3, 2))
    utils.convert_conv2d_weight_memory_format(net, torch.channels_last)
    assert (net[0].weight.stride(), net[1].weight.stride()) == ((8, 1, 4, 2), (16, 8, 4, 2, 1))
    utils.convert_conv3d_weight_memory_format(net, torch.channels_last_3d)
    assert net[1].weight.stride() == (16, 1, 8, 4, 2)


def test_a_module_without_initialization_draws_nothing():
    torch.manual_seed(0)
    made = utils.skip_init(nn.Linear, 2, 3, bias=False)
    assert (made.weight.shape, torch.rand(1).item()) == ((3, 2), pytest.approx(0.4962566))
    with pytest.raises(ModeError, match="ReLU must support a 'device'"):
        utils.skip_init(nn.ReLU)
    with pytest.raises(ArgumentTypeError, match="got 3"):
        utils.skip_init(3)


def test_the_former_functional_call_warns():
    with pytest.warns(FutureWarning, match=r"torch\.func\.functional_call"):
        values = {"weight": torch.tensor([[2.0]]), "bias": torch.tensor([1.0])}
        assert utils.stateless.functional_call(nn.Linear(1, 1), values, torch.tensor([[3.0]])).item() == 7.0


def test_wrong_arguments_are_refused_before_they_are_used():
    layer, conv, whole = nn.Linear(2, 3), nn.Conv2d(2, 3, 3), torch.ones(3, 4, dtype=torch.int64)
    norm = nn.BatchNorm2d(4).eval()
    rnn = utils.rnn
    ones = torch.ones(4)
    calls = [
        ("convert_conv2d_weight_memory_format", lambda name: getattr(utils, name)(3, torch.channels_last), "got 3"),
        ("fuse_conv_bn_eval", lambda name: getattr(utils, name)(3, norm), "the layer must be a Module, got 3"),
        (
            "fuse_conv_bn_weights",
            lambda name: getattr(utils, name)("a", None, ones, ones, 1e-5, None, None),
            "the weight must be a Tensor, got 'a'",
        ),
        ("register_parametrization", lambda name: getattr(utils.parametrize, name)(layer, "weight", 3), "got 3"),
        ("orthogonal", lambda name: getattr(utils.parametrizations, name)(3), "got 3"),
        ("spectral_norm", lambda name: getattr(utils, name)(3), "module must be a Module, got 3"),
        ("spectral_norm", lambda name: getattr(utils, name)(layer, n_power_iterations="a"), "got 'a'"),
        ("remove_weight_norm", lambda name: getattr(utils, name)(3), "module must be a Module, got 3"),
        ("is_pruned", lambda name: getattr(utils.prune, name)(3), "module must be a Module, got 3"),
        ("Identity", lambda _: utils.prune.identity(3, "weight"), "module must be a Module, got 3"),
        ("PackedSequence", lambda name: getattr(rnn, name)(3), "batch_sizes is missing.* 3"),
        ("PackedSequence", lambda name: getattr(rnn, name)("a", "b"), "data must be a Tensor, got 'a'"),
        ("pad_packed_sequence", lambda name: getattr(rnn, name)(3), "got 3"),
        ("unpad_sequence", lambda name: getattr(rnn, name)(whole, 3), "lengths must be a Tensor, got 3"),
        ("invert_permutation", lambda name: getattr(rnn, name)(3), "got 3"),
        (
            "consume_prefix_in_state_dict_if_present",
            lambda name: getattr(nn.modules.utils, name)({"a": 1}, 3),
            "prefix must be a str, got 3",
        ),
        ("update", lambda _: nn.ParameterDict().update([3]), r"parameters\[0\] must be a \(key, parameter\) pair"),
        ("fromkeys", lambda _: nn.ParameterDict().fromkeys(3), "keys must be a list of strings, got 3"),
        ("materialize", lambda _: nn.UninitializedParameter().materialize(3), "shape must be a list of ints, got 3"),
        ("LazyLinear", lambda _: nn.LazyLinear(3)("a"), "input must be a Tensor, got 'a'"),
        ("LazyConv1d", lambda _: nn.LazyConv1d(2, 3)("a"), "input must be a Tensor, got 'a'"),
        (
            "ConvTranspose1d",
            lambda _: nn.ConvTranspose1d(4, 2, 3)(torch.ones(4, 6), output_size=5),
            "output_size must be a list of ints, got 5",
        ),
        ("replace_all_batch_norm_modules_", lambda name: getattr(torch.func, name)(3), "root must be a Module, got 3"),
        (
            "TransformerEncoder",
            lambda _: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), "a"),
            "num_layers must be an int, got 'a'",
        ),
    ]
    for name, call, fact in calls:
        with pytest.raises(ArgumentTypeError, match=f"^{name}: .*{fact}"):
            call(name)
    shapes = [
        ("fuse_conv_bn_eval", lambda: utils.fuse_conv_bn_eval(conv.eval(), norm), r"\[3\] and \[4\]"),
        ("clip_grads_with_norm_", lambda: utils.clip_grads_with_norm_(params([1.0]), 1.0, torch.ones(3)), r"\[3\]"),
        ("unpad_sequence", lambda: rnn.unpad_sequence(whole, torch.tensor([1])), r"\[3, 4\] and lengths \[1\]"),
        ("LazyLinear", lambda: nn.LazyLinear(3)(torch.tensor(1.0)), r"\[\]"),
    ]
    for name, call, fact in shapes:
        with pytest.raises(ShapeError, match=f"^{name}: .*{fact}"):
            call()
    with pytest.raises(ArgumentError, match="^trunc_normal_: std must not be 0"):
        nn.init.trunc_normal_(torch.ones(2), std=0.0)
    with pytest.raises(DeviceIndexError, match="^to_empty: cuda:17"):
        layer.to_empty(device="cuda:17")
