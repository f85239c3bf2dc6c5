"""Autocast: which types calls run in, the cache of casts, nesting, decorators, threads, recomputation and errors."""

import threading
import warnings

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.autograd import autocast as modes
from flambeau.config import Gpus
from flambeau.core import thread
from flambeau.core.operator import REGISTRY
from flambeau.nn import functional as F
from flambeau.runtime.machine import Machine
from flambeau.testing import machine
from flambeau.utils.checkpoint import checkpoint

HALF, BRAIN, SINGLE, DOUBLE = torch.float16, torch.bfloat16, torch.float32, torch.float64


@pytest.fixture(autouse=True)
def _off():
    """No test leaves autocast on."""
    yield
    assert thread.here().autocast is None
    assert modes.autocast_increment_nesting() == 1 and modes.autocast_decrement_nesting() == 0


def square(dtype=SINGLE, device="cuda"):
    return torch.tensor([[1.0, 0.5], [0.25, 2.0]], dtype=dtype, device=device)


# PyTorch's lists for CUDA devices, from its documentation: what float32 (or float16) operands give under float16
LOWER = {
    "addbmm": lambda x: torch.addbmm(x, x[None], x[None]),
    "addmm": lambda x: torch.addmm(x, x, x),
    "addmv": lambda x: torch.addmv(x[0], x, x[0]),
    "addr": lambda x: torch.addr(x, x[0], x[1]),
    "baddbmm": lambda x: torch.baddbmm(x[None], x[None], x[None]),
    "bmm": lambda x: torch.bmm(x[None], x[None]),
    "chain_matmul": lambda x: torch.chain_matmul(x, x, x),
    "multi_dot": lambda x: torch.linalg.multi_dot([x, x, x]),
    "conv1d": lambda x: F.conv1d(x[None], x[None]),
    "conv2d": lambda x: F.conv2d(x[None, None], x[None, None]),
    "conv3d": lambda x: F.conv3d(x[None, None, None], x[None, None, None]),
    "conv_transpose1d": lambda x: F.conv_transpose1d(x[None], x[:, :, None]),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x[None, None], x[None, None]),
    "conv_transpose3d": lambda x: F.conv_transpose3d(x[None, None, None], x[None, None, None]),
    "conv_tbc": lambda x: torch.conv_tbc(x[None], x[None], x[0]),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "linear": lambda x: F.linear(x, x, x[0]),
    "matmul": lambda x: torch.matmul(x, x),
    "@": lambda x: x @ x,
    "mm": lambda x: torch.mm(x, x),
    "mv": lambda x: torch.mv(x, x[0]),
    "prelu": lambda x: F.prelu(x, x[0, :1]),
    "vecdot": lambda x: torch.linalg.vecdot(x, x),
    "attention": lambda x: F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None]),
    "LSTM": lambda x: nn.LSTM(2, 3, device=x.device)(x)[0],
    "GRU": lambda x: nn.GRU(2, 3, device=x.device)(x)[0],
    "RNN": lambda x: nn.RNN(2, 3, device=x.device)(x)[0],
    "LSTMCell": lambda x: nn.LSTMCell(2, 3, device=x.device)(x)[1],
    "GRUCell": lambda x: nn.GRUCell(2, 3, device=x.device)(x),
    "RNNCell": lambda x: nn.RNNCell(2, 3, device=x.device)(x),
}
WIDE = {
    "__pow__": lambda x: x**2,
    "__rpow__": lambda x: 2**x,
    "__rtruediv__": lambda x: 2 / x,
    "acos": lambda x: (x / 4).acos(),
    "asin": lambda x: (x / 4).asin(),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, x),
    "cosh": torch.cosh,
    "cosine_embedding_loss": lambda x: F.cosine_embedding_loss(x, x, x[0].sign()),
    "cdist": lambda x: torch.cdist(x, x),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.tensor([0, 1], device=x.device)),
    "cumprod": lambda x: x.cumprod(0),
    "cumsum": lambda x: x.cumsum(0),
    "dist": lambda x: torch.dist(x, x),
    "erfinv": lambda x: (x / 4).erfinv(),
    "exp": torch.exp,
    "expm1": torch.expm1,
    "group_norm": lambda x: F.group_norm(x, 1, x[0], x[1]),
    "hinge_embedding_loss": lambda x: F.hinge_embedding_loss(x, x.sign()),
    "huber_loss": lambda x: F.huber_loss(x, x),
    "kl_div": lambda x: F.kl_div(x, x, reduction="batchmean"),
    "l1_loss": lambda x: F.l1_loss(x, x),
    "layer_norm": lambda x: F.layer_norm(x, (2,), x[0], x[1]),
    "log": torch.log,
    "log10": torch.log10,
    "log_softmax": lambda x: x.log_softmax(0),
    "log1p": torch.log1p,
    "log2": torch.log2,
    "logsumexp": lambda x: x.logsumexp(0),
    "margin_ranking_loss": lambda x: F.margin_ranking_loss(x, x, x.sign()),
    "mse_loss": lambda x: F.mse_loss(x, x),
    "multilabel_margin_loss": lambda x: F.multilabel_margin_loss(x, torch.tensor([[0, -1]] * 2, device=x.device)),
    "multi_margin_loss": lambda x: F.multi_margin_loss(x, torch.tensor([0, 1], device=x.device)),
    "nll_loss": lambda x: F.nll_loss(x, torch.tensor([0, 1], device=x.device)),
    "norm": lambda x: x.norm(),
    "vector_norm": lambda x: torch.linalg.vector_norm(x),
    "normalize": lambda x: F.normalize(x),
    "pairwise_distance": lambda x: F.pairwise_distance(x, x),
    "pdist": torch.pdist,
    "poisson_nll_loss": lambda x: F.poisson_nll_loss(x, x),
    "pow": lambda x: torch.pow(x, 3),
    "prod": lambda x: x.prod(),
    "reciprocal": torch.reciprocal,
    "renorm": lambda x: torch.renorm(x, 2, 0, 1.0),
    "rms_norm": lambda x: F.rms_norm(x, (2,), x[0]),
    "rsqrt": torch.rsqrt,
    "sinh": torch.sinh,
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, x),
    "soft_margin_loss": lambda x: F.soft_margin_loss(x, x.sign()),
    "softmax": lambda x: F.softmax(x, 0),
    "Tensor.softmax": lambda x: x.softmax(0),
    "softmin": lambda x: F.softmin(x, 0),
    "softplus": F.softplus,
    "sum": lambda x: x.sum(),
    "sum over a dimension": lambda x: x.sum(0, keepdim=True),
    "tan": torch.tan,
    "triplet_margin_loss": lambda x: F.triplet_margin_loss(x, x, x),
    "upsample": lambda x: F.interpolate(x[None, None], scale_factor=2),
}
WIDEST = {
    "addcdiv": lambda x, y: torch.addcdiv(x, y, y),
    "addcmul": lambda x, y: torch.addcmul(x, y, x),
    "atan2": torch.atan2,
    "bilinear": lambda x, y: F.bilinear(x, y, x[None]),
    "cross": lambda x, y: torch.cross(x.repeat(1, 2)[:, :3], y.repeat(1, 2)[:, :3], 1),
    "dot": lambda x, y: torch.dot(x[0], y[0]),
    "vdot": lambda x, y: torch.vdot(x[0], y[0]),
    "grid_sample": lambda x, y: F.grid_sample(x[None, None], y[None, None], align_corners=False),
    "index_put": lambda x, y: torch.index_put(x, (torch.tensor([0], device=x.device),), y[0]),
    "scatter_add": lambda x, y: torch.scatter_add(x, 0, torch.zeros(2, 2, dtype=torch.int64, device=x.device), y),
    "tensordot": lambda x, y: torch.tensordot(x, y, 1),
    "inner": torch.inner,
    "add": lambda x, y: x + y,
    "cat": lambda x, y: torch.cat([x, y]),
    "stack": lambda x, y: torch.stack([x, y]),
}
AS_IT_IS = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "mean": lambda x: x.mean(),
    "mul": lambda x: x * x,
    "sub": lambda x: 1 - x,
    "div": lambda x: x / 2,
    "max": lambda x: x.max(),
    "dropout": lambda x: F.dropout(x, 0.5),
    "max_pool2d": lambda x: F.max_pool2d(x[None, None], 2),
    "batch_norm": lambda x: F.batch_norm(x, x[0].float(), x[1].float().abs(), x[0].float(), x[1].float()),
    "transpose": lambda x: x.t()[0],
    "where": lambda x: torch.where(x > 1, x, x),
    "area": lambda x: F.interpolate(x[None, None], scale_factor=0.5, mode="area"),
}


