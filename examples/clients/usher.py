# SPDX-License-Identifier: MIT
"""usher.py -- a client of `usher serve` for Python, in one file and without packages.

    usher = Usher("/run/usher.sock")                 # or Usher(("127.0.0.1", 7000), password="...")
    call = usher.call("number", "call", "sales", owner="ann", lease="60s")
    one = usher.once("serial", "take", "invoices")
    for message in usher.subscribe("queue/support"):
        print(message)

AsyncUsher has the same methods for asyncio: `await usher.call(...)`, `async for message in ...`.

An option that is None is not given.

An answer is the dict that `usher --json` prints.  It has a status (`ok`, `missing`, `refused`, ...),
so only a failure raises: an UsherError, whose `kind` is INVALID, UNAVAILABLE (the command was not
executed), UNKNOWN (it may have been), LOST, NOMEM, or another first word of an error.

The client connects by itself, and again when the connection is lost.  A command that was not sent
waits for that until its deadline (`timeout`, 10 s by default).  One that was sent and not answered
is UNKNOWN, because it may have been executed.  once() gives a command a request id, and repeats it
until its deadline: the server executes it once, whatever is lost.  Verbs that are safe without an
id (`queue alive`, `number renew`, all that read) are repeated with again().

A subscription continues after the last version that it had, also on a new connection.  A message is
a notice, or {"gap": True, "why": ..., "before": ..., "version": ...} if notices are missing: then
read the scope again.  See MESSAGES in usher-serve(8).

Usher is for any number of threads, and has one of its own.
"""
import asyncio
import collections
import concurrent.futures
import json
import queue
import socket
import threading
import time
import uuid

OTHERS = {"subscribe", "unsubscribe", "psubscribe", "hello", "auth", "client", "reset", "quit", "multi"}
PAUSE = 0.05  # seconds before the next connection, or the next try


class UsherError(Exception):
    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class _Push(list):
    pass


class _More(Exception):
    """Not all of a value has come."""


class _Command:
    def __init__(self, words, repeats, future):
        self.bytes, self.repeats, self.future = _packed(words), repeats, future
        self.sent, self.not_before = False, 0
        self.doubt = False  # a try before this one may have been executed


class _Hello:
    pass


class _Subscribing:
    """A SUBSCRIBE that was sent; with sub None, an UNSUBSCRIBE."""

    def __init__(self, sub=None):
        self.sub = sub


