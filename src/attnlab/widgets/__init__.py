"""Live figures: the same ES module in JupyterLab, Colab, slides and the static website."""

from attnlab.widgets.attention_heatmap import AttentionHeatmap
from attnlab.widgets.attention_workbench import AttentionWorkbench
from attnlab.widgets.browser_translator import BrowserTranslator
from attnlab.widgets.chopper import Chopper
from attnlab.widgets.path_length import PathLength
from attnlab.widgets.pronouncer import Pronouncer
from attnlab.widgets.quiz import Quiz
from attnlab.widgets.scale_histogram import ScaleHistogram
from attnlab.widgets.softmax_temperature import SoftmaxTemperature
from attnlab.widgets.timeline import Timeline
from attnlab.widgets.transformer_stepper import TransformerStepper
from attnlab.widgets.word_directions import WordDirections

__all__ = [
    "AttentionHeatmap",
    "AttentionWorkbench",
    "BrowserTranslator",
    "Chopper",
    "PathLength",
    "Pronouncer",
    "Quiz",
    "ScaleHistogram",
    "SoftmaxTemperature",
    "Timeline",
    "TransformerStepper",
    "WordDirections",
]
