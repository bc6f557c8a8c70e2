"""How fused attention works: softmax in one pass, then FlashAttention as a Triton kernel.

Read `online_softmax` first. `flash` needs Triton, which only Linux has: `pip install attnlab[gpu]`.
"""

from attnlab.kernels.online_softmax import Running, begin, finish, online_attention, take

__all__ = ["Running", "begin", "finish", "online_attention", "take"]
