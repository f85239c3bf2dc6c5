"""1.17 DistributedDataParallel: in a group of this process alone, and in one of two processes."""

import copy
import importlib
import warnings

import pytest

pytestmark = pytest.mark.devices(0)


@pytest.fixture
def dist(torch, tmp_path):
    """torch.distributed with a group of one process on the CPU."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield torch.distributed
    torch.distributed.destroy_process_group()


@pytest.fixture
def wrap(torch, dist):
    return torch.nn.parallel.DistributedDataParallel


class Counting:
    """A comm hook that counts the buckets and returns them as they are."""

    def __init__(self, torch):
        self.torch, self.seen = torch, []

    def __call__(self, state, bucket):
        self.seen.append((bucket.index(), bucket.buffer().numel(), bucket.is_last()))
        future = self.torch.futures.Future()
        future.set_result(bucket.buffer())
        return future


def hooked(torch, net):
    """Register a counting hook, and return what it sees."""
    counting = Counting(torch)
    net.register_comm_hook(None, lambda state, bucket: counting(state, bucket))
    return counting.seen


def branches(torch):
    """A module of two layers, of which forward uses those that it is told."""

    class Branches(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(1, 1, bias=False)
            self.b = torch.nn.Linear(1, 1, bias=False)

        def forward(self, x, used):
            return sum(getattr(self, name)(x) for name in used)

    return Branches()


@pytest.mark.rule("1.17.1", since="1.0")
def test_a_process_group_comes_first(torch):
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))


@pytest.mark.rule("1.17.1", since="1.0")
def test_gradients_are_those_of_the_module(torch, wrap):
    net = torch.nn.Linear(2, 1)
    wrapped = wrap(net)
    wrapped(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert net.weight.grad.tolist() == [[4.0, 6.0]] and net.bias.grad.tolist() == [2.0]
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"] and wrapped.module is net


@pytest.mark.rule("1.17.1", since="1.7")
def test_buckets_are_made_anew_after_the_first_backward(torch, wrap):
    net = torch.nn.Sequential(*[torch.nn.Linear(16, 16, bias=False) for _ in range(3)])
    wrapped = wrap(net, bucket_cap_mb=0.0009)  # less than a layer's 1024 bytes
    seen = hooked(torch, wrapped)
    for _ in range(2):
        wrapped(torch.ones(1, 16)).sum().backward()
    assert seen[0] == (0, 768, True)
    assert seen[1:] == [(0, 256, False), (1, 256, False), (2, 256, True)]


@pytest.mark.rule("1.17.1", since="1.0")
def test_gradients_add_up(torch, wrap):
    wrapped = wrap(torch.nn.Linear(1, 1, bias=False))
    for expected in (2.0, 4.0, 6.0):
        wrapped(torch.full((1, 1), 2.0)).sum().backward()
        assert wrapped.module.weight.grad.tolist() == [[expected]]


@pytest.mark.rule("1.17.1", since="1.0")
def test_a_module_needs_a_parameter_with_a_gradient(torch, wrap):
    with pytest.raises(RuntimeError, match="not needed when a module doesn't have any parameter"):
        wrap(torch.nn.ReLU())
    with pytest.raises(RuntimeError, match="not needed"):
        wrap(torch.nn.Linear(1, 1).requires_grad_(False))


@pytest.mark.rule("1.17.2", since="1.1")
def test_unused_parameters_are_found(torch, wrap):
    wrapped = wrap(branches(torch), find_unused_parameters=True)
    for used, expected in (("a", [1.0, None]), ("b", [1.0, 1.0]), ("b", [1.0, 2.0])):
        wrapped(torch.ones(1, 1), used).sum().backward()
        grads = [None if each.grad is None else each.grad.item() for each in wrapped.parameters()]
        assert grads == expected


@pytest.mark.rule("1.17.2", since="1.1")
def test_a_parameter_without_a_gradient_is_an_error_in_the_next_forward(torch, wrap):
    wrapped = wrap(branches(torch))
    wrapped(torch.ones(1, 1), "a").sum().backward()
    with pytest.raises(RuntimeError, match=r"(?s)Expected to have finished reduction.*find_unused_parameters=True"):
        wrapped(torch.ones(1, 1), "a")


@pytest.mark.rule(
    "1.17.2", since="1.1", differs="it gives the parameters' numbers, and names with TORCH_DISTRIBUTED_DEBUG"
)
def test_the_error_names_the_parameter(torch, wrap):
    wrapped = wrap(branches(torch))
    wrapped(torch.ones(1, 1), "a").sum().backward()
    with pytest.raises(RuntimeError, match=r"\bb\.weight\b"):
        wrapped(torch.ones(1, 1), "a")


@pytest.mark.rule("1.17.2", since="1.9")
def test_a_search_in_vain_changes_nothing(torch, wrap):
    wrapped = wrap(branches(torch), find_unused_parameters=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrapped(torch.ones(1, 1), "ab").sum().backward()
    assert wrapped.module.a.weight.grad.item() == 1.0


@pytest.mark.rule("1.17.2", since="1.9")
def test_an_output_may_be_left_out_of_the_loss(torch, wrap):
    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(1, 1, bias=False)

        def forward(self, x):
            return self.a(x), self.b(x)

    wrapped = wrap(Two(), find_unused_parameters=True)
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrapped(torch.ones(1, 1))[0].sum().backward()
    assert wrapped.module.a.weight.grad.item() == 2.0 and wrapped.module.b.weight.grad is None


@pytest.mark.rule("1.17.2", since="1.0")
def test_inside_no_sync_nothing_is_reduced(torch, wrap):
    wrapped = wrap(torch.nn.Linear(1, 1, bias=False))
    seen = hooked(torch, wrapped)
    with wrapped.no_sync():
        wrapped(torch.ones(1, 1)).sum().backward()
    assert seen == [] and wrapped.module.weight.grad.item() == 1.0
    wrapped(torch.ones(1, 1)).sum().backward()
    assert len(seen) == 1 and wrapped.module.weight.grad.item() == 2.0
    wrapped.require_backward_grad_sync = False
    wrapped(torch.ones(1, 1)).sum().backward()
    assert len(seen) == 1 and wrapped.module.weight.grad.item() == 3.0


@pytest.mark.rule("1.17.2", since="1.0")
def test_only_the_forward_decides_whether_gradients_are_reduced(torch, wrap):
    wrapped = wrap(torch.nn.Linear(1, 1, bias=False))
    seen = hooked(torch, wrapped)
    output = wrapped(torch.ones(1, 1)).sum()
    with wrapped.no_sync():
        output.backward()
    assert len(seen) == 1


@pytest.mark.rule("1.17.2", since="1.7")
def test_gradients_may_be_views_of_the_buckets(torch, wrap):
    wrapped = wrap(torch.nn.Linear(3, 2), gradient_as_bucket_view=True)
    buffers = []

    def hook(state, bucket):
        buffers.append(bucket.buffer())
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    wrapped.register_comm_hook(None, hook)
    for _ in range(2):
        wrapped.zero_grad()
        wrapped(torch.ones(1, 3)).sum().backward()
    start = buffers[-1].data_ptr()
    places = sorted((each.grad.data_ptr() - start) // 4 for each in wrapped.parameters())
    assert places in ([0, 2], [0, 6])


@pytest.mark.rule("1.17.2", since="1.11")
def test_a_static_graph_may_use_checkpoints_twice(torch, wrap):
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint

    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.unused = torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(1, 1)

        def forward(self, x):
            return checkpoint(self.a, checkpoint(self.a, x, use_reentrant=True), use_reentrant=True)

    def steps(static):
        torch.nn.init.ones_((net := Twice()).a.weight)
        wrapped = wrap(net, static_graph=static)
        found = []
        for _ in range(3):
            wrapped.zero_grad()
            wrapped(torch.ones(1, 1, requires_grad=True)).sum().backward()
            found.append(net.a.weight.grad.item())
        return found

    assert steps(True) == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="mark a variable ready only once"):
        steps(False)


@pytest.mark.rule("1.17.2", since="1.7")
def test_join_runs_a_loop_as_it_is(torch, wrap):
    wrapped = wrap(torch.nn.Linear(1, 1, bias=False))
    with wrapped.join():
        for _ in range(3):
            wrapped(torch.ones(1, 1)).sum().backward()
    assert wrapped.module.weight.grad.item() == 3.0


@pytest.mark.rule("1.17.2", since="1.0")
def test_device_ids_are_for_one_gpu(torch, wrap):
    with pytest.raises(ValueError, match="single element"):
        wrap(torch.nn.Linear(1, 1), device_ids=[0, 1])
    with pytest.raises(ValueError, match="device_ids"):
        wrap(torch.nn.Linear(1, 1), device_ids=[0])


@pytest.mark.rule("1.17.3", since="1.0")
def test_autograd_grad_reduces_nothing(torch, wrap):
    wrapped = wrap(torch.nn.Linear(1, 1, bias=False))
    seen = hooked(torch, wrapped)
    (grad,) = torch.autograd.grad(wrapped(torch.ones(1, 1)).sum(), [wrapped.module.weight])
    assert grad.item() == 1.0 and seen == [] and wrapped.module.weight.grad is None


@pytest.mark.rule("1.17.3", since="1.0")
def test_forwards_without_gradients_reduce_nothing(torch, wrap):
    wrapped = wrap(torch.nn.Linear(1, 1, bias=False))
    seen = hooked(torch, wrapped)
    with torch.no_grad():
        wrapped(torch.ones(1, 1))
    assert seen == []


@pytest.mark.rule("1.17.5", since="1.8")
def test_a_comm_hook_is_called_instead_and_once_registered(torch, wrap):
    wrapped = wrap(torch.nn.Linear(1, 1, bias=False))
    states = []

    def hook(state, bucket):
        states.append(state)
        future = torch.futures.Future()
        future.set_result(bucket.buffer() * 5)
        return future

    wrapped.register_comm_hook("state", hook)
    wrapped(torch.ones(1, 1)).sum().backward()
    assert states == ["state"] and wrapped.module.weight.grad.item() == 5.0
    with pytest.raises(RuntimeError, match="register_comm_hook.*once"):
        wrapped.register_comm_hook(None, hook)


@pytest.mark.rule("1.17.5", since="1.8")
def test_hooks_that_reduce_in_half_precision(torch, wrap):
    hooks = importlib.import_module(f"{torch.__name__}.distributed.algorithms.ddp_comm_hooks.default_hooks")
    for hook, expected in ((hooks.allreduce_hook, 1.0009765), (hooks.fp16_compress_hook, 1.0009765625)):
        wrapped = wrap(torch.nn.Linear(1, 1, bias=False))
        wrapped.register_comm_hook(None, hook)
        wrapped(torch.full((1, 1), 1.0009765)).sum().backward()
        assert abs(wrapped.module.weight.grad.item() - expected) < 1e-7


@pytest.mark.rule("1.17.6", since="1.0")
def test_a_copy_has_parameters_of_its_own(torch, wrap):
    wrapped = wrap(torch.nn.Linear(1, 1, bias=False))
    other = copy.deepcopy(wrapped)
    other(torch.ones(1, 1)).sum().backward()
    assert other.module.weight.grad.item() == 1.0 and wrapped.module.weight.grad is None


@pytest.mark.rule("1.17.6", since="1.0")
def test_a_checkpoint_loads_with_and_without_the_wrapper(torch, wrap, tmp_path):
    net = torch.nn.Linear(1, 1)
    torch.save(wrap(net).state_dict(), tmp_path / "wrapped.pt")
    other = torch.nn.Linear(1, 1)
    state = torch.load(tmp_path / "wrapped.pt")
    wrap(other).load_state_dict(state)
    assert other.weight.item() == net.weight.item()
    torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    torch.nn.Linear(1, 1).load_state_dict(state)
    assert list(state) == ["weight", "bias"]


# two processes

RANKS = """
import tempfile, warnings

