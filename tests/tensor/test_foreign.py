"""Exchange with other libraries by DLPack and the CUDA array interface.

`Foreign` stands for an array of another library (such as CuPy) on a virtual GPU: memory and streams of its own, and the
protocols that such libraries have.
"""

import gc
import weakref

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    NotSupportedError,
    RaceError,
    ValueRangeError,
)
from flambeau.tensor import foreign
from tests.conftest import ON_HARDWARE


class Exporter:
    """An object with `__dlpack__` that hands a NumPy array on, and records how it was asked."""

    def __init__(self, array, device=(1, 0), takes_versions=True):
        self.array, self.device, self.takes_versions, self.asked = array, device, takes_versions, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.asked.append(options)
        if not self.takes_versions and set(options) - {"stream"}:
            raise TypeError("unexpected keyword")
        return self.array.__dlpack__(**{key: value for key, value in options.items() if key == "max_version"})


class Foreign:
    """Memory of a virtual GPU as another library has it: a tensor that nothing else knows, on a stream of its own."""

    def __init__(self, values, stream=None, dtype=torch.float32):
        self.stream = stream or torch.cuda.Stream()
        with torch.cuda.stream(self.stream):
            self.tensor = torch.tensor(values, dtype=dtype, device="cuda")
        self.asked = []

    def write(self, value):
        with torch.cuda.stream(self.stream):
            self.tensor.fill_(value)

    def __dlpack_device__(self):
        return 2, self.tensor.device_index

    def __dlpack__(self, *, stream=None, max_version=None):
        self.asked.append((stream, max_version))
        if stream != -1:
            torch.cuda.ExternalStream(0 if stream in (None, 1) else stream).wait_stream(self.stream)
        return foreign.capsule_of(self.tensor, self.__dlpack_device__(), max_version is not None, False)

    @property
    def __cuda_array_interface__(self):
        with torch.cuda.stream(self.stream):
            return self.tensor.__cuda_array_interface__


class Described:
    """An object with a given `__cuda_array_interface__`."""

    def __init__(self, source, **changes):
        self.source = source
        self.__cuda_array_interface__ = {**source.__cuda_array_interface__, **changes}


class TheirStream:
    """A stream of another library."""

    def __init__(self, raw):
        self.raw = raw

    def __cuda_stream__(self):
        return 0, self.raw


# DLPack on the CPU


def test_dlpack_shares_host_memory_both_ways():
    x = torch.arange(3.0)
    array = np.from_dlpack(x)
    x[0] = 9
    assert array.tolist() == [9, 1, 2]
    theirs = np.arange(3.0)
    ours = torch.from_dlpack(theirs)
    ours[0] = 5
    assert theirs[0] == 5


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
@pytest.mark.parametrize("version", [None, (1, 0), (0, 8)])
def test_every_type_goes_through_a_capsule(dtype, version):
    x = torch.tensor([[1, 0, 3], [4, 5, 6]]).to(dtype)
    for source in (x, x.t(), x[:, 1:], x[0, 0], x[:0]):
        capsule = source.__dlpack__(max_version=version)
        name = "dltensor_versioned" if version == (1, 0) else "dltensor"
        assert f'"{name}"' in repr(capsule)
        found = torch.utils.dlpack.from_dlpack(capsule)
        assert found.dtype is dtype and found.equal(source)
        assert not source.numel() or found.data_ptr() == source.data_ptr()
        assert found.numel() < 2 or found.stride() == source.stride()


