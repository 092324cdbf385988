"""The shape of the project: imports point down only, `import gnomon` is light, the README's tree is the real one."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.tree import TREE, sentence, tree

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "gnomon"

LAYERS = (
    {"errors"},
    {"typed", "user_imports", "model_types"},
    {"checked", "precision", "room", "traced", "user_code"},
    {"ring", "skew"},
    {"products"},
    {"positions"},
    {"pairs", "once", "lasting"},
    {"rows"},
    {"masks", "content", "per_head"},
    {"encoding"},
    {"encodings", "backends", "past"},
    {"kv_cache", "memory", "plan"},
    {"attention", "convert"},
    {"transformer"},
    {"laws"},
    {"section", "toeplitz"},
    {"lab", "analysis"},
    {"claims"},
    {"report"},
    {"commands", "cli", "__main__"},
)
"""Bottom to top: a unit (a file or folder of gnomon/) imports units of lower layers only."""

SHARED = {
    "frequencies",
    "buckets",
    "diagonals",
    "key_rows",
    "distance",
    "resize",
    "rope_scaling",
    "rope_definition",
    "rotation",
    "digit_reader",
    "digit_lessons",
}
"""What one encoding may import from the folder of encodings."""

CORE = {"torch", "jaxtyping", "numpy"}
"""The packages that laws, and everything below them, may import."""

HEAVY = (
    *("accelerate", "altair", "duckdb", "jinja2", "numpy.f2py", "pandas", "pyarrow", "ray", "rich", "scipy"),
    "transformers",
)

RANK = {unit: rank for rank, layer in enumerate(LAYERS) for unit in layer}
CLI = len(LAYERS) - 1

MODULES = sorted(PACKAGE.rglob("*.py"))


def unit_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The dotted names that a file imports anywhere in it, `from a import b` as `a.b`."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides which layer it points to"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def units_imported(path: Path) -> set[str]:
    parts = [name.split(".") for name in imported(path)]
    return {name[1] for name in parts if name[0] == "gnomon" and len(name) > 1} - {"__version__"}


def named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


inner = [path for path in MODULES if path != PACKAGE / "__init__.py"]


@pytest.mark.parametrize("path", inner, ids=named)
def test_imports_point_down(path: Path):
    unit = unit_of(path)
    assert unit in RANK, f"gnomon/{unit} has no layer: give it one in LAYERS"
    for other in units_imported(path) - {unit}:
        assert other in RANK, f"{named(path)} imports gnomon.{other}, which has no layer"
        down = RANK[other] < RANK[unit] or RANK[unit] == CLI
        assert down, f"{named(path)} ({unit}) imports gnomon.{other}, which is not below it"


@pytest.mark.parametrize("path", sorted((PACKAGE / "encodings").glob("*.py")), ids=named)
def test_encodings_do_not_import_each_other(path: Path):
    others = {name.split(".")[2] for name in imported(path) if name.startswith("gnomon.encodings.")}
    if path.name != "__init__.py":
        assert others <= SHARED


@pytest.mark.parametrize("path", [path for path in inner if RANK.get(unit_of(path), CLI) <= RANK["laws"]], ids=named)
def test_the_core_imports_torch_and_nothing_heavy(path: Path):
    assert third_party(path) <= CORE


def third_party(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)} - set(sys.stdlib_module_names) - {"gnomon"}


def test_what_is_imported_is_what_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.match(r"[\w-]+", requirement)[0] for requirement in project["dependencies"]}
    distributions = {"vl_convert": "vl-convert-python", "flint": "python-flint"}
    packages = {distributions.get(name, name) for path in MODULES for name in third_party(path)}
    assert packages - {"ray"} == declared, "ray is an extra"


def modules_after(code: str) -> set[str]:
    printed = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(printed.stdout.split())


def test_import_gnomon_loads_nothing_heavy():
    loaded = modules_after("import gnomon, gnomon.encodings, gnomon.transformer") - modules_after("import torch")
    assert "gnomon.transformer" in loaded
    assert not {name for name in loaded if name.startswith(HEAVY)}


def test_errors_do_not_load_torch():
    assert "torch" not in modules_after("import gnomon.errors")


def tracked() -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_path_of_one_machine_is_in_the_files():
    machine = re.compile(rb"(?<![\w.])/(?:root|home|work|tmp|Users|mnt)/")
    found = [str(path.relative_to(ROOT)) for path in tracked() if machine.search(path.read_bytes())]
    assert not found


def tree_of(text: str) -> dict[str, str]:
    """The files of the code block that begins with `gnomon/`: path -> sentence. Two spaces of indent a level."""
    block = re.search(r"^```\w*\n(gnomon/.*?)^```", text, re.MULTILINE | re.DOTALL)
    if block is None:
        return {}
    entries, above = {}, []
    for line in block[1].splitlines():
        name, _, sentence = line.strip().partition(" ")
        depth = (len(line) - len(line.lstrip())) // 2
        above = [*above[:depth], name]
        if name:
            entries["".join(above)] = sentence.strip()
    return entries


def test_the_tree_in_the_readme_is_the_real_one():
    """Every folder of the package has its sentence, and nothing that is gone has one; docs/tree.md has every file."""
    told = tree_of((ROOT / "README.md").read_text(encoding="utf-8"))
    folders = [path.name for path in PACKAGE.iterdir() if path.is_dir() and not path.name.startswith("__")]
    missing = [name for name in sorted(folders) if not told.get(f"gnomon/{name}/")]
    assert not missing, f"without a sentence in README.md's tree: {missing}"
    gone = [name for name in told if not (ROOT / name).exists()]
    assert not gone, f"in README.md's tree, but not in the project: {gone}"


def test_the_tree_of_every_file_is_the_real_one():
    assert TREE.read_text(encoding="utf-8") == tree(), "run `python -m tests.tree`"


def test_every_module_says_what_it_is():
    silent = [named(path) for path in MODULES if not sentence(path)]
    assert not silent


def test_the_readme_runs():
    """The library example of the README, as it is printed."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert blocks
    for block in blocks:
        subprocess.run([sys.executable, "-c", block], check=True, cwd=ROOT)
