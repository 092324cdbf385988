"""What every test shares: one thread of torch a worker, and hypothesis without deadlines."""

import os

import hypothesis
import torch

torch.set_num_threads(1)

hypothesis.settings.register_profile("gnomon", deadline=None, print_blob=True)
hypothesis.settings.register_profile("ci", parent=hypothesis.settings.get_profile("gnomon"), derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "gnomon")
