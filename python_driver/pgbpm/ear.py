"""The connection that hears of new tasks, and claims them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import psycopg
from psycopg import pq

from pgbpm.db import AsyncConnection

Answer = list[bytes | None]


class Ear:
    """A session that listens, and has one statement at hand for what it hears of.

    When a notification has come, this session is awake; any other would have to be woken first. And
    the statement can be sent from within ``heard(payload, pid)``, which is called for each
    notification (``pid``: the server process it came from), before anything else is done about it:
    the server works while we find out who waits for the answer. So this speaks to libpq itself.
    """

    def __init__(self, connection: AsyncConnection, heard: Callable[[str, int], None]) -> None:
        self._connection = connection
        self._pgconn = connection.pgconn
        self.encoding = connection.info.encoding
        self._heard = heard
        self._loop = asyncio.get_running_loop()
        self._name = b""
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._answer: asyncio.Future[Answer | None] | None = None
        self._result: pq.abc.PGresult | None = None

    async def listen(self, channel: str, statement: str) -> None:
        """Begin to listen; ``statement`` is a named one: ``ask (int) as select $1``."""
        self._connection.add_notify_handler(lambda notice: self._heard(notice.payload, notice.pid))
        await self._connection.execute(f"prepare {statement}")
        await self._connection.execute(f"listen {channel}")
        self._name = statement.split(maxsplit=1)[0].encode()
        self._loop.add_reader(self._connection.fileno(), self._readable)
        self._readable()  # what came behind the last answer

    async def until_lost(self) -> None:
        """Wait until the connection is lost, which raises ``psycopg.OperationalError``."""
        try:
            await self._lost
        finally:
            self._let_go(psycopg.OperationalError("the connection was closed"))

    @property
    def free(self) -> bool:
        """Whether :meth:`ask` may be called."""
        return self._answer is None and not self._lost.done()

    def ask(self, parameters: Sequence[str | None]) -> asyncio.Future[Answer | None]:
        """Send the statement; only while :attr:`free`.

        The answer is its row, as text, or None: refused, and another connection may say why. It is
        a ``psycopg.OperationalError`` when the connection is lost.
        """
        answer: asyncio.Future[Answer | None] = self._loop.create_future()
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        values = [None if p is None else p.encode(self.encoding) for p in parameters]
        self._answer, self._result = answer, None
        try:
            self._pgconn.send_query_prepared(self._name, values)
            self._flush()
        except psycopg.Error as error:
            self._let_go(error)
        return answer

    def give_up(self) -> None:
        """Do not wait for an answer any more: the connection is dead."""
        self._let_go(psycopg.OperationalError("no answer in time"))

    # -- the socket ------------------------------------------------------------------------------

    def _flush(self) -> None:
        if self._pgconn.flush():  # the rest when there is room
            self._loop.add_writer(self._connection.fileno(), self._writable)

    def _writable(self) -> None:
        self._loop.remove_writer(self._connection.fileno())
        try:
            self._flush()
        except psycopg.Error as error:
            self._let_go(error)

    def _readable(self) -> None:
        try:
            self._pgconn.consume_input()
            while self._answer is not None and not self._pgconn.is_busy():
                result = self._pgconn.get_result()
                if result is not None:
                    self._result = result
                    continue
                answer, self._answer = self._answer, None
                if not answer.done():
                    answer.set_result(_row(self._result))
            while notice := self._pgconn.notifies():  # last: reading answers finds some, too
                self._heard(notice.extra.decode(self.encoding, "replace"), notice.be_pid)
        except psycopg.Error as error:
            self._let_go(error)

    def _let_go(self, error: psycopg.Error) -> None:
        """The connection cannot be used any more."""
        if not self._connection.closed:
            self._loop.remove_reader(self._connection.fileno())
            self._loop.remove_writer(self._connection.fileno())
            self._pgconn.finish()  # the driver would first roll back what may be under way
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        if not self._lost.done():
            self._lost.set_exception(error)


def _row(result: pq.abc.PGresult | None) -> Answer | None:
    if result is None or result.status != pq.ExecStatus.TUPLES_OK or result.ntuples != 1:
        return None
    return [result.get_value(0, column) for column in range(result.nfields)]
