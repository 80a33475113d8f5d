"""Java, which Spark runs on: is it there?"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from graphtide_core.errors import FatalError


def refuse_without_java() -> None:
    """Do nothing if Java is found as Spark looks for it.

    Raises:
        FatalError: it is not.
    """
    home = os.environ.get("JAVA_HOME")
    if shutil.which(str(Path(home, "bin", "java")) if home else "java") is None:
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "it is not on PATH, and JAVA_HOME is not set"
        message = f"Spark needs Java 17 or newer, and {where}"
        raise FatalError(message)
