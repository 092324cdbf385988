"""Readers of data that packages carry, and of files of the user's own in the same forms. No torch here."""
