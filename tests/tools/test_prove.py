"""The results of `flambeau check --prove`, against an enumeration of all schedules."""

import math
import os
import random
import signal
import threading

import pytest

import flambeau as torch
from flambeau.errors import ArgumentError
from flambeau.testing import machine
from flambeau.testing.schedules import every_schedule, outcomes
from flambeau.tools import prove

ORDERED, RACING, COMMUTING = "ordered", "racing", "commuting"


def on_two_streams(kind, print_it=False):
    """A program: x is written on a side stream, then on the current one."""

    def program():
        with machine(devices=1, races="real"):
            x = torch.zeros(4, device="cuda")
            torch.cuda.synchronize()
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                x.add_(1)
            if kind == ORDERED:
                torch.cuda.current_stream().wait_stream(side)
            x.add_(2) if kind == COMMUTING else x.mul_(3)
            torch.cuda.synchronize()
            found = x.tolist()
            if print_it:
                os.write(1, f"{found}\n".encode())  # pytest has another sys.stdout
        return 0

    return program


def test_a_program_without_races_needs_one_run():
    proof = prove.prove(on_two_streams(ORDERED))
    assert (proof.schedules, proof.schedule, proof.is_complete, proof.status) == (1, None, True, 0)
    assert proof.text.startswith("ordered under every legal schedule: no two conflicting accesses of ")


def test_a_schedule_with_another_result_is_found_and_repeats_it():
    outputs = []
    proof = prove.prove(on_two_streams(RACING, print_it=True), began=lambda first: outputs.append(first.output))
    name, _, choices = proof.schedule.partition(":")
    again = prove.run_once(on_two_streams(RACING, print_it=True), [*map(int, choices.split(","))], (), is_quiet=True)
    assert (outputs, name, again.output) == ([b"[3.0, 3.0, 3.0, 3.0]\n"], "replay", b"[1.0, 1.0, 1.0, 1.0]\n")
    assert proof.text.startswith("another schedule gives another result: other bytes reach the host at ")
    assert not proof.is_complete and len(proof.report.races) == 1


def test_a_race_may_change_nothing():
    proof = prove.prove(on_two_streams(COMMUTING))
    assert (proof.schedules, proof.schedule, proof.is_complete) == (2, None, True)
    assert proof.text == "the same result under every order of the races: 2 schedules, by partial-order reduction"


def reused_too_early(schedule=None, waits=False):
    """A tensor is freed while a side stream still reads it, and its memory is allocated again, unwritten."""
    with machine(devices=1, races="real", schedule=schedule or "submission"):
        main, side = torch.cuda.current_stream(), torch.cuda.Stream()
        kept, x = torch.zeros(8, device="cuda"), torch.full((4096,), 7.0, device="cuda")
        side.wait_stream(main)
        with torch.cuda.stream(side):
            y = x * 2
        del x
        kept.add_(1)
        if waits:
            main.synchronize()
        z = torch.empty(4096, device="cuda")
        assert z.shape == y.shape
        side.synchronize()
        with torch.cuda.stream(side):
            return y[0].item()


@pytest.mark.parametrize("waits", [False, True])
def test_an_allocation_may_come_before_or_after_an_older_use(waits):
    found = outcomes(lambda schedule: reused_too_early(schedule, waits))
    assert found == {14.0, math.nan}
    proof = prove.prove(lambda: reused_too_early(waits=waits) and 0)
    assert proof.schedule is not None and not proof.is_complete


def test_the_order_of_threads_is_a_condition():
    def program():
        with machine(devices=1, races="real"):
            x = torch.zeros(4, device="cuda")
            for call in (x.add_, x.mul_):
                thread = threading.Thread(target=call, args=(2,))
                thread.start()
                thread.join()
            return int(x.tolist() != [4.0] * 4)

    proof = prove.prove(program)
    assert (proof.status, proof.schedules, proof.is_complete) == (0, 1, False)
    assert "if its threads submit their work in the order of this run" in proof.text


