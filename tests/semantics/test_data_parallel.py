"""1.16 DataParallel: one process, one thread per GPU."""

import collections
import threading
import warnings
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.devices(2)


def layer(torch, device="cuda:0", value=2.0):
    """A linear layer of one weight."""
    found = torch.nn.Linear(1, 1, bias=False).to(device)
    with torch.no_grad():
        found.weight.fill_(value)
    return found


def module(torch, forward, *children):
    """A module with a forward(self, ...), and with children named a, b and so on."""

    class Made(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, child in zip("abc", children):
                self.add_module(name, child)

    Made.forward = forward
    return Made()


@pytest.mark.rule("1.16.1", since="1.0")
def test_by_default_all_devices_are_used_along_the_first_dimension(torch):
    net = torch.nn.DataParallel(torch.nn.Identity())
    assert net.device_ids == list(range(torch.cuda.device_count())) and (net.output_device, net.dim) == (0, 0)
    net = torch.nn.DataParallel(torch.nn.Identity(), device_ids=[1, 0])
    assert (net.device_ids, net.output_device) == ([1, 0], 1)


@pytest.mark.rule("1.16.1", since="1.0")
def test_a_call_is_that_of_the_function_and_of_its_parts(torch):
    weight, x = layer(torch), torch.arange(4.0).view(4, 1)
    net = module(torch, lambda self, x, factor: self.a(x) * factor, weight)
    parts = torch.nn.parallel.scatter(x, [0, 1])
    replicas = torch.nn.parallel.replicate(net, [0, 1])
    outputs = torch.nn.parallel.parallel_apply(replicas, [(each,) for each in parts], [{"factor": 3}] * 2, [0, 1])
    joined = torch.nn.parallel.gather(outputs, 1)
    found = torch.nn.parallel.data_parallel(net, (x,), [0, 1], output_device=1, module_kwargs={"factor": 3})
    called = torch.nn.DataParallel(net, [0, 1], output_device=1)(x, factor=3)
    for each in (joined, found, called):
        assert each.tolist() == [[0.0], [6.0], [12.0], [18.0]] and each.device == torch.device("cuda:1")
    assert [str(each.device) for each in outputs] == ["cuda:0", "cuda:1"]


@pytest.mark.rule("1.16.2", since="1.0")
def test_with_one_device_the_module_is_called_in_this_thread(torch):
    seen = []

    def forward(self, x):
        seen.append(threading.get_ident())
        return self.a(x)

    net = torch.nn.DataParallel(module(torch, forward, layer(torch, "cpu")), device_ids=[1])
    assert net(torch.ones(3, 1)).tolist() == [[2.0]] * 3 and seen == [threading.get_ident()]
    assert net.module.a.weight.device == torch.device("cuda:1")


@pytest.mark.devices(0)
@pytest.mark.rule("1.16.2", since="1.0")
def test_without_a_gpu_the_module_is_called(program):
    found = program("""
net = torch.nn.DataParallel(torch.nn.Identity())
answer(net(torch.ones(2)).tolist())
answer(len(net.device_ids))
""")
    assert found == [[1.0, 1.0], 0]


@pytest.mark.rule("1.16.3", since="1.0")
def test_parameters_and_buffers_must_be_on_the_first_device(torch):
    net = torch.nn.DataParallel(layer(torch, "cpu"))
    with pytest.raises(RuntimeError, match=r"on device[: ]*cuda:0.*found one of them on device: cpu"):
        net(torch.ones(2, 1))
    net = torch.nn.BatchNorm1d(1).to("cuda:0")
    net.running_mean = net.running_mean.to("cuda:1")
    with pytest.raises(RuntimeError, match=r"cuda:0.*cuda:1"):
        torch.nn.DataParallel(net)(torch.ones(2, 1))


@pytest.mark.rule("1.16.3", since="1.0")
def test_the_devices_of_parameters_are_looked_at_in_every_call(torch):
    weight = layer(torch)
    net = torch.nn.DataParallel(weight)
    net(torch.ones(2, 1))
    weight.to("cuda:1")
    with pytest.raises(RuntimeError, match=r"cuda:0.*cuda:1"):
        net(torch.ones(2, 1))


@pytest.mark.rule("1.16.4", since="1.0")
def test_inputs_are_split_and_the_last_part_may_be_smaller(torch):
    sizes = torch.nn.parallel.scatter(torch.arange(5.0), [0, 1])
    assert [(each.tolist(), str(each.device)) for each in sizes] == [
        ([0.0, 1.0, 2.0], "cuda:0"), ([3.0, 4.0], "cuda:1"),
    ]  # fmt: skip
    seen = []
    net = torch.nn.DataParallel(module(torch, lambda self, x: seen.append(tuple(x.shape)) or x))
    assert net(torch.arange(5.0)).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0] and sorted(seen) == [(2,), (3,)]


