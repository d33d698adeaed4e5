"""Names of receivers: one dead server must not keep others' from being found."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.driver.test_delivery import LOOPBACK, answering, command, receiver

from pgbpm.delivery import Deliverer, Report
from pgbpm.names import Names

PATIENCE = 10.0


class Resolver:
    """Answers at once, but names that begin with ``dead`` when the test ends."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.released = threading.Event()
        self.stuck = 0

    def __call__(self, host: str, port: int, **options: Any) -> list[Any]:
        self.asked[host] += 1
        if host.startswith("dead"):
            self.stuck += 1
            self.released.wait()
        if host.startswith("missing"):
            raise socket.gaierror(-2, "Name or service not known")
        if host.startswith("odd"):
            raise UnicodeError("label too long")
        address = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))
        return [address, address]


@pytest.fixture
def resolver() -> Iterator[Resolver]:
    found = Resolver()
    yield found
    found.released.set()


async def until(true: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110  a thread is waited for
            await asyncio.sleep(0.001)


def test_many_who_ask_for_one_name_are_one_search(resolver: Resolver) -> None:
    async def main() -> None:
        names = Names(resolve=resolver)
        asking = [asyncio.ensure_future(names.find("dead.example", 80)) for _ in range(50)]
        await until(lambda: resolver.stuck)
        asking[0].cancel()  # the others go on waiting
        resolver.released.set()
        found = await asyncio.wait_for(asyncio.gather(*asking[1:]), PATIENCE)
        assert found == [["127.0.0.1"]] * 49
        assert await names.find("dead.example", 80) == ["127.0.0.1"]
        names.close()

    asyncio.run(main())
    assert resolver.asked == {"dead.example": 2}


def test_dead_names_leave_threads_to_those_that_were_quick(resolver: Resolver) -> None:
    async def main() -> None:
        names = Names(threads=3, doubtful=2, resolve=resolver)
        await names.find("good.example", 443)
        dead = [asyncio.ensure_future(names.find(f"dead-{n}.example", 443)) for n in range(20)]
        await until(lambda: resolver.stuck == 2)
        for _ in range(5):
            assert await asyncio.wait_for(names.find("good.example", 443), PATIENCE)
        with pytest.raises(TimeoutError):  # a new one waits behind the dead ones, while it likes
            await asyncio.wait_for(names.find("new.example", 443), 0.05)
        for asking in dead[2:]:
            asking.cancel()
        await asyncio.wait(dead[2:])
        resolver.released.set()
        assert await asyncio.wait_for(names.find("new.example", 443), PATIENCE)
        names.close()

    asyncio.run(main())
    # Nobody waited for them any more, so they were not looked for.
    assert sum(resolver.asked[f"dead-{n}.example"] for n in range(20)) == 2
    assert resolver.asked["new.example"] == 1


def test_what_is_no_name(resolver: Resolver) -> None:
    async def main() -> None:
        names = Names(resolve=resolver)
        assert await names.find("192.0.2.7", 80) == ["192.0.2.7"]
        assert await names.find("2001:db8::1", 80) == ["2001:db8::1"]
        for host, said in (("missing.example", "not known"), ("odd.example", "label too long")):
            with pytest.raises(OSError, match=said):
                await names.find(host, 80)
        names.close()

    asyncio.run(main())
    assert resolver.asked == {"missing.example": 1, "odd.example": 1}


def test_a_dead_name_holds_up_nobody_elses_command(
    resolver: Resolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many commands to names that nobody resolves as a runner sends at once, and one other."""
    monkeypatch.setattr(socket, "getaddrinfo", resolver)

    async def main() -> tuple[list[Report], Report, Report]:
        deliverer = Deliverer(LOOPBACK)
        stopped = asyncio.Event()
        limits = {"connect_timeout_seconds": 0.3, "timeout_seconds": 5}
        async with receiver(answering("200 OK")) as url:
            good = url.replace("127.0.0.1", "good.example")

            def to(address: str) -> asyncio.Task[Report]:
                cmd = command(address, config=limits)
                return asyncio.ensure_future(deliverer.send(cmd, 30.0, stopped))

            first = await to(good)
            dead = [to(f"http://dead-{n % 40}.example/") for n in range(100)]
            await until(lambda: resolver.stuck >= 20)
            second = await asyncio.wait_for(to(good), PATIENCE)
            reports = await asyncio.gather(*dead)
        await deliverer.close()
        return reports, first, second

    reports, first, second = asyncio.run(main())
    assert (first.outcome, second.outcome) == ("Sent", "Sent")
    assert {(r.outcome, r.detail["error"]) for r in reports} == {("NotSent", "ConnectError")}
    assert "no answer in time" in reports[0].detail["message"]


def test_mail_to_a_dead_name_keeps_no_thread(
    resolver: Resolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolver)

    async def main() -> Report:
        deliverer = Deliverer(LOOPBACK)
        config = {"host": "dead.example", "from": "a@b.c", "to": "d@e.f", "timeout_seconds": 0.1}
        mail = {**command(""), "destination": {"kind": "smtp", "config": config}}
        report = await deliverer.send(mail, 30.0, asyncio.Event())
        await deliverer.close()
        return report

    report = asyncio.run(main())
    assert (report.outcome, report.detail["error"]) == ("NotSent", "Timeout")
    assert not [t for t in threading.enumerate() if t.name.startswith("pgbpm-smtp")]
