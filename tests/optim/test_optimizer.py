"""Parameter groups, state and errors, which all optimizers have in common."""

import copy

import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    ModeError,
    NotSupportedError,
    ShapeError,
)
from flambeau.optim import optimizer as everywhere
from flambeau.testing import machine
from tests.optim.stepping import launches, param


def test_groups_have_their_own_options():
    a, b, c = param(), param(), param()
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    optimizer.add_param_group({"params": [c], "lr": 0.0})
    optimizer.step()
    assert [each.item() for each in (a, b, c)] == pytest.approx([0.9, 0.5, 1.0])
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5, 0.0]
    assert optimizer.defaults["lr"] == 0.1


def test_names_may_come_along():
    net = nn.Linear(1, 1)
    assert len(optim.Adam(net.named_parameters()).param_groups[0]["params"]) == 2


def test_names_are_kept_in_the_groups():
    net = nn.Linear(1, 1)
    named = optim.Adam(net.named_parameters())
    assert named.param_groups[0]["param_names"] == ["weight", "bias"]
    plain = optim.Adam(nn.Linear(1, 1).parameters())
    named.load_state_dict(plain.state_dict())
    assert named.param_groups[0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ArgumentError, match="with/without names, the new one has 0 names and group 0 2"):
        named.add_param_group({"params": [param()]})


def test_choices_of_an_implementation_are_taken_and_checked():
    for options in ({"foreach": True}, {"fused": True}, {"foreach": False, "fused": False}):
        made = optim.AdamW([param()], lr=0.1, **options)
        made.step()
        assert made.param_groups[0]["foreach"] is options.get("foreach")
    with pytest.raises(ModeError, match="SGD: `fused` and `foreach` cannot be `True` together"):
        optim.SGD([param()], foreach=True, fused=True)
    with pytest.raises(ModeError, match="Adam: `fused` .* fused=True and differentiable=True"):
        optim.Adam([param()], fused=True, differentiable=True)
    with pytest.raises(NotSupportedError, match="Optimizer: differentiable=True"):
        optim.Optimizer([param()], {"differentiable": True})


def test_hooks_are_called_around_a_step():
    seen = []

    class Own(optim.Optimizer):
        def step(self, closure=None):
            seen.append(("own", closure))

    for made in (optim.SGD([param()]), Own([param()], {})):
        before = made.register_step_pre_hook(lambda *given: seen.append(("before", *given)))
        made.register_step_pre_hook(lambda owner, args, kwargs: ((*args, other), kwargs))
        made.register_step_post_hook(lambda *given: seen.append(("after", *given)))
        other = lambda: 7  # noqa: E731
        made.step()
        assert seen[0] == ("before", made, (made,), {}) and seen[-1] == ("after", made, (made, other), {})
        assert len(seen) == (3 if type(made) is Own else 2)
        before.remove()
        seen.clear()
        made.step()
        assert [each[0] for each in seen if each[0] != "own"] == ["after"]
        seen.clear()
    made = optim.SGD([param()])
    made.register_step_post_hook(lambda *given: seen.append(given))
    assert made.step(closure=other) == 7 and seen.pop() == (made, (made,), {"closure": other})
    made.register_step_pre_hook(lambda *given: 3)
    with pytest.raises(
        RuntimeError, match=r"step: .*must return None or a tuple of \(new_args, new_kwargs\), but got 3"
    ):
        made.step()


def test_hooks_are_called_once_around_a_step_that_calls_its_base_s():
    class Twice(optim.SGD):
        def step(self, closure=None):
            super().step(closure)
            return super().step()

    seen, a = [], param()
    made = Twice([a], lr=0.25)
    made.register_step_pre_hook(lambda *_: seen.append("before"))
    made.register_step_post_hook(lambda *_: seen.append("after"))
    made.step()
    assert (seen, a.item()) == (["before", "after"], 0.5)