@pytest.mark.rule("1.16.4", since="1.0")
def test_fewer_parts_use_fewer_devices(torch):
    seen = []
    net = torch.nn.DataParallel(module(torch, lambda self, x: seen.append(str(x.device)) or x))
    assert net(torch.ones(1)).tolist() == [1.0] and seen == ["cuda:0"]


@pytest.mark.rule("1.16.4", since="1.0")
def test_structures_are_split_and_other_values_shared(torch):
    seen, shared = [], object()

    def forward(self, x, *, rows, other):
        seen.append((x[0].shape[0], rows["y"].shape[0], other is shared))
        return x[0] + rows["y"]

    net = torch.nn.DataParallel(module(torch, forward))
    x = torch.arange(4.0)
    assert net((x, 3), rows={"y": x * 10}, other=shared).tolist() == [0.0, 11.0, 22.0, 33.0]
    assert seen == [(2, 2, True)] * 2


@pytest.mark.rule("1.16.4", since="1.0")
def test_named_tuples_keep_their_class(torch):
    pair = collections.namedtuple("pair", "x y")
    seen = []

    def forward(self, inputs):
        seen.append((type(inputs) is pair, inputs.x.shape[0]))
        return pair(inputs.x + 1, inputs.y)

    found = torch.nn.DataParallel(module(torch, forward))(pair(torch.arange(4.0), torch.zeros(4)))
    assert type(found) is pair and found.x.tolist() == [1.0, 2.0, 3.0, 4.0] and seen == [(True, 2)] * 2


@pytest.mark.rule("1.16.4", since="1.0", differs="keywords that fill fewer parts than the inputs are an AssertionError")
def test_a_part_that_keywords_do_not_fill_is_called_without_them(torch):
    def forward(self, x, y=None):
        return x if y is None else x + y

    net = torch.nn.DataParallel(module(torch, forward))
    assert net(torch.arange(4.0), y=torch.full((1,), 10.0)).tolist() == [10.0, 11.0, 2.0, 3.0]


@pytest.mark.rule("1.16.4", since="1.0")
def test_without_inputs_the_first_device_runs(torch):
    seen = []
    weight = layer(torch)

    def forward(self):
        seen.append(torch.cuda.current_device())
        return self.a.weight * 1

    assert torch.nn.DataParallel(module(torch, forward, weight))().tolist() == [[2.0]] and seen == [0]


@pytest.mark.rule("1.16.4", since="1.0")
def test_splitting_passes_gradients_to_the_input(torch):
    x = torch.arange(4.0, device="cuda:1").requires_grad_()
    parts = torch.nn.parallel.scatter(x, [0, 1])
    (parts[0].sum() * 2 + parts[1].sum().to("cuda:0") * 3).backward()
    assert x.grad.tolist() == [2.0, 2.0, 3.0, 3.0] and x.grad.device == x.device


@pytest.mark.rule("1.16.4", since="1.0")
def test_cpu_inputs_are_there_before_work_of_the_current_streams(torch, busy):
    for index in (0, 1):
        with torch.cuda.device(index):
            busy()
    host = torch.arange(1 << 16, dtype=torch.float32).pin_memory()
    net = torch.nn.DataParallel(module(torch, lambda self, x: x * 2))
    found = net(host)
    assert found.cpu().equal(torch.arange(1 << 16, dtype=torch.float32) * 2)


@pytest.mark.rule("1.16.5", since="1.0")
def test_parameters_are_copied_at_every_call_and_gradients_summed(torch):
    weight = layer(torch)
    net = torch.nn.DataParallel(weight)
    for value in (2.0, 5.0):
        with torch.no_grad():
            weight.weight.fill_(value)
        assert net(torch.ones(4, 1)).tolist() == [[value]] * 4
    net(torch.arange(4.0).view(4, 1)).sum().backward()
    assert weight.weight.grad.tolist() == [[6.0]] and weight.weight.grad.device == torch.device("cuda:0")


