"""1.1.4 to 1.1.7: when devices start, how many there are, and which of them a process sees."""

import pytest

VISIBLE = {
    "0": 1, "1,0": 2, "0,0": 0, "1,1": 0, "-1": 0, "0,-1,1": 1, "": 0, "1gpu2,0ampere": 2, "0,x,1": 1, "1,99,0": 1,
    " 1 , 0 ": 2, "+0": 1, "x": 0, " ": 0, "0,,1": 1, "0x1": 1, "1;0": 1, "-99999999999": 0,
    "99999999999999999999": 0, "0,99999999999999999999": 1,
}  # fmt: skip


@pytest.mark.rule("1.1.4", since="1.0")
def test_importing_starts_nothing_and_the_first_use_does(program):
    found = program("""
answer([torch.cuda.is_initialized(), (torch.ones(2) + 1).tolist(), torch.cuda.is_initialized()])
torch.ones(1, device="cuda")
answer(torch.cuda.is_initialized())
""")
    assert found == [[False, [2.0, 2.0], False], True]


@pytest.mark.rule("1.1.4", since="1.0")
def test_importing_makes_no_call_of_the_driver(program):
    """The driver itself says that nobody initialized it; where there is none, nobody can have."""
    found = program("""
import ctypes
def initialized():
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return library.cuDeviceGetCount(ctypes.byref(ctypes.c_int())) == 0
answer([(torch.ones(2) + 1).tolist(), initialized()])
""")
    assert found == [[[2.0, 2.0], False]]


@pytest.mark.rule("1.1.4", since="1.0")
def test_init_starts_and_may_be_called_again(program):
    found = program("""
torch.cuda.init()
torch.cuda.init()
answer([torch.cuda.is_initialized(), torch.cuda.current_device()])
""")
    assert found == [[True, 0]]


@pytest.mark.rule("1.1.4", since="1.0")
def test_seeds_asked_for_before_the_start_count_and_the_last_one_wins(program):
    found = program("""
torch.manual_seed(3)
torch.cuda.manual_seed_all(4)
torch.cuda.manual_seed(5)
answer(torch.cuda.is_initialized())
answer(torch.cuda.initial_seed())
torch.cuda.manual_seed(5)
first = torch.rand(4, device="cuda")
answer(torch.cuda.initial_seed())
torch.cuda.manual_seed_all(5)
answer(bool((torch.rand(4, device="cuda") == first).all()))
""")
    assert found == [False, 5, 5, True]


@pytest.mark.rule("1.1.4", since="1.0")
def test_threads_that_use_it_first_together_all_succeed(program):
    found = program("""
import threading
gate, seen = threading.Barrier(8), []
def use(number):
    gate.wait()
    seen.append(torch.full((1,), float(number), device="cuda").item())
threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
for each in threads: each.start()
for each in threads: each.join()
answer(sorted(seen))
""")
    assert found == [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]


@pytest.mark.rule("1.1.4", since="1.0")
@pytest.mark.virtual("calls are put off by flambeau's own means")
def test_a_call_that_was_put_off_and_fails_is_reported_at_the_start(program):
    found = program("""
from flambeau.core import thread
thread.machine().at_start(lambda: {}["seed"])
answer(torch.cuda.is_initialized())
try:
    torch.cuda.init()
except torch.cuda.DeferredCudaCallError as error:
    answer(["<program>:3" in str(error), isinstance(error.__cause__, KeyError)])
""")
    assert found == [False, [True, True]]


@pytest.mark.rule("1.1.5", since="1.0")
def test_with_a_gpu_it_is_available(torch):
    assert torch.cuda.is_available() is True and torch.cuda.device_count() >= 1


