"""Random operators: arguments, streams of numbers, multinomial, counts, and dropout of channels."""

import math

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, DtypeError, ValueRangeError
from flambeau.nn import functional as F
from flambeau.ops.philox import philox4x32


@pytest.mark.parametrize("name", ["exponential_", "cauchy_", "log_normal_"])
def test_a_distribution_needs_a_floating_point_tensor(name):
    with pytest.raises(DtypeError, match=f"{name}: .*int64"):
        getattr(torch.empty(3, dtype=torch.int64), name)()


def test_wrong_arguments_take_no_words():
    generator = torch.Generator()
    before = generator.get_state().tolist()
    for wrong in (
        lambda: torch.empty(3).uniform_(2, 1, generator=generator),
        lambda: torch.empty(3).normal_(0, -1, generator=generator),
        lambda: torch.empty(3).random_(5, 5, generator=generator),
        lambda: torch.empty(3).bernoulli_(2.0, generator=generator),
        lambda: torch.empty(3).exponential_(0, generator=generator),
        lambda: torch.empty(3).geometric_(1, generator=generator),
    ):
        with pytest.raises(ArgumentError):
            wrong()
    assert generator.get_state().tolist() == before


@pytest.mark.parametrize("name", ["uniform_", "normal_", "exponential_"])
def test_the_portable_stream_is_a_choice(name, gpus):
    def drawn(device="cpu"):
        torch.manual_seed(3)
        return getattr(torch.empty(7, device=device), name)().tolist()

    usual = drawn()
    with torch.random.portable():
        assert drawn() != usual and drawn() == drawn("cuda")
        with torch.random.portable(False):
            assert drawn() == usual
    assert drawn() == usual


def sequence(seed, thread, counter=0):
    """The words of one counter of one thread."""
    found = philox4x32([np.array([word], np.uint64) for word in (counter, 0, thread, 0)], [seed, 0])
    return [int(word[0]) for word in found]


@pytest.mark.parametrize("name", ["exponential_", "cauchy_", "log_normal_", "geometric_"])
def test_a_distribution_has_its_median_on_a_gpu_in_both_streams(name, gpus):
    arguments = {"exponential_": (2.0,), "cauchy_": (1.0, 2.0), "log_normal_": (0.5, 1.0), "geometric_": (0.25,)}[name]
    median = {"exponential_": 0.3466, "cauchy_": 1.0, "log_normal_": 1.6487, "geometric_": 3.0}[name]
    for is_portable in (False, True):
        with torch.random.portable(is_portable):
            for dtype in (torch.float32, torch.float64, torch.float16):
                x = getattr(torch.empty(50_001, dtype=dtype, device="cuda"), name)(*arguments)
                assert x.double().sort().values[25_000].item() == pytest.approx(median, rel=0.05)


# choices


@pytest.mark.parametrize("is_portable", [False, True])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_multinomial_draws_in_proportion_to_the_weights(device, is_portable, gpus):
    weights = torch.tensor([[0.0, 1.0, 3.0, 0.0], [2.0, 0.0, 1.0, 1.0]], device=device)
    with torch.random.portable(is_portable):
        torch.manual_seed(2)
        many = torch.multinomial(weights, 20_000, replacement=True).cpu().numpy()
        shares = np.stack([np.bincount(row, minlength=4) for row in many]) / 20_000
        np.testing.assert_allclose(shares, [[0, 0.25, 0.75, 0], [0.5, 0, 0.25, 0.25]], atol=0.02)
        apart = torch.multinomial(weights.expand(2, 4).repeat(500, 1), 2).cpu().numpy()
        assert (np.sort(apart[::2], 1) == [1, 2]).all() and 0.6 < (apart[::2, 0] == 2).mean() < 0.9
        assert torch.multinomial(weights, 1).shape == (2, 1)
        assert torch.multinomial(weights[0], 1, replacement=True).item() in (1, 2)


def test_multinomial_takes_one_number_of_each_row_and_sample_on_a_gpu(gpus):
    """Sample j of row i has the first word of thread 128 i + j, if a row has at most 128."""
    torch.manual_seed(9)
    weights = torch.ones(3, 1000, device="cuda")
    found = torch.multinomial(weights, 100, replacement=True)
    for row, sample in ((0, 0), (1, 5), (2, 99)):
        fraction = (sequence(9, 128 * row + sample)[0] + 0.5) / (1 << 32)
        assert found[row, sample].item() == pytest.approx(fraction * 1000, abs=1)


