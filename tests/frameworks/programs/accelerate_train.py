"""BERT on pairs of sentences (made up, as tokens): warm-up, accumulation, a test between epochs.

Follows: https://github.com/huggingface/accelerate/blob/main/examples/by_feature/checkpointing.py
"""

import os

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from steps_log import note
from torch.optim import AdamW
from torch.utils.data import DataLoader
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    get_linear_schedule_with_warmup,
)

from shuntyard_trainer import MetricsWriter  # shuntyard
from shuntyard_trainer.accelerate import accelerate_checkpoints  # shuntyard

TOTAL = int(os.environ["TOTAL_STEPS"])
EVERY = 2
"""Batches of an optimizer step."""
SMALL = {
    "vocab_size": 64,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 16,
}


def get_dataloaders():
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(0, 64, (96, 12), generator=generator)
    rows = [{"input_ids": row, "labels": row[0] % 2} for row in tokens]
    return DataLoader(rows, shuffle=True, batch_size=4), DataLoader(rows[:8], batch_size=4)


def training_function():
    accelerator = Accelerator(
        cpu=os.environ.get("TRAIN_DEVICE") != "cuda",
        gradient_accumulation_steps=EVERY,
        dataloader_config=DataLoaderConfiguration(  # shuntyard
            use_stateful_dataloader=True,  # shuntyard
            use_seedable_sampler=True,  # shuntyard
        ),  # shuntyard
    )
    set_seed(42)
    train_dataloader, eval_dataloader = get_dataloaders()
    model = BertForSequenceClassification(BertConfig(**SMALL))
    optimizer = AdamW(model.parameters(), lr=1e-3)
    every_rank = TOTAL * accelerator.num_processes
    lr_scheduler = get_linear_schedule_with_warmup(optimizer, 10, every_rank)
    model, optimizer, train_dataloader, eval_dataloader, lr_scheduler = accelerator.prepare(
        model, optimizer, train_dataloader, eval_dataloader, lr_scheduler
    )
    checkpoints = accelerate_checkpoints(accelerator, poll_seconds=0.01)  # shuntyard
    first = accelerator.is_main_process  # shuntyard
    metrics = MetricsWriter.from_environment() if first else MetricsWriter(None)  # shuntyard
    step = checkpoints.start_step()  # shuntyard
    while step < TOTAL:  # shuntyard
        model.train()
        for batch in checkpoints.batches(train_dataloader):  # shuntyard
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                optimizer.step()
                lr_scheduler.step()
                optimizer.zero_grad()
            if not accelerator.sync_gradients:
                continue
            note(step)
            step += 1  # shuntyard
            metrics.write(step=step, loss=loss, total_steps=TOTAL)  # shuntyard
            checkpoints.step_done(step)  # before the next batch is fetched  # shuntyard
            if step == TOTAL:
                break
        model.eval()
        right = []
        for batch in eval_dataloader:
            with torch.no_grad():
                predictions = model(**batch).logits.argmax(dim=-1)
            predictions, references = accelerator.gather_for_metrics((predictions, batch["labels"]))
            right.append((predictions == references).float().mean())
        accelerator.print(f"step {step}: accuracy {sum(right) / len(right):.2f}")
    checkpoints.done(step)  # shuntyard
    accelerator.end_training()


training_function()
