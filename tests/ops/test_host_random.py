"""Random numbers of the CPU: values that PyTorch 2.13 gives after manual_seed(0), and states."""

import numpy as np
import pytest

import flambeau as torch

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