def test_the_search_stops_at_its_limits():
    for limits in ({"schedules": 1}, {"seconds": 0}):
        proof = prove.prove(on_two_streams(COMMUTING), **limits)
        assert (proof.schedules, proof.schedule, proof.is_complete) == (1, None, False)
        assert proof.text.startswith("stopped at the limit: 1 schedule gave the same result")


def test_answers_of_queries_are_a_condition():
    def program():
        with machine(devices=1, races="real"):
            torch.zeros(4, device="cuda")
            return int(torch.cuda.current_stream().query()) * 0

    proof = prove.prove(program)
    assert not proof.is_complete and "if each query of a stream or an event (1) answers as in this run" in proof.text


def reads_early(schedule=None, waits=False):
    """The host reads memory that a copy writes."""
    with machine(devices=1, races="real", schedule=schedule or "submission"):
        host, x = torch.zeros(2).pin_memory(), torch.full((2,), 7.0, device="cuda")
        torch.cuda.synchronize()
        host.copy_(x, non_blocking=True)
        if waits:
            torch.cuda.synchronize()
        return int(sum(host.tolist()))


def rewrites_early(schedule=None, waits=False):
    """The host writes memory that a copy reads."""
    with machine(devices=1, races="real", schedule=schedule or "submission"):
        host, other = torch.ones(4).pin_memory(), torch.zeros(4, device="cuda")
        x = host.to("cuda", non_blocking=True)
        other.add_(1)
        if waits:
            torch.cuda.synchronize()
        host.fill_(5)
        torch.cuda.synchronize()
        return int(x.sum().item())


def test_a_write_of_the_host_may_come_before_or_after_a_copy():
    assert outcomes(rewrites_early) == {4, 20}
    proof = prove.prove(rewrites_early)
    assert proof.status == 20 and not proof.is_complete
    assert proof.text.startswith("another schedule gives another result")
    assert rewrites_early(proof.schedule) == 4
    assert prove.prove(lambda: rewrites_early(waits=True)).text.startswith("ordered under every legal schedule")


def test_a_read_of_the_host_may_come_before_or_after_a_copy():
    assert outcomes(reads_early) == {0, 14}
    proof = prove.prove(reads_early)
    assert (proof.status, proof.schedule, proof.is_complete) == (0, "replay:1", False)
    assert "its exit status is 14, and not 0" in proof.text and reads_early(proof.schedule) == 14
    assert prove.prove(lambda: reads_early(waits=True)).text.startswith("ordered under every legal schedule")


def test_a_write_of_the_same_values_changes_nothing():
    def program():
        with machine(devices=1, races="real"):
            host = torch.ones(4).pin_memory()
            x = host.to("cuda", non_blocking=True)
            host.fill_(1)
            torch.cuda.synchronize()
            return int(x.sum().item())

    proof = prove.prove(program)
    assert (proof.status, proof.schedules, proof.schedule, proof.is_complete) == (4, 3, None, True)


def test_a_status_and_a_text_are_results_too():
    def program(told):
        def run():
            with machine(devices=1, races="real"):
                x = torch.zeros(1, device="cuda")
                torch.cuda.synchronize()
                first, second = torch.cuda.Stream(), torch.cuda.Stream()
                with torch.cuda.stream(first):
                    x.fill_(1)
                with torch.cuda.stream(second):
                    x.fill_(2)
                torch.cuda.synchronize()
                return told(int(x.item()))

        return run

    found = prove.prove(program(lambda value: value))
    assert found.status == 2 and found.schedule == "replay:1"


def test_a_program_that_is_killed_is_an_error():
    with pytest.raises(ArgumentError, match="under replay: ended with -9"):
        prove.prove(lambda: os.kill(os.getpid(), signal.SIGKILL))


def test_a_program_that_calls_os_exit_has_an_answer():
    found = prove.prove(lambda: os._exit(3))
    assert (found.status, found.is_complete, found.report.races) == (3, True, ())


