"""attnlab: the small library behind the course on attention and Transformers.

Read it leaf to root: `scores` → `attention` → `masks` → `heads` → `positions` → `record`.
"""

__version__ = "0.1.0"
