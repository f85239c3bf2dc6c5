from .. cimport dispatch
from ..core cimport TensorCore
from .arguments cimport sizes
