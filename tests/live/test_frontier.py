"""`pollwise frontier` as a process, and gRPC clients: each call, restarts, hostile ones."""

import itertools
import os
import signal
import subprocess
import threading
import time

import grpc
import pytest

from pollwise.frontier import Client, discovered, known
from pollwise.frontier.protocol import urlfrontier_pb2 as protocol

from ..fork_server import ENVIRONMENT, FORKED
from .frontiers import WAIT, FrontierProcess

OK, SKIPPED = protocol.AckMessage.OK, protocol.AckMessage.SKIPPED
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    one = FrontierProcess(tmp_path_factory.mktemp("frontier"))
    yield one
    one.kill()


@pytest.fixture
def client(process):
    with process.client() as one:
        yield one


@pytest.fixture
def crawl():
    """A crawl that no other test has."""
    return f"crawl-{next(NUMBERS)}"


@pytest.fixture
def start(tmp_path):
    started = []

    def starting(*words, **limits):
        started.append(FrontierProcess(tmp_path, *words, **limits))
        return started[-1]

    yield starting
    for one in started:
        one.kill()


def put(client, *items):
    return [ack.status for ack in client.put_urls(items)]


def found(client, crawl, *urls, **more):
    return put(client, *(discovered(url, crawl=crawl, **more) for url in urls))


def got(client, crawl, **more):
    return [info.url for info in client.get_urls(crawl=crawl, **more)]


def code_of(error):
    return error.value.code()


# -------------------------------------------------------------------------- the calls, one by one


def test_list_nodes(process, client):
    assert client.list_nodes() == [f"127.0.0.1:{process.port}"]


def test_crawls(client, crawl):
    assert crawl not in client.list_crawls()
    assert client.delete_crawl(crawl) == 0
    found(client, crawl, "http://a.org/1", "http://a.org/2", "http://b.org/")
    found(client, f"{crawl}b", "http://a.org/1")
    assert {crawl, f"{crawl}b"} <= {*client.list_crawls()}
    assert client.delete_crawl(crawl) == 3
    assert crawl not in client.list_crawls()
    assert got(client, crawl) == []
    assert client.count_urls(crawl=f"{crawl}b") == 1


def test_the_default_crawl(client):
    put(client, discovered("http://default.org/"))
    assert put(client, discovered("http://default.org/", crawl="DEFAULT")) == [SKIPPED]
    stats = client.get_stats()
    assert (stats.crawlID, stats.size, stats.numberOfQueues) == ("DEFAULT", 1, 1)
    assert "DEFAULT" in client.list_crawls()
    assert [info.crawlID for info in client.get_urls(key="default.org")] == ["DEFAULT"]
    assert client.delete_crawl("DEFAULT") == 1


def test_list_queues(client, crawl):
    found(client, crawl, *(f"http://{number}.org/" for number in range(7)))
    put(client, known("http://3.org/", 0, crawl=crawl))
    client.block_queue_until("4.org", int(time.time()) + 1000, crawl)
    assert client.list_queues(crawl) == ["0.org", "1.org", "2.org", "5.org", "6.org"]
    assert len(client.list_queues(crawl, inactive=True)) == 7
    assert client.list_queues(crawl, start=1, size=2) == ["1.org", "2.org"]
    assert client.list_queues(crawl, start=100) == client.list_queues("none") == []


def test_a_page_of_queues_says_where_it_is(process, crawl):
    with process.client() as client, process.channel() as channel:
        found(client, crawl, *(f"http://{number}.org/" for number in range(5)))
        call = channel.unary_unary(
            "/urlfrontier.URLFrontier/ListQueues",
            request_serializer=protocol.Pagination.SerializeToString,
            response_deserializer=protocol.QueueList.FromString,
        )
        page = call(protocol.Pagination(crawlID=crawl, start=3, size=9), timeout=WAIT)
        assert (len(page.values), page.start, page.size, page.total) == (2, 3, 2, 5)
        assert page.crawlID == crawl


def test_put_and_get(client, crawl):
    items = [
        discovered("http://a.org/1", crawl=crawl, metadata={"depth": ["1", "2"]}),
        discovered("http://a.org/1", crawl=crawl),
        discovered("", crawl=crawl),
        protocol.URLItem(ID="nothing"),
        known("http://a.org/done", 0, crawl=crawl),
    ]
    items[2].ID = "mine"
    acks = [(ack.ID, ack.status) for ack in client.put_urls(items)]
    assert acks == [
        ("http://a.org/1", OK),
        ("http://a.org/1", SKIPPED),
        ("mine", SKIPPED),
        ("nothing", SKIPPED),
        ("http://a.org/done", OK),
    ]
    (info,) = client.get_urls(crawl=crawl)
    assert (info.url, info.key, info.crawlID) == ("http://a.org/1", "a.org", crawl)
    assert [*info.metadata["depth"].values] == ["1", "2"]
    assert got(client, crawl) == got(client, crawl, key="none") == got(client, "none") == []