def test_a_wrapper_of_an_optimizer_that_makes_no_groups_of_its_own_steps():
    class Wrapper(optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner

        def step(self, closure=None):
            return self.inner.step(closure)

    weight, seen = param(), []
    inner = optim.SGD([weight], lr=0.5)
    inner.register_step_post_hook(lambda *call: seen.append(call[0]))
    Wrapper(inner).step()
    assert weight.item() == 0.5 and seen == [inner]


def test_hooks_are_called_around_saving_and_loading():
    seen, made = [], optim.SGD([param()], lr=0.5)
    made.register_state_dict_pre_hook(lambda owner: seen.append("saving"))
    made.register_state_dict_post_hook(lambda owner, state: {**state, "more": 1})
    made.register_state_dict_post_hook(lambda owner, state: seen.append(sorted(state)), prepend=True)
    found = made.state_dict()
    assert (seen, found["more"]) == (["saving", ["param_groups", "state"]], 1)
    seen.clear()

    def halve(owner, state):
        groups = [{**group, "lr": group["lr"] / 2} for group in state["param_groups"]]
        return {**state, "param_groups": groups}

    made.register_load_state_dict_pre_hook(halve)
    made.register_load_state_dict_post_hook(lambda owner: seen.append(owner.param_groups[0]["lr"]))
    made.load_state_dict(found)
    assert (seen, found["param_groups"][0]["lr"]) == ([0.25], 0.5)


def test_options_that_a_saved_state_lacks_are_the_optimizer_s():
    made = optim.Adam([param()])
    state = made.state_dict()
    del state["param_groups"][0]["decoupled_weight_decay"], state["param_groups"][0]["foreach"]
    made.load_state_dict(state)
    made.step()
    assert made.param_groups[0]["decoupled_weight_decay"] is False


def test_the_number_of_steps_is_a_tensor_that_may_be_set():
    a = param()
    made = optim.Adam([a], lr=0.1)
    made.step()
    step = made.state[a]["step"]
    assert (step.dtype, step.shape, str(step.device), step.item()) == (torch.float32, (), "cpu", 1.0)
    made.step()
    assert (made.state[a]["step"] is step, step.item()) == (True, 2.0)
    step.fill_(10.0)
    made.step()
    assert step.item() == 11.0
    made.state[a]["step"] = torch.tensor(20.0)
    made.step()
    assert (made.state[a]["step"].item(), step.item()) == (21.0, 11.0)


def test_a_parameter_without_a_gradient_stays():
    a, b = param(), nn.Parameter(torch.ones(1))
    optimizer = optim.Adam([a, b], lr=0.1)
    optimizer.step()
    assert b.item() == 1.0
    assert list(optimizer.state) == [a]


def test_zero_grad():
    a = param()
    optimizer = optim.SGD([a])
    kept = a.grad
    optimizer.zero_grad(set_to_none=False)
    assert kept.tolist() == [0.0]
    optimizer.zero_grad()
    assert a.grad is None


def test_a_closure_is_called_with_gradients():
    a = param(3.0)
    optimizer = optim.SGD([a], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 9.0
    assert a.item() == 1.5
    assert (a.requires_grad, a.is_leaf) == (True, True)


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.Adam(p, lr=0.1)])
def test_a_loaded_optimizer_goes_on_as_the_saved_one(make):
    def steps(optimizer, a, count):
        for step in range(count):
            a.grad = torch.tensor([0.5 + step])
            optimizer.step()
        return a.item()

    a = param()
    first = make([a])
    steps(first, a, 3)
    twin = nn.Parameter(a.detach().clone())
    second = make([twin])
    saved = copy.deepcopy(first.state_dict())
    second.load_state_dict(saved)
    assert steps(second, twin, 3) == steps(first, a, 3)
    assert second.param_groups[0]["params"][0] is twin
    assert saved["param_groups"][0]["params"] == [0]


@pytest.mark.devices(1)
def test_state_goes_to_the_parameter_s_device_and_type(gpus):
    a = param()
    first = optim.Adam([a])
    first.step()
    b = nn.Parameter(torch.ones(1, dtype=torch.float64, device="cuda"))
    second = optim.Adam([b])
    second.load_state_dict(first.state_dict())
    moved = second.state[b]["exp_avg"]
    assert (str(moved.device), moved.dtype) == ("cuda:0", torch.float64)
    assert moved.item() == pytest.approx(first.state[a]["exp_avg"].item())


def test_a_state_of_other_groups_is_refused_and_changes_nothing():
    optimizer = optim.SGD([param(), param()], lr=0.1)
    before = optimizer.state_dict()
    with pytest.raises(ArgumentError, match="different number of parameter groups: 2, this optimizer has 1"):
        optimizer.load_state_dict(optim.SGD([{"params": param()}, {"params": param()}]).state_dict())
    with pytest.raises(ArgumentError, match="group 0 has 1 parameters, the optimizer's has 2"):
        optimizer.load_state_dict(optim.SGD([param()]).state_dict())
    assert optimizer.state_dict() == before