@pytest.mark.rule("1.1.5", since="1.0")
def test_without_a_gpu_nothing_raises_until_one_is_used(program):
    found = program(
        """
answer([torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.is_initialized()])
answer([(torch.ones(2) + 1).tolist(), torch.cuda.memory_allocated(), len(torch.cuda.memory_stats())])
torch.cuda.empty_cache()
torch.cuda.manual_seed_all(1)
torch.manual_seed(1)
answer(attempt(lambda: torch.ones(1, device="cuda")).split(":")[0] in ("RuntimeError", "AssertionError"))
answer(torch.cuda.is_initialized())
""",
        CUDA_VISIBLE_DEVICES="",
    )
    assert found == [[False, 0, False], [[2.0, 2.0], 0, 0], True, False]


@pytest.mark.rule("1.1.6", since="1.13")
def test_the_count_follows_the_environment_until_the_start_and_then_stays(program):
    found = program("""
os.environ["CUDA_VISIBLE_DEVICES"] = ""
answer(torch.cuda.device_count())
os.environ["CUDA_VISIBLE_DEVICES"] = "0"
answer(torch.cuda.device_count())
torch.cuda.init()
answer(torch.cuda.device_count())
os.environ["CUDA_VISIBLE_DEVICES"] = ""
answer(torch.cuda.device_count())
""")
    assert found == [0, 1, 1, 1]


@pytest.mark.rule("1.1.6", since="1.13", differs="the first count after the start is the one that stays")
def test_the_start_itself_settles_the_count(program):
    found = program("""
os.environ["CUDA_VISIBLE_DEVICES"] = "0"
torch.cuda.init()
os.environ["CUDA_VISIBLE_DEVICES"] = ""
answer(torch.cuda.device_count())
""")
    assert found == [1]


@pytest.mark.rule("1.1.6", since="1.0")
def test_counting_devices_starts_nothing(program):
    found = program("answer([torch.cuda.device_count() >= 1, torch.cuda.is_initialized()])")
    assert found == [[True, False]]


@pytest.mark.rule("1.1.7", since="1.13")
@pytest.mark.devices(2)
def test_odd_lists_of_visible_devices(program):
    found = program(f"""
for visible in {list(VISIBLE)}:
    os.environ["CUDA_VISIBLE_DEVICES"] = visible
    answer([visible, torch.cuda.device_count()])
""")
    assert dict(found) == VISIBLE


@pytest.mark.rule("1.1.7", since="1.0")
@pytest.mark.devices(2)
def test_visible_devices_are_numbered_in_their_order(program):
    source = "answer([str(torch.cuda.get_device_properties(i).uuid) for i in range(torch.cuda.device_count())])"
    (both,) = program(source)
    assert program(source, CUDA_VISIBLE_DEVICES="1,0") == [both[::-1]]
    assert program(source, CUDA_VISIBLE_DEVICES="1") == [both[1:2]]


@pytest.mark.rule("1.1.7", since="1.13")
@pytest.mark.devices(2)
def test_an_entry_may_begin_a_uuid(program):
    source = "answer([str(torch.cuda.get_device_properties(i).uuid) for i in range(torch.cuda.device_count())])"
    (both,) = program(source)
    assert program(source, CUDA_VISIBLE_DEVICES=f"GPU-{both[1]},GPU-{both[0]}") == [both[::-1]]
    assert program(source, CUDA_VISIBLE_DEVICES=f"GPU-{both[1][:20]}") == [both[1:2]]


@pytest.mark.rule("1.1.7", since="1.13")
@pytest.mark.devices(2)
def test_a_uuid_that_is_there_twice_unknown_or_of_several(program):
    (uuid,) = program("answer(str(torch.cuda.get_device_properties(1).uuid))")
    once, unknown = f"GPU-{uuid}", "GPU-ffffffff-dead"
    found = program(f"""
for visible in {[once, f"{once},{once}", unknown, "GPU-"]}:
    os.environ["CUDA_VISIBLE_DEVICES"] = visible
    answer(torch.cuda.device_count())
""")
    assert found == [1, 0, 0, 0]
