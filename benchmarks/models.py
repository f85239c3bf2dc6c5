"""Networks and their training steps, written for any library with PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

Array = Any
Library = Any
Tensors = list[Any]


PHOTOS = dict(batch=128, side=224, classes=1000, width=64)
FULL: tuple[dict[str, Any], ...] = (
    dict(batch=64, channels=32, hidden=128),
    dict(PHOTOS, blocks=(2, 2, 2, 2)),
    dict(PHOTOS, blocks=(3, 4, 6, 3)),
    dict(batch=20, length=35, words=33278, width=650, layers=2),
    dict(batch=8, length=1024, words=50304, width=768, layers=12, heads=12),
    dict(batch=8, length=128, words=1000, width=256, layers=6, heads=8),
)
ICONS = dict(batch=4, side=32, classes=10, width=8, blocks=(1, 1))
FEW_TOKENS = dict(batch=2, length=16, words=64, width=32, layers=2, heads=2)
SMALL: tuple[dict[str, Any], ...] = (
    dict(batch=4, channels=4, hidden=8), ICONS, ICONS,
    dict(batch=4, length=5, words=50, width=16, layers=2), FEW_TOKENS, FEW_TOKENS,
)  # fmt: skip


class Training(NamedTuple):
    """A network on its device.  step: trains once and returns the loss of before the step."""

    net: Any
    step: Callable[[], Any]


class Model(NamedTuple):
    """A network, with its sizes.

    arrays: one batch, from a generator and the sizes.  make: the training of a library, on a device, with a batch.
    """

    arrays: Callable[..., list[Array]]
    make: Callable[..., Training]
    sizes: dict[str, Any]


def built(library: Library, device: str, model: Model, state: dict[str, Array] | None = None) -> Training:
    """A training on `device`, with PyTorch's initial parameters, or with those of `state`."""
    arrays = model.arrays(np.random.default_rng(0), **model.sizes)
    batch = [library.from_numpy(each).to(device) for each in arrays]
    library.manual_seed(0)
    training = model.make(library, device, batch, **model.sizes)
    if state is not None:
        training.net.load_state_dict({name: library.from_numpy(value) for name, value in state.items()})
    return training


def parameters(training: Training) -> dict[str, Array]:
    """Copies of the parameters and buffers."""
    return {name: value.detach().cpu().numpy().copy() for name, value in training.net.state_dict().items()}


def set_dropout(library: Library, net: Any, active: bool) -> None:
    """Drop as the network says, or nothing: libraries may draw different random numbers."""
    for module in net.modules():
        if isinstance(module, library.nn.Dropout):
            module.train(active)
        elif isinstance(module, library.nn.LSTM):
            module.dropout = net.rate if active else 0.0


# digits


def _digit_batch(random: Any, batch: int, **sizes: Any) -> list[Array]:
    return [random.standard_normal((batch, 1, 28, 28), np.float32), random.integers(0, 10, batch)]


def _digit_training(
    library: Library, device: str, tensors: Tensors, batch: int, channels: int, hidden: int
) -> Training:
    nn, F = library.nn, library.nn.functional

    class Digits(nn.Module):
        """Two convolutions and two layers, as in PyTorch's first example."""

        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(1, channels, 3), nn.Conv2d(channels, 2 * channels, 3)
            self.drop, self.drop_half = nn.Dropout(0.25), nn.Dropout(0.5)
            self.hidden, self.out = nn.Linear(2 * channels * 12 * 12, hidden), nn.Linear(hidden, 10)

        def forward(self, x: Any) -> Any:
            x = F.relu(self.second(F.relu(self.first(x))))
            x = library.flatten(self.drop(F.max_pool2d(x, 2)), 1)
            x = self.drop_half(F.relu(self.hidden(x)))
            return F.log_softmax(self.out(x), dim=1)

    with library.device(device):
        net = Digits()
    optimizer = library.optim.Adadelta(net.parameters(), lr=0.1)
    images, classes = tensors

    def step() -> Any:
        optimizer.zero_grad()
        loss = F.nll_loss(net(images), classes)
        loss.backward()
        optimizer.step()
        return loss

    return Training(net, step)


# residual networks


def _image_batch(random: Any, batch: int, side: int, classes: int, **sizes: Any) -> list[Array]:
    return [random.standard_normal((batch, 3, side, side), np.float32), random.integers(0, classes, batch)]