def test_put_nothing(client):
    assert put(client) == []
    assert list(client.put_discovered([])) == []


def test_any_crawl(client, crawl):
    found(client, crawl, f"http://{crawl}.org/")
    assert [info.url for info in client.get_urls(key=f"{crawl}.org")] == [f"http://{crawl}.org/"]


def test_put_discovered(client, crawl):
    def info(url):
        return protocol.URLInfo(url=url, crawlID=crawl)

    batches = [
        protocol.DiscoveredBatch(ID="a", items=map(info, ["http://a.org/1", "", "http://a.org/1"])),
        protocol.DiscoveredBatch(ID="probe"),
        protocol.DiscoveredBatch(
            ID="many", items=[info(f"http://b.org/{number}") for number in range(2500)]
        ),
    ]
    acks = list(client.put_discovered(batches))
    assert [ack.ID for ack in acks] == ["a", "probe", "many"]
    assert [*acks[0].statuses] == [OK, SKIPPED, SKIPPED]
    assert [*acks[1].statuses] == []
    assert [*acks[2].statuses] == [OK] * 2500
    assert client.count_urls(crawl=crawl) == 2501


def test_stats(client, crawl):
    found(client, crawl, "http://a.org/1", "http://a.org/2", "http://b.org/")
    put(client, known("http://b.org/", 0, crawl=crawl))
    assert len(got(client, crawl, key="a.org", urls=1)) == 1
    stats = client.get_stats(crawl=crawl)
    assert (stats.size, stats.inProcess, stats.numberOfQueues) == (2, 1, 2)
    assert dict(stats.counts) == {"completed": 1, "active_queues": 1}
    one = client.get_stats("b.org", crawl)
    assert (one.size, one.numberOfQueues, one.counts["completed"]) == (0, 1, 1)
    none = client.get_stats("none", crawl)
    assert (none.size, none.numberOfQueues, none.crawlID) == (0, 0, crawl)


def test_delete_queue(client, crawl):
    found(client, crawl, "http://a.org/1", "http://a.org/2", "http://b.org/")
    assert client.delete_queue("a.org", crawl) == 2
    assert client.delete_queue("a.org", crawl) == client.delete_queue("", crawl) == 0
    assert client.list_queues(crawl) == ["b.org"]


def test_block(client, crawl):
    found(client, crawl, "http://a.org/")
    client.block_queue_until("a.org", int(time.time()) + 1000, crawl)
    client.block_queue_until("none", 5, crawl)
    assert got(client, crawl) == []
    client.block_queue_until("a.org", 2**64 - 1, crawl)
    client.block_queue_until("a.org", 0, crawl)
    assert got(client, crawl) == ["http://a.org/"]


def test_active(client, crawl):
    found(client, crawl, "http://a.org/")
    try:
        client.set_active(False)
        assert not client.get_active()
        assert got(client, crawl) == []
        assert found(client, crawl, "http://b.org/") == [OK]
    finally:
        client.set_active(True)
    assert client.get_active()
    assert len(got(client, crawl)) == 2


def test_delay(client, crawl):
    found(client, crawl, "http://a.org/1", "http://a.org/2")
    client.set_delay(1000, "a.org", crawl)
    client.set_delay(1000, "none", crawl)
    assert got(client, crawl, key="a.org", urls=1) == ["http://a.org/1"]
    assert got(client, crawl, key="a.org", urls=1) == []
    client.set_delay(0, "a.org", crawl)
    assert got(client, crawl, key="a.org", urls=1) == ["http://a.org/2"]


def test_crawl_limit(client, crawl):
    found(client, crawl, "http://a.org/1", "http://a.org/2")
    client.set_crawl_limit("a.org", 1, crawl)
    assert got(client, crawl, urls=5) == ["http://a.org/1"]
    with pytest.raises(grpc.RpcError) as error:
        client.set_crawl_limit("none", 1, crawl)
    assert code_of(error) is grpc.StatusCode.NOT_FOUND


