"""Where a service connects if users name the address: public hosts, what is allowed, and no trick leads elsewhere."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import InvalidQueryError
from graphtide_core.outbound_addresses import (
    AllowedAddresses,
    RefusedAddressError,
    Target,
    check_host,
    is_host_name,
    parse_url,
)
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

PUBLIC = "93.184.215.14"
NOTHING = AllowedAddresses()
INTERNAL = (
    "127.0.0.1",
    "127.8.9.1",
    "0.0.0.0",  # noqa: S104 - refused, not bound
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "192.0.0.192",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2001:0:7f00:1::",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "fd00:ec2::254",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
)

NUMBERS = "2130706433 0x7f000001 0x7f.1 127.1 127.0.1 0177.0.0.1 127.0.0.0x1 0 1.2.3.4.5"
NOT_HOSTS = (
    *NUMBERS.split(),
    *["a..b", "-a.com", "exa_mple.com/x", "127。0。0。1", "①②⑦.0.0.1", "[::1]", "a%00.com"],
    "",
    "a b.com",
    "x" * 64 + ".com",
    ".".join(["a"] * 200),
)
WITHIN = (
    *["localhost", "LOCALHOST.", "a.localhost", "redis", "kubernetes", "kafka.graphtide.svc", "a.b.svc.cluster.local"],
    *["metadata.google.internal", "metadata", "printer.local", "x.svc.other.example", "host.docker.internal", "db.lan"],
)
NOT_URLS = (
    *["ftp://example.com", "//example.com", "example.com", "https://", "https:///x", "file:///etc/passwd", "http://[::1"],
    *["http://127.0.0.1@example.com/", "http://example.com@127.0.0.1/", "http://user:pass@example.com/"],
    *(f"http://{number}/" for number in NUMBERS.split()),
    *["http://example.com:99999/", "http://example.com:0/", "http://example.com/é", "http://example.com\\@127.0.0.1/"],
    "http://exam ple.com/",
    "http://example.com/\r\nHost: x",
    "http://a" + "x" * 2_000,
)


def resolver(*addresses: str) -> Callable[[str], tuple[str, ...]]:
    return lambda _host: addresses


def never(host: str) -> list[str]:
    pytest.fail(f"{host} was looked up")


@pytest.mark.parametrize("address", INTERNAL)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    with pytest.raises(RefusedAddressError):
        check_host(address, never, NOTHING)
    with pytest.raises(RefusedAddressError):
        check_host("example.com", resolver(address), NOTHING)
    with pytest.raises(RefusedAddressError):
        check_host("example.com", resolver(PUBLIC, address), NOTHING)


@pytest.mark.parametrize("host", NOT_HOSTS)
def test_a_number_or_a_malformed_name_is_not_looked_up(host: str) -> None:
    with pytest.raises(RefusedAddressError):
        check_host(host, never, NOTHING)


@pytest.mark.parametrize("host", WITHIN)
def test_a_name_within_the_deployment_is_not_looked_up(host: str) -> None:
    with pytest.raises(RefusedAddressError, match="ALLOWED_ADDRESSES"):
        check_host(host, never, NOTHING)


def test_a_public_host_has_its_addresses_once_in_their_order() -> None:
    found = check_host("Example.COM.", resolver(PUBLIC, "2606:2800:21f:cb07::1", PUBLIC), NOTHING)
    assert found == (IPv4Address(PUBLIC), IPv6Address("2606:2800:21f:cb07::1"))
    assert check_host(PUBLIC, never, NOTHING) == (IPv4Address(PUBLIC),)
    assert check_host(f"::ffff:{PUBLIC}", never, NOTHING) == (IPv6Address(f"::ffff:{PUBLIC}"),)


def test_a_name_that_resolves_elsewhere_the_second_time_is_refused_then() -> None:
    answers = iter([[PUBLIC], ["127.0.0.1"], ["169.254.169.254"]])
    assert check_host("rebind.example", lambda _host: next(answers), NOTHING) == (IPv4Address(PUBLIC),)
    for _ in range(2):
        with pytest.raises(RefusedAddressError):
            check_host("rebind.example", lambda _host: next(answers), NOTHING)


def test_a_deployment_allows_networks_addresses_and_names() -> None:
    allowed = AllowedAddresses(["10.0.0.0/8", "127.0.0.1", "fd00::/8", "kafka.svc", "*.corp.internal"])
    assert check_host("10.9.8.7", never, allowed)
    assert check_host("::ffff:10.9.8.7", never, allowed)
    assert check_host("fd00::1", never, allowed)
    assert check_host("example.com", resolver("127.0.0.1"), allowed)
    assert check_host("kafka.svc", resolver("172.16.0.1"), allowed)
    assert check_host("smtp.mail.corp.internal", resolver("172.16.0.1"), allowed)
    for host in ("127.0.0.2", "192.168.0.1", "fe80::1", "::1"):
        with pytest.raises(RefusedAddressError):
            check_host(host, never, allowed)
    for host in ("corp.internal", "other.svc", "xcorp.internal", "kafka.svc.evil.example"):
        with pytest.raises(RefusedAddressError):
            check_host(host, resolver("10.0.0.1" if host.startswith("kafka") else PUBLIC), allowed)


@pytest.mark.parametrize("allowed", ["10.0.0.0/33", "a b", "http://x", "", "10.0.0.1/8"])
def test_what_is_no_network_and_no_name_cannot_be_allowed(allowed: str) -> None:
    with pytest.raises(InvalidQueryError):
        AllowedAddresses([allowed])


def test_a_host_without_an_address_is_no_refusal() -> None:
    with pytest.raises(OSError, match="no address"):
        check_host("example.com", resolver(), NOTHING)


def test_a_url_gives_host_port_and_path() -> None:
    assert parse_url("https://Example.com/hook?a=1#part") == Target("https", "example.com", 443, "/hook?a=1")
    assert parse_url("http://[2606:2800::1]:8080") == Target("http", "2606:2800::1", 8080, "/")
    assert parse_url("smtp://mail.example:25", ["smtp"]) == Target("smtp", "mail.example", 25, "/")


@pytest.mark.parametrize("url", NOT_URLS)
def test_a_url_that_means_something_else_is_refused(url: str) -> None:
    with pytest.raises(RefusedAddressError):
        parse_url(url)


def test_a_literal_in_a_url_is_checked_as_any_host() -> None:
    with pytest.raises(RefusedAddressError):
        check_host(parse_url("http://[::ffff:127.0.0.1]/").host, never, NOTHING)


@given(st.integers(0, 2**32 - 1))
def test_no_form_of_an_address_is_less_strict_than_the_address(number: int) -> None:
    plain = IPv4Address(number)
    forms = (plain, IPv6Address(f"::ffff:{plain}"), ip_address(0x64FF9B << 96 | number), ip_address(number))

    def is_refused(address: object) -> bool:
        try:
            check_host(str(address), never, NOTHING)
        except RefusedAddressError:
            return True
        return False

    if is_refused(plain):
        assert all(map(is_refused, forms))


@given(st.text(max_size=40))
def test_any_text_is_a_host_or_refused(text: str) -> None:
    try:
        found = check_host(text, resolver(PUBLIC), NOTHING)
    except RefusedAddressError:
        return
    assert is_host_name(text.lower().rstrip(".")) or str(found[0])
