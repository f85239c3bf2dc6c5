"""Draws from the gamma distribution, with the derivative of a sample with respect to its concentration.

- Samples are drawn by G. Marsaglia and W. Tsang, "A simple method for generating gamma variables", 2000: at least 95 %
  of the candidates are accepted, and each element has ROUNDS of them.  No value is read, so the host does not wait.
- A sample x of concentration a satisfies P(a, x) = u for a fixed u, so dx / da = -(dP / da) / (dP / dx).
"""

from __future__ import annotations

from typing import Any

from ..autograd.mode import is_grad_enabled, no_grad
from ..host import np, special
from .library import tiny, torch

ROUNDS = 8
STEP = 1e-3  # relative step of the concentration, for the derivative by fourth-order differences


def standard_gamma(concentration: Any) -> Any:
    """Return samples of the gamma distribution with rate 1; gradients reach the concentration.

    Host:   returns at once; for a gradient, waits if the tensor is on a GPU.
    """
    with no_grad():
        sample = _drawn(concentration.detach())
    if not (is_grad_enabled() and concentration.requires_grad):
        return sample
    slope = _slope(concentration.detach(), sample)
    return sample + (concentration - concentration.detach()) * slope


def _drawn(concentration: Any) -> Any:
    small = concentration < 1
    d = torch.where(small, concentration + 1, concentration) - 1 / 3
    c = 1 / (9 * d).sqrt()
    ratio, is_open = torch.ones_like(d), torch.ones_like(d) > 0
    for _ in range(ROUNDS):
        x = torch.randn_like(d)
        v = (1 + c * x) ** 3
        u = torch.rand_like(d).clamp(min=tiny(d.dtype))
        logarithm = v.clamp(min=tiny(d.dtype)).log()
        accepted = is_open & (v > 0) & (u.log() < 0.5 * x * x + d - d * v + d * logarithm)
        ratio, is_open = torch.where(accepted, v, ratio), is_open & ~accepted
    boost = torch.rand_like(d).clamp(min=tiny(d.dtype)).log() / concentration
    sample = torch.where(small, (boost + (d * ratio).log()).exp(), d * ratio)
    return sample.clamp(min=tiny(d.dtype))


def _slope(concentration: Any, sample: Any) -> Any:
    """Return the derivative of samples with respect to their concentration."""
    a, x = (value.cpu().numpy().astype("float64") for value in (concentration, sample))
    step = STEP * a
    lower, upper = (
        (8 * (f(a + step, x) - f(a - step, x)) - (f(a + 2 * step, x) - f(a - 2 * step, x))) / (12 * step)
        for f in (special.gammainc, special.gammaincc)
    )
    change = np.where(x < a, lower, -upper)  # the smaller one has the smaller error
    with np.errstate(all="ignore"):
        density = np.exp(special.xlogy(a - 1, x) - x - special.gammaln(a))
        slope = np.nan_to_num(-change / density)
    return torch.from_numpy(slope).to(sample.device, sample.dtype)


def sample_dirichlet(concentration: Any) -> Any:
    """Draw proportions, whose sum over the last dimension is 1, by normalized gamma variables."""
    drawn = standard_gamma(concentration)
    return drawn / drawn.sum(-1, keepdim=True)
