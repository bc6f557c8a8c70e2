"""Train Transformer++ on tiny Shakespeare: one process, or many under torchrun.

    python training/pretrain.py --steps 200 --folder /tmp/run
    torchrun --nproc-per-node 2 training/pretrain.py --steps 200 --folder /tmp/run
    torchrun --nnodes 2 --nproc-per-node 8 --rdzv-endpoint HOST:29500 training/pretrain.py ...

Processes on GPUs talk through NCCL, on CPUs through gloo. Killed and started again with the same
folder, it goes on from the last checkpoint. `--precision bfloat16` and `--compile` are for GPUs;
`--accumulate 4` sees the same batch in four parts. The same batch size gives the same model, on
however many processes.
"""

import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist

from attnlab.data import shakespeare
from attnlab.models.modern import Config, LanguageModel
from attnlab.training.pretrain import PRECISIONS, Plan, rank, train


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--optimiser", default="soap", choices=("adam", "adamw", "soap"))
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--precision", default="float32", choices=PRECISIONS)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--interval", type=int, default=50)
    parser.add_argument("--folder", type=Path, required=True)
    a = parser.parse_args()

    gpu = torch.cuda.is_available()
    if "RANK" in os.environ:  # torchrun says who we are
        dist.init_process_group("nccl" if gpu else "gloo")
    device = f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if gpu else "cpu"
    torch.manual_seed(0)
    config = Config.plus_plus(
        words=len(shakespeare.vocabulary()), width=a.width, heads=a.heads, layers=a.layers
    )
    config = Config(**{**vars(config), "optimiser": a.optimiser})
    model = LanguageModel(config).to(device)
    held_out = shakespeare.held_out(a.length).to(device)
    plan = Plan(
        steps=a.steps, batch=a.batch, length=a.length, lr=a.lr, accumulate=a.accumulate,
        precision=a.precision, compile=a.compile, interval=a.interval,
    )  # fmt: skip
    log = train(model, plan, evaluate=lambda m: float(m.loss(held_out)), folder=a.folder)
    if rank() == 0:
        for entry in log.entries:
            print(f"step {entry['step']:5.0f}   held-out loss {entry['valid']:.4f}")
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
