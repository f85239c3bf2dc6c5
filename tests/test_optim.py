"""Modules of torch.optim: PyTorch's import paths, and the type stubs of those that are another module here."""

import importlib

import pytest

from flambeau import optim
from scripts.write_stubs import stubs

PATHS = {
    "adadelta": "Adadelta", "adafactor": "Adafactor", "adagrad": "Adagrad", "adam": "Adam", "adamax": "Adamax",
    "adamw": "AdamW", "asgd": "ASGD", "lbfgs": "LBFGS", "lr_scheduler": "LRScheduler", "nadam": "NAdam",
    "optimizer": "Optimizer", "radam": "RAdam", "rmsprop": "RMSprop", "rprop": "Rprop", "sgd": "SGD",
    "swa_utils": "AveragedModel",
}  # fmt: skip


@pytest.mark.parametrize("path, name", PATHS.items())
def test_pytorch_s_module_defines_the_optimizer(path, name):
    module = importlib.import_module(f"flambeau.optim.{path}")
    assert getattr(optim, path) is module
    assert getattr(module, name) is getattr(optim, name, getattr(module, name))


@pytest.mark.parametrize("name", optim._MODULES)
def test_an_alias_has_the_stub_of_its_module(name):
    found = {path.name: text for path, text in stubs().items() if path.parent.name == "optim"}
    assert found[f"{name}.pyi"].endswith(f"from ..{getattr(optim, name).__name__.removeprefix('flambeau.')} import *\n")
