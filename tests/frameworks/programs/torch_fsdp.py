"""FSDP2, saved with torch.distributed.checkpoint; ASYNC_SAVE=1: in the background.

Without WORLD_SIZE it is one process.
"""

import os

import torch
from steps_log import note
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from shuntyard_trainer import MetricsWriter
from shuntyard_trainer.torch_dcp import dcp_checkpoints

TOTAL = int(os.environ["TOTAL_STEPS"])
RANK, WORLD_SIZE = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
DEVICE = os.environ.get("TRAIN_DEVICE", "cpu")


def main() -> None:
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1)
    ).to(DEVICE)
    mesh = init_device_mesh(DEVICE, (WORLD_SIZE,))
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    torch.manual_seed(100 + RANK)
    checkpoints = dcp_checkpoints(
        model, optimizer, asynchronous=os.environ.get("ASYNC_SAVE") == "1", poll_seconds=0.01
    )
    metrics = MetricsWriter.from_environment() if RANK == 0 else MetricsWriter(None)
    for step in checkpoints.steps(TOTAL):
        data = torch.randn(32, 8, device=DEVICE)
        loss = torch.nn.functional.mse_loss(model(data), data.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        note(step)
        metrics.write(step=step + 1, loss=loss, total_steps=TOTAL)


backend = "cpu:gloo,cuda:nccl" if DEVICE == "cuda" else "gloo"
store = distributed.HashStore() if WORLD_SIZE == 1 else None
distributed.init_process_group(backend, store=store, rank=RANK, world_size=WORLD_SIZE)
try:
    main()
finally:
    distributed.destroy_process_group()
