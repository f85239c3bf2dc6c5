"""Gradient checks against finite differences, as in torch.autograd."""

from ..autograd.gradcheck import gradcheck, gradgradcheck

__all__ = ["gradcheck", "gradgradcheck"]
