"""A server on this machine that speaks the chat protocol of OpenAI, with faults on demand."""

import json
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REASONING = 1000
"""Tokens of a model that reasons before it answers, about."""
BOMB = zlib.compress(bytes(1 << 26))
PROSE = "I would say this is a four out of five."


def by_length(data):
    """Rate a longer reply higher; of two replies prefer the longer, else the first."""
    if "first" in data:
        better = "second" if len(data["second"]) > len(data["first"]) else "first"
        return {"reason": "longer", "better": better}
    text = data.get("reply") or " ".join(turn["text"] for turn in data["conversation"])
    return {"reason": "by its length", "rating": min(5, 1 + len(text.split()) // 4)}


def gullible(data):
    """Give what a text asks for, else rate it by length."""
    answer = by_length(data)
    if "rating" in answer and "5" in str(data.get("reply")):
        answer = {"reason": "as it says", "rating": 5}
    return answer


class StubEndpoint(ThreadingHTTPServer):
    """Answers at :attr:`url`.

    ``judge`` gives the JSON of an answer from the judged data, ``written`` the text that a model
    makes of it. ``faults`` are taken one by one by the first requests, ``once`` is that of each
    distinct question when it is asked first, ``always`` that of all later requests.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, judge=by_length, *, written=str, faults=(), once="", always="", delay=0.0):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.judge, self.written, self.once, self.delay = judge, written, once, delay
        self.requests, self.keys, self.times = [], [], []
        self.elsewhere = ""
        self.open = self.most_open = 0
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.model = f"openai:stub@{self.url}"
        self._asked = set()
        self._lock = threading.Lock()
        self.reset(faults, always)

    def reset(self, faults=(), always=""):
        """Take other faults from now on."""
        self._faults = iter(faults)
        self.always = always

    def take(self, request):
        """Note a request and return its fault."""
        with self._lock:
            self.requests.append(request)
            self.times.append(time.monotonic())
            self.open += 1
            self.most_open = max(self.most_open, self.open)
            question = str(request.get("messages"))
            is_new = question not in self._asked
            self._asked.add(question)
            fault = self.once if is_new and self.once else self.always
            return next(self._faults, fault)

    def handle_error(self, request, client_address):
        """Say nothing of connections that a test has broken."""

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def shutdown_request(self, request):
        """Close a connection also where a handler did already."""
        request.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a small answer must not wait for an acknowledgement
    wbufsize = -1

    def log_message(self, *_):
        """Say nothing."""

    def do_POST(self):
        server = self.server
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.keys.append(self.headers["Authorization"])
        fault = server.take(request)
        try:
            time.sleep(server.delay)
            self._chat(request, fault)
        finally:
            with server._lock:
                server.open -= 1

    def _chat(self, request, fault):
        status, _, seconds = fault.partition(" for ")
        if status.isdecimal():
            headers = {"Retry-After": seconds} if seconds else {}
            error = {"error": {"message": self.server.written("sorry")}}
            return self._send(int(status), json.dumps(error), headers)
        if fault == "redirect":
            return self._send(307, "", {"Location": f"{self.server.elsewhere}/chat/completions"})
        if fault.startswith("no ") and (field := fault[3:]) in request:
            error = ["Bad Request", "max_completion_tokens instead"][field == "max_tokens"]
            return self._send(400, json.dumps({"error": error}))
        if fault == "bomb":
            return self._send(200, BOMB, {"Content-Encoding": "deflate"})
        if fault == "flood":
            self._send(200, "", {"Content-Length": str(1 << 40)})
            while True:  # until the connection is closed
                self.wfile.write(b"x" * 65536)
        if fault == "closed":
            self.close_connection = True
            self.connection.close()
            return None
        if fault == "slow":
            time.sleep(1.5)
        longest = request.get("max_tokens") or request["max_completion_tokens"]
        if fault == "short context" and longest > REASONING // 2:
            return self._send(400, '{"error": {"message": "max_tokens is too large"}}')
        data = json.loads(request["messages"][-1]["content"])
        text = self.server.written(json.dumps(self.server.judge(data)))
        text = {
            "prose": PROSE,
            "cut": text[: len(text) // 2],
            "out of range": '{"reason": "very good", "rating": 11}',
            "two objects": text + '\n{"reason": "or else", "rating": 5}',
            "reasons": f"<think>{'hm, ' * REASONING}</think>{text}",
            "short context": f"<think>{'hm, ' * REASONING}</think>{text}",
        }.get(fault, text)
        is_cut = fault in ("reasons", "short context") and longest < REASONING
        if is_cut:
            text = text[:longest]
        reason = "length" if is_cut else "stop"
        message = {"message": {"role": "assistant", "content": text}, "finish_reason": reason}
        choices = [message] * {"two answers": 2, "no answer": 0}.get(fault, 1)
        usage = {"prompt_tokens": 100, "completion_tokens": 2.5 if fault == "odd usage" else 20}
        body = json.dumps({"choices": choices, "usage": usage})
        return self._send(200, body[: len(body) // 2] if fault == "truncated" else body)

    def _send(self, status, body, headers=None):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        # JSON is written in ASCII.
        self.wfile.write(body if isinstance(body, bytes) else body.encode())
