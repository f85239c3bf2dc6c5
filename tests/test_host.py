"""Host memory and NumPy: flambeau/host.py."""

import subprocess
import sys

PROGRAM = """
import resource

import flambeau as torch

image = torch.zeros(3, 224, 224, dtype=torch.uint8)


def faults(count):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    [image.float() for _ in range(count)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


faults(32)
print(sum(faults(32) for _ in range(5)) / (5 * 32))
"""


def test_memory_of_freed_tensors_is_used_again_without_page_faults():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 30  # a tensor has 147 pages
