"""Tables with a line of dashes below their headings."""

import pytest

from shared.parsing.aligned import Aligned
from tests.unit.parsing.reading import read, values

BORDER = "+---------+--------+----------+"
HEADING = "| Trial   |   iter |   reward |"
RULE = "|---------+--------+----------|"


def trial(name: str, step: int, reward: float) -> str:
    return f"| {name:7} | {step:6} | {reward:8.2f} |"


def lines(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


def test_a_cell_belongs_to_the_heading_above_it_so_cells_may_be_missing() -> None:
    text = lines(
        "Step (% Done)       Train Iter (time)    Test PSNR",
        "--------------------------------------------------",
        "100 (1.00%)         22.698 ms",
        "200 (2.00%)         21.001 ms            16.5348",
    )
    assert values(read(Aligned(), text), "Test PSNR") == [("Test PSNR", 16.5348, 200.0)]


def test_the_rows_of_one_trial_are_read() -> None:
    table = [BORDER, HEADING, RULE, trial("a", 3, 62.5), BORDER]
    assert values(read(Aligned(), lines(*table)), "reward") == [("reward", 62.5, 3.0)]


def test_rows_that_name_several_trials_are_not_mixed_without_bars_either() -> None:
    heading = ["Trial name  status  iter  reward", "----------  ------  ----  ------"]
    first, second = ["a_1         RUN        3    62.5"], ["a_2         RUN        3     9.0"]
    assert values(read(Aligned(), lines(*heading, *first, *heading, *first)), "reward") == [
        ("reward", 62.5, 3.0),
        ("reward", 62.5, 3.0),
    ]
    assert read(Aligned(), lines(*heading, *second, *first, *heading, *second))[1:] == []


def test_the_rows_of_several_trials_are_not_mixed() -> None:
    table = [BORDER, HEADING, RULE, trial("a", 3, 62.5), trial("b", 3, 9.0), BORDER]
    assert read(Aligned(), lines(*table)) == []


OTHERS = {
    "no counter": (" id | name  | total", "----+-------+-------", "  1 | one   |   2.5"),
    "a list of packages": ("Package    Version", "---------- -------", "numpy      2.1"),
    "two columns": ("epoch  loss", "-----  ----", "    1   0.5"),
    "a rule below prose": ("the first step is here", "----------------------", "2 and 3 more"),
    "no rule": ("E    #       LOSS    SCORE", "  0     200   82.03    0.17"),
}


@pytest.mark.parametrize("rows", OTHERS.values(), ids=OTHERS)
def test_other_tables_are_not_read(rows: tuple[str, ...]) -> None:
    assert read(Aligned(), lines(*rows)) == []


def test_a_line_that_is_no_row_ends_the_table() -> None:
    table = ["epoch  loss   acc", "-----  -----  -----", "    1  0.500  0.900"]
    after = ["training took 5 minutes and 3 seconds", "    2  0.400  0.910"]
    assert values(read(Aligned(), lines(*table, *after)), "loss") == [("loss", 0.5, 1.0)]
