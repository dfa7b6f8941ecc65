"""A zlimit-server for each test, whose clock the test moves."""

import os
import subprocess

import pytest
import redis


class Server:
    def __init__(self, folder):
        port_file = folder / "port"
        self.process = subprocess.Popen(
            [os.environ["ZLIMIT_SERVER"], "--port", "0", "--port-file", port_file, "--enable-debug-command", "yes"],
            stdout=subprocess.PIPE,
            text=True,
        )
        # The first line comes when it listens: there is nothing to poll for.
        self.process.stdout.readline()
        self.client = redis.Redis(port=int(port_file.read_text()), decode_responses=True)
        self.client.execute_command("DEBUG", "CLOCK", "FREEZE")

    def advance(self, milliseconds):
        """Move the clock; when this returns, what is due has expired."""
        self.client.execute_command("DEBUG", "CLOCK", "ADVANCE", milliseconds)

    def stop(self):
        self.client.close()
        self.process.terminate()
        self.process.communicate()


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    yield server
    server.stop()
