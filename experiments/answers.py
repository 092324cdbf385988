"""Which encodings can do past their training length what they have learned within it?

Question: copying, reversing, sorting, finding the majority, recalling and adding, each learned on contents of up to 20
symbols (addition: 6 digits, written from the least significant): are answers to longer questions still right?

Command:  gnomon compare answers
          180 runs of two to five minutes each on one core; an interrupted comparison goes on where it stopped

Answer:   open: it has not been run as a whole

An encoding that has fewer than nine answers in ten right at the training length has not learned the task, and says
nothing of lengths: it is shown as such, with all its seeds, and is not ranked.
"""

from gnomon.lab.presets import answers

EXPERIMENTS = answers()
