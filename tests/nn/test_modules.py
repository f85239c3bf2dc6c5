"""Names of torch.nn beside layers and functions: import paths, gradients of convolutions, choices of attention."""

import importlib
import pickle
from collections import OrderedDict

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, ArgumentTypeError, NotSupportedError, ShapeError
from flambeau.nn.attention import SDPBackend, _cur_sdpa_kernel_backends, sdpa_kernel
from flambeau.nn.modules.batchnorm import _BatchNorm
from flambeau.nn.modules.utils import (
    _list_with_default,
    _ntuple,
    _pair,
    _reverse_repeat_tuple,
    _single,
    consume_prefix_in_state_dict_if_present,
)

PATHS = """
activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy linear loss
module normalization padding pixelshuffle pooling rnn sparse transformer upsampling utils
"""


@pytest.mark.parametrize("path", PATHS.split())
def test_import_paths(path):
    module = importlib.import_module(f"flambeau.nn.modules.{path}")
    assert module is getattr(nn.modules, path) and module.__spec__.name == module.__name__
    for name in getattr(module, "__all__", []):
        made = getattr(module, name)
        if isinstance(made, type) and name not in ("LazyModuleMixin", "NonDynamicallyQuantizableLinear"):
            assert made is getattr(nn, name) is getattr(nn.modules, name)


def test_bases_of_layers():
    assert all(issubclass(each, _BatchNorm) for each in (nn.BatchNorm1d, nn.BatchNorm3d, nn.SyncBatchNorm))
    assert not issubclass(nn.InstanceNorm1d, _BatchNorm)
    assert issubclass(nn.Conv2d, nn.modules.conv._ConvNd) and issubclass(nn.Dropout2d, nn.modules.dropout._DropoutNd)
    assert issubclass(nn.L1Loss, nn.modules.loss._Loss) and issubclass(nn.MaxPool2d, nn.modules.pooling._MaxPoolNd)
    assert nn.modules.batchnorm._NormBase in nn.InstanceNorm2d.__mro__
    found = nn.Linear(1, 1).load_state_dict({}, strict=False)
    assert isinstance(found, nn.modules.module._IncompatibleKeys)
    assert type(pickle.loads(pickle.dumps(nn.modules.linear.Linear(1, 1)))) is nn.Linear


def test_a_path_that_is_missing():
    with pytest.raises(AttributeError, match="'flambeau.nn.modules' has no attribute 'thnn'"):
        nn.modules.thnn  # noqa: B018
    with pytest.raises(ImportError):
        importlib.import_module("flambeau.nn.modules.thnn")


def test_numbers_per_dimension():
    assert (_single(3), _pair(3), _pair([1, 2]), _ntuple(5)(0)) == ((3,), (3, 3), (1, 2), (0,) * 5)
    assert _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert _list_with_default([None, 4], [7, 8, 9]) == [8, 4] and _list_with_default(5, []) == 5
    with pytest.raises(ArgumentError, match="at least 3, got 2"):
        _list_with_default([None, 4], [7, 8])


def test_prefixes_of_keys():
    state = OrderedDict({"module.a": 1, "b": 2})
    state._metadata = OrderedDict({"": 0, "module": 1, "module.a": 2})
    consume_prefix_in_state_dict_if_present(state, "module.")
    assert dict(state) == {"a": 1, "b": 2} and dict(state._metadata) == {"": 1, "a": 2}


def test_keywords_of_factories():
    assert nn.factory_kwargs(None) == {}
    assert nn.factory_kwargs({"dtype": torch.int32}) == {"dtype": torch.int32}
    with pytest.raises(ArgumentTypeError, match=r"unexpected kwargs \['size'\]"):
        nn.factory_kwargs({"size": 1})
    with pytest.raises(ArgumentTypeError, match="dtype specified twice"):
        nn.factory_kwargs({"dtype": torch.int32, "factory_kwargs": {"dtype": torch.int8}})


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_gradients_of_convolutions(spatial, device, gpus):
    torch.manual_seed(spatial)
    x = torch.rand(2, 4, *(7,) * spatial, device=device, requires_grad=True)
    w = torch.rand(6, 2, *(3,) * spatial, device=device, requires_grad=True)
    numbers = 2, 1, 1, 2
    out = getattr(nn.functional, f"conv{spatial}d")(x, w, None, *numbers)
    flow = torch.rand_like(out)
    wanted = torch.autograd.grad(out, (x, w), flow)
    of_input = getattr(nn.grad, f"conv{spatial}d_input")(x.shape, w, flow, *numbers)
    assert of_input.equal(wanted[0]) and of_input.requires_grad
    with torch.no_grad():
        of_weight = getattr(nn.grad, f"conv{spatial}d_weight")(x, w.shape, flow, *numbers)
    assert of_weight.equal(wanted[1]) and not of_weight.requires_grad
    with pytest.raises(ShapeError, match=f"conv{spatial}d_input"):
        getattr(nn.grad, f"conv{spatial}d_input")((2, 5, *(7,) * spatial), w, flow, *numbers)


