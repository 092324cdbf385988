"""`python -m tests.drill`: kills a sweep two hundred times and says what was lost by it; exit code 1 for anything."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.drill.rounds import Drill


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.drill", description=__doc__)
    options.add_argument("--kills", type=int, default=200, help="how many (default: 200, ten minutes on two cores)")
    options.add_argument("--seed", type=int, default=0, help="of the moments and the kinds of kills")
    options.add_argument("--real", type=float, default=0.2, help="share of commands that are new Pythons, not forked")
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gnomon-drill-"))
    drill = Drill(folder, given.kills, given.seed, real=given.real)
    tally = drill.run(lambda line: print(line, flush=True))
    print(f"{drill.commands} commands, {drill.new} of them new Pythons; kills:")
    for strike, count in sorted(tally.by.items(), key=lambda item: (item[0].moment, item[0].how)):
        print(f"  {count:4} {strike.how}, {strike.moment}")
    for fault in tally.found():
        print(fault)
    print(tally)
    if tally.found():
        print(f"what it was found in is kept: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
