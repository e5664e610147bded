"""How an address is read that a configuration names: what is asked, what is refused, and where reading ends."""

import asyncio
import gzip
import logging
import os
import tracemalloc
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.outbound import LIMITS, Allowance, OutboundLimits
from domain.errors import OutboundError, OutboundFailed, OutboundRefused
from tests.unit.outbound.pages import (
    Names,
    Write,
    answer,
    make_certificate,
    open_client,
    redirect,
    serve_pages,
)

HASTY = OutboundLimits(total=0.4)
MOST = LIMITS.bytes


# --- what is sent and what comes back ----------------------------------------------------------------------


async def test_an_answer_is_given_as_it_is_whatever_its_status() -> None:
    async with serve_pages({"/up": answer(b"fine"), "/down": answer(b"no", 503)}) as pages, open_client() as client:
        up, down = await client.get(pages.url("/up")), await client.get(pages.url("/down"))
    assert (up.status, up.body, down.status, down.body) == (200, b"fine", 503, b"no")
    assert up.seconds > 0


async def test_parameters_are_added_to_the_query() -> None:
    async with serve_pages({}) as pages, open_client() as client:
        await client.get(pages.url("/a?b=1"), {"query": 'up{job="a b"}&x'})
    assert pages.heard[0].startswith("GET /a?b=1&query=up%7Bjob%3D%22a+b%22%7D%26x HTTP/1.1\r\n")


