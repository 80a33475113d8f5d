"""Runs one step of a longer job: says what it does and for how long, and what it wrote only if it fails.

The first argument says what, the others are the command.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time

_TICK_SECONDS = 1.0


def main() -> int:
    """Return the exit status of the command."""
    what, *command = sys.argv[1:]
    begun, is_terminal = time.monotonic(), sys.stdout.isatty()
    if not is_terminal:
        sys.stdout.write(f"{what} …\n")
        sys.stdout.flush()
    with tempfile.TemporaryFile() as written:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=written, stderr=subprocess.STDOUT)  # noqa: S603 - the Makefile's own
        try:
            while True:
                if is_terminal:
                    sys.stdout.write(f"\r{what} … {time.monotonic() - begun:.0f} s\x1b[K")
                    sys.stdout.flush()
                try:
                    status = process.wait(_TICK_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    continue
        except KeyboardInterrupt:
            # The terminal sent it to the command, too.
            process.wait()
            sys.stdout.write("\n")
            return 130
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = f"{time.monotonic() - begun:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processor time"
        start, end = ("\r", "\x1b[K\n") if is_terminal else ("", "\n")
        sys.stdout.write(f"{start}{what}: {took}{end}")
        if status:
            written.seek(0)
            sys.stdout.write(written.read().decode(errors="replace"))
            sys.stdout.write(f"{what} failed, status {status}: {' '.join(command)}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
