from .. cimport core
from ..core cimport TensorCore
