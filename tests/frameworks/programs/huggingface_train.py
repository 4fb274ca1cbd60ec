"""Hugging Face Trainer with a small model; on the way it evaluates and can save by itself."""

import os

import torch
from steps_log import note
from transformers import PretrainedConfig, PreTrainedModel, Trainer, TrainerCallback
from transformers import TrainingArguments as Arguments

from shuntyard_trainer.huggingface import ShuntyardCallback

TOTAL = int(os.environ["TOTAL_STEPS"])
OUTPUT = os.environ["SHUNTYARD_CHECKPOINT_DIR"] + "/output"


class Config(PretrainedConfig):
    model_type = "sum"


class Sum(PreTrainedModel):
    config_class = Config

    def __init__(self, config):
        super().__init__(config)
        self.layer = torch.nn.Linear(8, 1)
        self.post_init()

    def forward(self, x, labels=None):
        out = self.layer(x)
        return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}


class Note(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        note(state.global_step - 1)


data = torch.randn(64, 8, generator=torch.Generator().manual_seed(1))
rows = [{"x": row, "labels": row.sum().reshape(1)} for row in data]
shuntyard = ShuntyardCallback(poll_seconds=0.01)
torch.manual_seed(1)  # the Trainer seeds later, the model has its weights before
trainer = Trainer(
    Sum(Config()),
    Arguments(
        output_dir=OUTPUT,
        max_steps=TOTAL,
        use_cpu=os.environ.get("TRAIN_DEVICE") != "cuda",
        per_device_train_batch_size=4,
        logging_steps=1,
        eval_strategy="steps",
        eval_steps=7,
        save_strategy=os.environ.get("SAVE_STRATEGY", "no"),
        save_steps=5,
        save_total_limit=3,
        enable_jit_checkpoint=os.environ.get("JIT_CHECKPOINT") == "1",
        report_to=[],
        disable_tqdm=True,
    ),
    train_dataset=rows,
    eval_dataset=rows,
    callbacks=[Note(), shuntyard],
)
trainer.train(resume_from_checkpoint=shuntyard.resume_path)
print("after train")
