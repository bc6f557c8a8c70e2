"""A Transformer whose decoder blocks read whichever encoder block they are told to.

    Rewired(config, reads=[3, 3, 3, 3])     # 4 + 4 blocks as they are: all read the last one
    Rewired(config, reads=[0, 1, 2, 3])     # the popular drawing: floor by floor
    Rewired(config, reads=[0, 0, 0, 0])     # all read the first; the others are never read

Its weights have the names and shapes of a `Transformer`'s, so a trained one can be rewired.
"""

from collections.abc import Sequence

from torch import Tensor

from attnlab.models.transformer import Config, State, Transformer


class Rewired(Transformer):
    """Decoder block i reads the output of encoder block `reads[i]`, brought to size by the norm."""

    def __init__(self, config: Config, reads: Sequence[int]) -> None:
        if len(reads) != config.layers or not all(0 <= i < config.layers for i in reads):
            raise ValueError(
                f"reads is {list(reads)}, but each of the {config.layers} decoder blocks needs an "
                f"encoder block, 0 to {config.layers - 1}."
            )
        super().__init__(config)
        self.reads = list(reads)

    def start(self, source: Tensor, lengths: Tensor) -> State:
        """As `Transformer.start`; the output of every encoder block is kept until it is read."""
        state = super().start(source, lengths)
        x, floors = self.source(source), []
        for block in self.encoder.layers:
            x = block(x, mask=state.real)
            floors.append(self.encoder.norm(x))
        memory = tuple(
            block.read(floors[i])  # type: ignore[operator]
            for block, i in zip(self.decoder.layers, self.reads, strict=True)
        )
        return state._replace(memory=memory)
