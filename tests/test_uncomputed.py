"""Virtual GPUs with values=no: memory and time as ever, and 1 in place of each value that the host reads."""

import io
import warnings

import pytest

import flambeau as torch
from flambeau import uncomputed
from flambeau.config import parse_gpus, virtual_gpus
from flambeau.core import thread
from flambeau.core.hooks import subscribe, unsubscribe
from flambeau.errors import ConfigError, NotSupportedError
from flambeau.nn import functional as F
from flambeau.runtime.machine import Machine

pytestmark = pytest.mark.filterwarnings("ignore:a value is read here")


@pytest.fixture
def card():
    """One virtual GPU of 8 TiB that computes no values."""
    machine = Machine(virtual_gpus(1, memory=1 << 43, values=False))
    former = thread.swap_machine(machine)
    yield machine
    thread.swap_machine(former)


@pytest.fixture
def left_out():
    """Large random tensors on the CPU have no values."""
    uncomputed.leave_out_host_values(True)
    yield
    uncomputed.leave_out_host_values(False)


def test_the_option_is_checked():
    assert (parse_gpus("virtual:1,values=no").values, parse_gpus("virtual:1").values) == (False, True)
    for make in (lambda: parse_gpus("virtual:1,values=maybe"), lambda: virtual_gpus(1, values="maybe")):
        with pytest.raises(ConfigError, match=r"values='maybe'(.|\n)*hint: use yes or no"):
            make()


def test_a_tensor_larger_than_the_host_takes_no_memory(card):
    x = torch.empty(1 << 40, dtype=torch.bfloat16, device="cuda")
    y = (x[: 1 << 39] * 2).sum()
    assert torch.cuda.max_memory_reserved() >= 3 << 40
    assert y.item() == 1.0


@pytest.mark.parametrize(
    ("dtype", "value"), [("float32", 1.0), ("int64", 1), ("bool", True), ("float64", 1.0), ("bfloat16", 1.0)]
)
def test_a_value_that_is_read_is_1(card, dtype, value):
    x = torch.zeros(2, 2, dtype=getattr(torch, dtype), device="cuda")
    read = x[0, 1].item(), x.cpu()[1, 0].item(), x.tolist()[1][1], torch.ones(2, 2, dtype=x.dtype).copy_(x)[0, 0].item()
    assert read == (value,) * 4
    assert {type(each) for each in read} == {type(value)}
    assert bool(x.any()) is True


def test_a_line_warns_once(card):
    x = torch.zeros(3, device="cuda")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            assert [x.sum().item(), x.mean().item()] == [1.0, 1.0]
        assert x[0].item() == 1.0
    assert [each.category for each in caught] == [UserWarning] * 2
    assert all("not computed" in str(each.message) for each in caught)
    assert caught[0].filename == __file__ and caught[1].lineno > caught[0].lineno


