"""Do the findings of `quick` hold for a larger model, trained longer, with other seeds?

Question: as in quick.py, with twice the width, four layers, five times the training text, four times the test text,
and three seeds of each encoding.

Command:  gnomon compare standard
          18 runs, about five hours on two cores; an interrupted comparison goes on where it stopped

Answer:   not measured yet
"""

from gnomon.lab.presets import standard

EXPERIMENTS = standard()