def test_multinomial_checks_every_row(device):
    from benchmarks import counts

    for rows in (2, 65, 300):
        for wrong, told in ((-1.0, "element < 0"), (np.nan, "`nan`"), (np.inf, "`inf`"), (0.0, "sum of weights <= 0")):
            weights = torch.ones(rows, 600, device=device).bfloat16()
            weights[rows - 1] = 0
            weights[rows - 1, 599] = wrong
            with pytest.raises(ValueRangeError, match=told):
                torch.multinomial(weights, 1)
            weights[rows - 1, 598 if wrong == 0 else 599] = 2
            assert torch.multinomial(weights.t().contiguous().t(), 1)[rows - 1].item() == (598 if wrong == 0 else 599)
    if device == "cuda":
        found = counts.of(lambda: torch.multinomial(weights[0], 1))
        assert (found["launch"], found["copy"], found["host wait"]) == (4, 1, 1)


@pytest.mark.parametrize("weights", [[1.0, math.nan], [1.0, math.inf], [-1.0, 2.0], [0.0, 0.0]])
def test_multinomial_refuses_weights_that_are_none(weights):
    with pytest.raises(ArgumentError, match="multinomial: "):
        torch.multinomial(torch.tensor(weights), 2, replacement=True)


@pytest.mark.parametrize("is_portable", [False, True])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_counts_have_the_moments_of_their_distributions(device, is_portable, gpus):
    with torch.random.portable(is_portable):
        torch.manual_seed(1)
        for rate in (0.5, 4.0, 50.0):
            x = torch.poisson(torch.full((4000,), rate, device=device)).double()
            assert x.mean().item() == pytest.approx(rate, rel=0.06) and x.var().item() == pytest.approx(rate, rel=0.1)
        for count, p in ((20.0, 0.1), (100.0, 0.3), (100.0, 0.9)):
            x = torch.binomial(torch.full((4000,), count, device=device), torch.tensor(p, device=device)).double()
            assert x.mean().item() == pytest.approx(count * p, rel=0.06)
            assert x.var().item() == pytest.approx(count * p * (1 - p), rel=0.1)


@pytest.mark.parametrize("is_portable", [False, True])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_counts_follow_the_seed_and_the_generator(device, is_portable, gpus):
    rates = torch.full((200,), 12.0, device=device)
    for draw in (torch.poisson, lambda rates, **given: torch.binomial(rates * 4, rates / 40, **given)):
        with torch.random.portable(is_portable):
            torch.manual_seed(5)
            first, second = draw(rates), draw(rates)
            torch.manual_seed(5)
            assert draw(rates).equal(first) and draw(rates).equal(second) and not first.equal(second)
            own = torch.Generator(device).manual_seed(5)
            assert draw(rates, generator=own).equal(first)
            assert not draw(rates).equal(first)


def test_normal_refuses_negative_deviations_and_a_size_beside_a_tensor():
    with pytest.raises(ArgumentError, match="normal: "):
        torch.normal(torch.zeros(2), -torch.ones(2))
    with pytest.raises(ArgumentError, match="normal: .*-1"):
        torch.normal(0.0, -1.0, (2,))
    with pytest.raises(TypeError, match="normal: .*size"):
        torch.normal(0.0, 1.0)
    with pytest.raises(TypeError, match="normal: .*size"):
        torch.normal(torch.zeros(2), 1.0, (2,))
    out = torch.empty(0)
    assert torch.normal(torch.zeros(2), 0.0, out=out) is out and out.tolist() == [0.0, 0.0]


def test_exponential_values_do_not_depend_on_how_many_are_drawn_at_once():
    def drawn(count, dtype):
        torch.manual_seed(3)
        return torch.empty(count, dtype=dtype).exponential_(0.7)

    for dtype in (torch.float32, torch.float16, torch.float64):
        assert drawn(1 << 15, dtype)[:4000].equal(drawn(4000, dtype))


