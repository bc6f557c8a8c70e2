"""Three optimisers in the open: Adam, AdamW, SOAP.

    Adam     each weight has its own step: g's running mean over the root of g²'s running mean
    AdamW    the same, and weights shrink apart from the gradient (Loshchilov and Hutter 2019)
    SOAP     the same, along axes in which a matrix's gradients are least correlated
             (Vyas et al. 2024)

`make("soap", model, lr=3e-3)` builds one. They are written to be read; `torch.optim.AdamW` takes
the same steps faster.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn


class Adam(torch.optim.Optimizer):
    """Kingma and Ba 2015. `decay` is added to the gradient, the "L2" that AdamW mends."""

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.99),
        eps: float = 1e-8,
        decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "decay": decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.move(p, p.grad, self.state[p], group)

    def move(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """One step of one parameter."""
        p.sub_(group["lr"] * adam_direction(g + group["decay"] * p, state, group))


class AdamW(Adam):
    """Adam whose decay shrinks the weights directly, so that g's size has no say in it."""

    def move(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        p.mul_(1 - group["lr"] * group["decay"])
        p.sub_(group["lr"] * adam_direction(g, state, group))


def adam_direction(g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Tensor:
    """mean(g) / √mean(g²), both running, both corrected for having begun at 0."""
    if not state:
        state.update(step=0, mean=torch.zeros_like(g), square=torch.zeros_like(g))
    (b1, b2), mean, square = group["betas"], state["mean"], state["square"]
    state["step"] += 1
    mean.lerp_(g, 1 - b1)
    square.lerp_(g.square(), 1 - b2)
    corrected = (square / (1 - b2 ** state["step"])).sqrt() + group["eps"]
    return mean / (1 - b1 ** state["step"]) / corrected


class SOAP(torch.optim.Optimizer):
    """Adam in the eigenbasis of Shampoo's statistics (Vyas et al. 2024, algorithm 3).

    For a matrix W (n, m) with gradient G, the running means of G Gᵀ (n, n) and Gᵀ G (m, m) have
    eigenvectors Q_L and Q_R. Adam's second moment is kept for Q_Lᵀ G Q_R, where its entries are
    least correlated. Every `every` steps the bases are updated by one power iteration and a QR.
    Vectors get plain Adam. As in the authors' code, the first gradient only sets up the bases.
    A side longer than `longest` keeps its own axes: its basis would be too large.
    """

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float = 3e-3,
        betas: tuple[float, float] = (0.95, 0.95),
        eps: float = 1e-8,
        decay: float = 0.0,
        every: int = 10,
        longest: int = 10_000,
    ) -> None:
        super().__init__(
            parameters,
            {"lr": lr, "betas": betas, "eps": eps, "decay": decay, "every": every,
             "longest": longest},
        )  # fmt: skip

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if not self.state[p]:
                    self._begin(p.grad, self.state[p], group)
                else:
                    self._move(p, p.grad, self.state[p], group)

    def _begin(self, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if g.dim() > 2:
            raise ValueError(
                f"SOAP was given a parameter of shape {tuple(g.shape)}: it knows vectors and "
                "matrices; flatten it to two axes."
            )
        state.update(step=0, mean=torch.zeros_like(g), square=torch.zeros_like(g))
        for side in sides(g, group["longest"]):
            state["gram" + side] = (1 - group["betas"][1]) * gram(g, side)
            # eigh sorts upwards; the largest goes first
            state["basis" + side] = torch.linalg.eigh(state["gram" + side])[1].flip(1).contiguous()

    def _move(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        (b1, b2), mean, square = group["betas"], state["mean"], state["square"]
        state["step"] += 1
        mean.lerp_(g, 1 - b1)
        square.lerp_(turn(g, state).square(), 1 - b2)
        size = (square / (1 - b2 ** state["step"])).sqrt()
        eps = group["eps"] / (1 - b2 ** state["step"]) ** 0.5  # added before the correction
        direction = turn(mean, state) / (1 - b1 ** state["step"]) / (size + eps)
        p.sub_(group["lr"] * turn(direction, state, back=True))
        p.mul_(1 - group["lr"] * group["decay"])
        for side in sides(g, group["longest"]):
            state["gram" + side].lerp_(gram(g, side), 1 - b2)
            if state["step"] % group["every"] == 0:
                renew(state, side)


LEFT, RIGHT = "_left", "_right"


def sides(g: Tensor, longest: int) -> list[str]:
    """Which sides of a gradient get a basis: none of a vector, those of a matrix not too long."""
    if g.dim() != 2:
        return []
    return [side for side, n in zip((LEFT, RIGHT), g.shape, strict=True) if n <= longest]


def gram(g: Tensor, side: str) -> Tensor:
    """G Gᵀ for the rows, Gᵀ G for the columns."""
    return g @ g.T if side == LEFT else g.T @ g


def turn(x: Tensor, state: dict[str, Any], back: bool = False) -> Tensor:
    """Into the bases, Q_Lᵀ X Q_R, or back out of them, Q_L X Q_Rᵀ."""
    if "basis" + LEFT in state:
        left = state["basis" + LEFT]
        x = (left if back else left.T) @ x
    if "basis" + RIGHT in state:
        right = state["basis" + RIGHT]
        x = x @ (right.T if back else right)
    return x


def renew(state: dict[str, Any], side: str) -> None:
    """One power iteration towards the eigenvectors of the gram matrix, made orthogonal by QR.

    The axes are sorted by what they carry; the second moments move with their axes.
    """
    basis, statistics = state["basis" + side], state["gram" + side]
    powered = statistics @ basis
    order = (basis * powered).sum(0).argsort(descending=True)
    state["square"] = state["square"].index_select(0 if side == LEFT else 1, order)
    state["basis" + side] = torch.linalg.qr(powered[:, order])[0].contiguous()


def make(name: str, model: nn.Module, lr: float, decay: float = 0.0) -> torch.optim.Optimizer:
    """The optimiser that `Config.optimiser` names. Only matrices decay, not norms and biases."""
    kinds: dict[str, Any] = {"adam": Adam, "adamw": AdamW, "soap": SOAP}
    if name not in kinds:
        raise ValueError(f"optimiser is {name!r}, but it must be one of {', '.join(kinds)}.")
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.dim() > 1], "decay": decay},
        {"params": [p for p in trained if p.dim() < 2], "decay": 0.0},
    ]
    return kinds[name](groups, lr=lr)
