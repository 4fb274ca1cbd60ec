"""Corners of what frameworks print."""

import math

import pytest

from shared.parsing import pairs
from shared.parsing.base import Point
from shared.parsing.huggingface import HuggingFace
from shared.parsing.keras import Keras
from shared.parsing.lightning import Lightning
from shared.parsing.megatron import Megatron
from shared.parsing.mnist import Mnist
from shared.parsing.pairs import DeepSpeed
from shared.parsing.printed import Printed
from tests.unit.parsing.reading import read, values

KERAS = {
    "the full bar before validation and the one after": (
        (
            "Epoch 1/2\n90/90 ━━━ 0s 5ms/step - loss: 0.7\r"
            "90/90 ━━━ 3s 33ms/step - loss: 0.7 - val_loss: 0.6\n"
        ),
        [("loss", 0.7, 1), ("val_loss", 0.6, 1)],
    ),
    "evaluate after training is left out": (
        (
            "Epoch 2/2\n90/90 - 3s - 33ms/step - loss: 0.7\n1/8 ━━━ 0s 4ms/step - loss: 0.6\r"
            "8/8 ━━━ 0s 4ms/step - loss: 0.6\n"
        ),
        [("loss", 0.7, 2)],
    ),
    "a number of steps that is not known yet": (
        "Epoch 1/2\n     41/Unknown 9s 109ms/step - loss: 1.3\r90/90 ━ 9s 99ms/step - loss: 1\n",
        [("batch_loss", 1.3, None), ("loss", 1.0, 1)],
    ),
    "minutes and hours to go": (
        "Epoch 1/2\n 1/90 ━ 1:02:03 9s/step - loss: 1.3\r 2/90 ━ 12:03 9s/step - loss: 1.2\r",
        [("batch_loss", 1.3, 1 / 90), ("batch_loss", 1.2, 2 / 90)],
    ),
    "a log that is entered in the middle has no epoch": (
        "90/90 - 3s - 33ms/step - loss: 0.7\nEpoch 5/9\n90/90 - 3s - 33ms/step - loss: 0.6\n",
        [("loss", 0.7, None), ("loss", 0.6, 5)],
    ),
    "NaN": ("Epoch 1/2\n9/9 - 3s - 33ms/step - loss: nan\n", [("loss", math.nan, 1)]),
    "something else between dashes is no bar": (
        "Epoch 1/2\n9/9 - 3s - hello - loss: 0.5\n9/9 - loss: 0.5\n1/2 - a: b\n",
        [],
    ),
    "a fit of one epoch, again and again": (
        "Epoch 1/1\n9/9 - 3s - 3ms/step - loss: 0.7\nEpoch 1/1\n9/9 - 3s - 3ms/step - loss: 0.6\n",
        [("loss", 0.7, 1), ("loss", 0.6, 2)],
    ),
    "restarted": (
        "Epoch 1/2\n9/9 - 3s - 3ms/step - loss: 0.7\nEpoch 1/2\n9/9 - 3s - 3ms/step - loss: 0.8\n",
        [("loss", 0.7, 1), ("loss", 0.8, 1)],
    ),
}


@pytest.mark.parametrize(("text", "want"), KERAS.values(), ids=KERAS)
def test_keras(text: str, want) -> None:
    assert repr(values(read(Keras(), text))) == repr(want)


HUGGING_FACE = {
    "NaN, bare and in a text": (
        "{'loss': nan, 'epoch': 1.0}\n{'eval_loss': 'nan', 'epoch': '1'}\n",
        [("loss", math.nan, 1.0), ("eval_loss", math.nan, 1.0)],
    ),
    "an epoch printed twice tells the second point nothing": (
        "{'loss': '2', 'epoch': '0.01'}\n{'loss': '1', 'epoch': '0.01'}\n",
        [("loss", 2.0, 0.01), ("loss", 1.0, None)],
    ),
    "a dict without an epoch is the program's own": ("{'loss': 0.5}\n", []),
    "a dict inside a dict is none of these": ("{'a': {'loss': 1, 'epoch': 1}}\n", []),
    "half a dict is none": ("{'loss': 0.5, 'epoch': 1.0\n", []),
    "words behind it make it none": ("{'loss': 0.5, 'epoch': 1.0} saved\n", []),
    "texts and None in it are no values": (
        "{'loss': '1', 'note': 'good', 'x': None, 'epoch': '1'}\n",
        [("loss", 1.0, 1.0)],
    ),
}