@pytest.mark.rule("1.16.5", since="1.0")
def test_writes_to_buffers_on_the_first_device_stay_and_other_changes_are_lost(torch):
    def forward(self, x):
        self.count += 1
        self.note = x.device
        return self.a(x)

    net = module(torch, forward, layer(torch))
    net.register_buffer("count", torch.zeros(1, device="cuda:0"))
    parallel = torch.nn.DataParallel(net)
    for _ in range(3):
        parallel(torch.ones(2, 1))
    assert net.count.tolist() == [3.0] and not hasattr(net, "note")


@pytest.mark.rule("1.16.5", since="1.0")
def test_averages_of_a_batch_norm_are_those_of_the_first_part(torch):
    net = torch.nn.BatchNorm1d(1, momentum=1.0).to("cuda:0")
    torch.nn.DataParallel(net)(torch.tensor([[1.0], [3.0], [10.0], [20.0]]))
    assert net.running_mean.tolist() == [2.0] and net.num_batches_tracked.item() == 1


@pytest.mark.rule("1.16.5", since="1.0")
def test_replicas_have_no_leaves(torch):
    first, second = torch.nn.parallel.replicate(layer(torch), [0, 1])
    assert list(second.parameters()) == [] and second.weight.device == torch.device("cuda:1")
    assert not second.weight.is_leaf and second.weight.requires_grad
    plain = torch.nn.parallel.replicate(layer(torch), [0, 1], detach=True)[1]
    assert not plain.weight.requires_grad and first.weight.item() == 2.0


@pytest.mark.rule("1.16.5", since="1.0")
def test_without_gradients_copies_need_none(torch):
    needed = {}

    def forward(self, x):
        needed[x.device.index] = self.a.weight.requires_grad
        return self.a(x)

    net = torch.nn.DataParallel(module(torch, forward, layer(torch)))
    with torch.no_grad():
        assert not net(torch.ones(2, 1)).requires_grad
    assert needed[1] is False
    assert net(torch.ones(2, 1)).requires_grad and needed == {0: True, 1: True}


@pytest.mark.rule("1.16.5", since="1.0")
def test_buffers_that_need_gradients_get_them(torch):
    net = module(torch, lambda self, x: x * self.scale)
    net.register_buffer("scale", torch.ones(1, device="cuda:0", requires_grad=True))
    torch.nn.DataParallel(net)(torch.arange(4.0)).sum().backward()
    assert net.scale.grad.tolist() == [6.0]


@pytest.mark.rule("1.16.5", since="1.4")
def test_zero_grad_of_a_replica_warns(torch):
    replica = torch.nn.parallel.replicate(layer(torch), [0, 1])[1]
    with pytest.warns(UserWarning, match="zero_grad"):
        replica.zero_grad()


@pytest.mark.rule("1.16.6", since="1.0")
def test_threads_have_the_caller_s_state(torch):
    seen = {}
    streams = [torch.cuda.Stream(0), torch.cuda.Stream(1)]

    def forward(self, x):
        index = torch.cuda.current_device()
        here = torch.cuda.current_stream() == streams[index], torch.is_grad_enabled(), torch.is_autocast_enabled()
        seen[index] = here
        return x

    net = torch.nn.DataParallel(module(torch, forward))
    first, half = torch.cuda.stream(streams[0]), torch.autocast("cuda", dtype=torch.float16)
    with torch.cuda.stream(streams[1]), first, torch.no_grad(), half:
        net(torch.ones(2, device="cuda:0"))
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    assert seen == dict.fromkeys((0, 1), (True, False, True))


@pytest.mark.rule("1.16.6", since="1.0", differs="each replica has a thread of its own")
def test_a_mirrored_module_is_called_once_in_the_calling_thread(torch):
    seen = SimpleNamespace(threads=())

    def forward(self, x):
        seen.threads = (*seen.threads, threading.get_ident())
        return x

    torch.nn.DataParallel(module(torch, forward))(torch.ones(2, device="cuda:0"))
    assert seen.threads == (threading.get_ident(),)


@pytest.mark.rule("1.16.6", since="1.0")
def test_the_first_exception_has_its_type_and_names_its_replica(torch):
    class Refused(ValueError):
        pass

    def forward(self, x):
        if x.device.index == 1:
            raise Refused("no")
        return x

    with pytest.raises(Refused, match=r"replica 1 on device (cuda:)?1"):
        torch.nn.DataParallel(module(torch, forward))(torch.ones(4))