def test_log_level(process, client, crawl):
    client.set_log_level("DEBUG", "crawlercommons.urlfrontier.service.rocksdb")
    got(client, crawl)
    client.set_log_level("INFO")
    client.set_log_level("ERROR", "some.other.program")
    with pytest.raises(grpc.RpcError) as error:
        client._calls["SetLogLevel"](protocol.LogLevelParams(level=77))  # of a later protocol
    assert code_of(error) is grpc.StatusCode.INVALID_ARGUMENT
    wait_for(lambda: any("GetURLs of ipv4:" in line for line in process.said))


def test_url_status(client, crawl):
    found(client, crawl, "http://a.org/", metadata={"a": ["b"]})
    put(client, known("http://a.org/later", 4_000_000_000, crawl=crawl))
    put(client, known("http://a.org/done", 0, crawl=crawl))
    item = client.get_url_status("http://a.org/", "a.org", crawl)
    assert item.known.refetchable_from_date > 0
    assert item.known.info.metadata["a"].values == ["b"]
    assert item.creation_date == pytest.approx(time.time(), abs=WAIT)
    later = client.get_url_status("http://a.org/later", crawl=crawl)
    assert later.known.refetchable_from_date == 4_000_000_000
    done = client.get_url_status("http://a.org/done", "a.org", crawl)
    assert done.HasField("known")
    assert done.known.refetchable_from_date == 0
    for url, key in (("http://a.org/none", "a.org"), ("http://a.org/", "b.org"), ("", "")):
        with pytest.raises(grpc.RpcError) as error:
            client.get_url_status(url, key, crawl)
        assert code_of(error) is grpc.StatusCode.NOT_FOUND


def test_list_and_count(client, crawl):
    found(client, crawl, *(f"http://a.org/{number:04}" for number in range(1200)))
    found(client, crawl, "http://b.org/News", "http://b.org/news")
    urls = [item.known.info.url for item in client.list_urls(crawl=crawl, size=5000)]
    assert len(urls) == len(set(urls)) == 1202
    assert len(list(client.list_urls(crawl=crawl))) == 100
    part = [item.known.info.url for item in client.list_urls("a.org", crawl, start=1190, size=20)]
    assert part == [f"http://a.org/{number:04}" for number in range(1190, 1200)]
    assert list(client.list_urls("none", crawl)) == list(client.list_urls(crawl="none")) == []
    assert client.count_urls(crawl=crawl) == 1202
    assert client.count_urls("b.org", crawl) == 2
    assert client.count_urls(crawl=crawl, contains="news") == 1
    assert client.count_urls(crawl=crawl, contains="NEWS", ignore_case=True) == 2
    assert client.count_urls(crawl=crawl, contains="%") == client.count_urls("none", crawl) == 0
    told = [item.known.info.url for item in client.list_urls(crawl=crawl, contains="News")]
    assert told == ["http://b.org/News"]


def test_purge(client, crawl):
    found(client, crawl, "http://a.org/")
    assert client.purge_urls(1, crawl=crawl) == client.purge_urls(0, "none", crawl) == 0
    assert client.count_urls(crawl=crawl) == 1
    assert client.purge_urls(2**32 - 1, "a.org", crawl) == 0


def test_a_call_that_there_is_not(process):
    with process.channel() as channel:
        call = channel.unary_unary("/urlfrontier.URLFrontier/GetSomething")
        with pytest.raises(grpc.RpcError) as error:
            call(b"", timeout=WAIT)
        assert code_of(error) is grpc.StatusCode.UNIMPLEMENTED


def test_bytes_that_are_no_message(process, client, crawl):
    with process.channel() as channel:
        call = channel.stream_stream("/urlfrontier.URLFrontier/PutURLs")
        with pytest.raises(grpc.RpcError):
            list(call(iter([b"\xff\xff\xff"]), timeout=WAIT))
    assert found(client, crawl, "http://a.org/") == [OK]


# ----------------------------------------------------------- as the protocol's own tests have it


def test_never_again(client, crawl):
    put(client, known("http://key.com/", 0, key="key.com", crawl=crawl))
    assert got(client, crawl, key="key.com", urls=1) == []


def test_the_earlier_date_comes_first(client, crawl):
    now = int(time.time())
    put(
        client,
        known("http://key.com/later", now, key="key.com", crawl=crawl),
        known("http://key.com/sooner", now - 10_000, key="key.com", crawl=crawl),
    )
    urls = got(client, crawl, key="key.com", urls=2)
    assert urls == ["http://key.com/sooner", "http://key.com/later"]


