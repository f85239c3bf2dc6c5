"""GradScaler: scaled losses, unscaled gradients, skipped steps, the scale's growth, several optimizers and devices."""

import copy
import io
import math
import pickle

import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.amp.grad_scaler import OptState
from flambeau.config import Gpus
from flambeau.core import thread
from flambeau.errors import ArgumentTypeError, NamingError
from flambeau.nn import functional as F
from flambeau.runtime.machine import Machine
from flambeau.testing import machine

INF, NAN = float("inf"), float("nan")


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    with machine(devices=2):
        yield request.param


def scaled(device, grads, scale=4.0, optimizer=optim.SGD, **options):
    """A scaler with a scale, and an optimizer of parameters 1.0 with these (scaled) gradients."""
    scaler = torch.amp.GradScaler(device, init_scale=scale, **options)
    scaler.scale(torch.zeros(1, device=device))
    params = [nn.Parameter(torch.ones(len(each), device=device)) for each in grads]
    for param, each in zip(params, grads):
        param.grad = torch.tensor(each, device=device)
    return scaler, optimizer(params, lr=1.0), params


def values(params):
    return [param.tolist() for param in params]


def test_outputs_are_multiplied_by_the_scale(device):
    scaler = torch.amp.GradScaler(device, init_scale=8.0)
    x = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    y = scaler.scale(x)
    assert y.tolist() == [8, 16] and y.grad_fn is not None
    nested = scaler.scale([x, (x, {"a": x}.values())])
    assert type(nested) is list and type(nested[1]) is tuple and [each.tolist() for each in nested[1][1]] == [[8, 16]]
    half = scaler.scale(torch.ones(2, dtype=torch.float16, device=device))
    assert half.dtype is torch.float16 and scaler.scale(torch.ones((), dtype=torch.float16, device=device)).item() == 8


def test_a_step_unscales_and_updates(device):
    scaler, optimizer, params = scaled(device, [[4.0, 8.0], [2.0]])
    assert scaler.step(optimizer) is None
    assert values(params) == [[0, -1], [0.5]] and [p.grad.tolist() for p in params] == [[1, 2], [0.5]]
    scaler.update()
    assert scaler.get_scale() == 4 and scaler.state_dict()["_growth_tracker"] == 1


@pytest.mark.parametrize("bad", [INF, -INF, NAN])
def test_a_step_with_a_gradient_that_is_not_finite_is_skipped_and_the_scale_shrinks(bad, device):
    scaler, optimizer, params = scaled(device, [[4.0], [8.0, bad, 8.0]])
    scaler.step(optimizer)
    assert values(params) == [[1], [1, 1, 1]]
    scaler.update()
    assert scaler.get_scale() == 2 and scaler.state_dict()["_growth_tracker"] == 0


def test_the_scale_grows_after_steps_in_a_row_and_stays_finite(device):
    scaler, optimizer, params = scaled(device, [[0.0]], growth_factor=3.0, backoff_factor=0.25, growth_interval=2)
    seen = []
    for bad in (0, 0, 0, INF, 0, 0):
        params[0].grad = torch.tensor([float(bad)], device=device)
        scaler.step(optimizer)
        scaler.update()
        seen.append(scaler.get_scale())
    assert seen == [4, 12, 12, 3, 3, 9]
    scaler.update(2.0**127)
    for _ in range(2):
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 2.0**127 and scaler.state_dict()["_growth_tracker"] == 0


def test_gradients_can_be_clipped_between_unscale_and_step(device):
    scaler, optimizer, params = scaled(device, [[12.0], [16.0]])
    scaler.unscale_(optimizer)
    assert torch.nn.utils.clip_grad_norm_(params, 1.0).item() == 5
    scaler.step(optimizer)
    assert torch.allclose(torch.stack([p.detach()[0] for p in params]), torch.tensor([0.4, 0.2], device=device))


def test_each_optimizer_has_its_own_state(device):
    scaler, one, (param,) = scaled(device, [[4.0]])
    other = nn.Parameter(torch.ones(1, device=device))
    other.grad = torch.tensor([INF], device=device)
    two = optim.SGD([other], lr=1.0)
    scaler.step(one)
    scaler.step(two)
    assert param.item() == 0 and other.item() == 1
    scaler.update()
    assert scaler.get_scale() == 2


