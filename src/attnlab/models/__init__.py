"""Whole models, each a recipe over `layers`: recurrent, with attention, Transformers.

`published`, `stories` and `gpt2` run models that others have trained on the same blocks.
"""

from attnlab.models.captioning import Captioner, Teller
from attnlab.models.families import DecoderOnly, EncoderOnly, hide
from attnlab.models.published import minilm, read
from attnlab.models.recurrent import GRUCell, LSTMCell, RNNCell, unroll
from attnlab.models.seq2seq import Seq2Seq
from attnlab.models.swin import Swin
from attnlab.models.transformer import Transformer
from attnlab.models.vit import ViT

__all__ = [
    "Captioner",
    "DecoderOnly",
    "EncoderOnly",
    "GRUCell",
    "LSTMCell",
    "RNNCell",
    "Seq2Seq",
    "Swin",
    "Teller",
    "Transformer",
    "ViT",
    "hide",
    "minilm",
    "read",
    "unroll",
]
