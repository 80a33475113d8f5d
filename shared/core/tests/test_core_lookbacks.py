"""The longest lookback of a stream is that of its present patterns."""

from graphtide_core.ids import StreamName
from graphtide_core.lookbacks import Lookbacks
from graphtide_core.reads import Lookback, Reads
from graphtide_core.time import Duration, TimeUnit
from hypothesis import given
from hypothesis import strategies as st

STREAMS = [StreamName("s"), StreamName("t")]
READS = st.builds(
    Reads,
    st.sampled_from([(STREAMS[0],), (STREAMS[1],), tuple(STREAMS)]),
    st.builds(Lookback, st.builds(Duration, st.integers(1, 3), st.sampled_from([None, "s"])), st.booleans()),
    st.none(),
    st.lists(st.sampled_from("abc"), unique=True).map(tuple),
)


@given(st.lists(st.tuples(st.sampled_from("pqr"), READS | st.none()), max_size=20))
def test_reaches_are_those_of_the_patterns_that_there_are(changes: list[tuple[str, Reads | None]]) -> None:
    lookbacks, now = Lookbacks(), dict[str, Reads]()
    for name, reads in changes:
        lookbacks.take(name, reads)
        now.pop(name, None)
        if reads is not None:
            now[name] = reads
    assert lookbacks.streams() == {stream for reads in now.values() for stream in reads.streams}
    for stream in STREAMS:
        ticks = [reads.lookback.ticks(TimeUnit.MILLISECOND) for reads in now.values() if stream in reads.streams]
        assert lookbacks.longest(stream, TimeUnit.MILLISECOND) == max(ticks, default=0)
        read = {name for reads in now.values() if stream in reads.streams for name in reads.attributes}
        assert lookbacks.attributes(stream) == read
