# Written by scripts/stubs, not by hand.
from .tensor.overrides import TorchFunctionMode as TorchFunctionMode
from .tensor.overrides import get_overridable_functions as get_overridable_functions
from .tensor.overrides import handle_torch_function as handle_torch_function
from .tensor.overrides import has_torch_function as has_torch_function
from .tensor.overrides import has_torch_function_unary as has_torch_function_unary
from .tensor.overrides import has_torch_function_variadic as has_torch_function_variadic
from .tensor.overrides import is_tensor_like as is_tensor_like
from .tensor.overrides import is_tensor_method_or_property as is_tensor_method_or_property
from .tensor.overrides import resolve_name as resolve_name
from .tensor.overrides import wrap_torch_function as wrap_torch_function
__all__ = ["TorchFunctionMode", "get_overridable_functions", "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property", "resolve_name", "wrap_torch_function"]
