"""Wrong calls of modules, containers, layers, losses, nn.init and nn.utils."""

import importlib

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import FlambeauError
from flambeau.nn import functional, init, utils
from tests.wrong import cases, refused

A, I = torch.ones(3, 4), torch.ones(3, dtype=torch.int64)  # noqa: E741


class Empty(nn.Module):
    pass


def linear():
    return nn.Linear(2, 3)


def parameter():
    return nn.Parameter(torch.ones(2))


def hooked(register, value, **options):
    def run():
        module = linear()
        getattr(module, register)(lambda *_: value, **options)
        module(torch.ones(4, 2, requires_grad=True)).sum().backward()

    return run


@cases(
    (lambda: Empty()(3), NotImplementedError, "Empty", "[Empty]"),
    (
        lambda: Empty().register_parameter("x", torch.ones(2)),
        TypeError,
        "register_parameter",
        "'Tensor'",
        "'x'",
        "float32[2] on cpu",
    ),
    (lambda: Empty().register_parameter("a.b", parameter()), KeyError, "register_parameter", "'a.b'"),
    (lambda: Empty().register_parameter("a.b", parameter()), ValueError, "register_parameter"),
    (lambda: Empty().register_parameter("", parameter()), KeyError, "register_parameter", "''"),
    (lambda: Empty().register_parameter(3, parameter()), TypeError, "register_parameter", "3"),
    (lambda: Empty().register_buffer("forward", A), KeyError, "register_buffer", "'forward'"),
    (lambda: Empty().register_buffer("x", 3), TypeError, "register_buffer", "'int'", "'x'", "3"),
    (lambda: Empty().add_module("x", 3), TypeError, "add_module", "'x'", "3"),
    (lambda: Empty().add_module("x", nn.ReLU), TypeError, "add_module", "'x'", "ReLU"),
    (lambda: Empty().register_module("training", linear()), KeyError, "register_module", "'training'"),
    (lambda: setattr(linear(), "weight", torch.ones(3, 2)), TypeError, "Linear", "'Tensor'", "'weight'"),
    (lambda: setattr(nn.Sequential(linear()), "0", 3), TypeError, "Sequential", "'int'", "'0'", "3"),
    (
        lambda: type("Early", (nn.Module,), {"__init__": lambda self: setattr(self, "x", parameter())})(),
        AttributeError,
        "Early",
    ),
    (lambda: linear().get_submodule("weight"), AttributeError, "get_submodule", "'weight'", "float32[3, 2] on cpu"),
    (lambda: linear().get_submodule("x"), AttributeError, "get_submodule", "'x'"),
    (lambda: linear().get_parameter("x"), AttributeError, "get_parameter", "'Linear'", "'x'"),
    (lambda: linear().get_buffer("weight"), AttributeError, "get_buffer", "'Linear'", "'weight'"),
    (lambda: linear().apply(3), TypeError, "apply", "3"),
    (lambda: linear().to("foo"), RuntimeError, "to", "foo"),
    (lambda: linear().to(torch.int64), TypeError, "to", "torch.int64"),
    (lambda: linear().to("cpu", device="cpu"), TypeError, "to", "'cpu'"),
    (lambda: linear().train("x"), ValueError, "train", "'x'"),
    (lambda: linear().requires_grad_("x"), TypeError, "requires_grad_", "'x'"),
    (lambda: linear().load_state_dict(3), TypeError, "load_state_dict", "3"),
    (
        lambda: linear().load_state_dict({"weight": torch.ones(5), "x": A}),
        RuntimeError,
        "load_state_dict",
        "[5]",
        "[3, 2]",
    ),
    (
        lambda: linear().load_state_dict({"module.weight": torch.ones(3, 2), "module.bias": torch.ones(3)}),
        RuntimeError,
        "load_state_dict",
    ),
    (
        lambda: linear().load_state_dict({"weight": "x", "bias": torch.ones(3)}),
        RuntimeError,
        "load_state_dict",
        '"weight"',
        "'x'",
    ),
    (lambda: linear().state_dict(destination=3), TypeError, "state_dict", "3"),
    (lambda: linear().state_dict(prefix=3), TypeError, "state_dict", "3"),
    (lambda: linear().register_forward_hook(3), TypeError, "register_forward_hook", "3"),
    (lambda: linear().register_full_backward_pre_hook("x"), TypeError, "register_full_backward_pre_hook", "'x'"),
    (hooked("register_forward_pre_hook", 3, with_kwargs=True), RuntimeError, "Linear", "3"),
    (hooked("register_full_backward_hook", 3), TypeError, "Linear", "3", "float32[4, 2] on cpu"),
    (hooked("register_full_backward_hook", (torch.ones(4, 2), torch.ones(1))), RuntimeError, "Linear", "2", "1"),
    (
        hooked("register_full_backward_hook", (torch.ones(9),)),
        RuntimeError,
        "Linear",
        "float32[4, 2] on cpu",
        "float32[9] on cpu",
    ),
    (hooked("register_full_backward_pre_hook", (torch.ones(4, 3), None)), RuntimeError, "Linear", "2", "1"),
    (lambda: nn.Parameter([1.0]), TypeError, "Parameter", "[1.0]"),
    (lambda: nn.Parameter(I), RuntimeError, "Parameter", "int64[3] on cpu"),
    (lambda: nn.Parameter(A, requires_grad="x"), TypeError, "Parameter", "'x'"),
    (lambda: nn.Buffer(3), TypeError, "Buffer", "3"),
)
def test_modules(case):
    refused(*case)