def test_a_capsule_is_taken_once_and_keeps_its_memory():
    x = torch.ones(3)
    capsule = torch.to_dlpack(x)
    found = torch.from_dlpack(capsule)
    with pytest.raises(ValueRangeError, match="from_dlpack: .*not an unused capsule"):
        torch.from_dlpack(capsule)
    del x, capsule
    gc.collect()
    assert found.tolist() == [1, 1, 1]
    array = np.arange(4.0)
    died = weakref.ref(array)
    shared = torch.from_dlpack(Exporter(array))[1:]
    del array
    assert died() is not None and shared.tolist() == [1, 2, 3]
    del shared
    gc.collect()
    assert died() is None, "the producer gets its memory back"
    array = np.ones(2)
    memory = weakref.ref(array)
    capsule = torch.from_numpy(array).__dlpack__()
    del array
    assert memory() is not None
    del capsule
    assert memory() is None, "an unused capsule frees its memory"


def test_producers_are_asked_as_the_protocol_says():
    new, old = Exporter(np.ones(2)), Exporter(np.ones(2), takes_versions=False)
    assert torch.from_dlpack(new).tolist() == torch.from_dlpack(old).tolist() == [1, 1]
    assert new.asked == [{"max_version": (1, 0)}] and old.asked == [{"max_version": (1, 0)}, {}]


def test_copies_are_made_where_they_are_asked_for():
    x = torch.ones(2)
    copied = np.from_dlpack(x, copy=True)
    copied[0] = 5
    assert x.tolist() == [1, 1]
    theirs = np.ones(2)
    ours = torch.from_dlpack(theirs, copy=True)
    ours[0] = 5
    assert theirs.tolist() == [1, 1]
    same = torch.from_dlpack(x)
    same[0] = 7
    assert x.tolist() == [7, 1] and torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()


def test_values_that_may_not_be_written_are_copied():
    array = np.ones(2)
    array.flags.writeable = False
    for share in (torch.from_dlpack, torch.from_numpy, torch.as_tensor, torch.asarray):
        with pytest.warns(UserWarning, match=f"^{share.__name__}: .*not writable"):
            found = share(array)
        found[0] = 5
        assert array.tolist() == [1, 1] and found.tolist() == [5, 1]


def test_what_dlpack_refuses(gpus):
    with pytest.raises(AutogradError, match="__dlpack__: can't export tensors that require grad.*float32"):
        torch.ones(1, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="require grad"):
        torch.from_dlpack(torch.ones(1, requires_grad=True))
    with pytest.raises(ArgumentTypeError, match="stream must be an int or None, got 'a'"):
        torch.ones(1).__dlpack__(stream="a")
    with pytest.raises(ArgumentError, match=r"stream is 7, .*float32\[1\] on cpu"):
        torch.ones(1).__dlpack__(stream=7)
    with pytest.raises(NotSupportedError, match=r"dl_device is \(8, 0\)"):
        torch.ones(1).__dlpack__(dl_device=(8, 0))
    with pytest.raises(BufferError, match=r"\(1, 0\).*copy is False"):
        torch.ones(1, device="cuda").__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="from_dlpack: .*code 5, 64 bits and 1 lanes"):
        torch.from_dlpack(np.ones(1, dtype=np.complex64))
    with pytest.raises(ValueRangeError, match="from_dlpack: .*no __dlpack__ method"):
        torch.from_dlpack([1, 2])


# DLPack on GPUs


@pytest.mark.skipif(ON_HARDWARE, reason="of virtual GPUs")
def test_virtual_memory_is_refused_to_other_libraries(gpus):
    x = torch.tensor([1.0, 2.0], device="cuda:1")
    assert x.__dlpack_device__() == (2, 1)
    with pytest.raises(BufferError, match=r"virtual GPUs .*float32\[2\] on cuda:1\nhint: .*cpu"):
        np.from_dlpack(x)
    with pytest.raises(NotSupportedError, match="virtual GPUs"):
        torch.to_dlpack(x)
    assert np.from_dlpack(x, device="cpu").tolist() == [1.0, 2.0]
    assert torch.from_dlpack(x).data_ptr() == x.data_ptr(), "it stays within this library"
    assert torch.from_dlpack(x, device="cpu").device.type == "cpu"
    with pytest.raises(ArgumentError, match="from_dlpack: .*copy is False"):
        torch.from_dlpack(x, device="cuda:0", copy=False)