def test_parameters_and_losses_of_several_devices():
    with machine(devices=2):
        params = [nn.Parameter(torch.ones(1, device=f"cuda:{index}")) for index in (0, 1)]
        optimizer = optim.SGD(params, lr=1.0)
        scaler = torch.amp.GradScaler("cuda", init_scale=4.0)
        losses = scaler.scale([param.sum() * 2 for param in params])
        assert [each.device.index for each in losses] == [0, 1] and [each.item() for each in losses] == [8, 8]
        for each in losses:
            each.backward()
        scaler.step(optimizer)
        assert values(params) == [[-1], [-1]]
        scaler.update()
        params[1].grad.fill_(INF)
        scaler.step(optimizer)
        scaler.update()
        assert values(params) == [[-1], [-1]] and scaler.get_scale() == 2


def test_a_disabled_scaler_does_nothing(device):
    scaler = torch.amp.GradScaler(device, enabled=False, growth_factor=0.5)
    param = nn.Parameter(torch.ones(1, device=device))
    optimizer = optim.SGD([param], lr=1.0)
    text = object()
    assert scaler.scale(text) is text and not scaler.is_enabled()
    param.grad = torch.tensor([INF], device=device)
    scaler.unscale_(optimizer)
    assert scaler.step(optimizer, closure=lambda: 7) == 7 and param.item() == -INF
    scaler.update()
    assert scaler.get_scale() == 1.0 and scaler.state_dict() == {}
    scaler.load_state_dict({})
    assert not pickle.loads(pickle.dumps(scaler)).is_enabled()


def test_without_gpus_a_scaler_of_cuda_is_disabled_with_a_warning():
    previous = thread.swap_machine(Machine(Gpus("none")))
    try:
        with pytest.warns(UserWarning, match="CUDA is not available"):
            scaler = torch.amp.GradScaler()
        assert not scaler.is_enabled()
    finally:
        thread.swap_machine(previous)


def test_update_sets_a_scale(device):
    scaler, _, _ = scaled(device, [[1.0]])
    scaler.update(16.0)
    assert scaler.get_scale() == 16
    scaler.update(torch.tensor([2.5], device=device))
    assert scaler.get_scale() == 2.5
    wrong = (torch.ones(2, device=device), torch.ones(1, device=device, requires_grad=True), "2")
    wrong += (torch.ones(1, device="cuda" if device == "cpu" else "cpu"),)
    for each in wrong:
        with pytest.raises(AssertionError, match="new_scale should be a float"):
            scaler.update(each)
    assert scaler.get_scale() == 2.5


def test_the_scale_is_made_on_the_device_of_the_first_loss(device):
    scaler = torch.amp.GradScaler(device)
    assert scaler._scale is None and scaler.get_scale() == 65536.0
    scaler.scale(torch.ones((), device=device))
    scale, tracker = scaler._scale, scaler._growth_tracker
    assert (scale.dtype, scale.shape, scale.device.type) == (torch.float32, (), device)
    assert (tracker.dtype, tracker.shape) == (torch.int32, ())


def test_settings_can_be_read_and_written():
    scaler = torch.amp.GradScaler("cpu", 2.0, 3.0, 0.25, 7)
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (3.0, 0.25, 7)
    scaler.set_growth_factor(4.0)
    scaler.set_backoff_factor(0.125)
    scaler.set_growth_interval(9)
    assert scaler.state_dict() == {
        "scale": 2.0, "growth_factor": 4.0, "backoff_factor": 0.125, "growth_interval": 9, "_growth_tracker": 0,
    }  # fmt: skip


def test_state_dicts_have_pytorchs_keys_and_load_before_and_after_the_first_scale(device):
    scaler, optimizer, _ = scaled(device, [[4.0]], growth_interval=5)
    scaler.step(optimizer)
    scaler.update()
    state = scaler.state_dict()
    assert list(state) == ["scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"]
    assert [type(value) for value in state.values()] == [float, float, float, int, int]
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    loaded = torch.load(file)
    for begin in (False, True):
        other = torch.amp.GradScaler(device)
        if begin:
            other.scale(torch.ones(1, device=device))
        other.load_state_dict(loaded)
        assert other.state_dict() == state
        other.scale(torch.ones(1, device=device))
        assert other.state_dict() == state and other._scale.item() == 4
    with pytest.raises(RuntimeError, match="source state dict is empty"):
        scaler.load_state_dict({})


def test_a_scaler_is_pickled_between_iterations(device):
    scaler, optimizer, _ = scaled(device, [[4.0]])
    scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled"):
        pickle.dumps(scaler)
    scaler.step(optimizer)
    scaler.update()
    other = pickle.loads(pickle.dumps(scaler))
    assert other.state_dict() == scaler.state_dict() and other._scale is None
    assert copy.deepcopy(scaler).state_dict() == scaler.state_dict()