@cases(
    (lambda: nn.Sequential("x", linear()), TypeError, "Sequential", "'0'", "'x'"),
    (lambda: nn.Sequential({"a.b": linear()}), KeyError, "Sequential", "'a.b'"),
    (lambda: nn.Sequential(linear())[3], IndexError, "Sequential", "3", "1"),
    (lambda: nn.Sequential(linear())["x"], TypeError, "Sequential", "'x'"),
    (lambda: nn.Sequential(linear()).__setitem__(0, 3), TypeError, "Sequential", "'int'", "'0'"),
    (lambda: nn.Sequential(linear()).append(3), TypeError, "append", "'1'", "3"),
    (lambda: nn.Sequential(linear()).extend(3), TypeError, "extend", "3"),
    (lambda: nn.Sequential(linear()).insert(9, linear()), IndexError, "insert", "9", "1"),
    (lambda: nn.Sequential(linear()).insert("x", linear()), TypeError, "insert", "'x'"),
    (lambda: nn.Sequential(linear()).pop(4), IndexError, "pop", "4", "1"),
    (lambda: nn.ModuleList(3), TypeError, "ModuleList", "3"),
    (lambda: nn.ModuleList([linear()]) + 3, TypeError, "ModuleList", "3"),
    (lambda: nn.ModuleList([linear()])(3), NotImplementedError, "ModuleList"),
    (lambda: nn.ModuleDict(3), TypeError, "ModuleDict", "3"),
    (lambda: nn.ModuleDict({"a": 3}), TypeError, "ModuleDict", "'a'", "3"),
    (lambda: nn.ModuleDict({"a": linear()})["b"], KeyError, "ModuleDict", "'b'", "'a'"),
    (lambda: nn.ModuleDict({"a": linear()}).pop("b"), KeyError, "pop", "'b'", "'a'"),
    (lambda: nn.ModuleDict().update([("a",)]), ValueError, "update", "1", "2"),
    (lambda: nn.ModuleDict().update([3]), TypeError, "update", "3"),
    (lambda: nn.ModuleDict({"keys": linear()}), KeyError, "ModuleDict", "'keys'"),
    (lambda: nn.ParameterList([3]), TypeError, "ParameterList", "3"),
    (lambda: nn.ParameterList([parameter()])[3], IndexError, "ParameterList", "3", "1"),
    (lambda: nn.ParameterList().append("x"), TypeError, "append", "'x'"),
)
def test_containers(case):
    refused(*case)


