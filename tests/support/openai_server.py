"""A server on loopback that speaks OpenAI's chat completions, and answers from a script."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

INPUT_TOKENS, OUTPUT_TOKENS = 70, 30
"""What every reply says it used."""
KEY = "key-of-the-scripted-server"
"""The API key it wants."""


@dataclass(frozen=True)
class Reply:
    """A reply of the model."""

    text: str | None = None
    calls: tuple[tuple[str, str], ...] = ()
    """Of each tool call, the tool's name and its arguments as they go over the wire."""
    refusal: str | None = None
    finish: str = "stop"


@dataclass(frozen=True)
class Fault:
    """An HTTP error."""

    status: int
    message: str
    retry_after: float | None = None
    """Seconds."""
    code: str | None = None
    """The provider's word for it."""


@dataclass(frozen=True)
class Drop:
    """The connection ends without an answer, or with half of one."""

    reply: Reply | None = None
    """What is sent half."""


@dataclass(frozen=True)
class Vanish:
    """The connection ends without an answer, and no other is accepted from then on."""


Step = Reply | Fault | Drop | Vanish


def calls(tool: str, **arguments: str) -> Reply:
    """A reply with one tool call."""
    return calls_raw(tool, json.dumps(arguments))


def calls_raw(tool: str, arguments: str) -> Reply:
    """A reply with one tool call, whose arguments need not be JSON."""
    return Reply(calls=((tool, arguments),), finish="tool_calls")


def refuses(text: str) -> Reply:
    """The model refuses; the provider's field for that is set."""
    return Reply(refusal=text)


def filtered(text: str) -> Reply:
    """The provider's content filter has cut the reply off."""
    return Reply(text=text, finish="content_filter")


def rate_limited(*, retry_after: float | None) -> Fault:
    """HTTP 429."""
    return Fault(429, "Rate limit reached for requests", retry_after=retry_after)


@dataclass(frozen=True)
class Request:
    """A request that was answered."""

    script: str
    body: dict[str, Any]
    step: Step


class OpenAIServer:
    """The server; to be used in a `with` statement.

    Args:
        scripts: the steps of each conversation, by a text in it that the others do not have. Each
            request takes the next step; the last is taken again and again.
    """

    def __init__(self, scripts: Mapping[str, Sequence[Step]]) -> None:
        self.requests: list[Request] = []
        """In the order in which they came; also those that got no answer."""
        self.problems: list[str] = []
        """What no script says how to answer."""
        self._left = {name: list(steps) for name, steps in scripts.items()}
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.05}
        )

    @property
    def url(self) -> str:
        """The base URL to give to a client."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def steps_of(self, script: str) -> list[Step]:
        """How its requests were answered, in order."""
        return [request.step for request in self.requests if request.script == script]

    def take(self, body: dict[str, Any]) -> Step:
        """The answer to this request, which is recorded."""
        said = json.dumps(body["messages"])
        with self._lock:
            names = [name for name in self._left if name in said]
            if len(names) != 1:
                self.problems.append(f"scripts {names} fit {said[:2000]}")
                return Fault(400, "no script fits")
            steps = self._left[names[0]]
            step = steps.pop(0) if len(steps) > 1 else steps[0]
            self.requests.append(Request(script=names[0], body=body, step=step))
            return step


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], scripted: OpenAIServer) -> None:
        super().__init__(address, _Handler)
        self.scripted = scripted

    def vanish(self) -> None:
        """Accept nothing any more. Not for the thread that serves."""
        self.shutdown()
        self.socket.close()


class _Handler(BaseHTTPRequestHandler):
    """One request a connection, as HTTP 1.0 has it."""

    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            self._send(404, _error(f"there is no {self.path}"))
        elif self.headers["Authorization"] != f"Bearer {KEY}":
            self._send(401, _error("Incorrect API key provided"))
        else:
            self._take(body)

    def _take(self, body: dict[str, Any]) -> None:
        step = self.server.scripted.take(body)
        if isinstance(step, Reply):
            self._send(200, _completion(step, body["model"]))
        elif isinstance(step, Fault):
            self._send(step.status, _error(step.message, step.code), retry_after=step.retry_after)
        elif isinstance(step, Vanish):
            self.server.vanish()
        elif step.reply is not None:
            self._send(200, _completion(step.reply, body["model"]), share=0.5)

    def _send(
        self,
        status: int,
        answer: dict[str, Any],
        *,
        retry_after: float | None = None,
        share: float = 1.0,
    ) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        self.end_headers()
        self.wfile.write(content[: int(len(content) * share)])

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing on the terminal."""


def _completion(reply: Reply, model: str) -> dict[str, Any]:
    message = {
        "role": "assistant",
        "content": reply.text,
        "refusal": reply.refusal,
        "tool_calls": [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": given}}
            for n, (name, given) in enumerate(reply.calls)
        ]
        or None,
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
        "usage": {
            "prompt_tokens": INPUT_TOKENS,
            "completion_tokens": OUTPUT_TOKENS,
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    }


def _error(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "error", "param": None, "code": code}}
