"""Every queue of the engine in turn: tasks, leases, timers, commands, inbox, messages, approvals,
events in and out, parked tokens. Each call keeps its positions as a runner does."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import psycopg

from benchmarks.systems import Engine

_HEAD = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"'
    ' xmlns:bpm="urn:pgbpm:bpmn:1" targetNamespace="bench">'
)

# A task whose timer never fires and whose lease is given up, a command, a timer that fires, a
# message, a signal that comes through the inbox.
_BUSY = f"""{_HEAD}<message id="m" name="letter"/><signal id="s" name="flare"/>
<process id="busy" isExecutable="true">
  <startEvent id="start"/><sequenceFlow id="f1" sourceRef="start" targetRef="busy-task"/>
  <serviceTask id="busy-task"/>
  <boundaryEvent id="late" attachedToRef="busy-task">
    <timerEventDefinition><timeDuration>PT@S</timeDuration></timerEventDefinition></boundaryEvent>
  <sequenceFlow id="f2" sourceRef="late" targetRef="end"/>
  <sequenceFlow id="f3" sourceRef="busy-task" targetRef="post"/>
  <sendTask id="post" bpm:destination="sink"/><sequenceFlow id="f4" sourceRef="post" targetRef="pause"/>
  <intermediateCatchEvent id="pause">
    <timerEventDefinition><timeDuration>PT0S</timeDuration></timerEventDefinition></intermediateCatchEvent>
  <sequenceFlow id="f5" sourceRef="pause" targetRef="letter"/>
  <intermediateCatchEvent id="letter"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>
  <sequenceFlow id="f6" sourceRef="letter" targetRef="flare"/>
  <intermediateCatchEvent id="flare"><signalEventDefinition signalRef="s"/></intermediateCatchEvent>
  <sequenceFlow id="f7" sourceRef="flare" targetRef="end"/><endEvent id="end"/>
</process>
<process id="lost" isExecutable="true">
  <startEvent id="l-start"/><sequenceFlow id="l1" sourceRef="l-start" targetRef="lost-task"/>
  <serviceTask id="lost-task" bpm:retries="1000"/>
  <sequenceFlow id="l2" sourceRef="lost-task" targetRef="l-end"/><endEvent id="l-end"/>
</process>
<process id="gated" isExecutable="true">
  <startEvent id="g-start"/><sequenceFlow id="g1" sourceRef="g-start" targetRef="gated-task"/>
  <serviceTask id="gated-task" bpm:approval="required" bpm:approvalExpires="PT@S"/>
  <sequenceFlow id="g2" sourceRef="gated-task" targetRef="g-end"/><endEvent id="g-end"/>
</process>
<process id="noted" isExecutable="true">
  <startEvent id="n-start"/><sequenceFlow id="n1" sourceRef="n-start" targetRef="n-end"/><endEvent id="n-end"/>
