"""torch.ao.quantization: the marks in networks that could be quantized; here they pass their input on."""

from ...errors import no_attribute as _no_attribute
from ...nn import Identity as DeQuantStub
from ...nn import Identity as QuantStub

__all__ = ["DeQuantStub", "QuantStub"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
