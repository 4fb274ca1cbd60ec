"""Lightning's demo of a transformer, on words made up, with a validation after each epoch.

Follows: https://github.com/Lightning-AI/pytorch-lightning/blob/master/examples/pytorch/basics/transformer.py
"""

import os

import lightning as L  # noqa: N812 - the example's name
import torch
import torch.nn.functional as F  # noqa: N812 - the example's name
from lightning.pytorch.demos import Transformer
from steps_log import note
from torch.utils.data import DataLoader, TensorDataset
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

from shuntyard_trainer.lightning import ShuntyardCallback  # shuntyard

TOTAL = int(os.environ["TOTAL_STEPS"])
WORLD_SIZE = int(os.environ.get("WORLD_SIZE", "1"))
ON_GPU = os.environ.get("TRAIN_DEVICE") == "cuda"
VOCABULARY = 64


class LanguageModel(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = Transformer(VOCABULARY, ninp=16, nhid=16, nlayers=1)

    def training_step(self, batch, _index):
        loss = self._loss(batch)
        self.log("train_loss", loss)
        note(self.trainer.global_step)
        return loss

    def validation_step(self, batch, _index):
        self.log("val_loss", self._loss(batch))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.5, momentum=0.9)

    def _loss(self, batch):
        words, target = batch
        return F.nll_loss(self.model(words, target), target.view(-1))


def words(count):
    """Return texts of eight words, and the words that follow each."""
    texts = torch.randint(0, VOCABULARY, (count, 9))
    return TensorDataset(texts[:, :-1], texts[:, 1:])


L.seed_everything(42)  # an unmoved run begins with the same weights and data
dataset, validation = words(16 * WORLD_SIZE), words(8)
sampler = None  # shuntyard
if WORLD_SIZE > 1:  # Lightning's own has an order that is not saved  # shuntyard
    rank = int(os.environ["RANK"])  # shuntyard
    sampler = StatefulDistributedSampler(dataset, WORLD_SIZE, rank)  # shuntyard
loader = StatefulDataLoader(dataset, 4, shuffle=sampler is None, sampler=sampler)  # shuntyard
shuntyard = ShuntyardCallback(poll_seconds=0.01)  # shuntyard
trainer = L.Trainer(
    gradient_clip_val=0.25,
    max_steps=TOTAL,
    accelerator="gpu" if ON_GPU else "cpu",
    devices=WORLD_SIZE,
    strategy="ddp" if WORLD_SIZE > 1 else "auto",
    log_every_n_steps=1,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    callbacks=[shuntyard],  # shuntyard
)
trainer.fit(
    LanguageModel(),
    loader,
    DataLoader(validation, batch_size=4),
    ckpt_path=shuntyard.resume_path,  # shuntyard
)
print("after fit")
