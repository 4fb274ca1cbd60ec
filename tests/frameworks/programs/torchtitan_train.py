"""torchtitan's smallest Llama, in two layers, on tokens made up; FSDP2 with several ranks.

torchtitan takes CUDA where it finds no accelerator, and its attention (FlexAttention) has no
gradients on a CPU: here its device and its attention are replaced, before its modules see them.

Follows: https://github.com/pytorch/torchtitan/blob/v0.3.0/torchtitan/models/llama3/config_registry.py
"""

import os
from dataclasses import dataclass
from types import SimpleNamespace

import torch
from steps_log import note
from torch.distributed.fsdp import FSDPModule
from torchtitan.tools import utils


class Cpu:
    """What torchtitan asks of ``torch.cuda``."""

    set_device = staticmethod(torch.cpu.set_device)
    synchronize = staticmethod(torch.cpu.synchronize)
    current_device = staticmethod(lambda: 0)
    get_device_name = staticmethod(lambda _: "cpu")
    get_device_properties = staticmethod(lambda _: SimpleNamespace(total_memory=2**30))
    memory_stats = staticmethod(lambda _: {})
    reset_peak_memory_stats = staticmethod(lambda: None)
    empty_cache = staticmethod(lambda: None)


utils.device_type, utils.device_module = "cpu", Cpu

from torchtitan.components.dataloader import BaseDataLoader  # noqa: E402 - after the device
from torchtitan.components.tokenizer import BaseTokenizer  # noqa: E402
from torchtitan.models.common.attention import ScaledDotProductAttention  # noqa: E402
from torchtitan.models.llama3.config_registry import llama3_debugmodel  # noqa: E402
from torchtitan.trainer import Trainer  # noqa: E402

from shuntyard_trainer.torchtitan import ShuntyardCheckpoints, ShuntyardMetrics  # noqa: E402 # shuntyard

TOTAL = int(os.environ["TOTAL_STEPS"])
VOCABULARY = 64


class NoTokenizer(BaseTokenizer):
    @dataclass(kw_only=True, slots=True)
    class Config(BaseTokenizer.Config):
        pass

    def __init__(self, config, **_):
        super().__init__()

    def encode(self, *_, **__):
        raise NotImplementedError

    def decode(self, *_, **__):
        raise NotImplementedError

    def get_vocab_size(self):
        return VOCABULARY


class Tokens(BaseDataLoader):
    @dataclass(kw_only=True, slots=True)
    class Config(BaseDataLoader.Config):
        pass

    def __init__(self, config, *, dp_rank, seq_len, local_batch_size, **_):
        self.name = f"dp_rank_{dp_rank}"
        self.shape = (local_batch_size, seq_len + 1)
        self.generator = torch.Generator().manual_seed(dp_rank)

    def __iter__(self):
        positions = torch.arange(self.shape[1] - 1).repeat(self.shape[0], 1)
        while True:
            x = torch.randint(0, VOCABULARY, self.shape, generator=self.generator)
            yield {"input": x[:, :-1].contiguous(), "positions": positions}, x[:, 1:].contiguous()

    def state_dict(self):
        return {self.name: self.generator.get_state()}

    def load_state_dict(self, state):
        self.generator.set_state(state[self.name])


class NotingTrainer(Trainer):
    @dataclass(kw_only=True, slots=True)
    class Config(Trainer.Config):
        pass

    def __init__(self, config):
        super().__init__(config)
        for module in self.model_parts[0].modules():
            if isinstance(module, FSDPModule):  # gloo multiplies no sums
                module.set_force_sum_reduction_for_comms(True)

    def train_step(self, data_iterator):
        super().train_step(data_iterator)
        note(self.step - 1)


def config():
    found = llama3_debugmodel()
    found.dump_folder = os.environ["SHUNTYARD_CHECKPOINT_DIR"] + "/output"
    model = found.model_spec.model
    model.layers = model.layers[:2]
    for layer in model.layers:
        layer.attention.inner_attention = ScaledDotProductAttention.Config()
    found.tokenizer, found.dataloader = NoTokenizer.Config(), Tokens.Config()
    found.training.steps = TOTAL
    found.training.local_batch_size, found.training.seq_len = 2, 32
    found.training.disable_cuda_graphs = True
    found.validator.enable = False
    found.debug.seed = 1
    found.checkpoint = ShuntyardCheckpoints.Config(  # shuntyard
        interval=int(os.environ.get("SAVE_EVERY", "500")),
        async_mode="async" if os.environ.get("ASYNC_SAVE") == "1" else "disabled",
        poll_seconds=0.01,  # shuntyard
    )
    found.metrics = ShuntyardMetrics.Config(log_freq=1)  # shuntyard
    return found


ALONE = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}
ALONE |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
os.environ |= {**ALONE, **os.environ}
trainer = NotingTrainer(config())
trainer.train()
trainer.close()
torch.distributed.destroy_process_group()
