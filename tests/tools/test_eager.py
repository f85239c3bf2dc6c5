"""Stand-ins for PyTorch's compilers, which run eagerly: compile, jit, onnx, fx, library."""

import logging
import pickle

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, ArgumentTypeError, NotSupportedError
from flambeau.tools import eager


def double(x):
    return x * 2


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fullgraph": True, "dynamic": False, "backend": "eager", "mode": "max-autotune", "disable": True},
        {"backend": lambda graph, inputs: graph, "options": {"triton.cudagraphs": True}, "name": "net"},
    ],
)
def test_compile_returns_the_callable(options):
    net = nn.Linear(2, 2)
    assert torch.compile(net, **options) is net and torch.compile(double, **options) is double
    assert torch.compile(**options)(double) is double


def test_compile_says_once_that_it_runs_eagerly(caplog, monkeypatch):
    monkeypatch.setattr(eager, "_said", [])
    with caplog.at_level(logging.INFO, "flambeau"):
        torch.compile(double)
        torch.compile(nn.Identity())
        torch.jit.script(double)
    assert [(each.levelname, each.name, each.getMessage().split(":")[0]) for each in caplog.records] == [
        ("INFO", "flambeau", "compile"),
        ("INFO", "flambeau", "jit.script"),
    ]
    assert "eagerly" in caplog.text


def test_compile_refuses_what_cannot_be_compiled():
    with pytest.raises(ArgumentTypeError, match="compile: .* 3\nhint"):
        torch.compile(3)
    with pytest.raises(ArgumentError, match="'default' and {'a': 1}"):
        torch.compile(double, mode="default", options={"a": 1})


def test_the_compiler_s_switches_have_no_effect():
    config = torch._dynamo.config
    before = config.cache_size_limit
    config.cache_size_limit = max(64, before)
    torch._inductor.config.triton.cudagraphs = True
    torch._dynamo.reset()
    torch.compiler.reset()
    assert torch._dynamo.optimize("inductor")(double) is double
    assert torch._dynamo.disable(double) is double and torch.compiler.disable(recursive=False)(double) is double
    assert not torch.compiler.is_compiling() and not torch._dynamo.is_compiling() and config.cache_size_limit == 64
    config.cache_size_limit = before
    with torch.compiler.set_stance("force_eager"):
        assert torch.compiler.list_backends() == []


class Scripted(torch.jit.ScriptModule):
    __constants__ = ["size"]
    size: torch.jit.Final[int]

    def __init__(self):
        super().__init__()
        self.size = 2
        self.weight = nn.Parameter(torch.ones(2))

    @torch.jit.script_method
    def forward(self, x):
        return self.weight * x if torch.jit.is_scripting() else self.helper(x)

    @torch.jit.unused
    def helper(self, x):
        return self.weight * x * self.size

    @torch.jit.ignore
    def ignored(self):
        return 1

    @torch.jit.ignore(drop=True)
    def dropped(self):
        return 2

    @torch.jit.export
    def exported(self):
        return 3


def test_scripted_modules_run_eagerly():
    net = torch.jit.script(Scripted())
    assert net(torch.ones(2)).tolist() == [2.0, 2.0] and list(net.state_dict()) == ["weight"]
    assert (net.ignored(), net.dropped(), net.exported()) == (1, 2, 3)
    assert isinstance(net, torch.jit.ScriptModule) and not isinstance(nn.Linear(1, 1), torch.jit.ScriptModule)
    assert torch.jit.trace(net, torch.ones(2), check_trace=False) is net
    assert torch.jit.freeze(torch.jit.optimize_for_inference(net)) is net
    with torch.jit.optimized_execution(False), torch.jit.fuser("fuser2"):
        assert pickle.loads(pickle.dumps(net)).size == 2


def test_values_and_types_of_scripts():
    assert torch.jit.annotate(list[int], [1]) == [1]
    assert torch.jit.isinstance({"a": 1}, dict[str, int]) and not torch.jit.isinstance(1, [str, list[int]])
    assert torch.jit.isinstance(1, int | str)
    assert torch.jit.wait(torch.jit.fork(double, 4)) == 8
    assert torch.jit.Attribute([], list[int]).value == []


def test_compiled_files_are_refused(tmp_path):
    net = nn.Linear(1, 1)
    for call in (
        lambda: torch.jit.save(net, tmp_path / "net.pt"),
        lambda: torch.jit.load(tmp_path / "net.pt"),
        lambda: torch.onnx.export(net, torch.ones(1), tmp_path / "net.onnx"),
        lambda: torch.fx.symbolic_trace(net),
        lambda: torch.export.export(net, (torch.ones(1),)),
        lambda: torch.fx.Tracer(),
    ):
        with pytest.raises(NotSupportedError, match="\nhint: "):
            call()
    assert list(tmp_path.iterdir()) == [] and torch.onnx.is_in_onnx_export() is False


def test_wrapped_functions_stay_themselves():
    assert torch.fx.wrap("len") == "len" and torch.fx.wrap(double) is double
    assert torch.onnx.symbolic_helper.parse_args("v", "i")(double) is double


def test_compiled_extensions_are_refused():
    with pytest.raises(OSError, match="load_library: '/lib/mine.so'"):
        torch.ops.load_library("/lib/mine.so")
    with pytest.raises(AttributeError, match=r"torch\.ops\.mine.*'absent'\nhint: .*coverage\.md"):
        torch.ops.mine.absent  # noqa: B018


