# Written by scripts/stubs, not by hand.
from .serialization.hub import HASH_REGEX as HASH_REGEX
from .serialization.hub import READ_DATA_CHUNK as READ_DATA_CHUNK
from .serialization.hub import Silence as _Faketqdm
from .serialization.hub import download_url_to_file as download_url_to_file
from .serialization.hub import entry_points as list
from .serialization.hub import get_dir as get_dir
from .serialization.hub import help_of as help
from .serialization.hub import home as _get_torch_home
from .serialization.hub import load as load
from .serialization.hub import load_state_dict_from_url as load_state_dict_from_url
from .serialization.hub import set_dir as set_dir
from .serialization.hub import tqdm as tqdm
from urllib.parse import urlparse as urlparse
__all__ = ["HASH_REGEX", "READ_DATA_CHUNK", "_Faketqdm", "_get_torch_home", "download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir", "tqdm", "urlparse"]