</process></definitions>"""  # noqa: E501

Timed = Callable[[str], contextlib.AbstractContextManager[None]]


class Queues:
    """One session that drives a batch through every queue, call by call.

    ``timed(name)`` is a context manager around each call that counts; ``later(seconds)`` lets so
    much time pass (the clock of a test, or the wall's). Leases last ``lease_s``; timers that never
    fire would after ``late_s``; a round ends with a rest of ``rest_s``.
    """

    def __init__(
        self,
        conn: psycopg.Connection[Any],
        timed: Timed,
        later: Callable[[float], None],
        *,
        lease_s: int = 1,
        late_s: int = 60,
        rest_s: float = 0.0,
    ) -> None:
        self.conn = conn
        self.timed = timed
        self._later = later
        self._lease_s, self._late_s, self._rest_s = lease_s, late_s, rest_s
        self._engine = Engine(conn, "queues")
        self._positions: dict[str, Any] = {}
        self._keys = itertools.count()
        self._lease = f"{lease_s} seconds"

    def prepare(self) -> None:
        """Deploy what is driven, once per database."""
        self.conn.execute(
            "select bpm.register_destination('sink', p_resend_allowed => true,"
            """ p_config => '{"url": "http://sink.test/"}')"""
        )
        self.conn.execute(
            "select * from bpm.deploy_bpmn(%s)", [_BUSY.replace("@", str(self._late_s))]
        )
        self.conn.execute("select bpm.subscribe_events('listener', 'busy')")
        self.conn.execute(
            "select * from bpm.set_routing_rule('noted', 'noted', 'StartProcess',"
            " p_process_code => 'noted')"
        )

    def once(self, count: int, people: int = 10, idle: int = 3) -> None:
        """A batch through every queue; ``people`` approvals are asked for and decided, ``idle``
        calls of each kind find nothing to do."""
        self._busy(count)
        self._approvals(people)
        self._intake(count)
        self._start("lost", count)
        with self.timed("claim_leases"):
            tasks = self._claim("lost-task", count, self._lease)
        assert len(tasks) == count
        self._later(self._lease_s + 0.1)
        with self.timed("reaper"):
            done = self.tick(count)
        assert done["leases"] == count, done
        self._later(self._rest_s)  # retries fall due; what was given up runs out
        self._complete(self._claim("lost-task", 2 * count, None))
        while self._anything(self.tick(count)):
            pass
        for _ in range(idle):
            with self.timed("tick_idle"):
                self.tick(count)
            with self.timed("claim_empty"):
                assert not self._claim("busy-task", count, None)
            with self.timed("outbox_claim_empty"):
                assert not self._commands(count)

    def tick(self, limit: int) -> dict[str, int]:
        """One tick; what it did."""
        done, self._positions["tick"] = self._row(
            "select k.done, k.positions::text from bpm.tick(%s, %s::jsonb) k",
            [limit, self._positions.get("tick")],
        )
        return dict(done)

    def _busy(self, count: int) -> None:
        keys = self._start("busy", count)
        with self.timed("claim_busy"):
            tasks = self._claim("busy-task", count, None)
        assert len(tasks) == count
        with self.timed("complete_busy"):
            self._complete(tasks)
        with self.timed("outbox_claim"):
            commands = self._commands(count)
        assert len(commands) == count
        with self.timed("outbox_mark"):
            self._mark(commands)
        with self.timed("timers"):
            done = self.tick(count)
        assert done["timers"] == count, done
        for key in keys[: count // 10]:
            with self.timed("correlate"):
                self._correlate(key)
        for key in keys[count // 10 :]:
            self._correlate(key)
        with self.timed("broadcast"):
            self.conn.execute("select * from bpm.broadcast_signal('flare')")
        with self.timed("inbox"):
            done = self.tick(count)
        assert done["inbox"] == count, done
        with self.timed("publish"):
            done = self.tick(1000)
        assert done["domain_events"] > 0, done
        with self.timed("subscriber_claim"):
            fence, last = self._row(
                "select e.fencing_token, e.published_to"
                "  from bpm.claim_domain_events('w', 1000, p_subscription => 'listener') e", []
            )  # fmt: skip
        with self.timed("subscriber_mark"):
            marked = self._row("select bpm.mark_published('listener', %s, %s)", [fence, last])
        assert marked == ("Done",)

    def _approvals(self, count: int) -> None:
        self._start("gated", count)
        waiting = self.conn.execute(
            "select a.approval_id from bpm.list_approvals('boss', 1000) a limit %s", [count]
        ).fetchall()
        assert len(waiting) == count
        for number, (approval,) in enumerate(waiting):
            with self.timed("decide") if number < 3 else contextlib.nullcontext():
                self.conn.execute(
                    "select * from bpm.decide_approval(%s, 'Approved', p_actor => 'boss')",
                    [approval],
                )
        self._complete(self._claim("gated-task", count, None))

    def _intake(self, count: int) -> None:
        """Events that a rule dispatches, and events that wait for one."""
        with self.timed("accept"):
            self._accept("noted", count)
        with self.timed("dispatch"):
            done = self.tick(count)
        assert done["events"] == count, done
        odd = f"odd-{next(self._keys)}"
        self._accept(odd, count)
        self.tick(count)
        self.conn.execute("select from bpm.set_routing_rule(%s, %s, 'Ignore')", [odd, odd])
        with self.timed("dispatch_again"):
            done = self.tick(count)
        assert done["events"] == count, done

    def _accept(self, kind: str, count: int) -> None:
        items = [
            {"channel": "c", "provider_event_id": f"e{next(self._keys)}", "type": kind}
            for _ in range(count)
        ]
        self.conn.execute("select * from bpm.accept_events(%s)", [json.dumps(items)])

    @staticmethod
    def _anything(done: dict[str, int]) -> bool:
        return any(done.values())

    def _start(self, code: str, count: int) -> list[str]:
        keys = [f"k{next(self._keys)}" for _ in range(count)]
        items = json.dumps([{"code": code, "business_key": key} for key in keys])
        self.conn.execute("select count(*) from bpm.start_processes(%s)", [items])
        return keys

    def _claim(self, kind: str, limit: int, lease: str | None) -> list[Any]:
        tasks, self._positions[kind] = self._row(
            "select c.tasks, c.positions::text from bpm.claim_tasks_at('w', %s, %s, %s,"
            " p_positions => %s::jsonb) c",
            [[kind], limit, lease, self._positions.get(kind)],
        )
        return list(tasks)

    def _complete(self, tasks: list[Any]) -> None:
        self._engine.complete(tasks)

    def _commands(self, limit: int) -> list[Any]:
        commands, self._positions["commands"] = self._row(
            "select c.commands, c.positions::text from bpm.claim_commands_at('w', %s, %s,"
            " p_positions => %s::jsonb) c",
            [limit, self._lease, self._positions.get("commands")],
        )
        return list(commands)

    def _mark(self, commands: list[Any]) -> None:
        items = [
            {
                "command_id": c["command_id"],
                "fencing_token": c["fencing_token"],
                "outcome": "Sent",
                "receipt": {"status": 200},
            }
            for c in commands
        ]
        self.conn.execute("select * from bpm.mark_commands(%s)", [json.dumps(items)])

    def _correlate(self, key: str) -> None:
        self.conn.execute("select * from bpm.correlate_message('letter', %s)", [key])

    def _row(self, query: Any, params: list[Any]) -> tuple[Any, ...]:
        row = self.conn.execute(query, params).fetchone()
        assert row is not None, query
        return tuple(row)


class CallClock:
    """Milliseconds per call (``seen``), and waiting for leases that a timed call took."""

    def __init__(self) -> None:
        self.seen: dict[str, list[float]] = defaultdict(list)
        self._ended: dict[str, float] = {}

    def clear(self) -> None:
        """Begin anew."""
        self.seen = defaultdict(list)

    @contextlib.contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Time the block."""
        began = time.perf_counter()
        yield
        self._ended[name] = time.perf_counter()
        self.seen[name].append(1000 * (self._ended[name] - began))

    def later(self, seconds: float) -> None:
        """Wait until so long after the leases were taken."""
        if seconds > 0:
            time.sleep(max(self._ended["claim_leases"] + seconds - time.perf_counter(), 0.0))
