"""The wire protocol of the services: topics, headers, and codecs between bytes and values.

Codecs are pure functions. Bytes that are not what they should be raise `PoisonRecordError` with the reason, nothing else.
"""