@cases(
    (lambda: nn.Linear(-1, 2), RuntimeError, "Linear", "-1"),
    (lambda: nn.Linear(2, None), TypeError, "Linear", "None"),
    (lambda: nn.Linear(2, 2, dtype="x"), TypeError, "Linear", "'x'"),
    (lambda: nn.Linear(2, 2, dtype=torch.int64), RuntimeError, "Linear", "int64[2, 2] on cpu"),
    (lambda: nn.Linear(2, 2, device="foo"), RuntimeError, "Linear", "foo"),
    (lambda: linear()("x"), TypeError, "linear", "'x'"),
    (lambda: nn.Embedding(3, -2), RuntimeError, "Embedding", "-2"),
    (lambda: nn.Embedding(3, 2, padding_idx=3), ValueError, "Embedding", "3"),
    (lambda: nn.Embedding(3, 2, padding_idx="x"), TypeError, "Embedding", "'x'"),
    (lambda: nn.Embedding.from_pretrained(torch.ones(3)), RuntimeError, "from_pretrained", "float32[3] on cpu"),
    (lambda: nn.Embedding.from_pretrained(torch.ones(3, 2), padding_idx=7), ValueError, "from_pretrained", "7", "3"),
    (lambda: nn.Dropout(2.0), ValueError, "Dropout", "2.0"),
    (lambda: nn.Dropout("x"), TypeError, "Dropout", "'x'"),
    (lambda: nn.LayerNorm(-1), RuntimeError, "LayerNorm", "-1"),
    (lambda: nn.LayerNorm(2.5), TypeError, "LayerNorm", "2.5"),
    (lambda: nn.LayerNorm(4, eps="x"), TypeError, "LayerNorm", "'x'"),
    (lambda: nn.LayerNorm(5)(A), RuntimeError, "layer_norm", "[5]", "[3, 4]"),
    (lambda: nn.Unflatten(1, 3), TypeError, "Unflatten", "3"),
    (lambda: nn.Unflatten(1, (2.5, 2)), TypeError, "Unflatten", "2.5"),
    (lambda: nn.CrossEntropyLoss(weight=[1.0]), TypeError, "CrossEntropyLoss", "'list'", "'weight'", "[1.0]"),
    (lambda: nn.BCEWithLogitsLoss(pos_weight="x"), TypeError, "BCEWithLogitsLoss", "'str'", "'pos_weight'"),
    (lambda: nn.CrossEntropyLoss(reduction="x")(A, I), ValueError, "cross_entropy", "'x'"),
    (lambda: nn.ReLU()("x"), TypeError, "relu", "'x'"),
    (lambda: functional.relu_(3), TypeError, "relu_", "3"),
    (lambda: functional.silu(3, True), TypeError, "silu", "3"),
    (lambda: functional.dropout("x"), TypeError, "dropout", "'x'"),
    (lambda: functional.dropout(A, training="x"), TypeError, "dropout", "'x'"),
    (lambda: functional.softmax(3), TypeError, "softmax", "3"),
    (lambda: init.uniform_(3), TypeError, "uniform_", "3"),
    (lambda: init.normal_(torch.ones(2), std=-1), ValueError, "normal_", "-1"),
    (lambda: init.constant_(torch.ones(2), "x"), TypeError, "constant_", "'x'"),
    (lambda: init.zeros_(3), TypeError, "zeros_", "3"),
    (lambda: init.eye_(torch.ones(2)), ValueError, "eye_", "float32[2] on cpu"),
    (lambda: init.xavier_uniform_(torch.ones(2)), ValueError, "xavier_uniform_", "2", "1"),
    (lambda: init.xavier_normal_(torch.ones(0, 0)), ValueError, "xavier_normal_", "float32[0, 0] on cpu"),
    (lambda: init.kaiming_uniform_(torch.ones(2, 2), mode="x"), ValueError, "kaiming_uniform_", "x"),
    (lambda: init.kaiming_normal_(torch.ones(2, 2), nonlinearity="x"), ValueError, "kaiming_normal_", "x"),
    (lambda: init.calculate_gain("leaky_relu", True), ValueError, "calculate_gain", "True"),
    (lambda: utils.clip_grad_norm_([A], "x"), ValueError, "clip_grad_norm_", "'x'"),
    (lambda: utils.clip_grad_norm_([A], None), TypeError, "clip_grad_norm_", "None"),
    (lambda: utils.clip_grad_norm_(linear(), 1.0), TypeError, "clip_grad_norm_"),
    (lambda: utils.clip_grad_norm_([3], 1.0), TypeError, "clip_grad_norm_", "3"),
    (lambda: utils.clip_grad_value_([A], -1.0), RuntimeError, "clip_grad_value_", "-1.0"),
    (lambda: utils.get_total_norm([I]), RuntimeError, "get_total_norm"),
    (lambda: utils.get_total_norm([A], "x"), ValueError, "get_total_norm", "'x'"),
    (lambda: utils.parameters_to_vector([]), ValueError, "parameters_to_vector"),
    (lambda: utils.vector_to_parameters("x", []), TypeError, "vector_to_parameters", "'x'"),
    (
        lambda: utils.vector_to_parameters(A, [torch.ones(7)]),
        RuntimeError,
        "vector_to_parameters",
        "float32[3, 4] on cpu",
        "7",
    ),
)
def test_layers_and_functions(case):
    refused(*case)