def test_calls_in_a_wrong_order_are_named():
    scaler, optimizer, params = scaled("cpu", [[4.0]])
    fresh = torch.amp.GradScaler("cpu")
    for name, call in (("unscale_", fresh.unscale_), ("step", fresh.step), ("update", lambda _: fresh.update())):
        with pytest.raises(AssertionError, match=f"Attempted {name} but _scale is None"):
            call(optimizer)
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step\(\)"):
        scaler.unscale_(optimizer)
    assert values(params) == [[0]]
    scaler.update()
    params[0].grad = None
    with pytest.raises(AssertionError, match="none of its parameters has a gradient"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: 1)


def test_wrong_arguments_are_named():
    with pytest.raises(AssertionError, match="growth factor must be > 1.0, got 1.0"):
        torch.amp.GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(AssertionError, match="backoff factor must be < 1.0, got 1.5"):
        torch.amp.GradScaler("cpu", backoff_factor=1.5)
    scaler = torch.amp.GradScaler("cpu")
    for wrong in (3, "loss", None):
        with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
            scaler.scale(wrong)


def test_parameters_in_float16_are_refused(device):
    scaler, _, _ = scaled(device, [[1.0]])
    param = nn.Parameter(torch.ones(2, dtype=torch.float16, device=device))
    param.grad = torch.ones_like(param)
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients.*float16"):
        scaler.step(optim.SGD([param], lr=1.0))
    assert param.grad.tolist() == [1, 1]


def test_gradients_of_several_types_and_layouts(device):
    scaler, _, _ = scaled(device, [[1.0]])
    kinds = (torch.float32, torch.bfloat16, torch.float64)
    params = [nn.Parameter(torch.ones(3, 2, dtype=kind, device=device)) for kind in kinds]
    for param in params:
        param.grad = torch.full((2, 3), 8.0, dtype=param.dtype, device=device).t()
    optimizer = optim.SGD(params, lr=1.0)
    scaler.unscale_(optimizer)
    assert all((param.grad == 2).all() for param in params)
    assert [each.item() for each in scaler._found_inf_per_device(optimizer).values()] == [0]


# optimizers that skip by themselves

FUSED = {
    "SGD": lambda params, lr: optim.SGD(params, lr=lr, fused=True),
    "momentum": lambda params, lr: optim.SGD(params, lr=lr, momentum=0.9, fused=True),
    "Adam": lambda params, lr: optim.Adam(params, lr=lr, fused=True),
    "AdamW": lambda params, lr: optim.AdamW(params, lr=lr, weight_decay=0.1, amsgrad=True, fused=True),
}
PLAIN = {
    "SGD": optim.SGD,
    "momentum": lambda params, lr: optim.SGD(params, lr=lr, momentum=0.9),
    "Adam": optim.Adam,
    "AdamW": lambda params, lr: optim.AdamW(params, lr=lr, weight_decay=0.1, amsgrad=True),
}


@pytest.mark.parametrize("unscales", [False, True])
@pytest.mark.parametrize("name", FUSED)
def test_fused_optimizers_make_the_steps_of_the_others(name, unscales, device):
    found = []
    for make in (FUSED[name], PLAIN[name]):
        scaler, optimizer, params = scaled(device, [[4.0, 8.0], [2.0]], optimizer=make)
        for factor in (1.0, 0.5, INF, 2.0, NAN, 1.0):
            for param in params:
                param.grad = torch.arange(1.0, len(param) + 1, device=device) * factor
            if unscales:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
        found.append([p.detach() for p in params] + [torch.tensor(scaler.get_scale())])
        assert not hasattr(optimizer, "found_inf") or optimizer.found_inf is None
        if "Adam" in name:
            assert float(optimizer.state[params[0]]["step"]) == 4
    for one, other in zip(*found):
        assert torch.allclose(one.cpu(), other.cpu(), rtol=1e-6)


@pytest.mark.parametrize("name", FUSED)
def test_fused_optimizers_never_make_the_host_wait(name):
    from benchmarks import counts

    with machine(devices=1):
        scaler, optimizer, _ = scaled("cuda", [[4.0, 8.0], [2.0]], optimizer=FUSED[name])

        def iterate():
            scaler.step(optimizer)
            scaler.update()

        iterate()
        found = counts.of(iterate)
        assert "host wait" not in found and "copy" not in found


