"""The type checker that tests put behind every annotation of the core: shapes, and float where an int will do."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
