"""Bad input, made up by hypothesis: `python -m tests.fuzz --minutes 60`; and in the tests, a few of each kind."""
