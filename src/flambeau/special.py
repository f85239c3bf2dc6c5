"""torch.special: special functions: operators that PyTorch has only there, and others under PyTorch's names."""

from typing import Any as _Any

from . import ops as _ops  # noqa: F401  (registers the operators)
from .errors import no_attribute as _no_attribute
from .importer import listing as _listing
from .ops.operator import REGISTRY as _REGISTRY
from .tensor.functions import polygamma as _polygamma

_PREFIX = "special_"  # prefix of the operators that are only in torch.special
_ALIASES = {
    "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2", "expit": "sigmoid",
    "expm1": "expm1", "gammainc": "igamma", "gammaincc": "igammac", "gammaln": "lgamma", "i0": "i0", "log1p": "log1p",
    "log_softmax": "log_softmax", "logit": "logit", "logsumexp": "logsumexp", "multigammaln": "mvlgamma",
    "psi": "digamma", "round": "round", "sinc": "sinc", "softmax": "softmax", "xlogy": "xlogy",
}  # fmt: skip

_FUNCTIONS: dict[str, _Any] = {
    operator.called: operator.as_function(__name__) for name, operator in _REGISTRY.items() if name.startswith(_PREFIX)
}
_FUNCTIONS |= {alias: _REGISTRY[name].called_as(alias).as_function(__name__) for alias, name in _ALIASES.items()}
_FUNCTIONS["polygamma"] = _polygamma
globals().update(_FUNCTIONS)

__all__ = sorted(_FUNCTIONS)
__dir__ = _listing(globals())


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
