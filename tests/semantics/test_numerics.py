"""1.11 Numerics switches: what they are called, what they hold, and what they do to products.  1.12 Libraries."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest


@pytest.fixture
def backends(torch):
    """torch.backends with everything as it is in a new process."""

    def as_new():
        found = torch.backends
        for each in (found, found.cudnn, found.cuda.matmul):
            each.fp32_precision = "none"
        torch.set_float32_matmul_precision("highest")
        found.cudnn.allow_tf32 = True
        for name in ("fp16", "bf16"):
            setattr(found.cuda.matmul, f"allow_{name}_reduced_precision_reduction", True)
        return found

    as_new()
    yield torch.backends
    as_new()


pytestmark = pytest.mark.devices(0)


@pytest.mark.rule("1.11.1", since="2.9")
def test_a_precision_that_is_not_set_is_its_parents(program):
    found = program("""
generic = torch.backends
places = (generic, generic.cudnn, generic.cuda.matmul)
def set_and_show(at, value):
    at.fp32_precision = value
    answer([each.fp32_precision for each in places])
set_and_show(generic, "ieee")
set_and_show(generic.cudnn, "tf32")
set_and_show(generic.cuda.matmul, "ieee")
set_and_show(generic.cudnn, "none")
set_and_show(generic, "none")
""")
    assert found == [
        ["ieee", "ieee", "ieee"],
        ["ieee", "tf32", "tf32"],
        ["ieee", "tf32", "ieee"],
        ["ieee", "ieee", "ieee"],
        ["none", "none", "ieee"],
    ]


@pytest.mark.rule("1.11.1", since="2.13")
def test_convolutions_are_tf32_until_something_is_set(program):
    found = program("""
generic = torch.backends
places = (generic, generic.cudnn, generic.cuda.matmul, generic.cudnn.conv, generic.cudnn.rnn)
def set_and_show(at, value):
    at.fp32_precision = value
    answer([each.fp32_precision for each in places])
answer([each.fp32_precision for each in places])
set_and_show(generic, "ieee")
set_and_show(generic.cudnn, "tf32")
set_and_show(generic.cudnn.rnn, "ieee")
set_and_show(generic.cudnn.rnn, "none")
set_and_show(generic.cuda.matmul, "ieee")
set_and_show(generic.cudnn, "none")
set_and_show(generic, "none")
""")
    assert found == [
        ["none", "none", "none", "tf32", "tf32"],
        ["ieee", "ieee", "ieee", "ieee", "ieee"],
        ["ieee", "tf32", "tf32", "tf32", "tf32"],
        ["ieee", "tf32", "tf32", "tf32", "ieee"],
        ["ieee", "tf32", "tf32", "tf32", "tf32"],
        ["ieee", "tf32", "ieee", "tf32", "tf32"],
        ["ieee", "ieee", "ieee", "ieee", "ieee"],
        ["none", "none", "ieee", "tf32", "none"],
    ]


@pytest.mark.rule("1.11.1", since="2.9")
def test_an_unknown_precision_is_a_runtime_error(backends):
    before = backends.fp32_precision
    with pytest.raises(RuntimeError, match="Unknown precision"):
        backends.fp32_precision = "exact"
    assert backends.fp32_precision == before


@pytest.mark.rule("1.11.2", since="1.12")
def test_products_are_exact_and_convolutions_tf32_at_first(program):
    found = program("answer([torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32])")
    assert found == [[False, True]]


@pytest.mark.rule("1.11.2", since="1.12")
def test_allow_tf32_and_the_matmul_precision_are_one_switch(torch, backends):
    backends.cuda.matmul.allow_tf32 = True
    assert torch.get_float32_matmul_precision() == "high" and backends.cuda.matmul.allow_tf32 is True
    backends.cuda.matmul.allow_tf32 = False
    assert torch.get_float32_matmul_precision() == "highest"
    torch.set_float32_matmul_precision("medium")
    assert backends.cuda.matmul.allow_tf32 is True


@pytest.mark.rule("1.11.2", since="1.12")
def test_products_and_convolutions_are_apart(backends):
    backends.cudnn.allow_tf32 = False
    backends.cuda.matmul.allow_tf32 = True
    assert backends.cudnn.allow_tf32 is False and backends.cuda.matmul.allow_tf32 is True


@pytest.mark.rule("1.11.2", since="2.9")
def test_an_older_name_says_so_where_a_newer_one_disagrees(torch, backends):
    backends.cuda.matmul.fp32_precision = "tf32"
    with pytest.raises(RuntimeError, match="mix of the legacy and new APIs"):
        backends.cuda.matmul.allow_tf32  # noqa: B018
    with pytest.raises(RuntimeError, match="mix of the legacy and new APIs"):
        torch.get_float32_matmul_precision()
    backends.cuda.matmul.allow_tf32 = True
    assert backends.cuda.matmul.allow_tf32 is True and backends.cuda.matmul.fp32_precision == "tf32"


@pytest.mark.rule("1.11.2", since="1.12")
@pytest.mark.devices(1)
def test_tf32_rounds_the_inputs_of_products_and_nothing_else_does(torch, backends):
    torch.manual_seed(1)
    a, b = torch.randn(256, 256, device="cuda"), torch.randn(256, 256, device="cuda")
    exact = a.double() @ b.double()

    def error():
        return (a @ b).double().sub(exact).abs().max().item()

    full = error()
    backends.cuda.matmul.allow_tf32 = True
    reduced = error()
    backends.cuda.matmul.allow_tf32 = False
    assert full < 1e-3 and full <= reduced < 0.5 and error() == full


@pytest.mark.rule("1.11.2", since="1.12")
@pytest.mark.devices(1)
@pytest.mark.virtual("modelled time")
def test_tf32_is_faster_where_products_are_large(torch, backends):
    a = torch.ones(256, 4096, device="cuda")

    def milliseconds():
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        a @ a.t()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    full = milliseconds()
    backends.cuda.matmul.allow_tf32 = True
    assert milliseconds() < full


@pytest.mark.rule("1.11.3", since="1.12")
@pytest.mark.parametrize(("level", "precision"), [("highest", "ieee"), ("high", "tf32"), ("medium", "tf32")])
def test_the_levels_of_matmul_precision(torch, backends, level, precision):
    torch.set_float32_matmul_precision(level)
    assert torch.get_float32_matmul_precision() == level
    assert backends.cuda.matmul.allow_tf32 is (precision == "tf32")


@pytest.mark.rule("1.11.3", since="1.12")
@pytest.mark.parametrize(("value", "level"), [("1", "high"), ("0", "highest"), (None, "highest")])
def test_the_environment_may_allow_tf32(program, value, level):
    source = "answer([torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.allow_tf32])"
    assert program(source, TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=value) == [[level, level == "high"]]


@pytest.mark.rule("1.11.4", since="1.10")
def test_sums_of_half_types_may_be_reduced_by_default(program):
    found = program("""
