"""What models are made of: attention with heads, a sense of place, norms, networks, blocks.

    heads  cache             several attentions side by side; what a decoder keeps of its past
    positions  relative      where a token is; how far apart two are
    norms  feed_forward      around attention, and after it
    blocks                   all of these put together
    patches  windows         pictures: cut into tokens; attention inside windows

Read from top to bottom, nothing needs what comes after it.
"""

from attnlab.layers.blocks import DecoderBlock, EncoderBlock
from attnlab.layers.cache import KeysValues, KVCache
from attnlab.layers.feed_forward import FeedForward, GatedFeedForward
from attnlab.layers.heads import MultiHead, merge, split
from attnlab.layers.norms import AddNorm, LayerNorm, RMSNorm
from attnlab.layers.positions import Learned, Rope, Rope2D, Sinusoidal, sinusoidal, sinusoidal_2d
from attnlab.layers.relative import Shaw, T5Bias, alibi

__all__ = [
    "AddNorm",
    "DecoderBlock",
    "EncoderBlock",
    "FeedForward",
    "GatedFeedForward",
    "KVCache",
    "KeysValues",
    "LayerNorm",
    "Learned",
    "MultiHead",
    "RMSNorm",
    "Rope",
    "Rope2D",
    "Shaw",
    "Sinusoidal",
    "T5Bias",
    "alibi",
    "merge",
    "sinusoidal",
    "sinusoidal_2d",
    "split",
]
