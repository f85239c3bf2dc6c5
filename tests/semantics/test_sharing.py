"""1.18 Other processes: tensors and events that they share, how long memory is kept, and processes that fail."""

import pytest

CHILDREN = """
import importlib, os, signal
torch = importlib.import_module(os.environ["ASKED"])

def add(taken, answers):
    for x in iter(taken.get, None):
        x += 5
        torch.cuda.synchronize()
        answers.put(x.tolist())
        del x

def hold(taken, answers):
    x = taken.get()
    answers.put(x[3].item())
    taken.get()
    del x
    torch.cuda.synchronize()
    torch.cuda.ipc_collect()
    answers.put("dropped")
    taken.get()

def look(taken, answers):
    for each in iter(taken.get, None):
        answers.put([list(each.shape), list(each.stride()), each.tolist(), str(each.device), str(each.dtype)])
        del each

def keep(taken, answers):
    x, y = taken.get()
    answers.put([x.data_ptr() == y.data_ptr(), (x + y).tolist()])
    del x, y
    taken.get()

def events(taken, answers):
    event = torch.cuda.Event.from_ipc_handle(torch.device("cuda", 0), taken.get())
    event.synchronize()
    answers.put(event.query())
    event.record()
    torch.cuda.synchronize()
    answers.put("recorded")
    taken.get()

def record(taken, answers):
    for event in iter(taken.get, None):
        event.synchronize()
        event.record()
        torch.cuda.synchronize()
        answers.put([event.query(), str(event.device)])

def slope(taken, answers):
    for x in iter(taken.get, None):
        x.grad.mul_(2)
        torch.cuda.synchronize()
        answers.put([x.requires_grad, x.is_leaf, x.grad.tolist()])
        del x

def pass_on(taken, answers):
    answers.put(taken.get())
    taken.get()

def fail_in_second(index):
    if index == 1:
        raise KeyError("no luck")
    signal.pause()

def end_with_three(index):
    os._exit(3)

def kill_itself(index):
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()

def write(index, table):
    table[index] = index + 1.0
    if table.is_cuda:
        torch.cuda.synchronize()
"""
START = """
mp = torch.multiprocessing
context = mp.get_context("spawn")
taken, answers = context.Queue(), context.Queue()

def start(target):
    process = context.Process(target=target, args=(taken, answers))
    process.start()
    return process

def end(process):
    taken.put(None)
    process.join(100)
    answer(process.exitcode)

"""


@pytest.fixture
def sharing(program, runtime, tmp_path):
    """Runs a program that may start the functions of CHILDREN as processes."""
    (tmp_path / "children.py").write_text(CHILDREN)

    def run(source):
        paths = f"sys.path.insert(0, {str(tmp_path)!r})\n"
        paths += f"os.environ['PYTHONPATH'] = os.pathsep.join([{str(tmp_path)!r}, os.environ['PYTHONPATH']])\n"
        return program(f"{paths}os.environ['ASKED'] = {runtime.name!r}\nimport children\n{START}{source}")

    return run


@pytest.mark.rule("1.18.1", since="1.0")
def test_memory_is_shared_both_ways(sharing):
    found = sharing("""
x = torch.zeros(4, device="cuda")
torch.cuda.synchronize()
child = start(children.add)
taken.put(x)
answer([answers.get(timeout=100), x.tolist()])
end(child)
""")
    assert found == [[[5.0] * 4] * 2, 0]


@pytest.mark.rule("1.18.1", since="1.0")
def test_the_receiver_follows_what_the_sender_has_queued(sharing):
    found = sharing("""
x = torch.zeros(1000, device="cuda")
child = start(children.add)
taken.put(torch.zeros(1, device="cuda"))
answers.get(timeout=100)
busy()
x.fill_(7.0)
taken.put(x)
answer(set(answers.get(timeout=100)) == {12.0})
end(child)
""")
    assert found == [True, 0]


@pytest.mark.rule("1.18.1", since="1.0")
def test_views_and_types_arrive_as_they_are(sharing):
    found = sharing("""
x = torch.arange(12, device="cuda").view(3, 4)
sent = [x.t(), x[1:, ::2], x[2], x.to(torch.float16)]
torch.cuda.synchronize()
child = start(children.look)
for each in sent:
    taken.put(each)
    got = answers.get(timeout=100)
    wanted = [list(each.shape), list(each.stride()), each.tolist(), "cuda:0", str(each.dtype)]
    answer(got == wanted)
end(child)
""")
    assert found == [True, True, True, True, 0]


