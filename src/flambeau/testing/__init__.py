"""What a test of device code needs: fresh machines, every schedule, checked gradients, the drivers' contract."""

from .gradcheck import gradcheck, gradgradcheck
from .machine import machine

__all__ = ["gradcheck", "gradgradcheck", "machine"]
