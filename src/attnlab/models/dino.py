"""DINO: a student learns to say what its teacher says, and the teacher is the student's own past.

    dino = DINO(ViT(config), prototypes=256)
    loss = dino.loss(views)                # two large crops first, then small ones
    loss.backward(); optimizer.step()
    dino.update()                          # the teacher follows, slowly

Nobody says what a picture shows. Both networks sort crops of one picture into K prototypes; the
student sees all crops, the teacher only the large ones, and they should agree. Two tricks keep them
from agreeing on nothing (Caron et al. 2021, §3.1):

    centring     subtract the teacher's running mean: no prototype may win for every picture
    sharpening   a low teacher temperature: the answer may not be "all equally"

B pictures, V views, G of them large, K prototypes, E model width.
"""

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab import assets
from attnlab.attention import log_softmax, softmax
from attnlab.models.vit import Config, ViT


class Head(nn.Module):
    """A small network, then the cosine with each prototype: (B, E) -> (B, K)."""

    def __init__(
        self, width: int, prototypes: int, hidden: int = 256, bottleneck: int = 64
    ) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(),
            nn.Linear(hidden, bottleneck),
        )  # fmt: skip
        self.prototypes = nn.Parameter(torch.randn(prototypes, bottleneck))
        for layer in self.network:
            if isinstance(layer, nn.Linear):  # biases say the same about every picture
                nn.init.xavier_normal_(layer.weight, gain=1.4)
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(self.network(x), dim=-1) @ F.normalize(self.prototypes, dim=-1).T


class DINO(nn.Module):
    """Student and teacher around one kind of ViT; `loss` is for the student, `update` for both.

    - `student_temperature`, `teacher_temperature`: the lower, the sharper.
    - `momentum`: how much of the teacher stays at each update; 1 freezes it.
    - `centring`, `sharpening`: take either away and watch it collapse.
    - `balanced`: instead of centring, every batch uses all prototypes equally (`balance`), as in
      DINOv2 (Oquab et al. 2023).
    """

    centre: Tensor  # (K,): the running mean of what the teacher says

    def __init__(
        self,
        backbone: ViT,
        *,
        prototypes: int = 256,
        student_temperature: float = 0.1,
        teacher_temperature: float = 0.04,
        momentum: float = 0.99,
        centre_momentum: float = 0.9,
        centring: bool = True,
        sharpening: bool = True,
        balanced: bool = False,
    ) -> None:
        super().__init__()
        width = backbone.config.width
        self.student = nn.Sequential(backbone, Head(width, prototypes))
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.register_buffer("centre", torch.zeros(prototypes))
        self.student_temperature = student_temperature
        # Without sharpening the teacher is as soft as its student.
        self.teacher_temperature = teacher_temperature if sharpening else student_temperature
        self.momentum, self.centre_momentum = momentum, centre_momentum
        self.centring, self.balanced = centring, balanced
        self.seen: Tensor | None = None  # the teacher's last logits (G·B, K), for `update`

    def loss(self, views: list[Tensor], large: int = 2) -> Tensor:
        """Cross-entropy between the teacher on each large view and the student on every other."""
        targets = self.targets(torch.cat(views[:large])).chunk(large)  # G × (B, K)
        answers = [*self._student(views[:large]), *self._student(views[large:])]  # V × (B, K)
        terms = [
            -(target * answer).sum(dim=-1).mean()
            for i, target in enumerate(targets)
            for j, answer in enumerate(answers)
            if i != j  # a view is never compared with itself
        ]
        return torch.stack(terms).mean()

    @torch.no_grad()
    def targets(self, images: Tensor) -> Tensor:
        """What the teacher says, centred and sharpened: (B, K), rows sum to 1."""
        self.seen = self.teacher(images)
        if self.balanced:
            return balance(self.seen / self.teacher_temperature)
        return centre_and_sharpen(self.seen, self.centre, self.teacher_temperature)

    def _student(self, views: list[Tensor]) -> list[Tensor]:
        """Log-probabilities of each view; views of one size go through together."""
        if not views:
            return []
        logits = self.student(torch.cat(views)) / self.student_temperature
        return list(log_softmax(logits).chunk(len(views)))

    @torch.no_grad()
    def update(self) -> None:
        """After the optimizer's step: teacher and centre move a little."""
        follow(self.teacher, self.student, self.momentum)
        if self.centring and self.seen is not None:
            self.centre.lerp_(self.seen.mean(dim=0), 1 - self.centre_momentum)


