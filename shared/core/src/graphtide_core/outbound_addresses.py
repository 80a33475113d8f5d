"""Which addresses a service may connect to where users name the address: no request reaches what is behind the service.

A host is resolved, every address is checked, and the caller connects to an address that was checked, not to the name again. So
a name that resolves to another address the second time gains nothing. All addresses that are not public are refused, also those
that IPv6 wraps. Numbers such as `2130706433` and `0x7f.1`, which systems read as addresses, are refused as names. A deployment
allows what it needs within by networks or names.

Source: OWASP, Server-Side Request Forgery Prevention; RFC 6890 (special addresses), RFC 6052 and 3056 (IPv4 in IPv6).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from graphtide_core.errors import InvalidQueryError
from graphtide_core.suggestion import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Resolve = Callable[[str], Iterable[str]]
    """Returns the addresses of a host, as texts; raises `OSError` where it has none."""

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

MOST_ADDRESS: Final = 2_000
"""Characters of an address that a user gives."""

_INTERNAL: Final = (".svc", ".local", ".internal", ".localhost", ".localdomain", ".home.arpa", ".intranet", ".lan")
_INTERNAL_ALONE: Final = frozenset({"localhost", "metadata", "kubernetes"})
_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMERIC: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_UNICAST: Final = IPv6Network("2000::/3")
"""The only addresses of IPv6 that are given out for the public network."""

_SPECIAL: Final = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"))
"""Addresses of protocols, and of a relay that is no more, which Python counts as public."""

_PORTS: Final = {"http": 80, "https": 443, "smtp": 587, "smtps": 465}


class RefusedAddressError(InvalidQueryError):
    """A service does not connect there: the address is malformed, or behind the service."""


@dataclass(frozen=True, slots=True)
class Target:
    """The host and port of an address, and what a request to it names.

    Attributes:
        scheme: `http` or `https`, or that of another protocol.
        host: name or literal address, in lower case and without brackets.
        port: of the service.
        path: with the query, from the first `/` on.
    """

    scheme: str
    host: str
    port: int
    path: str = "/"


class AllowedAddresses:
    """What a deployment allows beside public addresses."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        """Take networks (`10.0.0.0/8`), addresses and names of hosts; `*.name` is every host below a name.

        Raises:
            InvalidQueryError: one is none of these.
        """
        self._networks: list[Network] = []
        self._names: set[str] = set()
        for each in allowed:
            text = each.strip().lower().rstrip(".")
            try:
                self._networks.append(ip_network(text))
            except ValueError:
                if not is_host_name(text.removeprefix("*.")):
                    message = f"{show(each)} is neither a network such as 10.0.0.0/8 nor the name of a host"
                    raise InvalidQueryError(message) from None
                self._names.add(text)

    def has_name(self, host: str) -> bool:
        """Whether a host is allowed by its name."""
        parents = host.split(".")
        return host in self._names or any(f"*.{'.'.join(parents[at:])}" in self._names for at in range(1, len(parents)))

    def has_address(self, address: Address) -> bool:
        """Whether an address is allowed by a network; also one that IPv6 wraps."""
        forms = {address, *_inner_addresses(address)}
        return any(form in network for form in forms for network in self._networks if form.version == network.version)


def parse_url(text: str, schemes: Iterable[str] = ("http", "https")) -> Target:
    """Return the target of a URL.

    Raises:
        RefusedAddressError: it is no absolute URL of these schemes, names a user, or its host or port is malformed.
    """
    if len(text) > MOST_ADDRESS or not text.isprintable() or any(char.isspace() or char == "\\" for char in text):
        message = f"{show(text)} is not a URL: it has characters that a URL does not have, or more than {MOST_ADDRESS:,}"
        raise RefusedAddressError(message)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        message = f"{show(text)} is not a URL: {error}"
        raise RefusedAddressError(message) from None
    if parts.scheme not in (allowed := tuple(schemes)):
        message = f"the URL {show(text)} does not begin with {' or '.join(f'{each}://' for each in allowed)}"
        raise RefusedAddressError(message)
    if "@" in parts.netloc:
        message = "the URL names a user; give a secret in a file instead, and name the file"
        raise RefusedAddressError(message)
    host = (parts.hostname or "").rstrip(".")
    refuse_malformed(host)
    if port == 0 or (port is None and parts.scheme not in _PORTS):
        message = f"the URL {show(text)} needs a port"
        raise RefusedAddressError(message)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii():
        message = f"the URL {show(text)} has characters that it must escape as %XX"
        raise RefusedAddressError(message)
    return Target(parts.scheme, host, port or _PORTS[parts.scheme], path)


def is_host_name(host: str) -> bool:
    """Whether a text can be the name of a host: labels of letters, digits and dashes; the last is no number."""
    labels = host.split(".")
    return len(host) <= 253 and all(map(_LABEL.fullmatch, labels)) and _NUMERIC.fullmatch(labels[-1]) is None


def refuse_malformed(host: str) -> None:
    """Do nothing if a host is a name or a literal address in its usual form.

    Raises:
        RefusedAddressError: it is not. Systems read `2130706433`, `0x7f.1` and `127.1` as addresses, and no name looks so.
    """
    if _literal(host) is None and not is_host_name(host):
        message = f"{show(host)} is neither the name of a host nor an address in its usual form"
        raise RefusedAddressError(message)


def check_host(host: str, resolve: Resolve, allowed: AllowedAddresses) -> tuple[Address, ...]:
    """Return the addresses of a host to connect to, each once, in the order of the resolver.

    Args:
        host: a name, or a literal address without brackets.
        resolve: looks up a name; it is not asked for literal addresses.
        allowed: what is allowed beside public addresses.

    Raises:
        RefusedAddressError: the host is malformed or internal, or one of its addresses is. A host with a public and an
            internal address is refused as a whole.
        OSError: as `resolve`.
    """
    host = host.lower().rstrip(".")
    refuse_malformed(host)
    literal = _literal(host)
    is_named = literal is None and allowed.has_name(host)
    if literal is None and not is_named:
        _refuse_internal_name(host)
    found = [literal] if literal is not None else [_read(each) for each in resolve(host)]
    addresses = tuple(dict.fromkeys(found))
    if not addresses:
        message = f"the host {show(host)} has no address"
        raise OSError(message)
    if not is_named:
        for each in addresses:
            refuse_internal_address(each, allowed, host)
    return addresses


def refuse_internal_address(address: Address, allowed: AllowedAddresses, host: str) -> None:
    """Do nothing if an address is public, or allowed.

    Raises:
        RefusedAddressError: it is neither.
    """
    if allowed.has_address(address) or all(_is_public(form) for form in (address, *_inner_addresses(address))):
        return
    of = "" if str(address) == host else f" of {show(host)}"
    message = f"the address {address}{of} is not public; an operator may allow it (ALLOWED_ADDRESSES)"
    raise RefusedAddressError(message)


def _refuse_internal_name(host: str) -> None:
    is_internal = host in _INTERNAL_ALONE or any(host.endswith(each) or f"{each}." in f"{host}." for each in _INTERNAL)
    if is_internal or "." not in host:
        message = f"the host {show(host)} is within the deployment; an operator may allow it (ALLOWED_ADDRESSES)"
        raise RefusedAddressError(message)


def _literal(host: str) -> Address | None:
    try:
        return _read(host)
    except ValueError:
        return None


def _read(text: str) -> Address:
    """Return an address; a zone (`fe80::1%eth0`) is one of a link, which is never public."""
    return ip_address(text)


def _inner_addresses(address: Address) -> tuple[IPv4Address, ...]:
    """Return the IPv4 addresses that an IPv6 address leads to."""
    if isinstance(address, IPv4Address):
        return ()
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        found.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return tuple(each for each in found if each is not None)


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        is_special = address.is_multicast or address.is_reserved or any(address in network for network in _SPECIAL)
        return address.is_global and not is_special
    if address.ipv4_mapped is not None or address in _NAT64:
        return True  # It is what it wraps, which is checked, too.
    return address.is_global and address in _UNICAST
