#!/usr/bin/env bash
# A Llama of 8 billion parameters with torchtitan, for when FSDP alone is not enough. Run it inside a
# clone of https://github.com/pytorch/torchtitan, after its README's step that fetches the tokeniser:
#   bash …/training/launch/torchtitan.sh ./outputs --training.steps 2000
# Never run by us: it needs eight GPUs. Names of settings were compared with torchtitan's own
# run_train.sh and models/llama3/config_registry.py of 2026 (before that year its settings stood in
# TOML files); `python -m torchtitan.train --module llama3 --config llama3_8b --help` lists yours.
set -euo pipefail
folder=$1; shift
settings=(
  --training.local_batch_size 1                # sequences on each GPU at a time
  --training.seq_len 8192
  --parallelism.data_parallel_replicate_degree 1
  --parallelism.data_parallel_shard_degree -1  # FSDP over all GPUs that are left
  --parallelism.tensor_parallel_degree 1       # 2, 4 or 8 within a machine: one block is too large
  --parallelism.context_parallel_degree 1      # ring attention: one sequence is too long
  --checkpoint.enable
  --checkpoint.interval 500
)
exec torchrun --standalone --nproc-per-node 8 -m torchtitan.train \
  --module llama3 --config llama3_8b --dump-folder "$folder" "${settings[@]}" "$@"