async def test_nothing_tells_who_asks(tmp_path: Path) -> None:
    """Neither the environment's proxy nor its password file is used, and no cookie is given back."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password hunter22\n")
    os.environ["NETRC"] = str(tmp_path / ".netrc")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        os.environ[name] = "http://127.0.0.1:1"
    page = answer(b"ok", set_cookie="session=1; Path=/")
    async with serve_pages({"/": page, "/go": redirect("/")}) as pages, open_client() as client:
        for path in ("/", "/go"):
            await client.get(pages.url(path))
    assert len(pages.heard) == 3
    names = {line.partition(":")[0].lower() for head in pages.heard for line in head.splitlines()[1:] if line}
    assert names == {"host", "user-agent", "accept", "accept-encoding", "connection"}
    assert "User-Agent: Forge\r\n" in pages.heard[0]


async def test_every_request_has_a_connection_of_its_own() -> None:
    """One that is kept would not be looked at again, nor its certificate for another name."""
    keeps = answer(b"ok", connection="keep-alive")
    async with serve_pages({"/": keeps}) as pages, open_client() as client:
        for _ in range(3):
            await client.get(pages.url())
    assert pages.connections == 3


async def test_no_more_requests_run_at_once_than_allowed() -> None:
    running: list[int] = [0]

    async def slowly(writer: asyncio.StreamWriter) -> None:
        running.append(running[-1] + 1)
        await asyncio.sleep(0.02)
        running.append(running[-1] - 1)
        writer.write(answer(b"ok"))

    async with serve_pages({"/": slowly}) as pages, open_client(limits=OutboundLimits(at_once=2)) as client:
        answers = await asyncio.gather(*(client.get(pages.url()) for _ in range(8)))
    assert [each.status for each in answers] == [200] * 8
    assert max(running) <= 2


# --- which addresses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "ftp://page.example/",
        "file:///etc/passwd",
        "gopher://page.example/",
        "//page.example/",
        "page.example",
        "",
        " http://page.example/",
        "http:///path",
        "http://:80/",
        "http:page.example",
        "http://page.example:0/",
        "http://page.example:70000/",
        "http://page.example:x/",
        "http://me:hunter22@page.example/",
        "http://me@page.example/",
        "http://page.example\\@127.0.0.1/",
        "http://page example/",
        "http://page.example/\n",
        "http://page%2eexample/",
        "http://[fe80::1%25eth0]/",
        "http://[::1",
        "http://[1.2.3.4]/",
        "http://256.1.1.1/",
        "http://0177.0.0.1/",
        "http://１２７.0.0.1/",
        "http://ⓛocalhost/",
        "http://٣/",
        "http://\ud800/",
    ],
)
async def test_what_is_no_safe_address_is_refused_before_anything_is_looked_up(url: str) -> None:
    names = Names(page_example=[["1.1.1.1"]])
    async with open_client(resolve=names) as client:
        with pytest.raises(OutboundRefused) as caught:
            await client.get(url)
    assert names.asked == []
    assert "hunter22" not in str(caught.value)


NUMBERS = [
    "127.1",
    "0x7f000001",
    "0x7f.1",
    "2130706433",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
]


@pytest.mark.parametrize("host", [*NUMBERS, "localhost", "LOCALHOST", "[::1]", "[::]", "0", "0.0.0.0"])
@pytest.mark.parametrize("scheme", ["http", "HTTPS"])
async def test_this_machine_is_refused_however_it_is_written(scheme: str, host: str) -> None:
    async with serve_pages({}) as pages, open_client(Allowance()) as client:
        with pytest.raises(OutboundRefused, match=r"not of the internet \((loopback|unspecified)\)") as caught:
            await client.get(pages.url(host=host, scheme=scheme))
    assert pages.heard == []
    assert "FORGE_OUTBOUND_ALLOW" in caught.value.advice


@pytest.mark.parametrize("host", ["127.0.0.1.", "localhost.", "LocalHost.", "localhost.localdomain"])
async def test_another_name_of_this_machine_opens_nothing(host: str) -> None:
    """Whether such a name is found differs from system to system."""
    async with serve_pages({}) as pages, open_client(Allowance()) as client:
        with pytest.raises(OutboundError):
            await client.get(pages.url(host=host))
    assert pages.heard == []


@pytest.mark.parametrize("host", NUMBERS)
async def test_the_same_forms_lead_there_where_that_is_allowed(host: str) -> None:
    async with serve_pages({"/": answer(b"ok")}) as pages, open_client(Allowance.parse("127.0.0.0/8")) as client:
        assert (await client.get(pages.url(host=host))).body == b"ok"


async def test_a_host_is_refused_if_a_single_address_is_inner() -> None:
    names = Names(page_example=[["1.1.1.1", "10.0.0.1"]])
    async with open_client(resolve=names) as client:
        with pytest.raises(OutboundRefused, match=r"http://page\.example:8080 leads to .* \(private\)"):
            await client.get("http://page.example:8080/secret?token=1")


async def test_the_text_for_people_names_no_inner_address_and_no_path(caplog: pytest.LogCaptureFixture) -> None:
    names = Names(page_example=[["10.0.0.1"]])
    async with open_client(resolve=names) as client:
        with caplog.at_level(logging.WARNING), pytest.raises(OutboundRefused) as caught:
            await client.get("http://page.example/secret?token=1")
    assert not any(part in str(caught.value) for part in ("10.0.0.1", "secret", "token"))


async def test_a_name_in_other_letters_is_asked_for_in_ascii() -> None:
    names = Names(**{"xn--bcher-kva.example": [["127.0.0.1"]]})
    async with serve_pages({"/": answer(b"ok")}) as pages, open_client(resolve=names) as client:
        assert (await client.get(pages.url(host="bücher.example"))).status == 200
    assert f"Host: xn--bcher-kva.example:{pages.port}\r\n" in pages.heard[0]


@pytest.mark.parametrize("host", ["nowhere.example", "a..b", f"{'a' * 64}.example"])
async def test_a_host_that_cannot_be_found_did_not_answer(host: str) -> None:
    async with open_client(resolve=Names() if "." in host[1:3] else None) as client:
        with pytest.raises(OutboundFailed, match="cannot be found"):
            await client.get(f"http://{host}/")


async def test_a_name_is_resolved_once_and_the_connection_goes_to_that_address() -> None:
    """The second answer of its name server leads to this machine."""
    names = Names(page_example=[["127.0.0.2"], ["127.0.0.1"]])
    async with (
        serve_pages({"/": answer(b"public")}, host="127.0.0.2") as public,
        serve_pages({"/": answer(b"inner")}, port=public.port) as inner,
        open_client(Allowance.parse("127.0.0.2"), names) as client,
    ):
        assert (await client.get(public.url(host="page.example"))).body == b"public"
        assert names.asked == ["page.example"]
        with pytest.raises(OutboundRefused, match="loopback"):
            await client.get(public.url(host="page.example"))
        assert inner.heard == []
    assert public.heard[0].splitlines()[1] == f"Host: page.example:{public.port}"


async def test_the_next_address_is_tried_where_one_accepts_no_connection() -> None:
    names = Names(page_example=[["127.0.0.3", "127.0.0.1"]])
    async with serve_pages({"/": answer(b"ok")}) as pages, open_client(resolve=names) as client:
        assert (await client.get(pages.url(host="page.example"))).body == b"ok"


# --- certificates ------------------------------------------------------------------------------------------


async def test_the_certificate_must_be_that_of_the_name(tmp_path: Path) -> None:
    server, trust = make_certificate(tmp_path, "page.example")
    names = Names(page_example=[["127.0.0.1"]], other_example=[["127.0.0.1"]])
    async with (
        serve_pages({"/": answer(b"ok")}, tls=server) as pages,
        open_client(resolve=names, trust=trust) as client,
    ):
        assert (await client.get(pages.url(host="page.example", scheme="https"))).body == b"ok"
        with pytest.raises(OutboundFailed, match=r"certificate is not accepted \(Hostname mismatch"):
            await client.get(pages.url(host="other.example", scheme="https"))
    assert pages.names == ["page.example", "other.example"]
    assert len(pages.heard) == 1


async def test_a_dot_at_the_end_is_no_part_of_the_certificate(tmp_path: Path) -> None:
    server, trust = make_certificate(tmp_path, "page.example")
    names = Names(**{"page.example.": [["127.0.0.1"]]})
    async with (
        serve_pages({"/": answer(b"ok")}, tls=server) as pages,
        open_client(resolve=names, trust=trust) as client,
    ):
        assert (await client.get(pages.url(host="page.example.", scheme="https"))).body == b"ok"


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    server, _ = make_certificate(tmp_path, "localhost")
    async with serve_pages({"/": answer(b"ok")}, tls=server) as pages, open_client() as client:
        with pytest.raises(OutboundFailed, match="certificate is not accepted"):
            await client.get(pages.url(host="localhost", scheme="https"))
    assert pages.heard == []


async def test_a_server_that_says_something_else_than_tls_is_said() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"ok"))
        await reader.read()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server, open_client() as client:
        with pytest.raises(OutboundFailed, match="it does not speak TLS"):
            await client.get(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")


async def test_a_server_that_does_not_speak_tls_is_given_up() -> None:
    async with serve_pages({}) as pages, open_client(limits=HASTY) as client:
        with pytest.raises(OutboundFailed, match="could not be connected to: it does not answer"):
            await client.get(pages.url(scheme="https"))


# --- redirects ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_followed(status: int) -> None:
    async with serve_pages({"/a?x=1": redirect("../b", status), "/b": answer(b"ok")}) as pages, open_client() as client:
        assert (await client.get(pages.url("/a"), {"x": "1"})).body == b"ok"


@pytest.mark.parametrize(("hops", "is_read"), [(3, True), (4, False)])
async def test_three_redirects_are_followed(hops: int, is_read: bool) -> None:
    by_path: dict[str, bytes | Write] = {f"/{left}": redirect(f"/{left - 1}") for left in range(1, hops + 1)}
    async with serve_pages({**by_path, "/0": answer(b"ok")}) as pages, open_client() as client:
        if is_read:
            assert (await client.get(pages.url(f"/{hops}"))).body == b"ok"
        else:
            with pytest.raises(OutboundFailed, match="more than 3 redirects"):
                await client.get(pages.url(f"/{hops}"))
    assert len(pages.heard) == 4


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{port}/",
        "//127.0.0.1:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://2130706433:{port}/",
        "http://inner.example:{port}/",
        "https://localhost:{port}/",
        "http://169.254.169.254/latest/meta-data/",
        "http://me:hunter22@127.0.0.2:{port}/",
        "file:///etc/passwd",
    ],
)
async def test_a_redirect_is_looked_at_like_any_address(location: str) -> None:
    names = {"127.0.0.2": [["127.0.0.2"]], "inner.example": [["127.0.0.1"]], "169.254.169.254": [["169.254.169.254"]]}
    here = {host: [["127.0.0.1"]] for host in ("127.0.0.1", "::ffff:127.0.0.1", "2130706433", "localhost")}
    async with (
        serve_pages({}) as inner,
        serve_pages({"/": redirect(location.format(port=inner.port))}, host="127.0.0.2") as public,
        open_client(Allowance.parse("127.0.0.2"), Names(**names, **here)) as client,
    ):
        with pytest.raises(OutboundRefused):
            await client.get(public.url(host="127.0.0.2"))
        assert len(public.heard) == 1
        assert inner.heard == []


async def test_a_redirect_never_leads_from_https_to_http(tmp_path: Path) -> None:
    server, trust = make_certificate(tmp_path, "page.example")
    names = Names(page_example=[["127.0.0.1"]])
    async with (
        serve_pages({"/": answer(b"ok")}) as plain,
        serve_pages({"/": redirect(f"http://page.example:{plain.port}/")}, tls=server) as pages,
        open_client(resolve=names, trust=trust) as client,
    ):
        with pytest.raises(OutboundRefused, match="from https to http"):
            await client.get(pages.url(host="page.example", scheme="https"))
        assert plain.heard == []


async def test_a_redirect_to_nowhere() -> None:
    by_path = {"/none": answer(b"?", 302), "/bad": redirect("http://a:x/"), "/304": answer(b"", 304)}
    async with serve_pages(by_path) as pages, open_client() as client:
        assert (await client.get(pages.url("/none"))).status == 302
        assert (await client.get(pages.url("/304"))).status == 304
        with pytest.raises(OutboundFailed, match="something that is not an address"):
            await client.get(pages.url("/bad"))


# --- where reading ends ------------------------------------------------------------------------------------


async def write_forever(writer: asyncio.StreamWriter) -> None:
    """Chunks without an end, as fast as they are taken."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        await writer.drain()


