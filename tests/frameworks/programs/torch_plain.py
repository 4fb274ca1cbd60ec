"""A plain PyTorch loop with dropout, in one process or, with WORLD_SIZE, data parallel."""

import os

import torch
from steps_log import note
from torch import distributed

from shuntyard_trainer import MetricsWriter
from shuntyard_trainer.torch_loop import torch_checkpoints

TOTAL = int(os.environ["TOTAL_STEPS"])
DEVICE = os.environ.get("TRAIN_DEVICE", "cpu")


def main() -> None:
    """Train a network to add eight numbers."""
    rank = int(os.environ.get("RANK", "0"))
    torch.manual_seed(1 + rank)
    model: torch.nn.Module = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1)
    ).to(DEVICE)
    if distributed.is_initialized():
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    checkpoints = torch_checkpoints({"model": model, "optimizer": optimizer}, poll_seconds=0.01)
    metrics = MetricsWriter.from_environment() if rank == 0 else MetricsWriter(None)
    for step in checkpoints.steps(TOTAL):
        data = torch.randn(32, 8, device=DEVICE)
        loss = torch.nn.functional.mse_loss(model(data), data.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        note(step)
        metrics.write(step=step + 1, loss=loss, total_steps=TOTAL)


if int(os.environ.get("WORLD_SIZE", "1")) > 1:
    distributed.init_process_group("gloo")
    try:
        main()
    finally:
        distributed.destroy_process_group()
else:
    main()