def random_program(seed):
    """Some operations on three streams and two tensors, some of them ordered by waits."""
    draw = random.Random(seed)
    steps = []
    for _ in range(6):
        kind = draw.choice(["add", "mul", "copy", "wait"])
        steps.append((kind, draw.randrange(3), draw.randrange(3), draw.randrange(2)))

    def run(schedule=None):
        with machine(devices=1, races="real", schedule=schedule):
            tensors = [torch.full((2,), float(each + 1), device="cuda") for each in range(2)]
            torch.cuda.synchronize()
            streams = [torch.cuda.Stream() for _ in range(3)]
            for number, (kind, one, other, which) in enumerate(steps):
                with torch.cuda.stream(streams[one]):
                    if kind == "wait":
                        streams[one].wait_stream(streams[other])
                    elif kind == "add":
                        tensors[which].add_(number + 1)
                    elif kind == "mul":
                        tensors[which].mul_(3)
                    else:
                        tensors[which].copy_(tensors[1 - which])
            torch.cuda.synchronize()
            return tuple(value for each in tensors for value in each.tolist())

    return run


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_answers_are_those_of_all_schedules(part, sample):
    for seed in sample(range(50 * part, 50 * part + 50), 1):
        run = random_program(seed)
        found = outcomes(run)
        proof = prove.prove(lambda: bool(run()) * 0)
        assert (proof.schedule is not None) == (len(found) > 1), (seed, found, proof.text)
        assert proof.schedule is not None or proof.is_complete
        assert proof.schedules <= len(list(every_schedule_of(run)))


def random_program_of_the_host(seed):
    """Some operations on two streams, and accesses of the host to pinned memory that they copy."""
    draw = random.Random(seed)
    kinds = ["add", "up", "down", "write", "read", "wait", "synchronize"]
    steps = [(draw.choice(kinds), draw.randrange(2)) for _ in range(5)]

    def run(schedule=None):
        with machine(devices=1, races="real", schedule=schedule):
            x, host = torch.full((2,), 2.0, device="cuda"), torch.ones(2).pin_memory()
            torch.cuda.synchronize()
            streams, seen = [torch.cuda.Stream(), torch.cuda.Stream()], []
            for number, (kind, which) in enumerate(steps):
                with torch.cuda.stream(streams[which]):
                    if kind == "add":
                        x.add_(number + 1)
                    elif kind == "up":
                        x.copy_(host, non_blocking=True)
                    elif kind == "down":
                        host.copy_(x, non_blocking=True)
                    elif kind == "write":
                        host.mul_(3)
                    elif kind == "read":
                        seen += host.tolist()
                    elif kind == "wait":
                        streams[which].wait_stream(streams[1 - which])
                    else:
                        streams[which].synchronize()
            torch.cuda.synchronize()
            return tuple([*x.tolist(), *host.tolist(), *seen])

    return run


def test_so_are_those_with_accesses_of_the_host(sample):
    changing = 0
    for seed in sample(range(200), 10):
        run = random_program_of_the_host(seed)
        found = outcomes(run)
        proof = prove.prove(lambda: hash(run()) % 251)
        # Bytes of a copy that a later one replaces are no part of what the program returns.
        is_replaced = len(found) == 1 and "other bytes reach the host" in proof.text
        assert (proof.schedule is not None) == (len(found) > 1 or is_replaced), (seed, found, proof.text)
        assert proof.schedule is not None or proof.is_complete
        changing += len(found) > 1
    assert changing > 1


def every_schedule_of(run):
    for schedule in every_schedule():
        run(schedule)
        yield schedule


def test_outcomes_name_a_schedule_and_take_nans_as_equal():
    found = outcomes(lambda schedule: (float("nan"), float("inf"))[schedule.choose([3, 4])])
    assert found == {math.nan, math.inf} and found.schedules == {math.nan: (0,), math.inf: (1,)}
    assert outcomes(lambda schedule: (schedule.choose([3, 4]) * 0, float("nan"))) == {(0, math.nan)}
