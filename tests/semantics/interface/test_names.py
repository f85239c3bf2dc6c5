"""Arguments of functions, classes and modules that go by PyTorch's names and places."""

import pytest

import flambeau as torch
from flambeau import multiprocessing as mp
from flambeau import nn
from flambeau.errors import AutogradError, NotSupportedError, ShapeError
from flambeau.nn import functional as F


def test_streams_of_other_libraries(gpus):
    stream = torch.cuda.Stream()
    assert torch.cuda.ExternalStream(stream_ptr=stream.cuda_stream) == stream
    assert torch.cuda.get_stream_from_external(data_ptr=stream.cuda_stream, device=0) == stream


def test_devices_of_replicas(gpus):
    net = nn.Linear(2, 1).cuda()
    replicas = nn.parallel.replicate(net, devices=[0, 1])
    inputs = [(torch.ones(1, 2, device=f"cuda:{index}"),) for index in range(2)]
    found = nn.parallel.parallel_apply(replicas, inputs, devices=[0, 1])
    assert [each.device.index for each in found] == [0, 1]


def test_the_strategy_of_sharing():
    before = mp.get_sharing_strategy()
    try:
        mp.set_sharing_strategy(new_strategy="file_system")
        assert mp.get_sharing_strategy() == "file_system"
    finally:
        mp.set_sharing_strategy(before)


def test_failures_of_processes():
    raised = mp.ProcessRaisedException(msg="text", error_index=1, error_pid=2)
    exited = mp.ProcessExitedException(msg="text", error_index=1, error_pid=2, exit_code=3)
    assert (str(raised), raised.msg, exited.exit_code) == ("text", "text", 3)


def test_methods_of_modules():
    inner = nn.Linear(1, 1)
    net = nn.Sequential(inner, nn.ReLU(), inner)
    seen = []
    assert net.apply(fn=seen.append) is net and seen[-1] is net
    assert len(list(net.modules())) == 3 and len(list(net.modules(remove_duplicate=False))) == 4
    assert net.pop(key=1).__class__ is nn.ReLU and len(net.extend(sequential=nn.Sequential(nn.GELU()))) == 3
    assert nn.ModuleDict({"a": inner}).pop(key="a") is inner


def test_norms_of_gradients():
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    x.grad = torch.tensor([3.0, 4.0])
    for foreach in (None, True, False):
        assert nn.utils.clip_grad_norm_([x], 100.0, 2.0, False, foreach).item() == 5.0
        nn.utils.clip_grad_value_([x], 100.0, foreach)
        assert nn.utils.get_total_norm([x.grad], 2.0, False, foreach).item() == 5.0
    x.grad = torch.tensor([float("inf"), 1.0])
    with pytest.raises(AutogradError, match="get_total_norm: .*non-finite: inf"):
        nn.utils.get_total_norm([x.grad], error_if_nonfinite=True)


def test_softmax_has_the_type_in_the_fourth_place():
    x = torch.tensor([1.0, 2.0])
    for function in (F.softmax, F.log_softmax):
        assert function(x, 0, 3, torch.float64).dtype is torch.float64
        assert function(x, 0, dtype=torch.float64).equal(function(x.double(), 0))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_rows_that_are_looked_up_are_limited_in_place(device, gpus):
    table = nn.Embedding(4, 2, max_norm=1.0, device=device)
    with torch.no_grad():
        table.weight.copy_(torch.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0], [5.0, 12.0]]))
    found = table(torch.tensor([0, 1, 0, 3], device=device))
    wanted = [[0.6, 0.8], [0.3, 0.4], [0.6, 0.8], [5 / 13, 12 / 13]]
    assert [pytest.approx(row, abs=1e-6) for row in wanted] == found.tolist()
    assert table.weight.tolist()[2] == [6.0, 8.0], "rows that are not looked up stay"
    assert [
        pytest.approx(row, abs=1e-6) for row in (wanted[0], wanted[1], [6.0, 8.0], wanted[3])
    ] == table.weight.tolist()
    found.sum().backward()
    assert table.weight.grad.tolist() == [[2.0, 2.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    with torch.no_grad():
        largest = F.embedding(torch.tensor([2], device=device), table.weight, None, 4.0, float("inf"))
    assert largest.tolist() == [pytest.approx([3.0, 4.0])]


def test_options_of_an_embedding():
    given = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    table = nn.Embedding(2, 2, None, None, 2.0, False, False, given, True)
    assert table.weight.equal(given) and table.weight.requires_grad is False
    assert nn.Embedding(2, 2, _weight=given).weight.requires_grad is True
    made = nn.Embedding.from_pretrained(given, True, None, 1.0, 1.0)
    assert (made.max_norm, made.norm_type, made.scale_grad_by_freq, made.sparse) == (1.0, 1.0, False, False)
    assert repr(made) == "Embedding(2, 2, max_norm=1.0, norm_type=1.0)"
    with pytest.raises(ShapeError, match=r"Embedding: .*_weight.*\[2, 2\].*\[3, 2\]"):
        nn.Embedding(3, 2, _weight=given)
    with pytest.raises(NotSupportedError, match="Embedding: sparse=True"):
        nn.Embedding(2, 2, sparse=True)


def test_a_graph_of_any_accelerator_is_dumped_to_a_path(gpus, tmp_path):
    graph = torch.accelerator.Graph()
    graph.enable_debug_mode()
    x = torch.zeros(1, device="cuda")
    with torch.cuda.Stream(), graph:
        x.add_(1)
    graph.debug_dump(path=str(tmp_path / "graph.dot"))
    assert (tmp_path / "graph.dot").read_text().startswith("digraph")