def test_probabilities_of_a_tensor_are_checked_on_the_host():
    for wrong in (1.5, -0.5, math.nan):
        with pytest.raises(ValueRangeError, match=f"bernoulli.*: .*{wrong}"):
            torch.bernoulli(torch.tensor([0.5, wrong]))
    with pytest.raises(ValueRangeError, match="2.0"):
        torch.ones(2).bernoulli_(torch.tensor([2.0, 0.0]))


def test_wrong_weights_and_probabilities_are_runtime_errors():
    for weights, count in ((torch.ones(3), 4), (torch.ones(3), 0), (torch.zeros(3), 1), (torch.tensor([1.0, -1]), 1)):
        with pytest.raises(ValueRangeError, match="multinomial"):
            torch.multinomial(weights, count)
    with pytest.raises(ValueRangeError, match="dropout: .*2"):
        torch.dropout(torch.ones(2), 2.0, True)


# dropout of channels and alpha dropout


@pytest.fixture
def seed():
    torch.manual_seed(3)


@pytest.mark.parametrize("drop, rank", [(F.dropout1d, 1), (F.dropout2d, 2), (F.dropout3d, 3)])
def test_whole_channels_are_dropped(seed, drop, rank):
    x = torch.ones(40, 50, *[2] * rank, requires_grad=True)
    out = drop(x, 0.25)
    channels = out.reshape(2000, -1)
    assert channels.eq(channels[:, :1]).all() and sorted(set(channels[:, 0].tolist())) == [0, pytest.approx(4 / 3)]
    assert channels[:, 0].eq(0).float().mean().item() == pytest.approx(0.25, abs=0.05)
    out.sum().backward()
    assert x.grad.equal(out.detach())
    assert drop(x, 0.25, training=False) is x and drop(x, 1.0).eq(0).all()


def test_channels_of_one_instance(seed):
    x = torch.ones(200, 3)
    assert F.dropout1d(x).shape == (200, 3)
    assert F.dropout1d(x, inplace=True) is x and set(x.flatten().tolist()) == {0.0, 2.0}
    assert F.dropout3d(torch.ones(4, 2, 2, 2)).shape == (4, 2, 2, 2)
    with pytest.warns(UserWarning, match="3D"):
        F.dropout2d(torch.ones(2, 3, 4))
    with pytest.raises(RuntimeError, match=r"dropout1d: .*4D input of shape \[1, 1, 1, 1\]"):
        F.dropout1d(torch.ones(1, 1, 1, 1))


@pytest.mark.parametrize("drop", [F.alpha_dropout, F.feature_alpha_dropout])
def test_alpha_dropout_keeps_mean_and_variance(seed, drop):
    x = torch.randn(400, 500)
    out = drop(x, 0.3, training=True)
    assert out.mean().item() == pytest.approx(0, abs=0.03) and out.var().item() == pytest.approx(1, abs=0.05)
    assert drop(x, 0.3) is x
    assert drop(x, 1.0, training=True).eq(0).all()


def test_layers(seed):
    for layer in (nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout):
        assert repr(layer(0.2)) == f"{layer.__name__}(p=0.2, inplace=False)"
        with pytest.raises(ValueError, match=f"{layer.__name__}: .*1.5"):
            layer(1.5)
        x = torch.ones(2, 3, 4, 5)
        assert layer().eval()(x if layer is not nn.Dropout1d else x[0]).sum().item() in (120, 60)


@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"])
def test_forms_in_place_draw_the_same(seed, name):
    x = torch.rand(4, 3, 2)
    torch.manual_seed(2)
    wanted = getattr(torch, name)(x, 0.5, True)
    torch.manual_seed(2)
    written = x.clone()
    assert getattr(torch, f"{name}_")(written, 0.5, True) is written and written.equal(wanted)
    assert getattr(torch, f"{name}_")(x, 0.5, False) is x


def test_dropout_draws_for_expanded_tensors_in_the_order_of_a_copy(device):
    one = torch.ones(1, 3, 1, device=device)
    for shape in ((2, 3, 4), (5, 3, 1), (1, 3, 20)):
        torch.manual_seed(1)
        expected = torch.dropout(torch.ones(shape, device=device), 0.5, True)
        torch.manual_seed(1)
        assert torch.dropout(one.expand(shape), 0.5, True).equal(expected), shape
