"""Code shared by the examples: options, data, and a training loop that can be saved, resumed and plotted."""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pydoc_data.topics import topics
from typing import Any, Protocol, cast

from sklearn.datasets import load_digits
from tqdm import tqdm

import flambeau as torch
from flambeau import nn, optim

SHOWN_EVERY = 20  # steps; showing a loss makes the host wait for the device


class Stateful(Protocol):
    """A module, an optimizer, a scheduler or a gradient scaler."""

    def state_dict(self) -> Any: ...

    def load_state_dict(self, state_dict: Any) -> Any: ...


def parser(description: str, steps: int, batch_size: int) -> argparse.ArgumentParser:
    """Return a parser with the options that the examples share."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    made.add_argument("--steps", type=int, default=steps, help="number of the last step")
    made.add_argument("--batch-size", type=int, default=batch_size)
    made.add_argument("--seed", type=int, default=0)
    add_options_of_training(made)
    return made


def add_options_of_training(made: argparse.ArgumentParser) -> None:
    """Add the options that `Training` reads."""
    made.add_argument("--amp", action="store_true", help="mixed precision: float16 on a GPU, bfloat16 on the CPU")
    made.add_argument("--save", metavar="FILE", help="write the state of the training to FILE at the end")
    made.add_argument("--resume", metavar="FILE", help="continue from a file that --save wrote")
    made.add_argument("--plot", metavar="FILE", help="plot the losses to FILE (.png, .svg, .pdf)")


class Training:
    """A run of training steps.  A run that is saved and resumed gives the same losses as an uninterrupted one."""

    def __init__(self, options: argparse.Namespace, parts: Mapping[str, Stateful]) -> None:
        self.options = options
        self.device = torch.device(options.device)
        # bfloat16 has the range of float32: its gradients need no scaling
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=options.amp and self.device.type == "cuda")
        self.parts = {**parts, "scaler": self.scaler}
        self.losses: dict[str, list[float]] = {}
        self.done = 0
        if options.resume:
            self.resume(options.resume)

    def run(self, step: Callable[[], Mapping[str, torch.Tensor]]) -> None:
        """Call `step`, which returns its losses by name, until the last step is done.  Then save and plot."""
        pending: list[Mapping[str, torch.Tensor]] = []
        with tqdm(range(self.done, self.options.steps), desc="training", unit="step") as bar:
            for number in bar:
                pending.append({name: loss.detach() for name, loss in step().items()})
                if (number + 1) % SHOWN_EVERY == 0 or number + 1 == self.options.steps:
                    self.read(pending)
                    last = [f"{name} {values[-1]:.3f}" for name, values in self.losses.items()]
                    bar.set_postfix_str(", ".join(last))
        self.finish(self.options.steps)

    def autocast(self) -> torch.autocast:
        """Return the context for the forward pass and the loss: autocast, which is off without --amp."""
        return torch.autocast(self.device.type, enabled=self.options.amp)

    def update(
        self, loss: torch.Tensor, optimizer: optim.Optimizer, clipped: Iterable[torch.Tensor] = (), norm: float = 1.0
    ) -> None:
        """Clip the gradients of the parameters `clipped` to the norm `norm`, and make a step of the optimizer."""
        optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        if clipped:
            self.scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(clipped, norm)
        self.scaler.step(optimizer)
        self.scaler.update()

    def finish(self, done: int) -> None:
        """Save and plot after `done` steps or epochs."""
        self.done = max(self.done, done)
        if self.options.save:
            self.save(self.options.save)
        if self.options.plot:
            self.plot(self.options.plot)

    def read(self, pending: list[Mapping[str, torch.Tensor]]) -> None:
        """Copy the losses of the last steps to the host, all at once."""
        for name in pending[0]:
            values: list[float] = torch.stack([losses[name] for losses in pending]).tolist()
            self.losses.setdefault(name, []).extend(values)
        pending.clear()

    def save(self, path: str) -> None:
        state = {
            "parts": {name: part.state_dict() for name, part in self.parts.items()},
            "done": self.done,
            "losses": self.losses,
            "random": torch.get_rng_state(),
        }
        if self.device.type == "cuda":
            state["cuda random"] = torch.cuda.get_rng_state(self.device)
        torch.save(state, path)

    def resume(self, path: str) -> None:
        state = torch.load(path, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state["parts"][name])
        self.done, self.losses = state["done"], state["losses"]
        torch.set_rng_state(state["random"])
        if self.device.type == "cuda" and "cuda random" in state:
            torch.cuda.set_rng_state(state["cuda random"], self.device)

    def plot(self, path: str) -> None:
        from matplotlib.figure import Figure

        figure = cast(Any, Figure(figsize=(6, 4), layout="constrained"))  # matplotlib has few annotations
        axes = figure.subplots()
        for name, values in self.losses.items():
            axes.plot(range(1, len(values) + 1), values, label=name)
        axes.set_xlabel("step")
        axes.set_ylabel("loss")
        axes.legend()
        figure.savefig(path)


def digits() -> tuple[torch.Tensor, torch.Tensor]:
    """Return 1,797 images of handwritten digits, 8 by 8 brightness values from 0 to 1, and the digits."""
    loaded = cast(Any, load_digits())  # scikit-learn has no annotations
    images = torch.tensor(loaded.images / 16.0, dtype=torch.float32)
    return images.unsqueeze(1), torch.tensor(loaded.target, dtype=torch.int64)


def english(characters: int) -> str:
    """Return the first characters of Python's language reference, which every Python ships for `help()`."""
    pages = [topics[name] for name in sorted(topics)]
    return "\n".join(pages).encode("ascii", "ignore").decode()[:characters]


def windows(tokens: torch.Tensor, length: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return random pieces of a sequence, and the same pieces one token later."""
    starts = torch.randint(len(tokens) - length, (count, 1))
    places = starts + torch.arange(length)
    return tokens[places], tokens[places + 1]


def picture(image: torch.Tensor) -> str:
    """Return an image as lines of text."""
    rows: Sequence[Sequence[float]] = image.squeeze(0).tolist()
    return "\n".join("".join(" .:-=+*#%@"[min(9, max(0, int(value * 10)))] for value in row) for row in rows)