def test_what_cannot_be_optimized():
    a = param()
    cases = [
        (lambda: optim.SGD(a), ArgumentTypeError, "should be an iterable of Tensors or dicts"),
        (lambda: optim.SGD([]), ArgumentError, "empty parameter list"),
        (lambda: optim.SGD([3]), ArgumentTypeError, "one of the params is int"),
        (lambda: optim.SGD([{"params": {a}}]), ArgumentTypeError, "ordered collections"),
        (lambda: optim.SGD([a * 2]), ArgumentError, "can't optimize a non-leaf Tensor"),
        (lambda: optim.SGD([{"params": a}, {"params": a}]), ArgumentError, "appear in more than one parameter group"),
        (lambda: optim.SGD([a], lr=-1.0), ArgumentError, r"Invalid learning rate: -1\.0"),
        (lambda: optim.SGD([a], momentum=-1), ArgumentError, "Invalid momentum value: -1"),
        (lambda: optim.SGD([a], nesterov=True), ArgumentError, "Nesterov momentum requires"),
        (lambda: optim.Adam([a], betas=(0.5, 1.0)), ArgumentError, r"Invalid beta parameter at index 1: 1\.0"),
        (lambda: optim.Adam([a], eps=float("nan")), ArgumentError, "Invalid epsilon value: nan"),
        (lambda: optim.AdamW([a]).add_param_group([a]), ArgumentTypeError, "must be a dict, but got list"),
    ]
    for make, error, text in cases:
        with pytest.raises(error, match=text):
            make()
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([a, a])


def test_a_failed_group_is_not_added():
    optimizer = optim.SGD([param()])
    with pytest.raises(ArgumentError):
        optimizer.add_param_group({"params": [param()], "lr": -1})
    assert len(optimizer.param_groups) == 1


def test_subclasses_write_update():
    class Half(optim.Optimizer):
        def update(self, group):
            for each in group["params"]:
                each.mul_(group["factor"])

    a = param(4.0)
    Half([a], {"factor": 0.5}).step()
    assert a.item() == 2.0
    with pytest.raises(NotSupportedError, match="Optimizer: update is not defined"):
        optim.Optimizer([a], {}).step()


def test_it_prints_its_groups():
    assert repr(optim.SGD([param()], lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n"
        "    lr: 0.1\n    maximize: False\n    momentum: 0\n    nesterov: False\n    weight_decay: 0\n)"
    )
    assert repr(optim.Optimizer([{"params": [param()]}, {"params": [param()], "lr": 2}], {"lr": 1})) == (
        "Optimizer (\nParameter Group 0\n    lr: 1\n\nParameter Group 1\n    lr: 2\n)"
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda p: optim.AdamW(p, amsgrad=True),
        lambda p: optim.SGD(p, momentum=0.9, dampening=0.5),
        lambda p: optim.SGD(p, weight_decay=0.1),
    ],
)
@pytest.mark.devices(1)
def test_a_step_is_one_launch_for_parameters_of_one_age(make, gpus):
    params = [nn.Parameter(torch.ones(size, device="cuda")) for size in (3, 0, 1000, 17)]
    late = params[-1]
    optimizer = make(params)
    for step in range(4):
        for each in params:
            each.grad = None if each is late and step < 2 else torch.ones_like(each)
        count = launches(optimizer.step)
        assert step in (0, 2) or count <= (2 if step > 2 else 1)
    alone = nn.Parameter(torch.ones(17, device="cuda"))
    twin = make([alone])
    for _ in range(2):
        alone.grad = torch.ones_like(alone)
        twin.step()
    assert late.tolist() == alone.tolist()


@pytest.mark.devices(1)
def test_parameters_of_one_group_may_differ_in_type_place_and_layout(gpus):
    def trained(device, kind, turned):
        start = torch.arange(6.0).reshape(2, 3).to(device, kind)
        one = nn.Parameter(start.t() if turned else start.t().contiguous())
        other = nn.Parameter(torch.ones(3, device="cuda"))
        optimizer = optim.AdamW([one, other], lr=0.1, amsgrad=True)
        for step in range(3):
            one.grad, other.grad = torch.full_like(one, 0.5 + step), torch.ones_like(other)
            optimizer.step()
        assert one.is_contiguous() is not turned
        return one.detach().cpu().reshape(-1).tolist()

    wanted = trained("cpu", torch.float64, False)
    for device in ("cpu", "cuda"):
        assert trained(device, torch.float32, True) == pytest.approx(wanted, rel=1e-6)
        assert trained(device, torch.float16, True) == pytest.approx(wanted, rel=4e-3)


@pytest.mark.devices(1)
def test_a_step_is_a_write_that_autograd_sees(gpus):
    a = nn.Parameter(torch.ones(2, device="cuda"))
    optimizer = optim.Adam([a])
    a.grad = torch.ones_like(a)
    loss = (a * a).sum()
    optimizer.step()
    with pytest.raises(AutogradError, match="modified by an inplace operation"):
        loss.backward()


