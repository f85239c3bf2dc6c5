# Written by scripts/stubs, not by hand.
from .tools.eager import CustomOperator as CustomOpDef
from .tools.eager import Library as Library
from .tools.eager import custom_op as custom_op
from .tools.eager import custom_op as triton_op
from .tools.eager import decorator as impl
from .tools.eager import decorator as impl_abstract
from .tools.eager import decorator as register_fake
from .tools.eager import decorator as register_kernel
from .tools.eager import nothing as define
from .tools.eager import register_autograd as register_autograd
from .tools.eager import same as wrap_triton
__all__ = ["CustomOpDef", "Library", "custom_op", "define", "impl", "impl_abstract", "register_autograd", "register_fake", "register_kernel", "triton_op", "wrap_triton"]
