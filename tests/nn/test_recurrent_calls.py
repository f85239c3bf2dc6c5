"""Recurrent layers of a GPU by library calls: against the same layers as operators, step by step."""

import itertools

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.core import thread
from flambeau.core.hooks import subscribe, unsubscribe
from flambeau.errors import NotSupportedError
from flambeau.nn import recurrent_calls
from flambeau.nn.utils.rnn import pack_sequence
from flambeau.ops import lstm

KINDS = {"RNN": {}, "relu": {"nonlinearity": "relu"}, "LSTM": {}, "GRU": {}}
TOLERANCE = {torch.float64: 1e-11, torch.float32: 2e-5, torch.bfloat16: 0.06, torch.float16: 0.01}
SHAPES = [
    {},
    {"num_layers": 2},
    {"num_layers": 2, "bidirectional": True},
    {"bias": False, "bidirectional": True},
    {"batch_first": True, "num_layers": 2, "bias": False},
]

CASES = [
    pytest.param(kind, options, marks=() if kind == "LSTM" else pytest.mark.full)
    for kind, options in itertools.product(KINDS, SHAPES)
]
pytestmark = pytest.mark.devices(1)


@pytest.fixture
def exact():
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield


def made(kind, dtype=torch.float64, inputs=5, hidden=8, **options):
    torch.manual_seed(0)
    name = "RNN" if kind == "relu" else kind
    return getattr(nn, name)(inputs, hidden, **KINDS[kind], **options, dtype=dtype).cuda()


def random(*shape, dtype=torch.float64, seed=0):
    return torch.tensor(np.random.default_rng(seed).uniform(-1, 1, shape)).to(dtype).cuda()


def flat(found):
    out, last = found
    return [out.data if hasattr(out, "batch_sizes") else out, *(last if isinstance(last, tuple) else (last,))]


def values(net, x, state=None, create_graph=False):
    """(results, gradients) in float64, on the CPU; with create_graph, gradients of gradients too."""
    sequences, states = x if isinstance(x, list) else [x], state if isinstance(state, tuple) else (state,)
    inputs = [each.detach().requires_grad_() for each in (*sequences, *states) if each is not None]
    count = len(sequences)
    given = pack_sequence(inputs[:count], enforce_sorted=False) if isinstance(x, list) else inputs[0]
    hx = tuple(inputs[count:]) if isinstance(state, tuple) else inputs[count] if state is not None else None
    outs = flat(net(given, hx))
    loss = sum((each.to(torch.float64 if each.dtype is torch.float64 else torch.float32) ** 2).sum() for each in outs)
    wanted = [*inputs, *net.parameters()]
    grads = torch.autograd.grad(loss, wanted, create_graph=create_graph)
    found = [*outs, *grads]
    if create_graph:
        found += torch.autograd.grad(sum((each**2).sum() for each in grads), wanted)
    return [each.detach().cpu().to(torch.float64).numpy() for each in found]


