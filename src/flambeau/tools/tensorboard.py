"""torch.utils.tensorboard: a writer of event files, through the package tensorboard."""

from __future__ import annotations

import io
import os
import socket
import struct
import time
import wave
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from .. import callers
from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, shown
from ..host import np

MAX_THRESHOLDS = 127  # of a precision-recall curve, as in PyTorch
BINS = 774  # bin edges of each sign from 1e-12 to 1e20, each 10 % above the one before


@cache
def _protocol() -> Any:
    """Return the package's message classes and its writer.  Raises ImportError with a hint if it is missing."""
    try:
        events, summaries, tensors, shapes = [
            import_module(f"tensorboard.compat.proto.{name}_pb2")
            for name in ("event", "summary", "tensor", "tensor_shape")
        ]
        curves = import_module("tensorboard.plugins.pr_curve.plugin_data_pb2")
        writers = import_module("tensorboard.summary.writer.event_file_writer")
    except ImportError as error:
        raise ImportError(
            "torch.utils.tensorboard writes through the package tensorboard, which cannot be imported: "
            f"{error}\nhint: pip install tensorboard",
            name="tensorboard",
        ) from error
    return SimpleNamespace(
        Event=events.Event,
        SessionLog=events.SessionLog,
        Summary=summaries.Summary,
        Histogram=summaries.HistogramProto,
        Metadata=summaries.SummaryMetadata,
        Tensor=tensors.TensorProto,
        Shape=shapes.TensorShapeProto,
        Curve=curves.PrCurvePluginData,
        Writer=writers.EventFileWriter,
    )