matmul = torch.backends.cuda.matmul
answer([matmul.allow_fp16_reduced_precision_reduction, matmul.allow_bf16_reduced_precision_reduction])
""")
    assert found == [[True, True]]


@pytest.mark.rule("1.11.4", since="2.10")
@pytest.mark.parametrize("name", ["allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction"])
def test_the_switch_is_a_bool_or_a_pair(backends, name):
    matmul = backends.cuda.matmul
    for value, pair in ((False, (False, True)), (True, (True, True)), ((False, False), (False, False))):
        setattr(matmul, name, value)
        assert (getattr(matmul, name), getattr(matmul, f"{name}_split_k")) == pair
    with pytest.raises(RuntimeError, match="is not supported"):
        setattr(matmul, name, (True, False))
    with pytest.raises(TypeError, match="expects a bool or"):
        setattr(matmul, name, "yes")
    assert getattr(matmul, name) is False


@pytest.mark.rule("1.11.5", since="2.7")
def test_sums_in_half_are_off_by_default(program):
    assert program("answer(torch.backends.cuda.matmul.allow_fp16_accumulation)") == [False]


@pytest.mark.rule("1.11.5", since="2.0")
def test_a_switch_that_there_is_not_is_an_attribute_error(backends):
    with pytest.raises(AttributeError, match="Unknown attribute"):
        backends.cuda.matmul.allow_everything = True


@pytest.mark.rule("1.11.7", since="1.0")
def test_switches_of_convolutions(program):
    found = program("""
cudnn = torch.backends.cudnn
answer([cudnn.enabled, cudnn.benchmark, cudnn.deterministic])
cudnn.benchmark, cudnn.deterministic = True, True
answer([cudnn.enabled, cudnn.benchmark, cudnn.deterministic])
""")
    assert found == [[True, False, False], [True, True, True]]


@pytest.mark.rule("1.11.6", since="2.3")
@pytest.mark.devices(1)
def test_a_library_may_be_preferred_and_an_unknown_one_is_an_error(program):
    found = program("""
prefer = torch.backends.cuda.preferred_blas_library
first = prefer()
answer([prefer("cublaslt") == prefer() != prefer("cublas"), prefer() == prefer("cublas")])
answer(attempt(lambda: prefer("by_hand"))[:38])
answer(prefer() == prefer("cublas"))
""")
    assert found[0] == [True, True] and found[1].startswith("RuntimeError") and found[2] is True


@pytest.mark.rule("1.11.6", since="1.11")
@pytest.mark.devices(1)
def test_so_may_one_for_linear_algebra(program):
    found = program("""
prefer = torch.backends.cuda.preferred_linalg_library
answer(prefer("cusolver") == prefer() != prefer("default"))
answer(attempt(lambda: prefer("by_hand")).split(":")[0])
""")
    assert found == [True, "RuntimeError"]


@pytest.mark.rule("1.11.7", since="1.0")
def test_switches_of_convolutions_for_a_block(program):
    found = program("""
