"""flambeau doctor: data on stdout, advice on stderr, and JSON."""

import json
import re
from pathlib import Path

SOURCES = str(Path(__file__).parents[2] / "src")


def test_doctor_prints_data_to_stdout_and_advice_to_stderr(flambeau, tmp_path):
    done = flambeau("doctor", FLAMBEAU_CACHE=str(tmp_path))
    assert done.returncode == 0
    assert f"{tmp_path}/cubin: 0 kernels, 0.0 MiB" in done.stdout
    assert "kernels shipped" in done.stdout
    assert "\x1b[" not in done.stdout
    assert "pip install" not in done.stdout


def test_doctor_as_json(flambeau, tmp_path):
    done = flambeau("doctor", "--json", FLAMBEAU_CACHE=str(tmp_path), FLAMBEAU_GPUS="virtual:2")
    found = json.loads(done.stdout)
    assert done.stderr == ""
    assert found["gpus"] == "virtual:2"
    assert found["cache"] == {"directory": f"{tmp_path}/cubin", "kernels": 0, "bytes": 0}
    assert all(arch.startswith("sm_") and count > 0 for arch, count in found["shipped"].items())
    extras = {f"{name}{version}" for name in ("cuda", "dnn", "nccl", "solver") for version in (12, 13)}
    assert set(found["extras"]) == extras | {"examples", "test", "dev"}
    assert "nccl" in found and "cusolver" in found


def test_doctor_survives_a_bad_setting(flambeau):
    done = flambeau("doctor", FLAMBEAU_GPUS="plaid")
    assert done.returncode == 0
    assert "'plaid' is not a kind of GPU" in done.stdout
    done = flambeau("doctor", FLAMBEAU_STRICT="²", PYTORCH_ALLOC_CONF="garbage")
    assert done.returncode == 0 and "²" not in done.stdout
    assert "- FLAMBEAU_STRICT='²' is neither" in done.stderr and "- PYTORCH_ALLOC_CONF='garbage': " in done.stderr


def test_the_extras_that_doctor_knows_are_those_of_the_package():
    import tomllib

    from flambeau.cli.doctor import EXTRAS

    text = (Path(SOURCES).parent / "pyproject.toml").read_text()
    declared = tomllib.loads(text)["project"]["optional-dependencies"]
    names = {extra: tuple(re.split("[>=]", each)[0] for each in packages) for extra, packages in declared.items()}
    assert names == EXTRAS
