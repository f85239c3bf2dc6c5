"""Normalization layers: state, text, modes and what they refuse."""

import pytest

import flambeau as torch
from flambeau import nn


def test_batch_norm_tracks_statistics_in_training_only():
    net, x = nn.BatchNorm1d(2), torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    net(x)
    assert net.running_mean.tolist() == pytest.approx([0.2, 0.4])
    assert net.running_var.tolist() == pytest.approx([1.1, 1.7])
    net.eval()(x)
    assert net.num_batches_tracked.item() == 1 and net.running_mean.tolist() == pytest.approx([0.2, 0.4])
    names = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    assert list(net.state_dict()) == names
    assert repr(net) == "BatchNorm1d(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)"
    net.reset_parameters()
    assert net.num_batches_tracked.item() == 0 and net.running_var.tolist() == [1, 1]


def test_no_momentum_averages_all_batches():
    net = nn.BatchNorm1d(1, momentum=None)
    for value in (1.0, 3.0, 8.0):
        net(torch.tensor([[value - 1], [value + 1]]))
    assert net.running_mean.tolist() == pytest.approx([4.0])


def test_without_tracking_evaluation_uses_the_batch():
    net, x = nn.BatchNorm2d(2, affine=False, track_running_stats=False).eval(), torch.randn(3, 2, 4, 4)
    assert list(net.state_dict()) == [] and net(x).mean().item() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    "layer, shape", [(nn.BatchNorm1d, (2,)), (nn.BatchNorm2d, (2, 3)), (nn.BatchNorm3d, (2, 3, 4, 4)),
                     (nn.SyncBatchNorm, (3,)), (nn.InstanceNorm2d, (3, 4)), (nn.InstanceNorm3d, (2, 3, 4))]
)  # fmt: skip
def test_another_number_of_dimensions_is_refused(layer, shape):
    with pytest.raises(ValueError, match=rf"^{layer.__name__}: expected .*got {len(shape)}D input"):
        layer(3)(torch.ones(shape))


def test_sync_batch_norm_takes_over_the_state_of_batch_norm():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Sequential(nn.BatchNorm1d(3, affine=False)))
    net(torch.randn(4, 2))
    made = nn.SyncBatchNorm.convert_sync_batchnorm(net.eval())
    assert [type(each) for each in made.modules()].count(nn.SyncBatchNorm) == 2
    assert made[1].running_mean.equal(net[1].running_mean) and not made[1].training and made[2][0].weight is None
    assert nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm2d(2)).num_features == 2


def test_instance_norm_takes_inputs_without_a_batch():
    net, x = nn.InstanceNorm1d(2), torch.randn(2, 5)
    assert net(x).shape == (2, 5) and net(x).equal(net(x.unsqueeze(0))[0])
    with pytest.warns(UserWarning, match="match num_features"):
        net(torch.ones(1, 3, 4))
    with pytest.raises(ValueError, match="InstanceNorm1d: .*num_features.*2.*3"):
        nn.InstanceNorm1d(2, affine=True)(torch.ones(1, 3, 4))


def test_groups_divide_channels():
    with pytest.raises(ValueError, match=r"GroupNorm: .*\(4\).*\(3\)"):
        nn.GroupNorm(3, 4)


def test_texts():
    assert repr(nn.GroupNorm(2, 4)) == "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)"
    assert repr(nn.RMSNorm(4)) == "RMSNorm((4,), eps=None, elementwise_affine=True)"
    assert repr(nn.CrossMapLRN2d(3)) == "CrossMapLRN2d(3, alpha=0.0001, beta=0.75, k=1)"


def test_batch_normalization_refuses_an_eps_that_cannot_be_added():
    x, ones = torch.ones(2, 1), torch.ones(1)
    for eps, training, fact in ((-1.0, False, "non-negative"), (-1.0, True, "positive"), (0.0, True, "positive")):
        with pytest.raises(ValueError, match=f"batch_norm: eps must be {fact}.*, but got {eps}"):
            nn.functional.batch_norm(x, ones, ones, training=training, eps=eps)
    assert nn.functional.batch_norm(x, ones, ones, eps=0.0).tolist() == [[0.0], [0.0]]


def test_the_former_local_response_norm_sums_channels_as_pytorch_does():
    x = torch.arange(1.0, 6.0).view(1, 5, 1, 1)
    for size, expected in (
        (1, [1 / 2, 1 / 3, 3 / 11, 2 / 9, 5 / 27]), (2, [2 / 3, 4 / 7, 1 / 2, 8 / 19, 5 / 14]),
        (3, [3 / 8, 6 / 17, 3 / 11, 2 / 9, 1 / 3]), (5, [5 / 19, 2 / 7, 1 / 4, 1 / 3, 25 / 56]),
    ):  # fmt: skip
        layer = nn.CrossMapLRN2d(size, alpha=1.0, beta=1.0)
        assert layer(x).flatten().tolist() == pytest.approx(expected), size
        assert torch.autograd.gradcheck(layer, (x.double().requires_grad_(),))
    with pytest.raises(ValueError, match=r"CrossMapLRN2d: expected a 4D input, got 3D: \[1, 5, 1\]"):
        layer(x[..., 0])
    with pytest.raises(ValueError, match="CrossMapLRN2d: size should be greater than zero, got 0"):
        nn.CrossMapLRN2d(0)(x)


def test_running_statistics_are_given_together():
    x, ones = torch.ones(2, 3, 4), torch.ones(3)
    for name in ("batch_norm", "instance_norm"):
        for given in ((ones, None), (None, ones)):
            settings = {"training": True} if name == "batch_norm" else {}
            with pytest.raises(ValueError, match=f"{name}: running_mean and running_var must either both be None"):
                getattr(nn.functional, name)(x, *given, **settings)


def test_gradients_of_an_empty_batch_are_zeros(device):
    for layer in (nn.LayerNorm(4), nn.LayerNorm((3, 4), bias=False), nn.RMSNorm(4), nn.LayerNorm(4, dtype=torch.half)):
        layer.to(device)
        x = torch.ones(0, 3, 4, device=device, dtype=layer.weight.dtype, requires_grad=True)
        layer(x).sum().backward()
        assert all(not p.grad.any() for p in layer.parameters()) and x.grad.shape == (0, 3, 4), layer
