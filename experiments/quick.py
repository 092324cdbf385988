"""Which position encodings hold past the length they were trained on?"""

from gnomon.lab.presets import quick

EXPERIMENTS = quick()