def compare(monkeypatch, net, x, state=None, tolerance=1e-11, create_graph=False):
    """The library's values against those of operators.  The library must take the layers, without a warning."""
    taken, run, takes_steps = [], recurrent_calls.run, recurrent_calls.takes_steps

    def watched(*arguments):
        found = run(*arguments)
        taken.append(found is not None)
        return found

    def stepped(*arguments):
        found = takes_steps(*arguments)
        taken.extend([True] * found)
        return found

    monkeypatch.setattr(recurrent_calls, "run", watched)
    monkeypatch.setattr(recurrent_calls, "takes_steps", stepped)
    found = values(net, x, state, create_graph)
    again = values(net, x, state, create_graph)
    monkeypatch.setattr(recurrent_calls, "run", lambda *_: None)
    monkeypatch.setattr(recurrent_calls, "takes_steps", lambda *_: False)
    wanted = values(net, x, state, create_graph)
    assert taken and all(taken)
    for one, other, want in zip(found, again, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
        scale = max(1.0, np.abs(want).max())
        np.testing.assert_allclose(one, want, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize(("kind", "options"), CASES, ids=str)
def test_layers_give_what_operators_give(gpus, exact, monkeypatch, kind, options):
    compare(monkeypatch, made(kind, **options), random(7, 3, 5))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_every_type(gpus, exact, monkeypatch, kind, dtype):
    net = made(kind, dtype, num_layers=2)
    compare(monkeypatch, net, random(4, 3, 5, dtype=dtype), tolerance=TOLERANCE[dtype])


@pytest.mark.parametrize("kind", KINDS)
def test_first_states_and_their_gradients(gpus, exact, monkeypatch, kind):
    net = made(kind, bidirectional=True)
    state = random(2, 3, 8, seed=1)
    compare(monkeypatch, net, random(4, 3, 5), (state, random(2, 3, 8, seed=2)) if kind == "LSTM" else state)


@pytest.mark.parametrize("kind", ["LSTM", *(pytest.param(kind, marks=pytest.mark.full) for kind in ("GRU", "RNN"))])
def test_packed_sequences(gpus, exact, monkeypatch, kind):
    sequences = [random(length, 5, seed=length) for length in (3, 6, 1, 6)]
    compare(monkeypatch, made(kind, num_layers=2, bidirectional=True), sequences)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("hidden", [1, 3, 65, 200])
def test_odd_sizes(gpus, exact, monkeypatch, hidden, kind):
    net = made(kind, torch.float32, inputs=7, hidden=hidden, num_layers=2)
    compare(monkeypatch, net, random(3, 2, 7, dtype=torch.float32), tolerance=2e-5)


@pytest.mark.parametrize("options", SHAPES, ids=str)
def test_lstms_step_by_step(gpus, exact, monkeypatch, options):
    net = made("LSTM", torch.float32, **options)
    x = random(7, 3, 5, dtype=torch.float32)
    count, batch = (1 + net.bidirectional) * net.num_layers, 7 if net.batch_first else 3
    state = tuple(random(count, batch, 8, dtype=torch.float32, seed=seed) for seed in (1, 2))
    compare(monkeypatch, net, x, state, tolerance=2e-5)


@pytest.mark.parametrize("hidden", [7, 8, 30, 33])
@pytest.mark.parametrize("batch", [1, 5, 33])
def test_steps_with_and_without_their_product_in_one_kernel(gpus, exact, monkeypatch, hidden, batch):
    net, x = made("LSTM", torch.float32, hidden=hidden), random(4, batch, 5, dtype=torch.float32)
    forward, backward = calls_of(net, x)
    for most in (lstm.MOST_PRODUCTS, 4 * batch * hidden * hidden - 1):
        with monkeypatch.context() as patched:
            patched.setattr(lstm, "MOST_PRODUCTS", most)
            thread.machine().plans.entries.clear()
            compare(patched, net, x, tolerance=2e-5)
    thread.machine().plans.entries.clear()
    monkeypatch.setattr(lstm, "MOST_PRODUCTS", 0)
    # a product of each step forward, of each but the last backward; the turned weights are one launch
    is_fused = hidden >= lstm.MOST_UNITS
    assert calls_of(net, x) == (forward + 4 * is_fused, backward + 2 * is_fused)


def test_gradients_of_gradients_step_by_step(gpus, exact, monkeypatch):
    net = made("LSTM", torch.float32)
    compare(monkeypatch, net, random(3, 2, 5, dtype=torch.float32), tolerance=1e-4, create_graph=True)


def test_input_that_is_not_contiguous(gpus, exact, monkeypatch):
    compare(monkeypatch, made("LSTM"), random(3, 5, 7).permute(2, 0, 1))


@pytest.mark.parametrize("kind", ["LSTM", pytest.param("GRU", marks=pytest.mark.full)])
def test_gradients_of_gradients(gpus, exact, monkeypatch, kind):
    compare(monkeypatch, made(kind, num_layers=2), random(3, 2, 5), tolerance=1e-10, create_graph=True)


def test_a_retained_graph_gives_the_same_gradients_again(gpus):
    net, x = made("LSTM", num_layers=2), random(4, 3, 5)
    loss = net(x)[0].sum()
    grads = [torch.autograd.grad(loss, list(net.parameters()), retain_graph=True) for _ in range(2)]
    for one, other in zip(*grads):
        assert one.equal(other)


def test_results_do_not_depend_on_whether_gradients_are_recorded(gpus, exact, monkeypatch):
    net, x = made("LSTM", num_layers=2), random(4, 3, 5)
    trained, call = [], recurrent_calls.recurrent
    monkeypatch.setattr(recurrent_calls, "recurrent", lambda *given: trained.append(given[-1]) or call(*given))
    with torch.no_grad():
        found = net(x)[0]
    net(x)
    assert trained == [False, True]
    np.testing.assert_allclose(found.cpu().numpy(), net(x)[0].detach().cpu().numpy(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_a_graph_of_a_training_step_is_replayed(gpus, exact, kind):
    net, other = (made(kind, torch.float32, num_layers=2) for _ in range(2))
    x = random(4, 3, 5, dtype=torch.float32)

    def step(net):
        net.zero_grad(set_to_none=False)
        out = net(x)[0]
        (out * out).sum().backward()
        return out

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step(net)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = step(net)
    with torch.no_grad():
        x.copy_(random(4, 3, 5, dtype=torch.float32, seed=9))
    graph.replay()
    found = [out.detach().cpu().numpy(), *(each.grad.cpu().numpy() for each in net.parameters())]
    wanted = [step(other).detach().cpu().numpy(), *(each.grad.cpu().numpy() for each in other.parameters())]
    for one, want in zip(found, wanted):
        np.testing.assert_allclose(one, want, rtol=0, atol=1e-5)


def test_dropout_between_layers_is_ours(gpus, exact):
    net, x = made("LSTM", num_layers=3, dropout=1.0), random(4, 3, 5)
    bias_only = [net(random(4, 3, 5, seed=seed))[0] for seed in (1, 2)]
    assert bias_only[0].equal(bias_only[1])  # nothing passes from the first layer
    out, (h, c) = net(x)
    assert h.shape == c.shape == (3, 3, 8)
    assert not net.eval()(x)[0].equal(out)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_autocast_computes_in_half(gpus, exact, kind):
    net, x = made(kind, torch.float32), random(4, 3, 5, dtype=torch.float32)
    with torch.autocast("cuda", torch.float16):
        out = net(x)[0]
    assert out.dtype is torch.float16
    out.float().sum().backward()
    assert net.weight_hh_l0.grad.dtype is torch.float32
    np.testing.assert_allclose(out.detach().float().cpu().numpy(), net(x)[0].detach().cpu().numpy(), rtol=0, atol=0.01)


def test_tf32_follows_the_setting(gpus):
    net, x = made("LSTM", torch.float32, inputs=64, hidden=64), random(4, 8, 64, dtype=torch.float32)
    found = []
    for allow_tf32 in (True, False):
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=allow_tf32):
            found.append(net(x)[0].detach().cpu().numpy())
    np.testing.assert_allclose(*found, rtol=0, atol=2e-3)


def calls_of(net, *operands):
    seen = []
    net(*operands)
    subscribe(on_launch=(hook := lambda *event: seen.append(event)))
    try:
        found = flat(net(*operands))
        forward = len(seen)
        sum(each.sum() for each in found[:1]).backward()
    finally:
        unsubscribe(on_launch=hook)
    return forward, len(seen) - forward


def test_the_number_of_launches_does_not_depend_on_the_steps(gpus):
    net = made("LSTM", num_layers=2)
    counts = {calls_of(net, random(length, 3, 5)) for length in (2, 9)}
    assert len(counts) == 1
    ((forward, backward),) = counts
    assert forward <= 4 and backward <= 18


@pytest.mark.parametrize("mode", ["deterministic", "projection", "refusal"])
def test_what_runs_as_operators(gpus, monkeypatch, mode):
    asked, driver = [], type(thread.machine().driver)
    plan = driver.library_plan

    def watched(self, device, problem):
        asked.append(problem.kind)
        if problem.kind == "recurrent":
            raise NotSupportedError("it is refused")
        return plan(self, device, problem)

    monkeypatch.setattr(driver, "library_plan", watched)
    monkeypatch.setattr(torch.numerics.switches, "deterministic", mode == "deterministic")
    net = made("LSTM", proj_size=3 if mode == "projection" else 0)
    out, _ = net(random(2, 3, 5))
    out.sum().backward()
    assert ("recurrent" in asked) == (mode == "refusal")
    assert net.weight_ih_l0.grad.abs().sum() > 0


def is_flat(net):
    return recurrent_calls.flattened(list(net.parameters()), net.bias) is not None


@pytest.mark.parametrize("options", [{}, {"bias": False, "bidirectional": True}], ids=str)
def test_parameters_of_a_gpu_lie_in_one_array(gpus, monkeypatch, options):
    net = made("LSTM", num_layers=2, **options)
    assert is_flat(net) and not is_flat(net.cpu())
    assert is_flat(nn.LSTM(2, 3, device="cuda")) and is_flat(net.cuda().half()) and is_flat(net.double())
    values_before = [each.clone() for each in net.parameters()]
    with torch.no_grad():
        net.weight_hh_l1.data = net.weight_hh_l1.data.clone()
    assert not is_flat(net)
    x = random(2, 3, 5)
    found = net(x)[0]
    net.flatten_parameters()
    assert is_flat(net) and found.equal(net(x)[0])
    for one, other in zip(net.parameters(), values_before):
        assert one.equal(other)


def test_layers_with_dropout_between_them_lie_in_an_array_each(gpus, monkeypatch):
    net, given, call = made("GRU", num_layers=2, dropout=0.5), [], recurrent_calls.recurrent
    monkeypatch.setattr(recurrent_calls, "recurrent", lambda *each: given.append(each[3]) or call(*each))
    net(random(2, 3, 5))
    assert [len(each) for each in given] == [1, 1]
    net.eval()(random(2, 3, 5))
    assert len(given[2]) == 8


def test_flat_parameters_are_trained_and_kept(gpus, tmp_path):
    net, x = made("GRU", torch.float32, num_layers=2), random(3, 2, 5, dtype=torch.float32)
    other = made("GRU", torch.float32, num_layers=2)
    for each in other.parameters():
        each.data = each.data.clone()
    for each in (net, other):
        optimizer = torch.optim.AdamW(each.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            each(x)[0].sum().backward()
            torch.nn.utils.clip_grad_norm_(each.parameters(), 0.5)
            optimizer.step()
    assert is_flat(net) and not is_flat(other)
    torch.save(net.state_dict(), tmp_path / "net.pt")
    fresh = nn.GRU(5, 8, num_layers=2).cuda()
    fresh.load_state_dict(torch.load(tmp_path / "net.pt"))
    assert is_flat(fresh)
    for one, two, three in zip(net.parameters(), other.parameters(), fresh.parameters()):
        np.testing.assert_allclose(one.detach().cpu().numpy(), two.detach().cpu().numpy(), rtol=0, atol=1e-6)
        assert one.equal(three)


def test_a_layer_without_one_of_its_parameters_can_be_moved(gpus):
    net = nn.LSTM(2, 3)
    raw = net.weight_hh_l0
    del net._parameters["weight_hh_l0"]
    net.cuda()
    net.weight_hh_l0 = raw.cuda() * 2
    assert net(torch.ones(2, 1, 2, device="cuda"))[0].shape == (2, 1, 3)


def test_what_the_library_keeps_is_copied_for_a_retained_graph(gpus, monkeypatch):
    driver = type(thread.machine().driver)
    kept = driver.library_reserve
    monkeypatch.setattr(driver, "library_reserve", lambda self, plan: kept(self, plan) or 64)
    net, x = made("LSTM"), random(2, 3, 5)
    counts = []
    for retain_graph in (True, False, True, False):
        loss, seen = net(x)[0].sum(), []
        subscribe(on_launch=(hook := lambda *event, seen=seen: seen.append(event)))
        try:
            torch.autograd.grad(loss, list(net.parameters()), retain_graph=retain_graph)
        finally:
            unsubscribe(on_launch=hook)
        counts.append(len(seen))
    assert counts[2] == counts[3] + 1


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_an_empty_batch(gpus, device):
    net = nn.GRU(5, 4, num_layers=2, bidirectional=True, device=device)
    out, last = net(torch.ones(3, 0, 5, device=device))
    assert out.shape == (3, 0, 8) and last.shape == (4, 0, 4)
