"""The module `torch` of child processes of a program under `flambeau run --as-torch`: flambeau itself."""

import sys

import flambeau
from flambeau.cli import as_torch

as_torch.install()
sys.modules[__name__] = flambeau
