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
# Laws that call the same functions many times over, and variants under a second mask, meet no other signature.
names = [name for name in laws.LAWS if name not in ("flex", "precision", "half", "training")]
cases = [case for case in laws.cases() if case.causal or "(" not in case.label]
rows = [laws.judge(laws.LAWS[name], case) for case in cases for name in names]
assert rows and not [row for row in rows if row.verdict == "BROKEN"]

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
