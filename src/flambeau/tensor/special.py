"""The functions of torch.special: operators that PyTorch has there alone, and others under its names."""

from __future__ import annotations

from typing import Any

from .. import (
    ops,  # noqa: F401  (registers the operators)
)
from ..ops.operator import REGISTRY
from .functions import polygamma

PREFIX = "special_"  # of the operators that are in torch.special alone
ALIASES = {
    "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2", "expit": "sigmoid",
    "expm1": "expm1", "gammainc": "igamma", "gammaincc": "igammac", "gammaln": "lgamma", "i0": "i0", "log1p": "log1p",
    "log_softmax": "log_softmax", "logit": "logit", "logsumexp": "logsumexp", "multigammaln": "mvlgamma",
    "psi": "digamma", "round": "round", "sinc": "sinc", "softmax": "softmax", "xlogy": "xlogy",
}  # fmt: skip

_FUNCTIONS: dict[str, Any] = {
    operator.called: operator for name, operator in REGISTRY.items() if name.startswith(PREFIX)
}
_FUNCTIONS |= {alias: REGISTRY[name].called_as(alias) for alias, name in ALIASES.items() if name in REGISTRY}
_FUNCTIONS["polygamma"] = polygamma
globals().update(_FUNCTIONS)

__all__ = sorted(_FUNCTIONS)
