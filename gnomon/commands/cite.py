"""`gnomon cite`: BibTeX of what was used."""

from dataclasses import dataclass

from gnomon.commands.output import Json, Names, print_json
from gnomon.commands.stdout import say

GNOMON = """@software{gnomon,
  title = {gnomon: position encodings for Transformers, exact and measured past the training length},
  author = {{gnomon contributors}},
  year = {2026}
}"""


@dataclass(frozen=True)
class Cite:
    """BibTeX of the encodings' papers, and of gnomon.

    Without names: every entry. `gnomon` is a name too.

    Examples:
      gnomon cite rope
      gnomon cite alibi t5 gnomon > used.bib
    """

    names: Names = ()
    """Encodings, FILE.py:CLASS, or `gnomon`."""
    json: Json = False

    def run(self) -> int:
        from gnomon.encodings import ENCODINGS, named
        from gnomon.errors import unknown
        from gnomon.user_code import is_class

        entries = {name: encoding.bibtex.strip() for name, encoding in ENCODINGS.items()} | {"gnomon": GNOMON}
        entries |= {name: named(name).bibtex.strip() for name in self.names if is_class(name)}
        for name in self.names:
            if name not in entries:
                raise unknown("encoding", name, entries)
        chosen = {name: entries[name] for name in dict.fromkeys(self.names or entries)}
        if self.json:
            print_json(chosen)
        else:
            say("\n\n".join(text or f"% {name}: nothing to cite" for name, text in chosen.items()))
        return 0
