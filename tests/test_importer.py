"""Modules that are rows of a table: imported by name, as an attribute and from their package, with errors that help."""

import importlib
import subprocess
import sys
from importlib.util import find_spec

import pytest

import flambeau
from flambeau.import_paths import ROWS
from flambeau.tools import eager


@pytest.mark.parametrize("path", ROWS)
def test_a_row_is_a_module_and_an_attribute_of_its_package(path):
    found = importlib.import_module(f"flambeau.{path}")
    assert type(found).__name__ == "TableModule" and found.__name__ == f"flambeau.{path}"
    assert found.__doc__ == f"torch.{path}: {ROWS[path].doc}"
    package, _, name = found.__name__.rpartition(".")
    assert getattr(importlib.import_module(package), name) is found is importlib.import_module(found.__name__)
    assert set(found.__all__) <= set(dir(found)) and all(hasattr(found, each) for each in found.__all__)
    assert len(set(found.__all__)) == sum(1 + names.count(", ") for names in ROWS[path].names.values()) + len(
        {*ROWS[path].values, *(each for each in ROWS if each.rpartition(".")[0] == path)}
    )


def test_a_row_has_the_object_of_its_source_under_its_name():
    fx = flambeau.fx
    assert fx.Interpreter is fx.Transformer is eager.Interpreter and fx.node.Node is eager.Node
    assert flambeau._dynamo.config.cache_size_limit == ROWS["_dynamo.config"].values["cache_size_limit"] == 8


def test_a_setting_of_a_row_can_be_written():
    config = flambeau._dynamo.config
    try:
        config.suppress_errors = True
        assert importlib.import_module("flambeau._dynamo.config").suppress_errors is True
    finally:
        config.suppress_errors = False


def test_a_missing_name_is_told_with_where_to_look():
    for module in (flambeau.fx, flambeau.fx.node, flambeau.jit, flambeau.backends, flambeau.distributed.fsdp):
        with pytest.raises(
            AttributeError, match=f"^module '{module.__name__}' has no attribute 'absent'\nhint: .*cover"
        ):
            module.absent  # noqa: B018
    for name in ("flambeau.fx.absent", "flambeau.fx.node.absent", "flambeau.jit.absent", "flambeau.absent"):
        with pytest.raises(ModuleNotFoundError, match=f"No module named '{name}'"):
            importlib.import_module(name)
    with pytest.raises(ImportError, match="cannot import name 'absent' from 'flambeau.fx'"):
        exec("from flambeau.fx import absent")


def test_specs_tell_packages_from_modules():
    kinds = {name: find_spec(f"flambeau.{name}").submodule_search_locations for name in ("fx", "fx.node", "export")}
    assert kinds == {"fx": [], "fx.node": None, "export": None}


def test_an_empty_folder_does_not_hide_a_row(tmp_path):
    """Python leaves one, with its own files, where a package was removed."""
    (tmp_path / "fsdp" / "__pycache__").mkdir(parents=True)
    program = (
        "import flambeau.distributed\n"
        f"flambeau.distributed.__path__.append({str(tmp_path)!r})\n"
        "import flambeau.distributed.fsdp as found\n"
        "print(found.__spec__.origin)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "flambeau.import_paths\n"


def test_importing_the_package_makes_no_row():
    program = (
        "import sys, flambeau; print([name for name, each in sys.modules.items() if 'Table' in type(each).__name__])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
