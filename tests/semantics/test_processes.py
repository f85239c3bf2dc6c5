"""1.15 Fork, and 1.19 environment variables: what a process inherits."""

import re

import pytest

FORK = """
def in_child(use):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = json.dumps(attempt(use))
        except BaseException as error:
            text = json.dumps(repr(error))
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    found = json.loads(os.read(reader, 65536))
    os.waitpid(child, 0)
    return found

"""


@pytest.fixture
def forking(program):
    return lambda source, **environment: program(FORK + source, **environment)


REFUSED = "RuntimeError: Cannot re-initialize CUDA in forked subprocess"


@pytest.mark.rule("1.15.1", since="1.0")
def test_a_child_forked_after_the_start_cannot_use_cuda(forking):
    found = forking("""
x = torch.ones(3, device="cuda")
answer(in_child(lambda: torch.ones(1, device="cuda").tolist()))
answer(in_child(lambda: torch.cuda.init()))
answer(in_child(lambda: torch.cuda.synchronize()))
answer((x + 1).tolist())
""")
    assert [each[: len(REFUSED)] for each in found[:3]] == [REFUSED] * 3 and found[3] == [2.0] * 3


@pytest.mark.rule("1.15.1", since="1.0", differs="neither the process nor the place is named")
def test_the_child_is_told_who_started_cuda_and_where(forking):
    (text,) = forking("""
torch.cuda.init()
answer(in_child(lambda: torch.ones(1, device="cuda").tolist()))
""")
    assert re.search(r"process \d+ had started CUDA, at <program>:\d+", text)


@pytest.mark.rule("1.15.1", since="1.0")
def test_tensors_of_the_parent_are_of_no_use_in_the_child(forking):
    found = forking("""
x = torch.ones(3, device="cuda")
answer(in_child(lambda: (x + 1).tolist()))
answer(in_child(lambda: x.cpu().tolist()))
answer(x.tolist())
""")
    assert found[0].startswith("RuntimeError") and found[1].startswith("RuntimeError") and found[2] == [1.0] * 3


@pytest.mark.rule("1.15.1", since="1.0")
def test_in_such_a_child_nothing_counts_as_started_and_the_cpu_works(forking):
    found = forking("""
torch.cuda.init()
def use():
    torch.manual_seed(3)
    torch.cuda.manual_seed_all(3)
    return [torch.cuda.is_initialized(), (torch.ones(2) + 1).tolist(), torch.cuda.memory_allocated()]
answer(in_child(use))
""")
    assert found == [[False, [2.0, 2.0], 0]]


STARTS = (
    "torch.cuda.init()",
    "torch.empty(0, device='cuda')",
    "torch.ones(1).cuda()",
    "torch.cuda.current_stream()",
    "torch.cuda.synchronize()",
    "torch.cuda.get_device_name()",
    "torch.cuda.get_rng_state()",
)


@pytest.mark.rule("1.15.2", since="1.0")
@pytest.mark.parametrize("start", STARTS)
def test_whatever_starts_cuda_keeps_later_children_from_it(forking, start):
    found = forking(f"""
answer([in_child(lambda: torch.full((1,), 2.0, device="cuda").item()), torch.cuda.is_initialized()])
{start}
answer([in_child(lambda: torch.ones(1, device="cuda").tolist())[:{len(REFUSED)}], torch.cuda.is_initialized()])
""")
    assert found == [[2.0, False], [REFUSED, True]]


@pytest.mark.rule("1.15.3", since="1.0")
def test_importing_counting_and_cpu_work_leave_children_free(forking):
    found = forking("""
torch.manual_seed(1)
answer([(torch.ones(2) + 1).tolist(), torch.ones(1).is_pinned(), torch.cuda.is_initialized()])
answer(in_child(lambda: torch.ones(2, device="cuda").tolist()))
answer(in_child(lambda: torch.full((1,), 2.0, device="cuda").item()))
""")
    assert found == [[[2.0, 2.0], False, False], [1.0, 1.0], 2.0]


@pytest.mark.rule("1.15.3", since="2.6")
def test_naming_the_accelerator_leaves_children_free(forking):
    found = forking("""
answer(str(torch.accelerator.current_accelerator()))
answer(in_child(lambda: torch.ones(2, device="cuda").tolist()))
""")
    assert found == ["cuda", [1.0, 1.0]]


@pytest.mark.rule("1.15.3", since="1.13")
def test_counting_devices_leaves_children_free(forking):
    found = forking("""
answer(torch.cuda.device_count() >= 1)
answer(in_child(lambda: torch.ones(2, device="cuda").tolist()))
""")
    assert found == [True, [1.0, 1.0]]


@pytest.mark.rule("1.15.3", since="1.0", differs="asking whether CUDA is available starts the driver")
def test_asking_whether_there_is_a_gpu_leaves_children_free(forking):
    found = forking("""
answer(torch.cuda.is_available())
answer(in_child(lambda: torch.ones(2, device="cuda").tolist()))
""")
    assert found == [True, [1.0, 1.0]]


@pytest.mark.rule("1.15.3", since="2.0")
@pytest.mark.rule("1.19.4", since="2.0")
def test_a_variable_has_availability_found_out_without_a_start(forking):
    found = forking(
        """
answer([torch.cuda.is_available(), torch.cuda.is_initialized()])
answer(in_child(lambda: torch.ones(2, device="cuda").tolist()))
""",
        PYTORCH_NVML_BASED_CUDA_CHECK="1",
    )
    assert found == [[True, False], [1.0, 1.0]]


