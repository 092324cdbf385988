"""The shapes in the signatures are true: the laws run with every annotation of the core checked at each call."""

import subprocess
import sys

SCRIPT = """
import tests.typecheck
from jaxtyping import install_import_hook
with install_import_hook("gnomon", "tests.typecheck.checked"):
    import gnomon.laws as laws
import torch
torch.set_num_threads(1)
# torch traces the functions that flex is given, and cannot trace the checker in them.
every = [name for name in laws.LAWS if name != "flex"]
# These call every hook: for all tokens and for some, in rows, documents and caches, in 16 bits and in training.
hooks = ["lowering", "cached", "evicted", "padded", "state", "training"]
# All laws on each encoding as it is, under one mask: what another mask calls has the same signatures.
whole = {case.label: case for case in laws.cases() if "(" not in case.label}.values()
some = [case for case in laws.cases() if case not in whole]
named = [(case, name) for group, names in ((whole, every), (some, hooks)) for case in group for name in names]
rows = [laws.judge(laws.LAWS[name], case) for case, name in named]
assert {row.encoding for row in rows} == {case.label for case in laws.cases()}
assert not [row for row in rows if row.verdict == "BROKEN"]

from gnomon.attention import attend
from gnomon.encodings.rope import Rope
q = torch.randn(1, 2, 5, 8)
try:
    attend(q, q[..., 0], q, Rope(8))
except Exception as error:
    assert type(error).__name__ == "TypeCheckError", error
else:
    raise AssertionError("a wrong shape went through: the checker is not there")
"""


def test_annotations(pytestconfig):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT], cwd=pytestconfig.rootpath, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
