"""Batch normalization over all ranks."""

import pytest

import flambeau as torch
from flambeau import nn
from tests.parallel.ddp import DDP, SEEDING, ranks, values


@pytest.mark.parametrize("device", ["cuda", "cpu"])
@pytest.mark.parametrize("sizes", [(4, 4), (6, 2), (8, 0)])
def test_batch_norm_over_all_ranks_is_that_of_the_whole_batch(sizes, device, monkeypatch):
    def network():
        norm = nn.BatchNorm2d(3, momentum=0.3)
        return nn.Sequential(nn.Conv2d(2, 3, 2), norm, nn.Tanh(), nn.Conv2d(3, 1, 2)).double()

    with SEEDING:
        torch.manual_seed(5)
        whole, x = network(), torch.randn(8, 2, 5, 5, dtype=torch.float64)
    (whole(x).square().sum() / 2).backward()

    def train(rank, place):
        net = nn.SyncBatchNorm.convert_sync_batchnorm(network())
        assert isinstance(net[1], nn.SyncBatchNorm)
        net.load_state_dict(before)
        net = DDP(net.to(place))
        net(x.split(sizes)[rank].to(place)).square().sum().backward()
        net.eval()
        return values(each.grad for each in net.parameters()), values(net.buffers()), values([net(x.to(place))])

    before = {**whole.state_dict(), "1.running_mean": torch.zeros(3), "1.running_var": torch.ones(3)}
    before["1.num_batches_tracked"] = torch.tensor(0)
    first, second = ranks(train, monkeypatch, device=device)[0]
    expected = values(each.grad for each in whole.parameters()), values(whole.buffers()), values([whole.eval()(x)])
    assert first == second
    for found, wanted in zip(first, expected):
        assert found == pytest.approx(wanted, rel=1e-10, abs=1e-12)


def test_batch_norm_over_all_ranks_without_weights_in_half_precision(monkeypatch):
    def train(rank, place):
        layer = nn.SyncBatchNorm(1, affine=False, momentum=None).to(place)
        x = torch.tensor([[0.0], [2.0]], device=place).add(4 * rank).half().requires_grad_()
        y = layer(x)
        y[0].sum().backward()
        return y.dtype, y.tolist(), x.grad.dtype, layer.running_mean.item(), layer.running_var.item()

    found, _ = ranks(train, monkeypatch)
    low, high = [1.3418, 0.4473]
    assert found[0][1] == [[pytest.approx(-low, abs=1e-3)], [pytest.approx(-high, abs=1e-3)]]
    assert found[1][1] == [[pytest.approx(high, abs=1e-3)], [pytest.approx(low, abs=1e-3)]]
    assert {each[0] for each in found} == {each[2] for each in found} == {torch.float16}
    assert found[0][3:] == found[1][3:] == (3.0, pytest.approx(20 / 3))
