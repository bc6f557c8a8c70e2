"""Data that the course makes or carries; every corpus yields `Pair`s (see `sequences.py`)."""

from attnlab.data.sequences import BOS, EOS, PAD, UNK, Batch, Pair, Vocabulary, batches, collate

__all__ = ["BOS", "EOS", "PAD", "UNK", "Batch", "Pair", "Vocabulary", "batches", "collate"]
