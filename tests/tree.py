"""The tree of the package, a sentence a file, from the docstrings: `python -m tests.tree` writes docs/tree.md."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "docs" / "tree.md"


def sentence(path: Path) -> str:
    """The first paragraph of a module's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def tree() -> str:
    """The page: every module of the package and the benchmarks with its sentence; a folder's is its __init__.py's."""
    head = "# Every file of the package\n\nWritten by `python -m tests.tree`; a test keeps it true.\n\n"
    return head + _folder(ROOT / "gnomon", 0) + _folder(ROOT / "benchmarks", 0)


def _folder(folder: Path, depth: int) -> str:
    lines = [f"{'  ' * depth}- `{folder.name}/` {sentence(folder / '__init__.py')}\n"]
    for path in sorted(folder.iterdir(), key=lambda path: (path.is_dir(), path.name)):
        if (path / "__init__.py").is_file():
            lines.append(_folder(path, depth + 1))
        elif path.suffix == ".py" and path.name != "__init__.py":
            lines.append(f"{'  ' * (depth + 1)}- `{path.name}` {sentence(path)}\n")
    return "".join(lines)


if __name__ == "__main__":
    TREE.write_text(tree(), encoding="utf-8")
