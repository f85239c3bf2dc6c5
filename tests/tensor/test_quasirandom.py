"""Sobol' sequences: the points are PyTorch's, bit by bit."""

import copy
import hashlib
import pickle

import pytest

import flambeau as torch
from flambeau import host
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DtypeError,
    NotSupportedError,
    ValueRangeError,
)
from flambeau.quasirandom import SobolEngine

LAST = 1 << 30
# the first 100 points of PyTorch 2.13 in float64, by dimension: the start of the sha256 of their bytes
DIGESTS = {
    1: "3f4c28b97820fafa", 2: "d2362c9f94b9ca52", 5: "dee12e953138748c", 50: "52698865b1711eed",
    21201: "8ba61f27cd36027c",
}  # fmt: skip


def integers(points):
    return (points.double() * LAST).long().tolist()


def test_points_are_pytorchs():
    for dimension, digest in DIGESTS.items():
        points = SobolEngine(dimension).draw(100, dtype=torch.float64)
        assert hashlib.sha256(points.numpy().tobytes()).hexdigest().startswith(digest), dimension


def test_scrambled_points_are_pytorchs():
    engine = SobolEngine(3, scramble=True, seed=7)
    first = [[214182640, 183537056, 804615872], [743252992, 763961850, 525950751], [913270153, 318118174, 846087720]]
    assert integers(engine.draw(3, dtype=torch.float64)) == first
    later = [[3506994, 760748327, 784002900], [112673074, 506373306, 428861057]]
    assert integers(engine.fast_forward(100).draw(2, dtype=torch.float64)) == later
    torch.manual_seed(5)
    unseeded = SobolEngine(2, scramble=True)
    assert integers(unseeded.draw(2, dtype=torch.float64)) == [[515708032, 125905760], [1019827454, 797811885]]


def test_the_first_point_has_the_precision_of_the_default_type_of_the_construction():
    rounded, exact = SobolEngine(3, scramble=True, seed=7), None
    torch.set_default_dtype(torch.float64)
    try:
        exact = SobolEngine(3, scramble=True, seed=7)
    finally:
        torch.set_default_dtype(torch.float32)
    shift = exact.shift.tolist()
    assert integers(exact.draw(1, dtype=torch.float64)) == [shift] != integers(rounded.draw(1, dtype=torch.float64))


@pytest.mark.full
def test_calls_in_any_order_give_the_points_of_pytorch():
    pytorch = pytest.importorskip("torch")

    def program(package, dimension, scramble, dtype):
        engine = package.quasirandom.SobolEngine(dimension, scramble, seed=dimension)
        found = [engine.draw(5, dtype=dtype), engine.draw(dtype=dtype), engine.draw_base2(1, dtype=dtype)]
        found += [engine.fast_forward(1000).draw(7, dtype=dtype), engine.shift, engine.sobolstate]
        engine.reset()
        found += [engine.draw_base2(3, dtype=dtype), engine.draw_base2(3, dtype=dtype)]
        engine.reset()
        found += [engine.fast_forward(3).draw(2, dtype=dtype), engine.fast_forward(5000).draw(1, dtype=dtype)]
        return [each.tolist() for each in found], repr(engine), engine.num_generated

    for dimension in (1, 2, 5, 50, 1111):
        for scramble in (False, True):
            for name in ("float32", "float64"):
                case = dimension, scramble
                assert program(torch, *case, getattr(torch, name)) == program(pytorch, *case, getattr(pytorch, name))


