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
    (lambda: Empty()(3), NotImplementedError, 'Empty: Module [Empty] is missing the required "forward" function'),
    (
        lambda: Empty().register_parameter("x", torch.ones(2)),
        TypeError,
        "register_parameter: cannot assign 'Tensor' object to parameter 'x' (torch.nn.Parameter or None required): "
        "float32[2] on cpu",
    ),
    (
        lambda: Empty().register_parameter("a.b", parameter()),
        KeyError,
        "register_parameter: parameter name can't be empty or contain a dot, got 'a.b'",
    ),
    (lambda: Empty().register_parameter("a.b", parameter()), ValueError, "register_parameter: "),
    (
        lambda: Empty().register_parameter("", parameter()),
        KeyError,
        "register_parameter: parameter name can't be empty or contain a dot, got ''",
    ),
    (
        lambda: Empty().register_parameter(3, parameter()),
        TypeError,
        "register_parameter: parameter name should be a string, got 3",
    ),
    (
        lambda: Empty().register_buffer("forward", A),
        KeyError,
        "register_buffer: attribute 'forward' already exists in Empty",
    ),
    (
        lambda: Empty().register_buffer("x", 3),
        TypeError,
        "register_buffer: cannot assign 'int' object to buffer 'x' (Tensor or None required): 3",
    ),
    (lambda: Empty().add_module("x", 3), TypeError, "add_module: int is not a Module subclass, child 'x' is 3"),
    (
        lambda: Empty().add_module("x", nn.ReLU),
        TypeError,
        "add_module: type is not a Module subclass, child 'x' is type ReLU\nhint: make one: ReLU(...)",
    ),
    (
        lambda: Empty().register_module("training", linear()),
        KeyError,
        "register_module: attribute 'training' already exists in Empty",
    ),
    (
        lambda: setattr(linear(), "weight", torch.ones(3, 2)),
        TypeError,
        "Linear: cannot assign 'Tensor' object to parameter 'weight'",
    ),
    (
        lambda: setattr(nn.Sequential(linear()), "0", 3),
        TypeError,
        "Sequential: cannot assign 'int' as child module '0' (Module or None expected): 3",
    ),
    (
        lambda: type("Early", (nn.Module,), {"__init__": lambda self: setattr(self, "x", parameter())})(),
        AttributeError,
        "Early: cannot assign parameter before Module.__init__() call",
    ),
    (
        lambda: linear().get_submodule("weight"),
        AttributeError,
        "get_submodule: 'weight' of 'weight' is float32[3, 2] on cpu, no Module",
    ),
    (lambda: linear().get_submodule("x"), AttributeError, "get_submodule: 'x' of 'x' is not in Linear"),
    (
        lambda: linear().get_parameter("x"),
        AttributeError,
        "get_parameter: 'Linear' object has no parameter 'x'\nhint: its parameters are: weight, bias",
    ),
    (lambda: linear().get_buffer("weight"), AttributeError, "get_buffer: 'Linear' object has no buffer 'weight'"),
    (lambda: linear().apply(3), TypeError, "apply: fn must be callable, got 3"),
    (
        lambda: linear().to("foo"),
        RuntimeError,
        "to: Expected one of cpu, cuda device type at start of device string: foo",
    ),
    (
        lambda: linear().to(torch.int64),
        TypeError,
        "to: nn.Module.to only accepts floating point dtypes, got desired dtype=torch.int64",
    ),
    (
        lambda: linear().to("cpu", device="cpu"),
        TypeError,
        "to: received ('cpu', device='cpu'), which passes device twice",
    ),
    (lambda: linear().train("x"), ValueError, "train: training mode is expected to be boolean, got 'x'"),
    (lambda: linear().requires_grad_("x"), TypeError, "requires_grad_: must be a bool, got 'x'"),
    (
        lambda: linear().load_state_dict(3),
        TypeError,
        "load_state_dict: expected state_dict to be dict-like, got int: 3",
    ),
    (
        lambda: linear().load_state_dict({"weight": torch.ones(5), "x": A}),
        RuntimeError,
        "load_state_dict: Error(s) in loading state_dict for Linear:\n\tMissing key(s) in state_dict: "
        '"bias".\n\tUnexpected key(s) in state_dict: "x".\n\tsize mismatch for weight: the state_dict has shape '
        "[5], the module has [3, 2].\nhint: ",
    ),
    (
        lambda: linear().load_state_dict({"module.weight": torch.ones(3, 2), "module.bias": torch.ones(3)}),
        RuntimeError,
        "load_state_dict: Error(s) in loading state_dict for Linear:",
    ),
    (
        lambda: linear().load_state_dict({"weight": "x", "bias": torch.ones(3)}),
        RuntimeError,
        "load_state_dict: Error(s) in loading state_dict for Linear:\n\t\"weight\" must be a Tensor, not str: 'x'.",
    ),
    (lambda: linear().state_dict(destination=3), TypeError, "state_dict: destination must be a dict, got 3"),
    (lambda: linear().state_dict(prefix=3), TypeError, "state_dict: prefix must be a str, got 3"),
    (lambda: linear().register_forward_hook(3), TypeError, "register_forward_hook: hook must be callable, got 3"),
    (
        lambda: linear().register_full_backward_pre_hook("x"),
        TypeError,
        "register_full_backward_pre_hook: hook must be callable, got 'x'",
    ),
    (
        hooked("register_forward_pre_hook", 3, with_kwargs=True),
        RuntimeError,
        "Linear: a forward pre-hook with kwargs must return None or a tuple of (args, kwargs), not 3",
    ),
    (
        hooked("register_full_backward_hook", 3),
        TypeError,
        "Linear: a backward hook returned 3 as grad_input[0], which is float32[4, 2] on cpu",
    ),
    (
        hooked("register_full_backward_hook", (torch.ones(4, 2), torch.ones(1))),
        RuntimeError,
        "Linear: a backward hook returned an invalid number of grad_input, got 2, but expected 1",
    ),
    (
        hooked("register_full_backward_hook", (torch.ones(9),)),
        RuntimeError,
        "Linear: a backward hook has changed the size of grad_input[0] from float32[4, 2] on cpu to float32[9] on cpu",
    ),
    (
        hooked("register_full_backward_pre_hook", (torch.ones(4, 3), None)),
        RuntimeError,
        "Linear: a backward hook returned an invalid number of grad_output, got 2, but expected 1",
    ),
    (lambda: nn.Parameter([1.0]), TypeError, "Parameter: data must be a Tensor or None, not list: [1.0]"),
    (
        lambda: nn.Parameter(I),
        RuntimeError,
        "Parameter: only Tensors of floating point dtype can require gradients, this is int64[3] on cpu",
    ),
    (lambda: nn.Parameter(A, requires_grad="x"), TypeError, "Parameter: must be a bool, got 'x'"),
    (lambda: nn.Buffer(3), TypeError, "Buffer: data must be a Tensor or None, not int: 3"),
)
def test_modules(call, error, begins):
    refused(call, error, begins)


