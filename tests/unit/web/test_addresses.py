"""Which addresses are public."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.web.addresses import Addresses, RefusedAddressError, is_public, require_public_host
from pollwise.web.connections import _Socket

PUBLIC = [
    "93.184.215.14",
    "1.1.1.1",
    "192.0.1.1",
    "192.88.98.1",
    "2001:200::1",
    "3ffe::1",
    "2606:2800:21f:cb07:6820:80da:af6b:8b2c",
    "::ffff:93.184.215.14",
    "64:ff9b::5db8:d70e",
    "2002:5db8:d70e::1",
]
SPECIAL = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:100.64.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a00:1",
    "64:ff9b:1::5db8:d70e",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "2001:db8::1",
    "2001::1",
    "fc00::1",
    "fd12:3456:789a::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "4000::1",
    # Some versions of Python know these, some do not.
    "192.0.0.1",
    "192.0.0.8",
    "192.0.0.9",
    "192.0.0.255",
    "192.88.99.1",
    "64:ff9b:1::1",
    "64:ff9b::c058:6301",
    "100:0:0:1::1",
    "2001:1::1",
    "2001:4:112::1",
    "2001:20::1",
    "2001:1ff:ffff::1",
    "2002:c058:6301::1",
    "3fff::1",
    "3fff:fff:ffff::1",
    "5f00::1",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address):
    assert is_public(address)


@pytest.mark.parametrize("address", SPECIAL)
def test_special(address):
    assert not is_public(address)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_the_same_in_every_disguise(ip):
    disguises = [f"::ffff:{ip}", f"64:ff9b::{ip}", f"2002:{int(ip) >> 16:x}:{int(ip) & 65535:x}::"]
    assert {is_public(disguise) for disguise in disguises} == {is_public(str(ip))}


def test_there_is_no_socket_for_a_special_address():
    info = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("10.0.0.1", 80))
    with pytest.raises(RefusedAddressError, match=r"^10\.0\.0\.1 is .*--allow-private$"):
        _Socket.to_public(info)
    with _Socket.to_public((*info[:4], ("1.1.1.1", 80))) as made:
        assert made.family == socket.AF_INET


async def test_a_name_means_the_same_address_however_often_it_is_looked_up() -> None:
    times = iter((0.0, 1.0, 700.0, 700.0, 700.0))
    addresses = Addresses(lambda: next(times))
    address = await addresses.of("http://localhost/")
    assert address in {"127.0.0.1", "::1"}
    for _ in range(2):
        assert await addresses.of("https://localhost:8443/a") == address
    assert await addresses.of("http://[::1]:8080/") == "::1"
    assert await addresses.of("http://x.invalid/") is None


async def test_a_host_is_public_if_all_its_addresses_are() -> None:
    await require_public_host("http://93.184.215.14:81/a")
    for host in ("127.0.0.1", "[::1]", "localhost"):
        with pytest.raises(RefusedAddressError, match="no public address"):
            await require_public_host(f"http://{host}/")
    with pytest.raises(RefusedAddressError, match=r"x\.invalid cannot be looked up here"):
        await require_public_host("http://x.invalid/")