def test_a_plain_step_waits_once_and_launches_one_pass_over_the_gradients():
    from benchmarks import counts

    with machine(devices=1):
        scaler, optimizer, params = scaled("cuda", [[4.0, 8.0]] * 60)
        scaler.step(optimizer)
        scaler.update()

        def iterate():
            scaler.step(optimizer)
            scaler.update()

        # the inverse of the scale, found_inf, its check, the step and the new scale
        assert counts.of(iterate) == {"block": 2, "launch": 5, "copy": 1, "host wait": 1}
        assert "host wait" not in counts.of(lambda: scaler.scale(params[0]))

        def unscale():
            scaler.unscale_(optimizer)
            scaler.update()

        assert "host wait" not in counts.of(unscale)


def test_an_optimizer_of_a_user_gets_scale_and_found_inf(device):
    seen = []

    class Foreign:
        _step_supports_amp_scaling = True

        def __init__(self, params):
            self.param_groups = [{"params": params}]

        def step(self):
            seen.append((self.grad_scale.item(), self.found_inf.item()))

    scaler, _, params = scaled(device, [[4.0], [INF]])
    optimizer = Foreign(params)
    scaler.step(optimizer)
    assert seen == [(4.0, 1.0)] and params[0].grad.item() == 4 and not hasattr(optimizer, "found_inf")
    assert scaler._per_optimizer_states[id(optimizer)]["stage"] is OptState.STEPPED
    scaler.update()
    assert scaler.get_scale() == 2


def test_an_optimizer_that_takes_the_scaler_gets_it_with_a_warning():
    class Foreign:
        _step_supports_amp_scaling = True
        param_groups = []

        def step(self, grad_scaler=None):
            return grad_scaler

    scaler, _, _ = scaled("cpu", [[1.0]])
    with pytest.warns(FutureWarning, match="stop passing itself"):
        assert scaler.step(Foreign()) is scaler


# a training


@pytest.mark.slow
@pytest.mark.parametrize("fused", [False, True])
def test_a_training_in_float16_skips_steps_and_recovers(fused, device):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
    optimizer = optim.Adam(net.parameters(), lr=0.02, fused=fused)
    scaler = torch.amp.GradScaler(device, init_scale=2.0**22, growth_interval=1000)
    x = torch.randn(64, 8, device=device)
    target = (x[:, :4].argmax(1)).to(device)
    losses, skipped = [], 0
    for _ in range(40):
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.float16):
            out = net(x)
            loss = F.cross_entropy(out, target)
        assert out.dtype is torch.float16 and loss.dtype is torch.float32
        before, first = scaler.get_scale(), net[0].weight.detach().clone()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        was_skipped = scaler.get_scale() < before
        assert torch.equal(first, net[0].weight) == was_skipped
        skipped += was_skipped
        losses.append(loss.item())
    assert 2 <= skipped <= 12 and losses[skipped] == losses[0] and losses[-1] < 0.25 * losses[0]
    assert all(map(math.isfinite, losses)) and scaler.get_scale() == 2.0 ** (22 - skipped)


def test_wrong_types_are_refused():
    scaler = torch.amp.GradScaler("cpu")
    for name, call, fact in (
        ("GradScaler", lambda: torch.amp.GradScaler("cpu", "a"), "init_scale must be a number, got 'a'"),
        ("GradScaler", lambda: torch.amp.GradScaler("cpu", growth_factor="a"), "growth_factor must be a number"),
        ("GradScaler", lambda: torch.amp.GradScaler("cpu", growth_interval="a"), "growth_interval must be an int"),
        ("GradScaler.set_growth_factor", lambda: scaler.set_growth_factor("a"), "new_factor must be a number"),
        ("GradScaler.set_backoff_factor", lambda: scaler.set_backoff_factor("a"), "new_factor must be a number"),
        ("GradScaler.set_growth_interval", lambda: scaler.set_growth_interval("a"), "new_interval must be an int"),
        ("GradScaler.load_state_dict", lambda: scaler.load_state_dict(3), "state_dict must be a dict, got 3"),
    ):
        with pytest.raises(ArgumentTypeError, match=f"^{name}: {fact}"):
            call()
    with pytest.raises(NamingError, match="^GradScaler.load_state_dict: state_dict has no '_growth_tracker'"):
        scaler.load_state_dict({"scale": 1.0})
    assert scaler.state_dict()["growth_factor"] == 2.0