@cases(
    (lambda: nn.Sequential("x", linear()), TypeError, "Sequential: str is not a Module subclass, child '0' is 'x'"),
    (
        lambda: nn.Sequential({"a.b": linear()}),
        KeyError,
        "Sequential: module name can't be empty or contain a dot, got 'a.b'",
    ),
    (
        lambda: nn.Sequential(linear())[3],
        IndexError,
        "Sequential: index 3 is out of range for 1 entries\nhint: use -1 to 0",
    ),
    (lambda: nn.Sequential(linear())["x"], TypeError, "Sequential: an index must be an int, got 'x'"),
    (
        lambda: nn.Sequential(linear()).__setitem__(0, 3),
        TypeError,
        "Sequential: cannot assign 'int' as child module '0'",
    ),
    (lambda: nn.Sequential(linear()).append(3), TypeError, "append: int is not a Module subclass, child '1' is 3"),
    (lambda: nn.Sequential(linear()).extend(3), TypeError, "extend: modules must be a list of modules, got 3"),
    (lambda: nn.Sequential(linear()).insert(9, linear()), IndexError, "insert: index 9 is out of range for 1 entries"),
    (lambda: nn.Sequential(linear()).insert("x", linear()), TypeError, "insert: index must be an int, got 'x'"),
    (lambda: nn.Sequential(linear()).pop(4), IndexError, "pop: index 4 is out of range for 1 entries"),
    (lambda: nn.ModuleList(3), TypeError, "ModuleList: modules must be a list of modules, got 3"),
    (lambda: nn.ModuleList([linear()]) + 3, TypeError, "ModuleList: the operand must be a list of modules, got 3"),
    (lambda: nn.ModuleList([linear()])(3), NotImplementedError, "ModuleList: it has no forward"),
    (lambda: nn.ModuleDict(3), TypeError, "ModuleDict: modules must be a list of (name, module) pairs, got 3"),
    (lambda: nn.ModuleDict({"a": 3}), TypeError, "ModuleDict: int is not a Module subclass, child 'a' is 3"),
    (lambda: nn.ModuleDict({"a": linear()})["b"], KeyError, "ModuleDict: there is no module 'b'; there are: 'a'"),
    (lambda: nn.ModuleDict({"a": linear()}).pop("b"), KeyError, "pop: there is no module 'b'; there are: 'a'"),
    (lambda: nn.ModuleDict().update([("a",)]), ValueError, "update: modules[0] has 1 entries, 2 are required"),
    (lambda: nn.ModuleDict().update([3]), TypeError, "update: modules[0] must be a (name, module) pair, got 3"),
    (lambda: nn.ModuleDict({"keys": linear()}), KeyError, "ModuleDict: attribute 'keys' already exists in ModuleDict"),
    (lambda: nn.ParameterList([3]), TypeError, "ParameterList: entries must be tensors, got int: 3"),
    (lambda: nn.ParameterList([parameter()])[3], IndexError, "ParameterList: index 3 is out of range for 1 entries"),
    (lambda: nn.ParameterList().append("x"), TypeError, "append: entries must be tensors, got str: 'x'"),
)
def test_containers(call, error, begins):
    refused(call, error, begins)


