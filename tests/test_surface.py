"""The public surface: every `__all__` is true, and the names that a PyTorch program uses are there."""

import ast
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
import typing
from pathlib import Path
from types import ModuleType

import pytest

import flambeau
from flambeau.import_paths import OTHERS, ROWS
from flambeau.importer import submodules
from flambeau.tensor.operators import INTERNAL
from scripts.write_stubs import PACKAGE

ROOT = Path(__file__).parents[1]
CUDA_MODULES = ("comm", "graphs", "green_contexts", "memory", "nvtx", "profiler", "random", "streams")
ALSO_IN_CUDA = ("graphs", "green_contexts", "memory", "random", "streams")
SHELLS = (
    "flambeau",
    "flambeau.cuda",
    *(f"flambeau.cuda.{name}" for name in CUDA_MODULES),
    "flambeau.cuda.nccl",  # whose is_available is another one
    "flambeau.func",
    "flambeau.linalg",
    "flambeau.overrides",
    "flambeau.profiler",
    "flambeau.special",
    "flambeau.utils.checkpoint",
    "flambeau.utils.data",
    "flambeau.utils.hooks",
)
FILES = [each.name for each in pkgutil.walk_packages(flambeau.__path__, "flambeau.")]
MODULES = sorted(name for name in (*FILES, *(f"flambeau.{row}" for row in ROWS)) if not name.endswith("__main__"))

NAMES = {
    "flambeau": """
        Tensor Size device dtype Generator Stream Event
        tensor as_tensor from_numpy empty zeros ones full arange linspace
        eye rand randn randint randperm empty_like zeros_like ones_like full_like rand_like randn_like
        bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 half float double long int short
        FloatTensor DoubleTensor HalfTensor ByteTensor LongTensor IntTensor BoolTensor
        add sub mul div matmul mm bmm exp log sqrt tanh sigmoid relu sum mean max min argmax argmin softmax log_softmax
        cat stack where clamp maximum minimum gather nonzero is_tensor equal allclose
        no_grad enable_grad set_grad_enabled is_grad_enabled manual_seed save load virtual __version__
        OutOfMemoryError AcceleratorError
        autograd cuda nn optim utils
    """,
    "flambeau.cuda": """
        is_available device_count current_device set_device device device_of synchronize init is_initialized
        get_device_name get_device_properties get_device_capability can_device_access_peer
        Stream Event ExternalStream stream current_stream default_stream set_stream
        memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_stats memory_summary
        memory_snapshot empty_cache mem_get_info reset_peak_memory_stats set_per_process_memory_fraction
        caching_allocator_alloc caching_allocator_delete manual_seed manual_seed_all get_rng_state set_rng_state
        FloatTensor HalfTensor LongTensor OutOfMemoryError
        CUDAGraph graph graph_pool_handle is_current_stream_capturing make_graphed_callables
        utilization memory_usage temperature power_draw clock_rate device_memory_used list_gpu_processes
        get_arch_list get_gencode_flags check_error CudaError DeferredCudaCallError comm memory nvtx profiler streams
    """,
    "flambeau.cuda.comm": "broadcast broadcast_coalesced reduce_add reduce_add_coalesced scatter gather",
    "flambeau.cuda.memory": """
        memory_stats memory_summary memory_snapshot memory_allocated empty_cache mem_get_info list_gpu_processes
        caching_allocator_alloc caching_allocator_delete memory_stats_as_nested_dict get_allocator_backend
    """,
    "flambeau.cuda.graphs": """
        CUDAGraph graph graph_pool_handle is_current_stream_capturing make_graphed_callables
    """,
    "flambeau.cuda.green_contexts": "GreenContext",
    "flambeau.cuda.random": """
        get_rng_state get_rng_state_all set_rng_state set_rng_state_all manual_seed manual_seed_all seed seed_all
        initial_seed
    """,
    "flambeau.cuda.nvtx": "mark range_push range_pop range_start range_end range",
    "flambeau.cuda.nccl": "all_reduce reduce broadcast all_gather reduce_scatter version unique_id is_available",
    "flambeau.cuda.profiler": "start stop profile",
    "flambeau.cuda.streams": "Stream Event ExternalStream",
    "flambeau.nn": """
        Module Parameter Sequential ModuleList ModuleDict Linear Embedding LayerNorm Dropout Flatten Identity
        ReLU GELU Tanh Sigmoid Softmax MSELoss CrossEntropyLoss NLLLoss DataParallel functional init utils parallel
    """,
    "flambeau.nn.functional": """
        relu gelu softmax log_softmax linear layer_norm dropout embedding cross_entropy mse_loss
    """,
    "flambeau.optim": "Optimizer SGD Adam AdamW lr_scheduler",
    "flambeau.utils.data": """
        Dataset IterableDataset TensorDataset Subset random_split DataLoader Sampler RandomSampler SequentialSampler
        BatchSampler default_collate
    """,
    "flambeau.autograd": """
        Function Variable backward grad no_grad enable_grad inference_mode set_grad_enabled set_multithreading_enabled
        detect_anomaly set_detect_anomaly function graph grad_mode gradcheck gradgradcheck
    """,
    "flambeau.autograd.graph": """
        GradientEdge Node allow_mutation_on_saved_tensors disable_saved_tensors_hooks get_gradient_edge
        increment_version register_multi_grad_hook save_on_cpu saved_tensors_hooks
    """,
    "flambeau.utils.checkpoint": "checkpoint checkpoint_sequential set_checkpoint_early_stop CheckpointError",
    "flambeau.utils.hooks": "RemovableHandle",
    "flambeau.profiler": "profile schedule ProfilerActivity ProfilerAction record_function tensorboard_trace_handler",
    "flambeau.testing": "machine gradcheck gradgradcheck",
}


