"""Kills a sweep of toy runs again and again at random moments, and counts what was lost: `python -m tests.drill`.

The sweeps are those of `gnomon compare`, plain and tuned, alone and two at once on one store, with --retry and without;
the workers are processes of this machine. A launch and a Ray cluster have tests of their own.
lost: a run that was finished, or without --retry failed, and is gone, or found something else than undisturbed.
twice: one that was made again. half-written: whatever a reader met that was not whole. begun anew: a run that did not
go on from its last checkpoint, by the steps that were trained.
"""
