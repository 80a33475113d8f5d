"""Where patterns on streams in parts are matched: asked of their families."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.stream_partition import part_key

from graphtide_query.families import family_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.stream_definition import StreamDefinition

    from graphtide_query.locality import Locality


def localities(patterns: Iterable[AnyPattern], definitions: Iterable[StreamDefinition]) -> dict[str, Locality]:
    """Return where the patterns are matched whose streams are in parts, by the patterns' names."""
    keys = {each.name: key for each in definitions if (key := part_key(each)) is not None}
    return {
        pattern.name: family_of(pattern).locality(pattern, keys[stream])
        for pattern in patterns
        if (stream := pattern.streams[0]) in keys
    }
