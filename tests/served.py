"""A server in a process of its own, as a person starts it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys


class Server:
    """A server in a process of its own."""

    def __init__(self, *arguments, port=0, environment=None, largest_file=None):
        command = [sys.executable, "-m", "hi2.cli", "serve", *map(str, arguments), "--port", str(port)]
        if largest_file is not None:  # in blocks of 1,024 bytes
            command = ["bash", "-c", f'ulimit -f {largest_file // 1024}; exec "$@"', "-", *command]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
        )
        self.said = []
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"hi2 serves (http://\S+)/", line):
                self.url = found[1]
                self.port = int(self.url.rsplit(":", 1)[1])
                return
        raise AssertionError("".join(self.said))

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if not self.process.stderr.closed:
            self.process.stderr.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=60)[1]
