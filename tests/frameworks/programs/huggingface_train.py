"""A language model from scratch with the Hugging Face Trainer, on a text made up, as tokens.

Follows: https://github.com/huggingface/transformers/blob/main/examples/pytorch/language-modeling/run_clm.py
"""

import os

import torch
from steps_log import note
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
    set_seed,
)

from shuntyard_trainer.huggingface import ShuntyardCallback  # shuntyard

TOTAL = int(os.environ["TOTAL_STEPS"])
OUTPUT = os.environ["SHUNTYARD_CHECKPOINT_DIR"] + "/output"  # shuntyard
BLOCK = 16
"""Tokens of a row."""


class Note(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        note(state.global_step - 1)


def group_texts(tokens):
    rows = tokens.split(BLOCK)
    return [{"input_ids": row, "labels": row.clone()} for row in rows if len(row) == BLOCK]


def compute_metrics(predicted):
    words, labels = predicted.predictions[:, :-1], predicted.label_ids[:, 1:]
    return {"accuracy": float((words == labels).mean())}


def main():
    arguments = TrainingArguments(
        output_dir=OUTPUT,
        max_steps=TOTAL,
        use_cpu=os.environ.get("TRAIN_DEVICE") != "cuda",
        per_device_train_batch_size=4,
        lr_scheduler_type="cosine",
        warmup_steps=5,
        logging_steps=1,
        eval_strategy="steps",
        eval_steps=7,
        save_strategy=os.environ.get("SAVE_STRATEGY", "no"),
        save_steps=5,
        save_total_limit=3,
        enable_jit_checkpoint=os.environ.get("JIT_CHECKPOINT") == "1",
        report_to=[],
        disable_tqdm=True,
    )
    set_seed(arguments.seed)
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(0, 64, (80 * BLOCK,), generator=generator)
    datasets = group_texts(tokens)
    config = GPT2Config(vocab_size=64, n_positions=BLOCK, n_embd=16, n_layer=1, n_head=2)
    shuntyard = ShuntyardCallback(poll_seconds=0.01)  # shuntyard
    trainer = Trainer(
        model=AutoModelForCausalLM.from_config(config),
        args=arguments,
        train_dataset=datasets[:64],
        eval_dataset=datasets[64:],
        data_collator=default_data_collator,
        compute_metrics=compute_metrics,
        preprocess_logits_for_metrics=lambda logits, _: logits.argmax(dim=-1),
        callbacks=[Note(), shuntyard],  # shuntyard
    )
    trainer.train(resume_from_checkpoint=shuntyard.resume_path)  # shuntyard


main()
print("after train")
