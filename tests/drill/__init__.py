"""Kills a sweep of toy runs again and again at random moments, and counts what was lost: `python -m tests.drill`."""
