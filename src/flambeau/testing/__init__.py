"""Tools for tests of device code: fresh machines, every schedule, gradient checks, the contract suite of drivers."""

from ..autograd.gradcheck import gradcheck, gradgradcheck
from .machine import machine

__all__ = ["gradcheck", "gradgradcheck", "machine"]