@pytest.mark.rule("1.18.1", since="1.0")
def test_what_shares_memory_shares_it_there_too(sharing):
    found = sharing("""
x = torch.ones(4, device="cuda")
torch.cuda.synchronize()
child = start(children.keep)
taken.put((x, x.view(4)))
answer(answers.get(timeout=100))
end(child)
""")
    assert found == [[True, [2.0] * 4], 0]


@pytest.mark.rule("1.18.2", since="1.2")
def test_memory_is_kept_until_the_consumer_has_dropped_it(sharing):
    found = sharing("""
import gc
before = torch.cuda.memory_allocated()
x = torch.ones(1 << 20, device="cuda")
torch.cuda.synchronize()
child = start(children.hold)
taken.put(x)
answer(answers.get(timeout=100))
del x
gc.collect()
answer(torch.cuda.memory_allocated() - before >= 4 << 20)
taken.put("drop it")
answer(answers.get(timeout=100))
for _ in range(1000):
    torch.cuda.ipc_collect()
    if torch.cuda.memory_allocated() == before:
        break
answer(torch.cuda.memory_allocated() - before)
end(child)
""")
    assert found == [1.0, True, "dropped", 0, 0]


@pytest.mark.rule("1.18.2", since="1.2", differs="memory that a killed consumer holds is kept while the producer lives")
def test_a_consumer_that_is_killed_has_dropped_what_it_had(sharing):
    found = sharing("""
import gc, time
before = torch.cuda.memory_allocated()
x = torch.ones(1 << 20, device="cuda")
torch.cuda.synchronize()
child = start(children.hold)
taken.put(x)
answer(answers.get(timeout=100))
child.kill()
child.join(100)
del x
gc.collect()
for _ in range(1000):
    torch.cuda.ipc_collect()
    if torch.cuda.memory_allocated() == before:
        break
answer(torch.cuda.memory_allocated() - before)
os._exit(0)
""")
    assert found == [1.0, 0]


@pytest.mark.rule("1.18.3", since="1.0")
@pytest.mark.virtual("PyTorch's documents and its code disagree")
def test_a_leaf_takes_its_gradient_along(sharing):
    found = sharing("""
x = torch.ones(4, device="cuda", requires_grad=True)
(x * 3).sum().backward()
child = start(children.slope)
taken.put(x)
answer(answers.get(timeout=100))
answer(x.grad.tolist())
end(child)
""")
    assert found == [[True, True, [6.0] * 4], [6.0] * 4, 0]


@pytest.mark.rule("1.18.3", since="1.0")
@pytest.mark.virtual("PyTorch leaves it undefined")
def test_a_received_tensor_may_be_sent_on(sharing):
    found = sharing("""
x = torch.zeros(4, device="cuda")
torch.cuda.synchronize()
child = start(children.pass_on)
taken.put(x)
y = answers.get(timeout=100)
y.add_(7)
answer(x.tolist())
end(child)
""")
    assert found == [[7.0] * 4, 0]


@pytest.mark.rule("1.18.3", since="1.0")
def test_a_graph_does_not_cross_processes(sharing):
    found = sharing("""
from multiprocessing.reduction import ForkingPickler
before = torch.cuda.memory_allocated()
x = torch.ones(4, device="cuda", requires_grad=True)
y = x * 2
answer(attempt(lambda: ForkingPickler.dumps(y)).split(":")[0])
del x, y
answer(torch.cuda.memory_allocated() - before)
""")
    assert found == ["RuntimeError", 0]


@pytest.mark.rule("1.18.3", since="1.0")
def test_empty_tensors_travel(sharing):
    found = sharing("""
child = start(children.look)
taken.put(torch.empty(0, 3, device="cuda"))
answer(answers.get(timeout=100)[:1] + [torch.cuda.memory_allocated()])
end(child)
""")
    assert found == [[[0, 3], 0], 0]


@pytest.mark.rule("1.18.3", since="1.0")
@pytest.mark.virtual("PyTorch leaves it undefined")
def test_a_process_may_receive_what_it_sent(sharing):
    found = sharing("""
x = torch.ones(4, device="cuda")
taken.put(x)
y = taken.get(timeout=100)
y.add_(1)
answer([x.tolist(), y.data_ptr() == x.data_ptr()])
""")
    assert found == [[[2.0] * 4, True]]


