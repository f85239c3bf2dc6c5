"""Files that PyTorch wrote are read, and PyTorch reads those written here; file_cases.py recorded some."""

import io
import json
import pickle
from functools import partial

import pytest

import flambeau
from flambeau.errors import FileFormatError, FlambeauError
from tests.oracle.file_cases import CASES, EXPECTED, FOLDER, described

FILES = sorted(path.name for path in FOLDER.iterdir() if not path.name.startswith(("refused", "devices")))
expected = json.loads(EXPECTED.read_text())


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_files_that_pytorch_wrote_are_read(name, mmap):
    found = flambeau.load(FOLDER / name, mmap=mmap)
    assert json.loads(json.dumps(described(found))) == expected[name.partition("-")[0]]


@pytest.mark.parametrize("name", CASES)
def test_what_is_saved_here_comes_back(name):
    value, file = CASES[name](flambeau), io.BytesIO()
    flambeau.save(value, file)
    file.seek(0)
    assert described(flambeau.load(file)) == described(value)


def test_devices_of_files_that_pytorch_wrote(gpus):
    load = partial(flambeau.load, FOLDER / "devices-2.pt")
    for where, devices in (
        (None, ["cuda:0", "cuda:1"]),
        ("cpu", ["cpu", "cpu"]),
        ({"cuda:1": "cuda:0"}, ["cuda:0", "cuda:0"]),
    ):
        found = load(where)
        assert [str(each.device) for each in found] == devices
        assert [each.tolist() for each in found] == [[0, 1, 2], [0.0, 1.0, 2.0, 3.0]]


REFUSED = {
    "module": "torch.nn.modules.linear.Linear",
    "complex": "torch.ComplexFloatStorage",
    "sparse": "torch._utils._rebuild_sparse_tensor",
    "function": "torch.nn.functional.relu",
    "legacy": "legacy",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_named(name):
    with pytest.raises(pickle.UnpicklingError) as caught:
        flambeau.load(FOLDER / f"refused-{name}.pt")
    assert isinstance(caught.value, FlambeauError) and caught.value.hint
    assert str(caught.value).startswith("load: ") and REFUSED[name] in str(caught.value)


def test_a_file_without_checksums_is_refused():
    with pytest.raises(FileFormatError, match="checksum") as caught:
        flambeau.load(FOLDER / "refused-unchecked.pt")
    assert "set_crc32_options" in caught.value.hint


# with PyTorch


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def numpy_globals(torch):
    """The NumPy classes that PyTorch must be allowed to load before it reads NumPy arrays."""
    import numpy as np

    types = {type(np.dtype(name)) for name in ("?", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "U3", "S2")}
    core = np._core.multiarray
    with torch.serialization.safe_globals([np.dtype, np.ndarray, core.scalar, core._reconstruct, frozenset, *types]):
        yield


@pytest.mark.full
@pytest.mark.usefixtures("numpy_globals")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_pytorch_reads_what_is_saved_here(torch, name, mmap, tmp_path):
    value = CASES[name](flambeau)
    flambeau.save(value, tmp_path / "file.pt")
    found = torch.load(tmp_path / "file.pt", weights_only=True, mmap=mmap)
    assert described(found) == described(value)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", CASES)
def test_what_pytorch_saves_now_is_read(torch, name, protocol):
    value, file = CASES[name](torch), io.BytesIO(b"before")
    file.seek(6)
    torch.save(value, file, pickle_protocol=protocol)
    file.seek(6)
    assert described(flambeau.load(file)) == described(value)


@pytest.mark.full
def test_locations_of_gpus_reach_pytorch(torch, gpus):
    file = io.BytesIO()
    flambeau.save([flambeau.arange(3, device="cuda:1"), flambeau.ones(2, device="cuda")], file)
    file.seek(0)
    found = []
    torch.load(file, map_location=lambda storage, location: found.append(location) or storage)
    assert found == ["cuda:1", "cuda:0"]
