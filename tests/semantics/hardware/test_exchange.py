"""Exchange with CuPy, Numba and PyTorch in one process, on a real GPU: no copy, and no race in either direction."""

import pytest

import flambeau as torch

STREAMS = []  # that have to outlive the memory which was used on them

pytestmark = [pytest.mark.gpu, pytest.mark.full]
COUNT, ROUNDS = 1 << 22, 20  # enough that an unordered read would come too early


@pytest.fixture
def cupy(gpus):
    found = pytest.importorskip("cupy")
    found.cuda.Device(0).use()
    assert float(found.ones(4, dtype="float32").sum()) == 4  # loads what would wait for a held stream
    return found


@pytest.fixture
def pytorch(gpus):
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return found


def test_cupy_reads_our_memory_in_order(cupy, busy):
    side, theirs = torch.cuda.Stream(), cupy.cuda.Stream(non_blocking=True)
    for value in range(ROUNDS):
        with torch.cuda.stream(side):
            x = torch.zeros(COUNT, device="cuda")
            busy()
            x.fill_(value)
            with theirs:
                array = cupy.from_dlpack(x)
                assert array.data.ptr == x.data_ptr()
                total = float(array.sum())
        assert total == value * COUNT


def test_we_read_cupy_s_memory_in_order(cupy, busy):
    side, theirs = torch.cuda.Stream(), cupy.cuda.Stream(non_blocking=True)
    for value in range(ROUNDS):
        with theirs:
            array = cupy.zeros(COUNT, dtype="float32")
            busy(torch.cuda.ExternalStream(theirs.ptr))
            array.fill(value)
            for read in (torch.from_dlpack, torch.as_tensor):
                with torch.cuda.stream(side):
                    x = read(array)
                    assert x.data_ptr() == array.data.ptr and x.sum().item() == value * COUNT


def test_streams_of_cupy_are_taken(cupy):
    theirs = cupy.cuda.Stream(non_blocking=True)
    STREAMS.append(theirs)
    with torch.cuda.stream(torch.cuda.ExternalStream(theirs.ptr)):
        x = torch.ones(COUNT, device="cuda")
        with theirs:
            assert float(cupy.from_dlpack(x).sum()) == COUNT


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int64", "bool"])
def test_pytorch_and_flambeau_share_memory(pytorch, dtype):
    ours = torch.ones(4, 6, device="cuda").to(getattr(torch, dtype)).t()
    theirs = pytorch.from_dlpack(ours)
    assert theirs.data_ptr() == ours.data_ptr() and theirs.stride() == ours.stride()
    assert str(theirs.dtype) == f"torch.{dtype}" and theirs.float().sum().item() == 24
    back = torch.from_dlpack(theirs[1:])
    back.zero_()
    torch.cuda.synchronize()
    assert back.data_ptr() == theirs[1:].data_ptr() and theirs.float().sum().item() == 4
    assert pytorch.from_dlpack(torch.ones(2).pin_memory()).tolist() == [1, 1]


def test_pytorch_s_work_is_followed(pytorch, busy):
    side, theirs = torch.cuda.Stream(), pytorch.cuda.Stream()
    for value in range(ROUNDS):
        with pytorch.cuda.stream(theirs):
            source = pytorch.zeros(COUNT, device="cuda")
            busy(theirs)
            source.fill_(value)
            with torch.cuda.stream(side):
                assert torch.from_dlpack(source).sum().item() == value * COUNT
        with torch.cuda.stream(side):
            x = torch.zeros(COUNT, device="cuda")
            busy()
            x.fill_(value)
            with pytorch.cuda.stream(theirs):
                assert pytorch.from_dlpack(x).sum().item() == value * COUNT


@pytest.mark.filterwarnings("ignore:.*Grid size", "ignore:.*unit for NumPy timedelta")
def test_numba_reads_and_writes_our_memory(gpus):
    pytest.importorskip("numba")
    try:
        from numba import cuda
    except AttributeError as error:  # of NumPy, which is newer than what Numba knows
        pytest.skip(f"Numba fails with this NumPy: {error}")

    @cuda.jit
    def add_one(array):
        at = cuda.grid(1)
        if at < array.size:
            array[at] += 1

    x = torch.zeros(1000, device="cuda")
    try:
        add_one[8, 128](cuda.as_cuda_array(x))
    except AttributeError as error:  # as above: Numba imports parts of itself at a first launch
        pytest.skip(f"Numba fails with this NumPy: {error}")
    cuda.synchronize()
    assert x.sum().item() == 1000
    array = cuda.to_device([1.0, 2.0])
    shared = torch.as_tensor(array)
    shared.mul_(2)
    torch.cuda.synchronize()
    assert array.copy_to_host().tolist() == [2.0, 4.0]
