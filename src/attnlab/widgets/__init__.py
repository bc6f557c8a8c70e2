"""Live figures: the same ES module in JupyterLab, Colab, slides and the static website."""

from attnlab.widgets.attention_heatmap import AttentionHeatmap
from attnlab.widgets.attention_workbench import AttentionWorkbench
from attnlab.widgets.path_length import PathLength
from attnlab.widgets.quiz import Quiz
from attnlab.widgets.scale_histogram import ScaleHistogram
from attnlab.widgets.softmax_temperature import SoftmaxTemperature

__all__ = [
    "AttentionHeatmap",
    "AttentionWorkbench",
    "PathLength",
    "Quiz",
    "ScaleHistogram",
    "SoftmaxTemperature",
]