def test_points_do_not_depend_on_the_calls_that_draw_them():
    whole = SobolEngine(4, scramble=True, seed=1).draw(64)
    for sizes in ([1] * 64, [0, 3, 0, 61], [32, 32], [63, 1]):
        engine = SobolEngine(4, scramble=True, seed=1)
        parts = [engine.draw(size) for size in sizes]
        assert torch.cat(parts).equal(whole) and engine.num_generated == 64, sizes
    for skipped in (0, 1, 2, 31, 63):
        assert SobolEngine(4, True, 1).fast_forward(skipped).draw(64 - skipped).equal(whole[skipped:])
    engine = SobolEngine(4, scramble=True, seed=1)
    assert torch.cat([engine.draw_base2(m) for m in (3, 3, 4, 5)]).equal(whole)
    assert engine.reset().draw(64).equal(whole)


def test_the_last_point_of_a_sequence():
    engine = SobolEngine(2).fast_forward(LAST - 1)
    for call in (lambda: engine.draw(2), lambda: engine.fast_forward(2)):
        with pytest.raises(ValueRangeError, match=f"{LAST - 1} points .* 2 more"):
            call()
    assert engine.draw(1).shape == (1, 2)
    with pytest.raises(ValueRangeError, match=f"draw: {LAST} points .* 1 more"):
        engine.draw()
    assert engine.num_generated == LAST and engine.draw(0).shape == (0, 2)


def test_types_and_out():
    engine = SobolEngine(2)
    assert engine.draw(2).dtype is torch.float32 and engine.draw(2, dtype=torch.float64).dtype is torch.float64
    for shape in ((0,), (4, 2), (3,)):
        out = torch.empty(shape, dtype=torch.float64)
        assert engine.reset().draw(4, out=out) is out and out.equal(engine.reset().draw(4, dtype=torch.float64))
    with pytest.raises(DtypeError, match="draw: dtype must be .*, got torch.float16"):
        engine.draw(2, dtype=torch.float16)
    with pytest.raises(ArgumentTypeError, match=r"draw: out must be a Tensor, got \[1\]"):
        engine.draw(2, out=[1])
    with pytest.raises(AutogradError, match=r"draw: .*float32\[3\]"):
        engine.draw(2, out=torch.zeros(3, requires_grad=True))
    assert engine.num_generated == 4


def test_wrong_arguments():
    for dimension in (0, -1, 21202):
        with pytest.raises(ArgumentError, match=f"SobolEngine: dimension must be from 1 to 21201, got {dimension}\n"):
            SobolEngine(dimension)
    for dimension in (2.5, True, "2"):
        with pytest.raises(ArgumentTypeError, match=f"SobolEngine: dimension .* {dimension!r}"):
            SobolEngine(dimension)
    with pytest.raises(ValueRangeError, match="SobolEngine: .*'x'"):
        SobolEngine(2, scramble=True, seed="x")
    engine = SobolEngine(2)
    for name in ("draw", "fast_forward", "draw_base2"):
        with pytest.raises(ValueRangeError, match=f"{name}: [nm] must not be negative, got -1"):
            getattr(engine, name)(-1)
        with pytest.raises(ArgumentTypeError, match=f"{name}: [nm] must be an int, got 2.5"):
            getattr(engine, name)(2.5)
    engine.draw(4)
    with pytest.raises(ArgumentError, match=r"draw_base2: 4 points .* 2\*\*3"):
        engine.draw_base2(3)
    with pytest.raises(ValueRangeError, match="draw_base2: "):
        engine.reset().draw_base2(31)
    assert engine.num_generated == 0


def test_text_and_copies():
    assert repr(SobolEngine(2)) == "SobolEngine(dimension=2)"
    assert repr(SobolEngine(2, True, 3)) == "SobolEngine(dimension=2, scramble=True, seed=3)"
    engine = SobolEngine(3, True, 2).fast_forward(5)
    copies = [pickle.loads(pickle.dumps(engine)), copy.deepcopy(engine)]
    points = engine.draw(4)
    assert all(each.draw(4).equal(points) for each in copies)


def test_a_missing_table_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)
    host.sobol_polynomials.cache_clear()
    with pytest.raises(NotSupportedError, match="SobolEngine: SciPy .*_sobol_direction_numbers"):
        SobolEngine(2)
