#!/usr/bin/env bash
# DDP on every GPU of this machine (on a machine without: two processes on the CPU).
#   bash training/launch/one_machine.sh /tmp/run --steps 2000 --batch 64
set -euo pipefail
folder=$1; shift
gpus=$(nvidia-smi --list-gpus 2>/dev/null | wc -l || true)
# One thread each: several processes that all want every core are slower than one.
OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} exec torchrun --standalone \
  --nproc-per-node "$((gpus > 0 ? gpus : 2))" \
  training/pretrain.py --folder "$folder" "$@"
