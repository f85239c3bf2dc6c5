"""The package nn.utils: its modules, and wrong arguments of its functions."""

import importlib

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceIndexError,
    IndexRangeError,
    ShapeError,
)
from flambeau.nn import utils


def params(*grads):
    made = [nn.Parameter(torch.zeros(len(each))) for each in grads]
    for param, each in zip(made, grads):
        param.grad = torch.tensor(each)
    return [*made, nn.Parameter(torch.zeros(1))]


def test_modules_of_pytorch_have_their_functions():
    for path, name in (
        ("clip_grad", "clip_grad_value_"), ("convert_parameters", "parameters_to_vector"), ("init", "skip_init"),
        ("fusion", "fuse_conv_bn_eval"), ("memory_format", "convert_conv3d_weight_memory_format"),
        ("weight_norm", "remove_weight_norm"), ("spectral_norm", "remove_spectral_norm"),
    ):  # fmt: skip
        assert getattr(importlib.import_module(f"flambeau.nn.utils.{path}"), name) is getattr(utils, name)


def test_wrong_arguments_are_refused_before_they_are_used(gpus):
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


def test_lists_of_modules_and_sequences_are_checked():
    rows, encoder = torch.ones(2, 4), nn.TransformerEncoderLayer(4, 2)
    for name, call, fact in (
        ("MultiheadAttention", lambda: nn.MultiheadAttention("a", 2), "embed_dim must be an int, got 'a'"),
        ("TransformerEncoderLayer", lambda: encoder("a"), "src must be a Tensor, got 'a'"),
        ("Transformer", lambda: nn.Transformer(4, 2, 1, 1)("a", rows), "src must be a Tensor, got 'a'"),
        ("TripletMarginLoss", lambda: nn.TripletMarginLoss(margin="a"), "margin must be a number, got 'a'"),
        ("stack_module_state", lambda: torch.func.stack_module_state([3]), r"models\[0\] must be a Module, got 3"),
        ("stack_module_state", lambda: torch.func.stack_module_state(3), "models must be a list of modules, got 3"),
        (
            "global_unstructured",
            lambda: utils.prune.global_unstructured(3, utils.prune.L1Unstructured, amount=1),
            "parameters must be a list of",
        ),
        ("pad_sequence", lambda: utils.rnn.pad_sequence([rows], padding_value="a"), "padding_value must be a number"),
        (
            "embedding",
            lambda: nn.functional.embedding(torch.tensor([0]), rows, max_norm="a"),
            "max_norm must be a number, got 'a'",
        ),
    ):
        with pytest.raises(ArgumentTypeError, match=f"^{name}: {fact}"):
            call()
    with pytest.raises(ShapeError, match=r"^pad_sequence: .*\[2, 4\] at entry 0 and \[2, 3\]"):
        utils.rnn.pad_sequence([rows, rows[:, :3]])
    with pytest.raises(IndexRangeError, match="^linear_cross_entropy: Target 9"):
        nn.functional.linear_cross_entropy(rows, torch.ones(3, 4), torch.tensor([0, 9]))
    with pytest.raises(ArgumentError, match="^weight_norm: Linear has no parameter.* 'x'"):
        utils.parametrizations.weight_norm(nn.Linear(2, 2), "x")
