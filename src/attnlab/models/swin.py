"""Swin (Liu et al. 2021): windows inside, and from stage to stage fewer and wider tokens.

    patches 4 × 4        (B, R, C, E)              many small tokens
    stage 1 … 4          blocks, plain and shifted windows in turn
    merging in between   (B, R/2, C/2, 2E)         four neighbours become one token

An isotropic ViT keeps one grid from the first block to the last; here the grid shrinks as the
width grows, as in a CNN. `swin_t()` is the published small one.

B batch, R rows, C columns of tokens, E width, M window side, H heads.
"""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.layers.feed_forward import FeedForward
from attnlab.layers.norms import AddNorm, LayerNorm
from attnlab.layers.windows import WindowAttention, pad_to
from attnlab.models.vit import equally_loud


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes; one entry of `depths` and `heads` per stage. The width doubles from stage to stage."""

    classes: int
    channels: int = 3
    patch: int = 4
    width: int = 96
    depths: tuple[int, ...] = (2, 2, 6, 2)
    heads: tuple[int, ...] = (3, 6, 12, 24)
    window: int = 7
    hidden: int = 4  # hidden width of a block's network, as a multiple of its width
    shifted: bool = True  # every other block; False shows what is lost without

    def __post_init__(self) -> None:
        if len(self.depths) != len(self.heads):
            raise ValueError(
                f"{len(self.depths)} depths and {len(self.heads)} heads: each stage needs both."
            )
        for stage, heads in enumerate(self.heads):
            if (self.width << stage) % heads:
                raise ValueError(
                    f"stage {stage + 1} is {self.width << stage} wide and cannot be split into "
                    f"{heads} heads."
                )


def swin_t(classes: int = 1000) -> Config:
    """Swin-T of the paper: 28,288,354 parameters with 1000 classes."""
    return Config(classes=classes)


class Block(nn.Module):
    """Attention in windows, then the network, each around a pre-norm residual."""

    def __init__(self, width: int, heads: int, window: int, hidden: int, shift: int) -> None:
        super().__init__()
        self.attention = WindowAttention(width, heads, window, shift=shift)
        self.feed_forward = FeedForward(width, hidden, "gelu")
        self.add_self = AddNorm(width)
        self.add_feed = AddNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, R, C, E) -> (B, R, C, E)"""
        x = self.add_self.after(x, self.attention(self.add_self.before(x)))
        return self.add_feed.after(x, self.feed_forward(self.add_feed.before(x)))


def four_neighbours(x: Tensor) -> Tensor:
    """Each 2 × 2 square of tokens side by side in one: (B, R, C, E) -> (B, R/2, C/2, 4E).

    In the published order: column by column, top before bottom. Odd pictures are padded.
    """
    x = pad_to(x, 2).unflatten(2, (-1, 2)).unflatten(1, (-1, 2))  # (B, R/2, 2, C/2, 2, E)
    return x.permute(0, 1, 3, 4, 2, 5).flatten(3)  # the column inside a square, then the row


class Merge(nn.Module):
    """Patch merging: a quarter of the tokens, twice the width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = LayerNorm(4 * width)
        self.project = nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, R, C, E) -> (B, R/2, C/2, 2E)"""
        return self.project(self.norm(four_neighbours(x)))


class Swin(nn.Module):
    """Pictures in, scores of classes out."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.patches = nn.Conv2d(config.channels, config.width, config.patch, config.patch)
        self.patch_norm = LayerNorm(config.width)
        self.stages = nn.ModuleList()
        self.merges = nn.ModuleList()
        for stage, (depth, heads) in enumerate(zip(config.depths, config.heads, strict=True)):
            width = config.width << stage
            half = config.window // 2 if config.shifted else 0
            blocks = [
                Block(width, heads, config.window, config.hidden * width, half * (k % 2))
                for k in range(depth)
            ]
            self.stages.append(nn.Sequential(*blocks))
            if stage + 1 < len(config.depths):
                self.merges.append(Merge(width))
        last = config.width << (len(config.depths) - 1)
        self.norm = LayerNorm(last)
        self.head = nn.Linear(last, config.classes)
        # Published: 0.02 at every width. Small models then waste their first minute.
        self.apply(equally_loud)

    def features(self, pictures: Tensor) -> list[Tensor]:
        """What each stage gives, before merging: (B, R, C, E), (B, R/2, C/2, 2E), …"""
        x = self.embed(pictures)
        seen = []
        for k, stage in enumerate(self.stages):
            x = stage(x if k == 0 else self.merges[k - 1](x))
            seen.append(x)
        return seen

    def embed(self, pictures: Tensor) -> Tensor:
        """(B, channels, height, width) -> tokens (B, R, C, E)"""
        size = self.config.patch
        below, right = -pictures.shape[-2] % size, -pictures.shape[-1] % size
        x = self.patches(F.pad(pictures, (0, right, 0, below)))
        return self.patch_norm(x.movedim(1, -1))

    def forward(self, pictures: Tensor) -> Tensor:
        """(B, channels, height, width) -> (B, classes): the mean of the last tokens decides."""
        return self.head(self.norm(self.features(pictures)[-1]).mean(dim=(1, 2)))

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Cross-entropy of (pictures, labels)."""
        pictures, labels = batch
        return F.cross_entropy(self(pictures), labels)
