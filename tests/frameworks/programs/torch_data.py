"""Epochs in a StatefulDataLoader that shuffles and augments, as in pytorch/examples mnist."""

import os
from random import Random

import numpy as np
import torch
from steps_log import note
from torchdata.stateful_dataloader import StatefulDataLoader

from shuntyard_trainer import MetricsWriter
from shuntyard_trainer.torch_loop import torch_checkpoints

TOTAL = int(os.environ["TOTAL_STEPS"])
torch.manual_seed(1)
python = Random(1)
generator = np.random.default_rng(1)


class Digits(torch.utils.data.Dataset):
    """Seven batches of four rows: an epoch ends within a run, and within none of its lives."""

    def __init__(self):
        self.rows = torch.randn(28, 8)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index] + 0.1 * torch.randn(8) + 0.1 * python.random()


model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.5), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loader = StatefulDataLoader(Digits(), batch_size=4, shuffle=True)
metrics = MetricsWriter.from_environment()
checkpoints = torch_checkpoints(
    {"model": model, "optimizer": optimizer, "data": loader, "numpy": generator, "python": python},
    poll_seconds=0.01,
)
step = checkpoints.start_step()
while step < TOTAL:
    for batch in checkpoints.batches(loader):
        data = batch + 0.1 * float(generator.standard_normal())
        loss = torch.nn.functional.mse_loss(model(data), data.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        note(step)
        step += 1
        metrics.write(step=step, loss=loss, total_steps=TOTAL)
        checkpoints.step_done(step)
        if step == TOTAL:
            break
checkpoints.done(step)
