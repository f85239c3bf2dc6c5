"""torch.nn.utils: gradients and parameters as a whole."""

from ..gradients import clip_grad_norm_, clip_grad_value_, get_total_norm, parameters_to_vector, vector_to_parameters

__all__ = ["clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector", "vector_to_parameters"]
