#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""any.py -- any command on any store, from the values of usher/command.h.  No line knows a noun.

    any.py URL NOUN VERB [SCOPE] [ARGUMENT...] [KEY=VALUE...]    durations are milliseconds
    any.py URL VERB [KEY=VALUE...]                               of the store as a whole: scopes
    any.py URL <FILE                                             one command a line

The exit status is the worst class of an answer: 0 done, 1 no, 2 wrong, 3 failed.
"""
import os, shlex, sys
from ctypes import *

class About(Structure):    # struct usher_field_about
    _fields_ = [("field", c_uint32), ("type", c_int), ("name", c_char_p), ("word", c_char_p)]
class Verb(Structure):     # struct usher_verb_about
    _fields_ = [("size", c_size_t), ("verb", c_uint32), ("flags", c_uint32)]
class Value(Structure):    # struct usher_value
    _fields_ = [("field", c_uint32), ("size", c_int32), ("number", c_int64), ("text", POINTER(c_char))]
class Command(Structure):  # struct usher_command
    _fields_ = [("verb", c_uint32), ("scope_size", c_int32), ("scope", c_char_p),
                ("values", POINTER(Value)), ("n", c_size_t), ("tag", c_void_p)]
class Reply(Structure):    # struct usher_reply
    _fields_ = [("status", c_int), ("verb", c_uint32), ("tag", c_void_p), ("epoch", c_uint64),
                ("version", c_uint64), ("due_ms", c_int64), ("now_ms", c_int64), ("repeated", c_bool),
                ("more", c_bool), ("replicas", c_uint8), ("n", c_uint8), ("n_rows", c_uint32),
                ("values", POINTER(Value)), ("message", c_char_p)]
CODE, TOKEN, TEXT, WHOLE, ANSWER = 3, 7, 8, 8, c_size_t(-1).value

lib = CDLL(os.environ.get("USHER_LIBRARY", "libusher.so.0"))
lib.usher_about_field.restype, lib.usher_reply_values.restype = POINTER(About), POINTER(Value)
for name in "usher_message", "usher_status_word", "usher_reply_word":
    getattr(lib, name).restype = c_char_p
lib.usher_close.argtypes, lib.usher_reply_done.argtypes = [c_void_p], [c_void_p]
lib.usher_verb_takes.argtypes = [c_uint32, c_size_t, POINTER(c_bool)]
lib.usher_reply_values.argtypes = [c_void_p, c_size_t, POINTER(c_size_t)]
lib.usher_reply_word.argtypes = [c_void_p, c_size_t, c_uint32]
lib.usher_execute.argtypes = [c_void_p, c_void_p, c_size_t, c_int64, c_void_p]

def fail(text):
    print("any.py: " + text, file=sys.stderr)
    return 2

def value(field, word):
    kind = lib.usher_about_field(field).contents.type
    if kind < TEXT and kind != CODE and word.lstrip(b"-").isdigit():
        return Value(field, 0, int(word), None)
    return Value(field, len(word), 0, create_string_buffer(word))  # a code by its word

def show(reply, row, line):
    n = c_size_t()
    values = lib.usher_reply_values(reply, row, byref(n))
    for v in values[:n.value]:
        about = lib.usher_about_field(v.field).contents
        word = v.text[:v.size] if v.text else about.type == CODE and lib.usher_reply_word(reply, row, v.field)
        number = v.number % 2**64 if about.type == TOKEN else v.number
        line += b" %s=%s" % (about.word, word if v.text or word else b"%d" % number)
    sys.stdout.buffer.write(line + b"\n")

def run(engine, words):
    words = [os.fsencode(w) for w in words]
    verb, rest = lib.usher_verb_of(None, words[0]), words[1:]
    if not verb and len(words) > 1:
        verb, rest = lib.usher_verb_of(words[0], words[1]), words[2:]
    about, must, values, bare = Verb(sizeof(Verb)), c_bool(), [], []
    lib.usher_about_verb(verb, byref(about))
    scope = rest.pop(0) if rest and not about.flags & WHOLE else b""
    for word in rest:
        key, equals, text = word.partition(b"=")
        field = equals and lib.usher_field_of(verb, key)
        values.append(value(field, text)) if field else bare.append(word)
    i = 0  # the others stand for what must be given and is not, in order
    while bare and (field := lib.usher_verb_takes(verb, i, byref(must))) and must:
        if all(v.field != field for v in values):
            values.append(value(field, bare.pop(0)))
        i += 1
    values += [Value() for word in bare]  # too many: the library refuses a field that is none
    reply = POINTER(Reply)()
    command = Command(verb, len(scope), scope, (Value * len(values))(*values), len(values), None)
    lib.usher_execute(engine, byref(command), 1, 0, byref(reply))
    if not reply:
        return fail(lib.usher_message().decode())
    r = reply.contents
    show(reply, ANSWER, b"%s version=%d" % (lib.usher_status_word(r.status), r.version))
    for row in range(r.n_rows):
        show(reply, row, b" ")
    if r.message:
        fail(r.message.decode(errors="replace"))
    lib.usher_reply_done(reply)
    return r.status >> 4  # USHER_CLASS_OF()

def main(url, *words):
    engine = c_void_p()
    status = lib.usher_open(os.fsencode(url), None, byref(engine))
    if status != 0:
        fail(lib.usher_message().decode())
        return status >> 4
    lines = [words] if words else (shlex.split(line) for line in sys.stdin)
    worst = max((run(engine, line) for line in lines if line), default=0)
    lib.usher_close(engine)
    return worst

sys.exit(main(*sys.argv[1:]) if sys.argv[1:] else fail("which store?"))
