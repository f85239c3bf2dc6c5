"""Train a variational autoencoder on handwritten digits, and print some of its images.

    python examples/digits_vae.py --plot losses.png
"""

from collections.abc import Sequence

from training import Training, digits, parser, picture

import flambeau as torch
from flambeau import nn, optim
from flambeau.nn import functional as F


class VAE(nn.Module):
    """An encoder to the mean and log-variance of a latent vector, and a decoder from the vector to an image."""

    def __init__(self, latent: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 2 * latent)
        )
        self.decoder = nn.Sequential(
            *(nn.Linear(latent, 256), nn.ReLU(), nn.Unflatten(1, (16, 4, 4))),
            nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1),
        )

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        mean, log_variance = self.encoder(images).chunk(2, dim=1)
        latent = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decoder(latent), mean, log_variance


def main(argv: Sequence[str] | None = None) -> list[float]:
    """Train, print images, and return the loss of every step."""
    options_of = parser("Train a variational autoencoder on digits.", steps=600, batch_size=64)
    options_of.add_argument("--latent", type=int, default=8, help="size of the latent vector")
    options = options_of.parse_args(argv)
    torch.manual_seed(options.seed)

    images, _ = digits()
    net = VAE(options.latent).to(options.device)
    optimizer = optim.Adam(net.parameters(), lr=3e-3)
    training = Training(options, {"net": net, "optimizer": optimizer})

    def step() -> dict[str, torch.Tensor]:
        batch = images[torch.randint(len(images), (options.batch_size,))].to(options.device)
        with training.autocast():
            logits, mean, log_variance = net(batch)
            reconstruction = F.binary_cross_entropy_with_logits(logits, batch, reduction="sum") / len(batch)
            divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum() / len(batch)
            loss = reconstruction + divergence
        training.update(loss, optimizer)
        return {"loss": loss, "reconstruction": reconstruction, "divergence": divergence}

    training.run(step)
    with torch.no_grad():
        drawn = net.decoder(torch.randn(4, options.latent, device=options.device)).sigmoid().cpu()
    print("\n\n".join(picture(image) for image in drawn))
    return training.losses["loss"]


if __name__ == "__main__":
    main()
