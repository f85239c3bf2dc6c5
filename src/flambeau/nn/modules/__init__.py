"""torch.nn.modules: the classes of torch.nn under the modules that define them in PyTorch."""

import sys as _sys
from importlib.machinery import ModuleSpec as _ModuleSpec
from types import ModuleType as _ModuleType

from ...errors import no_attribute as _no_attribute
from ...importer import listing as _listing
from .. import activation as _activation
from .. import containers as _containers
from .. import convolution as _convolution
from .. import hooks as _hooks
from .. import layers as _layers
from .. import lazy as _lazy
from .. import loss as _loss
from .. import module as _module
from .. import normalization as _normalization
from .. import padding as _padding
from .. import pooling as _pooling
from .. import recurrent as _recurrent
from .. import state_dict as _state_dict
from .. import transformer as _transformer
from . import utils

_SOURCES = (
    _activation, _containers, _convolution, _hooks, _layers, _lazy, _loss, _module, _normalization,
    _padding, _pooling, _recurrent, _state_dict, _transformer, utils,
)  # fmt: skip
_RENAMED = {  # PyTorch's names of objects that have another name here
    "_ConstantPadNd": "_ConstantPad", "_ConvTransposeMixin": "_ConvTransposeNd", "_DropoutNd": "_Dropout",
    "_IncompatibleKeys": "IncompatibleKeys",
    "_LazyConvXdMixin": "_LazyConv", "_LazyNormBase": "_LazyNorm", "_NormBase": "_ChannelNorm",
}  # fmt: skip
# The modules and their names; scripts/stubs writes their stubs.
_MODULES = {
    "activation": (
        "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish "
        "MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink "
        "Softsign Tanh Tanhshrink Threshold"
    ),
    "adaptive": "AdaptiveLogSoftmaxWithLoss _ASMoutput",
    "batchnorm": (
        "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm _BatchNorm "
        "_LazyNormBase _NormBase"
    ),
    "channelshuffle": "ChannelShuffle",
    "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": (
        "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d LazyConv3d "
        "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d _ConvNd _ConvTransposeMixin _ConvTransposeNd "
        "_LazyConvXdMixin _pair _reverse_repeat_tuple _single _triple"
    ),
    "distance": "CosineSimilarity PairwiseDistance",
    "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout _DropoutNd",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "instancenorm": (
        "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d "
        "_InstanceNorm"
    ),
    "lazy": "LazyModuleMixin",
    "linear": "Bilinear Identity LazyLinear Linear NonDynamicallyQuantizableLinear",
    "linear_cross_entropy_options": "LinearCrossEntropyOptions",
    "loss": (
        "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss HingeEmbeddingLoss "
        "HuberLoss KLDivLoss L1Loss LinearCrossEntropyLoss MSELoss MarginRankingLoss MultiLabelMarginLoss "
        "MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d PoissonNLLLoss SmoothL1Loss SoftMarginLoss "
        "TripletMarginLoss TripletMarginWithDistanceLoss _Loss _WeightedLoss"
    ),
    "module": (
        "Module _IncompatibleKeys _addindent register_module_backward_hook register_module_buffer_registration_hook "
        "register_module_forward_hook register_module_forward_pre_hook register_module_full_backward_hook "
        "register_module_full_backward_pre_hook register_module_module_registration_hook "
        "register_module_parameter_registration_hook"
    ),
    "normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "padding": (
        "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d "
        "ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d "
        "ZeroPad3d _CircularPadNd _ConstantPadNd _ReflectionPadNd _ReplicationPadNd"
    ),
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "pooling": (
        "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d "
        "AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d "
        "MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d _AdaptiveAvgPoolNd _AdaptiveMaxPoolNd _AvgPoolNd "
        "_LPPoolNd _MaxPoolNd _MaxUnpoolNd _pair _single _triple"
    ),
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase apply_permutation",
    "sparse": "Embedding EmbeddingBag",
    "transformer": (
        "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer "
        "_get_activation_fn _get_clones"
    ),
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
}


# names of the module `module` that packages read: no row, for they are no classes
_PRIVATE = {
    "_EXTRA_STATE_KEY_SUFFIX": "_extra_state",
    "_global_buffer_registration_hooks": _hooks.everywhere.buffers,
    "_global_module_registration_hooks": _hooks.everywhere.modules,
    "_global_parameter_registration_hooks": _hooks.everywhere.parameters,
}


def _object(name: str) -> object:
    own = _RENAMED.get(name, name)
    return next(vars(source)[own] for source in _SOURCES if own in vars(source))


def _install(path: str, names: list[str]) -> None:
    """Make a module with these names, and let imports find it."""
    full = f"{__name__}.{path}"
    module = _ModuleType(full, f"Classes that PyTorch defines in torch.nn.modules.{path}.")
    module.__spec__ = _ModuleSpec(full, None)
    vars(module).update({name: _object(name) for name in names})
    public = [name for name in names if not name.startswith("_")]
    if path == "module":
        vars(module).update(_PRIVATE)
    vars(module).update(__all__=public, __dir__=_listing(vars(module)))
    _sys.modules[full] = module
    classes = [name for name in public if isinstance(vars(module)[name], type)]
    globals().update({name: vars(module)[name] for name in classes} | {path: module})
    __all__.extend(classes)


__all__ = ["utils"]
__dir__ = _listing(globals())
for _path, _names in _MODULES.items():
    _install(_path, _names.split())
__all__ += _MODULES


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
