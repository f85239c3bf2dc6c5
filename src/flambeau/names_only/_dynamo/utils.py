"""torch._dynamo.utils: names that programs import."""

from ...errors import no_attribute as _no_attribute
from ...tools.eager import no as is_compile_supported

__all__ = ["is_compile_supported"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
