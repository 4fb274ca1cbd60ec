"""Mixed precision with dropout, workers that load data, AdamW and a schedule.

WIDTH, BATCH and BATCHES are the sizes of the model, a batch and an epoch; large ones use a GPU.
"""

import os

import torch
from steps_log import note
from torchdata.stateful_dataloader import StatefulDataLoader

from shuntyard_trainer import MetricsWriter
from shuntyard_trainer.torch_loop import torch_checkpoints

TOTAL = int(os.environ["TOTAL_STEPS"])
DEVICE = os.environ.get("TRAIN_DEVICE", "cpu")
WIDTH = int(os.environ.get("WIDTH", "64"))
BATCH, BATCHES = int(os.environ.get("BATCH", "32")), int(os.environ.get("BATCHES", "7"))
PRECISION = torch.float16 if DEVICE == "cuda" else torch.bfloat16

torch.use_deterministic_algorithms(True)  # an operation that is not raises an error
torch.manual_seed(1)
rows = torch.randn(BATCHES * BATCH, 8, generator=torch.Generator().manual_seed(1))
model = torch.nn.Sequential(
    *(torch.nn.Linear(8, WIDTH), torch.nn.ReLU(), torch.nn.Dropout(0.2)),
    *(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Dropout(0.2)),
    torch.nn.Linear(WIDTH, 1),
).to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, TOTAL)
scaler = torch.amp.GradScaler(DEVICE, enabled=DEVICE == "cuda")
loader = StatefulDataLoader(rows, BATCH, shuffle=True, num_workers=2, pin_memory=DEVICE == "cuda")
metrics = MetricsWriter.from_environment()
parts = {"model": model, "optimizer": optimizer, "schedule": schedule, "scaler": scaler}
checkpoints = torch_checkpoints({**parts, "data": loader}, poll_seconds=0.01)
step = checkpoints.start_step()
while step < TOTAL:
    for batch in checkpoints.batches(loader):
        data = batch.to(DEVICE, non_blocking=True)
        data += 0.1 * torch.randn_like(data)  # the generator of the device
        with torch.autocast(DEVICE, PRECISION):
            out = model(data)
        loss = torch.nn.functional.mse_loss(out.float(), data.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        note(step)
        step += 1
        metrics.write(step=step, loss=loss, rate=schedule.get_last_lr()[0], total_steps=TOTAL)
        checkpoints.step_done(step)
        if step == TOTAL:
            break
checkpoints.done(step)
