"""Random numbers of CUDA devices: PyTorch's values, offsets and threads, permutations, dropout."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.ops import cuda_random
from flambeau.ops.philox import philox4x32


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