def test_a_url_is_given_out_again_when_its_lease_has_ended(client, crawl):
    assert found(client, crawl, "http://key.com/", "http://key.com/") == [OK, SKIPPED]
    assert got(client, crawl, key="key.com", urls=1, lease=1) == ["http://key.com/"]
    assert got(client, crawl, key="key.com", urls=1, lease=1) == []
    wait_for(lambda: client.get_stats("key.com", crawl).inProcess == 0)
    wait_for(lambda: got(client, crawl, key="key.com", urls=1) == ["http://key.com/"])


def test_a_dump_can_be_read_in_again(client, crawl):
    found(client, crawl, "http://a.org/1", metadata={"source": ["seed"]})
    put(client, known("http://a.org/2", 0, crawl=crawl))
    put(client, known("http://a.org/3", 4_000_000_000, crawl=crawl))
    dump = list(client.list_urls(crawl=crawl))
    assert client.delete_crawl(crawl) == 3
    assert put(client, *dump) == [OK] * 3
    again = list(client.list_urls(crawl=crawl))
    assert [item.known for item in again] == [item.known for item in dump]


# ------------------------------------------------------------------------------------ concurrency


def in_threads(count, work):
    results, errors = [], []

    def run(number):
        try:
            results.append(work(number))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * WAIT)
    assert not errors
    assert len(results) == count
    return results


def wait_for(condition):
    give_up_at = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.05)


def test_the_gate_holds_for_clients_side_by_side(process, client, crawl):
    found(client, crawl, *(f"http://a.org/{number}" for number in range(100)))
    client.set_delay(3600, "a.org", crawl)

    def work(number):
        with process.client() as own:
            return got(own, crawl, urls=3, **({"key": "a.org"} if number % 2 else {}))

    given = in_threads(12, work)
    assert sorted(map(len, given)) == [0] * 11 + [3]


def test_no_url_is_given_out_twice(process, client, crawl):
    found(client, crawl, *(f"http://{n % 50}.org/{n}" for n in range(2000)))
    for number in range(50):
        client.set_delay(0, f"{number}.org", crawl)

    def work(_):
        with process.client() as own:
            return [url for _ in range(20) for url in got(own, crawl, urls=7, lease=3600)]

    given = [url for urls in in_threads(6, work) for url in urls]
    assert len(given) == len(set(given))


# --------------------------------------------------------------------------------------- restarts


def test_a_kill_under_load_loses_nothing(start):
    process = start("--db", "kept.db")
    acked: list[list[str]] = [[] for _ in range(3)]
    leased: list[str] = []

    def load(number):
        urls = (f"http://{number}-{n % 20}.org/{n}" for n in itertools.count())
        with process.client() as own:
            try:
                for ack in own.put_urls(discovered(url, crawl="c") for url in urls):
                    assert ack.status == OK
                    acked[number].append(ack.ID)
            except grpc.RpcError:
                return

    def take():
        with process.client() as own:
            try:
                while True:
                    leased.extend(got(own, "c", urls=2, lease=3600))
            except grpc.RpcError:
                return

    threads = [threading.Thread(target=load, args=(n,), daemon=True) for n in range(3)]
    threads.append(threading.Thread(target=take, daemon=True))
    with process.client() as client:
        client.set_delay(0)
    for thread in threads:
        thread.start()
    wait_for(lambda: min(map(len, acked)) > 1000 and len(leased) > 100)
    process.kill()
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive()
    process.start()
    with process.client() as client:
        kept = {item.known.info.url for item in client.list_urls(crawl="c", size=10**6)}
        assert {url for urls in acked for url in urls} <= kept
        again = got(client, "c", lease=3600)
        assert not set(again) & set(leased)
        # What was leased just when it died may be known to nobody.
        assert len(again) + len(leased) >= len(kept) - 1000
        stats = client.get_stats(crawl="c")
        assert stats.inProcess == stats.size == len(kept)


def test_settings_and_leases_survive_a_kill(start):
    process = start()
    with process.client() as client:
        put(client, *(discovered(f"http://{host}.org/{n}") for host in "abcd" for n in range(3)))
        client.set_delay(1000, "a.org")
        client.block_queue_until("b.org", int(time.time()) + 1000)
        client.set_crawl_limit("c.org", 1)
        client.set_delay(0)
        assert len(got(client, "", urls=1, lease=1000)) == 3
    process.kill()
    process.start()
    with process.client() as client:
        assert got(client, "", key="a.org") == got(client, "", key="b.org") == []
        assert got(client, "", key="c.org") == []
        assert got(client, "", key="d.org") == ["http://d.org/1", "http://d.org/2"]
        client.set_active(False)
    process.kill()
    process.start()
    with process.client() as client:
        assert not client.get_active()


