"""Data that the course makes or carries, and every tokeniser.

Corpora of sequences yield `Pair`s (see `sequences.py`); pictures and plain text come as tensors.
"""

from attnlab.data.sequences import BOS, EOS, PAD, UNK, Batch, Pair, Vocabulary, batches, collate

__all__ = ["BOS", "EOS", "PAD", "UNK", "Batch", "Pair", "Vocabulary", "batches", "collate"]
