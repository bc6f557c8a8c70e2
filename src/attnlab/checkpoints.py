"""Checkpoints: tensors in a safetensors file, everything else as JSON in its header. No pickle.

    save("model.safetensors", model.state_dict(), about={"config": …}, store="int8")
    tensors, about = load("model.safetensors")

A file can be stored at full size ("float32"), at half ("float16") or at a quarter ("int8"). With
int8 every row of a matrix has its own scale: weight ≈ scale · q, with whole numbers q in
−127…127. Vectors stay in float16. What is loaded is always float32, and it is exactly what the
file holds: the browser, which reads the same numbers, computes with the same weights.
"""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

STORES = ("float32", "float16", "int8")
SCALE = ".scale"  # "out.weight" in int8 has its row scales under "out.weight.scale"


def quantise(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as whole numbers and one scale per row: (N, M) -> int8 (N, M), float32 (N, 1)."""
    rows = weight.float()
    scale = rows.abs().amax(dim=-1, keepdim=True).clamp(min=1e-12) / 127
    return (rows / scale).round().to(torch.int8), scale


def pack(tensors: Mapping[str, Tensor], store: str) -> dict[str, Tensor]:
    """The tensors as they are written: same names, plus a scale beside every int8 matrix."""
    if store not in STORES:
        raise ValueError(f"store is {store!r}, but it must be one of {', '.join(STORES)}.")
    packed = {}
    for name, tensor in tensors.items():
        value = tensor.detach().cpu()
        if value.is_floating_point() and store == "int8" and value.dim() >= 2:
            packed[name], packed[name + SCALE] = quantise(value)
        elif value.is_floating_point() and store != "float32":
            packed[name] = value.half()
        else:
            packed[name] = value.clone()
    return {name: value.contiguous() for name, value in packed.items()}


def unpack(packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Undo `pack`, up to rounding: floats in float32, scales multiplied in."""
    tensors = {}
    for name, value in packed.items():
        if name.endswith(SCALE) and name.removesuffix(SCALE) in packed:
            continue
        if name + SCALE in packed:
            tensors[name] = value.float() * packed[name + SCALE]
        else:
            tensors[name] = value.float() if value.is_floating_point() else value
    return tensors


def to_json(tensors: Mapping[str, Tensor], store: str = "int8") -> dict[str, dict[str, Any]]:
    """The tensors for a page: name → {"shape", "dtype", "data"}, little-endian and base64.

    An int8 matrix has a float32 "scale", one per row: weight[i][j] = data[i][j] · scale[i].
    `widgets/static/wire.js` reads them.
    """
    arrays: dict[str, dict[str, Any]] = {}
    for name, tensor in pack(tensors, store).items():
        if name.endswith(SCALE) and name.removesuffix(SCALE) in arrays:
            arrays[name.removesuffix(SCALE)]["scale"] = _base64(tensor)
        else:
            kind = str(tensor.dtype).removeprefix("torch.")
            arrays[name] = {"shape": list(tensor.shape), "dtype": kind, "data": _base64(tensor)}
    return arrays


def from_json(arrays: Mapping[str, Mapping[str, Any]]) -> dict[str, Tensor]:
    """Undo `to_json`, up to rounding: what the page computes with, in float32."""
    packed = {}
    for name, array in arrays.items():
        kind = getattr(torch, array["dtype"])
        packed[name] = _tensor(array["data"], kind).reshape(array["shape"])
        if "scale" in array:
            packed[name + SCALE] = _tensor(array["scale"], torch.float32).reshape(
                *array["shape"][:-1], 1
            )
    return unpack(packed)


def _base64(tensor: Tensor) -> str:
    return base64.b64encode(tensor.contiguous().numpy().tobytes()).decode("ascii")


def _tensor(text: str, kind: torch.dtype) -> Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=kind)


def save(
    path: str | Path,
    tensors: Mapping[str, Tensor],
    about: Mapping[str, Any] | None = None,
    *,
    store: str = "float32",
) -> Path:
    """Write the tensors, with `about` (anything JSON can say) in the header. Returns the path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"about": json.dumps(about or {}, ensure_ascii=False, sort_keys=True)}
    draft = path.with_name(path.name + ".part")  # an interruption never leaves half a checkpoint
    save_file(pack(tensors, store), draft, metadata=header)
    draft.replace(path)
    return path


def read(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors as they are stored (int8 and scales apart), and what the header says."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no checkpoint {path}: check the path, or save one first."
        )
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {}).get("about", "{}"))
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (SafetensorError, json.JSONDecodeError) as error:
        raise ValueError(f"{path.name} is not a checkpoint that can be read ({error}).") from None


def load(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors in float32, ready for `load_state_dict`, and what the header says."""
    packed, about = read(path)
    return unpack(packed), about
