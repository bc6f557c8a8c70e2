"""How fused attention works: softmax in one pass, then FlashAttention as a Triton kernel.

    online_softmax           softmax in one pass, in torch: read it first
    in_torch  block          one block of Triton, to learn the language
    flash                    the kernels, forwards and backwards

Triton runs on Linux only: `pip install attnlab[gpu]`.
"""

from attnlab.kernels.online_softmax import Running, begin, finish, online_attention, take

__all__ = ["Running", "begin", "finish", "online_attention", "take"]
