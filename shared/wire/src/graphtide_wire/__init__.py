"""What services say to each other: topics, headers, and codecs between bytes and values.

Codecs are pure functions. Bytes that are not what they should be raise `PoisonRecordError` with the reason, nothing else.
"""