def of_ranks(function, size=2):
    "What function(rank) returns in each of several forked processes, which form a group."
    meeting, started = tempfile.mkdtemp() + "/store", []
    for rank in range(size):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                torch.distributed.init_process_group("gloo", f"file://{meeting}", rank=rank, world_size=size)
                os.write(write, json.dumps(function(rank)).encode())
                torch.distributed.destroy_process_group()
                status = 0
            finally:
                os._exit(status)
        os.close(write)
        started.append((child, read))
    found = []
    for child, read in started:
        with open(read) as source:
            found.append(json.loads(source.read()))
        assert os.waitpid(child, 0)[1] == 0
    return found

def layer(value):
    net = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        net.weight.fill_(value)
    return net

wrap = torch.nn.parallel.DistributedDataParallel
"""


@pytest.fixture
def of_ranks(program):
    """Runs a program that defines `each(rank)` in two processes; returns the two results."""
    return lambda source: program(f"{RANKS}{source}answer(of_ranks(each))")[0]


@pytest.mark.rule("1.17.1", since="1.0")
def test_rank_0_gives_its_state_at_first_and_its_buffers_at_every_forward(of_ranks):
    found = of_ranks("""
def each(rank):
    net = layer(rank + 1.0)
    net.register_buffer("count", torch.full((1,), rank + 3.0))
    wrapped = wrap(net)
    found = [net.weight.item(), net.count.item()]
    with torch.no_grad():
        net.weight.fill_(rank + 5.0)
        net.count.fill_(rank + 7.0)
    wrapped(torch.ones(1, 1))
    return found + [net.weight.item(), net.count.item()]