def test_a_step_that_fails_changes_nothing():
    a, b = param(1.0), param(2.0)
    optimizer = optim.Adam([a, b])
    b.data = torch.ones(2)
    with pytest.raises(ShapeError, match=r"adam_step: grads\[1\] has shape \[1\], params\[1\] has \[2\]"):
        optimizer.step()
    assert (a.item(), optimizer.state[a]["step"]) == (1.0, 0)


def test_a_loaded_number_keeps_its_type_on_every_device(gpus):
    """Loading casts it to the parameter's type, as PyTorch does; steps on a GPU read it on the host."""
    found = []
    for device in ("cpu", "cuda"):
        made = nn.Parameter(torch.ones(2, dtype=torch.float64, device=device))
        optimizer = optim.NAdam([made])
        for _ in range(2):
            made.grad = torch.full_like(made, 0.3)
            optimizer.step()
            optimizer.load_state_dict(optimizer.state_dict())
        made.grad = torch.full_like(made, 0.3)
        optimizer.step()
        assert optimizer.state[made]["mu_product"].dtype is torch.float64
        found.append(made.tolist())
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_hooks_of_all_optimizers_are_called_around_their_own():
    optimizer, seen = optim.SGD([param()]), []
    optimizer.register_step_pre_hook(lambda *_: seen.append("own before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("own after"))
    handles = [
        everywhere.register_optimizer_step_pre_hook(lambda found, args, kwargs: seen.append(("before", args, kwargs))),
        everywhere.register_optimizer_step_post_hook(lambda found, args, kwargs: seen.append(type(found).__name__)),
    ]
    optimizer.step()
    lbfgs = optim.LBFGS([param()])
    lbfgs.step(lambda: 0.0 * lbfgs.param_groups[0]["params"][0].sum())
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert seen[:4] == [("before", (optimizer,), {}), "own before", "own after", "SGD"]
    assert (seen[4][0], seen[5]) == ("before", "LBFGS") and seen[6:] == ["own before", "own after"]


def test_parameters_and_state_are_swapped_for_a_block():
    weight, other = param(4.0), param(1.0)
    optimizer = optim.SGD([weight], lr=0.5, momentum=0.9)
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    with optim.swap_in_optimizer_params_and_state(optimizer, {"weight": other}, state):
        optimizer.step()
    assert (weight.item(), other.item()) == (3.5, pytest.approx(0.05))
    assert state["state"][0]["momentum_buffer"].item() == pytest.approx(1.9)
    assert optimizer.state[weight]["momentum_buffer"].item() == 1.0
    with (
        pytest.raises(ArgumentError, match="1 parameters, got 0"),
        optim.swap_in_optimizer_params_and_state(optimizer, {}, state),
    ):
        pass


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("shape", [(3, 5), (5, 3)])
@pytest.mark.devices(1)
def test_muon_steps_along_an_orthogonal_matrix(gpus, device, shape):
    torch.manual_seed(0)
    weight = nn.Parameter(torch.zeros(shape, device=device))
    optimizer = optim.Muon([weight], lr=1.0, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
    weight.grad = torch.randn(shape).to(device)
    optimizer.step()
    values = torch.linalg.svdvals(weight.detach().cpu()) / (0.2 * 5**0.5)
    assert values.shape == (3,) and 0.5 < values.min().item() < values.max().item() < 1.4
    assert optimizer.state_dict()["state"][0]["momentum_buffer"].numel() == 15


def test_muon_is_for_matrices():
    for options, words in (({}, r"shape \[1\]"), ({"adjust_lr_fn": "other"}, "'other'"), ({"ns_steps": 100}, "100")):
        with pytest.raises(ArgumentError, match=words):
            optim.Muon([param() if not options else nn.Parameter(torch.ones(2, 2))], **options)


@pytest.mark.parametrize(
    "name",
    [
        "SGD",
        "Adam",
        "AdamW",
        "NAdam",
        "RAdam",
        "Adamax",
        "ASGD",
        "Adagrad",
        "RMSprop",
        "Rprop",
        "Adadelta",
        "Adafactor",
        "LBFGS",
    ],
)
def test_counters_are_on_the_cpu_whatever_the_default_device_is(name):
    with machine(devices=1), torch.device("cuda"):
        weight = torch.ones(3, 2, requires_grad=True)
        optimizer = getattr(torch.optim, name)([weight], lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            weight.square().sum().backward()
            optimizer.step(lambda: weight.square().sum())
        state = optimizer.state_dict()
        optimizer.load_state_dict(state)
        optimizer.step(lambda: weight.square().sum())
        assert weight.is_cuda and bool((weight < 1).all())
        counters = [each["step"] for each in state["state"].values() if isinstance(each.get("step"), torch.Tensor)]
        assert not any(counter.is_cuda for counter in counters)
