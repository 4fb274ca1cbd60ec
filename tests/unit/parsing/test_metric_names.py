"""The metric that is followed by default, and the direction in which it improves."""

import pytest

from shared.parsing.metric_names import goal_of, is_metric, measures_convergence, preferred
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
    "a loss of steps beside that of epochs": (
        ["loss_train_step", "loss_train_epoch"],
        "loss_train_epoch",
    ),
    "Keras inside its first epoch": (["batch_accuracy", "batch_loss"], "batch_loss"),
    "Keras in TensorBoard": (["epoch_loss", "val_epoch_loss"], "val_epoch_loss"),
    "PyTorch's tutorial": (["Loss/train", "Loss/test"], "Loss/train"),
    "Megatron": (["lm loss", "validation lm loss", "grad norm"], "validation lm loss"),
    "mnist": (["loss", "test_loss", "test_accuracy"], "loss"),
    "a loss of the user's own": (["accuracy", "my_loss_1"], "my_loss_1"),
    "a pattern without a name": (["value"], "value"),
    "humps are words": (["Loss", "ValLoss", "ValPSNR"], "ValLoss"),
    "a short total": (["tot_loss", "iou_loss", "cls_loss"], "tot_loss"),
    "a loss beside a count of episodes": (["average_loss", "episodes", "mean"], None),
    "cross-entropy is no loss of a policy": (["train/CrossEntropyLoss"], "train/CrossEntropyLoss"),
    "no loss": (["accuracy", "lr"], "accuracy"),
    "the total before its parts": (
        ["total_loss", "loss_cls", "loss_box_reg", "fast_rcnn/cls_accuracy"],
        "total_loss",
    ),
    "the loss before that of the model alone": (["lm_loss", "loss"], "loss"),
    "the total before that of the model alone": (
        ["main_loss", "moe_loss", "total_loss"],
        "total_loss",
    ),
    "a cost where there is no loss": (["cost", "lr"], "cost"),
    "a loss before the cost of a batch": (["batch_cost", "loss_cls"], "loss_cls"),
    "a time that is called cost": (["avg_reader_cost", "batch_cost"], None),
    "mean rewards beside losses of actor and critic": (
        ["critic/rewards/mean", "critic/rewards/max", "actor/pg_loss", "critic/vf_loss"],
        "critic/rewards/mean",
    ),
    "parts alone": (["loss_cls", "loss_box_reg"], None),
    "two networks": (["Loss_D", "Loss_G"], None),
    "one side of a GAN alone": (["g_loss", "lr"], None),
    "the loss of a policy alone": (["train/actor_opt_loss"], None),
    "a learning rate is no loss": (["L.r.", "Cost"], "Cost"),
    "a score of the episodes": (["episode/score", "train/actor_loss"], "episode/score"),
    "an evaluation's mean": (
        ["Average Training Loss", "Average Evaluation Loss"],
        "Average Evaluation Loss",
    ),
    "validation behind the name": (["rmse_val", "rmse_trn", "rmse_e_val"], "rmse_val"),
    "actor and critic": (["Actor Loss", "Critic Loss"], None),
    "mean average precision before parts of a loss": (
        [
            "train/box_loss",
            "val/box_loss",
            "val/cls_loss",
            "metrics/mAP50(B)",
            "metrics/mAP50-95(B)",
        ],
        "metrics/mAP50-95(B)",
    ),
    "a reward before the loss of a policy": (
        ["rollout/ep_rew_mean", "train/loss", "train/value_loss"],
        "rollout/ep_rew_mean",
    ),
    "gradient boosting": (["train-rmse", "eval-rmse"], "eval-rmse"),
    "two values on validation data": (["valid_0's auc", "valid_0's rmse"], None),
    "the log loss before an AUC": (
        ["valid_1 auc", "valid_1 binary_logloss"],
        "valid_1 binary_logloss",
    ),
    "a perplexity before an accuracy": (
        ["Validation accuracy", "Validation perplexity", "xent"],
        "Validation perplexity",
    ),
    "one error on training and on test data": (["train-rmse", "test-rmse"], "test-rmse"),
    "one accuracy, and another on test data": (["Train Acc", "Test F1"], None),
    "two accuracies": (["Acc@1", "Acc@5"], None),
    "no metric": (["lr", "grad_norm", "loss scale", "epoch"], None),
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


MEASURES = (
    *("loss", "eval_loss", "train/loss", "val_acc", "distill_loss", "box_loss", "rot_loss"),
    *("loss_dice", "metrics/mAP50(B)", "rmse", "validation_logloss"),
)
DO_NOT = (
    *("rollout/ep_rew_mean", "AverageReturn", "rewards/chosen", "policy_loss", "train/value_loss"),
    *("qf1_loss", "entropy_loss", "d_loss", "loss_G_GAN", "D/loss", "errG", "generator_loss"),
    "l_g_total",
)


@pytest.mark.parametrize("name", MEASURES)
def test_a_loss_or_a_quality_measures_convergence(name: str) -> None:
    assert measures_convergence(name)


@pytest.mark.parametrize("name", DO_NOT)
def test_rewards_and_losses_of_opponents_do_not(name: str) -> None:
    assert not measures_convergence(name)