@pytest.mark.parametrize(("text", "want"), HUGGING_FACE.values(), ids=HUGGING_FACE)
def test_hugging_face(text: str, want) -> None:
    assert repr(values(read(HuggingFace(), text))) == repr(want)


def test_hugging_face_has_the_total_if_its_log_level_prints_it() -> None:
    text = "[INFO|trainer.py:2134] 2024-01-01 >>   Num Epochs = 1,000\n{'loss': 1, 'epoch': 1.0}\n"
    assert [p.total_steps for p in read(HuggingFace(), text)] == [1000]


LIGHTNING = {
    "a value is reported when it changes, not when it is drawn again": (
        (
            "Epoch 0:  50%|# | 1/2 [00:00<00:00, 9.0it/s, loss=2.00]\n"
            "Epoch 0: 100%|##| 2/2 [00:00<00:00, 9.0it/s, loss=2.00]\n"
            "Epoch 0: 100%|##| 2/2 [00:00<00:00, 9.0it/s, loss=2.00, val_loss=3.00]\n"
            "Epoch 1:   0%|  | 0/2 [00:00<?, ?it/s, loss=2.00, val_loss=3.00]\n"
            "Epoch 1:  50%|# | 1/2 [00:00<00:00, 1.2s/it, loss=1.00, val_loss=3.00]\n"
        ),
        [("loss", 2, 0.5), ("val_loss", 3, 1.0), ("loss", 1, 1.5)],
    ),
    "an unknown number of steps": (
        "Epoch 0: |          | 5/? [00:00<?, 42.99it/s, v_num=0, loss=nan]\n",
        [("loss", math.nan, None)],
    ),
    "names with slashes": (
        "Epoch 0:  50%|# | 1/2 [00:00<00:00, 9.0it/s, train/loss=2e-5]\n",
        [("train/loss", 2e-5, 0.5)],
    ),
    "what follows the block of rich is not of it": (
        "Epoch 0/0  ━━━ 2/2 0:00:00 • 0:00:00 61.21it/s loss: 1.000\n  acc: 0.5\ndone: 3\n  x: 4\n",
        [("loss", 1, 1.0), ("acc", 0.5, 1.0)],
    ),
    "a value that is not all a number is none": (
        "Epoch 0:  50%|# | 1/2 [00:00<00:00, 9.0it/s, loss=2.0abc]\n",
        [],
    ),
}


@pytest.mark.parametrize(("text", "want"), LIGHTNING.values(), ids=LIGHTNING)
def test_lightning(text: str, want) -> None:
    assert repr(values(read(Lightning(), text))) == repr([(n, float(v), s) for n, v, s in want])


MEGATRON = (
    " iteration {step}/ 9 | {loss}number of skipped iterations: {skipped} | "
    "number of nan iterations: {nans} |"
)


@pytest.mark.parametrize(
    ("skipped", "nans", "is_nan"),
    {"NaN": (0, 0, True), "NaN, counted": (1, 1, True), "skipped": (1, 0, False)}.values(),
    ids=["NaN", "NaN, counted", "skipped"],
)
def test_megatron_s_missing_loss_is_nan_unless_the_step_was_skipped(skipped, nans, is_nan) -> None:
    parser = Megatron()
    parser.feed(MEGATRON.format(step=1, loss="lm loss: 1.0 | ", skipped=0, nans=0))
    points = parser.feed(MEGATRON.format(step=2, loss="", skipped=skipped, nans=nans))
    assert [str(p.value) for p in points] == (["nan"] if is_nan else [])


def test_megatron_s_torn_lines_and_other_words_are_none() -> None:
    for line in (
        " iteration 1/ 9 | lm loss: 2.3",
        "saved checkpoint from iteration 5 | x: 1 |",
        "validation loss at iteration x | lm loss value: 1 |",
        "iteration 5 of the sort",
    ):
        assert Megatron().feed(line) == ()


def test_megatron_on_a_test_set_has_names_of_its_own() -> None:
    line = " validation loss at iteration 5 on test set | lm loss value: 2.0E+00 |"
    assert values(Megatron().feed(line)) == [("test lm loss", 2.0, 5)]