def test_every_all_is_true():
    listed = {name: getattr(importlib.import_module(name), "__all__", []) for name in ("flambeau", *MODULES)}
    assert {name: names for name, names in listed.items() if len(set(names)) != len(names)} == {}
    given = {name: importlib.import_module(name) for name in listed}
    assert [(name, each) for name, names in listed.items() for each in names if not hasattr(given[name], each)] == []


@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_lists_everything_it_gives(name):
    module = importlib.import_module(name)
    given = {
        each
        for each, value in vars(module).items()
        if not each.startswith("_") and not isinstance(value, ModuleType) and each != "annotations"
    }
    assert given - set(module.__all__) == set()


@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_a_torch_program_are_there(name):
    module = importlib.import_module(name)
    assert [each for each in NAMES[name].split() if not hasattr(module, each)] == []


@pytest.mark.parametrize("name", flambeau._SUBMODULES)
def test_submodules_load_when_they_are_named(name):
    assert getattr(flambeau, name) is importlib.import_module(f"flambeau.{name}")


@pytest.mark.parametrize("name", CUDA_MODULES)
def test_modules_of_cuda_give_what_cuda_gives(name):
    module = importlib.import_module(f"flambeau.cuda.{name}")
    assert getattr(flambeau.cuda, name) is module
    public = [each for each in module.__all__ if not each.startswith("_")]
    shared = [each for each in public if hasattr(flambeau.cuda, each)]
    assert [each for each in shared if getattr(module, each) is not getattr(flambeau.cuda, each)] == []
    assert shared == (public if name in ALSO_IN_CUDA else [])


# The submodules of each package that have no row in import_paths.py and are PyTorch's, or documented as flambeau's own.
SUBMODULES = {
    "flambeau": """
        amp array_api autograd backends cuda data distributed distributions errors fft multiprocessing nn optim parallel
        random serialization special testing types utils version
    """,
    "flambeau.amp": "autocast_mode grad_scaler",
    "flambeau.array_api": "linalg",
    "flambeau.autograd": "anomaly_mode forward_ad function functional graph",  # gradcheck is the function
    "flambeau.backends": "cudnn",
    "flambeau.distributed": "distributed_c10d",
    "flambeau.distributions": """
        bernoulli beta binomial categorical cauchy chi2 constraint_registry constraints continuous_bernoulli dirichlet
        distribution exp_family exponential fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy
        half_normal independent inverse_gamma kl kumaraswamy laplace lkj_cholesky log_normal logistic_normal
        lowrank_multivariate_normal mixture_same_family multinomial multivariate_normal negative_binomial normal
        one_hot_categorical pareto poisson relaxed_bernoulli relaxed_categorical studentT transformed_distribution
        transforms uniform utils von_mises weibull wishart
    """,
    "flambeau.multiprocessing": "reductions",  # spawn is the function
    "flambeau.nn": "attention common_types functional grad init modules parallel parameter utils",
    "flambeau.nn.attention": "flex_attention",
    "flambeau.nn.modules": """
        activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy
        linear linear_cross_entropy_options loss module normalization padding pixelshuffle pooling rnn sparse
        transformer upsampling utils
    """,
    "flambeau.nn.parallel": "scatter_gather",  # the others are functions
    "flambeau.nn.utils": """
        clip_grad convert_parameters fusion init memory_format parametrizations parametrize prune rnn stateless
    """,  # spectral_norm and weight_norm are functions
    "flambeau.optim": """
        adadelta adafactor adagrad adam adamax adamw asgd lbfgs lr_scheduler nadam optimizer radam rmsprop rprop sgd
        swa_utils
    """,
    "flambeau.parallel": "comm",
    "flambeau.utils": "data",
}
LISTS_ALL = ("flambeau.errors", "flambeau.parallel.comm")  # own modules, which say nothing of what they export


