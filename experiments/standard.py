"""Standard."""

from gnomon.lab.presets import standard

EXPERIMENTS = standard()
