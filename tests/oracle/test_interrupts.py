"""A sample of the interrupt fuzzer in every area."""

import gc
import signal
import sys
import time
import warnings

import pytest

import flambeau as torch
from flambeau import signals
from flambeau.autograd import graph
from flambeau.core import native, thread
from flambeau.testing import machine
from tests.oracle import interrupts

POINTS = range(12)  # per area; `python -m tests.oracle.interrupts` takes as many as wanted
SIGNALS = range(3)


@pytest.fixture(autouse=True)
def _no_other_trace():
    if sys.gettrace() is not None:
        pytest.skip("the fuzzer needs sys.settrace for itself")


@pytest.mark.slow
@pytest.mark.parametrize("area", interrupts.AREAS, ids=lambda area: area.name)
def test_an_interrupt_leaves_nothing_broken(area, sample):
    for _, result in interrupts.fuzz((area,), len(sample(POINTS, 4)), seed=1):
        assert result.interrupted and not result.wrong and not result.modes, (result.where, result.wrong, result.modes)


@pytest.mark.slow
@pytest.mark.parametrize("area", interrupts.AREAS, ids=lambda area: area.name)
def test_a_real_signal_leaves_nothing_broken(area, sample):
    for _, result in interrupts.fuzz_signals((area,), len(sample(SIGNALS, 2)), seed=1):
        assert not result.wrong and not result.modes, (result.where, result.wrong, result.modes)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an interrupt may fall in a finalizer
def test_the_fuzzer_sees_what_an_unguarded_interrupt_breaks(monkeypatch):
    monkeypatch.setattr("flambeau.signals.is_critical", lambda frame: False)
    monkeypatch.setattr(interrupts, "in_thread", lambda function: "")
    try:
        assert any(result.wrong for _, result in interrupts.fuzz((interrupts.AREAS[0],), 300, seed=1))
    finally:
        native._in_child()  # closes the sections that are left open


CONTEXTS = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "default device": lambda: torch.device("cuda:1"),
    "device": lambda: torch.cuda.device(1),
    "stream": lambda: torch.cuda.stream(torch.cuda.Stream(1)),
    "stream itself": lambda: torch.cuda.Stream(1),
    "hooks": lambda: torch.autograd.graph.saved_tensors_hooks(abs, abs),
    "on the CPU": torch.autograd.graph.save_on_cpu,
    "no hooks": lambda: torch.autograd.graph.disable_saved_tensors_hooks("none here"),
    "mutation": torch.autograd.graph.allow_mutation_on_saved_tensors,
    "anomaly": torch.autograd.detect_anomaly,
    "backends": lambda: torch.backends.cudnn.flags(benchmark=True, deterministic=True, allow_tf32=False),
    "globals": lambda: torch.serialization.safe_globals([signal.Signals]),
}


def modes():
    now, kept = thread.here(), graph._choices
    streams = [torch.cuda.current_stream(index) for index in range(2)]
    return (
        now.grad_enabled, now.inference, now.device, streams, len(now.default_devices), len(kept.hooks), kept.refusal,
        kept.is_mutable, graph._open, torch.is_anomaly_enabled(), torch.serialization.get_safe_globals(),
        torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic, torch.backends.cudnn.allow_tf32,
        torch.is_anomaly_check_nan_enabled(),
    )  # fmt: skip


@pytest.mark.parametrize("name", CONTEXTS)
def test_an_interrupted_context_leaves_no_mode(name):
    with machine(devices=2), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.ones(1, device="cuda")
        signals.replace_handlers()
        before, number, points = modes(), 0, None
        while points is None or points.where:
            number += 1
            context, is_interrupted = CONTEXTS[name](), False
            try:
                with interrupts.at_point(number) as points, context:
                    pass
                if points.where:
                    time.sleep(interrupts.LOST)  # the signal is sent again after a finalizer
            except KeyboardInterrupt:
                is_interrupted = True
            gc.collect()
            assert is_interrupted == bool(points.where) and modes() == before, (number, points.where)
