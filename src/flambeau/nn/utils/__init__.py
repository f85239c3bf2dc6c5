"""torch.nn.utils: gradients and parameters as a whole."""

from ...errors import no_attribute as _no_attribute
from ..gradients import clip_grad_norm_, clip_grad_value_, get_total_norm, parameters_to_vector, vector_to_parameters

__all__ = ["clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector", "vector_to_parameters"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
