"""Train a generator of handwritten digits against a discriminator, and print some of its images.

    python examples/digits_gan.py --plot losses.png
"""

from collections.abc import Sequence

from training import Stateful, Training, digits, parser, picture

import flambeau as torch
from flambeau import nn, optim
from flambeau.nn import functional as F

LATENT = 16


def generator() -> nn.Module:
    return nn.Sequential(
        *(nn.ConvTranspose2d(LATENT, 32, 4, bias=False), nn.BatchNorm2d(32), nn.ReLU()),
        *(nn.ConvTranspose2d(32, 1, 4, stride=2, padding=1), nn.Sigmoid()),
    )


def discriminator() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 4, stride=2, padding=1), nn.LeakyReLU(0.2), nn.Dropout(0.3)),
        *(nn.Conv2d(16, 32, 4), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(32, 1)),
    )


def main(argv: Sequence[str] | None = None) -> list[float]:
    """Train, print images, and return the generator's loss of every step."""
    options = parser("Train a generator and a discriminator of digits.", steps=600, batch_size=64).parse_args(argv)
    torch.manual_seed(options.seed)

    images, _ = digits()
    draw, judge = generator().to(options.device), discriminator().to(options.device)
    draw_optimizer = optim.Adam(draw.parameters(), lr=2e-3, betas=(0.5, 0.999))
    judge_optimizer = optim.Adam(judge.parameters(), lr=1e-3, betas=(0.5, 0.999))
    parts: dict[str, Stateful] = {"draw": draw, "judge": judge}
    training = Training(options, {**parts, "draw optimizer": draw_optimizer, "judge optimizer": judge_optimizer})

    def noise(count: int) -> torch.Tensor:
        return torch.randn(count, LATENT, 1, 1, device=options.device)

    def step() -> dict[str, torch.Tensor]:
        real = images[torch.randint(len(images), (options.batch_size,))].to(options.device)
        with training.autocast():
            drawn = draw(noise(len(real)))
            on_real, on_drawn = judge(real), judge(drawn.detach())
            judge_loss = F.softplus(-on_real).mean() + F.softplus(on_drawn).mean()
        training.update(judge_loss, judge_optimizer)

        with training.autocast():
            draw_loss = F.softplus(-judge(drawn)).mean()
        training.update(draw_loss, draw_optimizer)
        return {"generator": draw_loss, "discriminator": judge_loss}

    training.run(step)
    draw.eval()
    with torch.no_grad():
        drawn = draw(noise(4)).cpu()
    print("\n\n".join(picture(image) for image in drawn))
    return training.losses["generator"]


if __name__ == "__main__":
    main()
