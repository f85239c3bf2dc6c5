"""Writer of docs/reference/coverage.md: each public name of PyTorch is done, planned or out of scope.

Run `scripts/coverage`.  The names are recorded in tests/oracle/pytorch_names.json.  A name is done if flambeau has it
and it is not in REFUSED, else RULES says by its text whether it is out of scope.  Nothing is called.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
NAMES = ROOT / "tests" / "oracle" / "pytorch_names.json"
PAGE = ROOT / "docs" / "reference" / "coverage.md"
MODULES = (
    "torch", "Tensor", "nn", "nn.functional", "nn.init", "nn.utils", "special", "distributions", "linalg", "fft",
    "func",
    "signal.windows", "quasirandom", "optim", "optim.lr_scheduler", "utils.data", "autograd", "amp", "cuda", "testing",
)  # fmt: skip
OF_TORCH = ("torch", "Tensor")
RULES = (  # reason, pattern of the whole name, and the modules that it is for, () for all; the first that fits decides
    (
        "sparse tensors",
        r".*(sparse|_coo|coalesce|(ccol|crow|col|row)_indices).*|to_(csr|csc|bsr|bsc)|hspmm|hsmm|dsmm|smm|spmm|sspaddmm|"
        r"saddmm|indices(_copy)?|values(_copy)?|dense_dim|to_dense|SparseAdam",
        (*OF_TORCH, "optim", "cuda"),
    ),
    (
        "quantized tensors",
        r".*([qQ]uantiz|QU?Int|fbgemm|qparams).*|q(u?int\d.*|scheme|_.*)|per_(tensor|channel)_.*|int_repr|"
        r"fused_moving_avg_obs_fake_quant",
        OF_TORCH,
    ),
    (
        "complex numbers",
        r".*[cC]omplex(?!Type).*|polar|view_as_real.*|conj.*|angle|imag|real|stft|istft|isreal|cdouble|cfloat|chalf|resolve_(conj|neg)",
        (*OF_TORCH, "cuda"),
    ),
    ("complex numbers", r"i?[hr]?fft[2n]?|eig(vals)?", ("fft", "linalg")),
    ("nested tensors", r".*nested.*|jagged|to_padded_tensor", OF_TORCH),
    ("named tensors", r"(refine_)?names|rename|align_(as|to|tensors)|has_names", OF_TORCH),
    ("types below 8 bits", r"u?int[1-7]|bits\d.*|float4_.*|bit", OF_TORCH),
    ("8-bit floating point", r"scaled_(grouped_)?mm|ScalingType|SwizzleType", ("nn.functional",)),
    (
        "other hardware and libraries",
        r".*(mkldnn|miopen|mps|xpu|mtia|xla|vulkan|ipu|maia|(?<!g)hpu|openmp).*|has_(mkl|lapack|spectral)|cudnn_.*|"
        r".*cudagraph_cupti.*",
        (),
    ),
    (
        "TorchScript, tracing and symbolic shapes",
        r".*Script.*|.*Type|JIT.*|Graph|Graph\w+|Node|Value|Block|Use|Code|CallStack|Capsule|Gradient|Argument.*|"
        r"CompleteArgumentSpec|FunctionSchema|ErrorReport|FileCheck|Tag|AliasDb|ConcreteModule.*|CompilationUnit|"
        r"Execution.*|IODescriptor|StaticModule|ThroughputBenchmark|Benchmark.*|TracingState|Sym.*|sym_.*|Future|"
        r"NoopLogger|LockingLogger|LoggerBase|OperatorInfo|FatalError|PyTorchFile.*|DeepCopyMemoTable|"
        r"(Des|S)erializationStorageContext|BufferDict|ModuleDict|ParameterDict|DispatchKey.*|ExcludeDispatchKeyGuard|"
        r"Disable\w+|parse_.*|import_ir.*|merge_type_.*|unify_type_list|compile|cond|while_loop|fork|wait|"
        r"classproperty|AVG|SUM|AggregationType|PRIVATE_OPS|USE_.*|TYPE_CHECKING",
        (*OF_TORCH, "testing"),
    ),
    (
        "memory pools and allocators of the program",
        r"caching_allocator_(disabled|enable)|change_current_allocator|CUDAPluggableAllocator|(use_mem_p|MemP)ool",
        ("cuda",),
    ),
    ("tuning and handles of libraries", r"tunable|current_solver_handle", ("cuda",)),
    ("internals", r"hash_tensor", OF_TORCH),
    ("device code of a program, which virtual GPUs cannot run", r"jiterator", ("cuda",)),
    ("TorchScript, tracing and symbolic shapes", r"functionalize", ("func",)),
    ("DataPipes", r".*[dD]ata[pP]ipes?.*|DataChunk|(argument|runtime)_validation.*|non_deterministic", ("utils.data",)),
    (
        "removed or deprecated in PyTorch",
        r"volatile|reinforce|resize(_as)?|symeig|eig|lstsq|matrix_rank|solve|qr|legacy_contiguous_format|nuclear_norm|"
        r"frobenius_norm|chain_matmul|index|[gs]et_autocast_(cpu|gpu|ipu|xla)_.*|is_autocast_(cpu|ipu|xla)_.*",
        OF_TORCH,
    ),
    ("removed or deprecated in PyTorch", r".*[^_]", ("nn.init",)),
    (
        "removed or deprecated in PyTorch",
        r"Container|clip_grad_norm|stateless|NestedIOFunction|variable|assert_allclose|has_(half|magma)|\w+Storage",
        ("nn", "nn.utils", "autograd", "cuda", "testing"),
    ),
    (
        "internals",
        r"native_.*|batch_norm_(backward|elemt|gather|stats|update).*|.*_cell|thread_safe_generator|get_file_path|"
        r"prepare_multiprocessing_environment|init_num_threads|conv_tbc|slice_inverse|compiled_with_cxx11_abi|"
        r"const_data_ptr|debug_unwrap|norm_except_dim|.*_backward|common_notes|(has|handle)_torch_function.*|"
        r"BroadcastingList\d|assert_int_or_pair|boolean_dispatch|GRID_SAMPLE_.*|factory_kwargs|StorageBase|Optional|"
        r"[a-z0-9_]+_notes|TYPE_CHECKING",
        (),
    ),
    ("internals", r"Tensor", ("fft",)),
    ("process groups and distributed training", r".*([dD]istributed|DDP|RPC|RRef|nccl).*", ()),
)
# names that always raise NotSupportedError
REFUSED = {
    "fft": (
        "fft", "fft2", "fftn", "hfft", "ifft", "ifft2", "ifftn", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2",
        "rfftn",
    ),
    "func": ("functionalize",), "linalg": ("eig", "eigvals"),
    "torch": ("SymBool", "SymFloat", "SymInt", "eig", "lstsq", "matrix_rank", "solve", "symeig"),
    "Tensor": ("eig", "lstsq", "solve", "symeig"),
}  # fmt: skip
NAMES_ONLY = "names of types and layouts that tensors cannot have"


def module_of(package: Any, name: str) -> Any:
    """A module of PyTorch or of flambeau by its name in MODULES; None if there is none."""
    found = package
    for part in () if name == "torch" else name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(f"{package.__name__}.{name}")
            except ImportError:
                return None
            break
    return found


def recorded() -> dict[str, list[str]]:
    """The public names of PyTorch, by module."""
    names: dict[str, list[str]] = json.loads(NAMES.read_text())
    return names


def record() -> None:
    """Write the names of the installed PyTorch."""
    torch = importlib.import_module("torch")
    found = {}
    for name in MODULES:
        module = module_of(torch, name)
        listed = getattr(module, "__all__", None) if name not in ("torch", "Tensor") else None
        members = listed or [each for each in dir(module) if is_public(torch, name, each, getattr(module, each, None))]
        found[name] = sorted({each for each in members if not each.startswith("_")}, key=str.lower)
    NAMES.write_text(json.dumps(found, indent=1) + "\n")


def is_public(torch: Any, module: str, name: str, value: Any) -> bool:
    """Whether a name that a module does not list in __all__ is its own, and not what it imports."""
    if name.startswith("_") or isinstance(value, ModuleType):
        return False
    home = getattr(value, "__module__", None) or "torch"
    return not isinstance(value, type) or home.startswith("torch") and value is not torch.Tensor or module == "torch"


def reason_of(module: str, name: str) -> str:
    """Why a name is out of scope, "" if it is planned."""
    for reason, pattern, modules in RULES:
        if (not modules or module in modules) and re.fullmatch(pattern, name):
            return reason
    return ""


def is_only_a_name(value: Any) -> bool:
    """Whether a dtype or a layout is there that no tensor can have."""
    flambeau = importlib.import_module("flambeau")
    if isinstance(value, flambeau.layout):
        return value is not flambeau.strided
    return isinstance(value, flambeau.dtype) and not value.exists


def listed(names: list[str]) -> str:
    """Names as lines of a paragraph."""
    return textwrap.fill(", ".join(f"`{name}`" for name in names), 140, break_long_words=False, break_on_hyphens=False)


def page() -> str:
    """The text of the page."""
    package = importlib.import_module("flambeau")
    rows, sections = [], []
    for module, names in recorded().items():
        ours = module_of(package, module)
        done: list[str] = []
        others: dict[str, list[str]] = {}
        for name in names:
            if not hasattr(ours, name) or name in REFUSED.get(module, ()):
                others.setdefault(reason_of(module, name), []).append(name)
            elif is_only_a_name(getattr(ours, name)):
                others.setdefault(NAMES_ONLY, []).append(name)
            else:
                done.append(name)
        planned = others.pop("", [])
        away = sum(map(len, others.values()))
        rows.append(f"| [{module}](#{module.lower().replace('.', '')}) | {len(done)} | {len(planned)} | {away} |")
        parts = [f"## {module}\n"]
        for title, group in (("Done", done), ("Planned", planned)):
            parts += [f"**{title}** ({len(group)})\n", f"{listed(group)}\n"] if group else []
        parts += [
            f"**Out of scope: {why}** ({len(group)})\n\n{listed(group)}\n" for why, group in sorted(others.items())
        ]
        sections.append("\n".join(parts))
    head = [
        "# Names of PyTorch\n",
        "Written by `scripts/coverage` from the names alone: a name is *done* if flambeau has it and it does more than",
        "raise NotSupportedError, *out of scope* if it belongs to something that flambeau leaves out, and *planned*",
        "otherwise. The names are those of PyTorch 2.13.",
        "[What differs](../differences.md) lists differences in behaviour.\n",
        "| module | done | planned | out of scope |", "| --- | --- | --- | --- |",
    ]  # fmt: skip
    return "\n".join([*head, *rows, "", *sections])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if the page is stale")
    parser.add_argument("--record", action="store_true", help="write the list of PyTorch's names anew")
    options = parser.parse_args()
    if options.record:
        record()
    text = page()
    if options.check:
        if PAGE.exists() and PAGE.read_text() == text:
            return 0
        print(f"{PAGE.relative_to(ROOT)} is stale: run scripts/coverage", file=sys.stderr)
        return 1
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
