"""Random numbers equal PyTorch's; those of the CPU: values that PyTorch 2.13 gives after `manual_seed(0)`."""

import math

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, DtypeError, ValueRangeError
from flambeau.nn import functional as F
from flambeau.ops import cuda_random
from flambeau.ops.philox import philox4x32

VALUES = [
    ("torch.rand(3)", [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]),
    ("torch.rand(3, dtype=torch.float64)", [0.9700530018065531, 0.707819864399788, 0.45938294312745087]),
    ("torch.rand(3, dtype=torch.float16)", [0.496337890625, 0.76806640625, 0.0885009765625]),
    ("torch.rand(3, dtype=torch.bfloat16)", [0.49609375, 0.76953125, 0.08837890625]),
    ("torch.randn(3)", [1.5409960746765137, -0.293428897857666, -2.1787893772125244]),
    ("torch.randn(3, dtype=torch.float64)", [1.5409961082440433, -0.2934289057609464, -2.1787893820745574]),
    ("torch.randn(16, dtype=torch.float64)[:3]", [-2.310411800234176, -0.3732508612577643, -1.0608166785462863]),
    ("torch.randn(37, dtype=torch.float64)[-3:]", [-1.6564246944540333, 0.9138982512742285, 1.154696227582466]),
    ("torch.randn(37)[-3:]", [-1.2001394033432007, -0.004785737954080105, -0.5180748105049133]),
    ("torch.randn(37, dtype=torch.float16)[-3:]", [2.302734375, -1.46875, -1.5869140625]),
    ("torch.randint(10, (5,))", [4, 9, 3, 0, 3]),
    ("torch.randint(1 << 40, (3,))", [741280623151, 506137267392, 291447657211]),
    ("torch.randint(-5, 5, (5,), dtype=torch.float32)", [-1.0, 4.0, -2.0, -5.0, -2.0]),
    ("torch.empty(3, dtype=torch.int32).random_()", [209652396, 398764591, 924231285]),
    ("torch.empty(3, dtype=torch.int64).random_()", [900450186894289455, 3969543146641149120, 1895649597198586619]),
    ("torch.empty(3).random_()", [8325664.0, 12888472.0, 1484222.0]),
    ("torch.randperm(8)", [4, 0, 7, 3, 2, 5, 1, 6]),
    ("torch.empty(6).bernoulli_(0.3)", [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("torch.bernoulli(torch.full((6,), 0.5, dtype=torch.float64))", [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
    ("torch.empty(3).exponential_(2.0)", [1.754163146018982, 0.6151923537254333, 0.3075220584869385]),
    ("torch.empty(3).cauchy_(1.0, 2.0)", [22.195459365844727, 2.5295345783233643, 0.743401288986206]),
    ("torch.empty(3).log_normal_()", [59.2634162902832, 1.5115599632263184, 0.03481946140527725]),
    ("torch.empty(5).geometric_(0.3)", [1.0, 1.0, 3.0, 1.0, 2.0]),
    ("torch.dropout(torch.ones(6), 0.3, True)", [0.0, 0.0, 1.4285714626312256, 0.0, 1.4285714626312256, 0.0]),
    ("torch.empty(2, 2).t().uniform_()[0]", [0.49625658988952637, 0.08847743272781372]),
    ("torch.normal(torch.tensor([1.0, 2.0, 3.0]), 0.5)", [1.7704980373382568, 1.853285551071167, 1.9106053113937378]),
    ("torch.normal(1.0, torch.tensor([1.0, 2.0, 3.0]))", [2.5409960746765137, 0.41314220428466797, -5.536368370056152]),
    ("torch.normal(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))", [5.622988224029541, 0.8262844085693359]),
    ("torch.normal(1.0, 2.0, (3,))", [4.081992149353027, 0.4131421744823456, -3.357578754425049]),
    ("torch.multinomial(torch.tensor([0.1, 0.2, 0.3, 0.4]), 4)", [2, 1, 3, 0]),
    ("torch.multinomial(torch.tensor([0.1, 0.2, 0.3, 0.4]), 6, replacement=True)", [3, 3, 2, 3, 3, 3]),
    ("torch.poisson(torch.tensor([0.5, 4.0, 30.0, 400.0]))", [2.0, 5.0, 26.0, 379.0]),
    ("torch.binomial(torch.tensor([5.0, 20.0, 100.0]), torch.tensor([0.5, 0.1, 0.7]))", [4.0, 2.0, 69.0]),
    ("torch.rand_like(torch.empty(2, 2).t())[0]", [0.49625658988952637, 0.08847743272781372]),
    (
        "torch.randn_like(torch.empty(5, 4).t())[0]",
        [1.5409960746765137, -1.0845223665237427, -0.7192575931549072, -0.8566746115684509, -0.5663174986839294],
    ),
    ("torch.randint_like(torch.empty(4), 10)", [4.0, 9.0, 3.0, 0.0]),
    ("torch.bernoulli(torch.full((6,), 0.5))", [1.0, 0.0, 1.0, 1.0, 1.0, 0.0]),
    ("torch.empty(4, dtype=torch.bool).random_()", [False, True, True, False]),
]


@pytest.mark.parametrize(("call", "values"), VALUES)
def test_values_are_those_of_pytorch(call, values):
    torch.manual_seed(0)
    assert eval(call).tolist() == pytest.approx(
        values, rel=0, abs=4e-6 if "randn(37)" in call or "randn_like" in call else 0
    )


def test_a_second_normal_value_is_kept_for_the_next_call():
    torch.manual_seed(0)
    found = [torch.randn(1).item(), torch.randn(1, dtype=torch.float64).item()]
    assert found == [pytest.approx(1.5409960746765137, abs=0), -0.2934289057609464]
    torch.manual_seed(0)
    torch.randn(1)
    state = torch.get_rng_state()
    first = torch.randn(4).tolist()
    torch.set_rng_state(state)
    assert torch.randn(4).tolist() == first
    torch.manual_seed(0)
    assert torch.randn(1).item() == pytest.approx(1.5409960746765137, abs=0)


def test_a_state_has_the_bytes_of_pytorch():
    """Seed, words left, seeded, next word; a normal value that is kept."""
    torch.manual_seed(5)
    fresh = torch.get_rng_state().tolist()
    assert len(fresh) == 5056 and fresh[:32] == [5, *[0] * 7, 1, 0, 0, 0, 1, *[0] * 11, 5, *[0] * 7]
    torch.rand(3)
    drawn = torch.get_rng_state().tolist()
    assert drawn[8:24] == [110, 2, 0, 0, 1, 0, 0, 0, 3, *[0] * 7]
    torch.randn(1)
    assert torch.get_rng_state().tolist()[5040:5048] == [1, *[0] * 7]


def test_a_long_permutation_exchanges_elements_in_turn():
    count = 40_000
    torch.manual_seed(1)
    found = torch.randperm(count).tolist()
    torch.manual_seed(1)
    words = torch.default_generator.random_state.words(count - 1).astype(np.int64).tolist()
    order = list(range(count))
    for place, word in enumerate(words):
        other = place + word % (count - place)
        order[place], order[other] = order[other], order[place]
    assert found == order


def test_a_draw_that_is_not_the_first_continues_in_the_next_block_of_words():
    torch.manual_seed(7)
    whole = torch.rand(3000).tolist()
    torch.manual_seed(7)
    assert [value for count in (1, 623, 1, 1300, 1075) for value in torch.rand(count).tolist()] == whole


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


# CUDA devices


@pytest.mark.parametrize(
    ("seed", "call", "values"),
    [
        (0, "randn", [-0.9247, -0.4253, -2.6438]),
        (42, "randn", [0.1940, 2.1614, -0.1721, 0.8491]),
        (0, "rand", [0.3990, 0.5167, 0.0249]),
        (42, "rand", [0.6130, 0.0101, 0.3984, 0.0403]),
    ],
)
def test_values_of_a_gpu_are_those_of_pytorch(seed, call, values, gpus):
    torch.manual_seed(seed)
    assert getattr(torch, call)(len(values), device="cuda").tolist() == pytest.approx(values, abs=5.1e-5)


THREADS = 132 * 2048  # of an H200


@pytest.mark.parametrize(
    ("draw", "numel", "words"),
    [
        (lambda n: torch.rand(n, device="cuda"), 1, 4),
        (lambda n: torch.rand(n, device="cuda"), 4 * THREADS, 4),
        (lambda n: torch.rand(n, device="cuda"), 4 * THREADS + 1, 8),
        (lambda n: torch.rand(n, device="cuda", dtype=torch.float64), 2 * THREADS + 1, 8),
        (lambda n: torch.randint(1 << 28, (n,), device="cuda"), 2 * THREADS, 4),
        (lambda n: torch.bernoulli(torch.full((n,), 0.5, device="cuda")), 9, 12),
        (lambda n: torch.dropout(torch.ones(n, device="cuda"), 0.5, True), 4 * THREADS + 8, 8),
        (lambda n: torch.randperm(n, device="cuda"), 1000, 1004),
        (lambda n: torch.rand(n, device="cuda"), 0, 0),
    ],
)
@pytest.mark.devices(1)
def test_a_call_on_a_gpu_advances_the_offset_as_in_pytorch(draw, numel, words, gpus):
    torch.cuda.init()
    generator = torch.cuda.default_generators[0]
    generator.set_offset(0)
    draw(numel)
    assert generator.get_offset() == words


def sequence(seed, thread, counter=0):
    """The words of one counter of one thread."""
    found = philox4x32([np.array([word], np.uint64) for word in (counter, 0, thread, 0)], [seed, 0])
    return [int(word[0]) for word in found]


def test_a_thread_of_a_gpu_fills_elements_that_are_apart(gpus):
    """Element i is word i // T % 4 of counter i // 4T of thread i % T."""
    torch.manual_seed(9)
    numel = 4 * THREADS + 10
    found = torch.empty(numel, dtype=torch.int64, device="cuda").random_(1 << 20).cpu().numpy()
    for element in (0, 5, THREADS - 1, THREADS, 2 * THREADS + 7, 4 * THREADS, numel - 1):
        word = sequence(9, element % THREADS, element // (4 * THREADS))[element // THREADS % 4]
        assert found[element] == word % (1 << 20)


def test_dropout_takes_neighbouring_words_where_elements_are_loaded_at_once(gpus):
    for numel, thread, word in ((16, 13 // 8 % 256, 13 % 4), (12, 9 // 4, 9 % 4), (10, 9 // 2, 1), (11, 9, 0)):
        torch.manual_seed(9)
        found = torch.dropout(torch.ones(numel, device="cuda"), 0.5, True)[9 if numel < 16 else 13].item()
        counter = 1 if numel == 16 else 0  # element 13 is in the second half of eight
        fraction = (sequence(9, thread, counter)[word] + 0.5) / (1 << 32)
        assert found == (2.0 if fraction < 0.5 else 0.0)


def test_dropout_in_place_on_a_gpu_draws_as_bernoulli(gpus):
    torch.manual_seed(9)
    found = torch.nn.functional.dropout(torch.ones(16, device="cuda"), 0.25, inplace=True)
    torch.manual_seed(9)
    assert found.tolist() == (torch.empty(16, device="cuda").bernoulli_(0.75) / 0.75).tolist()


@pytest.mark.parametrize("n", [0, 1, 2, 1000, 40000])
def test_a_permutation_on_a_gpu_has_every_index_once(n, gpus):
    assert torch.randperm(n, device="cuda").sort().values.tolist() == list(range(n))


def test_equal_keys_of_a_permutation_are_shuffled():
    order, keys = np.arange(8), np.array([1, 2, 2, 2, 5, 6, 6, 7])
    cuda_random.shuffle_kernel().reference(order, keys, None, 4, 0, 8)
    word, other = sequence(4, 1), sequence(4, 5)
    expected = list(range(8))
    for left, drawn in ((2, word[0]), (1, word[1])):
        at = 1 + drawn % (left + 1)
        expected[1 + left], expected[at] = expected[at], expected[1 + left]
    if other[0] % 2 == 0:
        expected[5:7] = [6, 5]
    assert order.tolist() == expected


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
