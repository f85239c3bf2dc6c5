"""A late error names operator and line of the launch, and the line that received it.  Rows 1.3.3, 1.21.4"""

import gc
import re
import sys

import pytest

import flambeau as torch
from flambeau.nn import functional as F
from flambeau.runtime.strict import unwatch
from flambeau.testing import machine


@pytest.fixture(autouse=True)
def hooks_as_they_were():
    yield
    unwatch()


def outside(device, index=99):
    return torch.tensor([0, index], device=device)


def here():
    """The line of the caller."""
    return sys._getframe(1).f_lineno


def lines(error):
    return [int(line) for line in re.findall(re.escape(__file__) + r":(\d+)", str(error))]


# what fails, by the operator that launches it
KERNELS = {
    "index_select": lambda x: x[outside(x.device)],
    "gather": lambda x: x.gather(0, outside(x.device)),
    "scatter": lambda x: x.scatter(0, outside(x.device), torch.zeros(2, device=x.device)),
    "embedding": lambda x: F.embedding(outside(x.device), x.view(2, 2)),
    "nll_total": lambda x: F.nll_loss(x.view(2, 2), outside(x.device)),
    "entropy_total": lambda x: F.cross_entropy(x.view(2, 2), outside(x.device)),
    "bernoulli": lambda x: torch.bernoulli(x * 7),
}


CALLED = {"nll_total": "nll_loss", "entropy_total": "cross_entropy"}


@pytest.mark.parametrize("name", KERNELS)
def test_what_the_program_called_is_named_too(name):
    with machine():
        KERNELS[name](torch.ones(4, device="cuda"))
        with pytest.raises(torch.AcceleratorError) as caught:
            torch.cuda.synchronize()
    launched = str(caught.value).split(": failed on")[0]
    assert launched.partition(" of ")[2] == CALLED.get(name, "")


def test_also_in_a_replay():
    with machine():
        x, target, graph = torch.ones(2, 2, device="cuda"), torch.zeros(2, device="cuda").long(), torch.cuda.CUDAGraph()
        F.cross_entropy(x, target)
        with torch.cuda.graph(graph):
            captured = here() + 1
            F.cross_entropy(x, target)
        target.fill_(99)
        graph.replay()
        with pytest.raises(torch.AcceleratorError, match="of cross_entropy: failed") as caught:
            torch.cuda.synchronize()
    assert lines(caught.value)[0] == captured


def test_so_are_steps_and_passes_that_launch_something_of_their_own():
    def failing(call):
        with machine() as made:
            x = torch.ones(4, device="cuda", requires_grad=True)
            loss, optimizer = (x * x).sum(), torch.optim.SGD([x], lr=0.1)
            x.grad = torch.ones(4, device="cuda")
            made.driver.faults.fail_launch_at(1)
            call(loss, optimizer)
            with pytest.raises(torch.AcceleratorError) as caught:
                torch.cuda.synchronize()
        return str(caught.value).split(": failed on")[0].partition(" of ")[2]

    assert failing(lambda loss, optimizer: loss.backward()) == "Tensor.backward"
    assert failing(lambda loss, optimizer: optimizer.step()).endswith(".step")


@pytest.mark.parametrize("name", KERNELS)
def test_operator_and_both_lines_are_named(name):
    with machine(devices=2):
        x = torch.ones(4, device="cuda:1")
        torch.cuda.synchronize(1)
        found = KERNELS[name](x)
        met = here() + 2
        with pytest.raises(torch.AcceleratorError) as caught:
            found.tolist()
    text = str(caught.value)
    assert name in text.split(": failed on device 1")[0]
    assert lines(text) == [KERNELS[name].__code__.co_firstlineno, met]
    assert f"met by Tensor.tolist at {__file__}:{met}" in text
    assert caught.value.sticky and caught.value.error_code == 710
    assert "torch.virtual.reset()" in caught.value.hint and "the device is lost" in caught.value.hint


def test_every_later_call_names_its_own_line():
    with machine(devices=2):
        x = torch.ones(4, device="cuda")
        launched = here() + 1
        x[outside("cuda")]
        with pytest.raises(torch.AcceleratorError) as first:
            torch.cuda.synchronize()
        again = here() + 2
        with pytest.raises(torch.AcceleratorError) as second:
            x + 1
        assert lines(first.value) == [launched, again - 3] and lines(second.value) == [launched, again]
        assert second.value.sticky and torch.ones(4, device="cuda:1").tolist() == [1.0] * 4


def test_what_is_dropped_after_the_failure_says_nothing(recwarn):
    with machine(devices=1):
        x = torch.ones(4, device="cuda")
        coming, event = x.to("cpu", non_blocking=True), torch.cuda.current_stream().record_event()
        x[outside("cuda")]
        with pytest.raises(torch.AcceleratorError):
            torch.cuda.synchronize()
        del coming, event, x
        gc.collect()
    assert [str(each.message) for each in recwarn] == []


def test_a_failure_that_was_asked_for():
    with machine(devices=1) as made:
        x = torch.ones(4, device="cuda")
        made.driver.faults.fail_launch_at(2)
        y = x + 1
        launched = here() + 1
        z = y.exp()
        with pytest.raises(torch.AcceleratorError, match=r"^exp .*failed on device 0") as caught:
            z.tolist()
        assert lines(caught.value) == [launched, launched + 2] and caught.value.error_code == 719


def test_a_failure_in_backward_names_the_line_of_backward():
    with machine(devices=1) as made:
        x = torch.ones(4, device="cuda", requires_grad=True)
        loss = x.exp().sum()
        made.driver.faults.fail_launch_at(2)
        launched = here() + 1
        loss.backward()
        with pytest.raises(torch.AcceleratorError) as caught:
            torch.cuda.synchronize()
        assert lines(caught.value) == [launched, launched + 2]


def test_a_replay_names_the_line_that_was_captured():
    with machine(devices=1):
        x, index, graph = torch.ones(4, device="cuda"), outside("cuda", 1), torch.cuda.CUDAGraph()
        x[index]
        with torch.cuda.graph(graph):
            launched = here() + 1
            x[index]
        index.fill_(99)
        graph.replay()
        with pytest.raises(torch.AcceleratorError) as caught:
            torch.cuda.synchronize()
        assert lines(caught.value)[0] == launched


def test_with_launch_blocking_both_lines_are_one(monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    with machine(devices=1):
        x, index = torch.ones(4, device="cuda"), outside("cuda")
        launched = here() + 2
        with pytest.raises(torch.AcceleratorError) as caught:
            x[index]
        assert lines(caught.value) == [launched, launched]


def test_an_index_out_of_range_is_a_device_side_assert():
    with machine(devices=1):  # hardware would be lost to this process
        x = torch.ones(3, device="cuda")
        picked = x[torch.tensor([7], device="cuda")]
        with pytest.raises(torch.AcceleratorError, match="CUDA error: device-side assert triggered"):
            picked.tolist()
