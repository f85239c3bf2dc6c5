"""Device rates of work on images: convolutions in TFLOP/s; normalization, pooling, resizing and padding in TB/s.

Bytes are those that must be read and written at least.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import check
from .goals import at_least
from .times import Row, Sizes, Work

HALF_TOLERANCE, GRADIENT_TOLERANCE, TF32_TOLERANCE = 1e-2, 2e-2, 2e-3
KERNEL = 3


def _images(library: Any, sizes: Sizes, dtype: str = "float32", channels_last: bool = False) -> Any:
    images = library.randn(*sizes.images, device="cuda").to(getattr(library, dtype))
    return images.to(memory_format=library.channels_last) if channels_last else images


def _exact_convolution(images: Any, weights: Any) -> Any:
    """Of a float64 image [channels, height, width] with weights [out, channels, 3, 3], padded by 1."""
    _, height, width = images.shape
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    shifts = [(y, x) for y in range(KERNEL) for x in range(KERNEL)]
    return sum(np.tensordot(weights[:, :, y, x], padded[:, y : y + height, x : x + width], 1) for y, x in shifts)


def _convolution(dtype: str, channels_last: bool, tf32: bool, backward: bool) -> Any:
    def make(library: Any, sizes: Sizes) -> Work:
        batch, channels, height, width = sizes.images
        before, library.backends.cudnn.allow_tf32 = library.backends.cudnn.allow_tf32, tf32
        images = _images(library, sizes, dtype, channels_last).requires_grad_(backward)
        weights = library.randn(channels, channels, KERNEL, KERNEL, device="cuda").to(images.dtype)
        weights = weights.to(memory_format=library.channels_last) if channels_last else weights
        weights = weights.requires_grad_(backward)
        convolve = functools.partial(library.nn.functional.conv2d, images, weights, padding=1)
        out = convolve()
        grad = library.randn_like(out)

        def gradients() -> Any:
            return library.autograd.grad(out, (images, weights), grad, retain_graph=True)

        def error() -> float:
            image, kernels = check.host(images[-1]), check.host(weights)
            if not backward:
                return check.error(check.host(convolve()[-1]), _exact_convolution(image, kernels))
            of_images, of_weights = gradients()
            turned = kernels.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1]
            first = check.error(check.host(of_images[-1]), _exact_convolution(check.host(grad[-1]), turned))
            whole = np.pad(check.host(images[:, 0]), ((0, 0), (1, 1), (1, 1)))
            own = check.host(grad[:, 0])
            sums = [
                [(whole[:, y : y + height, x : x + width] * own).sum() for x in range(KERNEL)] for y in range(KERNEL)
            ]
            return max(first, check.error(check.host(of_weights[0, 0]), np.array(sums)))

        operations = 2 * batch * channels * channels * KERNEL * KERNEL * height * width * (2 if backward else 1)

        def close() -> None:
            library.backends.cudnn.allow_tf32 = before

        return Work(gradients if backward else convolve, error, operations / 1e12, close)

    return make


def _of_images(
    apply: Callable[[Any, Any], Any], exact: Callable[[Any], Any], moved: float, channels_last: bool = False
) -> Any:
    """Work of `apply(library, images)` on float32; `exact` gives the last image's result from all images in float64.

    moved: bytes read and written, as a multiple of those of the images.
    """

    def make(library: Any, sizes: Sizes) -> Work:
        images = _images(library, sizes, channels_last=channels_last)

        def error() -> float:
            return check.error(check.host(apply(library, images)[-1]), exact(check.host(images)))

        return Work(lambda: apply(library, images), error, moved * 4 * images.numel() / 1e12)

    return make


def _gradient(apply: Callable[[Any, Any], Any], exact: Callable[[Any, Any], Any], moved: float) -> Any:
    """Work of the gradient of `apply(library, images)`; `exact` gives that of the last image, from it and from what
    flows in, both in float64.  moved: as in `_of_images`.
    """

    def make(library: Any, sizes: Sizes) -> Work:
        images = _images(library, sizes).requires_grad_()
        out = apply(library, images)
        grad = library.randn_like(out)

        def gradient() -> Any:
            return library.autograd.grad(out, images, grad, retain_graph=True)[0]

        def error() -> float:
            return check.error(check.host(gradient()[-1]), exact(*(check.host(each[-1]) for each in (images, grad))))

        return Work(gradient, error, moved * 4 * images.numel() / 1e12)

    return make


def _normalized(library: Any, images: Any) -> Any:
    return library.nn.functional.batch_norm(images, None, None, training=True)


def _exact_norm(images: Any) -> Any:
    mean, variance = (each(axis=(0, 2, 3), keepdims=True)[0] for each in (images.mean, images.var))
    return (images[-1] - mean) / np.sqrt(variance + 1e-5)


def _batch_norm(dtype: str, channels_last: bool, backward: bool) -> Any:
    """Work of batch norm in training with running statistics, or of its gradients.  One channel is checked."""

    def make(library: Any, sizes: Sizes) -> Work:
        images = _images(library, sizes, dtype, channels_last).requires_grad_(backward)
        channels = images.shape[1]
        weight = library.rand(channels, device="cuda").requires_grad_(backward)
        bias = library.rand(channels, device="cuda").requires_grad_(backward)
        running = library.zeros(channels, device="cuda"), library.ones(channels, device="cuda")
        apply = functools.partial(library.nn.functional.batch_norm, images, *running, weight, bias, training=True)
        out = apply()
        grad = library.randn_like(out)

        def gradients() -> Any:
            return library.autograd.grad(out, (images, weight, bias), grad, retain_graph=True)

        def error() -> float:
            x, scale, shift = check.host(images[:, 0]), check.host(weight[:1]), check.host(bias[:1])
            rstd = 1 / np.sqrt(x.var() + 1e-5)
            normal = (x - x.mean()) * rstd
            if not backward:
                return check.error(check.host(apply()[:, 0]), normal * scale + shift)
            slope = check.host(grad[:, 0])
            exact = rstd * scale * (slope - slope.mean() - normal * (slope * normal).mean())
            return check.error(check.host(gradients()[0][:, 0]), exact)

        moved = 5 if backward else 3
        nbytes = moved * images.element_size() * images.numel()
        return Work(gradients if backward else apply, error, nbytes / 1e12)

    return make


def _quarters(image: Any) -> Any:
    """An image as [channels, height / 2, 2, width / 2, 2]."""
    channels, height, width = image.shape
    return image.reshape(channels, height // 2, 2, width // 2, 2)


def _exact_resize(images: Any) -> Any:
    """Twice as large, bilinear, as interpolate does without align_corners."""
    image = images[-1]
    for axis in (1, 2):
        size = image.shape[axis]
        places = np.clip((np.arange(2 * size) + 0.5) / 2 - 0.5, 0, size - 1)
        low = places.astype(int)
        share = (places - low).reshape(-1, 1) if axis == 1 else places - low
        image = image.take(low, axis) * (1 - share) + image.take(np.minimum(low + 1, size - 1), axis) * share
    return image


def _resized(library: Any, images: Any) -> Any:
    return library.nn.functional.interpolate(images, scale_factor=2, mode="bilinear")


def _padded(mode: str, of_numpy: Any) -> Any:
    def apply(library: Any, images: Any) -> Any:
        return library.nn.functional.pad(images, (2, 2, 2, 2), mode=mode)

    def exact(images: Any) -> Any:
        return np.pad(images[-1], ((0, 0), (2, 2), (2, 2)), mode=of_numpy)

    return _of_images(apply, exact, 2)


def _largest(library: Any, images: Any) -> Any:
    return library.nn.functional.max_pool2d(images, 2)


def _exact_largest(images: Any) -> Any:
    return _quarters(images[-1]).max((2, 4))


def _exact_to_largest(image: Any, grad: Any) -> Any:
    """Return the gradient of max pooling: `grad` at the first largest element of each window, 0 elsewhere."""
    windows = _quarters(image).transpose(0, 1, 3, 2, 4)
    flat = windows.reshape(*windows.shape[:3], -1)
    chosen = np.arange(flat.shape[-1]) == flat.argmax(-1)[..., None]
    spread = (chosen * grad[..., None]).reshape(windows.shape)
    return spread.transpose(0, 1, 3, 2, 4).reshape(image.shape)


def _largest_of_nine(library: Any, images: Any) -> Any:
    return library.nn.functional.max_pool2d(images, 3, 2, 1)


def _exact_largest_of_nine(images: Any) -> Any:
    _, height, width = images[-1].shape
    framed = np.pad(images[-1], ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    shifts = [framed[:, y : y + height : 2, x : x + width : 2] for y in range(KERNEL) for x in range(KERNEL)]
    return np.max(shifts, axis=0)


def _averaged(library: Any, images: Any) -> Any:
    return library.nn.functional.avg_pool2d(images, 2)


def _exact_average(images: Any) -> Any:
    return _quarters(images[-1]).mean((2, 4))


def _exact_to_average(image: Any, grad: Any) -> Any:
    return np.repeat(np.repeat(grad, 2, axis=1), 2, axis=2) / 4


def _adapted(places: int) -> Any:
    def apply(library: Any, images: Any) -> Any:
        return library.nn.functional.adaptive_avg_pool2d(images, places)

    def exact(images: Any) -> Any:
        image = images[-1]
        for axis in (1, 2):
            size = image.shape[axis]
            ranges = [np.arange(o * size // places, -(-(o + 1) * size // places)) for o in range(places)]
            image = np.stack([image.take(each, axis).mean(axis) for each in ranges], axis)
        return image

    return _of_images(apply, exact, 1)


rate = functools.partial(Row, unit="TB/s", tolerance=1e-5, goals=(at_least(0.99),))
product = functools.partial(Row, unit="TFLOP/s", goals=(at_least(0.97),))

ROWS = (
    product(
        "conv 3x3, bfloat16, channels last",
        make=_convolution("bfloat16", True, True, False),
        tolerance=HALF_TOLERANCE,
    ),
    product(
        "conv 3x3, bfloat16, channels last, backward",
        make=_convolution("bfloat16", True, True, True),
        tolerance=GRADIENT_TOLERANCE,
    ),
    product("conv 3x3, TF32", make=_convolution("float32", False, True, False), tolerance=TF32_TOLERANCE),
    product("conv 3x3, TF32, backward", make=_convolution("float32", False, True, True), tolerance=TF32_TOLERANCE),
    product("conv 3x3, float32", make=_convolution("float32", False, False, False), tolerance=1e-5),
    product("conv 3x3, float32, backward", make=_convolution("float32", False, False, True), tolerance=1e-4),
    rate("batch norm", make=_of_images(_normalized, _exact_norm, 3)),
    *(
        rate(
            f"batch norm{', bfloat16' * is_half}{', channels last' * channels_last}{', backward' * backward}",
            make=_batch_norm("bfloat16" if is_half else "float32", channels_last, backward),
            tolerance=GRADIENT_TOLERANCE if is_half else 1e-4,
        )
        for is_half, channels_last, backward in itertools.product((False, True), repeat=3)
        if is_half or channels_last or backward  # the first is above
    ),
    rate("max pool 2x2", make=_of_images(_largest, _exact_largest, 1.25)),
    rate("max pool 2x2, backward", make=_gradient(_largest, _exact_to_largest, 1.75)),
    rate("max pool 3x3", make=_of_images(_largest_of_nine, _exact_largest_of_nine, 1.25)),
    rate("max pool 3x3, channels last", make=_of_images(_largest_of_nine, _exact_largest_of_nine, 1.25, True)),
    rate("average pool 2x2", make=_of_images(_averaged, _exact_average, 1.25)),
    rate("average pool 2x2, backward", make=_gradient(_averaged, _exact_to_average, 1.25)),
    rate("average pool, adaptive, 5x5", make=_adapted(5)),
    rate("average pool of whole images", make=_adapted(1)),
    rate("interpolate, bilinear, twice", make=_of_images(_resized, _exact_resize, 5)),
    rate("pad, constant", make=_padded("constant", "constant")),
    rate("pad, reflect", make=_padded("reflect", "reflect")),
    rate("pad, replicate", make=_padded("replicate", "edge")),
)
