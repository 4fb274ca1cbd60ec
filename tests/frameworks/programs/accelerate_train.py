"""A loop as in Accelerate's example of checkpointing: stateful loader, scheduler, accumulation."""

import os

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from steps_log import note
from torch.utils.data import DataLoader

from shuntyard_trainer import MetricsWriter
from shuntyard_trainer.accelerate import accelerate_checkpoints

TOTAL = int(os.environ["TOTAL_STEPS"])
EVERY = 2
"""Batches of an optimizer step."""

accelerator = Accelerator(
    cpu=os.environ.get("TRAIN_DEVICE") != "cuda",
    gradient_accumulation_steps=EVERY,
    dataloader_config=DataLoaderConfiguration(
        use_stateful_dataloader=True, use_seedable_sampler=True
    ),
)
torch.manual_seed(1)
rows = torch.randn(96, 8, generator=torch.Generator().manual_seed(1))
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.LinearLR(
    optimizer, 1.0, 0.1, TOTAL * accelerator.num_processes
)
model, optimizer, loader, scheduler = accelerator.prepare(
    model, optimizer, DataLoader(rows, batch_size=4, shuffle=True), scheduler
)
checkpoints = accelerate_checkpoints(accelerator, poll_seconds=0.01)
first = accelerator.is_main_process
metrics = MetricsWriter.from_environment() if first else MetricsWriter(None)
step = checkpoints.start_step()
while step < TOTAL:
    for data in checkpoints.batches(loader):
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(data), data.sum(dim=1, keepdim=True))
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        if not accelerator.sync_gradients:
            continue
        note(step)
        step += 1
        metrics.write(step=step, loss=loss, total_steps=TOTAL)
        checkpoints.step_done(step)  # before the next batch is fetched
        if step == TOTAL:
            break
checkpoints.done(step)
accelerator.end_training()