@cases(
    (lambda: nn.Linear(-1, 2), RuntimeError, "Linear: in_features must not be negative, got -1"),
    (lambda: nn.Linear(2, None), TypeError, "Linear: out_features must be an int, got None"),
    (lambda: nn.Linear(2, 2, dtype="x"), TypeError, "Linear: dtype must be a torch.dtype, got 'x'"),
    (
        lambda: nn.Linear(2, 2, dtype=torch.int64),
        RuntimeError,
        "Linear: only Tensors of floating point dtype can require gradients, this is int64[2, 2] on cpu",
    ),
    (
        lambda: nn.Linear(2, 2, device="foo"),
        RuntimeError,
        "Linear: Expected one of cpu, cuda device type at start of device string: foo",
    ),
    (lambda: linear()("x"), TypeError, "linear: argument 'input' must be a Tensor, not str"),
    (lambda: nn.Embedding(3, -2), RuntimeError, "Embedding: embedding_dim must not be negative, got -2"),
    (
        lambda: nn.Embedding(3, 2, padding_idx=3),
        ValueError,
        "Embedding: padding_idx 3 must be within num_embeddings 3\nhint: use -3 to 2",
    ),
    (lambda: nn.Embedding(3, 2, padding_idx="x"), TypeError, "Embedding: padding_idx must be an int, got 'x'"),
    (
        lambda: nn.Embedding.from_pretrained(torch.ones(3)),
        RuntimeError,
        "from_pretrained: the table must have 2 dimensions, this is float32[3] on cpu",
    ),
    (
        lambda: nn.Embedding.from_pretrained(torch.ones(3, 2), padding_idx=7),
        ValueError,
        "from_pretrained: padding_idx 7 must be within num_embeddings 3",
    ),
    (lambda: nn.Dropout(2.0), ValueError, "Dropout: dropout probability has to be between 0 and 1, but got 2.0"),
    (lambda: nn.Dropout("x"), TypeError, "Dropout: p must be a number, got 'x'"),
    (lambda: nn.LayerNorm(-1), RuntimeError, "LayerNorm: an entry of normalized_shape must not be negative, got -1"),
    (lambda: nn.LayerNorm(2.5), TypeError, "LayerNorm: normalized_shape must be an int or a list of ints, got 2.5"),
    (lambda: nn.LayerNorm(4, eps="x"), TypeError, "LayerNorm: eps must be a number, got 'x'"),
    (
        lambda: nn.LayerNorm(5)(A),
        RuntimeError,
        "layer_norm: given normalized_shape=[5], expected input with shape [*, 5]",
    ),
    (lambda: nn.Unflatten(1, 3), TypeError, "Unflatten: unflattened_size must be a tuple of ints, got 3"),
    (lambda: nn.Unflatten(1, (2.5, 2)), TypeError, "Unflatten: an entry of unflattened_size must be an int, got 2.5"),
    (
        lambda: nn.CrossEntropyLoss(weight=[1.0]),
        TypeError,
        "CrossEntropyLoss: cannot assign 'list' object to buffer 'weight' (Tensor or None required): [1.0]",
    ),
    (
        lambda: nn.BCEWithLogitsLoss(pos_weight="x"),
        TypeError,
        "BCEWithLogitsLoss: cannot assign 'str' object to buffer 'pos_weight'",
    ),
    (lambda: nn.CrossEntropyLoss(reduction="x")(A, I), ValueError, "cross_entropy: "),
    (lambda: nn.ReLU()("x"), TypeError, "relu: input must be a Tensor, got 'x'"),
    (lambda: functional.relu_(3), TypeError, "relu_: input must be a Tensor, got 3"),
    (lambda: functional.silu(3, True), TypeError, "silu: input must be a Tensor, got 3"),
    (lambda: functional.dropout("x"), TypeError, "dropout: input must be a Tensor, got 'x'"),
    (lambda: functional.dropout(A, training="x"), TypeError, "dropout: training must be a bool, got 'x'"),
    (lambda: functional.softmax(3), TypeError, "softmax: input must be a Tensor, got 3"),
    (lambda: init.uniform_(3), TypeError, "uniform_: tensor must be a Tensor, got 3"),
    (lambda: init.normal_(torch.ones(2), std=-1), ValueError, "normal_: expected std to be at least 0, got -1"),
    (
        lambda: init.constant_(torch.ones(2), "x"),
        TypeError,
        "constant_: the value must be a number or a tensor of one element, got 'x'",
    ),
    (lambda: init.zeros_(3), TypeError, "zeros_: tensor must be a Tensor, got 3"),
    (
        lambda: init.eye_(torch.ones(2)),
        ValueError,
        "eye_: Only tensors with 2 dimensions are supported, this has 1: float32[2] on cpu",
    ),
    (
        lambda: init.xavier_uniform_(torch.ones(2)),
        ValueError,
        "xavier_uniform_: fan in and fan out can not be computed for a tensor with fewer than 2 dimensions, this has 1",
    ),
    (
        lambda: init.xavier_normal_(torch.ones(0, 0)),
        ValueError,
        "xavier_normal_: float32[0, 0] on cpu has no inputs and no outputs",
    ),
    (lambda: init.kaiming_uniform_(torch.ones(2, 2), mode="x"), ValueError, "kaiming_uniform_: Mode x not supported"),
    (
        lambda: init.kaiming_normal_(torch.ones(2, 2), nonlinearity="x"),
        ValueError,
        "kaiming_normal_: Unsupported nonlinearity x",
    ),
    (
        lambda: init.calculate_gain("leaky_relu", True),
        ValueError,
        "calculate_gain: negative_slope True not a valid number",
    ),
    (lambda: utils.clip_grad_norm_([A], "x"), ValueError, "clip_grad_norm_: max_norm must be a number, got 'x'"),
    (lambda: utils.clip_grad_norm_([A], None), TypeError, "clip_grad_norm_: max_norm must be a number, got None"),
    (
        lambda: utils.clip_grad_norm_(linear(), 1.0),
        TypeError,
        "clip_grad_norm_: parameters must be a list of tensors, got Linear(in_features=2, out_features=3, "
        "bias=True)\nhint: give module.parameters()",
    ),
    (lambda: utils.clip_grad_norm_([3], 1.0), TypeError, "clip_grad_norm_: parameters[0] must be a Tensor, got 3"),
    (
        lambda: utils.clip_grad_value_([A], -1.0),
        RuntimeError,
        "clip_grad_value_: clip_value must not be negative, got -1.0",
    ),
    (lambda: utils.get_total_norm([I]), RuntimeError, "get_total_norm: "),
    (lambda: utils.get_total_norm([A], "x"), ValueError, "get_total_norm: norm_type must be a number, got 'x'"),
    (lambda: utils.parameters_to_vector([]), ValueError, "parameters_to_vector: "),
    (lambda: utils.vector_to_parameters("x", []), TypeError, "vector_to_parameters: vec must be a Tensor, got 'x'"),
    (
        lambda: utils.vector_to_parameters(A, [torch.ones(7)]),
        RuntimeError,
        "vector_to_parameters: the vector is float32[3, 4] on cpu, the parameters have 7 elements",
    ),
)
def test_layers_and_functions(call, error, begins):
    refused(call, error, begins)


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
    (
        lambda: torch.cuda.make_graphed_callables(3, ()),
        TypeError,
        "make_graphed_callables: callable 0 must be callable, got 3",
    ),
    (
        lambda: torch.cuda.make_graphed_callables(abs, 3),
        TypeError,
        "make_graphed_callables: the samples of callable 0 must be a tuple of tensors, got 3",
    ),
    (
        lambda: torch.cuda.make_graphed_callables((abs, abs), ((A,),)),
        ValueError,
        "make_graphed_callables: 2 callables and ",
    ),
    (
        lambda: torch.cuda.make_graphed_callables(abs, (A,), num_warmup_iters=-1),
        ValueError,
        "make_graphed_callables: num_warmup_iters must not be negative, got -1",
    ),
    (
        lambda: torch.cuda.make_graphed_callables(abs, (3,)),
        TypeError,
        "make_graphed_callables: sample argument 0 must be a Tensor, not int: 3",
    ),
)
def test_graphed_callables(gpus, call, error, begins):
    refused(call, error, begins)


@pytest.mark.parametrize(
    ("module", "missing"),
    [
        ("autograd", "foo"),
        ("multiprocessing", "foo"),
        ("nn.functional", "scaled_mm"),
        ("nn.init", "foo"),
        ("nn.parallel", "DistributedDataParallelCPU"),
        ("nn.utils", "spectral"),
        ("optim", "SparseAdam"),
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
