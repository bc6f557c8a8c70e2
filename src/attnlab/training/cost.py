"""What a training costs: operations, time, memory, and the loss that a published law promises.

N parameters, D tokens, C = 6 N D operations (Kaplan et al. 2020, §2.1): each weight takes part in
one multiplication and one addition for each token on the way forwards, and twice that backwards.
The live figure `ScalingCalculator` follows the same rules; a test compares the two.
"""

from dataclasses import dataclass

BYTES = 16  # a parameter in mixed precision with Adam: 2 weight, 2 gradient, 4 copy, 4 + 4 moments
PER_PARAMETER = 20  # tokens: the rule of thumb that Hoffmann et al. (2022) left behind


@dataclass(frozen=True, kw_only=True)
class Device:
    """One chip: the peak its maker states for 16-bit matrix products, and its memory."""

    flops: float  # per second
    memory: float  # bytes


# Data sheets; P100 as Vaswani et al. (2017) count it, in 32 bits; a TPU v3 chip has two cores.
DEVICES = {
    "P100": Device(flops=9.5e12, memory=16e9),
    "T4": Device(flops=65e12, memory=16e9),
    "V100": Device(flops=125e12, memory=32e9),
    "TPU v3 chip": Device(flops=123e12, memory=32e9),
    "A100": Device(flops=312e12, memory=80e9),
    "H100": Device(flops=989e12, memory=80e9),
}

# Parameters and tokens as the papers give them; the first one is the largest
# run of chapter 7's own scaling law.
PRESETS = {
    "ours": (56_640, 276_480),
    "GPT-3": (175e9, 300e9),
    "Gopher": (280e9, 300e9),
    "Chinchilla": (70e9, 1.4e12),
    "Llama 65B": (65e9, 1.4e12),
    "Llama 3 405B": (405e9, 15.6e12),
}


def operations(parameters: float, tokens: float) -> float:
    """C = 6 N D."""
    return 6 * parameters * tokens


def seconds(flops: float, device: Device, *, count: int = 1, utilisation: float = 0.4) -> float:
    """How long `count` devices need when they reach this share of their peak."""
    return flops / (device.flops * count * utilisation)


def best_size(flops: float) -> float:
    """The parameters that 20 tokens each would spend this budget on: C = 6 N · 20 N."""
    return (flops / (6 * PER_PARAMETER)) ** 0.5


def published_loss(parameters: float, tokens: float) -> float:
    """Nats per token on web text, by Hoffmann et al. (2022), equation 10."""
    return 1.69 + 406.4 / parameters**0.34 + 410.7 / tokens**0.28