def test_mnist_lines_with_other_words_are_none() -> None:
    for line in ("Train Epoch: 1 loss 3", "Test set: Average loss: x, Accuracy: 1/2 (50%)"):
        assert Mnist().feed(line) == ()
    empty = Mnist().feed("Train Epoch: 1 [0/0 (0%)]\tLoss: 2.3")
    assert empty == (Point("loss", 2.3, None, unit="epoch"),)
    assert values(Mnist().feed("Test set: Average loss: 1.0, Accuracy: 0/0 (0%)")) == [
        ("test_loss", 1.0, None)
    ]


PAIRS = {
    "pairs": ("step: 100, loss: 0.5", (100.0, {"loss": 0.5})),
    "equals signs": ("loss=0.5 acc=0.1", (None, {"loss": 0.5, "acc": 0.1})),
    "bars": ("epoch: 1 | loss: 0.5", (1.0, {"loss": 0.5})),
    "percent": ("epoch: 1, acc: 99.1%", (1.0, {"acc": 99.1})),
    "steps in brackets": ("[1,  2000] loss: 2.203", (None, {"loss": 2.203})),
    "two styles": ("loss: 0.5 acc=0.1", None),
    "two separators": ("a: 1, loss: 0.5; acc: 0.1", None),
    "a word more": ("loss: 0.5 good", None),
    "a word before": ("INFO - loss: 0.5", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("line", "want"), PAIRS.values(), ids=PAIRS)
def test_pairs_are_a_whole_line_or_nothing(line: str, want) -> None:
    found = pairs.read_pairs(line)
    assert (None if found is None else (found.step, found.metrics)) == want


def test_pairs_know_what_their_counter_counts() -> None:
    for line, unit in (("epoch: 3, loss: 0.5", "epoch"), ("step: 3, loss: 0.5", "step")):
        found = pairs.read_pairs(line)
        assert found is not None
        assert found.unit == unit


def test_before_a_line_of_deepspeed_s_own_its_parser_reads_nothing() -> None:
    own = "[2022-08-29 06:58:56,176] [INFO] [timer.py:198:stop] 0/20, RunningAvgSamplesPerSec=232.7"
    parser = DeepSpeed()
    assert parser.feed("loss: 0.5") == ()
    assert parser.feed(own) == ()
    assert values(parser.feed("loss: 0.5")) == [("loss", 0.5, 20)]
    assert values(parser.feed("loss: 0.4")) == [("loss", 0.4, None)]
    assert values(parser.feed("{'loss': 0.3, 'epoch': 0.1}")) == [("loss", 0.3, 0.1)]
    assert parser.feed("time: 0.5") == ()


def test_a_counter_far_above_its_value_counts_also_before_the_first_value() -> None:
    lines = ["step 7 begins", *["quiet"] * 20, "the loss is small: loss 0.5"]
    (point,) = read(Printed(), "\n".join([*lines, ""]))
    assert (point.metric, point.value, point.step) == ("loss", 0.5, 7.0)


def test_a_counter_more_than_forty_lines_above_does_not_count() -> None:
    lines = ["step 7 begins", *["quiet"] * 60, "loss 0.5"]
    assert read(Printed(), "\n".join([*lines, ""])) == []


def test_values_are_found_behind_thousands_of_lines_that_only_look_like_some() -> None:
    noise = [f"GET /api/{n} failed with error {n}" for n in range(5000)]
    lines = [f"step {n}: loss {1 / n:.3f}" for n in range(1, 20)]
    points = read(Printed(), "\n".join([*noise, *lines, ""]))
    assert [point.step for point in points][-15:] == [float(n) for n in range(5, 20)]


def test_what_waits_for_a_value_is_bounded() -> None:
    parser = Printed()
    for n in range(10_000):
        parser.feed(f"step {n} " + "x" * 300)
    assert parser.held_bytes < 2 * 16 * 400


LINES = {
    "a validation behind its epoch": (
        "Epoch 1   Train,   loss = 0.7\nEpoch 1   Valid,   loss = 0.8\n",
        [("loss", 0.7, 1.0), ("val_loss", 0.8, 1.0)],
    ),
    "errors of training and test data": (
        "Epoch 2\nTrain Error: Avg loss: 0.7\nTest Error: Avg loss: 0.8\n",
        [("Avg loss", 0.7, 2.0), ("val_Avg loss", 0.8, 2.0)],
    ),
    "an evaluation of TensorFlow": (
        "loss = 0.7, step = 9\nSaving dict for global step 9: global_step = 9, loss = 0.8\n",
        [("loss", 0.7, 9.0), ("val_loss", 0.8, 9.0)],
    ),
    "a count below an epoch is a part of it": (
        "Epoch: 4\nLoss: 0.7 Iterations: 50/100\nEpoch: 5\nLoss: 0.6 Iterations: 50/100\n",
        [("Loss", 0.7, 3.5), ("Loss", 0.6, 4.5)],
    ),
    "unless it goes on in the next one": (
        "Epoch 1\niter 50/400 loss 0.7\nEpoch 2\niter 150/400 loss 0.6\niter 200/400 loss 0.5\n",
        [("loss", 0.7, 0.125), ("loss", 0.6, 150.0), ("loss", 0.5, 200.0)],
    ),
    "a fold of two epochs": (
        "Epoch 1/2 loss 0.7\nEpoch 2/2 loss 0.6\nEpoch 1/2 loss 0.8\nEpoch 2/2 loss 0.5\n",
        [("loss", 0.7, 1.0), ("loss", 0.6, 2.0), ("loss", 0.8, 3.0), ("loss", 0.5, 4.0)],
    ),
    "names differ by more than their case": (
        "step 3 Current Loss: 0.6\nstep 4 current Loss: 0.5\n",
        [("Loss", 0.6, 3.0), ("Loss", 0.5, 4.0)],
    ),
    "a validation in brackets": (
        "Epoch 1/9 [Train] | loss: 0.7\nEpoch 1/9 [Val] | loss: 0.8\n",
        [("loss", 0.7, 1.0), ("val_loss", 0.8, 1.0)],
    ),
    "a validation behind a time": (
        "10:00:01 epoch 3 - iter 4/5 - loss 0.7\n10:00:02,571 DEV  : loss 0.8 - acc 0.5\n",
        [("loss", 0.7, 2.8), ("val_loss", 0.8, 2.8), ("val_acc", 0.5, 2.8)],
    ),
    "a line that begins behind a bar": (
        " 5%|#| 5/99 [00:01<00:09, 9.9it/s]Iter 20: Train loss 3.1\n",
        [("Train loss", 3.1, 20.0)],
    ),
    "a validation's bar does not count the epochs of the line behind it": (
        "eval:   0%|          | 0/34 [00:00<?, ?it/s]Epoch 2 elapsed: 84.2s\ntrain_loss: 0.5\n",
        [("train_loss", 0.5, 2.0)],
    ),
    "a bar in ASCII that ends with a digit": (
        "Training:  44%|####8     | 44/100 [00:09<00:11, 5.0it/s, Loss=0.5]\n",
        [("Loss", 0.5, 44.0)],
    ),
    "a count in brackets before a value": (
        "[200/300] Train loss: 0.5, Valid loss: 0.6\n",
        [("Train loss", 0.5, 200.0), ("Valid loss", 0.6, 200.0)],
    ),
    "a count in brackets without a value is not one of the training": (
        "[7/9] Building CXX object\nstep 3: loss 0.5\n[8/9] Linking\nacc 0.5\n",
        [("loss", 0.5, 3.0), ("acc", 0.5, 3.0)],
    ),
    "a value in a sentence": ("step 3. Loss is 0.5. Done\n", [("Loss", 0.5, 3.0)]),
    "parts of a loss keep their whole names": (
        "step 3, Total Loss: 0.6, Diff Loss: 0.4, AR Loss: 0.2\n",
        [("Total Loss", 0.6, 3.0), ("Diff Loss", 0.4, 3.0), ("AR Loss", 0.2, 3.0)],
    ),
    "so does a loss that other words name than before": (
        "step 3 Loss: 0.6\nstep 4 Clip Loss: 6.9\n",
        [("Loss", 0.6, 3.0), ("Clip Loss", 6.9, 4.0)],
    ),
    "decimal commas are no numbers": (
        "Epoch: 3, Accuracy: 0,4882, Cross-Entropy: 7,081955E+12, Loss: 1,234\n",
        [],
    ),
    "thousands are": ("steps: 1,000/10,000 loss 1,234.5\n", [("loss", 1234.5, 1000.0)]),
    "a loss in percent is how much of it is done": ("step 3 train loss: 100%[*>]1.4\n", []),
    "thousands of steps": (
        "step:200 ep:3 loss:0.5\nstep:31K ep:9 loss:0.4\nstep:31K ep:15 loss:0.3\n",
        [("loss", 0.5, 200.0), ("loss", 0.4, 31_000.0), ("loss", 0.3, 31_000.0)],
    ),
    "an epoch and a step in one count": (
        "epoch/iter: 52/13673  total_loss: 7.2\n",
        [("total_loss", 7.2, 13673.0)],
    ),
    "a bar of steps is none of an epoch": (
        "epoch 3/50\nsteps:  6%|# | 48/800 [00:46<02:44, 3.8it/s, avr_loss=0.1]\n",
        [("avr_loss", 0.1, 48.0)],
    ),
    "a count behind its value": (
        "Epoch 2\n-----\nloss: 0.5  [ 6400/12800]\n",
        [("loss", 0.5, 1.5)],
    ),
    "a heading of a validation": (
        "Epoch 1, loss: 0.5\nEpoch 1, dev results:\nLoss: 0.6\nEpoch 2\nloss: 0.4\n",
        [("loss", 0.5, 1.0), ("val_Loss", 0.6, 1.0), ("loss", 0.4, 2.0)],
    ),
    "batches begin again with each epoch": (
        "Batch 400 loss=0.5\nBatch 800 loss=0.4\nBatch 400 loss=0.3\n",
        [("loss", 0.5, 400.0), ("loss", 0.4, 800.0), ("loss", 0.3, 1200.0)],
    ),
    "a part of a run in percent behind its count": (
        "Train:    2/3 ( 67%) [ 150/300 ( 50%)]  Loss: 36.7 (81.7)\n",
        [("Loss", 36.7, 1.5)],
    ),
}


ROUNDS = (
    "Stage 1 | Epoch 1/3 | loss 0.9\nStage 1 | Epoch 3/3 | loss 0.8\n"
    "Stage 2 | Epoch 1/3 | loss 0.7\nStage 2 | Epoch 3/3 | loss 0.6\n"
)


def test_a_count_that_begins_again_after_its_end_goes_on_without_a_total() -> None:
    points = read(Printed(), ROUNDS)
    assert [point.step for point in points] == [1.0, 3.0, 4.0, 6.0]
    assert [point.total_steps for point in points] == [3, 3, None, None]


ENDED = "Epoch 1/3 loss 0.9\nEpoch 3/3 loss 0.8\n{0}\nEpoch 1/3 loss 0.7\n"
BEHIND_AN_END = {
    "the program starts again": ("Training completed!\nUsing GPU: A100", (1.0, 3)),
    "it goes on with a stage": ("Training completed!\nStage 2\nUsing device: cuda", (4.0, None)),
    "it names no device": ("Training completed!\nStarting training", (4.0, None)),
    "no run has ended": ("Using GPU: A100", (4.0, None)),
}


@pytest.mark.parametrize(("between", "want"), BEHIND_AN_END.values(), ids=BEHIND_AN_END)
def test_a_count_begins_again_where_a_run_has_ended_and_the_program_starts(between, want) -> None:
    last = read(Printed(), ENDED.format(between))[-1]
    assert (last.step, last.total_steps) == want


def test_a_count_that_begins_again_before_its_end_is_a_restart() -> None:
    points = read(Printed(), "step 5/9 loss 0.9\nstep 6/9 loss 0.8\nstep 1/9 loss 0.9\n")
    assert [(point.step, point.total_steps) for point in points] == [(5.0, 9), (6.0, 9), (1.0, 9)]


@pytest.mark.parametrize(("text", "want"), LINES.values(), ids=LINES)
def test_lines_without_a_known_format(text: str, want) -> None:
    assert values(read(Printed(), text)) == want


def test_the_length_of_a_run_is_read_where_it_starts() -> None:
    text = "Starting training..., iters: 1000\nIter 10: Train loss 3.4\n"
    assert [point.total_steps for point in read(Printed(), text)] == [1000]
