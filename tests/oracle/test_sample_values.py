"""Every operator's samples against what PyTorch answered, which sample_values.json.xz has: on the CPU and on a GPU."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from flambeau.ops.operator import REGISTRY
from flambeau.testing import machine
from tests.oracle import sample_values
from tests.oracle.sample_values import (
    EXPLAINED,
    NOT_RECORDED,
    all_cases,
    differences,
    explained,
    explanations,
    is_public,
    ours,
    recorded,
)

BY_OPERATOR: dict[str, list[str]] = {}
for name in recorded():
    BY_OPERATOR.setdefault(name.split("-")[0], []).append(name)
RECORD = "run scripts/oracle sample_values --record with PyTorch installed"
DIFFERENCES = Path(__file__).parents[2] / "docs/differences.md"


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with machine(devices=1):
        yield


def found(name: str, device: str) -> dict[str, str]:
    """The differences of a recorded case."""
    assert name in all_cases(), RECORD
    path, theirs = recorded()[name]
    case = all_cases()[name]
    return differences(case, ours(case, path, device), theirs)


@pytest.mark.parametrize("operator", sorted(BY_OPERATOR))
def test_samples_have_the_values_of_pytorch(operator, sample):
    for name in sample(BY_OPERATOR[operator], 2):
        for device in ("cpu", "cuda"):
            wrong = {where: text for where, text in found(name, device).items() if not explanations(name, where)}
            assert not wrong, "\n".join([f"{name} on {device}", *(f"{key}: {text}" for key, text in wrong.items())])


def test_every_public_operator_is_recorded_or_has_a_reason_not_to_be():
    public = {name for name, operator in REGISTRY.items() if is_public(operator)}
    reasons = [name for names in NOT_RECORDED.values() for name in names]
    assert sorted([*BY_OPERATOR, *reasons]) == sorted(public), RECORD


def test_what_is_explained_still_differs_and_is_written_down():
    operators = {name.split("-")[0].split()[0] for name in explained()}
    differ = {
        key
        for operator in operators
        for name in BY_OPERATOR[operator]
        for where in found(name, "cpu")
        for key in explanations(name, where)
    }
    assert differ == explained()
    text = DIFFERENCES.read_text()
    assert [reason for reason in EXPLAINED if reason not in text] == []


def test_results_that_differ_are_found():
    one = sample_values.recorded()["add-0-float32"][1][0][0]
    operator = REGISTRY["add"]
    changed = {
        "dtype": one._replace(dtype="float64"),
        "shape": one._replace(shape=(7,)),
        "strides": one._replace(strides=(7,)),
        "values": one._replace(values=one.values * (1 + 2**-20)),
    }
    for field, other in changed.items():
        assert sample_values.difference(one, other, operator, False, field == "strides"), field
    assert not sample_values.difference(one, one, operator, False, True)