def shown_modules(name: str = "flambeau") -> list[str]:
    """A module and all below it that dir() shows."""
    found = [name]
    for each in sorted(submodules_of(name)):
        found += shown_modules(f"{name}.{each}")
    return [each for each in found if each not in LISTS_ALL]


def submodules_of(name: str) -> set[str]:
    """The submodules of a package that completion shows: those of the table, and rows with public names."""
    rows = {each for each in submodules(name) if not each.startswith("_")}
    return {*SUBMODULES.get(name, "").split(), *rows}


@pytest.mark.parametrize("name", shown_modules())
def test_dir_shows_the_public_interface_alone(name):
    module = importlib.import_module(name)
    row = ROWS.get(name.removeprefix("flambeau."))
    shown = {each for each in dir(module) if not each.startswith("__")}
    values = {each: getattr(module, each) for each in shown}
    private = {each for each in shown if each.startswith("_")}
    named = {each for each, value in values.items() if isinstance(value, ModuleType)} - private
    if name == "flambeau.distributed.distributed_c10d":  # it has the names of its package
        named -= {"algorithms", "constants"}
    assert named == submodules_of(name)
    assert [each for each in named if importlib.import_module(f"{name}.{each}") is not values[each]] == []
    assert {*module.__all__, "__name__", "__all__"} <= set(dir(module))
    if row is None:  # a row lists PyTorch's names alone, some of which are private or come from typing
        assert private == set() and "annotations" not in shown
        assert [each for each, value in values.items() if value is getattr(typing, each, module)] == []


def test_what_dir_does_not_show_is_there():
    hidden = {"flambeau": "_submodule", "flambeau.nn": "recurrent_loops", "flambeau.utils": "_submodule"}
    for name, each in hidden.items():
        module = importlib.import_module(name)
        assert hasattr(module, each) and each not in dir(module)


