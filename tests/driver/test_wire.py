"""HTTP/1.1 as receivers really speak it: what is taken for an answer, and which connection is used
again."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import h11
import pytest

from pgbpm.names import Names
from pgbpm.wire import Address, Answer, Connections, ReadError

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Behaviour = Callable[[Reader, Writer, int], Awaitable[None]]


class Peer:
    """A receiver that behaves as told at the n-th request of a connection; and us, who ask it."""

    def __init__(self, behave: Behaviour, keep_s: float) -> None:
        self._behave = behave
        self.connections = 0
        self.closed = asyncio.Event()
        self.ours = Connections(Names(), allow_private=True, keep_s=keep_s)
        self.left = 0
        self.port = 0

    async def serve(self, reader: Reader, writer: Writer) -> None:
        self.connections += 1
        number = 0
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                number += 1
                size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                if size < 1000:
                    await reader.readexactly(size)
                await self._behave(reader, writer, number)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self.closed.set()

    async def ask(self, body: bytes = b"{}", cap: int = 1000) -> Answer:
        def leaves() -> None:
            self.left += 1

        answer = Answer(cap)
        address = Address("http", "127.0.0.1", self.port, b"peer.test", b"/x?y=1")
        head = [(b"Host", b"peer.test"), (b"Content-Length", b"%d" % len(body))]
        async with asyncio.timeout(10):
            await self.ours.exchange("POST", address, head, body, None, leaves, answer)
        return answer


@asynccontextmanager
async def peer(behave: Behaviour, keep_s: float = 5.0) -> AsyncIterator[Peer]:
    made = Peer(behave, keep_s)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        made.ours.close()
        server.close()


def says(*answers: bytes, close: bool = False) -> Behaviour:
    async def behave(reader: Reader, writer: Writer, number: int) -> None:
        writer.write(answers[min(number, len(answers)) - 1])
        await writer.drain()
        if close:
            raise ConnectionError

    return behave


@pytest.mark.parametrize(
    ("said", "body", "whole"),
    [
        (OK, b"ok", True),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nX: y\r\n\r\n" + OK, b"ok", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", b"ok", True),
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", b"to the end", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2000, b"x" * 1000, False),
    ],
)  # fmt: skip
def test_answers(said: bytes, body: bytes, whole: bool) -> None:
    async def main() -> Answer:
        async with peer(says(said, close=True)) as receiver:
            return await receiver.ask()

    answer = asyncio.run(main())
    assert (bytes(answer.body), answer.whole) == (body, whole)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nha",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: tea\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok",
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300_000,
    ],
)  # fmt: skip
def test_what_is_no_answer(said: bytes) -> None:
    async def main() -> Peer:
        async with peer(says(said, close=True)) as receiver:
            with pytest.raises(h11.RemoteProtocolError):
                await receiver.ask()
            return receiver

    assert asyncio.run(main()).left == 1


def test_a_reset_after_the_answer_does_not_undo_it() -> None:
    async def reset(reader: Reader, writer: Writer, number: int) -> None:
        writer.write(OK)
        await writer.drain()
        writer.transport.abort()

    async def broken(reader: Reader, writer: Writer, number: int) -> None:
        writer.transport.abort()

    async def main() -> None:
        async with peer(reset) as receiver:
            assert (await receiver.ask()).whole
        async with peer(broken) as receiver:
            with pytest.raises((ReadError, h11.RemoteProtocolError)):
                await receiver.ask()

    asyncio.run(main())


def test_a_refusal_is_heard_before_all_is_read() -> None:
    """The receiver never reads the body; what it says counts all the same."""
    said = b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    async def main() -> None:
        async with peer(says(said)) as receiver:
            answer = await receiver.ask(b"x" * 20_000_000)
            assert (answer.status, answer.whole) == (413, True)
            assert (await receiver.ask(b"x" * 20_000_000)).status == 413
            assert receiver.connections == 2

    asyncio.run(main())


def test_a_flood_is_not_read_ahead() -> None:
    flood = b"HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n" + b"x" * 50_000_000

    async def main() -> None:
        async with peer(says(flood)) as receiver:
            answer = await receiver.ask(cap=3_000_000)
            assert (len(answer.body), answer.whole) == (3_000_000, False)

    asyncio.run(main())


def test_connections_are_used_again_as_long_as_that_is_safe() -> None:
    async def main() -> None:
        async with peer(says(OK)) as receiver:  # one after the other: one connection
            for _ in range(3):
                await receiver.ask()
            assert receiver.connections == 1
            await asyncio.gather(*(receiver.ask() for _ in range(3)))
            assert receiver.connections == 3
        async with peer(says(OK), keep_s=0.0) as receiver:  # never
            for _ in range(3):
                await receiver.ask()
            assert receiver.connections == 3
        closing = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        async with peer(says(closing)) as receiver:  # the receiver will not
            for _ in range(2):
                await receiver.ask()
            assert receiver.connections == 2
        async with peer(says(OK, close=True)) as receiver:  # it has hung up meanwhile
            for number in range(3):
                assert (await receiver.ask()).whole
                await asyncio.wait_for(receiver.closed.wait(), 10)
                receiver.closed.clear()
                assert receiver.connections == number + 1
            assert receiver.left == 3
        async with peer(says(OK + OK)) as receiver:  # it says more than it was asked
            for _ in range(2):
                await receiver.ask()
            assert receiver.connections == 2

    asyncio.run(main())


def test_one_that_was_given_up_is_not_used_again() -> None:
    async def late(reader: Reader, writer: Writer, number: int) -> None:
        if asked.is_set():
            writer.write(OK)
        asked.set()

    asked = asyncio.Event()

    async def main() -> None:
        async with peer(late) as receiver:
            asking = asyncio.ensure_future(receiver.ask())
            await asyncio.wait_for(asked.wait(), 10)
            asking.cancel()
            await asyncio.wait([asking])
            assert (await receiver.ask()).whole
            assert receiver.connections == 2

    asyncio.run(main())
