"""Do the findings of `quick` hold for a larger model, trained longer, with other seeds?

Question: as in quick.py, with twice the width, four layers, five times the training text, four times the test text,
and three seeds of each encoding.

Command:  gnomon compare standard
          30 runs; an interrupted comparison goes on where it stopped

Answer:   open: it has not been run as a whole
"""

from gnomon.lab.presets import standard

EXPERIMENTS = standard()
