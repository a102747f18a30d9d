"""moto's S3 server as a program: prints its port, and lives as long as its standard input does."""

from __future__ import annotations

import logging
import os
import sys


def main() -> None:
    """Without what the user has set for another store."""
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    for name in [*os.environ]:
        if name.startswith(("AWS_", "MOTO_")):
            del os.environ[name]
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