def centre_and_sharpen(logits: Tensor, centre: Tensor, temperature: float) -> Tensor:
    """softmax((logits − centre) / temperature): (B, K) -> (B, K)."""
    return softmax((logits - centre) / temperature)


def balance(logits: Tensor, rounds: int = 3) -> Tensor:
    """Sinkhorn and Knopp: scale rows and columns in turns until every picture hands out 1 and every
    prototype gets the same share of the batch: (B, K) -> (B, K), rows sum to 1.
    """
    shares = softmax(logits.flatten()).reshape(logits.shape)  # all positive, 1 in all
    for _ in range(rounds):
        shares = shares / shares.sum(dim=0, keepdim=True).clamp(min=1e-30)
        shares = shares / shares.sum(dim=1, keepdim=True)
    return shares


@torch.no_grad()
def follow(teacher: nn.Module, student: nn.Module, momentum: float) -> None:
    """teacher ← momentum · teacher + (1 − momentum) · student, for every parameter."""
    if not 0 <= momentum <= 1:
        raise ValueError(f"momentum is {momentum}, but it is a share: 0 … 1.")
    for old, new in zip(teacher.parameters(), student.parameters(), strict=True):
        old.lerp_(new, 1 - momentum)


def entropies(targets: Tensor) -> tuple[float, float]:
    """Two signs of collapse, in nats, of what a teacher says about a batch (B, K).

    The entropy of the *mean* answer falls to 0 when one prototype wins for all; the *mean* entropy
    of an answer rises to log K when every answer is "all equally". Healthy: high, and low.
    """
    mean = targets.mean(dim=0)
    of_mean = -(mean * mean.clamp(min=1e-12).log()).sum()
    mean_of = -(targets * targets.clamp(min=1e-12).log()).sum(dim=-1).mean()
    return float(of_mean), float(mean_of)


def crops(
    images: Tensor, size: int, scale: tuple[float, float], generator: torch.Generator
) -> Tensor:
    """A random square of each picture, resized, mirrored and recoloured: (B, 3, S, S) -> (…size).

    `scale` is the share of the *area* that is kept, as in the paper.
    """
    count = len(images)

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(count, *shape, generator=generator)

    share = uniform(*scale).sqrt()  # of the side
    mirror = torch.where(uniform(0, 1) < 0.5, -share, share)
    x, y = (1 - share) * uniform(-1, 1), (1 - share) * uniform(-1, 1)
    none = torch.zeros(count)
    rows = [torch.stack([mirror, none, x], dim=-1), torch.stack([none, share, y], dim=-1)]
    place = F.affine_grid(torch.stack(rows, dim=1), [count, 3, size, size], align_corners=False)
    if size * 2 <= images.shape[-1] and scale[0] > 0.4:
        images = F.avg_pool2d(images, 2)
    views = F.grid_sample(images, place, padding_mode="reflection", align_corners=False)
    contrast, light = uniform(0.6, 1.4, 1, 1, 1), uniform(-0.2, 0.2, 1, 1, 1)
    tint = uniform(0.6, 1.4, 3, 1, 1)
    views = ((views - 0.5) * contrast + 0.5 + light) * tint
    grey = (uniform(0, 1, 1, 1, 1) < 0.2).float()
    return (views.mean(dim=1, keepdim=True) * grey + views * (1 - grey)).clamp(0, 1)


def multi_crop(
    images: Tensor,
    generator: torch.Generator,
    *,
    large: int = 64,
    small: int = 32,
    count: int = 4,
) -> list[Tensor]:
    """Two large views of 60–100 % of the area, then `count` small ones of 25–50 %.

    The paper takes 40–100 % and 5–40 %; our objects are small, and such crops often miss them.
    """
    views = [crops(images, large, (0.6, 1.0), generator) for _ in range(2)]
    return views + [crops(images, small, (0.25, 0.5), generator) for _ in range(count)]


def small_vit(name: str) -> ViT:
    """A ViT of 64 pixels that the course has trained (`training/dino.py`), to look into.

    "dino" never saw a label; "supervised", its twin, was told what every picture shows.
    """
    if name not in ("dino", "supervised"):
        raise KeyError(f"{name!r} is not carried: choose 'dino' or 'supervised'.")
    weights, about = assets.load(f"weights/{name}_small.safetensors")
    model = ViT(Config(**about["config"]))
    model.load_state_dict(weights)
    return model.eval().requires_grad_(False)