class SummaryWriter:
    """Write scalars, histograms, images, sounds, texts, curves and hyperparameters to event files for TensorBoard.

    log_dir: the folder, runs/DATE_HOST by default.  comment: appended to this default name.
    purge_step: entries of an earlier run from this step on are hidden.
    max_queue, flush_secs: how many entries may wait, and for how many seconds, before they are written.
    filename_suffix: appended to the names of the files.
    In the methods, `tag` names a series, `global_step` is the number of an entry, and `walltime` its time in seconds
    since 1970, now by default.
    Host:   waits if a value is a tensor on a GPU.
    Raises: ImportError without the package tensorboard.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        _protocol()
        if not log_dir:
            log_dir = os.path.join("runs", f"{time.strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self._writers: dict[str, Any] = {}
        self._main = self._writer(self.log_dir)
        if purge_step is not None:
            protocol = _protocol()
            self._write(self._main, None, purge_step, file_version="brain.Event:2")
            self._write(
                self._main, None, purge_step, session_log=protocol.SessionLog(status=protocol.SessionLog.START)
            )

    def _writer(self, folder: str) -> Any:
        if folder not in self._writers:
            self._writers[folder] = _protocol().Writer(folder, self.max_queue, self.flush_secs, self.filename_suffix)
        return self._writers[folder]

    def _write(self, writer: Any, walltime: float | None, step: Any, **parts: Any) -> None:
        event = _protocol().Event(wall_time=time.time() if walltime is None else walltime, **parts)
        if step is not None:
            event.step = int(_number("the step", step))
        writer.add_event(event)

    def _add(self, walltime: float | None, step: Any, **value: Any) -> None:
        summary = _protocol().Summary
        self._write(self._main, walltime, step, summary=summary(value=[summary.Value(**value)]))

    def get_logdir(self) -> str:
        """Return the folder of the event files."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add a number, or a tensor with one element, to the series `tag`.

        new_style, double_precision: have no effect.
        Raises: ArgumentTypeError for another value.
        """
        self._add(walltime, global_step, tag=tag, simple_value=_number("add_scalar", scalar_value))

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add several numbers that are shown in one chart; each is written to a folder of its own.

        main_tag: the chart's name.  tag_scalar_dict: the numbers by name.
        Raises: ArgumentTypeError for a value that is neither a number nor a tensor with one element.
        """
        summary = _protocol().Summary
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            entry = summary.Value(tag=main_tag, simple_value=_number("add_scalars", value))
            self._write(self._writer(folder), walltime, global_step, summary=summary(value=[entry]))

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add a histogram of the elements of a tensor or array.

        bins: "tensorflow" (edges that grow by a tenth), or the bins of numpy.histogram.
        max_bins: if there are more bins, neighbours are merged to about this number; None keeps all.
        Raises: ArgumentError for no values.
        """
        flat = _array(values).astype(np.float64).reshape(-1)
        if not flat.size:
            raise ArgumentError(
                "The input has no element.", hint="skip empty inputs", operator="add_histogram"
            )
        self._add(walltime, global_step, tag=tag, histo=_histogram(flat, bins, max_bins))

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add an image of bytes from 0 to 255, or of floats from 0 to 1.

        Shapes: dataformats names the dimensions: "CHW", "HWC" or "HW".
        Raises: ArgumentError if the dimensions are not those that dataformats names.
        """
        self._add(walltime, global_step, tag=tag, image=_image(_arranged("add_image", _array(img_tensor), dataformats)))

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add a batch of images, of bytes from 0 to 255 or of floats from 0 to 1, as one grid.

        Shapes: dataformats names the dimensions: "NCHW", "NHWC" or "NHW".
        Raises: ArgumentError if the dimensions are not those that dataformats names.
        """
        batch = _array(img_tensor)
        at = dataformats.upper().find("N")
        if at < 0 or batch.ndim != len(dataformats):
            raise ArgumentError(
                f"dataformats {dataformats!r} does not fit images with {batch.ndim} dimensions",
                hint="pass one letter per dimension, for example 'NCHW'",
                operator="add_images",
            )
        rest = dataformats.upper().replace("N", "")
        images = [_arranged("add_images", image, rest) for image in np.moveaxis(batch, at, 0)]
        self._add(walltime, global_step, tag=tag, image=_image(_grid(images)))

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Add a figure of matplotlib, or a list of figures as a grid.

        close: whether to close the figures afterwards.
        """
        figures = figure if isinstance(figure, (list, tuple)) else [figure]
        pictures = [_drawn(part) for part in figures]
        self._add(walltime, global_step, tag=tag, image=_image(_grid(pictures) if len(pictures) > 1 else pictures[0]))
        if close:
            for part in figures:
                _close(part)

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Add a text, in Markdown."""
        protocol = _protocol()
        plugin = protocol.Metadata.PluginData(plugin_name="text", content=b"")
        shape = protocol.Shape(dim=[protocol.Shape.Dim(size=1)])
        content = protocol.Tensor(dtype="DT_STRING", string_val=[str(text_string).encode()], tensor_shape=shape)
        metadata = protocol.Metadata(plugin_data=plugin)
        self._add(walltime, global_step, tag=f"{tag}/text_summary", metadata=metadata, tensor=content)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Add a sound of one channel, with values from -1 to 1.

        sample_rate: the number of values per second.
        Shapes: one dimension; dimensions of size 1 are dropped.
        Raises: ArgumentError for several dimensions.
        """
        samples = _array(snd_tensor).squeeze()
        if samples.ndim != 1:
            raise ArgumentError(
                f"a sound must have one dimension, got shape {list(samples.shape)}",
                hint="pass one channel",
                operator="add_audio",
            )
        file = io.BytesIO()
        with wave.open(file, "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(sample_rate)
            sound.writeframes((samples.clip(-1, 1) * 32767).astype("<i2").tobytes())
        audio = _protocol().Summary.Audio(
            sample_rate=sample_rate,
            num_channels=1,
            length_frames=len(samples),
            encoded_audio_string=file.getvalue(),
            content_type="audio/wav",
        )
        self._add(walltime, global_step, tag=tag, audio=audio)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = MAX_THRESHOLDS,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add the curve of precision and recall of a binary classifier.

        labels: true or false.  predictions: probabilities of true.  weights: the weight of each entry, 1 if None.
        num_thresholds: the number of thresholds on the probability, 2 to 127; a larger number counts as 127.
        Raises: ArgumentError for invalid probabilities, labels or numbers, and for inputs of different sizes.
        """
        count = _thresholds("add_pr_curve", num_thresholds)
        curve = _curve(_array(labels), _array(predictions), count, 1.0 if weights is None else _array(weights))
        self._add_curve(tag, curve, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = MAX_THRESHOLDS,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a curve of precision and recall that is already computed, with one value per threshold in each argument.

        weights: not used, as in PyTorch.
        Raises: ArgumentError for arguments of different sizes.
        """
        given = (
            true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall,
        )  # fmt: skip
        rows = [_array(values).reshape(-1) for values in given]
        count = _thresholds("add_pr_curve_raw", num_thresholds)
        if {len(row) for row in rows} != {count}:
            raise ArgumentError(
                f"num_thresholds is {count}, and the arguments have {', '.join(str(len(row)) for row in rows)} values",
                hint="pass one value per threshold",
                operator="add_pr_curve_raw",
            )
        self._add_curve(tag, np.stack(rows), global_step, walltime)

    def _add_curve(self, tag: str, rows: Any, global_step: Any, walltime: float | None) -> None:
        """Write the six rows of a curve, in the order of TensorBoard's plugin."""
        protocol = _protocol()
        content = protocol.Curve(version=0, num_thresholds=rows.shape[1]).SerializeToString()
        plugin = protocol.Metadata.PluginData(plugin_name="pr_curves", content=content)
        shape = protocol.Shape(dim=[protocol.Shape.Dim(size=size) for size in rows.shape])
        values = rows.astype(np.float32).reshape(-1).tolist()
        tensor = protocol.Tensor(dtype="DT_FLOAT", float_val=values, tensor_shape=shape)
        self._add(walltime, global_step, tag=tag, metadata=protocol.Metadata(plugin_data=plugin), tensor=tensor)

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Add hyperparameters and the metrics that were reached with them, as a run in a folder of its own.

        hparam_dict, metric_dict: values by name.  run_name: the folder's name, the time by default.
        hparam_domain_discrete: has no effect.
        Raises: ArgumentTypeError if an argument is not a dict, or a metric is neither a number nor a tensor with one
                element.
        """
        summaries = import_module("tensorboard.plugins.hparams.summary_v2")
        for name, given in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
            if not isinstance(given, Mapping):
                raise ArgumentTypeError(
                    f"{name} must be a dict, got {shown(given)}",
                    hint="pass a dict of names and values",
                    operator="add_hparams",
                )
        plain = {name: _array(value).item() if isinstance(value, TensorBase) else value
                 for name, value in hparam_dict.items()}
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        writer = self._writer(folder)
        metrics = [summaries.Metric(name) for name in metric_dict]
        for content in (
            summaries.hparams_config_pb([summaries.HParam(name) for name in plain], metrics),
            summaries.hparams_pb(plain),
        ):
            self._write(writer, None, None, summary=content)
        summary = _protocol().Summary
        for name, value in metric_dict.items():
            entry = summary.Value(tag=name, simple_value=_number("add_hparams", value))
            self._write(writer, None, global_step, summary=summary(value=[entry]))

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Warn that no graph is written, because networks are not traced."""
        callers.warn("SummaryWriter.add_graph writes no graph: networks are not traced")

    def flush(self) -> None:
        """Write the pending entries."""
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Write the pending entries and close the files."""
        for writer in self._writers.values():
            writer.close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"expected a number or a tensor of one element, got {shown(value)}",
            hint="reduce the tensor first, for example with tensor.mean()",
            operator=name,
        ) from error


def _array(value: Any) -> Any:
    tensor: Any = value
    return tensor.detach().cpu().numpy() if isinstance(value, TensorBase) else np.asarray(value)


def _thresholds(name: str, count: Any) -> int:
    """Check a number of thresholds; return it, at most MAX_THRESHOLDS."""
    if isinstance(count, bool) or not isinstance(count, int):
        raise ArgumentTypeError(
            f"num_thresholds must be an int, got {shown(count)}",
            hint=f"pass an int, for example {MAX_THRESHOLDS}",
            operator=name,
        )
    if count < 2:
        raise ArgumentError(
            f"num_thresholds must be 2 or more, got {count}", hint=f"pass 2 to {MAX_THRESHOLDS}", operator=name
        )
    return min(count, MAX_THRESHOLDS)


def _curve(labels: Any, predictions: Any, count: int, weights: Any) -> Any:
    """Return true and false positives, true and false negatives, precision and recall by threshold, [6, count]."""
    if labels.shape != predictions.shape or not labels.size:
        raise ArgumentError(
            f"labels have shape {list(labels.shape)}, and predictions have shape {list(predictions.shape)}",
            hint="pass one probability per label",
            operator="add_pr_curve",
        )
    for name, values in (("labels", labels), ("predictions", predictions)):
        low, high = values.min(), values.max()
        if not (low >= 0 and high <= 1):
            raise ArgumentError(
                f"{name} must be from 0 to 1, and are from {low} to {high}",
                hint="pass labels of 0 and 1, and probabilities such as logits.sigmoid()",
                operator="add_pr_curve",
            )
    try:
        weights = np.broadcast_to(weights, labels.shape).reshape(-1).astype(np.float64)
    except ValueError as error:
        raise ArgumentError(
            f"weights have shape {list(weights.shape)}, and labels have shape {list(labels.shape)}",
            hint="pass one weight per label",
            operator="add_pr_curve",
        ) from error
    bins = np.floor(predictions.reshape(-1) * (count - 1)).astype(np.int64)
    true = labels.reshape(-1).astype(np.float64)
    true_positives, false_positives = (
        np.bincount(bins, mask * weights, count)[::-1].cumsum()[::-1] for mask in (true, 1 - true)
    )
    true_negatives, false_negatives = false_positives[0] - false_positives, true_positives[0] - true_positives
    precision, recall = (
        true_positives / np.maximum(true_positives + other, 1e-7) for other in (false_positives, false_negatives)
    )
    return np.stack([true_positives, false_positives, true_negatives, false_negatives, precision, recall])


def _histogram(values: Any, bins: Any, max_bins: int | None) -> Any:
    """Count values by bins; empty bins at the ends are left out."""
    if isinstance(bins, str) and bins == "tensorflow":
        positive = 1e-12 * 1.1 ** np.arange(BINS)
        bins = np.concatenate([-positive[::-1], [0.0], positive])
    counts, limits = np.histogram(values, bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
        limits = np.append(limits[:-1][::step], limits[-1])
    used = np.nonzero(counts)[0]
    first, last = (used[0], used[-1] + 1) if len(used) else (0, 0)
    return _protocol().Histogram(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=[limits[first], *limits[first + 1 : last + 1]],
        bucket=[0, *counts[first:last]],
    )


def _arranged(name: str, image: Any, formats: str) -> Any:
    """Return an image as uint8 rows of pixels with one, three or four channels."""
    letters = formats.upper()
    if image.ndim != len(letters) or sorted(letters) not in (["C", "H", "W"], ["H", "W"]):
        raise ArgumentError(
            f"dataformats {formats!r} does not fit an image with {image.ndim} dimensions",
            hint="use 'CHW', 'HWC' or 'HW'",
            operator=name,
        )
    if image.dtype != np.uint8:
        image = (image.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)
    if len(letters) == 2:
        return image.transpose([letters.index("H"), letters.index("W")])[:, :, None]
    return image.transpose([letters.index(letter) for letter in "HWC"])


def _grid(images: list[Any]) -> Any:
    """Join images of one size into a grid that is about as wide as high."""
    height, width, channels = images[0].shape
    columns = int(np.ceil(np.sqrt(len(images))))
    rows = -(-len(images) // columns)
    grid = np.zeros((rows * height, columns * width, channels), np.uint8)
    for number, image in enumerate(images):
        row, column = divmod(number, columns)
        grid[row * height : (row + 1) * height, column * width : (column + 1) * width] = image
    return grid


def _image(pixels: Any) -> Any:
    height, width, channels = pixels.shape
    return _protocol().Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=_png(np.ascontiguousarray(pixels))
    )


def _png(pixels: Any) -> bytes:
    """Encode uint8 rows of pixels as a PNG file (https://www.w3.org/TR/png/)."""
    height, width, channels = pixels.shape
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunks((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")))


def _chunks(*parts: tuple[bytes, bytes]) -> Iterator[bytes]:
    for name, data in parts:
        yield struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _drawn(figure: Any) -> Any:
    """Return a figure's pixels, with their alpha channel."""
    canvas = import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def _close(figure: Any) -> None:
    import_module("matplotlib.pyplot").close(figure)
