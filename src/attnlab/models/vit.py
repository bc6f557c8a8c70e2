"""The Vision Transformer: an encoder that reads patches (Dosovitskiy et al. 2021).

    model = ViT(Config(size=28, patch=7, channels=1, width=64, layers=4, heads=4, classes=10))
    model(images)                          # (B, classes)
    model.tokens(images)                   # (B, 1 + registers + N, E), after the last norm
    with record(model) as maps:            # "blocks.3.attention": (B, H, L, L)
        model(images)
    grid(maps["blocks.3.attention"][:, :, 0], model, images)     # [CLS] as a picture

Switches of later work: registers (Darcet et al. 2024), layer scale (Touvron et al. 2021), the mean
of all patches instead of [CLS], positions by `patches.GridPositions`. And one for speed, `brief`:
where only [CLS] is read, nobody needs what the last block makes of the other tokens.

Shapes: B batch, C channels, P side of a patch, N patches, E model width, F hidden width, H heads,
L = 1 + registers + N tokens.
"""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.layers.feed_forward import FeedForward
from attnlab.layers.heads import MultiHead
from attnlab.layers.norms import LayerNorm
from attnlab.layers.patches import GridPositions, PatchEmbedding, grid_of


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that shapes a ViT. Sizes in pixels; 0 classes leave the head out."""

    size: int = 224  # side of the pictures it is trained on
    patch: int = 16
    channels: int = 3
    width: int = 768
    layers: int = 12
    heads: int = 12
    hidden: int | None = None  # of the feed-forward network; 4 · width
    classes: int = 1000
    positions: str = "1d"  # none, 1d, 2d, relative
    cls: bool = True  # read [CLS], or else the mean of the patches
    registers: int = 0  # tokens that only hold, with nothing to say at the end
    layer_scale: float | None = None  # where the scales start, if there are any
    brief: bool = False  # the last block answers [CLS] alone: the same classes with less work
    dropout: float = 0.0
    eps: float = 1e-6

    @property
    def side(self) -> int:
        """Patches along one side."""
        return self.size // self.patch

    @property
    def skip(self) -> int:
        """Tokens before the patches: drop that many before a map becomes a picture."""
        return int(self.cls) + self.registers


class LayerScale(nn.Module):
    """A trained factor for each number of the width, near 0 at first: a block begins as nothing."""

    def __init__(self, width: int, start: float) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((width,), start))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


class Block(nn.Module):
    """Look around, then think: pre-norm, GELU."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, start = config.width, config.layer_scale
        self.norm_1 = LayerNorm(width, config.eps)
        self.attention = MultiHead(width, config.heads, dropout=config.dropout)
        self.norm_2 = LayerNorm(width, config.eps)
        self.feed_forward = FeedForward(width, config.hidden or 4 * width, "gelu")
        self.scale_1 = nn.Identity() if start is None else LayerScale(width, start)
        self.scale_2 = nn.Identity() if start is None else LayerScale(width, start)
        self.dropout = config.dropout

    def forward(self, x: Tensor, bias: Tensor | None = None, only_cls: bool = False) -> Tensor:
        """(B, L, E) -> (B, L, E). With `only_cls` only [CLS] attends, to all: (B, 1, E)."""
        seen = self.norm_1(x)
        if only_cls:
            bias = None if bias is None else bias[:, :1]  # (H, 1, L)
            x, seen = x[:, :1], self.attention(seen[:, :1], context=seen, bias=bias)
        else:
            seen = self.attention(seen, bias=bias)
        x = x + self._drop(self.scale_1(seen))
        return x + self._drop(self.scale_2(self.feed_forward(self.norm_2(x))))

    def _drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout) if self.training and self.dropout else x


