"""A stream is read from its raw topic or from any other, whose headers do not count."""

from __future__ import annotations

from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Record
from graphtide_preprocess.domain.source_topic import SourceTopic
from graphtide_wire.topics import Topics

TOPICS = Topics("test")
FLOWS = StreamName("flows")
TRACE = ("traceparent", b"00-0000000000000000000000000000000a-000000000000000b-01")
RECORD = Record("t", 0, 5, 9, b"k", b"v", (("content-type", b"text/csv"), TRACE, ("graphtide-command", b"x")), "a flaw")


def test_a_stream_has_its_raw_topic_by_default() -> None:
    source = SourceTopic.of(TOPICS, FLOWS)
    assert source == SourceTopic(TOPICS.raw(FLOWS))
    assert list(source.records([RECORD])) == [RECORD]


def test_of_the_headers_of_others_the_trace_is_kept_alone() -> None:
    source = SourceTopic.of(TOPICS, FLOWS, "shop.orders")
    assert source == SourceTopic("shop.orders", is_foreign=True)
    assert list(source.records([RECORD])) == [RECORD._replace(headers=(TRACE,), flaw="")]
