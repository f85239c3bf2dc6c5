# Written by scripts/stubs, not by hand.
from ..tensor.windows import bartlett as bartlett
from ..tensor.windows import blackman as blackman
from ..tensor.windows import cosine as cosine
from ..tensor.windows import exponential as exponential
from ..tensor.windows import gaussian as gaussian
from ..tensor.windows import general_cosine as general_cosine
from ..tensor.windows import general_hamming as general_hamming
from ..tensor.windows import hamming as hamming
from ..tensor.windows import hann as hann
from ..tensor.windows import kaiser as kaiser
from ..tensor.windows import nuttall as nuttall
__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser", "nuttall"]