@pytest.mark.devices(1)
@pytest.mark.parametrize("lower", [HALF, BRAIN])
@pytest.mark.parametrize("name", LOWER)
def test_products_on_cuda_run_in_the_lower_type(name, lower, gpus):
    run = LOWER[name]
    for given in (SINGLE, lower):
        x = square(given)
        with torch.autocast("cuda", dtype=lower):
            found = run(x)
        assert found.dtype is lower, given
        if "RNN" not in name and "LSTM" not in name and "GRU" not in name:
            assert torch.equal(found, run(x.to(lower)))


@pytest.mark.devices(1)
@pytest.mark.parametrize("name", WIDE)
def test_sums_and_losses_on_cuda_run_in_float32(name, gpus):
    run = WIDE[name]
    for given in (SINGLE, HALF):
        x = square(given)
        with torch.autocast("cuda"):
            found = run(x)
        assert found.dtype is SINGLE, given
        assert torch.equal(found, run(x.float())) or found.isnan().all()


@pytest.mark.devices(1)
@pytest.mark.parametrize("name", WIDEST)
def test_some_operators_on_cuda_run_in_the_widest_type(name, gpus):
    run, x = WIDEST[name], square()
    with torch.autocast("cuda"):
        assert run(x.half(), x.half()).dtype is HALF
        assert run(x, x).dtype is SINGLE
        found = run(x.half(), x)
    assert found.dtype is SINGLE and torch.equal(found, run(x.half().float(), x))