""")
    assert found == [[1.0, 3.0, 5.0, 7.0], [1.0, 3.0, 6.0, 7.0]]


@pytest.mark.rule("1.17.1", since="1.0")
def test_buckets_are_averaged_in_one_order(of_ranks):
    found = of_ranks("""
class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = layer(1.0), layer(1.0), layer(1.0)

    def forward(self, x, order):
        for name in order:  # gradients become ready in the opposite order
            x = getattr(self, name)(x)
        return x

def each(rank):
    wrapped, seen = wrap(Branches(), bucket_cap_mb=1e-6), []

    def hook(state, bucket):
        seen.append(bucket.index())
        work = torch.distributed.all_reduce(bucket.buffer(), async_op=True)
        return work.get_future().then(lambda done: done.value()[0] / 2)

    wrapped.register_comm_hook(None, hook)
    for _ in range(3):
        wrapped.zero_grad()
        wrapped(torch.full((1, 1), rank + 1.0), "abc" if rank else "bca").sum().backward()
    return seen, [each.grad.item() for each in wrapped.parameters()]
""")
    assert [seen for seen, _ in found] == [[0, 0, 1, 2, 0, 1, 2]] * 2
    assert [grads for _, grads in found] == [[1.5] * 3] * 2


@pytest.mark.rule("1.17.2", since="1.7")
def test_join_stands_in_for_ranks_without_inputs(of_ranks):
    found = of_ranks("""
