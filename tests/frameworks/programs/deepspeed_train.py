"""CIFAR-10 (images made up) in a DeepSpeed engine: ZeRO 1, clipped gradients, warm-up; on the CPU.

Follows: https://github.com/deepspeedai/DeepSpeedExamples/blob/master/training/cifar/cifar10_deepspeed.py
"""

import os

os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("DS_IGNORE_CUDA_DETECTION", "1")
import deepspeed
import torch
import torch.nn.functional as F  # noqa: N812 - the example's name
from steps_log import note
from torch import nn
from torch.utils.data import TensorDataset
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

from shuntyard_trainer import MetricsWriter  # shuntyard
from shuntyard_trainer.deepspeed import deepspeed_checkpoints  # shuntyard

TOTAL = int(os.environ["TOTAL_STEPS"])
RANK, WORLD_SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
ADAM = {"lr": 0.001, "betas": [0.8, 0.999], "eps": 1e-8, "weight_decay": 3e-7, "torch_adam": True}
WARMUP = {"warmup_min_lr": 0, "warmup_max_lr": 0.001, "warmup_num_steps": 20}
CONFIG = {
    "train_micro_batch_size_per_gpu": 4,
    "optimizer": {"type": "Adam", "params": ADAM},
    "scheduler": {"type": "WarmupLR", "params": WARMUP},
    "gradient_clipping": 1.0,
    "zero_optimization": {"stage": 1},
    "zero_allow_untested_optimizer": True,
}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 5)
        self.conv2 = nn.Conv2d(4, 8, 5)
        self.dropout = nn.Dropout(0.2)
        self.fc1 = nn.Linear(8 * 5 * 5, 16)
        self.fc2 = nn.Linear(16, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(self.dropout(F.relu(self.fc1(torch.flatten(x, 1)))))


torch.manual_seed(1)
labels = torch.arange(64) % 10
images = torch.randn(10, 3, 32, 32)[labels] + 0.1 * torch.randn(64, 3, 32, 32)
trainset, net = TensorDataset(images, labels), Net()
deepspeed.init_distributed("gloo")
engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=CONFIG)
torch.manual_seed(100 + RANK)
sampler = StatefulDistributedSampler(trainset, WORLD_SIZE, RANK)  # shuntyard
trainloader = StatefulDataLoader(trainset, batch_size=4, sampler=sampler)  # shuntyard
checkpoints = deepspeed_checkpoints(engine, {"data": trainloader}, poll_seconds=0.01)  # shuntyard
metrics = MetricsWriter.from_environment() if RANK == 0 else MetricsWriter(None)  # shuntyard
step = checkpoints.start_step()  # shuntyard
while step < TOTAL:  # shuntyard
    sampler.set_epoch(step // len(trainloader))
    for inputs, labels in checkpoints.batches(trainloader):  # shuntyard
        loss = F.cross_entropy(engine(inputs), labels)
        engine.backward(loss)
        engine.step()
        note(step)
        step += 1  # shuntyard
        metrics.write(step=step, loss=loss, total_steps=TOTAL)  # shuntyard
        checkpoints.step_done(step)  # shuntyard
        if step == TOTAL:
            break
checkpoints.done(step)  # shuntyard
torch.distributed.destroy_process_group()
