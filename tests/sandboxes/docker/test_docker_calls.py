"""Calls of the engine's API."""

from __future__ import annotations

import io
import os
import tarfile
import threading
from types import SimpleNamespace

import anyio
import pytest
from docker.errors import APIError, ImageNotFound, NotFound
from support.engine_containers import LABEL, image, running

from control_tower.sandboxes.docker.calls import EngineCalls, calls_at_once, engine_calls
from control_tower.sandboxes.docker.engine import engine
from control_tower.sandboxes.errors import SandboxRefused


class FakeApi:
    """An engine whose answers wait for `gate`; it counts how many do so at once."""

    base_url = "http+docker://localhost"
    api_version = "1.45"

    def __init__(self, gate=lambda: None):
        self.gate = gate
        self.urls = []
        self.most = self._now = 0
        self._lock = threading.Lock()

    def request(self, method, url, **_):
        with self._lock:
            self.urls.append((method, url))
            self._now += 1
            self.most = max(self.most, self._now)
        self.gate()
        with self._lock:
            self._now -= 1
        return SimpleNamespace(raise_for_status=lambda: None, content=b"{}", json=lambda: {})


def test_as_many_calls_as_allowed_run_at_once_and_no_more():
    together = threading.Barrier(3, timeout=30)  # broken unless three are there at once
    api = FakeApi(together.wait)
    calls = EngineCalls(api, None, 3)

    async def body():
        async with anyio.create_task_group() as group:
            for number in range(9):
                group.start_soon(calls.inspect, str(number))

    anyio.run(body)
    assert len(api.urls) == 9
    assert api.most == 3


def test_a_call_that_is_cancelled_is_over_when_the_engine_has_answered():
    asked, answer, answered = threading.Event(), threading.Event(), threading.Event()

    def gate():
        asked.set()
        answer.wait(30)
        answered.set()

    calls = EngineCalls(FakeApi(gate), None, 1)

    async def body():
        async with anyio.create_task_group() as group:
            group.start_soon(calls.start, "c")
            await anyio.to_thread.run_sync(asked.wait)
            group.cancel_scope.cancel()
            answer.set()
        assert answered.is_set()

    anyio.run(body)


def test_names_cannot_change_what_is_asked():
    api = FakeApi()
    anyio.run(EngineCalls(api, None, 1).inspect, "../info?x=1")
    assert api.urls == [("GET", "http+docker://localhost/v1.45/containers/..%2Finfo%3Fx%3D1/json")]


@pytest.mark.parametrize(("chosen", "number"), [(None, 16), ("", 16), ("3", 3), (" 40 ", 40)])
def test_the_number_at_once_is_a_setting(chosen, number, monkeypatch):
    monkeypatch.delenv("CT_ENGINE_CALLS", raising=False)
    if chosen is not None:
        monkeypatch.setenv("CT_ENGINE_CALLS", chosen)
    assert calls_at_once() == number


@pytest.mark.parametrize("chosen", ["0", "-1", "many", "1.5", "257", "²", "٣", "9" * 23])
def test_a_number_that_is_none_is_refused(chosen, monkeypatch):
    monkeypatch.setenv("CT_ENGINE_CALLS", chosen)
    with pytest.raises(SandboxRefused, match=f"CT_ENGINE_CALLS='{chosen}' .* 1 to 256"):
        calls_at_once()


@pytest.mark.docker
def test_a_container_s_life():
    async def body():
        command = ["sh", "-c", "echo first; echo last >&2; exec sleep infinity"]
        async with running(Cmd=command) as (calls, container):
            await calls.start(container)  # once more is no error
            state = await calls.inspect(container)
            assert state["State"]["Running"]
            assert state["Config"]["Cmd"] == command
            label = [f"{key}={value}" for key, value in LABEL.items()]
            assert container in [c["Id"] for c in await calls.containers({"label": label})]
            await calls.put(container, "/tmp", _archive("note", b"text"))
            assert sorted((await calls.logs(container)).split()) == ["first", "last"]
            assert (await calls.logs(container, tail=1)).split() != ["first", "last"]
            with engine() as client:
                client.containers.get(container).kill()
            assert not (await calls.inspect(container))["State"]["Running"]
            assert container in [c["Id"] for c in await calls.containers({"label": label})]
        with pytest.raises(NotFound):
            await calls.inspect(container)

    anyio.run(body)


@pytest.mark.docker
def test_networks_and_volumes():
    name = f"ct-test-{os.urandom(6).hex()}"

    async def body():
        calls = engine_calls()
        network = await calls.create_network(name, Internal=True, Labels=LABEL)
        try:
            async with running(host={"NetworkMode": "bridge"}) as (_, container):
                await calls.connect(network, container, {"Aliases": ["shop"]})
                ends = (await calls.inspect(container))["NetworkSettings"]["Networks"]
                assert "shop" in ends[name]["Aliases"]
                with pytest.raises(APIError, match="active endpoints"):
                    await calls.remove_network(network)
            assert [n["Id"] for n in await calls.networks({"name": [name]})] == [network]
        finally:
            await calls.remove_network(network)
        assert await calls.networks({"name": [name]}) == []
        assert await calls.create_volume(name, Labels=LABEL) == name
        assert [v["Name"] for v in await calls.volumes({"name": [name]})] == [name]
        await calls.remove_volume(name)
        assert await calls.volumes({"name": [name]}) == []

    anyio.run(body)


@pytest.mark.docker
def test_a_refusal_has_the_engine_s_words():
    async def body():
        with pytest.raises(ImageNotFound, match="control-tower-none"):
            await engine_calls().create_container({"Image": "control-tower-none:1"}, "ct-test-none")
        with pytest.raises(APIError) as caught:
            await engine_calls().create_container({"Image": image(), "HostConfig": 3}, "ct-test-n")
        assert caught.value.status_code == 400

    anyio.run(body)


def _archive(name: str, contents: bytes) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.size = len(contents)
        tar.addfile(member, io.BytesIO(contents))
    return archive.getvalue()
