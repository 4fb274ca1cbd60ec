"""The metric that is followed by default, and the direction in which it improves."""

import pytest

from agent.parsing.metric_names import goal_of, is_metric, preferred
from shared.progress import Goal

PREFERRED = {
    "evaluation before validation before training": (
        ["loss", "val_loss", "eval_loss"],
        "eval_loss",
    ),
    "validation before training": (["loss", "val_loss"], "val_loss"),
    "Hugging Face in TensorBoard": (["train/loss", "eval/loss", "train/grad_norm"], "eval/loss"),
    "Lightning": (["train_loss_step", "train_loss_epoch", "val_loss"], "val_loss"),
    "Lightning without validation": (["train_loss_step", "train_loss_epoch"], "train_loss_epoch"),
    "Keras inside its first epoch": (["batch_accuracy", "batch_loss"], "batch_loss"),
    "Keras in TensorBoard": (["epoch_loss", "val_epoch_loss"], "val_epoch_loss"),
    "PyTorch's tutorial": (["Loss/train", "Loss/test"], "Loss/train"),
    "Megatron": (["lm loss", "validation lm loss", "grad norm"], "validation lm loss"),
    "mnist": (["loss", "test_loss", "test_accuracy"], "loss"),
    "a loss of the user's own": (["accuracy", "my_loss_1"], "my_loss_1"),
    "a pattern without a name": (["value"], "value"),
    "no loss": (["accuracy", "lr"], None),
    "nothing": ([], None),
}


@pytest.mark.parametrize(("names", "want"), PREFERRED.values(), ids=PREFERRED)
def test_the_default_metric(names: list[str], want: str | None) -> None:
    assert preferred(names) == want
    assert preferred(reversed(names)) == want


GOALS = {
    "eval_loss": Goal.MIN,
    "lm loss PPL": Goal.MIN,
    "error_rate": Goal.MIN,
    "perplexity": Goal.MIN,
    "val_accuracy": Goal.MAX,
    "auc": Goal.MAX,
    "mean_reward": Goal.MAX,
    "mAP": Goal.MAX,
    "value": None,
    "learning_rate": None,
}


@pytest.mark.parametrize(("name", "want"), GOALS.items())
def test_the_goal(name: str, want: Goal | None) -> None:
    assert goal_of(name) is want


def test_what_places_a_value_is_no_metric() -> None:
    assert not any(
        map(is_metric, ("step", "epoch", "time", "total_steps", "eval_runtime", "v_num"))
    )
    assert all(map(is_metric, ("loss", "epoch_loss", "runtime", "lr")))
