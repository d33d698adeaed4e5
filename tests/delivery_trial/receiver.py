"""The receiver: one port, a path for each profile, its misbehaviour told by the payload."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.delivery_trial.cases import MODES, PROFILES

_WELL = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n"
_BODY = b'{"number": 7}'
_PLAIN = "HTTP/1.1 {}\r\nContent-Length: 0\r\n{}\r\n"
_STATUS = {
    "conflict": _PLAIN.format("409 Conflict", ""),
    "refused": _PLAIN.format("422 Unprocessable", ""),
    "busy": _PLAIN.format("429 Too Many Requests", "Retry-After: 1\r\n"),
    "error": _PLAIN.format("500 Oops", ""),
    "error-stored": _PLAIN.format("500 Oops", ""),
}


@dataclass
class Book:
    """What happened at the receiver."""

    effects: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Per profile and order, whatever ids the commands have."""
    requests: Counter[str] = field(default_factory=Counter)
    """Per command id."""
    taken: dict[str, str] = field(default_factory=dict)
    """Command ids that took effect."""
    probes: int = 0


class Misbehaving:
    """Serves on the loopback, in a thread of its own."""

    def __init__(self, late_s: float) -> None:
        self.book = Book()
        self.url = ""
        self.on_request: Callable[[str], None] = lambda command_id: None
        """Called in the server's thread when a request was read, before it takes effect."""
        self.on_effect: Callable[[str], None] = lambda command_id: None
        """Called when the first request of a command has (or would have) taken effect."""
        self._late_s = late_s
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._open: set[asyncio.Task[None]] = set()

    @contextlib.contextmanager
    def serving(self) -> Iterator[Misbehaving]:
        """While the block runs."""
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        assert self._ready.wait(10), "the receiver did not start"
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(10)

    def _run(self) -> None:
        async def begin() -> None:
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1000)
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            self._ready.set()

        self._loop.run_until_complete(begin())
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self, reader: Reader, writer: Writer) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._one(reader, writer):
                pass
        writer.close()

    async def _one(self, reader: Reader, writer: Writer) -> bool:
        """One request; whether the connection goes on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        names = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(names.get("content-length", "0")))
        if method == "GET":
            return await self._asked(writer, path.rpartition("/")[2])
        profile, order = path.strip("/"), json.loads(body)
        command_id = names["idempotency-key"]
        book = self.book
        book.requests[command_id] += 1
        mode = order["mode"] if book.requests[command_id] == 1 else "ok"
        self.on_request(command_id)
        if MODES[mode].stored and not (PROFILES[profile].honours_keys and command_id in book.taken):
            book.effects[profile, order["n"]] += 1
            book.taken[command_id] = profile
        self.on_effect(command_id)
        return await self._answer(writer, mode)

    async def _asked(self, writer: Writer, command_id: str) -> bool:
        self.book.probes += 1
        status = "200 OK" if command_id in self.book.taken else "404 Not Found"
        writer.write(_PLAIN.format(status, "").encode())
        await writer.drain()
        return True

    async def _answer(self, writer: Writer, mode: str) -> bool:
        if mode in {"dropped", "dropped-stored"}:
            return False
        if mode == "late":
            await asyncio.sleep(self._late_s)
        if mode in _STATUS:
            writer.write(_STATUS[mode].encode())
        elif mode == "half":
            writer.write(_WELL + _BODY[:5])
        elif mode == "drip":
            for byte in _WELL + _BODY:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(self._late_s / 20)
        else:
            writer.write(_WELL + _BODY)
        if mode == "twice":
            writer.write(_WELL + _BODY)
        await writer.drain()
        return mode not in {"half", "drip", "late", "twice"}
