"""Which addresses may be asked: those of the internet, and what the operator allows besides."""

import pytest

from bot.outbound import NOTHING, Allowance
from github.addresses import Reach, classify, unwrap

INTERNET = ["1.1.1.1", "140.82.121.4", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::1"]
WRAPPED_INTERNET = ["::ffff:1.1.1.1", "2002:101:101::", "64:ff9b::101:101"]
NOT_OF_THE_INTERNET = [
    ("127.0.0.1", Reach.loopback),
    ("127.255.255.254", Reach.loopback),
    ("::1", Reach.loopback),
    ("::ffff:127.0.0.1", Reach.loopback),
    ("2002:7f00:1::", Reach.loopback),
    ("64:ff9b::7f00:1", Reach.loopback),
    ("10.1.2.3", Reach.private),
    ("172.16.0.1", Reach.private),
    ("172.31.255.255", Reach.private),
    ("192.168.0.9", Reach.private),
    ("198.18.0.1", Reach.private),
    ("203.0.113.5", Reach.private),
    ("::ffff:10.0.0.1", Reach.private),
    ("64:ff9b::a00:1", Reach.private),
    ("fd00::9", Reach.private),
    ("fc00::1", Reach.private),
    ("2001:db8::1", Reach.private),
    ("169.254.169.254", Reach.link_local),
    ("::ffff:169.254.169.254", Reach.link_local),
    ("2002:a9fe:a9fe::", Reach.link_local),
    ("fe80::1", Reach.link_local),
    ("168.63.129.16", Reach.metadata),
    ("100.100.100.200", Reach.metadata),
    ("192.0.0.192", Reach.metadata),
    ("fd00:ec2::254", Reach.metadata),
    ("100.64.0.1", Reach.shared),
    ("100.127.255.255", Reach.shared),
    ("224.0.0.1", Reach.multicast),
    ("239.255.255.250", Reach.multicast),
    ("ff02::1", Reach.multicast),
    ("0.0.0.0", Reach.unspecified),
    ("0.1.2.3", Reach.unspecified),
    ("::", Reach.unspecified),
    ("240.0.0.1", Reach.reserved),
    ("255.255.255.255", Reach.reserved),
    ("192.0.0.8", Reach.reserved),
    ("192.88.99.1", Reach.reserved),
    ("::7f00:1", Reach.reserved),  # an IPv4 address in the oldest way
    ("64:ff9b:1::1", Reach.reserved),  # NAT64 of an inner network
    ("2001::1", Reach.reserved),  # Teredo
    ("3fff::1", Reach.reserved),
    ("5f00::1", Reach.reserved),
    ("fec0::1", Reach.reserved),
]


@pytest.mark.parametrize(("address", "reach"), NOT_OF_THE_INTERNET)
def test_an_address_that_is_not_of_the_internet_is_refused(address: str, reach: Reach) -> None:
    assert classify(unwrap(address)) is reach
    assert NOTHING.find_obstacle("page.example", address) is reach


@pytest.mark.parametrize("address", [*INTERNET, *WRAPPED_INTERNET])
def test_an_address_of_the_internet_may_be_asked(address: str) -> None:
    assert NOTHING.find_obstacle("page.example", address) is None


@pytest.mark.parametrize("host", ["metrics.internal", "Metrics.Internal.", "a.svc.local", "b.a.svc.local"])
@pytest.mark.parametrize("address", ["10.0.0.1", "127.0.0.1", "::1", "fd00::1", "100.64.0.1", "::ffff:10.0.0.1"])
def test_a_host_that_is_allowed_may_be_inner(host: str, address: str) -> None:
    assert Allowance.parse("metrics.internal, *.SVC.local.").find_obstacle(host, address) is None


@pytest.mark.parametrize(
    "host",
    ["internal", "xmetrics.internal", "a.metrics.internal", "metrics.internal.example", "svc.local", "xsvc.local"],
)
def test_another_host_may_not(host: str) -> None:
    assert Allowance.parse("metrics.internal,*.svc.local").find_obstacle(host, "10.0.0.1") is Reach.private


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "168.63.129.16", "fd00:ec2::254", "0.0.0.0", "224.0.0.1", "fe80::1"]
)
def test_a_name_does_not_allow_what_it_could_lead_to_by_mistake(address: str) -> None:
    assert Allowance.parse("metrics.internal").find_obstacle("metrics.internal", address)
    assert Allowance.parse(address).find_obstacle("metrics.internal", address) is None


def test_a_network_is_allowed_whatever_name_leads_there() -> None:
    allowed = Allowance.parse("10.2.0.0/16, fd00:1::/32, 127.0.0.1")
    for address in ("10.2.0.1", "10.2.255.255", "::ffff:10.2.0.1", "fd00:1::5", "127.0.0.1"):
        assert allowed.find_obstacle("any.example", address) is None, address
    for address in ("10.3.0.1", "fd00:2::5", "127.0.0.2", "::1"):
        assert allowed.find_obstacle("any.example", address), address


@pytest.mark.parametrize(
    "name", ["cafe.face", "fade", "1password.local", "0xdead.beef", "xn--bcher-kva.example", "_a.b"]
)
def test_a_name_that_looks_like_a_number_is_a_name(name: str) -> None:
    assert Allowance.parse(name) == Allowance(hosts=frozenset({name}))


@pytest.mark.parametrize("text", ["", " ", " , "])
def test_nothing_is_allowed_by_nothing(text: str) -> None:
    assert Allowance.parse(text) == NOTHING


@pytest.mark.parametrize(
    "part",
    [
        "http://metrics.internal",
        "metrics.internal:9090",
        "*",
        "*.",
        "a.*.local",
        "*local",
        "-a.local",
        "a b",
        "bücher.de",
    ],
)
def test_what_is_no_host_is_said(part: str) -> None:
    with pytest.raises(ValueError, match=r"not a network|neither a host nor a network"):
        Allowance.parse(f"good.example,{part}")


@pytest.mark.parametrize(
    "part", ["10.2.0.1/16", "10.0.0.0/33", "10.0.0", "300.1.1.1", "127.1", "2130706433", "0x7f000001"]
)
def test_what_is_no_network_is_said(part: str) -> None:
    with pytest.raises(ValueError, match=r"is not a network: (it has bits of a host set|write it such as)"):
        Allowance.parse(part)
