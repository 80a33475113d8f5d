"""Messages of syslog as records, by regular expressions: RFC 5424, and RFC 3164 as programs write it.

A line is RFC 5424 if a version and a blank follow its priority. Else it is RFC 3164, whose priority, host and tag may be
missing. A word that ends with a colon, where the host should be, is a tag.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from graphtide_testing.oracles.record_decoding import decode_field

if TYPE_CHECKING:
    from collections.abc import Container

_SEVERITIES: Final = 8
_PARAMETER: Final = r' +[^ \]"=]+="(?:[^"\\]|\\.)*"'
_NEW: Final = re.compile(
    r"(?P<version>[1-9][0-9]{0,2}) (?P<timestamp>[^ ]+) (?P<hostname>[^ ]+) (?P<appname>[^ ]+) (?P<procid>[^ ]+)"
    rf" (?P<msgid>[^ ]+) (?P<structured_data>-|(?:\[[^ \]\"=]+(?:{_PARAMETER})*\])+)(?: \ufeff?(?P<message>.*))?",
    re.DOTALL,
)
_OLD: Final = re.compile(
    r"(?P<timestamp>[0-9]{4}-[^ ]*T[^ ]*|[A-Za-z]{3} +[0-9]{1,2} +(?:[0-9]{4} +)?[0-9][^ ]*?:[^ ]*?(?=:?(?: |$)))"
    r"(?::(?= |$))? *"
    r"(?:(?P<hostname>[^ ]*(?<!:))(?: |$))?(?P<rest>.*)",
    re.DOTALL,
)
_TAG: Final = re.compile(r"(?P<appname>[^ :\[]+)(?:\[(?P<procid>[^\]]*)\]:?|:) ?(?P<message>.*)", re.DOTALL)


def read_syslog(line: str, nulls: Container[str]) -> object:
    """Return the record of a line; the line itself where it is no message."""
    found = re.match("<(0|[1-9][0-9]{0,2})>", line)
    if found is None and line.startswith("<"):
        return line
    fields: dict[str, str | None] = {}
    if found is not None:
        code = int(found[1])
        if code >= 24 * _SEVERITIES:
            return line
        facility, severity = divmod(code, _SEVERITIES)
        fields = {"priority": found[1], "facility": str(facility), "severity": str(severity)}
    rest = line if found is None else line[found.end() :]
    if found is not None and re.match("[1-9][0-9]{0,2} ", rest):
        message = _NEW.fullmatch(rest)
        if message is None:
            return line
        fields |= {name: None if text == "-" and name != "message" else text for name, text in message.groupdict().items()}
    else:
        message = _OLD.fullmatch(rest)
        if message is None:
            return line
        tag = _TAG.fullmatch(message["rest"])
        fields |= {"timestamp": message["timestamp"], "hostname": message["hostname"]}
        fields |= {"message": message["rest"]} if tag is None else tag.groupdict()
    record: dict[str, object] = {name: decode_field(text or "", nulls) for name, text in fields.items()}
    return record | {"sd": _elements(fields.get("structured_data") or "", nulls)}


def _elements(data: str, nulls: Container[str]) -> object:
    found: dict[str, dict[str, object]] = {}
    for element, parameters in re.findall(rf'\[([^ \]"=]+)((?:{_PARAMETER})*)\]', data, re.DOTALL):
        values = re.findall(r' +([^ \]"=]+)="((?:[^"\\]|\\.)*)"', parameters, re.DOTALL)
        named = {name: decode_field(re.sub(r'\\(["\\\]])', r"\1", value), nulls) for name, value in values}
        found[element] = found.get(element, {}) | named
    return found
