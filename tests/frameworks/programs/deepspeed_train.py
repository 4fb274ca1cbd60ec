"""A loop with a DeepSpeed engine as in its getting-started guide, with ZeRO 1, on the CPU."""

import os

os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("DS_IGNORE_CUDA_DETECTION", "1")
import deepspeed
import torch
from steps_log import note

from shuntyard_trainer import MetricsWriter
from shuntyard_trainer.deepspeed import deepspeed_checkpoints

TOTAL = int(os.environ["TOTAL_STEPS"])
RANK = int(os.environ["RANK"])
CONFIG = {
    "train_micro_batch_size_per_gpu": 4,
    "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}},
    "zero_optimization": {"stage": 1},
    "zero_allow_untested_optimizer": True,
}

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1))
deepspeed.init_distributed("gloo")
engine, _, _, _ = deepspeed.initialize(
    model=model, model_parameters=model.parameters(), config=CONFIG
)
torch.manual_seed(100 + RANK)
checkpoints = deepspeed_checkpoints(engine, poll_seconds=0.01)
metrics = MetricsWriter.from_environment() if RANK == 0 else MetricsWriter(None)
for step in checkpoints.steps(TOTAL):
    data = torch.randn(4, 8)
    loss = torch.nn.functional.mse_loss(engine(data), data.sum(dim=1, keepdim=True))
    engine.backward(loss)
    engine.step()
    note(step)
    metrics.write(step=step + 1, loss=loss, total_steps=TOTAL)
torch.distributed.destroy_process_group()