def _packed(words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def _words(words, options):
    """The words, with the options before those that are fields."""
    if not words or str(words[0]).lower() in OTHERS:
        raise UsherError("INVALID", "%s is no command to execute" % (words[0] if words else "nothing"))
    if None in words:
        raise UsherError("INVALID", "a word of the command is None")
    fields = words.index("--", 3) if "--" in words[3:] else len(words)
    given = ("%s=%s" % option for option in options.items() if option[1] is not None)
    return [*words[:fields], *given, *words[fields:]]


class _Subscription:
    def __init__(self, client, scope, since, epoch, future):
        self.client, self.scope, self.since, self.epoch, self.future = client, scope, since, epoch, future
        self.name, self.queue = None, client._queue()

    def _position(self):
        return "%s?since=%d" % (self.scope, self.since) + ("&epoch=" + self.epoch if self.epoch else "")

    def _came(self, message):
        if message.get("gap"):  # `gone`: whatever is created next has another epoch
            self.since = message["version"] or 0
            self.epoch = None if message["why"] == "gone" else message["epoch"]
        elif message["verb"] != "lost":
            self.since, self.epoch = message["version"], message["epoch"]
        self.queue.put_nowait(message)


class Subscription(_Subscription):
    def get(self, timeout=None):
        """The next message; None: there is none within @timeout seconds."""
        try:
            return self.queue.get(timeout=timeout)
        except queue.Empty:
            return None

    def __iter__(self):
        while True:
            yield self.queue.get()


class AsyncSubscription(_Subscription):
    async def get(self):
        return await self.queue.get()

    def __aiter__(self):
        return self

    async def __anext__(self):
        return await self.queue.get()


class _Session:
    """The protocol and what waits, without a socket: bytes come to received() and go from `out`."""

    def __init__(self, password, later):
        self.hello = ["HELLO", "3"] + (["AUTH", "default", password] if password else [])
        self.later = later
        self.commands = []  # in order; those that were sent come first
        self.subscriptions = {}  # by scope
        self.out, self.fault, self.ready, self.closed = b"", "no answer yet", False, False

    def connected(self):
        self.bytes, self.ready, self.broken = b"", False, False
        self.expected = collections.deque([_Hello()])  # what the next replies answer
        self.channels = {}
        self.out = _packed(self.hello)

    def lost(self):
        self.ready, self.out, kept = False, b"", []
        for command in self.commands:
            if command.sent and not (command.repeats and not command.future.done()):
                self.fail(command, "the connection was lost before the answer")
            else:
                command.sent, command.doubt = False, command.doubt or command.sent
                kept.append(command)
        self.commands = kept

    # ---- commands

    def put(self, command):
        if self.closed:
            raise UsherError("UNAVAILABLE", "the client is closed")
        self.commands.append(command)
        self.send()

    def send(self):
        for command in self.commands if self.ready else ():
            if not command.sent and command.not_before <= time.monotonic():
                command.sent = True
                self.expected.append(command)
                self.out += command.bytes

    @staticmethod
    def settle(command, value):
        if command.future.done():
            return
        if isinstance(value, UsherError):
            command.future.set_exception(value)
        else:
            command.future.set_result(value)

    def late(self, command):
        """Its deadline is over.  One that is sent stays in its place: its answer may come."""
        self.fail(command, "no answer within the timeout" if self.ready else "not connected: " + self.fault)
        if not command.sent and command in self.commands:
            self.commands.remove(command)

    def fail(self, command, message):
        self.settle(command, UsherError("UNKNOWN" if command.sent or command.doubt else "UNAVAILABLE", message))

    def answered(self, command, value):
        failed = isinstance(value, UsherError) and value.kind in ("UNKNOWN", "UNAVAILABLE")
        if failed and command.repeats and not command.future.done():
            command.sent, command.not_before = False, time.monotonic() + PAUSE
            command.doubt = command.doubt or value.kind == "UNKNOWN"
            self.later(PAUSE + 0.001)
            return
        self.commands.remove(command)
        self.settle(command, value)

    def close(self):
        self.closed = True
        for command in self.commands:
            self.fail(command, "the client was closed")
        for sub in self.subscriptions.values():
            self.settle(sub, UsherError("UNAVAILABLE", "the client was closed"))
        self.commands = []

    # ---- subscriptions

    def subscribe(self, sub):
        if sub.scope in self.subscriptions:
            raise UsherError("INVALID", sub.scope + ": this client has subscribed to it already")
        self.subscriptions[sub.scope] = sub
        if self.ready:
            self.ask(sub)

    def ask(self, sub):
        sub.name = sub._position()
        self.channels[sub.name] = sub
        self.expected.append(_Subscribing(sub))
        self.out += _packed(["SUBSCRIBE", sub.name])

    def unconfirmed(self, sub):
        self.unsubscribe(sub)
        self.settle(sub, UsherError("UNAVAILABLE", "not connected: " + self.fault))

    def unsubscribe(self, sub):
        if self.subscriptions.pop(sub.scope, None) is None or not self.ready:
            return
        self.channels.pop(sub.name, None)
        self.expected.append(_Subscribing())
        self.out += _packed(["UNSUBSCRIBE", sub.name])

    # ---- bytes

    def received(self, data):
        self.bytes += data
        at = 0
        while at < len(self.bytes):
            try:
                value, at = self.read(at)
            except _More:
                break
            if isinstance(value, _Push):
                self.pushed(*value)
            else:
                self.reply(value)
        self.bytes = self.bytes[at:]

    def pushed(self, word, name, text):
        if word == "message":
            if name in self.channels:
                self.channels[name]._came(json.loads(text))
            return
        sub = self.expected.popleft().sub  # the reply to the oldest command
        if sub is not None and not sub.future.done():
            sub.future.set_result(sub)

    def reply(self, value):
        expected = self.expected.popleft() if self.expected else None
        if isinstance(expected, _Command):
            self.answered(expected, value)
        elif isinstance(expected, _Subscribing) and isinstance(value, UsherError) and expected.sub:
            self.subscriptions.pop(expected.sub.scope, None)
            self.settle(expected.sub, value)
        elif isinstance(expected, _Hello) and isinstance(value, UsherError):
            self.fault, self.broken = str(value), True  # the password is wrong: tried again until the deadlines
        elif isinstance(expected, _Hello):
            self.ready = True
            for sub in self.subscriptions.values():
                self.ask(sub)
            self.send()

    def read(self, at):
        """The value at @at and the place after it."""
        end = self.bytes.find(b"\r\n", at)
        if end < 0:
            raise _More
        kind, rest, at = self.bytes[at : at + 1], self.bytes[at + 1 : end], end + 2
        if kind == b"$":
            end = at + int(rest)
            if len(self.bytes) < end + 2:
                raise _More
            return self.bytes[at:end].decode("utf-8", "replace"), end + 2
        if kind in b"*>%":
            values = _Push() if kind == b">" else []
            for _ in range(int(rest) * (2 if kind == b"%" else 1)):
                value, at = self.read(at)
                values.append(value)
            return (dict(zip(values[::2], values[1::2])) if kind == b"%" else values), at
        if kind == b"-":
            word, _, message = rest.decode("utf-8", "replace").partition(" ")
            return UsherError(word, message), at
        simple = {b":": int, b",": float, b"#": lambda b: b == b"t", b"_": lambda _: None}
        return simple.get(kind, bytes.decode)(rest), at


class Usher:
    _queue = queue.SimpleQueue

    def __init__(self, address, password=None, timeout=10):
        self.address, self.timeout = address, timeout
        self.lock, self.sending = threading.Lock(), threading.Lock()
        self.session = _Session(password, self._later)
        self.socket = None
        threading.Thread(target=self._run, daemon=True).start()

    def call(self, *words, **options):
        """Words, and options.  UNKNOWN if the connection breaks before the answer."""
        return self._put(words, options, False)

    def again(self, *words, **options):
        """A command that may be repeated: until it is answered, or its deadline is over."""
        return self._put(words, options, True)

    def once(self, *words, **options):
        """The same for any verb with request ids."""
        return self._put(words, dict(options, req=uuid.uuid4()), True)

    def subscribe(self, scope, since=None, epoch=None):
        """The messages of @scope, "queue/support": after version @since of @epoch, or from now on."""
        if since is None:  # so that a reconnect before the first message misses nothing
            noun, name = scope.split("/", 1)
            now = self.again(noun, "changes", name, max=1)
            since, epoch = 0 if now["status"] == "missing" else now["version"], now.get("epoch")
        sub = Subscription(self, scope, since, epoch, concurrent.futures.Future())
        self._do(self.session.subscribe, sub)
        return self._wait(sub, self.session.unconfirmed)

    def unsubscribe(self, sub):
        self._do(self.session.unsubscribe, sub)

    def close(self):
        self._do(self.session.close)
        if self.socket is not None:
            self._end(self.socket)

    def _put(self, words, options, repeats):
        command = _Command(_words(words, options), repeats, concurrent.futures.Future())
        self._do(self.session.put, command)
        return self._wait(command, self.session.late)

    def _wait(self, one, late):
        try:
            return one.future.result(self.timeout)
        except concurrent.futures.TimeoutError:
            self._do(late, one)
        return one.future.result()

    def _do(self, function, *arguments):
        with self.lock:
            function(*arguments)
        self._flush()

    def _flush(self):
        with self.sending:  # one thread at a time, so that commands stay in order
            with self.lock:
                data, self.session.out, at = self.session.out, b"", self.socket
            try:
                if data and at is not None:
                    at.sendall(data)
            except OSError:
                pass  # the thread notices

    def _later(self, seconds):
        timer = threading.Timer(seconds, self._do, [self.session.send])
        timer.daemon = True
        timer.start()

    @staticmethod
    def _end(at):
        try:
            at.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def _connect(self):
        if isinstance(self.address, tuple):
            at = socket.create_connection(self.address)
            at.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return at
        at = socket.socket(socket.AF_UNIX)
        try:
            at.connect(self.address)
        except OSError:
            at.close()
            raise
        return at

    def _run(self):
        while not self.session.closed:
            try:
                at = self._connect()
                with self.lock:
                    self.socket = at
                    self.session.connected()
                self._flush()
                with at:
                    while not self.session.broken and (data := at.recv(1 << 16)):
                        self._do(self.session.received, data)
            except OSError as error:
                self.session.fault = str(error)
            with self.lock:
                if self.socket is not None:
                    self.session.lost()
                self.socket = None
            time.sleep(PAUSE)


class AsyncUsher:
    """Of one event loop: make it in a coroutine."""

    _queue = asyncio.Queue

    def __init__(self, address, password=None, timeout=10):
        self.address, self.timeout = address, timeout
        self.session = _Session(password, self._later)
        self.writer = None
        self.task = asyncio.get_running_loop().create_task(self._run())

    async def call(self, *words, **options):
        return await self._put(words, options, False)

    async def again(self, *words, **options):
        return await self._put(words, options, True)

    async def once(self, *words, **options):
        return await self._put(words, dict(options, req=uuid.uuid4()), True)

    async def subscribe(self, scope, since=None, epoch=None):
        if since is None:
            noun, name = scope.split("/", 1)
            now = await self.again(noun, "changes", name, max=1)
            since, epoch = 0 if now["status"] == "missing" else now["version"], now.get("epoch")
        sub = AsyncSubscription(self, scope, since, epoch, asyncio.get_running_loop().create_future())
        self._do(self.session.subscribe, sub)
        return await self._wait(sub, self.session.unconfirmed)

    def unsubscribe(self, sub):
        self._do(self.session.unsubscribe, sub)

    async def close(self):
        self.session.close()
        self.task.cancel()
        await asyncio.wait([self.task])

    async def _put(self, words, options, repeats):
        command = _Command(_words(words, options), repeats, asyncio.get_running_loop().create_future())
        self._do(self.session.put, command)
        return await self._wait(command, self.session.late)

    async def _wait(self, one, late):
        await asyncio.wait([one.future], timeout=self.timeout)
        if not one.future.done():
            self._do(late, one)
        return await one.future

    def _do(self, function, *arguments):
        function(*arguments)
        if self.writer is not None and self.session.out:
            self.writer.write(self.session.out)
            self.session.out = b""

    def _later(self, seconds):
        asyncio.get_running_loop().call_later(seconds, self._do, self.session.send)

    async def _run(self):
        while True:
            try:
                if isinstance(self.address, tuple):
                    reader, self.writer = await asyncio.open_connection(*self.address)
                else:
                    reader, self.writer = await asyncio.open_unix_connection(self.address)
                self._do(self.session.connected)
                while not self.session.broken and (data := await reader.read(1 << 16)):
                    self._do(self.session.received, data)
            except OSError as error:
                self.session.fault = str(error)
            finally:
                if self.writer is not None:
                    self.writer.close()
                    self.writer = None
                    self.session.lost()
            await asyncio.sleep(PAUSE)
