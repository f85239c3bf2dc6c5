"""torch.hub: local folders, downloads and their cache."""

import hashlib
import os

import pytest

import flambeau as torch
from flambeau.errors import ArgumentError, ArgumentTypeError, FileFormatError, NamingError, NotSupportedError
from flambeau.serialization import hub

PROGRAM = """
import helper
dependencies = ["numpy"]
def net(size, *, bias=True):
    "A linear network."
    return helper.make(size, bias)
def _hidden():
    pass
"""
HELPER = "from flambeau import nn\ndef make(size, bias):\n    return nn.Linear(size, 1, bias)\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text(HELPER)
    return tmp_path


def test_functions_of_a_local_folder(folder):
    net = torch.hub.load(str(folder), "net", 3, source="local", bias=False)
    assert net.in_features == 3 and net.bias is None
    assert torch.hub.list(folder) == ["net"] and torch.hub.help(str(folder), "net") == "A linear network."


def test_what_a_folder_lacks(folder, tmp_path):
    with pytest.raises(NamingError, match="hub.load: .*'absent'.*hubconf.py") as missing:
        torch.hub.load(folder, "absent", source="local")
    assert isinstance(missing.value, RuntimeError)
    (folder / "hubconf.py").write_text('dependencies = ["no_such_package_1"]\ndef net(): pass\n')
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package_1"):
        torch.hub.load(folder, "net", source="local")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileNotFoundError, match="hub.load: there is no hubconf.py in '.*empty'"):
        torch.hub.load(empty, "net", source="local")


def test_remote_repositories_are_refused():
    with pytest.raises(NotSupportedError, match="hub.load: .*'pytorch/vision'.*\nhint: .*source='local'"):
        torch.hub.load("pytorch/vision", "resnet18", pretrained=True)
    with pytest.raises(NotSupportedError, match="hub.list: .*'pytorch/vision'"):
        torch.hub.list("pytorch/vision")
    with pytest.raises(ArgumentError, match="Unknown source: 'gitlab'"):
        torch.hub.load("a/b", "net", source="gitlab")


def test_the_folder_of_downloads(monkeypatch, tmp_path):
    monkeypatch.setattr(hub, "_chosen", [])
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    assert torch.hub.get_dir() == str(tmp_path / "home" / "hub")
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert torch.hub.get_dir() == str(tmp_path / "torch" / "hub")
    monkeypatch.setattr("flambeau.serialization.hub._chosen", [])
    torch.hub.set_dir(tmp_path / "chosen")
    assert torch.hub.get_dir() == str(tmp_path / "chosen")


@pytest.mark.parametrize("progress", [True, False])
def test_a_download_is_complete_or_absent(tmp_path, progress):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"x" * 300_000)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    torch.hub.download_url_to_file(source.as_uri(), str(target), digest[:8], progress)
    assert target.read_bytes() == source.read_bytes()
    target.unlink()
    with pytest.raises(FileFormatError, match=f"'00000000', got '{digest}'"):
        torch.hub.download_url_to_file(source.as_uri(), str(target), "00000000", progress)
    with pytest.raises(OSError):
        torch.hub.download_url_to_file((tmp_path / "absent").as_uri(), str(target), progress=progress)
    assert sorted(os.listdir(tmp_path)) == ["source"]


def test_state_dicts_are_downloaded_once(tmp_path, capsys):
    from flambeau.utils import model_zoo

    path = tmp_path / "net.pt"
    torch.save({"x": torch.ones(1)}, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    named = path.rename(tmp_path / f"net-{digest[:8]}.pt")
    cache = tmp_path / "cache"
    for _ in range(2):
        found = torch.hub.load_state_dict_from_url(
            named.as_uri(), str(cache), map_location="cpu", progress=False, check_hash=True
        )
        assert found["x"].tolist() == [1.0]
    assert capsys.readouterr().err.count("Downloading") == 1
    named.unlink()
    assert model_zoo.load_url(named.as_uri(), str(cache))["x"].tolist() == [1.0]


def test_wrong_types_are_refused():
    before = torch.hub.get_dir()
    for name, call in (
        ("set_dir", lambda: torch.hub.set_dir(3)),
        ("download_url_to_file", lambda: torch.hub.download_url_to_file(3, "a")),
        ("load_state_dict_from_url", lambda: torch.hub.load_state_dict_from_url(3)),
    ):
        with pytest.raises(ArgumentTypeError, match=f"^{name}: .* got 3"):
            call()
    assert torch.hub.get_dir() == before