def test_a_prefix_of_all_names_is_told():
    state = {f"module.{name}": value for name, value in linear().state_dict().items()}
    with pytest.raises(RuntimeError, match=r"hint: the state's names begin with 'module\.': strip that"):
        linear().load_state_dict(state)


def test_nothing_has_changed_after_a_refusal():
    row, table, values = nn.Sequential(linear()), nn.ModuleDict({"a": linear()}), nn.ParameterList([parameter()])
    weight = row[0].weight
    for call in (
        lambda: row.extend([linear(), 3]),
        lambda: row.insert(0, 3),
        lambda: row.insert(7, linear()),
        lambda: row.append("x"),
        lambda: table.update({"b": linear(), "c": 3}),
        lambda: values.extend([parameter(), "x"]),
        lambda: setattr(row[0], "weight", torch.ones(3, 2)),
        lambda: row.to("cpu", device="cpu"),
    ):
        with pytest.raises(FlambeauError):
            call()
    assert (len(row), list(table), len(values), row[0].weight is weight) == (1, ["a"], 1, True)


@cases(
    (lambda: torch.cuda.make_graphed_callables(3, ()), TypeError, "make_graphed_callables", "0", "3"),
    (lambda: torch.cuda.make_graphed_callables(abs, 3), TypeError, "make_graphed_callables", "0", "3"),
    (lambda: torch.cuda.make_graphed_callables((abs, abs), ((A,),)), ValueError, "make_graphed_callables", "2"),
    (
        lambda: torch.cuda.make_graphed_callables(abs, (A,), num_warmup_iters=-1),
        ValueError,
        "make_graphed_callables",
        "-1",
    ),
    (lambda: torch.cuda.make_graphed_callables(abs, (3,)), TypeError, "make_graphed_callables", "0", "3"),
)
def test_graphed_callables(gpus, case):
    refused(*case)


@pytest.mark.parametrize(
    ("module", "missing"),
    [
        ("autograd", "foo"),
        ("multiprocessing", "foo"),
        ("nn.functional", "scaled_mm"),
        ("nn.init", "foo"),
        ("nn.parallel", "DistributedDataParallelCPU"),
        ("nn.utils", "spectral"),
        ("optim", "foo"),
        ("optim.lr_scheduler", "EPOCH_DEPRECATION_WARNING"),
        ("utils", "mobile_optimizer"),
        ("utils.data", "backward_compatibility"),
    ],
)
def test_a_name_that_is_not_there_says_where_that_is_told(module, missing):
    with pytest.raises(
        AttributeError, match=f"^module 'flambeau.{module}' has no attribute '{missing}'\nhint: .*differences.md"
    ):
        getattr(importlib.import_module(f"flambeau.{module}"), missing)