def residual_net(library: Library, blocks: tuple[int, ...], bottleneck: bool, width: int, classes: int) -> Any:
    nn, relu = library.nn, library.nn.functional.relu

    def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> Any:
        return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)

    class Block(nn.Module):
        """Two 3x3 convolutions, or one between two of 1x1 that narrow and widen, and a path around them."""

        def __init__(self, inputs: int, inner: int, outputs: int, stride: int) -> None:
            super().__init__()
            if bottleneck:
                shapes = [(inputs, inner, 1, 1), (inner, inner, 3, stride), (inner, outputs, 1, 1)]
            else:
                shapes = [(inputs, inner, 3, stride), (inner, outputs, 3, 1)]
            self.convolutions = nn.ModuleList(convolution(*shape) for shape in shapes)
            self.norms = nn.ModuleList(nn.BatchNorm2d(shape[1]) for shape in shapes)
            self.around = None
            if stride != 1 or inputs != outputs:
                self.around = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

        def forward(self, x: Any) -> Any:
            identity = x if self.around is None else self.around(x)
            last = len(self.norms) - 1
            for number, (convolve, norm) in enumerate(zip(self.convolutions, self.norms)):
                x = norm(convolve(x))
                x = relu(x + identity if number == last else x)
            return x

    stages, inputs = [], width
    for number, count in enumerate(blocks):
        inner = width << number
        outputs = 4 * inner if bottleneck else inner
        for place in range(count):
            stages.append(Block(inputs, inner, outputs, 2 if number and not place else 1))
            inputs = outputs
    stem = convolution(3, width, 7, 2), nn.BatchNorm2d(width), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
    return nn.Sequential(*stem, *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def _image_training(
    library: Library, device: str, tensors: Tensors, batch: int, side: int, classes: int, **shape: Any
) -> Training:
    with library.device(device):
        net = residual_net(library, classes=classes, **shape)
    net = net.to(memory_format=library.channels_last)
    optimizer = library.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    images, labels = tensors[0].to(memory_format=library.channels_last), tensors[1]

    def step() -> Any:
        optimizer.zero_grad()
        with library.autocast(device, dtype=library.bfloat16):
            loss = library.nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return Training(net, step)


# language models


def _word_batch(random: Any, batch: int, length: int, words: int, **sizes: Any) -> list[Array]:
    """Words [length, batch] and the ones that follow."""
    text = random.integers(0, words, (length + 1, batch))
    return [text[:-1].copy(), text[1:].reshape(-1)]


def _word_training(
    library: Library, device: str, tensors: Tensors, batch: int, length: int, words: int, width: int, layers: int
) -> Training:
    nn = library.nn

    class Words(nn.Module):
        """A word-level model with an LSTM and tied weights."""

        rate = 0.2

        def __init__(self) -> None:
            super().__init__()
            self.drop, self.words = nn.Dropout(self.rate), nn.Embedding(words, width)
            self.lstm = nn.LSTM(width, width, layers, dropout=self.rate)
            self.out = nn.Linear(width, words)
            nn.init.uniform_(self.words.weight, -0.1, 0.1)
            nn.init.zeros_(self.out.bias)
            self.out.weight = self.words.weight

        def forward(self, x: Any, hidden: Any) -> tuple[Any, Any]:
            outputs, hidden = self.lstm(self.drop(self.words(x)), hidden)
            scores = self.out(self.drop(outputs)).view(-1, words)
            return nn.functional.log_softmax(scores, dim=1), hidden

    with library.device(device):
        net = Words()
        hidden = tuple(library.zeros(layers, batch, width) for _ in range(2))
    text, following = tensors

    def step() -> Any:
        nonlocal hidden
        net.zero_grad()
        hidden = tuple(each.detach() for each in hidden)
        scores, hidden = net(text, hidden)
        loss = nn.functional.nll_loss(scores, following)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.25)
        with library.no_grad():
            for parameter in net.parameters():
                parameter.add_(parameter.grad, alpha=-5.0)
        return loss

    return Training(net, step)


def _token_batch(random: Any, batch: int, length: int, words: int, **sizes: Any) -> list[Array]:
    """Tokens [batch, length] and the ones that follow."""
    text = random.integers(0, words, (batch, length + 1))
    return [text[:, :-1].copy(), text[:, 1:].reshape(-1)]


def gpt(library: Library, length: int, words: int, width: int, layers: int, heads: int) -> Any:
    nn, F = library.nn, library.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            rows, size, _ = x.shape
            parts = self.qkv(self.before(x)).split(width, 2)
            query, key, value = (part.view(rows, size, heads, width // heads).transpose(1, 2) for part in parts)
            mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.mix(mixed.transpose(1, 2).contiguous().view(rows, size, width))
            return x + self.down(F.gelu(self.up(self.between(x))))

    class GPT(nn.Module):
        """GPT-2's layers, with tied weights and without dropout."""

        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
            for embedding in (self.words, self.places):
                nn.init.normal_(embedding.weight, std=0.02)
            self.out.weight = self.words.weight

        def forward(self, x: Any, following: Any) -> Any:
            places = library.arange(x.shape[1], device=x.device)
            x = self.norm(self.blocks(self.words(x) + self.places(places)))
            return F.cross_entropy(self.out(x).view(-1, words), following)

    return GPT()


def _token_training(library: Library, device: str, tensors: Tensors, batch: int, half: bool, **shape: Any) -> Training:
    with library.device(device):
        net = gpt(library, **shape)
    optimizer = library.optim.AdamW(net.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1)

    def cast() -> AbstractContextManager[Any]:
        return library.autocast(device, dtype=library.bfloat16) if half else nullcontext()

    def step() -> Any:
        optimizer.zero_grad()
        with cast():
            loss = net(*tensors)
        loss.backward()
        optimizer.step()
        return loss

    return Training(net, step)


def models(small: bool = False) -> dict[str, Model]:
    """Each network by name; `small` ones train on a virtual GPU within a second."""
    digits, basic, deep, words, tokens, short = SMALL if small else FULL
    return {
        "MNIST CNN": Model(_digit_batch, _digit_training, digits),
        "ResNet-18": Model(_image_batch, _image_training, dict(basic, bottleneck=False)),
        "ResNet-50": Model(_image_batch, _image_training, dict(deep, bottleneck=True)),
        "LSTM language model": Model(_word_batch, _word_training, words),
        "GPT-2 124M": Model(_token_batch, _token_training, dict(tokens, half=True)),
        "small GPT": Model(_token_batch, _token_training, dict(short, half=False)),
        "small GPT, bfloat16": Model(_token_batch, _token_training, dict(short, half=True)),
    }
