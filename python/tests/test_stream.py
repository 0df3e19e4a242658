"""The two ends of a live stream, over a queue that is served by A-MPDUs of a fixed PHY rate."""

from collections import deque

import pytest
from airbound import control

MS = 1_000_000
PACKET = 1200
KEY = bytes(range(16))


def stream(seconds: float, phy_rate: int, latency: int | None = None) -> tuple[control.StreamSender, int, int]:
    """The sender after so many seconds, packets that arrived, and the longest queue of the second half."""
    sender, receiver = control.StreamSender(latency=latency), control.StreamReceiver(3, key=KEY)
    sender.join(0, 3, KEY)
    receiver.phy_rate(phy_rate)
    queue: deque[int] = deque()
    sequence, arrived, longest, free, next_frame = 0, 0, 0, 0, 0
    end = int(seconds * 1000) * MS
    for now in range(0, end, MS // 5):
        decision = sender.poll(now, 3)
        if now >= next_frame:
            next_frame += 16_666_667
            packets = max(1, decision.encoder // (60 * 8 * PACKET))
            sender.frame(now, 3, packets * PACKET, packets)
        packets, _ = sender.allowed(now, 3)
        if packets:
            sender.sent(now, 3, packets, packets * PACKET)
            queue.extend(range(sequence, sequence + packets))
            sequence += packets
        longest = max(longest, len(queue)) if now > end // 2 else 0
        while queue and free <= now:
            batch = [queue.popleft() for _ in range(min(64, len(queue)))]
            free = max(free, now) + 214_000 + len(batch) * (PACKET + 74) * 8 * 10**9 // phy_rate
            receiver.arrived(free, [(free, number, 1, PACKET) for number in batch])
            arrived += len(batch)
        message = receiver.poll(now)
        if message is not None:
            assert sender.report(now, message) == 3
    return sender, arrived, longest


def test_a_stream_fills_half_of_each_frame_and_no_queue() -> None:
    sender, arrived, longest = stream(10, 200_000_000)
    decision = sender.poll(10_000 * MS, 3)
    assert decision.level == pytest.approx(32, rel=0.35)
    # 32 packets in 214 us and their airtime: 165 Mb/s.
    assert 100e6 < decision.rate < 190e6 and arrived > 50_000
    assert longest < 200
    assert decision.encoder == pytest.approx(0.9 * decision.rate, rel=1e-6)
    assert decision.reports > 50 and decision.refused == 0 and sender.refused == 0
    assert decision.reason in ("rising", "air-full", "level-above-target") and decision.text


def test_a_demand_that_is_kept_changes_nothing_and_one_that_is_not_lowers_the_target() -> None:
    usual, kept, tight = (stream(5, 200_000_000, latency)[0].poll(5000 * MS, 3) for latency in (None, 100 * MS, 2 * MS))
    assert usual.target == kept.target == 32 and usual.rate == kept.rate
    # A frame alone is paced over 13 ms.
    assert tight.target < 16 and tight.rate < usual.rate


def test_the_same_calls_give_the_same_decisions() -> None:
    one, other = stream(2, 65_000_000), stream(2, 65_000_000)
    assert one[1:] == other[1:]
    assert one[0].poll(2000 * MS, 3).rate == other[0].poll(2000 * MS, 3).rate


def test_silence_lowers_the_rate_within_a_second() -> None:
    sender, _, _ = stream(5, 200_000_000)
    sender.sent(5000 * MS, 3, 1, PACKET)
    decision = sender.poll(6000 * MS, 3)
    assert decision.rate == 1_000_000 and decision.reason == "no-feedback"


def test_wrong_values_are_refused() -> None:
    for parameters, sentence in [
        ({"receivers": 0}, "receivers is out of range"),
        ({"least": 1}, "least_bps is out of range"),
        ({"target": 0.0}, "target is out of range"),
        ({"latency": 1}, "latency_ns is out of range"),
        ({"share": "mine"}, "share is mine; allowed are"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            control.StreamSender(**parameters)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="interval_ns is out of range"):
        control.StreamReceiver(interval=1)
    sender = control.StreamSender()
    with pytest.raises(ValueError, match="key has 3 bytes; allowed are 16"):
        sender.join(0, 1, b"abc")
    with pytest.raises(KeyError, match="has not joined"):
        sender.poll(0, 1)
    sender.join(0, 1, KEY)
    with pytest.raises(RuntimeError, match="as many receivers have joined"):
        sender.join(0, 2, KEY)
    with pytest.raises(ValueError, match="bytes is out of range"):
        sender.frame(0, 1, 0, 1)
    with pytest.raises(ValueError, match="feedback has 64 bytes"):
        sender.report(0, b"x")
    receiver = control.StreamReceiver(1, key=bytes(16))
    with pytest.raises(ValueError, match="packets of an arrival is out of range"):
        receiver.arrived(0, [(0, 0, 0, PACKET)])
    receiver.arrived(0, [(0, 0, 1, PACKET)])
    assert receiver.next_deadline is not None
    sender.sent(0, 1, 1, PACKET)
    message = receiver.poll(receiver.next_deadline)
    assert message is not None and len(message) == 64
    with pytest.raises(ValueError, match="was not made with the key"):
        sender.report(receiver.next_deadline, message)
    assert sender.refused == 1
