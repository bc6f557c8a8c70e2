"""Models that grew from the Transformer, with who made them from what, and where it is documented.

`open` means that the weights were released, whatever the licence says about their use; the largest
OPT and the first Llama went to researchers on request. Sizes are the largest in the report named as
source, in billions of parameters. Where that report does not say, `size_source` names the makers'
release or a later report (MiniLM's is its twelve layers). None where the makers do not say.
Mixtures of experts count all experts. The year is that of the first report. A parent is the model
whose design or weights a model mostly follows, as we read its report. The tree is a choice: models
that people know or that this course meets, up to the end of 2025.
"""

from dataclasses import dataclass

BRANCHES = ("encoder", "encoder–decoder", "decoder")


@dataclass(frozen=True, kw_only=True)
class Model:
    """One model of the tree."""

    name: str
    year: int
    branch: str
    maker: str
    open: bool
    size: float | None  # billions of parameters
    parent: str  # "" for the root
    text: str
    source: str
    size_source: str = ""  # where the size is from, if not from `source`


def _arxiv(number: str) -> str:
    return f"https://arxiv.org/abs/{number}"


E, B, D = BRANCHES
# name, year, branch, maker, open, size, parent, what it is known for, source
ROWS: tuple[tuple[str, int, str, str, bool, float | None, str, str, str], ...] = (
    ("Transformer", 2017, B, "Google", True, 0.213, "",
     "The root: an encoder reads, a decoder writes.", _arxiv("1706.03762")),
    ("GPT", 2018, D, "OpenAI", True, 0.117, "Transformer",
     "The decoder alone, pre-trained on books, fine-tuned for each task.",
     "https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf"),
    ("BERT", 2018, E, "Google", True, 0.34, "Transformer",
     "The encoder alone, pre-trained by filling holes.", _arxiv("1810.04805")),
    ("RoBERTa", 2019, E, "Facebook", True, 0.355, "BERT",
     "BERT trained longer, on more text, with fresh holes every time.", _arxiv("1907.11692")),
    ("Sentence-BERT", 2019, E, "TU Darmstadt", True, None, "BERT",
     "One vector for a whole sentence, made for comparing.", _arxiv("1908.10084")),
    ("GPT-2", 2019, D, "OpenAI", True, 1.5, "GPT",
     "Tasks without fine-tuning, from the prompt alone.",
     "https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf"),
    ("T5", 2019, B, "Google", True, 11, "Transformer",
     "Every task is text in, text out; spans are hidden.", _arxiv("1910.10683")),
    ("BART", 2019, B, "Facebook", True, 0.4, "Transformer",
     "A spoiled text goes in, the whole one comes out.", _arxiv("1910.13461")),
    ("MiniLM", 2020, E, "Microsoft", True, 0.033, "BERT",
     "A small student of a large encoder; this course ships a relative.", _arxiv("2002.10957")),
    ("ELECTRA", 2020, E, "Google, Stanford", True, 0.335, "BERT",
     "Asks at every place whether the word was replaced.", _arxiv("2003.10555")),
    ("GPT-3", 2020, D, "OpenAI", False, 175, "GPT-2",
     "Learns a task from a few examples in its prompt.", _arxiv("2005.14165")),
    ("DeBERTa", 2020, E, "Microsoft", True, 1.5, "RoBERTa",
     "What a word is and where it stands are weighed apart.", _arxiv("2006.03654")),
    ("ViT", 2020, E, "Google", True, 0.632, "BERT",
     "Patches of a picture instead of words. Chapter 8.", _arxiv("2010.11929")),
    ("DALL·E", 2021, D, "OpenAI", False, 12, "GPT-3",
     "Text, then pieces of a picture, in one row of tokens.", _arxiv("2102.12092")),
    ("DINO", 2021, E, "Facebook", True, 0.085, "ViT",
     "A ViT that teaches itself without labels. Chapter 8.", _arxiv("2104.14294")),
    ("Codex", 2021, D, "OpenAI", False, 12, "GPT-3",
     "GPT-3 that went on reading code.", _arxiv("2107.03374")),
    ("Gopher", 2021, D, "DeepMind", False, 280, "GPT-2",
     "The largest row of this chapter's table of sizes.", _arxiv("2112.11446")),
    ("InstructGPT", 2022, D, "OpenAI", False, 175, "GPT-3",
     "Trained further on which answers people prefer.", _arxiv("2203.02155")),
    ("Chinchilla", 2022, D, "DeepMind", False, 70, "Gopher",
     "A quarter of Gopher's size, over four times its tokens, better.", _arxiv("2203.15556")),
    ("PaLM", 2022, D, "Google", False, 540, "GPT-3",
     "The largest dense decoder of its time.", _arxiv("2204.02311")),
    ("OPT", 2022, D, "Meta", True, 175, "GPT-3",
     "GPT-3's size, weights on request, and a diary of the training.", _arxiv("2205.01068")),
    ("Flan-T5", 2022, B, "Google", True, 11, "T5",
     "T5 fine-tuned on many tasks said as instructions.", _arxiv("2210.11416")),
    ("BLOOM", 2022, D, "BigScience", True, 176, "GPT-3",
     "Made in the open by hundreds of researchers, for 46 languages.", _arxiv("2211.05100")),
    ("ChatGPT", 2022, D, "OpenAI", False, None, "InstructGPT",
     "The same idea with a chat window.", "https://openai.com/index/chatgpt/"),
    ("Whisper", 2022, B, "OpenAI", True, 1.55, "Transformer",
     "A spectrogram goes into the encoder, text comes out.", _arxiv("2212.04356")),
    ("Llama", 2023, D, "Meta", True, 65, "PaLM",
     "Small for its quality, long trained, weights for researchers. Chapter 10.",
     _arxiv("2302.13971")),
    ("GPT-4", 2023, D, "OpenAI", False, None, "ChatGPT",
     "Reads pictures too. The report names neither size nor data.", _arxiv("2303.08774")),
    ("DINOv2", 2023, E, "Meta", True, 1.1, "DINO",
     "DINO with much more and better chosen data.", _arxiv("2304.07193")),
    ("Llama 2", 2023, D, "Meta", True, 70, "Llama",
     "With a chat model, and licensed for companies.", _arxiv("2307.09288")),
    ("SeamlessM4T", 2023, B, "Meta", True, 2.3, "Transformer",
     "Translates speech and text, in and out, for about a hundred languages.",
     _arxiv("2308.11596")),
    ("Qwen", 2023, D, "Alibaba", True, 14, "Llama",
     "Strong in Chinese and English.", _arxiv("2309.16609")),
    ("Mistral 7B", 2023, D, "Mistral AI", True, 7.3, "Llama",
     "Windows and shared keys make a small model fast.", _arxiv("2310.06825")),
    ("Gemini", 2023, D, "Google", False, None, "PaLM",
     "Text, pictures, sound and video in one decoder.", _arxiv("2312.11805")),
    ("Mixtral", 2024, D, "Mistral AI", True, 47, "Mistral 7B",
     "Eight networks per layer, two at work for each token.", _arxiv("2401.04088")),
    ("Gemma", 2024, D, "Google", True, 7, "Gemini",
     "Gemini's small open relatives.", _arxiv("2403.08295")),
    ("Llama 3", 2024, D, "Meta", True, 405, "Llama 2",
     "15.6 trillion tokens for its largest.", _arxiv("2407.21783")),
    ("ModernBERT", 2024, E, "Answer.AI, LightOn", True, 0.395, "BERT",
     "BERT again, with the upgrades of chapter 10.", _arxiv("2412.13663")),
    ("DeepSeek-V3", 2024, D, "DeepSeek", True, 671, "Llama",
     "Many small experts, 37 billion weights at work for each token.", _arxiv("2412.19437")),
    ("DeepSeek-R1", 2025, D, "DeepSeek", True, 671, "DeepSeek-V3",
     "Learned by reinforcement to reason in writing before it answers.", _arxiv("2501.12948")),
    ("Qwen3", 2025, D, "Alibaba", True, 235, "Qwen",
     "One model that can think long or answer at once.", _arxiv("2505.09388")),
    ("gpt-oss", 2025, D, "OpenAI", True, 117, "GPT-4",
     "OpenAI's first open weights for text since GPT-2.", _arxiv("2508.10925")),
)  # fmt: skip

