"""Numbers and names in the spellings of other languages and programs."""

import pytest

from tests.unit.parsing.test_other_values import NOTHING, STEPS, lines, reading

FORMS = {
    "numbers of 32 bits and calls, as Julia prints them": (
        lines("[ Info: Epoch {0}\nloss(x, y_oh) = {1}f-1", *STEPS),
        ("loss", 0.06, 40.0, None),
    ),
    "a large number of 32 bits": (lines("step {0} loss {1}f7", *STEPS), ("loss", 6e6, 40.0, None)),
    "a count in words": (
        lines("current step: {0}th step\nbatch loss:{1}", *STEPS),
        ("batch loss", 0.6, 40.0, None),
    ),
    "ESPnet's ranges of batches": (
        lines("INFO: 1epoch:train:1-{0}batch: iter_time=2.8e-04, loss={1}, loss_ctc=0.1", *STEPS),
        ("loss", 0.6, 40.0, None),
    ),
    "a value at which Lightning keeps a checkpoint": (
        lines("Epoch 1, global step {0}: 'val_loss' reached {1} (best {1}), saving model", *STEPS),
        ("val_loss", 0.6, 40.0, None),
    ),
    "all losses beside their parts": (
        lines("Step: {0}, All Loss: {1}, Smooth Loss: 0.2, Unpen Loss: 0.1", *STEPS),
        ("All Loss", 0.6, 40.0, None),
    ),
    "a mean cost of the fit": (
        lines("Epoch: {0}: avg_fit_cost: {1}, avg_fit_acc: 0.9", *STEPS),
        ("avg_fit_cost", 0.6, 40.0, None),
    ),
    "signs of full width": (
        lines("epoch\uff1a{0}\uff0closs\uff1a{1}", *STEPS),
        ("loss", 0.6, 40.0, None),
    ),
    "a value in angle brackets": (
        lines("INFO:  Iteration: {0}, Loss: <{1}>\nCONTEXT:  function", *STEPS),
        ("Loss", 0.6, 40.0, None),
    ),
    "a cost before its iteration": (
        lines("Cost after iteration {0}: {1}", *STEPS),
        ("Cost", 0.6, 40.0, None),
    ),
    "the accuracy of a model before its epoch": (
        lines("Accuracy of model trained at epoch {0} : {1}", *STEPS),
        ("Accuracy", 0.6, 40.0, None),
    ),
    "a step before a bar, right before a loss": (
        lines("{0} | loss {1} | lr 3.000000e-04 | 13808.97ms", *STEPS),
        ("loss", 0.6, 40.0, None),
    ),
    "a validation at an epoch, behind the name of a logger": (
        lines("2026-01-05 10:00:00,1 train INFO: val at epoch {0}, top1=0.3, loss={1}", *STEPS),
        ("val_loss", 0.6, 40.0, None),
    ),
    "an arrow before a value": (lines("epoch {0} loss -> {1}", *STEPS), ("loss", 0.6, 40.0, None)),
    "a loss of an epoch in words": (
        lines("The average loss of epoch {0} is: {1}", *STEPS),
        ("The average loss", 0.6, 40.0, None),
    ),
    "the mean of a quality": (
        lines("epoch {0}, mean dice {1}", *STEPS),
        ("mean dice", 0.6, 40.0, None),
    ),
    "an epoch and its part behind the word train": (
        lines("[train: 35, {0} / 1000] FPS: 4.0 (7.9)  ,  Loss/total: {1}  ,  Loss/b: 0.1", *STEPS),
        ("Loss/total", 0.6, 34.04, None),
    ),
    "tabs that SageMaker prints in octal digits": (
        lines("[{0}]#011train-error:0.1#011validation-error:{1}", *STEPS),
        ("validation-error", 0.6, 40.0, None),
    ),
    "times without a heading behind the rows of a table": (
        "epoch  train_loss  valid_loss\n" + lines("{0}      0.5      {1}      (00:01)", *STEPS),
        ("valid_loss", 0.6, 40.0, None),
    ),
    "a table of metrics and one learning rate has no place": (
        "Learning Rate\tTrain Loss\tTheta Loss\t\n" + lines("0.0002\t{1}\t0.2\t", *STEPS),
        ("Train Loss", 0.6, None, None),
    ),
    "a table of metrics alone has no place": (
        "train_loss\ttrain_EPE\tEPE\n" + lines("{1}\t0.5\t0.4", *STEPS),
        ("train_loss", 0.6, None, None),
    ),
}


@pytest.mark.parametrize(("text", "want"), FORMS.values(), ids=FORMS)
def test_a_form_is_read(text: str, want: tuple[object, ...]) -> None:
    assert reading(text) == want


OTHERS = {
    "a hash with an f": lines("step {0} loss in commit 0.9f3a", *STEPS),
    "what another value reached": lines(
        "Epoch 1, global step {0}: 'batch_size' reached 64.5", *STEPS
    ),
    "prose with a loss between commas": "a loss, the accuracy\n" + lines("{0}, {1}", *STEPS),
    "from one loss to the next": lines("step {0} loss improved 0.9 -> {1}", *STEPS),
    "losses of validation in ESPnet": lines("INFO: 1epoch:valid:1-{0}batch: loss={1}", *STEPS),
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_looks_like_it_is_not_read(text: str) -> None:
    assert reading(text) == NOTHING
