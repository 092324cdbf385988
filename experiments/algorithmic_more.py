"""Are rows reversed, sorted and counted, patterns gone on with and pairs recalled, past the lengths of training?

Question: as in algorithmic.py, of tasks that ask for other things: to say a row backwards, or in the order of the
alphabet; its most frequent letter; the rest of a pattern that stood in a text before; the value of a key among pairs.

Command:  gnomon compare experiments/algorithmic_more.py --store runs/algorithmic_more
          gnomon compare experiments/algorithmic_more.py --form recall --store runs/algorithmic_more
          gnomon results runs/algorithmic_more --export results/algorithmic_more

Answer:   open: it has not been run yet

Lengths count letters of a row, tokens of the text that holds a pattern, pairs; they are 1.1, 1.25, 1.5, 2 and 2.5 times
the longest of training, rounded. The most frequent of six letters is guessed in 0.17, one of four values in 0.25. A run
that has fewer than nine answers in ten right at the training length has not learned the task, and says nothing of
lengths. Groups of `repeated` and `recall`: `depth 0` (the pattern, or the pair, begins the text) to `depth 1`.

Sizing: 132 runs and 88 trials, each trial a quarter as long: an hour of one core in all, of which loading torch takes a
fifth. The form `recall` has a quarter as many, and takes as long: a row has one answer, so it is learned late; of four
values RoPE had half right after 700 steps of 32 rows. Single runs had learned to sort and to count after 200 steps of
32 rows, to reverse after 600 of 64 (RoPE); of patterns learned positions had half right after 600 of 32.
"""

from algorithmic import TUNING, large, small

from gnomon.lab.experiment import Problem

FORMS = {
    "quick": [
        *small(Problem("reverse"), 700),
        *small(Problem("repeated", {"alphabet": 16, "pattern": 5}), 1000, length=12, batch=32),
        *small(Problem("sort", {"alphabet": 26}), 350, batch=32),
        *small(Problem("count", {"alphabet": 6}), 300, batch=32),
    ],
    "recall": small(Problem("recall", {"keys": 10, "values": 4}), 1900, length=4),
    "standard": [
        *large(Problem("reverse")),
        *large(Problem("repeated"), 32),
        *large(Problem("sort")),
        *large(Problem("count")),
        *large(Problem("recall")),
    ],
}

__all__ = ["FORMS", "TUNING"]