@pytest.mark.rule("1.18.4", since="1.0")
def test_an_event_of_another_process_is_waited_for_and_recorded(sharing):
    found = sharing("""
event = torch.cuda.Event(interprocess=True)
busy()
event.record()
child = start(children.events)
taken.put(event.ipc_handle())
answer(answers.get(timeout=100))
answer(answers.get(timeout=100))
event.synchronize()
answer(event.query())
end(child)
""")
    assert found == [True, "recorded", True, 0]


@pytest.mark.rule("1.18.4", since="1.0")
def test_an_event_itself_is_sent(sharing):
    found = sharing("""
from multiprocessing.reduction import ForkingPickler
event = torch.cuda.Event(interprocess=True)
event.record()
child = start(children.record)
taken.put(event)
answer(answers.get(timeout=100))
event.synchronize()
plain = torch.cuda.Event()
plain.record()
answer(attempt(lambda: ForkingPickler.dumps(plain)).split(":")[0] in ("RuntimeError", "ValueError"))
end(child)
""")
    assert found == [[True, "cuda:0"], True, 0]


@pytest.mark.rule("1.18.4", since="1.0")
def test_handles_that_are_none_and_events_that_have_none(torch):
    place = torch.device("cuda", 0)
    for wrong in (b"", b"short", b"\0" * 1000):
        with pytest.raises((RuntimeError, ValueError)):
            torch.cuda.Event.from_ipc_handle(place, wrong)
    with pytest.raises((TypeError, RuntimeError)):
        torch.cuda.Event.from_ipc_handle(place, "text")
    with pytest.raises((RuntimeError, ValueError)):
        torch.cuda.Event().ipc_handle()
    assert torch.cuda.Event(interprocess=True).query()


@pytest.mark.rule("1.18.6", since="1.0")
@pytest.mark.devices(0)
@pytest.mark.parametrize("strategy", ["file_descriptor", "file_system"])
def test_tensors_of_the_host_move_to_shared_memory(sharing, strategy):
    found = sharing(f"""
mp.set_sharing_strategy({strategy!r})
x = torch.zeros(2)
answer([mp.get_sharing_strategy(), x.is_shared()])
mp.spawn(children.write, (x,), nprocs=2)
answer([x.tolist(), x.is_shared(), torch.zeros(2).share_memory_().is_shared()])
""")
    assert found == [[strategy, False], [[1.0, 2.0], True, True]]


@pytest.mark.rule("1.18.6", since="1.0")
@pytest.mark.devices(0)
def test_an_unknown_strategy_is_an_error(torch):
    before = torch.multiprocessing.get_sharing_strategy()
    with pytest.raises((AssertionError, ValueError)):
        torch.multiprocessing.set_sharing_strategy("by_post")
    assert torch.multiprocessing.get_sharing_strategy() == before
    assert {"file_descriptor", "file_system"} <= torch.multiprocessing.get_all_sharing_strategies()


@pytest.mark.rule("1.18.7", since="1.0")
def test_spawn_runs_one_function_in_several_processes(sharing):
    found = sharing("""
table = torch.zeros(3, device="cuda")
torch.cuda.synchronize()
mp.spawn(children.write, args=(table,), nprocs=3)
answer(table.tolist())
""")
    assert found == [[1.0, 2.0, 3.0]]


@pytest.mark.rule("1.18.7", since="1.5")
@pytest.mark.devices(0)
def test_the_first_failure_ends_the_others_and_is_raised(sharing):
    found = sharing("""
try:
    mp.spawn(children.fail_in_second, nprocs=3)
except mp.ProcessRaisedException as error:
    answer([error.error_index, "KeyError: 'no luck'" in str(error), "fail_in_second" in str(error)])
for target in (children.end_with_three, children.kill_itself):
    try:
        mp.spawn(target, nprocs=1)
    except mp.ProcessExitedException as error:
        answer([error.exit_code, error.signal_name])
answer(len(mp.active_children()))
""")
    assert found == [[1, True, True], [3, None], [-15, "SIGTERM"], 0]


@pytest.mark.rule("1.18.7", since="1.0")
@pytest.mark.devices(0)
def test_spawn_may_return_before_its_processes(sharing):
    found = sharing("""
x = torch.zeros(2).share_memory_()
running = mp.spawn(children.write, args=(x,), nprocs=2, join=False)
answer(len(running.processes))
while not running.join():
    pass
answer(x.tolist())
""")
    assert found == [2, [1.0, 2.0]]