@pytest.mark.devices(1)
@pytest.mark.parametrize("name", AS_IT_IS)
def test_other_operators_on_cuda_run_in_the_types_of_their_operands(name, gpus):
    for given in (SINGLE, HALF):
        with torch.autocast("cuda"):
            assert AS_IT_IS[name](square(given)).dtype is given


def test_every_name_in_the_tables_is_an_operator_or_a_function_made_of_some():
    functions = {"ctc_loss", "gru", "gru_cell", "lstm", "lstm_cell", "rnn", "rnn_cell"}
    assert {name for policies in modes.POLICIES.values() for name in policies} - {*REGISTRY} == functions


def test_functions_made_of_operators_are_cast_on_the_cpu():
    x, lengths = square(BRAIN, "cpu").log_softmax(1)[:, None], torch.tensor([2])
    with torch.autocast("cpu"):
        assert F.ctc_loss(x, torch.tensor([[1]]), lengths, torch.tensor([1])).dtype is SINGLE
        assert nn.LSTM(2, 3)(square(device="cpu"))[0].dtype is BRAIN
        assert nn.LSTM(2, 3)(square(BRAIN, "cpu"))[1][1].dtype is BRAIN
        assert nn.GRU(2, 3)(square(BRAIN, "cpu"))[0].dtype is BRAIN
    with pytest.raises(ValueError, match="does not match weight dtype"):
        nn.LSTM(2, 3)(square(BRAIN, "cpu"))


@pytest.mark.devices(1)
def test_einsum_is_cast_where_it_sums_products(device):
    x = torch.ones(2, 2, device=device)
    with torch.autocast(device, dtype=torch.bfloat16):
        for equation in ("ij,jk", "ij,ij", "ij,ij->", "ij,ij->i", "...j,j", "...i,...i->i", "ij,kl,jk->il"):
            terms = equation.split("->")[0].split(",")
            operands = [x if len(term) in (2, 4) else x[0] for term in terms]
            assert torch.einsum(equation, *operands).dtype is torch.bfloat16, equation
        for equation in ("i,j", "ii", "ij->ji", "ij->", "ij,ij->ij", "i,j->", "...i,...i->...i"):
            operands = [x if len(term) in (2, 4) else x[0] for term in equation.split("->")[0].split(",")]
            assert torch.einsum(equation, *operands).dtype is torch.float32, equation
        assert torch.einsum("ij,jk", x[:, :1], x[:1]).dtype is torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = x.cpu()
        dtypes = [
            torch.tensordot(x, x, 2), torch.tensordot(x, x, ([0, 1], [1, 0])), torch.inner(x[0], x[0]),
            torch.tensordot(x, x, 1), torch.inner(x, x), torch.inner(x, x[0]),
        ]  # fmt: skip
        assert [result.dtype for result in dtypes] == [torch.float32] * 3 + [torch.bfloat16] * 3


def test_powers_of_matrices_are_cast_where_they_are_products(device):
    x = torch.tensor([[2.0, 0.0], [0.0, 4.0]], device=device)
    with torch.autocast(device, dtype=torch.bfloat16):
        for n, expected in ((0, 1.0), (1, 2.0), (2, 4.0), (3, 8.0), (-1, 0.5), (-2, 0.25)):
            power = torch.linalg.matrix_power(x, n)
            assert power[0, 0].item() == expected and power.dtype is (torch.bfloat16 if n > 1 else torch.float32), n


