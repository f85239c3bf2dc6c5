"""Derivatives checked against differences: the functions of `torch.autograd`."""

from ..autograd.gradcheck import gradcheck, gradgradcheck

__all__ = ["gradcheck", "gradgradcheck"]
