"""The first interface: typed constructors, `new`, `get_device`, `--disable-cuda`, and a keyword Python took back."""

import argparse

import pytest

import flambeau as torch

pytestmark = pytest.mark.usefixtures("gpus")


@pytest.mark.devices(3)
def test_typed_tensors_live_where_the_current_device_was():
    x = torch.cuda.FloatTensor(1)
    y = torch.FloatTensor(1).cuda()
    assert x.get_device() == 0 and y.get_device() == 0
    with torch.cuda.device(1):
        a = torch.cuda.FloatTensor(1)
        b = torch.FloatTensor(1).cuda()
        assert a.get_device() == b.get_device() == 1
        c = a + b
        assert c.get_device() == 1
        z = x + y
        assert z.get_device() == 0
        d = torch.randn(2).cuda(2)
        assert d.get_device() == 2
    assert torch.cuda.current_device() == 0


def test_operands_on_two_devices_are_refused():
    x, y = torch.cuda.FloatTensor([1.0]), torch.FloatTensor([2.0]).cuda(1)
    expected = r"add: Expected all tensors to be on the same device: input is float32\[1\] on cuda:0"
    with pytest.raises(RuntimeError, match=expected):
        x + y
    x.copy_(y)
    assert x.tolist() == [2.0] and x.get_device() == 0


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="example")
    parser.add_argument("--disable-cuda", action="store_true", help="Disable CUDA")
    args = parser.parse_args(arguments)
    args.cuda = not args.disable_cuda and torch.cuda.is_available()
    return args


@pytest.mark.parametrize(("arguments", "device"), [([], "cuda"), (["--disable-cuda"], "cpu")])
def test_a_flag_chooses_the_device(arguments, device):
    args = parse(arguments)
    x = torch.Tensor(8, 42)
    net = torch.nn.Linear(42, 3)
    if args.cuda:
        x = x.cuda()
        net.cuda()
    assert x.shape == (8, 42) and x.dtype is torch.float32
    assert x.device.type == device and {p.device.type for p in net.parameters()} == {device}
    assert net(x.zero_()).shape == (8, 3)


@pytest.mark.parametrize(("name", "device"), [("torch.FloatTensor", "cpu"), ("torch.cuda.FloatTensor", "cuda")])
def test_a_default_type_casts_what_a_loader_gives(name, device):
    dtype = torch.cuda.FloatTensor if device == "cuda" else torch.FloatTensor
    loader = torch.utils.data.DataLoader(torch.arange(6), batch_size=4)
    seen = []
    for _, x in enumerate(loader):
        x = torch.autograd.Variable(x.type(dtype))
        assert x.type() == name and x.device.type == device
        seen += x.tolist()
    assert seen == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_the_device_context_ends_with_its_block(capsys):
    where = [torch.cuda.current_device()]
    with torch.cuda.device(1):
        where.append(torch.cuda.current_device())
    where.append(torch.cuda.current_device())
    assert where == [0, 1, 0]


def test_new_keeps_type_and_device():
    x_cpu, x_gpu, x_long = torch.FloatTensor(1), torch.cuda.FloatTensor(1), torch.LongTensor(1)
    y_cpu = x_cpu.new(8, 10, 10).fill_(0.3)
    y_gpu = x_gpu.new(x_gpu.size()).fill_(-5)
    y_long = x_long.new([[1, 2, 3]])
    assert y_cpu.shape == (8, 10, 10) and y_cpu.type() == "torch.FloatTensor"
    assert y_cpu.max().item() == pytest.approx(0.3)
    assert y_gpu.tolist() == [-5.0] and y_gpu.type() == "torch.cuda.FloatTensor"
    assert y_long.tolist() == [[1, 2, 3]] and y_long.type() == "torch.LongTensor"


def test_ones_and_zeros_like_keep_type_and_device():
    x_cpu, x_gpu = torch.FloatTensor(1), torch.cuda.FloatTensor(1)
    assert torch.ones_like(x_cpu).tolist() == [1.0] and torch.ones_like(x_cpu).type() == "torch.FloatTensor"
    assert torch.zeros_like(x_gpu).tolist() == [0.0] and torch.zeros_like(x_gpu).type() == "torch.cuda.FloatTensor"
    with pytest.raises(AttributeError, match="ones_lick"):
        torch.ones_lick  # noqa: B018  (one of the texts misspells it)


def test_async_is_a_keyword_of_python_now():
    with pytest.raises(SyntaxError):
        compile("x.cuda(async=True)", "program", "eval")
    with pytest.raises(TypeError, match="async"):
        torch.FloatTensor([1.0]).cuda(**{"async": True})
    pinned = torch.FloatTensor([1.0, 2.0]).pin_memory()
    assert pinned.is_pinned() and pinned.cuda(non_blocking=True).tolist() == [1.0, 2.0]


def test_a_loader_pins_its_batches():
    loader = torch.utils.data.DataLoader(torch.arange(5), batch_size=2, pin_memory=True)
    batches = list(loader)
    assert all(batch.is_pinned() for batch in batches)
    assert [batch.tolist() for batch in batches] == [[0, 1], [2, 3], [4]]


def test_data_parallel_uses_every_device_from_one_process():
    net = torch.nn.Linear(4, 2).cuda()
    out = torch.nn.DataParallel(net)(torch.ones(6, 4).cuda())
    assert out.shape == (6, 2) and out.get_device() == 0
    assert out.tolist() == net(torch.ones(6, 4).cuda()).tolist()
