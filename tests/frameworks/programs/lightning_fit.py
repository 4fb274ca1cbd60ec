"""Lightning: four shuffled batches an epoch, dropout, a validation after each."""

import os

import lightning.pytorch as pl
import torch
from steps_log import note
from torch.utils.data import DataLoader, TensorDataset
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

from shuntyard_trainer.lightning import ShuntyardCallback

TOTAL = int(os.environ["TOTAL_STEPS"])
WORLD_SIZE = int(os.environ.get("WORLD_SIZE", "1"))


class Net(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, _index):
        loss = self._loss(batch)
        self.log("train_loss", loss)
        note(self.trainer.global_step)
        return loss

    def validation_step(self, batch, _index):
        self.log("val_loss", self._loss(batch))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)

    def _loss(self, batch):
        (data,) = batch
        data = torch.nn.functional.dropout(data, 0.2, training=self.training)
        return torch.nn.functional.mse_loss(self.layer(data), data.sum(dim=1, keepdim=True))


torch.manual_seed(1)  # an unmoved run begins with the same weights
data = TensorDataset(torch.randn(16 * WORLD_SIZE, 8, generator=torch.Generator().manual_seed(1)))
shuntyard = ShuntyardCallback(poll_seconds=0.01)
trainer = pl.Trainer(
    accelerator="gpu" if os.environ.get("TRAIN_DEVICE") == "cuda" else "cpu",
    devices=WORLD_SIZE,
    strategy="ddp" if WORLD_SIZE > 1 else "auto",
    max_steps=TOTAL,
    log_every_n_steps=1,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    callbacks=[shuntyard],
)
sampler = None
if WORLD_SIZE > 1:  # Lightning's own, around a sampler of torchdata, has an order that is not saved
    sampler = StatefulDistributedSampler(data, WORLD_SIZE, int(os.environ["RANK"]))
loader = StatefulDataLoader(data, batch_size=4, shuffle=sampler is None, sampler=sampler)
trainer.fit(Net(), loader, DataLoader(data, 4), ckpt_path=shuntyard.resume_path)
print("after fit")
