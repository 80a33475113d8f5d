"""Servers start, crash and come back with what they had; only ours are ended."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from graphtide_testing.servers import KafkaServer, RedisServer, ServerError, process, tools
from graphtide_testing.servers.class_archive import archive_of_kafka
from graphtide_testing.servers.fixtures import folder_of_run
from graphtide_testing.servers.kafka import KafkaBrokers
from graphtide_testing.servers.process import Process
from graphtide_testing.servers.sharing import share
from graphtide_testing.waiting import wait_until
from redis import Redis


def test_kafka_comes_back_after_a_crash_with_what_it_had(kafka_to_crash: KafkaServer) -> None:
    address = kafka_to_crash.bootstrap
    client = AdminClient({"bootstrap.servers": address})
    client.create_topics([NewTopic("kept", 1, 1)])["kept"].result(20)
    kafka_to_crash.kill()
    assert not kafka_to_crash.is_running()
    kafka_to_crash.start()
    assert kafka_to_crash.bootstrap == address
    assert "kept" in client.list_topics(timeout=20).topics


def test_a_broker_maps_the_classes_that_the_first_one_wrote(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    pid = (folder_of_run("kafka", tmp_path_factory) / "kafka.pid").read_text()
    mapped = {line.rpartition(" ")[2] for line in Path(f"/proc/{pid}/maps").read_text().splitlines()}
    assert str(archive_of_kafka()) in mapped


def test_kafka_that_lost_its_disk_comes_back_empty_as_the_same_cluster_at_the_same_address(kafka_to_crash: KafkaServer) -> None:
    address = kafka_to_crash.bootstrap
    client = AdminClient({"bootstrap.servers": address})
    client.create_topics([NewTopic("lost", 1, 1)])["lost"].result(20)
    # A topic that was just made is not in the broker's metadata for a moment.
    wait_until(lambda: "lost" in client.list_topics(timeout=20).topics, 60)
    before = client.list_topics(timeout=20)
    kafka_to_crash.kill()
    kafka_to_crash.forget()
    kafka_to_crash.start()
    after = AdminClient({"bootstrap.servers": address}).list_topics(timeout=20)
    assert "lost" in before.topics
    assert (after.topics, after.cluster_id) == ({}, before.cluster_id)


@pytest.mark.slow
def test_of_several_brokers_one_comes_back_without_its_disk_and_gets_what_the_others_have(tmp_path: Path) -> None:
    kafka = KafkaBrokers(tmp_path / "kafka", 3)
    kafka.start()
    try:
        client = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        client.create_topics([NewTopic("kept", 1)])["kept"].result(60)

        def in_sync() -> set[int]:
            # A broker that has just come back answers, too, and knows of no topic yet.
            topics = client.list_topics(timeout=60).topics
            return set(topics["kept"].partitions[0].isrs) if "kept" in topics else set()

        wait_until(lambda: in_sync() == {1, 2, 3}, 60)
        kafka.brokers[1].kill()
        kafka.brokers[1].forget()
        wait_until(lambda: in_sync() == {1, 3}, 120)
        kafka.brokers[1].start()
        wait_until(lambda: in_sync() == {1, 2, 3}, 120)
    finally:
        kafka.kill()


def test_a_server_that_processes_share_starts_once_and_ends_with_the_last_of_them(tmp_path: Path) -> None:
    first, second = RedisServer(tmp_path), RedisServer(tmp_path)
    with ExitStack() as last:
        with share(first, tmp_path):
            last.enter_context(share(second, tmp_path))
            started = (tmp_path / "redis.pid").read_text()
        assert second.answers()
        assert (tmp_path / "redis.pid").read_text() == started
    assert not second.answers()
    with share(second, tmp_path):
        assert second.answers(), "the next user after the last starts it again"


def test_redis_comes_back_after_a_crash_with_what_it_had(redis_to_crash: RedisServer) -> None:
    address = redis_to_crash.url
    with Redis.from_url(address) as client:
        client.set("kept", "yes")
    redis_to_crash.kill()
    assert not redis_to_crash.answers()
    redis_to_crash.start()
    assert redis_to_crash.url == address
    with Redis.from_url(address) as client:
        assert client.get("kept") == b"yes"


def test_a_server_that_ends_at_once_says_what_it_printed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no room')", str(tmp_path)]
    with pytest.raises(ServerError, match=r"server did not start(.|\n)*no room"):
        Process("server", tmp_path).start(command, lambda: False)


def test_a_process_can_be_ended_by_another_that_knows_the_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import time; time.sleep(100)", str(tmp_path)]
    started = Process("server", tmp_path)
    started.start(command, lambda: True)
    found = Process("server", tmp_path)
    assert found.is_running()
    with pytest.raises(ServerError, match="runs already"):
        found.start(command, lambda: True)
    found.kill()
    # A process that is ending has no command any more, a moment before its parent can learn of its end.
    wait_until(lambda: not started.is_running(), 60)


def test_a_stranger_with_the_same_process_id_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"]) as stranger:
        (tmp_path / "server.pid").write_text(str(stranger.pid))
        process = Process("server", tmp_path)
        assert not process.is_running()
        process.kill()
        process.stop()
        assert stranger.poll() is None
        stranger.kill()


def test_a_missing_program_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ServerError, match=r"missing: mvn, .* apt-get install maven"):
        tools.program("mvn")


def test_a_port_is_returned_once_though_nobody_uses_it_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = cycle(range(20_000, 20_100))
    # Each is drawn twice in a row.
    monkeypatch.setattr("secrets.choice", lambda _ports: next(ports) // 2 * 2)
    first, second = process.free_ports(5), process.free_ports(5)
    assert len({*first, *second}) == 10