def test_binary_cross_entropy_is_refused_on_cuda(gpus):
    x = square().sigmoid()
    with torch.autocast("cuda"):
        with pytest.raises(RuntimeError, match="binary_cross_entropy.*unsafe to autocast") as error:
            nn.BCELoss()(x, x)
        assert "binary_cross_entropy_with_logits" in str(error.value)
        with torch.autocast("cuda", enabled=False):
            assert nn.BCELoss()(x, x).dtype is SINGLE
    with torch.autocast("cpu"):
        assert F.binary_cross_entropy(x.cpu().bfloat16(), x.cpu()).dtype is SINGLE


def test_operands_of_an_unexpected_type_are_named():
    with torch.autocast("cpu"), pytest.raises(RuntimeError, match="cat: autocast to bfloat16.*bfloat16, float16"):
        torch.cat([square(HALF, "cpu"), square(BRAIN, "cpu")])


def test_float64_and_integers_are_never_cast():
    x, whole = square(DOUBLE, "cpu"), torch.tensor([[1, 2], [3, 4]])
    with torch.autocast("cpu"):
        assert (x @ x).dtype is DOUBLE
        assert (whole @ whole).dtype is torch.int64
        assert F.mse_loss(x, x).dtype is DOUBLE


@pytest.mark.devices(1)
def test_each_kind_of_device_has_its_own_autocast(gpus):
    x, y = square(), square(device="cpu")
    with torch.autocast("cuda"):
        assert (x @ x).dtype is HALF and (y @ y).dtype is SINGLE
        with torch.autocast("cpu"):
            assert (x @ x).dtype is HALF and (y @ y).dtype is BRAIN
    with torch.autocast("cpu", dtype=HALF):
        assert (x @ x).dtype is SINGLE and (y @ y).dtype is HALF


def test_contexts_nest_and_restore_after_errors():
    x = square(device="cpu")
    with pytest.raises(ZeroDivisionError), torch.autocast("cpu"):
        assert (x @ x).dtype is BRAIN
        with torch.autocast("cpu", dtype=HALF, cache_enabled=False):
            assert (x @ x).dtype is HALF and not torch.is_autocast_cache_enabled()
            with torch.autocast("cpu", enabled=False):
                assert (x @ x).dtype is SINGLE and not torch.is_autocast_enabled("cpu")
            assert (x @ x).dtype is HALF
        assert (x @ x).dtype is BRAIN and torch.is_autocast_cache_enabled()
        raise ZeroDivisionError
    assert (x @ x).dtype is SINGLE and torch.get_autocast_dtype("cpu") is BRAIN


def test_a_context_can_be_entered_again_inside_itself():
    x, context = square(device="cpu"), torch.autocast("cpu")
    with context:
        with context:
            pass
        assert (x @ x).dtype is BRAIN
    assert (x @ x).dtype is SINGLE


def test_a_decorated_function_runs_inside_the_context():
    @torch.autocast("cpu", dtype=HALF)
    def product(x, *, twice=False):
        """Doc."""
        return x @ x * 2 if twice else x @ x

    assert product(square(device="cpu"), twice=True).dtype is HALF and product.__doc__ == "Doc."
    assert not torch.is_autocast_enabled("cpu")
    with pytest.raises(TypeError, match="requires a callable, but got 3"):
        torch.autocast("cpu")(3)


def test_calls_in_place_and_with_out_are_not_cast():
    x, out = square(device="cpu"), torch.empty(2, 2)
    with torch.autocast("cpu"):
        assert torch.mm(x, x, out=out).dtype is SINGLE
        assert x.clone().addmm_(x, x).dtype is SINGLE
    with machine(devices=1):
        y = square(HALF)
        with torch.autocast("cuda"):
            assert y.pow_(2).dtype is HALF and y.exp_().dtype is HALF


def test_dtype_given_by_the_call_is_kept():
    with machine(devices=1):
        x = square(HALF)
        with torch.autocast("cuda"):
            assert x.sum(dtype=HALF).dtype is HALF
            assert x.softmax(0, dtype=DOUBLE).dtype is DOUBLE
            assert F.log_softmax(x, 0, dtype=HALF).dtype is HALF


def test_gradients_have_the_types_of_their_leaves_and_flow_through_the_casts():
    w = square(device="cpu").requires_grad_()
    x = square(device="cpu")
    with torch.autocast("cpu"):
        y = x @ w
    assert y.grad_fn.next_functions[1][0].name() == "ToCopyBackward0"
    y.sum().backward()
    assert w.grad.dtype is SINGLE
    expected = x.bfloat16().t() @ torch.ones(2, 2, dtype=BRAIN)
    assert torch.equal(w.grad, expected.float())


