"""`import cais`, and what `import torch` runs."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from types import ModuleType

from cais_tools.training import api
from tests.functional.runner import ROOT

FILE = ROOT / "cais_tools/training/package/cais.py"


def load() -> ModuleType:
    """The module `cais` as the wheel has it at its top."""
    spec = importlib.util.spec_from_file_location("cais", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_has_the_whole_api() -> None:
    cais = load()
    assert set(cais.__all__) > set(api.__all__)
    assert all(getattr(cais, name) is getattr(api, name) for name in api.__all__)
    assert cais.__all__ == sorted(cais.__all__, key=lambda each: (not each.isupper(), not each[:1].isupper(), each))


def test_the_wheel_puts_it_at_the_top() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    folder = FILE.parent.relative_to(ROOT)
    assert wheel["force-include"][f"{folder}/cais.py"] == "cais.py"
    assert wheel["force-include"][f"{folder}/_cais_autoload.py"] == "_cais_autoload.py"
    assert project["project"]["entry-points"]["torch.backends"] == {"cais": "_cais_autoload:register"}


def test_the_entry_point_loads_nothing_heavy_and_survives_everything() -> None:
    code = (
        "import sys, types\n"
        "from cais_tools.training.autoload import register\n"
        "assert not {'numpy', 'grpc', 'scapy', 'torch'} & set(sys.modules), sorted(sys.modules)\n"
        "sys.modules['torch'] = types.ModuleType('torch')\n"  # a torch without torch.distributed
        "register()\n"
        "broken = types.ModuleType('torch.distributed')\n"
        "sys.modules['torch.distributed'] = sys.modules['torch'].distributed = broken\n"
        "register()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_entry_point_goes_on_without_the_package() -> None:
    code = f"import sys; sys.path[:] = [{str(FILE.parent)!r}, *sys.path[1:]]; sys.modules['cais_tools'] = None\n"
    code += "import _cais_autoload; _cais_autoload.register()"
    subprocess.run([sys.executable, "-c", code], check=True, cwd="/")
