"""A receiver that says yes: ``python -m benchmarks.sink`` prints its port and serves until killed.

As little work as a receiver can do, so that what is measured is the sender: reads heads and bodies,
keeps connections open, answers each request with the same few bytes.
"""

from __future__ import annotations

import asyncio

_ANSWER = (
    b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{"number": 7}'
)


class Sink(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._got = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._got += data
        while (end := self._got.find(b"\r\n\r\n")) >= 0:
            head = self._got[:end].lower()
            _, _, rest = head.partition(b"content-length: ")
            size = end + 4 + int(rest.partition(b"\r\n")[0] or b"0")
            if len(self._got) < size:
                return
            self._got = self._got[size:]
            self._transport.write(_ANSWER)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Sink, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
