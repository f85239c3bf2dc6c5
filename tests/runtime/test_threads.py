"""Device and streams in other threads, and the warning of strict mode.  Rows 1.1.1, 1.4.4, 1.21.5, 1.21.6"""

import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

import flambeau as torch
from flambeau.nn import DataParallel, Linear
from flambeau.runtime.strict import unwatch
from flambeau.runtime.threads import Choice, streams
from flambeau.testing import machine


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", threading.Thread.start)
    yield
    unwatch()


@pytest.fixture
def gpus(monkeypatch):
    monkeypatch.delenv("FLAMBEAU_STRICT", raising=False)
    with machine(devices=2) as made:
        yield made


@pytest.fixture
def strict(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_STRICT", "1")
    with machine(devices=2) as made:
        yield made


def in_thread(function, name="worker"):
    """Run a call in a new thread and return its result."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()), name=name)
    thread.start()
    thread.join()
    return found[0]


def choice():
    return torch.cuda.current_device(), torch.cuda.current_stream(0), torch.cuda.current_stream(1)


# carrying


def test_a_carried_function_has_the_device_and_streams_of_where_it_was_made(gpus):
    side = torch.cuda.Stream(1)
    with torch.cuda.stream(side):
        carried = torch.cuda.carry(choice)
        assert in_thread(choice) == (0, torch.cuda.default_stream(0), torch.cuda.default_stream(1))
    assert in_thread(carried) == carried() == (1, torch.cuda.default_stream(0), side)


def test_the_thread_is_as_before_after_the_call_also_after_an_error(gpus):
    with torch.cuda.device(1):
        carried = torch.cuda.carry(lambda: 1 // 0)
    own = torch.cuda.Stream(0)

    def work():
        torch.cuda.set_stream(own)
        before = choice()
        with pytest.raises(ZeroDivisionError):
            carried()
        return before == choice() and choice()

    assert in_thread(work) == (0, own, torch.cuda.default_stream(1))


def test_only_a_function_is_carried(gpus):
    with pytest.raises(TypeError, match="^carry: expected a function, got 3\nhint: "):
        torch.cuda.carry(3)


def test_the_choice_is_that_of_the_making_not_of_the_call(gpus):
    carried = torch.cuda.carry(choice)
    torch.cuda.set_device(1)
    assert carried() == (0, torch.cuda.default_stream(0), torch.cuda.default_stream(1))
    assert torch.cuda.current_device() == 1


def test_arguments_results_and_names_pass(gpus):
    carried = torch.cuda.carry(divmod)
    assert carried(7, 2) == (3, 1) and carried.__name__ == "divmod"
    assert torch.cuda.carry(lambda *, a: a)(a=5) == 5


def test_in_a_pool_by_submit_and_by_initializer(gpus):
    side = torch.cuda.Stream(1)
    with torch.cuda.stream(side):
        with ThreadPoolExecutor(2) as pool:
            assert pool.submit(torch.cuda.carry(choice)).result()[2] == side
            assert pool.submit(choice).result()[2] == torch.cuda.default_stream(1)
        with ThreadPoolExecutor(2, initializer=torch.cuda.carry()) as pool:
            assert [each.result()[::2] for each in [pool.submit(choice) for _ in range(4)]] == [(1, side)] * 4


def test_work_of_a_carried_function_is_ordered_with_that_of_its_maker(gpus):
    with torch.cuda.stream(torch.cuda.Stream()):
        x = torch.ones(1000, device="cuda")
        assert in_thread(torch.cuda.carry(lambda: (x + 1).tolist())) == [2.0] * 1000
        y = x * 3
        assert in_thread(lambda: (y + 1).tolist()) != [4.0] * 1000, "the default stream does not wait"


def test_what_belongs_to_another_machine_is_not_carried(gpus):
    torch.cuda.set_device(1)
    carried = torch.cuda.carry(lambda: torch.cuda.current_device())
    with machine(devices=1):
        assert carried() == 0
    assert carried() == 1


# missing


def test_a_thread_without_its_parents_stream_is_told_once(strict):
    side = torch.cuda.Stream(1)
    line = sys._getframe().f_lineno + 6

    def work():
        torch.cuda.current_device()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.ones(3, device="cuda")
            torch.ones(3, device="cuda") + 1
        return caught

    with torch.cuda.stream(side):
        (found,) = in_thread(work, "worker 7")
    assert (found.filename, found.lineno, found.category) == (__file__, line, UserWarning)
    text = str(found.message)
    assert text.startswith(f"{__file__}:{line}: thread 'worker 7' works on {torch.cuda.default_stream(0)!r}; ")
    assert f"when thread 'MainThread' started it, that had chosen device cuda:1, {side!r}, " in text
    assert "\nhint: start it with cuda.carry(function)" in text


def copying():
    torch.zeros(3).cuda()


def launching():
    torch.zeros(3, device="cuda")


@pytest.mark.parametrize("work", [copying, launching])
def test_a_thread_without_its_parents_device_is_told(strict, work):
    torch.cuda.set_device(1)
    with pytest.warns(UserWarning, match="thread 'worker' .*that had chosen device cuda:1, which"):
        in_thread(work)


def choosing_a_device():
    torch.cuda.set_device(0)
    launching()


def choosing_a_stream():
    with torch.cuda.stream(torch.cuda.Stream()):
        launching()


@pytest.mark.parametrize("work", [choosing_a_device, choosing_a_stream, lambda: torch.zeros(3) + 1])
def test_a_thread_that_chooses_or_does_no_work_on_a_gpu_is_not_told(strict, work):
    torch.cuda.set_device(1)
    in_thread(work)


def test_nor_is_one_that_was_started_with_what_every_thread_has(strict):
    with torch.cuda.stream(torch.cuda.Stream(1)):
        pass
    in_thread(launching)


def test_nor_is_a_carried_one(strict):
    with torch.cuda.stream(torch.cuda.Stream(1)):
        in_thread(torch.cuda.carry(launching))
        with ThreadPoolExecutor(1, initializer=torch.cuda.carry()) as pool:
            pool.submit(launching).result()


def test_a_pools_thread_is_told_of_the_thread_that_made_it_start(strict):
    with ThreadPoolExecutor(1) as pool:
        with torch.cuda.device(1), pytest.warns(UserWarning, match="started it, that had chosen device cuda:1"):
            pool.submit(launching).result()
        pool.submit(launching).result()


def test_a_carried_call_in_a_pool_leaves_the_thread_to_be_told(strict):
    with torch.cuda.device(1), ThreadPoolExecutor(1) as pool:
        pool.submit(torch.cuda.carry(int)).result()
        with pytest.warns(UserWarning, match="that had chosen device cuda:1"):
            pool.submit(launching).result()


def test_the_librarys_own_threads_have_what_they_need(strict):
    net = DataParallel(Linear(2, 2).cuda(), [0, 1])
    with torch.cuda.stream(torch.cuda.Stream()):
        x = torch.ones(4, 2, device="cuda")
        assert net(x).shape == (4, 2)
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4)), pin_memory=True)
        assert len(list(loader)) == 4


def test_without_the_mode_nobody_is_told(gpus):
    torch.cuda.set_device(1)
    in_thread(launching)


def test_streams_are_chosen_and_asked_for_in_any_order_of_devices():
    with machine(devices=3):
        last = torch.cuda.Stream(2)
        torch.cuda.set_stream(last)
        assert streams() == {2: last}
        first = torch.cuda.current_stream(0)
        assert first == torch.cuda.default_stream(0) and torch.cuda.current_stream(2) is last
        assert streams() == {0: first, 2: last}
        side = torch.cuda.Stream(1)
        Choice(torch.cuda.current_stream().machine, 1, (side,), True).restore()
        assert streams() == {1: side}
        assert [torch.cuda.current_stream(each) for each in range(3)] == [
            first, side, torch.cuda.default_stream(2)
        ]  # fmt: skip