# Sizes that the source of the row does not give: from the makers' own releases and later papers.
SIZE_SOURCES = {
    "GPT": "https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf",
    "BART": "https://github.com/facebookresearch/fairseq/tree/main/examples/bart",
    "MiniLM": "https://github.com/microsoft/unilm/tree/master/minilm",
    "ELECTRA": "https://github.com/google-research/electra",
    "DINO": "https://github.com/facebookresearch/dino",
    "Mistral 7B": "https://mistral.ai/news/announcing-mistral-7b",
}

TREE = tuple(
    Model(
        name=name, year=year, branch=branch, maker=maker, open=free, size=size, parent=parent,
        text=text, source=source, size_source=SIZE_SOURCES.get(name, ""),
    )
    for name, year, branch, maker, free, size, parent, text, source in ROWS
)  # fmt: skip

KNOWN = (
    "Transformer", "GPT", "BERT", "GPT-2", "T5", "GPT-3", "ViT", "DINO", "Codex", "InstructGPT",
    "ChatGPT", "Whisper", "GPT-4", "Gopher", "Chinchilla", "PaLM", "Llama", "ModernBERT",
    "DeepSeek-V3", "DeepSeek-R1",
)  # fmt: skip


def short() -> list[Model]:
    """The models most people know, with their parents: for a slide."""
    return [model for model in TREE if model.name in KNOWN]
