# Written by scripts/stubs, not by hand.
from ..transformer import Transformer as Transformer
from ..transformer import TransformerDecoder as TransformerDecoder
from ..transformer import TransformerDecoderLayer as TransformerDecoderLayer
from ..transformer import TransformerEncoder as TransformerEncoder
from ..transformer import TransformerEncoderLayer as TransformerEncoderLayer
from ..transformer import _get_activation_fn as _get_activation_fn
from ..transformer import _get_clones as _get_clones
