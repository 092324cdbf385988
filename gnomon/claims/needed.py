"""Which experiments the numbers of a claim are found from, and which of them have no results here."""

from gnomon.claims import experiments
from gnomon.claims.claim import Claim
from gnomon.errors import DataError

READS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("C05", "C07", "C09", "C11", "C12", "C13", "C17", "C18", "C26", "C30", "C31", "C32"), ("text",)),
    **dict.fromkeys(("C06", "C35"), ("text", "algorithmic", "algorithmic_more")),
    "C16": ("addition", "algorithmic", "algorithmic_more"),
    "C19": ("images",),
    "C20": ("time",),
    "C21": ("entanglement",),
    "C22": ("masked", "entanglement"),
    "C23": ("dilution",),
    "C24": ("shortcut",),
    "C25": ("distance",),
    "C27": ("addition",),
    "C28": ("needle", "dilution"),
    "C33": ("efficiency",),
}
"""By claim: the experiments that its evidence cannot do without. Claims that are not named need none."""


def missing(claim: Claim) -> tuple[str, ...]:
    """Those of its experiments that have no results in this folder."""
    names = READS.get(claim.id, ())
    return tuple(name for name in names if not experiments.there(name))


def check(claim: Claim) -> None:
    """DataError for a claim whose experiments have no results here, before anything of it is computed."""
    lacking = missing(claim)
    if lacking:
        raise DataError(
            f"{claim.id} cannot be recorded before there are results",
            given=f"{', '.join((experiments.FOLDER / name).as_posix() for name in lacking)}: not in this folder",
            do=f"in a checkout of gnomon: {', then '.join(experiments.commands(*lacking))}",
        )
