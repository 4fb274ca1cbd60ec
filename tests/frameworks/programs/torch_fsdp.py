"""FSDP2 on each layer of a transformer and on the whole; ASYNC_SAVE=1: saved in the background.

Without WORLD_SIZE it is one process.

Follows: https://github.com/pytorch/examples/blob/main/distributed/FSDP2/train.py
"""

import os

import torch
from steps_log import note
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from shuntyard_trainer import MetricsWriter  # shuntyard
from shuntyard_trainer.torch_dcp import dcp_checkpoints  # shuntyard

TOTAL = int(os.environ["TOTAL_STEPS"])
RANK, WORLD_SIZE = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
DEVICE = os.environ.get("TRAIN_DEVICE", "cpu")
VOCABULARY, LENGTH, WIDTH = 64, 16, 16


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.1, batch_first=True)
            for _ in range(2)
        )
        self.output = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x):
        h = self.tokens(x) + self.positions(torch.arange(LENGTH, device=x.device))
        for layer in self.layers:
            h = layer(h)
        return self.output(h)


def main():
    torch.manual_seed(1)
    model = Transformer().to(DEVICE)
    mesh = init_device_mesh(DEVICE, (WORLD_SIZE,))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    torch.manual_seed(100 + RANK)
    checkpoints = dcp_checkpoints(  # shuntyard
        model,  # shuntyard
        optimizer,  # shuntyard
        asynchronous=os.environ.get("ASYNC_SAVE") == "1",  # shuntyard
        poll_seconds=0.01,  # shuntyard
    )  # shuntyard
    metrics = MetricsWriter.from_environment() if RANK == 0 else MetricsWriter(None)  # shuntyard
    for step in checkpoints.steps(TOTAL):  # shuntyard
        x = torch.randint(0, VOCABULARY, (4, LENGTH), device=DEVICE)
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), x.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
        note(step)
        metrics.write(step=step + 1, loss=loss, total_steps=TOTAL)  # shuntyard


backend = "cpu:gloo,cuda:nccl" if DEVICE == "cuda" else "gloo"
store = distributed.HashStore() if WORLD_SIZE == 1 else None
distributed.init_process_group(backend, store=store, rank=RANK, world_size=WORLD_SIZE)
try:
    main()
finally:
    distributed.destroy_process_group()