def set_delays(client, times):
    for number in range(times):
        client.set_delay(number)


def test_a_full_disk(start):
    """What cannot be written is not acknowledged; when there is space again all goes on."""
    process = start(largest_file=2_000_000)
    kept = []
    with process.client() as client:
        for number in range(50):
            items = (discovered(f"http://{number}.org/{n}", metadata=LONG) for n in range(100))
            acks = list(client.put_urls(items))
            kept += [ack.ID for ack in acks if ack.status == OK]
            if any(ack.status == protocol.AckMessage.FAIL for ack in acks):
                break
        else:
            pytest.fail("the disk was not full")
        with pytest.raises(grpc.RpcError) as error:
            set_delays(client, 10_000)
        assert code_of(error) is grpc.StatusCode.UNAVAILABLE
        assert client.get_stats().numberOfQueues > 0
    process.largest_file = None
    process.end(signal.SIGTERM)
    process.start()
    with process.client() as client:
        there = {item.known.info.url for item in client.list_urls(size=10**6)}
        assert set(kept) <= there
        assert found(client, "", "http://again.org/") == [OK]


def test_it_ends_when_asked_to(start):
    for number in (signal.SIGTERM, signal.SIGINT):
        process = start("--db", f"{number}.db")
        with process.client() as client:
            found(client, "", "http://a.org/")
        assert process.end(number) == 0
        assert "Traceback" not in "".join(process.said)


def test_a_hangup_ends_it_at_a_terminal_only(start):
    """At a terminal it died of it, with a line as if it had not begun."""
    controlling, terminal = os.openpty()
    try:
        process = start("--db", "a.db", hung_up=True, terminal=os.ttyname(terminal))
        assert process.end(signal.SIGHUP) == 0
        assert "stopping" in process.said[-1]
    finally:
        os.close(controlling)
        os.close(terminal)
    process = start("--db", "b.db", hung_up=True)
    process.process.send_signal(signal.SIGHUP)
    assert process.end(signal.SIGTERM) == 0
    assert any("restart it" in line for line in process.said)


def test_an_open_stream_does_not_keep_it_from_ending(start):
    process = start()
    ended = threading.Event()
    with process.channel() as channel:
        call = channel.stream_stream("/urlfrontier.URLFrontier/PutURLs")
        answers = call(iter(ended.wait, True), timeout=WAIT)
        assert answers is not None
        assert process.end(signal.SIGTERM) == 0
        ended.set()


# --------------------------------------------------------------------------------- unusable input


def refused(folder, *words):
    ended = subprocess.run(
        [*FORKED, "frontier", *words],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=WAIT * 3,
    )
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    return ended.stderr


def test_a_port_that_is_taken(process, tmp_path):
    elsewhere = "; give another --port or --host"
    told = refused(tmp_path, "--port", str(process.port))
    assert f"cannot be listened on (Address already in use){elsewhere}" in told
    told = refused(tmp_path, "--port", "0", "--host", "no.such.host.invalid")
    assert "no.such.host.invalid:0 cannot be listened on (" in told
    assert f"){elsewhere}" in told
    assert elsewhere in refused(tmp_path, "--port", "0", "--host", "\udc80")
    assert list(tmp_path.iterdir()) == []  # not even an empty file


def test_a_file_that_is_in_use_or_none_of_ours(process, tmp_path):
    assert "is in use" in refused(process.folder, "--port", "0")
    (tmp_path / "text").write_text("text " * 1000)
    assert "choose another file" in refused(tmp_path, "--db", "text")
    assert "choose another" in refused(tmp_path, "--db", "none/frontier.db")


# -------------------------------------------------------------------------------- hostile clients


def test_streams_that_are_held_open(process, client, crawl):
    """They keep nobody from being served."""
    ended = threading.Event()
    with process.channel() as channel:
        call = channel.stream_stream(
            "/urlfrontier.URLFrontier/PutURLs",
            request_serializer=protocol.URLItem.SerializeToString,
        )

        def one_and_wait():
            yield discovered("http://held.org/", crawl=crawl)
            ended.wait(WAIT)

        streams = [call(one_and_wait(), timeout=WAIT) for _ in range(50)]
        for stream in streams:
            next(stream)
        assert found(client, crawl, "http://a.org/") == [OK]
        assert sorted(got(client, crawl)) == ["http://a.org/", "http://held.org/"]
        ended.set()