def test_backward_runs_in_the_recorded_types_inside_the_context_too():
    grads = []
    for inside in (False, True):
        w = square(device="cpu").requires_grad_()
        with torch.autocast("cpu"):
            y = (square(device="cpu") @ w).exp()
            if inside:
                y.sum().backward()
        if not inside:
            y.sum().backward()
        grads.append(w.grad)
    assert torch.equal(*grads)


# the cache


@pytest.fixture
def converted(monkeypatch):
    """The tensors that were cast."""
    found = []
    cast = modes.transfer.converted
    monkeypatch.setattr(modes.transfer, "converted", lambda each, wanted: found.append(each) or cast(each, wanted))
    return found


def test_a_parameter_is_cast_once_until_the_outermost_context_ends(converted):
    w, x = nn.Parameter(square(device="cpu")), square(device="cpu")
    converted.clear()
    with torch.autocast("cpu"):
        x @ w
        with torch.autocast("cpu"):
            x @ w
        x @ w
    assert [each is w for each in converted].count(True) == 1 and len(converted) == 4
    with torch.autocast("cpu"):
        x @ w
    assert [each is w for each in converted].count(True) == 2


def test_only_leaves_that_require_gradients_are_cached(converted):
    w = nn.Parameter(square(device="cpu"))
    with torch.autocast("cpu"):
        for other in (square(device="cpu"), w * 1, w.t()):
            converted.clear()
            for _ in range(2):
                other @ other
            assert len(converted) == 4


def test_the_cache_can_be_turned_off_and_cleared(converted):
    w = nn.Parameter(square(device="cpu"))
    converted.clear()
    with torch.autocast("cpu", cache_enabled=False):
        w @ w
    assert len(converted) == 2
    with torch.autocast("cpu"):
        w @ w
        assert len(converted) == 3
        torch.clear_autocast_cache()
        w @ w
        assert len(converted) == 4


def test_a_parameter_that_was_written_is_cast_again():
    w = nn.Parameter(torch.ones(1, 1))
    with torch.autocast("cpu"):
        assert (w @ w).item() == 1
        with torch.no_grad():
            w.mul_(2)
        assert (w @ w).item() == 4
        w.data = torch.tensor([[3.0]])
        assert (w @ w).item() == 9


def test_several_backward_passes_go_through_one_cast():
    w, x = nn.Parameter(torch.ones(1, 1)), torch.ones(1, 1)
    with torch.autocast("cpu"):
        for _ in range(3):
            (x @ w).exp().sum().backward()
        y = [x @ w, (x @ w).exp()]
    y[0].backward()
    assert w.grad.item() == 3 * torch.ones((), dtype=BRAIN).exp().float().item() + 1
    assert torch.autograd.grad(y[1], w)[0].dtype is SINGLE


def test_casts_made_without_gradients_are_not_used_with_them():
    w = nn.Parameter(torch.ones(1, 1))
    with torch.autocast("cpu"):
        for context in (torch.no_grad(), torch.inference_mode()):
            with context:
                assert not (w @ w).requires_grad
        y = w @ w
    y.backward()
    assert w.grad.item() == 2


def test_the_cache_keeps_no_tensor_after_the_context():
    w = nn.Parameter(torch.ones(1, 1))
    with torch.autocast("cpu"):
        w @ w
        assert len(modes._local.mode._cache) == 1
    assert not modes._local.mode._cache


@pytest.mark.devices(1)
def test_a_replayed_graph_casts_the_parameter_of_each_replay(gpus):
    w, x = nn.Parameter(torch.ones(2, 2, device="cuda")), torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda"), torch.no_grad():
        x @ w
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x @ w
    with torch.no_grad():
        w.fill_(3)
    graph.replay()
    assert y.dtype is HALF and y.tolist() == [[6, 6], [6, 6]]


@pytest.mark.devices(1)
def test_graphed_callables_refuse_cached_casts(gpus):
    layer, x = nn.Linear(2, 2).cuda(), torch.ones(3, 2, device="cuda")
    with torch.autocast("cuda"), pytest.raises(RuntimeError, match="does not support the autocast caching"):
        torch.cuda.make_graphed_callables(layer, (x,))
    with torch.autocast("cuda", cache_enabled=False):
        assert torch.cuda.make_graphed_callables(layer, (x,))(x).dtype is HALF


# threads, recomputation, subclasses, transforms


def test_a_new_thread_starts_without_autocast():
    found = []
    with torch.autocast("cpu"):
        worker = threading.Thread(target=lambda: found.append((torch.ones(1, 1) @ torch.ones(1, 1)).dtype))
        worker.start()
        worker.join()
    assert found == [SINGLE]