@pytest.mark.rule("1.16.6", since="1.0")
def test_each_replica_draws_from_its_device_s_generator(torch):
    def forward(self, x):
        return torch.rand(2, device=x.device)

    net = torch.nn.DataParallel(module(torch, forward))
    torch.manual_seed(7)
    found = net(torch.ones(2, device="cuda:0"))
    torch.manual_seed(7)
    alone = [torch.rand(2, device=f"cuda:{index}").tolist() for index in (0, 1)]
    assert found.tolist() == alone[0] + alone[1]
    state = torch.cuda.get_rng_state(1)
    net(torch.ones(1, device="cuda:0"))
    assert torch.cuda.get_rng_state(1).equal(state)


@pytest.mark.rule("1.16.7", since="1.0")
def test_outputs_are_joined_by_structure(torch):
    net = torch.nn.DataParallel(module(torch, lambda self, x: {"x": x, "more": [(x * 2, None)]}), output_device=1)
    found = net(torch.arange(3.0))
    assert found["x"].tolist() == [0.0, 1.0, 2.0] and found["x"].device == torch.device("cuda:1")
    assert found["more"][0][0].tolist() == [0.0, 2.0, 4.0]
    net = torch.nn.DataParallel(module(torch, lambda self, x: x), dim=1, output_device=0)
    assert net(torch.arange(6.0).view(2, 3)).tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


@pytest.mark.rule("1.16.7", since="1.0")
def test_scalars_become_a_vector_with_a_warning(torch):
    weight = layer(torch)
    net = torch.nn.DataParallel(module(torch, lambda self, x: self.a(x).mean(), weight))
    with pytest.warns(UserWarning, match="scalar"):
        losses = net(torch.tensor([[1.0], [3.0], [5.0], [7.0]]))
    assert losses.tolist() == [4.0, 12.0]
    losses.mean().backward()
    assert weight.weight.grad.tolist() == [[4.0]]


@pytest.mark.rule("1.16.7", since="1.0")
def test_dictionaries_of_other_lengths_are_refused(torch):
    def forward(self, x):
        return {"x": x} if x.device.index else {"x": x, "y": x}

    with pytest.raises(ValueError, match="dicts"):
        torch.nn.DataParallel(module(torch, forward))(torch.ones(4))


@pytest.mark.rule("1.16.7", since="1.0")
def test_outputs_may_be_joined_on_the_cpu(torch):
    outputs = [torch.full((index + 1,), float(index), device=f"cuda:{index}") for index in (0, 1)]
    found = torch.nn.parallel.gather(outputs, "cpu")
    assert found.tolist() == [0.0, 1.0, 1.0] and found.device == torch.device("cpu")
    with pytest.warns(FutureWarning, match="-1"):
        assert torch.nn.parallel.gather(outputs, -1).device == torch.device("cpu")


@pytest.mark.rule("1.16.8", since="1.0")
def test_hooks_run_once_per_replica(torch):
    forwards, backwards = [], []
    net = module(torch, lambda self, x: self.a(x), layer(torch))
    net.a.register_forward_hook(lambda module, args, output: forwards.append(output.device.index))
    net.a.register_full_backward_hook(lambda module, grads, outputs: backwards.append(outputs[0].device.index))
    parallel = torch.nn.DataParallel(net)
    own = []
    parallel.register_forward_hook(lambda *args: own.append(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parallel(torch.ones(4, 1, device="cuda:0", requires_grad=True)).sum().backward()
    assert sorted(forwards) == [0, 1] == sorted(backwards) and own == [1]


@pytest.mark.rule("1.16.9", since="1.0")
def test_sequences_are_padded_to_one_length_for_all_parts(torch):
    rnn = torch.nn.utils.rnn

    def padded(total):
        def forward(self, x, lengths):
            packed = rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True)
            return rnn.pad_packed_sequence(packed, batch_first=True, total_length=total)[0]

        net = torch.nn.DataParallel(module(torch, forward))
        return net(torch.ones(4, 3, 1, device="cuda:0"), torch.tensor([3, 3, 2, 1]))

    assert padded(3).squeeze(-1).tolist() == [[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 0, 0]]
    with pytest.raises(RuntimeError):  # the second part's longest sequence is shorter
        padded(None)


@pytest.mark.rule("1.16.9", since="1.0")
def test_every_tensor_is_split_along_the_same_dimension(torch):
    net = torch.nn.DataParallel(module(torch, lambda self, x, lengths: x * lengths), dim=1)
    x = torch.ones(3, 2, device="cuda:0")
    assert net(x, torch.tensor([[2.0, 3.0]])).tolist() == [[2.0, 3.0]] * 3
    with pytest.raises(IndexError):
        net(x, torch.tensor([2.0, 3.0]))