async def test_no_more_than_a_thousand_calls(start):
    """One more is refused, and the others go on."""
    process = start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{process.port}") as channel:
        put_urls = channel.stream_stream(
            "/urlfrontier.URLFrontier/PutURLs",
            request_serializer=protocol.URLItem.SerializeToString,
            response_deserializer=protocol.AckMessage.FromString,
        )
        get_active = channel.unary_unary("/urlfrontier.URLFrontier/GetActive")
        calls = [put_urls(timeout=2 * WAIT) for _ in range(1000)]
        for number, call in enumerate(calls):
            await call.write(discovered(f"http://a.org/{number}"))
        for call in calls:
            assert (await call.read()).status == OK
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await get_active(b"", timeout=WAIT)
        assert code_of(error) is grpc.StatusCode.RESOURCE_EXHAUSTED
        for call in calls:
            await call.done_writing()
        for call in calls:
            assert await call.code() is grpc.StatusCode.OK
    with process.client() as client:
        assert client.count_urls() == 1000


def test_an_answer_that_nobody_reads(process, client, crawl):
    """Only what could be sent is leased, and it is given out again when its time has run out."""
    found(client, crawl, *(f"http://{n % 100}.org/{n}" for n in range(20_000)), metadata=LONG)
    with process.channel() as channel:
        call = channel.unary_stream(
            "/urlfrontier.URLFrontier/GetURLs",
            request_serializer=protocol.GetParams.SerializeToString,
        )
        answers = call(protocol.GetParams(crawlID=crawl, delay_requestable=1), timeout=WAIT)
        next(answers)
        before = process.resident
        wait_for(lambda: client.get_stats(crawl=crawl).inProcess > 0)
        assert client.get_stats(crawl=crawl).inProcess < 10_000
        assert process.resident < before + 50_000_000
        answers.cancel()
    wait_for(lambda: client.get_stats(crawl=crawl).inProcess == 0)
    wait_for(lambda: any("were not reported in time" in line for line in process.said))
    assert any("URLs given to ipv4:127.0.0.1:" in line for line in process.said)
    assert client.delete_crawl(crawl) == 20_000


LONG = {"what": ["x" * 1000]}


def test_acknowledgements_that_nobody_reads(process, client, crawl):
    """The sender has to wait, and the memory of the process is bounded."""
    sent = itertools.count()
    ended = threading.Event()

    def items():
        for number in sent:
            if ended.is_set():
                return
            item = discovered(f"http://a.org/{number}", crawl=crawl)
            item.ID = "x" * 10_000
            yield item

    before = process.resident
    with process.channel() as channel:
        call = channel.stream_stream(
            "/urlfrontier.URLFrontier/PutURLs",
            request_serializer=protocol.URLItem.SerializeToString,
        )
        stream = call(items(), timeout=WAIT)
        last = -1
        while (count := client.count_urls(crawl=crawl)) != last or not count:
            last = count
            time.sleep(1.0)
        assert process.resident < before + 100_000_000
        ended.set()
        stream.cancel()
    client.delete_crawl(crawl)


def test_nonsense_is_skipped_and_told_of(process, client, crawl):
    nonsense = [
        discovered("x" * 100_000, crawl=crawl),
        discovered("http://a.org/", key="k" * 1000, crawl=crawl),
        discovered("http://a.org/", crawl=crawl, metadata={"a": ["x" * 100_000]}),
        known("://", 2**64 - 1, crawl=crawl),
        known("http://a.org/\n\0", 1, crawl=crawl, metadata={"status": ["-1"], "etag": []}),
    ]
    assert put(client, *nonsense) == [SKIPPED, SKIPPED, SKIPPED, SKIPPED, OK]
    wait_for(lambda: any("1 URLs taken, 4 skipped" in line for line in process.said))


@pytest.mark.timeout(1200)
def test_half_a_million_urls(start):
    process = start()
    with process.client(timeout=1000) as client:
        found(client, "", "http://a.org/")
        before = process.resident
        batches = (
            protocol.DiscoveredBatch(
                items=[
                    protocol.URLInfo(url=f"http://{n % 5000}.org/{n}")
                    for n in range(begin, begin + 5000)
                ]
            )
            for begin in range(0, 500_000, 5000)
        )
        assert sum(len(ack.statuses) for ack in Client.put_discovered(client, batches)) == 500_000
        assert process.resident < before + 200_000_000
        assert client.count_urls() == 500_001