@pytest.mark.devices(2)
def test_replicas_run_under_the_autocast_of_the_caller(gpus):
    seen = []

    class Net(nn.Linear):
        def forward(self, x):
            seen.append((torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")))
            return super().forward(x)

    net = nn.DataParallel(Net(2, 2).cuda())
    with torch.autocast("cuda", dtype=BRAIN):
        assert net(torch.ones(4, 2, device="cuda")).dtype is BRAIN
    assert seen == [(True, BRAIN)] * 2
    assert net(torch.ones(4, 2, device="cuda")).dtype is SINGLE


@pytest.mark.devices(2)
def test_a_decorated_forward_runs_under_autocast_in_every_replica(gpus):
    class Net(nn.Linear):
        @torch.autocast("cuda")
        def forward(self, x):
            return super().forward(x)

    assert nn.DataParallel(Net(2, 2).cuda())(torch.ones(4, 2, device="cuda")).dtype is HALF


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_recomputes_under_the_autocast_of_its_call(reentrant):
    seen = []

    def run(x):
        y = x @ x
        seen.append((y.dtype, torch.is_autocast_cache_enabled()))
        return y.exp()

    x = square(device="cpu").requires_grad_()
    with torch.autocast("cpu", dtype=HALF, cache_enabled=False):
        y = checkpoint(run, x, use_reentrant=reentrant)
    y.sum().backward()
    assert seen == [(HALF, False)] * 2 and not torch.is_autocast_enabled("cpu")
    other = square(device="cpu").requires_grad_()
    with torch.autocast("cpu", dtype=HALF, cache_enabled=False):
        run(other).sum().backward()
    assert torch.equal(x.grad, other.grad)


def test_a_checkpoint_outside_of_autocast_recomputes_outside_of_it():
    seen = []

    def run(x):
        y = x @ x
        seen.append(y.dtype)
        return y.exp()

    y = checkpoint(run, square(device="cpu").requires_grad_(), use_reentrant=False)
    with torch.autocast("cpu"):
        y.sum().backward()
    assert seen == [SINGLE] * 2


def test_tensors_of_subclasses_are_cast():
    class Meters(torch.Tensor):
        pass

    x = square(device="cpu").as_subclass(Meters)
    with torch.autocast("cpu"):
        found = x @ x
    assert found.dtype is BRAIN and type(found) is Meters


def test_transforms_of_functions_run_under_autocast():
    x = square(device="cpu")
    with torch.autocast("cpu"):
        grad = torch.func.grad(lambda w: (x @ w).sum())(x)
    assert grad.dtype is SINGLE and torch.equal(grad, x.bfloat16().t().float() @ torch.ones(2, 2))


# settings


def test_settings_belong_to_the_thread_and_a_kind_of_device():
    assert torch.is_autocast_enabled() is False
    torch.set_autocast_enabled(True)
    assert torch.is_autocast_enabled() and torch.is_autocast_enabled("cuda") and not torch.is_autocast_enabled("cpu")
    torch.set_autocast_enabled("cuda", False)
    torch.set_autocast_dtype("cpu", HALF)
    assert torch.autocast("cpu").fast_dtype is HALF and torch.get_autocast_dtype("cuda") is HALF
    torch.set_autocast_dtype("cpu", BRAIN)
    torch.set_autocast_cache_enabled(False)
    assert not torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(True)


DEPRECATED = {
    "get_autocast_gpu_dtype": "get_autocast_dtype('cuda')",
    "get_autocast_cpu_dtype": "get_autocast_dtype('cpu')",
    "get_autocast_ipu_dtype": "get_autocast_dtype('ipu')",
    "get_autocast_xla_dtype": "get_autocast_dtype('xla')",
    "set_autocast_gpu_dtype": "set_autocast_dtype('cuda', dtype)",
    "set_autocast_cpu_dtype": "set_autocast_dtype('cpu', dtype)",
    "set_autocast_ipu_dtype": "set_autocast_dtype('ipu', dtype)",
    "set_autocast_xla_dtype": "set_autocast_dtype('xla', dtype)",
    "is_autocast_cpu_enabled": "is_autocast_enabled('cpu')",
    "is_autocast_ipu_enabled": "is_autocast_enabled('ipu')",
    "is_autocast_xla_enabled": "is_autocast_enabled('xla')",
    "set_autocast_cpu_enabled": "set_autocast_enabled('cpu', enabled)",
    "set_autocast_ipu_enabled": "set_autocast_enabled('ipu', enabled)",
    "set_autocast_xla_enabled": "set_autocast_enabled('xla', enabled)",
}


@pytest.mark.parametrize("name", DEPRECATED)
def test_former_names_warn_and_work(name):
    kind = name.split("_")[2].replace("gpu", "cuda")
    with pytest.warns(DeprecationWarning, match=name) as caught:
        if name.startswith("set") and name.endswith("dtype"):
            former = torch.get_autocast_dtype(kind)
            getattr(torch, name)(DOUBLE)
            assert torch.get_autocast_dtype(kind) is DOUBLE
            torch.set_autocast_dtype(kind, former)
        elif name.startswith("set"):
            getattr(torch, name)(True)
            assert torch.is_autocast_enabled(kind)
            torch.set_autocast_enabled(kind, False)
        elif name.endswith("dtype"):
            assert getattr(torch, name)() is torch.get_autocast_dtype(kind)
        else:
            assert getattr(torch, name)() is False
    assert f"use torch.{DEPRECATED[name]} instead" in str(caught[0].message)


def test_lower_types_and_kinds_of_devices_are_pytorchs():
    kinds = ("cpu", "cuda", "mtia", "maia", "xpu", "ipu", "hpu", "xla", "privateuseone", "mps")
    assert [kind for kind in kinds if torch.get_autocast_dtype(kind) is BRAIN] == ["cpu", "maia", "hpu", "xla"]
    assert all(map(torch.amp.is_autocast_available, kinds)) and not torch.amp.is_autocast_available("meta")
    with torch.autocast("mps"):
        assert torch.is_autocast_enabled("mps")


@pytest.mark.parametrize("name", ["foo", "meta"])
def test_a_kind_of_device_that_does_not_exist_is_named(name):
    for call in (torch.autocast, torch.get_autocast_dtype, torch.is_autocast_enabled):
        with pytest.raises(RuntimeError, match=name):
            call(name)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="`device_type` of type `str`, got: `<class 'int'>`"):
        torch.autocast(0)
    with pytest.raises(ValueError, match="`device_type` of type `str`"):
        torch.autocast(torch.device("cpu"))
    with pytest.raises(TypeError, match="set_autocast_dtype.*3"):
        torch.set_autocast_dtype("cpu", 3)
    with pytest.raises(TypeError, match="set_autocast_enabled.*3"):
        torch.set_autocast_enabled("cpu", 3)
    for decorator in (torch.amp.custom_fwd, torch.amp.custom_bwd):
        with pytest.raises(ValueError, match="`device_type` of type `str`"):
            decorator(device_type=0)


def test_a_type_that_the_cpu_does_not_take_disables_autocast_with_a_warning():
    x = square(device="cpu")
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported: .*float32"):
        context = torch.autocast("cpu", dtype=SINGLE)
    with context:
        assert (x @ x).dtype is SINGLE and not torch.is_autocast_enabled("cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.autocast("cpu", dtype=SINGLE, enabled=False)


def test_autocast_without_gpus_is_disabled_with_a_warning():
    previous = thread.swap_machine(Machine(Gpus("none")))
    try:
        with pytest.warns(UserWarning, match="CUDA is not available"):
            context = torch.autocast("cuda")
        with context:
            assert not torch.is_autocast_enabled("cuda")
    finally:
        thread.swap_machine(previous)


@pytest.mark.devices(1)
def test_the_names_of_torch_cuda_amp_and_torch_cpu_amp(gpus):
    x, y = square(), square(device="cpu")
    for library, value, lower in ((torch.cuda, x, HALF), (torch.cpu, y, BRAIN)):
        with pytest.warns(FutureWarning, match=r"`torch.*\.amp.autocast\(args...\)` is deprecated"):
            context = library.amp.autocast()
        with context:
            assert (value @ value).dtype is lower
        with pytest.warns(FutureWarning, match="GradScaler"):
            assert isinstance(library.amp.GradScaler(), torch.amp.GradScaler)
        assert library.amp.autocast_mode.autocast is library.amp.autocast
        assert library.amp.grad_scaler.GradScaler is library.amp.GradScaler
    assert torch.cuda.amp.common.amp_definitely_not_available() is False
    assert torch.autocast is torch.amp.autocast is torch.amp.autocast_mode.autocast


# functions of users


def function(cast_inputs=None, seen=None):
    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
        def forward(ctx, a, others):
            seen.append(("forward", a.dtype, [each.dtype for each in others["b"]], torch.is_autocast_enabled("cpu")))
            ctx.save_for_backward(a, others["b"][0])
            return a @ others["b"][0]

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            _, b = ctx.saved_tensors
            seen.append(("backward", grad.dtype, torch.is_autocast_enabled("cpu")))
            return grad @ b.t(), None

    return Product


def test_custom_fwd_keeps_autocast_for_backward():
    seen, x = [], square(device="cpu").requires_grad_()
    with torch.autocast("cpu"):
        y = function(None, seen).apply(x, {"b": [x.detach()]})
    y.sum().backward()
    assert y.dtype is BRAIN and x.grad.dtype is SINGLE
    assert seen == [("forward", SINGLE, [SINGLE], True), ("backward", BRAIN, True)]


def test_custom_fwd_casts_inputs_and_disables_autocast():
    seen, x = [], square(device="cpu").requires_grad_()
    with torch.autocast("cpu"):
        y = function(HALF, seen).apply(x, {"b": [x.detach(), x.double()]})
        y.sum().backward()
    assert y.dtype is HALF
    assert seen == [("forward", HALF, [HALF, DOUBLE], False), ("backward", HALF, False)]


def test_custom_fwd_does_nothing_outside_of_autocast():
    seen, x = [], square(device="cpu").requires_grad_()
    function(HALF, seen).apply(x, {"b": [x.detach()]}).sum().backward()
    assert seen == [("forward", SINGLE, [SINGLE], False), ("backward", SINGLE, False)]


def test_the_former_decorators_of_torch_cuda_amp_warn():
    with pytest.warns(FutureWarning, match="custom_fwd"):
        torch.cuda.amp.custom_fwd(cast_inputs=SINGLE)(lambda ctx: None)
    with pytest.warns(FutureWarning, match="custom_bwd"):
        torch.cuda.amp.custom_bwd(lambda ctx: None)


# cost


@pytest.mark.devices(1)
def test_a_product_under_autocast_launches_its_casts_and_the_product(gpus):
    from benchmarks import counts

    w, x, half = nn.Parameter(square()), square(), square(HALF)
    with torch.autocast("cuda"), torch.no_grad():
        assert counts.of(lambda: x @ w) == {"block": 2, "launch": 2}  # the parameter's cast is kept
        assert counts.of(lambda: half @ w) == {"block": 1, "launch": 1}
        assert counts.of(lambda: half.relu()) == {"block": 1, "launch": 1}


@pytest.mark.devices(1)
def test_weight_and_bias_of_a_layer_are_cast_in_one_launch(gpus):
    from benchmarks import counts

    x, grad = torch.randn(6, 8, device="cuda", dtype=BRAIN), torch.ones(6, 4, device="cuda", dtype=BRAIN)
    layer = nn.Linear(8, 4, device="cuda")
    weight, bias = leaves = list(layer.parameters())

    def out():
        with torch.autocast("cuda", dtype=BRAIN):
            return layer(x)

    assert counts.of(out) == {"block": 3, "launch": 2}
    given = out()
    backward = counts.of(lambda: torch.autograd.grad(given, leaves, grad, retain_graph=True))
    assert backward == {"block": 4, "launch": 3}  # two gradients, and one launch that converts both
    found = torch.autograd.grad(given, leaves, grad, retain_graph=True)
    parts = [each.detach().to(BRAIN).requires_grad_() for each in leaves]
    assert torch.equal(given, F.linear(x, *parts))
    expected = torch.autograd.grad(F.linear(x, *parts), parts, grad)
    assert [each.dtype for each in found] == [SINGLE, SINGLE]
    assert all(torch.equal(one, other.float()) for one, other in zip(found, expected))
    assert torch.equal(torch.autograd.grad(given, bias, grad)[0], found[1])
    with torch.autocast("cuda", dtype=BRAIN):
        first = F.linear(x, weight, bias)
        assert counts.of(lambda: F.linear(x, weight, bias))["launch"] == 1  # both casts are kept
        with torch.no_grad():
            weight.mul_(2)
        assert torch.equal(F.linear(x, weight, bias), F.linear(x, weight.detach(), bias.detach()))
        assert not torch.equal(F.linear(x, weight, bias), first)


@pytest.mark.devices(1)
def test_weight_and_bias_are_cast_apart_where_one_of_them_is_not_kept(gpus):
    x, weight, bias = (torch.randn(*shape, device="cuda") for shape in ((6, 8), (4, 8), (4,)))
    for needs in ((True, False), (False, True)):
        leaves = [each.clone().requires_grad_(need) for each, need in zip((weight, bias), needs)]
        with torch.autocast("cuda", dtype=BRAIN):
            out = F.linear(x, *leaves)
        out.float().sum().backward()
        assert [None if each.grad is None else each.grad.dtype for each in leaves] == [
            SINGLE if need else None for need in needs
        ]
        assert torch.equal(out, F.linear(x.to(BRAIN), weight.to(BRAIN), bias.to(BRAIN)))