def test_pinned_memory_is_the_host_s(gpus):
    x = torch.ones(2).pin_memory()
    assert x.__dlpack_device__() == (1, 0)  # PyTorch refuses the type that DLPack has for pinned memory
    array = np.from_dlpack(x)
    x[0] = 4
    assert array.tolist() == [4, 1] and torch.from_dlpack(array).tolist() == [4, 1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool, torch.int64])
def test_device_memory_of_others_is_shared(gpus, dtype):
    theirs = Foreign([[0, 1, 1], [1, 0, 1]], dtype=dtype)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        ours = torch.from_dlpack(theirs)
        assert ours.device == torch.device("cuda:0") and ours.dtype is dtype
        assert ours.data_ptr() == theirs.tensor.data_ptr()
        assert ours.tolist() == [[0, 1, 1], [1, 0, 1]]
    assert theirs.asked == [(side.cuda_stream, (1, 0))]
    torch.cuda.synchronize()
    assert torch.from_dlpack(theirs).cpu().tolist() == [[0, 1, 1], [1, 0, 1]] and theirs.asked[-1][0] == 1


def test_foreign_memory_lives_as_long_as_its_tensors(gpus):
    theirs = Foreign([1.0, 2.0])
    torch.cuda.synchronize()
    memory = weakref.ref(theirs.tensor._storage)
    shared = torch.from_dlpack(theirs)[1:]
    described = torch.as_tensor(theirs)
    del theirs
    gc.collect()
    assert memory() is not None and shared.tolist() == described[1:].tolist() == [2.0]
    del shared
    gc.collect()
    assert memory() is not None
    del described
    gc.collect()
    assert memory() is None


def test_a_consumer_s_stream_follows_the_tensor_s(gpus):
    side, theirs = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(side):
        x = torch.zeros(1000, device="cuda")
        x.fill_(3)
        foreign.let_follow(x, theirs.cuda_stream)
    with torch.cuda.stream(theirs):
        assert (x * 2).sum().item() == 6000
        result = x * 3
    del x  # its memory waits for their stream
    with torch.cuda.stream(side):
        x = torch.zeros(1000, device="cuda")
    with torch.cuda.stream(theirs):
        assert result.sum().item() == 9000
    for default in (None, 1):
        with torch.cuda.stream(side):
            x.fill_(4)
            foreign.let_follow(x, default)
        assert x.sum().item() == 4000
    with pytest.raises(ValueRangeError, match="stream 0"):
        foreign.let_follow(x, 0)


def test_a_capture_is_not_broken_by_the_default_order(gpus):
    x = torch.zeros(2, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1)
        foreign.let_follow(x, None)
    graph.replay()
    assert x.tolist() == [1, 1]


@pytest.mark.skipif(ON_HARDWARE, reason="of virtual GPUs")
def test_memory_of_a_real_gpu_is_refused(gpus):
    theirs = Exporter(np.ones(2, np.float32), device=(2, 0))
    theirs.array = Capsules(theirs.array)
    with pytest.raises(BufferError, match="from_dlpack: address 0x.*real GPU.*\nhint: .*cpu"):
        torch.from_dlpack(theirs)
    assert torch.from_dlpack(theirs, device="cpu").tolist() == [1, 1]
    assert theirs.asked[-1]["dl_device"] == (1, 0)


class Capsules:
    """An array whose capsules say that its memory is on GPU 0, unless the CPU is asked for."""

    def __init__(self, array):
        self.array = torch.from_numpy(array)
        self.count = 0

    def __dlpack__(self, **options):
        self.count += 1
        device = (2, 0) if self.count == 1 else (1, 0)
        return foreign.capsule_of(self.array, device, True, False)


# the CUDA array interface