class ViT(nn.Module):
    """Patches in, one vector for each token out, and classes from the first of them."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        if config.size % config.patch:
            raise ValueError(
                f"pictures of {config.size} pixels cannot be cut into patches of {config.patch}: "
                "choose a patch that divides the size."
            )
        if config.brief and not config.cls:
            raise ValueError("brief leaves out all tokens but [CLS], so it needs cls=True.")
        self.config = config
        side, width = config.side, config.width
        self.embed = PatchEmbedding(config.channels, config.patch, width)
        self.cls = nn.Parameter(torch.zeros(width)) if config.cls else None
        self.registers = nn.Parameter(torch.zeros(config.registers, width))
        self.positions = GridPositions(
            config.positions, side, side, width, skip=int(config.cls), heads=config.heads
        )
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = LayerNorm(width, config.eps)
        self.head = nn.Linear(width, config.classes) if config.classes else nn.Identity()
        self.apply(_initialise)

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, R·P, K·P) -> logits (B, classes), or what describes the picture (B, E)."""
        return self.head(self.describe(images))

    def describe(self, images: Tensor) -> Tensor:
        """One vector for a picture: its [CLS], or the mean of its patches: (B, E)."""
        if self.config.brief:
            x, bias = self.prepare(images)
            for block in self.blocks[:-1]:
                x = block(x, bias)
            return self.norm(self.blocks[-1](x, bias, only_cls=True))[:, 0]
        x = self.tokens(images)
        return x[:, 0] if self.config.cls else x[:, self.config.skip :].mean(dim=1)

    def tokens(self, images: Tensor) -> Tensor:
        """Every token after the last norm, [CLS] and registers first: (B, L, E)."""
        x, bias = self.prepare(images)
        for block in self.blocks:
            x = block(x, bias)
        return self.norm(x)

    def prepare(self, images: Tensor) -> tuple[Tensor, Tensor | None]:
        """What the first block reads, and what "relative" positions add to the scores."""
        rows, columns = grid_of(images, self.config.patch)
        x = self.embed(images)  # (B, N, E)
        if self.cls is not None:
            x = torch.cat([self.cls.expand(len(x), 1, -1), x], dim=1)
        x = self.positions(x, rows, columns)
        bias = self.positions.bias(rows, columns)
        if self.config.registers:  # they come after the positions: they are nowhere
            held = self.registers.expand(len(x), -1, -1)
            first = int(self.config.cls)
            x = torch.cat([x[:, :first], held, x[:, first:]], dim=1)
            if bias is not None:
                bias = F.pad(bias, (self.config.registers, 0, self.config.registers, 0))
        return x, bias

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Cross-entropy of (images, kinds)."""
        images, kinds = batch
        return F.cross_entropy(self(images), kinds)


def grid(values: Tensor, model: ViT, images: Tensor) -> Tensor:
    """What belongs to the patches, as a picture: (..., L) -> (..., R, K).

    Drops [CLS] *and* the registers: with them left in, every row of the picture is shifted.
    """
    rows, columns = grid_of(images, model.config.patch)
    expected = model.config.skip + rows * columns
    if values.shape[-1] != expected:
        raise ValueError(
            f"values end in {values.shape[-1]}, but {expected} tokens are expected: "
            f"{model.config.skip} before the patches and {rows} × {columns} patches."
        )
    return values[..., model.config.skip :].unflatten(-1, (rows, columns))


def equally_loud(module: nn.Module) -> None:
    """A layer begins as published for width 768, a truncated normal of 0.02, and equally loud at
    any other width.
    """
    if isinstance(module, nn.Linear | nn.Conv2d):
        inputs = module.weight[0].numel()
        nn.init.trunc_normal_(module.weight, std=0.02 * (768 / inputs) ** 0.5)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def _initialise(module: nn.Module) -> None:
    equally_loud(module)
    if isinstance(module, ViT):
        for token in (module.cls, module.registers):
            if token is not None and token.numel():
                nn.init.normal_(token, std=0.02)


_BASE = Config()
_LARGE = replace(_BASE, width=1024, layers=24, heads=16)
# torchvision's five builders.
BUILDERS = {
    "vit_b_16": _BASE,
    "vit_b_32": replace(_BASE, patch=32),
    "vit_l_16": _LARGE,
    "vit_l_32": replace(_LARGE, patch=32),
    "vit_h_14": replace(_BASE, patch=14, width=1280, layers=32, heads=16),
}


def parameters(config: Config) -> int:
    """How many numbers a config trains, counted without making one of them."""
    with torch.device("meta"):
        return sum(p.numel() for p in ViT(config).parameters())