cudnn = torch.backends.cudnn
with cudnn.flags(enabled=True, benchmark=True, deterministic=True, allow_tf32=False):
    answer([cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32])
answer([cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32])
""")
    assert found == [[True, True, True, False], [True, False, False, True]]


@pytest.mark.rule("1.11.7", since="1.13")
@pytest.mark.devices(1)
def test_a_benchmark_tries_ten_algorithms(program):
    assert program("answer(torch.backends.cudnn.benchmark_limit)") == [10]


@pytest.fixture
def deterministic(torch):
    yield torch.use_deterministic_algorithms
    torch.use_deterministic_algorithms(False)


@pytest.mark.rule("1.11.8", since="1.11")
def test_the_deterministic_mode_and_its_names(torch, deterministic):
    def state():
        return (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.get_deterministic_debug_mode(),
        )

    assert state() == (False, False, 0)
    deterministic(True)
    assert state() == (True, False, 2)
    deterministic(True, warn_only=True)
    assert state() == (True, True, 1)
    torch.set_deterministic_debug_mode("error")
    assert state() == (True, False, 2)
    torch.set_deterministic_debug_mode(0)
    assert state() == (False, False, 0)
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        torch.set_deterministic_debug_mode("perhaps")
    with pytest.raises(TypeError, match="must be bool"):
        deterministic("yes")
    with pytest.raises(RuntimeError, match="Unknown input value"):
        torch.backends.cuda.preferred_blas_library("mine")


@pytest.mark.rule("1.11.8", since="1.8")
@pytest.mark.devices(1)
def test_the_same_program_gives_the_same_bits(torch, deterministic):
    deterministic(True)
    torch.manual_seed(7)
    x, index = torch.randn(5000, device="cuda"), torch.randint(0, 10, (5000,), device="cuda")

    def once():
        return torch.zeros(10, device="cuda").index_add(0, index, x).tolist()

    assert once() == once() == once()


# 1.12: libraries


PRODUCT = 64 * 64 * 4  # bytes
WORKSPACES = """
answer([torch.backends.cuda.cublas_workspace_size(), torch.backends.cuda.cublaslt_workspace_size()])
a = torch.full((64, 64), 2.0, device="cuda")
torch.cuda.reset_peak_memory_stats()
before = torch.cuda.memory_allocated()
b = a @ a
answer(torch.cuda.max_memory_allocated() - before)
answer([b.min().item(), b.max().item()])
"""


@pytest.mark.rule("1.12.2", since="2.13")
@pytest.mark.rule("1.19.6", since="2.13")
@pytest.mark.devices(1)
def test_the_environment_says_how_much_memory_products_get(program):
    sizes, grown, values = program(WORKSPACES, CUBLASLT_WORKSPACE_SIZE="2048")
    assert sizes[1] == 2 << 20 and grown <= PRODUCT + (2 << 20) and values == [256.0, 256.0]


@pytest.mark.rule("1.12.2", since="2.13")
@pytest.mark.rule("1.19.6", since="2.13")
@pytest.mark.devices(1)
@pytest.mark.parametrize(("buffers", "nbytes"), [(":4096:1", 4 << 20), (":1024:2:16:8", (2 << 20) + (128 << 10))])
def test_the_older_variable_lists_buffers(program, buffers, nbytes):
    sizes, grown, values = program(WORKSPACES, CUBLAS_WORKSPACE_CONFIG=buffers)
    assert sizes[0] == nbytes and grown <= PRODUCT + nbytes and values == [256.0, 256.0]


@pytest.mark.rule("1.12.2", since="2.13")
@pytest.mark.devices(1)
@pytest.mark.parametrize("buffers", ["4096", ":4096", "many"])
def test_what_cannot_be_read_changes_nothing(program, buffers):
    usual, changed = program(WORKSPACES), program(WORKSPACES, CUBLAS_WORKSPACE_CONFIG=buffers)
    assert changed[0] == usual[0] and changed[2] == usual[2] == [256.0, 256.0]


@pytest.mark.rule("1.12.3", since="1.0")
@pytest.mark.rule("1.20.4", since="1.0")
@pytest.mark.devices(2)
@pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS")  # PyTorch's, in the first thread without a context
def test_each_thread_has_a_handle_of_cublas_per_device(torch):
    def handles():
        found = []
        for index in range(2):
            with torch.cuda.device(index):
                found.append(torch.cuda.current_blas_handle())
        return found

    mine = handles()
    with torch.cuda.stream(torch.cuda.Stream()):
        assert handles() == mine and all(isinstance(each, int) and each > 0 for each in mine)
    gate = threading.Barrier(2, timeout=60)

    def others():
        found = handles()
        gate.wait()  # while both have theirs
        return found

    with ThreadPoolExecutor(2) as threads:
        every = [each.result() for each in [threads.submit(others) for _ in range(2)]]
    assert len({*mine, *every[0], *every[1]}) == 6
