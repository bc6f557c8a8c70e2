"""Models to pass on: each with what it needs to be used (its words), in one file.

    Translator.shipped("rnnsearch")              # one that the course carries
    translator.save("mine.safetensors", store="int8")

Translators and captioners are such models.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

from attnlab import assets, checkpoints


class Carried:
    """A subclass says what it is called and what its header needs, writes that (`header`), and
    rebuilds itself from it (`from_header`), with weights still to be filled in.
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
        return checkpoints.save(path, self.model.state_dict(), about, store=store)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        tensors, about = checkpoints.load(path)
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
