"""Importing flambeau is cheap and touches nothing: no driver call, no NumPy, no command-line packages."""

import json
import subprocess
import sys

HEAVY = (
    "numpy", "ml_dtypes", "cuda", "click", "rich", "torch", "ctypes.wintypes", "multiprocessing", "pathlib", "pickle",
    "socket", "urllib",
)  # fmt: skip
PROGRAM = """
import json, sys
before = set(sys.modules)  # modules that an environment imports at its start
import flambeau
print(json.dumps(sorted({{name.split(".")[0] for name in set(sys.modules) - before}})))
{rest}
"""


def modules_after(rest: str = "") -> list[str]:
    """The top-level modules that `import flambeau` brings into a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(rest=rest)], capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout.splitlines()[0])


def test_importing_flambeau_loads_nothing_heavy():
    assert set(HEAVY) & set(modules_after()) == set()


def test_importing_any_module_makes_no_driver_call():
    program = """
import importlib, sys
from flambeau.core import thread
names = "nn optim cuda utils.data autograd testing driver.nvidia.driver driver.virtual.driver".split()
for name in names:
    importlib.import_module(f"flambeau.{name}")
    assert not thread.has_machine(), f"{name} makes a machine"
    assert "cuda" not in sys.modules, f"{name} imports cuda.bindings"
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_cpu_work_starts_no_machine():
    program = """
import flambeau
from flambeau.core import thread
assert (flambeau.ones(3) + 1).tolist() == [2.0, 2.0, 2.0]
assert not thread.has_machine() or not thread.machine().is_started
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0
