"""Whole models, each a recipe over `layers`: recurrent, with attention, Transformers.

`published` runs models that others have trained on the same blocks.
"""
