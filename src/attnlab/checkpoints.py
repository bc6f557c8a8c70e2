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
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from attnlab import assets

STORES = ("float32", "float16", "int8")
SCALE = ".scale"  # "out.weight" in int8 has its row scales under "out.weight.scale"


def quantise(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as whole numbers and one scale a row: (N, M) -> int8 (N, M), float32 (N, 1)."""
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

    An int8 matrix has a float32 "scale", one a row: weight[i][j] = data[i][j] · scale[i].
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


class Carried:
    """A model with what it needs to be used (its words), as one file. Translators, captioners.

    A subclass says what it is called and what its header needs, writes that (`header`), and builds
    itself anew from it (`from_header`), with weights still to be filled in.
    """

    model: Any  # with a config that is a dataclass
    what: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, *, what: str, needs: tuple[str, ...]) -> None:
        cls.what, cls.needs = what, needs

    def header(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def from_header(cls, about: dict[str, Any]) -> Self:
        raise NotImplementedError

    def save(self, path: str | Path, *, store: str = "float32", **facts: Any) -> Path:
        """Write a safetensors file; sizes, words and any `facts` go into its header."""
        about = {"config": asdict(self.model.config), **self.header(), **facts}
        return save(path, self.model.state_dict(), about, store=store)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        tensors, about = load(path)
        if missing := sorted({"config", *cls.needs} - set(about)):
            raise ValueError(
                f"{Path(path).name} is a checkpoint, but not of a {cls.what}: its header lacks "
                f"{', '.join(missing)}."
            )
        made = cls.from_header(about)
        made.model.load_state_dict(tensors)
        made.model.eval()
        return made

    @classmethod
    def shipped(cls, name: str) -> Self:
        """One that the course carries."""
        return cls.load(assets.find(f"weights/{name}.safetensors"))