SHAPES = {
    "nonzero": lambda x: x.nonzero(),
    "index": lambda x: x[x > 0],
    "masked_select": lambda x: torch.masked_select(x, x > 0),
    "unique": lambda x: torch.unique(x),
    "repeat_interleave": lambda x: torch.repeat_interleave(x, x.long(), 0),
    "bincount": lambda x: torch.bincount(x.long()),
    "one_hot": lambda x: F.one_hot(x.long()),
    "linalg.inv": lambda x: torch.linalg.inv(torch.outer(x, x)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_that_depends_on_values_is_an_error_with_its_line(card, name):
    x = torch.zeros(4, device="cuda")
    with pytest.raises(NotSupportedError, match=f"{name}: the result depends on .* not computed") as failure:
        SHAPES[name](x)
    assert f"called at {__file__}:" in str(failure.value) and "--values" in failure.value.hint


def test_checks_inside_operators_pass(card):
    x = torch.zeros(3, 4, device="cuda")
    assert torch.multinomial(x, 2).shape == (3, 2)
    assert F.gaussian_nll_loss(x, x, x).shape == ()
    assert torch.nn.init.trunc_normal_(x) is x and torch.nn.init.trunc_normal_(x, a=1.5) is x


def test_a_scaled_optimizer_makes_its_step(card):
    x = torch.ones(3, device="cuda", requires_grad=True)
    optimizer, scaler = torch.optim.Adam([x]), torch.amp.GradScaler("cuda")
    scaler.scale(x.sum()).backward()
    scaler.step(optimizer)
    assert set(optimizer.state[x]) == {"step", "exp_avg", "exp_avg_sq"}


def test_a_loop_that_awaits_a_value_ends(card, monkeypatch):
    monkeypatch.setattr(uncomputed, "MAX_READS", 20)
    x = torch.zeros(3, device="cuda")
    with pytest.raises(NotSupportedError, match=r"test_uncomputed.py:\d+ has read .* 20 times(.|\n)*--values"):
        while x.sum() > 0:
            x -= 1


def test_no_file_is_overwritten_with_values_that_are_not_computed(card, tmp_path):
    path, file = tmp_path / "model.pt", io.BytesIO()
    path.write_text("trained")
    x = torch.zeros(3, device="cuda")
    with pytest.warns(UserWarning, match=r"save: '.*model.pt' is left as it is"):
        torch.save({"x": x}, path)
    torch.save({"x": x}, file)
    assert path.read_text() == "trained" and file.tell() > 0


def test_graphs_and_side_streams_run(card):
    x = torch.zeros(3, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x.add_(1)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        y = x * 2
    graph.replay()
    torch.cuda.synchronize()
    assert y.tolist() == [1.0] * 3


def test_memory_is_not_shared_with_other_processes(card):
    x = torch.zeros(3, device="cuda")
    with pytest.raises(NotSupportedError, match=r"device 0 cannot be shared(.|\n)*--values"):
        card.driver.ipc_export(0, x.untyped_storage().data_ptr())


# on the CPU


def test_large_random_tensors_are_left_out(left_out):
    x = torch.randn(1 << 29)  # 2 GiB
    y = (x * 2).to(torch.bfloat16)
    y += 1
    assert (y.shape, y.dtype, y[:3].sum().item()) == ((1 << 29,), torch.bfloat16, 1.0)


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_that_depends_on_what_is_left_out_is_an_error(left_out, name):
    x = torch.randn(600, 600)
    small = x[:4].sum(1)  # of 1 where it is read, but not computed
    with pytest.raises(NotSupportedError, match=f"{name}: the result depends on .* not computed"):
        SHAPES[name](small)
    assert small.tolist() == [1.0] * 4


def test_layers_that_are_made_on_the_cpu_are_left_out(left_out, card):
    net = torch.nn.Linear(1 << 15, 1 << 14)  # 2 GiB
    torch.nn.init.trunc_normal_(net.weight)
    torch.nn.init.zeros_(net.weight)
    net.half().cuda()
    assert torch.cuda.max_memory_reserved() >= 1 << 30
    assert net.weight.cpu().shape == (1 << 14, 1 << 15)


def test_what_is_not_random_keeps_its_values(left_out):
    x = torch.zeros(1000, 1000)
    x[3] = 5
    assert (x.sum().item(), torch.full((1 << 19,), 3.0).mean().item()) == (5000.0, 3.0)
    assert sorted(torch.randperm(500).tolist()) == list(range(500))
    assert torch.arange(1 << 20).sum().item() == (1 << 19) * ((1 << 20) - 1)


def test_what_numpy_reads_is_1_and_has_values_from_then_on(left_out):
    x = torch.randn(600, 600)
    array = x.numpy()
    array[0] = 7
    assert (array[1, 2], x.sum().item(), float(x[0].mean())) == (1.0, 600 * 7 + 599 * 600, 7.0)


def test_a_batch_of_samples_that_are_left_out_is_no_read(left_out):
    data = torch.utils.data.TensorDataset(torch.randn(1000, 1000), torch.arange(1000))
    read = []
    subscribe(on_host_read=read.append)  # a tool that listens too
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x, number = next(iter(torch.utils.data.DataLoader(data, batch_size=10)))
    unsubscribe(on_host_read=read.append)
    assert read
    assert (x.shape, number.tolist()) == ((10, 1000), list(range(10)))


def test_a_new_tensor_in_the_memory_of_a_left_out_one_has_values(left_out):
    for _ in range(3):
        x = torch.randn(600, 600)
        del x
        assert torch.ones(600, 600).sum().item() == 360_000


def test_large_copies_to_the_cpu_are_left_out(left_out, card):
    x = torch.empty(1 << 31, dtype=torch.uint8, device="cuda").cpu()
    small = torch.zeros(4, device="cuda").cpu()
    assert (x.numel(), small.tolist(), (x[:4] + small).tolist()) == (1 << 31, [1.0] * 4, [1.0] * 4)
