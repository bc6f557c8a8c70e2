"""Live figures: the same ES module in JupyterLab, Colab, slides and the static website."""

from attnlab.widgets.attention_heatmap import AttentionHeatmap
from attnlab.widgets.softmax_temperature import SoftmaxTemperature

__all__ = ["AttentionHeatmap", "SoftmaxTemperature"]
