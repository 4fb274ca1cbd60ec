"""A trainer with DistributedDataParallel, a sampler for each rank and epochs, under torchrun.

Follows: https://github.com/pytorch/examples/blob/main/distributed/ddp-tutorial-series/multigpu_torchrun.py
"""

import os

import torch
import torch.nn.functional as F  # noqa: N812 - the example's name
from steps_log import note
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import TensorDataset
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

from shuntyard_trainer import MetricsWriter  # shuntyard
from shuntyard_trainer.torch_loop import torch_checkpoints  # shuntyard

TOTAL = int(os.environ["TOTAL_STEPS"])


class Trainer:
    def __init__(self, model, train_data, optimizer):
        self.rank = int(os.environ["RANK"])
        self.train_data = train_data
        self.optimizer = optimizer
        self.model = DistributedDataParallel(model)
        parts = {"model": self.model, "optimizer": optimizer, "data": train_data}  # shuntyard
        self.checkpoints = torch_checkpoints(parts, poll_seconds=0.01)  # shuntyard
        self.metrics = MetricsWriter(None)  # shuntyard
        if self.rank == 0:  # shuntyard
            self.metrics = MetricsWriter.from_environment()  # shuntyard
        self.step = self.checkpoints.start_step()  # shuntyard

    def _run_batch(self, source, targets):
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.model(source), targets)
        loss.backward()
        self.optimizer.step()
        return loss

    def _run_epoch(self, epoch):
        self.train_data.sampler.set_epoch(epoch)
        for source, targets in self.checkpoints.batches(self.train_data):  # shuntyard
            loss = self._run_batch(source, targets)
            note(self.step)
            self.step += 1  # shuntyard
            self.metrics.write(step=self.step, loss=loss, total_steps=TOTAL)  # shuntyard
            self.checkpoints.step_done(self.step)  # shuntyard
            if self.step == TOTAL:
                break

    def train(self):
        while self.step < TOTAL:  # shuntyard
            self._run_epoch(self.step // len(self.train_data))  # shuntyard
        self.checkpoints.done(self.step)  # shuntyard


def load_train_objs():
    torch.manual_seed(1)
    train_set = TensorDataset(torch.rand(128, 20), torch.rand(128, 1))
    model = torch.nn.Sequential(
        torch.nn.Linear(20, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1)
    )
    return train_set, model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def main():
    init_process_group("gloo")
    try:
        train_set, model, optimizer = load_train_objs()
        world_size, rank = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
        torch.manual_seed(100 + rank)
        sampler = StatefulDistributedSampler(train_set, world_size, rank)  # shuntyard
        loader = StatefulDataLoader(train_set, batch_size=8, sampler=sampler)  # shuntyard
        Trainer(model, loader, optimizer).train()
    finally:
        destroy_process_group()


main()
