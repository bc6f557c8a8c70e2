"""The same training with FSDP: every process keeps a share of weights, gradients and optimiser.

    torchrun --nproc-per-node 8 training/launch/fsdp.py --steps 200 --folder /tmp/run

When one GPU can hold all of it, `training/pretrain.py` (DDP) is simpler and faster: look at the
live figure MemoryBudget first. What is different here is said in the comments, and there is not
more: three lines to wrap the model, and a checkpoint of shares (torch.distributed.checkpoint),
which can be read again by another number of processes.
"""

import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from attnlab.data import shakespeare
from attnlab.models.modern import Config, LanguageModel
from attnlab.training.pretrain import Plan, batch_at, rank
from attnlab.training.schedules import cosine


def wrap(model: LanguageModel, half: bool) -> LanguageModel:
    """Each block is gathered when it is its turn, and let go again; then the rest."""
    kind = torch.bfloat16 if half else torch.float32
    policy = MixedPrecisionPolicy(param_dtype=kind, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return model


class Run(dcp.stateful.Stateful):
    """What a checkpoint holds. Each process writes and reads only its own share."""

    def __init__(self, model: nn.Module, optimiser: torch.optim.Optimizer) -> None:
        self.model, self.optimiser, self.step = model, optimiser, 0

    def state_dict(self) -> dict:
        model, optimiser = get_state_dict(self.model, self.optimiser)
        return {"model": model, "optimiser": optimiser, "step": self.step}

    def load_state_dict(self, state: dict) -> None:
        set_state_dict(
            self.model, self.optimiser,
            model_state_dict=state["model"], optim_state_dict=state["optimiser"],
        )  # fmt: skip
        self.step = state["step"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("steps", 300), ("batch", 16), ("length", 64), ("interval", 50)):
        parser.add_argument(f"--{name}", type=int, default=value)
    for name, value in (("width", 64), ("layers", 3), ("heads", 4)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--half", action="store_true", help="compute in bfloat16")
    parser.add_argument("--folder", type=Path, required=True)
    a = parser.parse_args()

    gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if gpu else "gloo")
    device = torch.device(f"cuda:{os.environ['LOCAL_RANK']}" if gpu else "cpu")
    torch.manual_seed(0)  # the same start everywhere, before it is cut into shares
    words = len(shakespeare.vocabulary())
    model = LanguageModel(
        Config.plus_plus(words=words, width=a.width, heads=a.heads, layers=a.layers)
    )
    model = wrap(model.to(device), a.half)
    optimiser = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=0.0)  # on shares
    run = Run(model, optimiser)
    if (a.folder / ".metadata").is_file():  # written last: the checkpoint is whole
        dcp.load({"run": run}, checkpoint_id=a.folder)
    plan = Plan(steps=a.steps, batch=a.batch, length=a.length, lr=a.lr, interval=a.interval)
    while run.step < plan.steps:
        for group in optimiser.param_groups:
            group["lr"] = plan.lr * cosine(run.step / plan.steps, warm_up=plan.warm_up)
        (tokens,) = batch_at(plan, run.step)
        loss = model.loss(tokens.to(device))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # over all shares
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        run.step += 1
        if run.step % plan.interval == 0 or run.step == plan.steps:
            mean = loss.detach() / dist.get_world_size()
            dist.all_reduce(mean)
            if rank() == 0:
                print(f"step {run.step:5d}   training loss {mean.item():.5f}", flush=True)
            dcp.save({"run": run}, checkpoint_id=a.folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
