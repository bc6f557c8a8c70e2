"""Transformer++: one decoder-only model, ten switches between 2017 and today.

    LanguageModel(Config.vanilla_2017(words=69))      the decoder of Vaswani et al.
    LanguageModel(Config.plus_plus(words=69))         what Llama and its relatives became
    LanguageModel(Config.vanilla_2017(words=69).switch("positions", "norm"))     any mixture

The ten upgrades follow a list by Gavin Leech (gleech.org/tplus); `SWITCHES` names each one's paper.
Published Llama weights run on the same blocks: see `stories.stories15m`.

B batch, L length, E model width, V words, H heads, G key/value heads, D head width.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.layers import AddNorm, FeedForward, GatedFeedForward, KVCache, MultiHead, Rope
from attnlab.layers.feed_forward import ACTIVATIONS, GATES, gated_width
from attnlab.layers.norms import KINDS, NORMS
from attnlab.layers.positions import waves
from attnlab.models.families import Continuing, Past
from attnlab.models.transformer import check_numbers, initialise

OPTIMISERS = ("adam", "adamw", "soap")


@dataclass(frozen=True, kw_only=True)
class Switch:
    """One upgrade: its value in 2017, its value today, and where the idea comes from."""

    label: str
    then: Any
    now: Any
    paper: str


SWITCHES: dict[str, Switch] = {
    "fused": Switch(label="fused attention", then=False, now=True, paper="Dao et al. 2022"),
    "positions": Switch(label="RoPE", then="sinusoidal", now="rope", paper="Su et al. 2021"),
    "group": Switch(label="GQA", then=1, now=2, paper="Shazeer 2019; Ainslie et al. 2023"),
    "optimiser": Switch(label="SOAP", then="adam", now="soap", paper="Vyas et al. 2024"),
    "norm": Switch(label="pre-norm", then="post", now="pre", paper="Xiong et al. 2020"),
    "norm_kind": Switch(label="RMSNorm", then="layer", now="rms", paper="Zhang, Sennrich 2019"),
    "network": Switch(label="SwiGLU", then="relu", now="swiglu", paper="Shazeer 2020"),
    "tied": Switch(label="tied embeddings", then=False, now=True, paper="Press and Wolf 2017"),
    "qk_norm": Switch(label="QK-norm", then=False, now=True, paper="Henry et al. 2020"),
    "off_by_one": Switch(label="softmax off by one", then=False, now=True, paper="Miller 2023"),
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes first, then the ten switches; by default, everything is as in 2017.

    A footnote: the paper of 2017 already tied its embeddings (§3.4). The list counts tying as an
    upgrade, and so do we.
    """

    words: int
    width: int = 64
    heads: int = 4
    layers: int = 4
    hidden: int | None = None  # of the network: 4 · width, or two thirds of it with a gate
    bias: bool = True  # in the projections
    rope_base: float = 10_000.0

    fused: bool = False
    positions: str = "sinusoidal"  # "rope", "none"
    group: int = 1  # heads of queries that share keys and values; all of them: multi-query
    optimiser: str = "adam"  # "adamw", "soap": read by `training.optimisers.make`
    norm: str = "post"  # "pre"
    norm_kind: str = "layer"  # "rms"
    network: str = "relu"  # "gelu", "swiglu", "geglu"
    tied: bool = False
    qk_norm: bool = False
    off_by_one: bool = False

    @classmethod
    def vanilla_2017(cls, **sizes: Any) -> "Config":
        return cls(**sizes)

    @classmethod
    def plus_plus(cls, **sizes: Any) -> "Config":
        return cls(**{"bias": False, **sizes}).switch(*SWITCHES)

    def switch(self, *names: str) -> "Config":
        """The named switches thrown the other way: from 2017 to today, or back."""
        changes = {}
        for name in names:
            if name not in SWITCHES:
                raise ValueError(f"there is no switch {name!r}: the ten are {', '.join(SWITCHES)}.")
            then, now = SWITCHES[name].then, SWITCHES[name].now
            changes[name] = now if getattr(self, name) == then else then
        return replace(self, **changes)

    @property
    def kv_heads(self) -> int:
        return self.heads // self.group

    @property
    def inner(self) -> int:
        """The hidden width of the network; a gate costs a third matrix, so it is narrower."""
        if self.hidden is not None:
            return self.hidden
        return gated_width(4 * self.width) if self.network in GATES else 4 * self.width

    def __post_init__(self) -> None:
        for name, known in _KNOWN.items():
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}, but it must be one of {', '.join(known)}."
                )
        for name in ("words", "width", "heads", "layers", "group"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, but it must be 1 or more.")
        if self.heads % self.group:
            raise ValueError(
                f"{self.heads} heads cannot be put into groups of {self.group}: choose a group "
                "that divides the heads."
            )


_KNOWN: dict[str, Sequence[str]] = {
    "positions": ("sinusoidal", "rope", "none"),
    "optimiser": OPTIMISERS,
    "norm": NORMS,
    "norm_kind": tuple(KINDS),
    "network": (*ACTIVATIONS, *GATES),
}


class Block(nn.Module):
    """Look back, then think. The whole difference between 2017 and today is in what it is built
    of.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        c = config
        rope = Rope(c.width // c.heads, base=c.rope_base) if c.positions == "rope" else None
        self.self_attention = MultiHead(
            c.width, c.heads, kv_heads=c.kv_heads, bias=c.bias, qk_norm=c.qk_norm, rope=rope,
            off_by_one=c.off_by_one, fused=c.fused,
        )  # fmt: skip
        self.feed_forward: nn.Module
        if c.network in GATES:
            self.feed_forward = GatedFeedForward(c.width, c.inner, c.network, bias=c.bias)
        else:
            self.feed_forward = FeedForward(c.width, c.inner, c.network, bias=c.bias)
        self.add_self = AddNorm(c.width, c.norm, kind=c.norm_kind)
        self.add_feed = AddNorm(c.width, c.norm, kind=c.norm_kind)

    def forward(self, x: Tensor, cache: KVCache | None = None) -> Tensor:
        """(B, L, E) -> (B, L, E)"""
        seen = self.self_attention(self.add_self.before(x), causal=True, cache=cache)
        x = self.add_self.after(x, seen)
        return self.add_feed.after(x, self.feed_forward(self.add_feed.before(x)))


class LanguageModel(Continuing, nn.Module):
    """p(next token | tokens so far), in any mixture of the ten switches."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.words = nn.Embedding(config.words, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        # Pre-norm leaves the sum of all blocks unnormalised: it gets one norm at the end.
        last = KINDS[config.norm_kind](config.width) if config.norm == "pre" else nn.Identity()
        self.norm = last
        self.out = None if config.tied else nn.Linear(config.width, config.words, bias=False)
        initialise(self)

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, L) -> logits of the token after each, (B, L, V)"""
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.generate(x)

    def loss(self, tokens: Tensor) -> Tensor:
        """Every token but the first is predicted from those before it."""
        logits = self(tokens[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    def read(self, tokens: Tensor, state: Past) -> tuple[Tensor, Past]:
        """New tokens (B, L) after the cached ones -> their logits (B, L, V), and the new state."""
        caches = [KVCache(*pair) for pair in state.past or ((),) * self.config.layers]
        x = self.embed(tokens, offset=caches[0].length)
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, cache)
        return self.generate(x), Past(state.rows, tuple(cache.content for cache in caches))

    def embed(self, tokens: Tensor, offset: int = 0) -> Tensor:
        """(B, L) -> (B, L, E). Only waves are added here: RoPE turns queries and keys instead."""
        check_numbers(tokens, self.config.words)
        x = self.words(tokens)
        if self.config.positions == "sinusoidal":
            positions = torch.arange(offset, offset + tokens.shape[1], device=x.device)
            # √E brings the words up to the size of the waves (Vaswani et al. 2017, §3.4)
            x = x * math.sqrt(self.config.width) + waves(positions, self.config.width).to(x.dtype)
        return x

    def generate(self, x: Tensor) -> Tensor:
        """(B, L, E) -> logits (B, L, V)"""
        return F.linear(self.norm(x), (self.words if self.out is None else self.out).weight)