def test_the_choice_of_attention_is_recorded():
    q = torch.rand(1, 3, 4)
    wanted = nn.functional.scaled_dot_product_attention(q, q, q)
    outside = _cur_sdpa_kernel_backends()
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        assert _cur_sdpa_kernel_backends() == [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION, set_priority=True):
            assert _cur_sdpa_kernel_backends() == [SDPBackend.EFFICIENT_ATTENTION]
            assert nn.functional.scaled_dot_product_attention(q, q, q).equal(wanted)
    assert _cur_sdpa_kernel_backends() == outside and len(outside) == 4
    with pytest.raises(ArgumentTypeError, match="sdpa_kernel.*instance of SDPBackend.*'math'"), sdpa_kernel("math"):
        pass


def test_private_names_that_programs_import():
    """Parts of PyTorch that are imported by name in many programs."""
    for path, names in {
        "nn.init": "_calculate_correct_fan _calculate_fan_in_and_fan_out _no_grad_trunc_normal_",
        "nn.functional": "_canonical_mask _in_projection _in_projection_packed _none_or_dtype",
        "nn.modules.conv": "_ConvNd _ConvTransposeMixin _pair _reverse_repeat_tuple _single _triple",
        "nn.modules.module": "_IncompatibleKeys _addindent",
        "nn.modules.padding": "_CircularPadNd _ConstantPadNd _ReflectionPadNd _ReplicationPadNd",
        "nn.modules.pooling": "_pair _single _triple",
        "nn.modules.rnn": "apply_permutation",
        "nn.modules.transformer": "_get_activation_fn _get_clones",
        "nn.parallel.data_parallel": "DataParallel",
        "nn.parallel.parallel_apply": "parallel_apply",
        "nn.parallel.replicate": "replicate",
        "nn.parallel.scatter_gather": "gather scatter scatter_kwargs",
        "optim.optimizer": "ParamsT _get_value _use_grad_for_differentiable params_t",
    }.items():
        module = importlib.import_module(f"flambeau.{path}")
        assert [name for name in names.split() if not hasattr(module, name)] == []


def test_what_private_names_give():
    weight = torch.ones(3, 4, 2)
    assert nn.init._calculate_fan_in_and_fan_out(weight) == (8, 6)
    assert nn.init._calculate_correct_fan(weight, "FAN_OUT") == 6
    with pytest.raises(ArgumentError, match="'other'"):
        nn.init._calculate_correct_fan(weight, "other")
    assert nn.modules.module._addindent("a\nb", 2) == "a\n  b"
    clones = nn.modules.transformer._get_clones(nn.Linear(1, 1), 2)
    assert len(clones) == 2 and torch.equal(clones[0].weight, clones[1].weight)
    assert nn.modules.transformer._get_activation_fn("gelu") is nn.functional.gelu
    q, k, v = nn.functional._in_projection_packed(*[torch.ones(1, 2)] * 3, torch.arange(12.0).view(6, 2))
    assert (q.tolist(), v.tolist()) == ([[1.0, 5.0]], [[17.0, 21.0]]) and k.shape == (1, 2)
    mask = nn.functional._canonical_mask(torch.tensor([True, False]), "mask", None, "", torch.float32)
    assert mask.tolist() == [float("-inf"), 0.0]
    assert nn.modules.rnn.apply_permutation(torch.tensor([[1, 2]]), torch.tensor([1, 0])).tolist() == [[2, 1]]
    assert torch.optim.optimizer._get_value(torch.tensor(2.5)) == 2.5
    step = torch.optim.optimizer._use_grad_for_differentiable(lambda self: torch.is_grad_enabled())
    for is_recorded in (False, True):
        weights = [torch.ones(1, requires_grad=True)]
        assert step(torch.optim.SGD(weights, differentiable=is_recorded)) is is_recorded


def test_attention_by_own_functions_is_refused():
    from flambeau.nn.attention import flex_attention as flex

    for call in (flex.BlockMask, flex.create_block_mask, flex.flex_attention):
        with pytest.raises(NotSupportedError, match=f"{call.__name__}: .*\nhint: .*scaled_dot_product_attention"):
            call()