def each(rank):
    wrapped, found = wrap(layer(1.0)), []
    with wrapped.join():
        for _ in range(1 + rank):
            wrapped.zero_grad()
            wrapped(torch.full((1, 1), rank + 1.0)).sum().backward()
            found.append(wrapped.module.weight.grad.item())
    return found
""")
    assert found == [[1.5], [1.5, 1.0]]


@pytest.mark.rule("1.17.2", since="1.0")
def test_gradients_of_no_sync_are_reduced_with_the_next_ones(of_ranks):
    found = of_ranks("""
def each(rank):
    wrapped, found = wrap(layer(1.0)), []
    x = torch.full((1, 1), rank + 1.0)
    with wrapped.no_sync():
        wrapped(x).sum().backward()
        found.append(wrapped.module.weight.grad.item())
    wrapped(x).sum().backward()
    return found + [wrapped.module.weight.grad.item()]
""")
    assert found == [[1.0, 3.0], [2.0, 3.0]]


@pytest.mark.rule("1.17.3", since="1.0")
def test_parameters_that_come_later_are_not_reduced(of_ranks):
    found = of_ranks("""
class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = layer(1.0)

    def forward(self, x):
        return self.a(x) * self.scale

def each(rank):
    net = Scaled()
    wrapped = wrap(net)
    net.scale = torch.nn.Parameter(torch.ones(1))
    wrapped(torch.full((1, 1), rank + 1.0)).sum().backward()
    return net.a.weight.grad.item(), net.scale.grad.item()
""")
    assert found == [[1.5, 1.0], [1.5, 2.0]]


@pytest.mark.rule("1.17.3", since="1.0")
def test_a_sum_is_averaged_over_ranks_as_a_mean_is(of_ranks):
    found = of_ranks("""
def each(rank):
    found = []
    for reduction in ("sum", "mean"):
        wrapped = wrap(layer(1.0))
        rows = torch.arange(4.0).view(4, 1)[2 * rank : 2 * rank + 2]
        getattr(wrapped(rows), reduction)().backward()
        found.append(wrapped.module.weight.grad.item())
    return found
""")
    assert found == [[3.0, 1.5]] * 2  # of all rows together: 6 and 1.5


@pytest.mark.rule("1.17.3", since="1.7")
def test_parameters_must_be_alike_in_all_ranks(of_ranks):
    found = of_ranks("""
def each(rank):
    net = torch.nn.Linear(1 + rank, 1, bias=False)
    failed = attempt(lambda: wrap(net) and None)
    return (failed or "").split(":")[0] if rank else None
""")
    assert found == [None, "RuntimeError"]


@pytest.mark.devices(1)
@pytest.mark.rule("1.10.15", since="1.10")
def test_a_step_is_captured_after_eleven_steps_on_a_side_stream(torch, tmp_path):
    torch.distributed.init_process_group("nccl", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        side, x = torch.cuda.Stream(), torch.ones(3, 2, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1).cuda(), device_ids=[0])
            for _ in range(11):
                net.zero_grad(set_to_none=True)
                net(x).sum().backward()
        torch.cuda.current_stream().wait_stream(side)
        net.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            net(x).sum().backward()
        for value in (2.0, 5.0):
            x.fill_(value)
            graph.replay()
            assert net.module.weight.grad.tolist() == [[3 * value] * 2]
    finally:
        torch.cuda.synchronize()
        torch.distributed.destroy_process_group()
