"""Data that the course makes or carries, and every tokeniser.

    sequences                             pairs, vocabularies, batches: what corpora share
    tokens  pieces                        text, pictures and sounds cut into tokens
    lexicon  french  phrases  verbs  clauses  words       the grammar behind english_french
    pairs  english_french  real_pairs     translation: any file, our own corpus, one to fetch
    pronunciation  shakespeare  paraphrases  in_context   other texts
    scenes  composed  fashion  photographs                pictures
    family_tree                           models since 2017, for a figure

Corpora of sequences yield `Pair`s (see `sequences.py`); pictures and plain text come as tensors.
"""

from attnlab.data.sequences import BOS, EOS, PAD, UNK, Batch, Pair, Vocabulary, batches, collate

__all__ = ["BOS", "EOS", "PAD", "UNK", "Batch", "Pair", "Vocabulary", "batches", "collate"]
