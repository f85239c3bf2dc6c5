"""Training under random faults: a clear error each time, nothing corrupted, nothing leaked."""

import random

import pytest

import flambeau as torch
from flambeau.core import thread
from flambeau.data.workers import WorkerDiedError
from flambeau.errors import FlambeauError, InternalError
from flambeau.nn import Linear, ReLU, Sequential
from flambeau.testing import faults, machine
from flambeau.utils.data import DataLoader, TensorDataset

SEED = 7
ROUNDS = 1000
WORKERS_EACH = 100  # rounds: processes are slow
CALLS = 30  # allocations, and launches, of about one round

FAULTS = {
    "none": lambda draw: {},
    "oom": lambda draw: {"oom": draw.randint(1, CALLS)},
    "size": lambda draw: {"oom": draw.choice(["1B", "2KiB", "1MiB"])},
    "launch": lambda draw: {"launch": draw.randint(1, CALLS)},
    "assert": lambda draw: {"device_assert": draw.randint(1, CALLS)},
    "refused": lambda draw: {"refused": draw.randint(1, CALLS)},
    "capture": lambda draw: {"capture": draw.randint(1, 3)},
    "lost": lambda draw: {"lost_link": draw.choice([(0, 1), (1, 0)])},
    "slow": lambda draw: {"slow_link": (0, 1, draw.randint(2, 100))},
}


def new_model():
    model = Sequential(Linear(16, 32), ReLU(), Linear(32, 4))
    return model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def start():
    """The state of a model and its optimizer, on the CPU."""
    torch.manual_seed(SEED)
    model, optimizer = new_model()
    return model.state_dict(), optimizer.state_dict()


def copied(state):
    """A copy of a state, on the CPU."""
    if isinstance(state, dict):
        return {name: copied(value) for name, value in state.items()}
    if isinstance(state, list):
        return [copied(value) for value in state]
    return state.to("cpu", copy=True) if isinstance(state, torch.Tensor) else state


def train(number, state):
    """One round from a state: a step on two streams, a replay of a graph, and a copy to the other device.

    Return what reaches the host, and the new state.
    """
    draw = torch.Generator().manual_seed(number)
    model, optimizer = new_model()
    model.load_state_dict(state[0])
    model.to("cuda")
    optimizer.load_state_dict(state[1])
    batch = torch.randn(8, 16, generator=draw).pin_memory()
    side, main = torch.cuda.Stream(name="input"), torch.cuda.current_stream()
    with torch.cuda.stream(side):
        x = batch.to("cuda", non_blocking=True)
    main.wait_stream(side)
    x.record_stream(main)
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    scaled, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scaled.add_(1)
        scaled.mul_(2)
    graph.replay()
    there = scaled.to("cuda:1")
    found = loss.item(), there.tolist()
    return found, (copied(model.state_dict()), copied(optimizer.state_dict()))


def values(state):
    if isinstance(state, dict):
        return {name: values(value) for name, value in state.items()}
    if isinstance(state, list | tuple):
        return [values(value) for value in state]
    return state.tolist() if isinstance(state, torch.Tensor) else state


def counts():
    """Bytes of each device, and the streams and events of the machine."""
    driver = thread.machine().driver
    allocated = [torch.cuda.memory_allocated(device) for device in range(2)]
    return allocated, len(driver._streams), len(driver._events)


def without_faults(rounds):
    """The result and the state of each round, as text: each capture looks for garbage in all kept lists."""
    found = []
    with machine(devices=2):
        state = start()
        for number in range(rounds):
            result, state = train(number, state)
            found.append(repr((result, values(state))))
    return found


def failure_of(number, state, wanted):
    """Class, text and stickiness of the error of a round under faults, None if they were not met."""
    try:
        with faults(**wanted):
            train(number, state)
            torch.cuda.synchronize()
    except InternalError:
        raise
    except FlambeauError as error:
        return type(error), str(error), getattr(error, "sticky", False)
    return None


def soak(rounds, seed):
    """Train under random faults, each round again after its failure.  Return the kinds of faults that were met."""
    draw, met = random.Random(seed), set()
    expected = without_faults(rounds)
    with machine(devices=2):
        state = start()
        train(0, state)
        before = counts()
        assert before[0] == [0, 0]
        for number in range(rounds):
            kind = list(FAULTS)[number % len(FAULTS)]
            wanted = FAULTS[kind](draw)
            was, bystander = values(state), torch.arange(4, device="cuda:1")
            failure = failure_of(number, state, wanted)
            note = f"seed {seed}, round {number}: {wanted}: {failure}"
            assert values(state) == was, note
            is_lost = failure is not None and check_error(kind, *failure, note)
            if not is_lost:
                assert bystander.tolist() == [0, 1, 2, 3], note
            del bystander
            if is_lost:
                torch.virtual.reset()
                train(number, state)  # makes the streams
            assert counts() == before, note
            result, state = train(number, state)
            assert repr((result, values(state))) == expected[number], note
            assert counts() == before, note
            if failure is not None:
                met.add(kind)
            if number % WORKERS_EACH == WORKERS_EACH - 1:
                lose_worker(number)
    return met


def check_error(kind, error, text, is_sticky, note):
    """Check the error of a fault.  Return whether its device is lost."""
    assert issubclass(error, torch.OutOfMemoryError if kind in ("oom", "size") else torch.AcceleratorError), note
    of_memory = "was made to fail"
    wanted = {"lost": "no link from device", "capture": "capture", "oom": of_memory, "size": of_memory}
    assert wanted.get(kind, "injected failure") in text, note
    assert is_sticky == (kind in ("launch", "assert")), note
    return is_sticky


def lose_worker(number):
    data = TensorDataset(torch.arange(12))
    with faults(kill_worker=(number // WORKERS_EACH % 2, 2)), pytest.raises(WorkerDiedError, match="SIGKILL"):
        list(DataLoader(data, batch_size=2, num_workers=2))
    seen = [each.tolist() for (each,) in DataLoader(data, batch_size=6, num_workers=1)]
    assert seen == [[*range(6)], [*range(6, 12)]]


def test_training_survives_random_faults():
    met = soak(20, SEED)
    assert len(met) >= 5, met


@pytest.mark.full
@pytest.mark.slow
def test_training_survives_a_thousand_rounds_of_random_faults():
    met = soak(ROUNDS, SEED)
    assert set(met) == set(FAULTS) - {"none", "slow"}