def test_the_cuda_array_interface_describes_the_tensor(gpus):
    x = torch.zeros(2, 3, dtype=torch.float64, device="cuda").t()
    found = x.__cuda_array_interface__
    assert found["shape"] == (3, 2) and found["strides"] == (8, 24) and found["typestr"] == "<f8"
    assert found["data"] == (x.data_ptr(), False) and found["version"] == 3
    assert found["stream"] == 1
    assert torch.zeros(2, device="cuda").__cuda_array_interface__["strides"] is None
    assert not hasattr(torch.ones(1), "__cuda_array_interface__")


@pytest.mark.parametrize("share", [torch.as_tensor, torch.asarray])
def test_objects_with_the_interface_are_shared(gpus, share):
    theirs = Foreign([[1.0, 2.0], [3.0, 4.0]])
    ours = share(theirs)
    theirs.write(7)
    torch.cuda.synchronize()
    assert ours.device == torch.device("cuda:0") and ours.tolist() == [[7, 7], [7, 7]]
    view = share(Described(theirs.tensor.t()[1:]))
    assert view.stride() == (1, 2) and view.tolist() == [[7, 7]]
    assert share(theirs, dtype=torch.int32).dtype is torch.int32 and share(theirs, device="cpu").tolist()[0] == [7, 7]
    copied = torch.tensor(theirs)
    theirs.stream.wait_stream(torch.cuda.current_stream())
    theirs.write(0)
    torch.cuda.synchronize()
    assert copied.tolist() == [[7, 7], [7, 7]] and ours.tolist() == [[0, 0], [0, 0]]


def test_the_current_stream_follows_the_interface_s_stream():
    with torch.testing.machine(races="error"):
        theirs = Foreign([0.0] * 1000)
        torch.cuda.synchronize()
        theirs.write(2)
        unordered = torch.as_tensor(Described(theirs.tensor, stream=None))
        with pytest.raises(RaceError):
            unordered.sum()
        assert torch.as_tensor(theirs).sum().item() == 2000
        del theirs, unordered


def test_what_the_interface_cannot_say(gpus):
    theirs = Foreign([1.0, 2.0])
    torch.cuda.synchronize()
    read_only = Described(theirs.tensor, data=(theirs.tensor.data_ptr(), True))
    assert torch.as_tensor(read_only).data_ptr() != theirs.tensor.data_ptr()
    assert torch.as_tensor(Described(theirs.tensor, shape=(0,), data=(0, False))).shape == (0,)
    for changes, text in (
        ({"mask": theirs}, "mask"),
        ({"typestr": "<c8"}, "<c8"),
        ({"data": (4096, False)}, "0x1000"),
    ):
        with pytest.raises(BufferError, match=f"as_tensor: .*{text}"):
            torch.as_tensor(Described(theirs.tensor, **changes))
    with pytest.raises(ArgumentError, match=r"as_tensor: strides of \(6,\) bytes"):
        torch.as_tensor(Described(theirs.tensor, strides=(6,)))


# streams


def test_streams_of_other_libraries_are_taken_everywhere(gpus):
    own = torch.cuda.Stream()
    theirs = TheirStream(own.cuda_stream)
    with torch.cuda.stream(theirs):
        assert torch.cuda.current_stream() == own
        x = torch.ones(10, device="cuda")
        event = torch.cuda.Event()
        event.record(theirs)
    assert torch.cuda.Stream(theirs) == own == torch.cuda.ExternalStream(theirs)
    torch.cuda.current_stream().wait_stream(theirs)
    x.record_stream(theirs)
    assert x.sum().item() == 10
    torch.cuda.set_stream(theirs)
    assert torch.cuda.current_stream() == own
    torch.cuda.set_stream(torch.cuda.default_stream())


def test_the_owner_of_a_stream_is_kept(gpus):
    theirs = TheirStream(torch.cuda.Stream().cuda_stream)
    owner = weakref.ref(theirs)
    stream = torch.cuda.ExternalStream(theirs)
    del theirs
    gc.collect()
    assert owner() is not None and stream.cuda_stream == owner().raw