@pytest.mark.rule("1.15.4", since="1.0")
def test_a_spawned_process_starts_afresh(program, tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text("""
def child(queue, name):
    import importlib
    torch = importlib.import_module(name)
    queue.put((torch.cuda.is_initialized(), torch.ones(2, device="cuda").tolist()))
""")
    found = program(f"""
import multiprocessing, sys
sys.path.insert(0, {str(tmp_path)!r})
os.environ["PYTHONPATH"] = os.pathsep.join([{str(tmp_path)!r}, os.environ["PYTHONPATH"]])
import spawned
torch.ones(1, device="cuda")
context = multiprocessing.get_context("spawn")
queue = context.Queue()
process = context.Process(target=spawned.child, args=(queue, torch.__name__))
process.start()
answer(queue.get(timeout=200))
process.join()
answer(process.exitcode)
""")
    assert found == [[False, [1.0, 1.0]], 0]


@pytest.mark.rule("1.19.1", since="1.0")
def test_variables_of_the_driver_are_read_at_the_start(program):
    found = program("""
os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
torch.cuda.init()
busy()
answer(torch.cuda.current_stream().query())
""")
    assert found == [True]


@pytest.mark.rule("1.19.2", since="1.10")
def test_the_allocator_reads_its_settings_once(program):
    found = program(
        """
x = torch.empty(4_400_000, dtype=torch.uint8, device="cuda")
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = ""
y = torch.empty(4_400_000, dtype=torch.uint8, device="cuda")
answer(torch.cuda.memory_allocated())
""",
        PYTORCH_CUDA_ALLOC_CONF="roundup_power2_divisions:4",
    )
    assert found == [10 << 20]


RACE = """
x = torch.zeros(4, device="cuda")
side = torch.cuda.Stream()
torch.cuda.synchronize()
def add_on_two_streams(ordered):
    x.add_(1)
    if ordered:
        side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x.add_(1)
    torch.cuda.synchronize()
    return "done"
answer(attempt(lambda: add_on_two_streams(True)))
answer(attempt(lambda: add_on_two_streams(False)) == "done")
"""


@pytest.mark.rule("1.19.4", since="1.13", lacks_on_nvidia="races are found on virtual GPUs")
def test_races_between_streams_are_errors_if_the_environment_says_so(program):
    assert program(RACE, TORCH_CUDA_SANITIZER="1") == ["done", False]


@pytest.mark.rule("1.19.4", since="1.13")
def test_without_it_they_are_not(program):
    assert program(RACE) == ["done", True]


@pytest.mark.rule("1.19.5", since="2.3")
@pytest.mark.parametrize(
    ("name", "variable", "library"),
    [
        ("preferred_blas_library", "TORCH_BLAS_PREFER_CUBLASLT", "cublaslt"),
        ("preferred_linalg_library", "TORCH_LINALG_PREFER_CUSOLVER", "cusolver"),
    ],
)
def test_a_library_may_be_preferred_from_outside(program, name, variable, library):
    source = f"prefer = getattr(torch.backends.cuda, {name!r})\nanswer(prefer() == prefer({library!r}))"
    assert [program(source, **{variable: value}) for value in ("1", None)] == [[True], [False]]


@pytest.mark.rule("1.19.5", since="1.12")
@pytest.mark.devices(0)
def test_tf32_may_be_allowed_from_outside(program):
    source = "answer(torch.backends.cuda.matmul.allow_tf32)"
    assert program(source, TORCH_ALLOW_TF32_CUBLAS_OVERRIDE="1") == [True]


COMPILED = """
from flambeau.driver.nvidia.compile import compile_cubin
from flambeau.kernel import Kernel
source = 'extern "C" __global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }'
answer(len(compile_cubin(Kernel("fill", source, (), None), "sm_90")) > 0)
"""


@pytest.fixture
def places(tmp_path):
    """Three directories, and how many compiled kernels are in each."""
    pytest.importorskip("cuda.bindings.nvrtc")
    found = [tmp_path / name for name in ("ours", "named", "xdg")]
    return found, lambda: [len(list(each.rglob("*.cubin"))) for each in found]


@pytest.mark.rule("1.19.7", since="1.8")
@pytest.mark.virtual("PyTorch compiles other kernels; none is compiled for virtual GPUs, and no GPU is needed")
def test_compiled_kernels_are_kept_where_the_environment_says(program, places):
    (ours, named, xdg), kept = places
    program(COMPILED, XDG_CACHE_HOME=str(xdg), USE_PYTORCH_KERNEL_CACHE="0")
    assert kept() == [0, 0, 0]
    program(COMPILED, XDG_CACHE_HOME=str(xdg))
    assert kept() == [0, 0, 1] and (xdg / "flambeau").is_dir()
    program(COMPILED, XDG_CACHE_HOME=str(xdg), PYTORCH_KERNEL_CACHE_PATH=str(named))
    assert kept() == [0, 1, 1]
    program(COMPILED, PYTORCH_KERNEL_CACHE_PATH=str(named), FLAMBEAU_CACHE=str(ours))
    assert kept() == [1, 1, 1]
