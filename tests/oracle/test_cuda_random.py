"""Random numbers on a GPU equal PyTorch's; see cuda_random.py, whose command prints every difference."""

import pytest

from flambeau import config

from .cuda_random import cases, reports

KINDS = sorted({case.name.split(" ")[0] for case in cases()})


@pytest.fixture(scope="module", autouse=True)
def only_on_hardware():
    choice = config.gpus()
    if choice is None or choice.kind != "nvidia":
        pytest.skip("FLAMBEAU_GPUS is not nvidia")
    pytest.importorskip("torch")


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_draws_equal_those_of_pytorch(kind):
    found = list(reports(f"{kind} "))
    assert not found, "\n".join(found[:40])
