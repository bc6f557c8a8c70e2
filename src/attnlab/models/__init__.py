"""Whole models, each a recipe over `layers`: recurrent, with attention, Transformers.

    recurrent  seq2seq  captioning             cells by hand; translators; one that sees
    transformer  families  attention_only      encoder and decoder; one stack; no networks
    vit  dino  swin                            pictures
    modern  llama  stories                     Transformer++ and its switches; a published Llama
    renaming  bert  published  gpt2            what others have trained, on the same blocks
    from_torch  vit_weights  swin_weights      weights of other libraries under our names

Each file has its own `Config` where it needs one. Read from top to bottom.
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