def test_dir_of_a_new_process_names_what_is_there():
    """In this one, other tests have imported submodules."""
    program = (
        "import flambeau\n"
        f"for name in {shown_modules()!r}:\n"
        "    module = flambeau\n"
        "    for part in name.split('.')[1:]:\n"
        "        module = getattr(module, part)\n"
        "    print([name for each in dir(module) if not hasattr(module, each)] or '', end='')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_tensors_do_not_show_the_library_s_own_attributes():
    x = flambeau.ones(2)
    assert all(hasattr(x, name) for name in INTERNAL)
    assert INTERNAL & {*dir(x), *dir(flambeau.Tensor), *dir(flambeau.nn.Parameter(x))} == set()


@pytest.mark.parametrize("name", ["arange_", "maximum_", "minimum_", "randperm_", "silu_"])
def test_tensors_have_no_method_that_pytorch_does_not_have(name):
    assert not hasattr(flambeau.Tensor, name) and not hasattr(flambeau.ones(2), name)


def recorded(module: str) -> set[str]:
    """The public names of a module of PyTorch's, without modules."""
    return set(json.loads((ROOT / "tests" / "oracle" / "pytorch_names.json").read_text())[module])


OWN_FUNCTIONS = {"explain", "profile", "statistics", "virtual"}  # of flambeau, which PyTorch does not have


def test_the_functions_of_the_package_are_pytorchs():
    given = {name for name in dir(flambeau) if not name.startswith("__")}
    functions = {name for name in given if not isinstance(getattr(flambeau, name), ModuleType)}
    assert len(recorded("torch")) > 900 and functions - recorded("torch") == OWN_FUNCTIONS


def test_special_is_whole():
    given = recorded("special")
    offered = set(flambeau.special.__all__)
    assert offered <= given and given - offered == {"logsumexp"} - set(dir(flambeau))  # there if the package has it


def test_methods_that_write_their_tensor_are_functions_where_pytorch_has_them():
    written = [name for name in recorded("torch") if name.endswith("_") and hasattr(flambeau.Tensor, name)]
    assert len(written) > 50 and [name for name in written if not hasattr(flambeau, name)] == []


@pytest.mark.full
def test_public_methods_of_tensors_are_pytorchs():
    torch = pytest.importorskip("torch")
    own = {"to_device", "wait"}  # of the array API; of a tensor that a stream is still writing
    assert {name for name in dir(flambeau.Tensor) if not name.startswith("_")} - set(dir(torch.Tensor)) == own


def test_the_stubs_are_fresh():
    """scripts/stubs writes them anew."""
    # in a process of its own: tests of the guide add operators to this one
    done = subprocess.run([ROOT / "scripts" / "stubs", "--check"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_stubs_define_what_there_is():
    code = "import flambeau, json; print(json.dumps([dir(flambeau.Tensor), dir(flambeau)]))"
    environment = {**os.environ, "FLAMBEAU_PURE": "1", "PYTHONPATH": str(ROOT / "src")}
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment).stdout
    of_tensor, of_package = json.loads(printed)
    members = re.findall(r"^    def ([a-z]\w*)", (PACKAGE / "tensor" / "tensor.pyi").read_text(), re.MULTILINE)
    shown = {name for name in of_tensor if not name.startswith("_")}
    assert shown - {"H", "T"} == set(members) & shown == set(members)
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
    given = {name for node in tree.body for name in names_of(node)} | set(OTHERS)
    assert set(of_package) - given == {name for name in of_package if name.startswith("__")} - {"__version__"}


def names_of(node: ast.stmt) -> list[str]:
    """The public names that a statement of a stub defines."""
    if isinstance(node, ast.ImportFrom):
        return [each.asname for each in node.names if each.asname is not None]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []


def test_the_typed_programs_run():
    """mypy and pyright check their types (scripts/check)."""
    command = [sys.executable, "-W", "error", ROOT / "tests" / "typing_example.py"]
    environment = {**os.environ, "FLAMBEAU_PURE": "1", "PYTHONPATH": str(ROOT / "src"), "FLAMBEAU_GPUS": "virtual:2"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0 and done.stdout.endswith("streams\n"), done.stderr


def test_the_version_has_one_place_and_an_entry_in_the_changelog():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "flambeau.__version__"}
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert next(each for each in headings if each != "Unreleased") == flambeau.__version__


def test_public_names_have_docstrings():
    """FloatTensor and its kin, 20 classes made alike, are described where they are made."""
    missing = [
        f"{name}.{each}"
        for name in SHELLS
        for each in importlib.import_module(name).__all__
        if not each.endswith("Tensor")
        if callable(value := getattr(importlib.import_module(name), each)) and not (value.__doc__ or "").strip()
    ]
    assert missing == []


def test_docs_name_only_what_there_is():
    """Every `flambeau.x.y` in the documentation exists."""
    texts = [
        ROOT / "README.md",
        ROOT / "ARCHITECTURE.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]
    wrong = []
    for path in texts:
        for dotted in set(re.findall(r"`flambeau\.([a-z_]+(?:\.[A-Za-z_]+)*)", path.read_text())):
            if not exists(dotted):
                wrong.append(f"{path.name}: flambeau.{dotted}")
    assert wrong == []


def exists(dotted: str) -> bool:
    found: object = flambeau
    at = "flambeau"
    for part in dotted.split("."):
        at = f"{at}.{part}"
        if not hasattr(found, part):
            try:
                importlib.import_module(at)
            except ImportError:
                return False
        found = getattr(found, part)
    return True


def test_no_module_of_the_library_stands_where_pytorch_has_something_else():
    assert importlib.import_module("flambeau.ops") and not isinstance(getattr(flambeau, "ops", None), ModuleType)
    assert isinstance(flambeau.layout, type) and isinstance(flambeau.strided, flambeau.layout)


def test_hints_name_what_exists():
    source = Path(flambeau.__file__).parent
    hints = [
        (path, part.value)
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.keyword) and node.arg == "hint"
        for part in ast.walk(node.value)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    named = [(path, name) for path, text in hints for name in re.findall(r"\btorch\.([A-Za-z_][\w.]*\w)", text)]
    assert len(named) > 50 and [(path, name) for path, name in named if not exists(name)] == []


@pytest.mark.parametrize("name", ["flambeau.AliasDb", "flambeau.cuda.jiterator"])
def test_a_name_that_is_missing_is_told_with_where_to_look(name):
    module, _, missing = name.rpartition(".")
    with pytest.raises(
        AttributeError, match=f"^module '{module}' has no attribute '{missing}'\nhint: .*differences.md"
    ):
        getattr(importlib.import_module(module), missing)
    assert not hasattr(flambeau, "__wrapped__")
