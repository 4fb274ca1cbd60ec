"""MNIST with Adadelta, a rate that falls after each epoch, and a test between two epochs.

Follows: https://github.com/pytorch/examples/blob/main/mnist/main.py
"""

import os
from random import Random

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the example's name
from steps_log import note
from torch import nn, optim
from torch.optim.lr_scheduler import StepLR
from torchdata.stateful_dataloader import StatefulDataLoader

from shuntyard_trainer import MetricsWriter  # shuntyard
from shuntyard_trainer.torch_loop import torch_checkpoints  # shuntyard

TOTAL = int(os.environ["TOTAL_STEPS"])
DEVICE = os.environ.get("TRAIN_DEVICE", "cpu")
python = Random(1)
generator = np.random.default_rng(1)


class Digits(torch.utils.data.Dataset):
    """Images made up, of 12x12 pixels, augmented with each kind of random numbers."""

    def __init__(self, count):
        self.target = torch.arange(count) % 10
        self.images = torch.randn(10, 1, 12, 12)[self.target]

    def __len__(self):
        return len(self.target)

    def __getitem__(self, index):
        light = 0.1 * python.random() + 0.1 * float(generator.standard_normal())
        return self.images[index] + 0.1 * torch.randn(1, 12, 12) + light, self.target[index]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.conv2 = nn.Conv2d(4, 8, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(128, 16)
        self.fc2 = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = self.dropout1(F.max_pool2d(x, 2))
        x = self.dropout2(F.relu(self.fc1(torch.flatten(x, 1))))
        return F.log_softmax(self.fc2(x), dim=1)


def train():
    global step  # noqa: PLW0603 - one training  # shuntyard
    model.train()
    for data, target in checkpoints.batches(train_loader):  # shuntyard
        optimizer.zero_grad()
        loss = F.nll_loss(model(data.to(DEVICE)), target.to(DEVICE))
        loss.backward()
        optimizer.step()
        note(step)
        step += 1  # shuntyard
        metrics.write(step=step, loss=loss, total_steps=TOTAL)  # shuntyard
        checkpoints.step_done(step)  # shuntyard
        if step == TOTAL:
            break


def test():
    model.eval()
    with torch.no_grad():
        losses = [F.nll_loss(model(x.to(DEVICE)), y.to(DEVICE)) for x, y in test_loader]
    print(f"test set: average loss {sum(losses) / len(losses):.4f}")


torch.manual_seed(1)
torch.use_deterministic_algorithms(True)
train_loader = StatefulDataLoader(Digits(28), batch_size=4, shuffle=True)  # shuntyard
test_loader = torch.utils.data.DataLoader(Digits(8), batch_size=4)
model = Net().to(DEVICE)
optimizer = optim.Adadelta(model.parameters(), lr=1.0)
scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
metrics = MetricsWriter.from_environment()  # shuntyard
parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}  # shuntyard
random = {"numpy": generator, "python": python}  # shuntyard
checkpoints = torch_checkpoints(  # shuntyard
    {**parts, **random, "data": train_loader},
    poll_seconds=0.01,  # shuntyard
)  # shuntyard
step = checkpoints.start_step()  # shuntyard
while step < TOTAL:  # shuntyard
    train()
    test()
    scheduler.step()
checkpoints.done(step)  # shuntyard
