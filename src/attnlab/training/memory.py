"""How much memory training takes on each GPU, counted by hand: when is DDP no longer enough?

    budget(layers=32, width=4096, vocabulary=32_000, gpus=8)

The rules, which the live figure `MemoryBudget` follows too:

- a block has 12 E² parameters (4 E² in attention, 8 E² in the network), and the tied table V · E;
- mixed precision computes in bfloat16 and keeps float32 weights: 2 + 4 bytes for a parameter and
  2 for its gradient; without, 4 and 4. This is the recipe of ZeRO (Rajbhandari et al. 2020, §3.1),
  not of `torch.autocast`, which keeps float32 weights and gradients and casts while it computes;
- AdamW keeps two float32 numbers for a parameter; SOAP two, and its bases and averages of an
  (m, n) matrix, 2 m² + 2 n²: about 65 E² more for a block with a gate, whose network is 8/3 E wide;
- a block keeps about 34 L E bytes in 16 bits for the way back, with fused attention (Korthikanti
  et al. 2022, eq. 2, without its 5 H L² of unfused weights), double that in 32 bits; recomputed,
  only its input; the logits, L · V, are kept in float32 besides their gradient.

DDP gives every GPU all of it, except that each has its own sequences. FSDP divides parameters,
gradients and optimiser by the number of GPUs; two blocks at a time are gathered whole.
"""

from dataclasses import dataclass

GIB = 2**30


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Bytes on one GPU."""

    parameters: float
    gradients: float
    optimiser: float
    activations: float
    gathered: float = 0.0

    @property
    def total(self) -> float:
        return self.parameters + self.gradients + self.optimiser + self.activations + self.gathered


def parameters(layers: int, width: int, vocabulary: int) -> int:
    """12 E² for each block, and the table of words."""
    return 12 * layers * width**2 + vocabulary * width


def budget(
    *,
    layers: int,
    width: int,
    vocabulary: int,
    length: int = 2048,
    batch: int = 1,
    gpus: int = 1,
    optimiser: str = "adamw",
    mixed: bool = True,
    recompute: bool = False,
) -> tuple[Budget, Budget]:
    """What each of the GPUs holds with DDP, and with FSDP."""
    count = parameters(layers, width, vocabulary)
    weight, gradient, item = (6, 2, 2) if mixed else (4, 4, 4)
    states = {"sgd": 0.0, "adamw": 8.0 * count, "soap": 8.0 * count}[optimiser]
    if optimiser == "soap":
        # four E × E, two E × 8E/3 and one 8E/3 × E, as with a gate: 4·4 + 3·2·(1 + 64/9) = 64.67
        states += 4 * layers * width**2 * (16 + 6 * (1 + 64 / 9))
    tokens = batch * length
    kept = item * tokens * width * (1 if recompute else 17) * layers
    if recompute:
        kept += 17 * item * tokens * width  # one block is opened at a time
    kept += 2 * 4 * tokens * vocabulary
    ddp = Budget(
        parameters=weight * count, gradients=gradient * count, optimiser=states, activations=kept
    )
    gathered = 2 * 12 * width**2 * (item + gradient) if gpus > 1 else 0
    fsdp = Budget(
        parameters=ddp.parameters / gpus,
        gradients=ddp.gradients / gpus,
        optimiser=states / gpus,
        activations=kept,
        gathered=gathered,
    )
    return ddp, fsdp
