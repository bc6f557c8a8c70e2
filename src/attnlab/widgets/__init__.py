"""Live figures: the same ES module in JupyterLab, Colab, slides and the static website.

Each is NAME.py with static/NAME.js and static/NAME.css; `base` says how one is made.
"""

from attnlab.widgets.alignment_explorer import AlignmentExplorer
from attnlab.widgets.attention_heatmap import AttentionHeatmap
from attnlab.widgets.attention_workbench import AttentionWorkbench
from attnlab.widgets.beam_tree import BeamTree
from attnlab.widgets.browser_translator import BrowserTranslator
from attnlab.widgets.caption_stepper import CaptionStepper
from attnlab.widgets.chopper import Chopper
from attnlab.widgets.collapse import Collapse
from attnlab.widgets.diagram import Diagram
from attnlab.widgets.dino_explorer import DinoExplorer
from attnlab.widgets.extrapolation_plot import ExtrapolationPlot
from attnlab.widgets.family_masks import FamilyMasks
from attnlab.widgets.gradient_through_time import GradientThroughTime
from attnlab.widgets.head_grid import HeadGrid
from attnlab.widgets.kv_cache import KVCacheCalculator
from attnlab.widgets.ladder_explorer import LadderExplorer
from attnlab.widgets.memory_budget import MemoryBudget
from attnlab.widgets.model_tree import ModelTree
from attnlab.widgets.norm_axes import NormAxes
from attnlab.widgets.online_softmax import OnlineSoftmax
from attnlab.widgets.patch_attention import PatchAttention
from attnlab.widgets.patch_memory import PatchMemory
from attnlab.widgets.path_length import PathLength
from attnlab.widgets.plotly_figure import PlotlyFigure
from attnlab.widgets.position_similarity import PositionSimilarity
from attnlab.widgets.pronouncer import Pronouncer
from attnlab.widgets.quiz import Quiz
from attnlab.widgets.relative_bias import RelativeBiasTable
from attnlab.widgets.rnn_stepper import RNNStepper
from attnlab.widgets.rope_dial import RopeDial
from attnlab.widgets.scale_histogram import ScaleHistogram
from attnlab.widgets.scaling_calculator import ScalingCalculator
from attnlab.widgets.sinusoid_matrix import SinusoidMatrix
from attnlab.widgets.softmax_temperature import SoftmaxTemperature
from attnlab.widgets.story_teller import StoryTeller
from attnlab.widgets.superposition import Superposition
from attnlab.widgets.timeline import Timeline
from attnlab.widgets.token_sampler import TokenSampler
from attnlab.widgets.transformer_stepper import TransformerStepper
from attnlab.widgets.window_cost import WindowCost
from attnlab.widgets.window_explorer import WindowExplorer
from attnlab.widgets.word_directions import WordDirections

__all__ = [
    "AlignmentExplorer",
    "AttentionHeatmap",
    "AttentionWorkbench",
    "BeamTree",
    "BrowserTranslator",
    "CaptionStepper",
    "Chopper",
    "Collapse",
    "Diagram",
    "DinoExplorer",
    "ExtrapolationPlot",
    "FamilyMasks",
    "GradientThroughTime",
    "HeadGrid",
    "KVCacheCalculator",
    "LadderExplorer",
    "MemoryBudget",
    "ModelTree",
    "NormAxes",
    "OnlineSoftmax",
    "PatchAttention",
    "PatchMemory",
    "PathLength",
    "PlotlyFigure",
    "PositionSimilarity",
    "Pronouncer",
    "Quiz",
    "RNNStepper",
    "RelativeBiasTable",
    "RopeDial",
    "ScaleHistogram",
    "ScalingCalculator",
    "SinusoidMatrix",
    "SoftmaxTemperature",
    "StoryTeller",
    "Superposition",
    "Timeline",
    "TokenSampler",
    "TransformerStepper",
    "WindowCost",
    "WindowExplorer",
    "WordDirections",
]
