"""One conversation with a student's process: start it, run cells, call functions, end it."""

import math
import os
import secrets
import time

from coursework import wire

START = 30  # seconds until a process is ready, on a busy machine
GRACE = 2.0  # seconds
PATIENCE = 2  # so much longer than its processor time may a cell or a call take by the clock


class SessionError(Exception):
    """The process died, hung or talked nonsense; the text says which, for the student."""


class Session:
    """A student's process in a box: `open` waits for it, `close` ends it; or use ``with``.

    Parameters
    ----------
    box : Bubblewrap, SeparateUser or Unprotected
    deadline : float
        Time of ``time.monotonic()`` at which all patience ends.
    """

    def __init__(self, box, deadline):
        self.box, self.deadline = box, deadline
        theirs_read, self.write = os.pipe()
        self.read, theirs_write = os.pipe()
        os.set_blocking(self.write, False)
        try:
            self.process = box.start(theirs_read, theirs_write)
        finally:
            os.close(theirs_read)
            os.close(theirs_write)
        self.ended = False

    def open(self):
        """Wait until the process is ready, whatever the deadline: no student's code runs yet."""
        try:
            wire.receive(self.read, time.monotonic() + START, wire.HEAD)
        except (wire.WireError, OSError) as error:
            self.close()
            raise SessionError(str(error)) from None

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End the process for certain."""
        if not self.ended:
            self.ended = True
            self.box.stop(self.process)
            os.close(self.read)
            os.close(self.write)

    def ask(self, message, seconds, serve=None, most=math.inf):
        """Send a message, answer what the process needs from the reference, return its reply.

        Only what carries this message's number is a reply: whatever else the process sent before
        is thrown away, so it can disturb nothing that comes later. It has `seconds` of processor
        time, and at `most` so many by the clock.
        """
        number = secrets.token_hex(8)
        self._send(message | {"seconds": seconds, "id": number})
        end = time.monotonic() + min(PATIENCE * seconds + GRACE, most)
        while True:
            reply = self._receive(end - time.monotonic())
            if not isinstance(reply.get("id"), str) or reply["id"] != number:
                continue
            if "error" in reply:
                return _plain_error(reply)
            if "need" not in reply:
                return reply
            self._send(serve(reply) if serve else {"error": "Refused", "text": "not given here"})

    def _receive(self, seconds):
        try:
            until = min(time.monotonic() + seconds, self.deadline)
            return wire.receive(self.read, until, wire.HEAD)
        except (wire.WireError, OSError) as error:
            raise SessionError(str(error)) from None

    def _send(self, message):
        """Write without ever waiting for long: a process that does not read is ended."""
        try:
            left = memoryview(wire.dumps(message))
        except wire.WireError:
            raise SessionError("asked for more than can be sent") from None
        end = min(time.monotonic() + GRACE, self.deadline)
        while left:
            try:
                left = left[os.write(self.write, left) :]
            except BlockingIOError:
                if time.monotonic() > end:
                    raise SessionError("did not read what it was sent and was stopped") from None
                time.sleep(0.001)
            except OSError:
                raise SessionError("ended its own process") from None


def _plain_error(reply):
    """An error as a student's process tells it, with the types that an error has."""
    line, error, text = reply.get("line"), reply["error"], reply.get("text")
    return {
        "error": error[:60] if isinstance(error, str) else "Exception",
        "text": text[:300] if isinstance(text, str) else "",
        "line": line if type(line) is int and 0 < line < 10_000 else None,
    }
