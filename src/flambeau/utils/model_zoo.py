"""torch.utils.model_zoo: the former name of torch.hub's downloads."""

from ..errors import no_attribute as _no_attribute
from ..serialization.hub import load_state_dict_from_url as load_url
from ..serialization.hub import tqdm as tqdm

__all__ = ["load_url"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
