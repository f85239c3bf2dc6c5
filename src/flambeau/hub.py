"""torch.hub: models of local folders, and downloaded state dicts."""

from urllib.parse import urlparse  # noqa: F401  (programs take it from here)

from .errors import no_attribute as _no_attribute
from .serialization.hub import HASH_REGEX as HASH_REGEX
from .serialization.hub import READ_DATA_CHUNK as READ_DATA_CHUNK
from .serialization.hub import Silence as _Faketqdm  # noqa: F401
from .serialization.hub import download_url_to_file, get_dir, load, load_state_dict_from_url, set_dir
from .serialization.hub import entry_points as list
from .serialization.hub import help_of as help
from .serialization.hub import home as _get_torch_home  # noqa: F401
from .serialization.hub import tqdm as tqdm

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
