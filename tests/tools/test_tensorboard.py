"""torch.utils.tensorboard: the written files, and the error without the package."""

import struct
import sys
import zlib

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import ArgumentError, ArgumentTypeError
from flambeau.tools import tensorboard


def test_without_the_package_there_is_a_hint(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto", None)
    tensorboard._protocol.cache_clear()
    with pytest.raises(ImportError, match="tensorboard.*\nhint: pip install tensorboard"):
        tensorboard.SummaryWriter(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_images_are_written_as_png(channels):
    pixels = np.arange(2 * 3 * channels, dtype=np.uint8).reshape(2, 3, channels)
    data = tensorboard._png(pixels)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    assert (width, height, depth, colour) == (3, 2, 8, {1: 0, 3: 2, 4: 6}[channels])
    length = struct.unpack(">I", data[33:37])[0]
    lines = zlib.decompress(data[41 : 41 + length])
    assert lines == b"".join(b"\0" + row.tobytes() for row in pixels)


def test_images_are_arranged_by_their_formats():
    image = torch.rand(3, 4, 5)
    found = tensorboard._arranged("add_image", image.numpy(), "CHW")
    assert found.shape == (4, 5, 3) and found.dtype == np.uint8
    assert (found[1, 2] == (image[:, 1, 2].numpy() * 255).astype(np.uint8)).all()
    assert tensorboard._arranged("add_image", np.zeros((4, 5)), "HW").shape == (4, 5, 1)
    with pytest.raises(ArgumentError, match="add_image: dataformats 'HWX' does not fit an image with 3 dimensions"):
        tensorboard._arranged("add_image", image.numpy(), "HWX")
    grid = tensorboard._grid([np.full((2, 3, 1), value, np.uint8) for value in range(5)])
    assert grid.shape == (4, 9, 1) and grid[:, ::3, 0].tolist() == [[0, 1, 2]] * 2 + [[3, 4, 0]] * 2


def test_values_that_are_no_numbers_are_refused():
    with pytest.raises(ArgumentTypeError, match="add_scalar: .*'high'"):
        tensorboard._number("add_scalar", "high")
    assert tensorboard._number("add_scalar", torch.tensor([2.0])) == 2.0


def test_curves_count_by_threshold():
    labels, predictions = np.array([1, 1, 0, 0, 1], bool), np.array([1.0, 0.6, 0.5, 0.1, 0.4], np.float32)
    found = tensorboard._curve(labels, predictions, 3, 1.0)  # thresholds 0, 0.5 and 1
    true_positives, false_positives = [3, 2, 1], [2, 1, 0]
    true_negatives, false_negatives = [0, 1, 2], [0, 1, 2]
    precision, recall = [3 / 5, 2 / 3, 1], [1, 2 / 3, 1 / 3]
    assert found[:4].tolist() == [true_positives, false_positives, true_negatives, false_negatives]
    assert found[4].tolist() == pytest.approx(precision) and found[5].tolist() == pytest.approx(recall)
    weighed = tensorboard._curve(labels[None], predictions[None], 3, np.array([[1, 2, 3, 4, 5]]))
    assert weighed[:2].tolist() == [[8, 3, 1], [7, 3, 0]]
    nothing = tensorboard._curve(np.zeros(2), np.zeros(2), 2, 1.0)
    assert nothing[4:].tolist() == [[0, 0], [0, 0]]


def test_wrong_curves_are_refused():
    wrong = {
        "shape \\[2\\], .* \\[3\\]": (np.zeros(2), np.zeros(3), 1.0),
        "predictions must be .* from 0.0 to 3.0": (np.zeros(2), np.array([0.0, 3.0]), 1.0),
        "predictions must be .* from nan": (np.zeros(1), np.array([np.nan]), 1.0),
        "labels must be .* from -1.0 to 0.0": (np.array([-1.0, 0.0]), np.zeros(2), 1.0),
        "weights have shape \\[3\\], .* \\[2\\]": (np.zeros(2), np.zeros(2), np.zeros(3)),
    }
    for text, (labels, predictions, weights) in wrong.items():
        with pytest.raises(ArgumentError, match=f"add_pr_curve: .*{text}"):
            tensorboard._curve(labels, predictions, 5, weights)
    for count, error in ((1, ArgumentError), (2.0, ArgumentTypeError)):
        with pytest.raises(error, match=f"add_pr_curve: num_thresholds .*{count}"):
            tensorboard._thresholds("add_pr_curve", count)
    assert tensorboard._thresholds("add_pr_curve", 200) == 127


def test_entries_come_back(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    tensorboard._protocol.cache_clear()
    with tensorboard.SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss", torch.tensor(1.0 / (step + 1)), step)
        writer.add_histogram("weights", torch.arange(4.0), 0)
        writer.add_images("images", torch.rand(5, 1, 4, 6), 0)
        writer.add_text("note", "text", 0)
        writer.add_hparams({"lr": 0.1}, {"accuracy": 0.5}, run_name="run")
        writer.add_pr_curve("curve", torch.tensor([1, 0, 1]), torch.tensor([0.9, 0.2, 0.4]), 3, num_thresholds=5)
        writer.add_pr_curve_raw("raw", *(torch.full((4,), float(row)) for row in range(6)), num_thresholds=4)
        with pytest.raises(ArgumentError, match="add_pr_curve_raw: num_thresholds is 127, .* 4, 4, 4, 4, 4, 4 values"):
            writer.add_pr_curve_raw("raw", *(torch.ones(4) for _ in range(6)))
        with pytest.warns(UserWarning, match="add_graph"):
            writer.add_graph(torch.nn.Linear(1, 1))
    found = accumulator.EventAccumulator(str(tmp_path))
    found.Reload()
    assert [(each.step, each.value) for each in found.Scalars("loss")] == [
        (0, 1.0), (1, 0.5), (2, pytest.approx(1 / 3)),
    ]  # fmt: skip
    histogram = found.Histograms("weights")[0].histogram_value
    assert (histogram.num, histogram.sum, histogram.min, histogram.max) == (4, 6, 0, 3)
    assert (found.Images("images")[0].width, found.Images("images")[0].height) == (18, 8)
    assert sorted(found.Tags()["tensors"]) == ["curve", "note/text_summary", "raw"] and (tmp_path / "run").is_dir()
    parse = pytest.importorskip("tensorboard.plugins.pr_curve.metadata").parse_plugin_metadata
    assert parse(found.PluginTagToContent("pr_curves")["curve"]).num_thresholds == 5
    to_array = pytest.importorskip("tensorboard.util.tensor_util").make_ndarray
    (curve,), (raw,) = found.Tensors("curve"), found.Tensors("raw")
    assert curve.step == 3 and to_array(curve.tensor_proto)[:2].tolist() == [[2, 2, 1, 1, 0], [1, 0, 0, 0, 0]]
    assert to_array(raw.tensor_proto).tolist() == [[row] * 4 for row in range(6)]
