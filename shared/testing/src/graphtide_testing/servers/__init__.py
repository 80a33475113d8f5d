"""Real servers for tests and development, as processes of this machine: Apache Kafka and Redis.

They listen on the loopback interface at free ports and keep their data in a folder they are given. `kill` and `start` again on
the same folder is how tests of failures crash them.
"""

from graphtide_testing.servers.kafka import KafkaServer
from graphtide_testing.servers.process import ServerError
from graphtide_testing.servers.redis import RedisServer
from graphtide_testing.servers.redis_several import RedisClusterServers, RedisSentinelServers

__all__ = ["KafkaServer", "RedisClusterServers", "RedisSentinelServers", "RedisServer", "ServerError"]
