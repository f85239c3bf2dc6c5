from .. cimport dispatch
from ..core cimport TensorCore
