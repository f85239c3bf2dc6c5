"""The kernel check gathers kernels from the operators, and says which do not compile."""

import pytest

from flambeau import dtypes
from flambeau.kernel import Kernel
from flambeau.ops.operator import LOWERED, POINTWISE, REGISTRY
from flambeau.testing import kernels

GOOD = 'extern "C" __global__ void fine(float* out) { out[0] = 1.0f; }'
BAD = 'extern "C" __global__ void broken(float* out) { out[0] = missing; }'


@pytest.fixture(scope="module")
def few():
    return kernels.gathered()


@pytest.mark.full
def test_every_pointwise_operator_gives_a_kernel(few):
    entries = {kernel.entry for kernel in few}
    missing = [
        name
        for name, operator in REGISTRY.items()
        if operator.kind is POINTWISE and not any(entry.startswith(f"{name}_") for entry in entries)
    ]
    assert missing == []


def test_each_operator_comes_once_and_each_family_in_every_type():
    seen: dict[str, set[str]] = {}
    for operator, kind, _ in kernels.chosen():
        seen.setdefault(operator.name, set()).add(kind.name)
    assert seen["add"] == {"float32"} or seen["add"] == {each.name for each in dtypes.ALL}
    families = {(REGISTRY[name].body.__module__, REGISTRY[name].kind) for name in seen}
    for family in families:
        names = [name for name in seen if (REGISTRY[name].body.__module__, REGISTRY[name].kind) == family]
        widest = max(len(seen[name]) for name in names)
        has_several = any(len(REGISTRY[name].dtypes) > 1 for name in names)
        assert widest > 1 or family[1] not in (POINTWISE, LOWERED) or not has_several, family


@pytest.mark.full
def test_kernels_are_gathered_once_each(few):
    assert len({(kernel.entry, kernel.source) for kernel in few}) == len(few)
    assert len(few) > len([each for each in REGISTRY.values() if each.kind is POINTWISE])


def test_a_kernel_that_does_not_compile_is_reported(nvrtc):
    good, bad = kernels.compiled([("fine", GOOD), ("broken", BAD)], kernels.ARCHITECTURE)
    assert good.nbytes > 0 and good.problem == ""
    assert bad.nbytes == 0 and "missing" in bad.problem and "broken" in bad.problem


def test_the_report_counts_kernels_and_bytes(nvrtc, monkeypatch):
    made = [Kernel("fine", GOOD, (), lambda: None), Kernel("broken", BAD, (), lambda: None)]
    monkeypatch.setattr(kernels, "gathered", lambda everything: made)
    monkeypatch.setattr(kernels, "compile_all", lambda few, arch, processes: kernels.compiled([("fine", GOOD)], arch))
    lines: list[str] = []
    assert kernels.main([], lines.append) == 0
    assert lines[-1].startswith("1 of 1 kernels of ") and " MiB, " in lines[-1]
