# Written by scripts/stubs, not by hand.
from ..recurrent import GRU as GRU
from ..recurrent import GRUCell as GRUCell
from ..recurrent import LSTM as LSTM
from ..recurrent import LSTMCell as LSTMCell
from ..recurrent import RNN as RNN
from ..recurrent import RNNBase as RNNBase
from ..recurrent import RNNCell as RNNCell
from ..recurrent import RNNCellBase as RNNCellBase
from ..recurrent import apply_permutation as apply_permutation
