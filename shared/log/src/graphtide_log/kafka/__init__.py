"""The log on Apache Kafka, through confluent-kafka (librdkafka)."""

from graphtide_log.kafka.connection import KafkaConnection, SaslLogin, TlsFiles
from graphtide_log.kafka.log import KafkaLog

__all__ = ["KafkaConnection", "KafkaLog", "SaslLogin", "TlsFiles"]
