"""What `import torch` finds in the processes that a program under `flambeau run --as-torch` starts."""

import sys

import flambeau
from flambeau.cli import as_torch

as_torch.install()
sys.modules[__name__] = flambeau