def dribble(head: bytes, piece: bytes) -> Write:
    """One piece now and then, so that no single wait is long."""

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n" + head)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.02)

    return write


async def stay_silent(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


@pytest.mark.parametrize(
    "answers",
    [dribble(b"Content-Length: 100000\r\n\r\n", b"x"), dribble(b"", b"x: y\r\n"), stay_silent],
    ids=["body", "headers", "silence"],
)
async def test_what_never_ends_is_given_up(answers: Write) -> None:
    async with serve_pages({"/": answers}) as pages, open_client(limits=HASTY) as client:
        with pytest.raises(OutboundFailed, match=r"gave no whole answer within 0\.4 seconds"):
            await client.get(pages.url())


async def test_a_name_server_that_does_not_answer_is_given_up() -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        await asyncio.sleep(60)
        return ()

    async with open_client(resolve=never, limits=HASTY) as client:
        with pytest.raises(OutboundFailed, match="gave no whole answer"):
            await client.get("http://page.example/")


@pytest.mark.parametrize("is_compressed", [False, True])
async def test_a_body_may_be_as_large_as_allowed_and_no_larger(is_compressed: bool) -> None:
    def page(size: int) -> bytes:
        body = b"x" * size
        return answer(gzip.compress(body), content_encoding="gzip") if is_compressed else answer(body)

    async with serve_pages({f"/{size}": page(size) for size in (0, MOST, MOST + 1)}) as pages, open_client() as client:
        for size in (0, MOST):
            assert len((await client.get(pages.url(f"/{size}"))).body) == size
        with pytest.raises(OutboundFailed, match="more than 1,048,576 bytes"):
            await client.get(pages.url(f"/{MOST + 1}"))


async def test_a_body_without_an_end_is_cut() -> None:
    async with serve_pages({"/": write_forever}) as pages, open_client() as client:
        with pytest.raises(OutboundFailed, match="more than 1,048,576 bytes"):
            await client.get(pages.url())


def make_bomb(size: int = 200_000_000) -> bytes:
    """Some 200 kB that become ``size`` bytes."""
    pack = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join(pack.compress(bytes(1_000_000)) for _ in range(size // 1_000_000)) + pack.flush()


async def test_a_body_that_becomes_huge_is_not_decompressed_to_its_end() -> None:
    bomb = make_bomb()
    async with serve_pages({"/": answer(bomb, content_encoding="gzip")}) as pages, open_client() as client:
        tracemalloc.start()
        try:
            with pytest.raises(OutboundFailed, match="more than 1,048,576 bytes"):
                await client.get(pages.url())
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert most < 8_000_000


@pytest.mark.parametrize("coding", ["br", "deflate", "zstd", "gzip, gzip"])
async def test_a_coding_that_was_not_asked_for_is_an_error(coding: str) -> None:
    async with serve_pages({"/": answer(b"x", content_encoding=coding)}) as pages, open_client() as client:
        with pytest.raises(OutboundFailed, match="not asked for"):
            await client.get(pages.url())


@pytest.mark.parametrize(
    "body", [b"not gzip", gzip.compress(b"x" * 100)[:-9], gzip.compress(b"x") * 2], ids=["other", "cut", "two"]
)
async def test_what_cannot_be_decompressed_is_an_error(body: bytes) -> None:
    async with serve_pages({"/": answer(body, content_encoding="gzip")}) as pages, open_client() as client:
        with pytest.raises(OutboundFailed, match="cannot be decompressed"):
            await client.get(pages.url())


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nContent-Length: -\r\n\r\n",
    ],
)
async def test_a_connection_that_breaks_is_said_in_one_sentence(said: bytes) -> None:
    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        writer.close()

    async with serve_pages({"/?token=1": write}) as pages, open_client() as client:
        with pytest.raises(
            OutboundFailed, match=rf"^The connection to http://127\.0\.0\.1:{pages.port} broke \(\w+\)\.$"
        ):
            await client.get(pages.url("/?token=1"))


async def test_nobody_listens() -> None:
    async with serve_pages({}) as pages:
        pass
    async with open_client() as client:
        with pytest.raises(OutboundFailed, match="does not accept connections"):
            await client.get(pages.url())
