"""Every family against results of PyTorch (tests/oracle/distribution_cases.py), on the CPU and on a virtual GPU."""

import json

import numpy as np
import pytest

import flambeau as torch
from tests.distributions.needs import SPECIAL, needs
from tests.oracle.distribution_cases import CASES, RESULTS, made, result

RECORDED = json.loads(CASES.read_text())
pytestmark = needs(*SPECIAL)


@pytest.mark.parametrize(
    "case", RECORDED["families"], ids=[f"{at}-{case[0]}" for at, case in enumerate(RECORDED["families"])]
)
def test_a_family_has_the_moments_and_densities_of_pytorch(case):
    name, parameters, values, expected, _ = case
    distribution = made(torch, name, parameters)
    for each in RESULTS:
        found, wanted = result(torch, distribution, each, values), expected[each]
        if wanted is None or each == "support":
            assert found == wanted, each
            continue
        np.testing.assert_allclose(np.array(found, float), np.array(wanted, float), rtol=1e-6, atol=1e-6, err_msg=each)


@pytest.mark.parametrize("case", RECORDED["divergences"], ids=[f"{p[0]}-{q[0]}" for p, q, _ in RECORDED["divergences"]])
def test_divergences_are_those_of_pytorch(case):
    p, q, expected = case
    found = torch.distributions.kl_divergence(made(torch, *p), made(torch, *q))
    np.testing.assert_allclose(np.array(found.tolist(), float), np.array(expected, float), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "case", RECORDED["families"], ids=[f"{at}-{case[0]}" for at, case in enumerate(RECORDED["families"])]
)
def test_an_expanded_distribution_is_the_same_for_each_member_of_the_batch(case):
    name, parameters, values, expected, _ = case
    distribution = made(torch, name, parameters)
    wide = distribution.expand((4, *distribution.batch_shape))
    assert wide.batch_shape == (4, *distribution.batch_shape) and wide.event_shape == distribution.event_shape
    value = torch.tensor(values, dtype=torch.float64)[0]
    wanted = np.broadcast_to(np.array(expected["log_prob"], float)[0], wide.batch_shape)
    np.testing.assert_allclose(wide.log_prob(value).numpy(), wanted, rtol=1e-6, atol=1e-6)
    assert repr(distribution).startswith(f"{name}(")


@pytest.mark.parametrize(
    "case", RECORDED["families"], ids=[f"{at}-{case[0]}" for at, case in enumerate(RECORDED["families"])]
)
def test_a_gpu_computes_the_same_density(case, gpus):
    name, parameters, values, expected, _ = case

    class OnGpu:
        distributions, float64 = torch.distributions, torch.float64

        @staticmethod
        def tensor(given, dtype):
            return torch.tensor(given, dtype=dtype, device="cuda")

    found = made(OnGpu, name, parameters).log_prob(OnGpu.tensor(values, torch.float64))
    assert found.is_cuda
    np.testing.assert_allclose(found.cpu().numpy(), np.array(expected["log_prob"], float), rtol=1e-6, atol=1e-6)
