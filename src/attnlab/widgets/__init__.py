"""Live figures: the same ES module in JupyterLab, Colab, slides and the static website."""

from attnlab.widgets.attention_heatmap import AttentionHeatmap
from attnlab.widgets.attention_workbench import AttentionWorkbench
from attnlab.widgets.browser_translator import BrowserTranslator
from attnlab.widgets.path_length import PathLength
from attnlab.widgets.pronouncer import Pronouncer
from attnlab.widgets.quiz import Quiz
from attnlab.widgets.scale_histogram import ScaleHistogram
from attnlab.widgets.softmax_temperature import SoftmaxTemperature
from attnlab.widgets.transformer_stepper import TransformerStepper

__all__ = [
    "AttentionHeatmap",
    "AttentionWorkbench",
    "BrowserTranslator",
    "PathLength",
    "Pronouncer",
    "Quiz",
    "ScaleHistogram",
    "SoftmaxTemperature",
    "TransformerStepper",
]