def test_pytorch_s_internal_names_of_operators():
    aten = torch.ops.aten
    x = torch.tensor([2.0])
    assert aten.add.Tensor is aten.add and aten.add.Tensor(x, 1).item() == 3 and aten.clone.default(x) is not x
    assert {aten.mul.Tensor: 1}[aten.mul.Scalar] == 1
    with pytest.raises(NotSupportedError, match="torch.ops.aten._to_copy: .*_to_copy is not supported"):
        aten._to_copy.default(x)


def test_custom_operators_run_and_have_derivatives():
    @torch.library.custom_op("eager_test::scaled", mutates_args=())
    def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
        return x.detach() * factor

    @scaled.register_fake
    def _(x, factor):
        return torch.empty_like(x)

    x = torch.ones(2, requires_grad=True)
    assert torch.ops.eager_test.scaled(x, 3.0).requires_grad is False

    def setup(ctx, inputs, output):
        ctx.factor = inputs[1]

    scaled.register_autograd(lambda ctx, grad: (grad * ctx.factor, None), setup_context=setup)
    scaled(x, 3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_the_derivative_of_a_custom_operator_gets_all_arguments_with_their_defaults():
    seen = []

    @torch.library.custom_op("eager_test::blended", mutates_args=())
    def blended(x: torch.Tensor, y: torch.Tensor, weight: float = 0.5, *, scale: float = 1.0) -> torch.Tensor:
        return (x * weight + y * (1 - weight)) * scale

    def setup(ctx, inputs, keyword_only_inputs, output):
        ctx.weight, ctx.scale = inputs[2], keyword_only_inputs["scale"]
        seen.append((len(inputs), output.tolist(), ctx.needs_input_grad))

    def backward(ctx, grad):
        return grad * ctx.weight * ctx.scale, grad * (1 - ctx.weight) * ctx.scale, None

    blended.register_autograd(backward, setup_context=setup)
    x, y = torch.ones(1, requires_grad=True), torch.zeros(1)
    blended(x, y=y, scale=4.0).backward()
    assert x.grad.tolist() == [2.0] and y.grad is None
    assert seen == [(3, [2.0], (True, False, False))]


def test_functions_of_complex_numbers_say_that_there_are_none():
    with pytest.raises(NotImplementedError, match=r"fft\.rfft: complex arithmetic .*\nhint: numpy\.fft"):
        torch.fft.rfft(torch.ones(3))
    assert torch.storage.UntypedStorage is torch.UntypedStorage
    assert torch.__config__.show().startswith("flambeau: ") and not isinstance(3, torch.SymInt)
    assert torch.backends.cpu.get_cpu_capability() == "DEFAULT"


def test_libraries_define_functions():
    library = torch.library.Library("eager_test2", "DEF")
    library.define("double(Tensor x) -> Tensor")
    library.impl("double", lambda x: x * 0, "Meta")
    torch.library.Library("eager_test2", "IMPL", "CPU").impl("double", double)
    torch.library.Library("eager_test2", "IMPL", "Meta").impl("double", None)
    assert torch.ops.eager_test2.double(3) == 6
    x = torch.ones(1, requires_grad=True)
    torch.library.register_autograd("eager_test2::double", lambda ctx, grad: grad * 5)
    torch.ops.eager_test2.double(x).backward()
    assert x.grad.tolist() == [5.0]
    for call, fact in (
        (lambda: torch.library.custom_op(3), "custom_op: the name must be a str, got 3"),
        (lambda: torch.library.custom_op("mine::three", 3), "custom_op: expected a function or a module, got 3"),
        (lambda: torch.library.Library("mine").define(3), "Library.define: the schema must be a str, got 3"),
        (
            lambda: torch.library.Library("mine").impl("three", 3),
            "Library.impl: expected a function or a module, got 3",
        ),
    ):
        with pytest.raises(ArgumentTypeError, match=f"^{fact}\nhint: "):
            call()
    with pytest.raises(ArgumentError, match="'double'"):
        torch.library.custom_op("double", double)
    for absent in ("eager_test2::absent", "absent", 3):
        with pytest.raises(ArgumentError, match=f"register_autograd: '?{absent}"):
            torch.library.register_autograd(absent, double)


def test_conditions_of_programs():
    torch._check(True)
    torch._assert(torch.tensor(True), "text")
    with pytest.raises(RuntimeError, match="^3 rows$"):
        torch._check(False, lambda: f"{3} rows")
    with pytest.raises(AssertionError, match="^text$"):
        torch._assert(False, "text")


def test_a_scan_combines_each_slice_with_those_before_it():
    from flambeau._higher_order_ops.associative_scan import associative_scan

    def compose(first, second):
        return first[0] * second[0], second[0] * first[1] + second[1]

    a, b = torch.rand(2, 5, requires_grad=True), torch.rand(2, 5)
    slopes, values = associative_scan(compose, (a, b), 1)
    h, expected = torch.zeros(2), []
    for t in range(5):
        h = a[:, t] * h + b[:, t]
        expected.append(h)
    assert torch.allclose(values, torch.stack(expected, 1)) and torch.allclose(slopes, a.cumprod(1))
    values.sum().backward()
    assert a.grad.shape == (2, 5)
    assert associative_scan(torch.add, torch.tensor([1, 2, 3]), 0, reverse=True).tolist() == [6, 5, 3]
    assert associative_scan(torch.add, torch.ones(0, 2), 0).shape == (0, 2)
