"""What stands in a log beside the training, and must not be read as its step, end or metric.

Each row is a class of numbers that were, or could be, taken for the training's. Silence and a
question are right; a wrong number is not.
"""

import pytest

from shared.parsing.checking import check
from shared.places import MetricsPlace


def reading(text: str) -> tuple[str | None, float | None, float | None, int | None]:
    """Metric, last value, its step, and the end of the run, as a log of these lines is read."""
    data = text.encode()
    found = check(lambda offset, length: data[offset : offset + length], "log", MetricsPlace())
    step = None if found.step is None else round(found.step, 4)
    return found.metric, found.value, step, found.total_steps


def lines(pattern: str, *rows: object) -> str:
    """A line of each row; ``{0}`` and ``{1}`` are its numbers."""
    return "".join(
        pattern.format(*(row if isinstance(row, tuple) else (row,))) + "\n" for row in rows
    )


STEPS = ((10, 0.9), (20, 0.8), (30, 0.7), (40, 0.6))
TRAINING = lines("step {0} loss {1}", *STEPS)
NOTHING = (None, None, None, None)

SILENT = {
    "a line of a source file behind a path": lines(
        "train: {0}/90 [00:10]W core/kernels/loss_op.cc:144] no path", 10, 20, 30, 40
    ),
    "batches of a reranker that serves": lines("batch {0} score {1}", *STEPS),
    "files that are evaluated": lines("evaluating file {0}/90: acc {1}", *STEPS),
    "a bar of an evaluation": lines("Evaluating:  10%|# | {0}/90 [00:10<1:00, loss={1}]", *STEPS),
    "a bar of a test": lines("Testing: 10%|# | {0}/90 [00:10<1:00, acc={1}]", *STEPS),
    "two lines with an accuracy, which any service may print": lines(
        "step {0} accuracy {1}", *STEPS[:2]
    ),
    "two lines with a loss at the same step": lines("iter 72 loss {0}", 0.9, 0.8),
    "a setting beside a step": "step: 1000, loss: 1\n",
    "a loss of what was loaded": "Loaded model.pt (epoch 9, loss 0.3)\n",
    "a loss without a place": "Final loss 0.3\n",
    "two lines of both sides of a GAN": lines(
        "Epoch: 0 [{0}/60] d_loss: {1} g_loss: 0.3", *STEPS[:2]
    ),
    "a download": lines("Downloading: 10%|# | {0}M/90M [00:10<1:00, 3.0MB/s]", 10, 20, 30, 40),
    "a threshold": lines("iter {0}: until loss < 0.01", 10, 20, 30, 40),
    "the best so far": lines("epoch {0} best_loss {1}", *STEPS),
    "the weight of a loss": lines("epoch {0} loss_weight {1}", *STEPS),
    "the time of a loss": lines("epoch {0} loss_time: {1}", *STEPS),
    "a learning rate that is written out": lines("epoch {0} l_rate: {1}", *STEPS),
    "what an epoch has cost in seconds": lines("epoch {0} cost {1} s", *STEPS),
    "what the time after an epoch has cost": lines("Cost after epoch {0}: {1} s", *STEPS),
    "what the work at an epoch has cost": lines("Cost at epoch {0}: {1}h", *STEPS),
    "the best accuracy, which comes again": lines("Best val accuracy at epoch {0}: {1}", *STEPS),
    "a search of learning rates": "lr,train_loss\n" + lines("0.00{0},{1}", *STEPS),
    "how many were right": lines("Accuracy at epoch {0}: {0}/60", *STEPS),
    "a cost of thousands, with a comma": lines("Cost after epoch {0}: {0},345.6", *STEPS),
    "a list of models with a number each": lines("{0} | bert | loss {1}", *STEPS),
    "a list of weights with a number each": lines("{0} | loss_weight {1}", *STEPS),
    "the best validation, which comes again": lines("best val at epoch {0}, loss={1}", *STEPS),
    "the accuracy of one class": lines("accuracy of planes at epoch {0}: {1}", *STEPS),
    "what an epoch has cost, with the word": lines("epoch {0} cost {1} seconds", *STEPS),
    "memory that a score took": lines("step {0} score {1} GB", *STEPS),
    "a checkpoint that improves": lines("epoch {0}: val_loss did not improve from {1}", *STEPS),
    "a loss that decreased from one value to another": lines(
        "epoch {0}: Validation loss decreased ({1} --> 0.1)", *STEPS
    ),
    "patience": lines("epoch {0}: early stopping patience loss counter {1}", *STEPS),
    "a bound of an optimiser": lines("max iterations: {0}, min_loss: {1}", *STEPS),
    "seconds since 1970 that are called epoch": lines("epoch 17500000{0} loss {1}", *STEPS),
    "classes of the data": lines("class {0} accuracy {1}", *STEPS),
    "layers of the model": lines("layer {0}: loss {1}", *STEPS),
    "two networks": lines("step {0} loss_D {1} loss_G 0.3", *STEPS),
    "accuracies of classes below epochs": lines(
        "epoch {0}\nplane accuracy: 80 %\ncar accuracy: {1} %", *STEPS
    ),
    "a regularization alone": lines("epoch {0} regularization loss {1}", *STEPS),
    "an auxiliary loss alone": lines("epoch {0} aux_loss {1} lr 0.1", *STEPS),
    "the two losses of actor and critic": lines("step {0} actor_loss {1}", *STEPS),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_nothing_is_read_where_there_is_no_training(text: str) -> None:
    assert reading(text) == NOTHING


BESIDE = {
    "a checkpoint that was loaded": "loaded checkpoint last.pt (epoch 99)\n" + TRAINING,
    "a best model of an earlier step": TRAINING + "best model at step 20\n",
    "a resume": "Resuming from iteration 0, epoch 9 until 99 epochs\n" + TRAINING,
    "an evaluation after it": TRAINING + "Testing: loss 0.1\n",
    "bars of an evaluation after it": TRAINING
    + lines("Evaluating:  10%|# | {0}/90 [00:10<1:00, loss={1}]", *STEPS),
    "a summary without a counter": TRAINING + "* loss 0.01\n",
    "losses of classes after it": TRAINING + lines("class {0} loss {1}", (1, 0.1), (2, 0.2)),
    "a table of scores after it": TRAINING + "precision recall f1-score support\n0.1 0.2 0.3 40\n",
    "the end of a stage that was announced": "warmup epochs: 5\n" + TRAINING,
    "numbers of requests of a server": lines("step {0} loss {1}\nGET /health 200", *STEPS),
    "a hyper-parameter": "loss: 2.0\n" + TRAINING,
    "the loss that was best": lines("step {0} loss {1} best_loss 0.5", *STEPS),
    "a learning rate": lines("step {0} lr 0.001 loss {1} l_rate: 0.2", *STEPS),
    "the size of an update": lines("Update: 0.000e+00 mean | step {0} loss {1}", *STEPS),
    "a count of micro steps": lines("micro step 3/8 step {0} loss {1}", *STEPS),
    "the best iteration once more": TRAINING
    + "Early stopping, best iteration is:\nstep 20 loss 0.8\n",
    "the best loss of each stage": lines("step {0} loss {1}\nBest Loss = 0.1", *STEPS),
    "losses of blocks, spelled otherwise": lines("step {0} loss {1}\n[Block] Loss: 5.1", *STEPS),
    "a letter behind a value": lines("step {0} loss {1} S(x)=0.3", *STEPS),
    "steps that are left": lines("steps left: 7 | step {0} loss {1}", *STEPS),
    "bounds": lines("max steps: 7 | step {0} loss {1}", *STEPS),
}


@pytest.mark.parametrize("text", BESIDE.values(), ids=BESIDE)
def test_a_training_is_read_in_spite_of(text: str) -> None:
    assert reading(text) == ("loss", 0.6, 40.0, None)


EPOCHS = ((1, 0.8), (2, 0.7), (3, 0.6), (4, 0.5))
PLACED = {
    "batches end with each epoch": (
        lines("batch {0}/90 loss {1}", *STEPS),
        ("loss", 0.6, 40.0, None),
    ),
    "a bar without a name ends with each of several epochs": (
        "epochs: 3\n" + lines(" 10%|# | {0}/90 [00:10<1:00, loss={1}]", *STEPS),
        ("loss", 0.6, 40.0, None),
    ),
    "a count that may end with each of several epochs": (
        "epochs: 3\n" + lines("iter {0}/90 loss {1}", *STEPS),
        ("loss", 0.6, 40.0, None),
    ),
    "a count that is announced is the run's": (
        "epochs: 3\nmax_steps: 90\n" + lines("iter {0}/90 loss {1}", *STEPS),
        ("loss", 0.6, 40.0, 90),
    ),
    "a count that begins anew between lines that end epochs": (
        lines("iter 10 loss 2\niter 20 loss 3\nepoch {0} loss {1}", *EPOCHS),
        ("loss", 0.5, 4.0, None),
    ),
    "an evaluation whose samples are counted": (
        lines("iter {0}, loss {1}", *STEPS) + "evaluating (total_iters: 7)\n[EVAL] acc: 0.5\n",
        ("loss", 0.6, 40.0, None),
    ),
    "nested bars": (
        lines(" 10%|# | 1/9 [00:10<1:00]\n 10%|# | {0}/90 [00:10<1:00, loss={1}]", *STEPS),
        ("loss", 0.6, 40.0, None),
    ),
    "a percentage of something that is unpacked": (
        lines("Progress: {0}%\nloss {1}", *STEPS),
        NOTHING,
    ),
    "a configuration ahead": (
        "epoch: 100\nstep: 30\nloss: 2.0\nlr: 0.1\n" + lines("epoch {0} loss {1}", *STEPS),
        ("loss", 0.6, 40.0, None),
    ),
    "train and validation on one line, in brackets": (
        lines("epoch {0} loss (train): 0.1 loss (val): {1}", *STEPS),
        ("loss_val", 0.6, 40.0, None),
    ),
    "train and validation on one line, each behind its word": (
        lines("epoch {0} | train | loss {1} || val | loss 0.1", *STEPS),
        ("loss", 0.6, 40.0, None),
    ),
    "steps that begin again below each epoch": (
        "Epoch 1\n" + TRAINING + "Epoch 2\n" + TRAINING,
        ("loss", 0.6, 2.0, None),
    ),
    "steps that begin again beside an epoch, from the middle of the run on": (
        lines("rank 0, epoch 8, iter {0}, loss {1}", *STEPS)
        + lines("rank 0, epoch 9, iter {0}, loss {1}", *STEPS),
        ("loss", 0.6, 9.0, None),
    ),
    "batches of an epoch whose number comes only with the next one": (
        lines("batch {0} of 32 sentences loss {1}", *STEPS)
        + "Epoch:  13\n"
        + lines("batch {0} with 32 sentences loss {1}", *STEPS),
        ("loss", 0.6, 13.0, None),
    ),
    "a count that is printed once more when the next epoch begins goes on": (
        lines("epoch 1 step {0} loss {1}", (10, 0.9), (20, 0.8))
        + lines("epoch 2 step {0} loss {1}", (20, 0.8), (30, 0.7)),
        ("loss", 0.7, 30.0, None),
    ),
    "one line in each epoch, at its last step": (
        lines("epoch {0}, steps: 225, loss {1}", *enumerate((0.9, 0.8, 0.7, 0.65, 0.6), 1)),
        ("loss", 0.6, 5.0, None),
    ),
    "a total in words": (lines("step {0} of 90 loss {1}", *STEPS), ("loss", 0.6, 40.0, 90)),
    "a request that looks like a step": (
        lines("GET /x?step=3&loss=2 200\nstep {0} loss {1}", *STEPS),
        ("loss", 0.6, 40.0, None),
    ),
    "a tensor": (
        lines("step {0} loss tensor({1}, device='cuda:0')", *STEPS),
        ("loss", 0.6, 40.0, None),
    ),
    "a percentage beside an epoch is a part of that": (
        lines("epoch 3 progress: {0}% loss {1}", *STEPS),
        ("loss", 0.6, 2.4, None),
    ),
    "a count beside epochs that goes on over their end": (
        lines("epoch {0} iter {1}/90 loss {2}", (1, 10, 0.9), (1, 20, 0.8), (2, 30, 0.7))
        + lines("epoch {0} iter {1}/90 loss {2}", (2, 40, 0.6)),
        ("loss", 0.6, 40.0, 90),
    ),
    "a step that is 0 in each epoch": (
        lines("epoch: {0}, step: 0, loss: {1}", *STEPS),
        ("loss", 0.6, 40.0, None),
    ),
    "another length within an epoch is another loop": (
        lines("Epoch: [1] [{0}/90] loss: {1}", *STEPS)
        + lines("Epoch: [1] [{0}/9] loss: {1}", (0, 0.1), (8, 0.2)),
        ("loss", 0.6, 0.4444, None),
    ),
    "the steps of an episode are how long it was": (
        lines("steps: {1}, episode: {0}, reward: {2}", (1, 7, 5), (2, 3, 6), (3, 9, 7)),
        ("reward", 7.0, 3.0, None),
    ),
    "clients of a round: one is followed": (
        lines("round {0} client {1} loss {2}", (1, 3, 0.9), (1, 7, 0.5), (2, 3, 0.8))
        + lines("round {0} client {1} loss {2}", (2, 7, 0.4), (3, 3, 0.7), (3, 7, 0.3)),
        ("loss", 0.7, 3.0, None),
    ),
    "lines of training and of evaluation with the same name": (
        lines(
            "Round {0}\n\\Eval metrics: loss={1}\n\tTrain metrics: loss=0.1",
            (0, 0.9),
            (1, 0.8),
            (2, 0.7),
        ),
        ("val_loss", 0.7, 2.0, None),
    ),
    "lines that begin with what they are of": (
        lines("train epoch {0} loss {1}\n> all testing: loss 0.1", *STEPS),
        ("val_loss", 0.1, 40.0, None),
    ),
    "the mean of an epoch below its steps": (
        lines("Epoch {0} Batch {1} Loss {2}", *((1, step, loss) for step, loss in STEPS))
        + "Epoch 1 Loss 0.75\n",
        ("Loss", 0.6, 40.0, None),
    ),
    "a count of epochs below the parts of the epoch": (
        lines(
            "Epoch: {0}\nEpoch {0}/9 0/90 loss: 0.9\nEpoch {0}/9 45/90 loss: 0.8\n"
            "Final training {0}/8 loss: {1}",
            *EPOCHS,
        ),
        ("loss", 0.8, 3.5, 9),
    ),
    "counts of a program that ran before": (
        lines("iter {0}/7 read", 3, 6, 2, 5) + lines("iter {0}/90 loss {1}", *STEPS),
        ("loss", 0.6, 40.0, 90),
    ),
    "a number of epochs that is converted": (
        lines("6.0 epochs = 7{0} iterations", 9) + TRAINING,
        ("loss", 0.6, 40.0, None),
    ),
    "a number of epochs behind another setting": (
        "dropout=0.1 epochs=20\n" + lines("epoch {0} loss {1}", *EPOCHS),
        ("loss", 0.5, 4.0, 20),
    ),
    "an epoch that is a remark behind the count of the run": (
        lines("{0}/90 (epoch 1.{0}), train_loss = {1}", *STEPS),
        ("train_loss", 0.6, 40.0, 90),
    ),
    "a total of time steps beside episodes": (
        lines("Total T: {0} Episode Num: 3 Episode T: 9 Reward: {1}", *STEPS),
        ("Reward", 0.6, 40.0, None),
    ),
    "a fold of a cross-validation, whose end is not that of the run": (
        lines("fold 2/5 epoch {0}/9 loss {1}", *EPOCHS),
        ("loss", 0.5, 4.0, None),
    ),
    "a count that begins again where its next line would be behind its end": (
        2 * lines("train: {0}/45 loss: {1}", *STEPS),
        ("loss", 0.6, 85.0, None),
    ),
    "a heading with a schedule": (
        lines("Epoch {0} (rate 0.1, schedule=1):\ntrain: 3/8 loss: {1}", *EPOCHS),
        ("loss", 0.5, 3.375, None),
    ),
    "a part of the epoch ahead of the value": (
        lines("epoch {0}/9\n3/8, train_loss: 0.9\n6/8, train_loss: {1}", *EPOCHS),
        ("train_loss", 0.5, 3.75, 9),
    ),
    "what was best before, and when": (
        TRAINING + 2 * "best dev acc: 0.9, F1: 0.8 (epoch: 5)\n",
        ("loss", 0.6, 40.0, None),
    ),
    "a loss ahead of its step, beside another value": (
        lines("training loss at step {0}: {1}, accuracy: 0.3", *STEPS),
        ("training loss", 0.6, 40.0, None),
    ),
    "two lines with a loss inside an epoch": (
        lines("Train Epoch: 0 [{0}/60 (2%)]  Loss: {1}  Accuracy: 61.72%  Best: 0%", *STEPS[:2]),
        ("Loss", 0.8, 0.3333, None),
    ),
    "a count without a name where names follow their numbers": (
        lines("   {0} 93.44 s run, {1} loss, 0.00012 LR, 642.43 GB used", *STEPS),
        ("loss", 0.6, 40, None),
    ),
    "boosting rounds with names right before the values": (
        lines("[{0}]:\ttrain's l2:0.1\tvalid's l2:{1}", *STEPS),
        ("valid's l2", 0.6, 40.0, None),
    ),
    "boosting rounds behind a prefix": (
        lines("10:06:44 ERROR Tracker: INFO [{0}]\ttrain-rmse:0.1\teval-rmse:{1}", *STEPS),
        ("eval-rmse", 0.6, 40.0, None),
    ),
    "a reward and its mean": (
        lines("step {0} episode_reward {1} mean_episode_reward 0.3", *STEPS),
        ("mean_episode_reward", 0.3, 40.0, None),
    ),
    "a validation that never is a number": (
        lines("step {0} train_loss= {1} val_loss= nan", *STEPS),
        ("train_loss", 0.6, 40.0, None),
    ),
    "a loss that never is a number, and an accuracy": (
        lines("step {0} loss nan acc {1}", *STEPS),
        ("loss", None, 40.0, None),
    ),
    "a validation that is a number no more": (
        lines("step {0} train_loss= 0.1 val_loss= {1}", *STEPS, (50, "nan")),
        ("val_loss", None, 50.0, None),
    ),
}


@pytest.mark.parametrize(("text", "want"), PLACED.values(), ids=PLACED)
def test_the_place_of_a_value(text: str, want: tuple[object, ...]) -> None:
    assert reading(text) == want


STRUCTURED = {
    "JSON lines that say they are of validation": (
        lines(
            '{{"epoch": {0}, "split": "train", "loss": 0.1}}\n'
            '{{"epoch": {0}, "split": "val", "loss": {1}}}',
            (1, 0.7),
            (2, 0.6),
            (3, 0.5),
        ),
        ("val_loss", 0.5, 3.0, None),
    ),
    "JSON lines whose epoch is a time": (
        lines('{{"epoch": 17500000{0}, "loss": {1}}}', *STEPS),
        NOTHING,
    ),
    "JSON of a server": (
        lines('{{"time": {0}, "cost": {1}, "path": "/step"}}', *STEPS),
        NOTHING,
    ),
    "a table with a column that says of what data a row is": (
        "epoch,phase,loss\n" + lines("{0},train,0.1\n{0},valid,{1}", (1, 0.9), (2, 0.8), (3, 0.7)),
        ("val_loss", 0.7, 3.0, None),
    ),
    "a table with a column that says what a value is": (
        "step,metric,value\n" + lines("{0},loss,{1}\n{0},accuracy,0.3", *STEPS),
        ("loss", 0.6, 40.0, None),
    ),
    "a table of durations": (
        "epoch,duration,gpu_mem,lr\n" + lines("{0},{1},12,0.1", *STEPS),
        NOTHING,
    ),
    "a table whose headings have several words": (
        "      Iter       Train Loss   Remaining Time\n"
        + lines("        {0}           {1}            1.50m", *STEPS),
        ("Train Loss", 0.6, 40.0, None),
    ),
    "JSON lines with the count and the end in one text": (
        lines('{{"loss": {1}, "global_step/max_steps": "{0}/90"}}', *STEPS),
        ("loss", 0.6, 40.0, 90),
    ),
    "JSON lines with two numbers that are no count": (
        lines('{{"loss": {1}, "step": {0}, "win/lose": "3/9"}}', *STEPS),
        ("loss", 0.6, 40.0, None),
    ),
    "dictionaries below a bar of files that has ended": (
        "100%|##########| 7/7 [00:03<00:00,  2.1it/s]\n"
        + lines("{{'loss': {1}, 'learning_rate': 1e-05, 'epoch': 0.{0}}}", *STEPS),
        ("loss", 0.6, 0.4, None),
    ),
    "dictionaries with the count and the end in one text": (
        lines("{{'loss': {1}, 'epoch': 0.5, 'global_step/max_steps': '{0}/90'}}", *STEPS),
        ("loss", 0.6, 40.0, 90),
    ),
}


@pytest.mark.parametrize(("text", "want"), STRUCTURED.values(), ids=STRUCTURED)
def test_structured_lines(text: str, want: tuple[object, ...]) -> None:
    assert reading(text) == want
