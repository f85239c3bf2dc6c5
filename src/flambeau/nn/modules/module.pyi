# Written by scripts/stubs, not by hand.
from ..hooks import register_module_backward_hook as register_module_backward_hook
from ..hooks import register_module_buffer_registration_hook as register_module_buffer_registration_hook
from ..hooks import register_module_forward_hook as register_module_forward_hook
from ..hooks import register_module_forward_pre_hook as register_module_forward_pre_hook
from ..hooks import register_module_full_backward_hook as register_module_full_backward_hook
from ..hooks import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
from ..hooks import register_module_module_registration_hook as register_module_module_registration_hook
from ..hooks import register_module_parameter_registration_hook as register_module_parameter_registration_hook
from ..module import Module as Module
from ..module import _addindent as _addindent
from ..state_dict import IncompatibleKeys as _IncompatibleKeys
