"""Multi-head attention and transformers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from ..autograd.mode import mode
from ..core import thread
from ..dtypes import int64
from ..errors import ArgumentError, ShapeError, ValueRangeError, naming
from ..tensor import checks, factories
from ..tensor.tensor import Tensor
from . import functional as F
from . import init
from .containers import ModuleList
from .layers import Dropout, LayerNorm, Linear
from .module import Module
from .multihead import additive_mask
from .parameter import Parameter


class NonDynamicallyQuantizableLinear(Linear):
    """Output projection of MultiheadAttention, with PyTorch's class name; it computes the same as Linear.

    Shapes: as Linear.
    Raises: as Linear: ArgumentTypeError, ValueRangeError, ShapeError, DtypeError.
    Example:
        >>> torch.nn.MultiheadAttention(4, 2).out_proj
        NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)
    """


class MultiheadAttention(Module):
    """Attention of queries to keys and values, in num_heads heads of embed_dim / num_heads features each.

    dropout: the probability with which weights are dropped in training.  bias: whether the projections have biases.
    add_bias_kv: append a learned key and value.  add_zero_attn: append a key and value of zeros.
    kdim, vdim: the numbers of features of keys and values; None is embed_dim.
    batch_first: inputs and results are [batch, length, features], not [length, batch, features].
    Shapes: query [t, n, embed_dim], key [s, n, kdim] and value [s, n, vdim] with lengths t and s, or without the batch
            n; the call returns (output, shaped as the query; weights [n, t, s], or None).  For the arguments of the
            call, see `nn.functional.multi_head_attention_forward`.
    Raises: ArgumentError for sizes that are not positive, or heads that do not divide embed_dim; ArgumentTypeError for
            sizes that are not ints; in forward, ShapeError for inputs and masks that do not fit, DtypeError for a mask
            of integers, ValueRangeError for is_causal without attn_mask.
    Example:
        >>> layer = torch.nn.MultiheadAttention(4, 2, batch_first=True)
        >>> x = torch.ones(2, 3, 4)
        >>> out, weights = layer(x, x, x)
        >>> out.shape, weights.shape
        (torch.Size([2, 3, 4]), torch.Size([2, 3, 3]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = self._get_name()
        checks.integer(name, "embed_dim", embed_dim)
        checks.integer(name, "num_heads", num_heads)
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ArgumentError(
                f"embed_dim {embed_dim} and num_heads {num_heads} must be above 0, and num_heads divide embed_dim",
                hint="pass num_heads that divides embed_dim: each head has embed_dim / num_heads features",
                operator=name,
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads

        def new_parameter(*size: int) -> Parameter:
            with naming(name):
                return Parameter(factories.empty(*size, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = new_parameter(3 * embed_dim, embed_dim)
            for key in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(key, None)
        else:
            self.q_proj_weight = new_parameter(embed_dim, embed_dim)
            self.k_proj_weight = new_parameter(embed_dim, self.kdim)
            self.v_proj_weight = new_parameter(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", new_parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.bias_k: Parameter | None = new_parameter(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v: Parameter | None = new_parameter(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        for called, tensor in (("query", query), ("key", key), ("value", value)):
            checks.tensor(self._get_name(), called, tensor)
        q, k, v = query, key, value
        is_turned = self.batch_first and query.ndim == 3
        if is_turned:
            turned = {id(tensor): tensor.transpose(1, 0) for tensor in (q, k, v)}  # equal inputs stay equal
            q, k, v = turned[id(query)], turned[id(key)], turned[id(value)]
        out, weights = F.multi_head_attention_forward(
            q, k, v, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return out.transpose(1, 0) if is_turned else out, weights


ACTIVATIONS: dict[str, Any] = {"relu": F.relu, "gelu": F.gelu}


def _activation(name: str, activation: Any) -> Any:
    if not isinstance(activation, str):
        checks.function(name, "activation", activation)
        return activation
    if activation not in ACTIVATIONS:
        raise ValueRangeError(
            f"activation should be 'relu' or 'gelu', not {activation!r}",
            hint="use one of these, or pass a function",
            operator=name,
        )
    return ACTIVATIONS[activation]


def _get_activation_fn(activation: str) -> Any:
    """Return the activation function with this name.  Raises ValueRangeError."""
    return _activation("Transformer", activation)


def _get_clones(module: Module, N: int) -> ModuleList:  # noqa: N803  (PyTorch's name)
    """Return copies of a module."""
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


class _TransformerLayer(Module):
    """Base of encoder and decoder layers: attention, a network of two linear maps, dropout and layer norm."""

    _attentions: tuple[str, ...] = ("self_attn",)

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        for name in self._attentions:
            attention = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **options)
            self.add_module(name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **options)
        self.norm_first = norm_first
        count = len(self._attentions) + 1
        for number in range(1, count + 1):
            self.add_module(f"norm{number}", LayerNorm(d_model, layer_norm_eps, bias=bias, **options))
        for number in range(1, count + 1):
            self.add_module(f"dropout{number}", Dropout(dropout))
        self.activation = _activation(self._get_name(), activation)

    def _step(self, number: int, x: Tensor, block: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply a block with its residual connection and norm `number`."""
        norm = getattr(self, f"norm{number}")
        result: Tensor = x + block(norm(x)) if self.norm_first else norm(x + block(x))
        return result

    # the blocks, each with its dropout; subclasses of users may define their own

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        output = self.self_attn(
            x, x, x, key_padding_mask=key_padding_mask, need_weights=False, attn_mask=attn_mask, is_causal=is_causal
        )[0]
        result: Tensor = self.dropout1(output)
        return result

    def _ff_block(self, x: Tensor) -> Tensor:
        last = getattr(self, f"dropout{len(self._attentions) + 1}")
        result: Tensor = last(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return result


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and a feedforward network, each with dropout, a residual connection and layer norm.

    d_model: the number of features.  nhead: the number of heads.
    dim_feedforward: the number of hidden features of the feedforward network.  dropout: the probability of zeroing.
    activation: "relu", "gelu" or a function.  layer_norm_eps: added to the variance in layer norm.
    norm_first: normalize before attention and network, not after.
    Shapes: src [length, batch, d_model], or [batch, length, d_model] with batch_first; the result like src.
    Raises: ArgumentError for any other activation, or heads that do not divide d_model; in forward, ShapeError if the
            features or masks do not fit.
    Example:
        >>> layer = torch.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> layer(torch.ones(5, 3, 8)).shape
        torch.Size([5, 3, 8])
    """

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        checks.tensor(self._get_name(), "src", src)
        mask = additive_mask(self._get_name(), "src_mask", src_mask, src.dtype)
        padding = additive_mask(self._get_name(), "src_key_padding_mask", src_key_padding_mask, src.dtype, src_mask)
        output = self._step(1, src, lambda x: self._sa_block(x, mask, padding, is_causal=is_causal))
        return self._step(2, output, self._ff_block)


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to the encoder's result (memory) and a feedforward network, with dropout and norms.

    Arguments: see TransformerEncoderLayer.
    Shapes: tgt and memory [length, batch, d_model], or [batch, length, d_model] with batch_first; the result like tgt.
    Raises: ArgumentError for any other activation, or heads that do not divide d_model; in forward, ShapeError if the
            features or masks do not fit.
    Example:
        >>> layer = torch.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> layer(torch.ones(5, 3, 8), torch.ones(7, 3, 8)).shape
        torch.Size([5, 3, 8])
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        output = self._step(1, tgt, lambda x: self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
        masks = memory_mask, memory_key_padding_mask, memory_is_causal
        output = self._step(2, output, lambda x: self._mha_block(x, memory, *masks))
        return self._step(3, output, self._ff_block)

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        output = self.multihead_attn(
            x, mem, mem, key_padding_mask=key_padding_mask, need_weights=False, attn_mask=attn_mask, is_causal=is_causal
        )[0]
        result: Tensor = self.dropout2(output)
        return result


def _is_usual(layer: Any) -> bool:
    """Return whether PyTorch would run an encoder layer on nested tensors."""
    return (
        isinstance(layer, TransformerEncoderLayer)
        and not layer.norm_first
        and layer.self_attn.batch_first
        and layer.self_attn.in_proj_weight is not None
        and layer.self_attn.in_proj_bias is not None
        and layer.activation in (F.relu, F.gelu)
        and layer.norm1.eps == layer.norm2.eps
        and layer.self_attn.num_heads % 2 == 0
    )


class TransformerEncoder(Module):
    """A stack of num_layers copies of an encoder layer.

    norm: a module that is applied to the result, or None.
    enable_nested_tensor: set the result to 0 at positions that src_key_padding_mask leaves out, before `norm`, as in
        PyTorch: only in evaluation, without gradients, autocast and `mask`, for batch_first layers.
    mask_check: do this only if these positions are at the ends of the sequences; the check waits for a GPU.
    Shapes: those of the layer.
    Raises: ArgumentTypeError for a layer that is not a module or a num_layers that is not an int, ValueRangeError for a
            negative one; in forward, ShapeError if the features or masks do not fit, ArgumentTypeError for an input
            that is not a tensor.
    Example:
        >>> layer = torch.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
        >>> torch.nn.TransformerEncoder(layer, num_layers=2)(torch.ones(3, 5, 8)).shape
        torch.Size([3, 5, 8])
    """

    def __init__(
        self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None,
        enable_nested_tensor: bool = True, mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        checks.count(self._get_name(), "num_layers", num_layers)
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor and _is_usual(encoder_layer)
        self.mask_check = mask_check

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:  # fmt: skip
        checks.tensor(self._get_name(), "src", src)
        padding = additive_mask(self._get_name(), "src_key_padding_mask", src_key_padding_mask, src.dtype, mask)
        mask = additive_mask(self._get_name(), "mask", mask, src.dtype)
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, src_key_padding_mask=padding, is_causal=bool(is_causal))
        if padding is not None and mask is None and src.ndim == 3 and self._drops_padding(src, padding):
            output = output.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _drops_padding(self, src: Tensor, padding: Any) -> bool:
        """Return whether padded positions of the result are 0.  Host: waits if the mask is on a GPU and mask_check."""
        layer = self.layers[0]
        records = mode.enabled and any(tensor.requires_grad for tensor in (src, *layer.parameters()))
        if not self.use_nested_tensor or layer.training or records or getattr(thread.here(), "autocast", None):
            return False
        if not self.mask_check:
            return True
        is_there = (padding == 0).to(int64)
        return bool((is_there.cumprod(1) == is_there).all())


class TransformerDecoder(Module):
    """A stack of num_layers copies of a decoder layer.

    norm: a module that is applied to the result, or None.
    Shapes: those of the layer.
    Raises: ArgumentTypeError for a layer that is not a module or a num_layers that is not an int, ValueRangeError for a
            negative one; in forward, ShapeError if the features or masks do not fit.
    Example:
        >>> layer = torch.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
        >>> torch.nn.TransformerDecoder(layer, num_layers=2)(torch.ones(3, 5, 8), torch.ones(3, 7, 8)).shape
        torch.Size([3, 5, 8])
    """

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        checks.count(self._get_name(), "num_layers", num_layers)
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        output = tgt
        for layer in self.layers:
            output = layer(
                output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """A transformer: an encoder of src, and a decoder of tgt that attends to the encoder's result.

    A. Vaswani et al., "Attention is all you need", 2017.

    custom_encoder, custom_decoder: modules that replace the standard ones.
    num_encoder_layers, num_decoder_layers: numbers of layers.  Other arguments: see TransformerEncoderLayer.
    Shapes: src [s, n, d_model] and tgt [t, n, d_model], or [n, s, d_model] and [n, t, d_model] with batch_first; the
            result has the shape of tgt.  s and t are lengths, n is the batch.
    Raises: in forward, ShapeError if batches differ or features are not d_model, ArgumentTypeError for inputs that are
            not tensors.
    Example:
        >>> net = torch.nn.Transformer(8, 2, 1, 1, dim_feedforward=16)
        >>> net(torch.ones(5, 3, 8), torch.ones(7, 3, 8)).shape
        torch.Size([7, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        own = d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            encoder_layer = TransformerEncoderLayer(*own, device, dtype)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)
            self.encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            decoder_layer = TransformerDecoderLayer(*own, device, dtype)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)
            self.decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm)
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        checks.tensor(self._get_name(), "src", src)
        checks.tensor(self._get_name(), "tgt", tgt)
        dim = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[dim] != tgt.shape[dim] or {src.shape[-1], tgt.shape[-1]} != {self.d_model}:
            raise ShapeError(
                f"src {list(src.shape)} and tgt {list(tgt.shape)} must have one batch size, dimension {dim}, and "
                f"{self.d_model} features",
                hint="the features are the last dimension",
                operator=self._get_name(),
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        result: Tensor = self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip
        return result

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return the causal mask: -inf above the diagonal, else 0.

        Shapes: the result is [sz, sz].
        Raises: ArgumentTypeError for an sz that is not an int, ValueRangeError for a negative one or a dtype that has
                no infinity, DeviceNameError for an unknown device.
        Example:
            >>> torch.nn.Transformer.generate_square_subsequent_mask(2)
            tensor([[0., -inf],
                    [0., 0.]])
        """
        mask: Tensor = factories.full((sz, sz), -math.inf, device=device, dtype=dtype).triu(1)
        return mask

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)
