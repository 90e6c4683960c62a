# SPDX-License-Identifier: MIT
"""Worlds of servers or files, and what happens to them while clients work.

A kind of fault is a method of a world with a mark, `fault(...)`. It begins with a world that is
whole and ends with one that will be whole by itself. What the marks mean:

  loses    the store may go back in time; without it no client may ever get `lost`
  apart    two servers may be masters for a time
  hands    another server, or another file, may go on with the scopes
  first    rank among the faults that come first, so that a short run has them; 0: none of these
  quiet    all clients are parked
  unseen   the store cannot notice it, so less is judged afterwards: such faults come last
"""

import os
import shutil
import time

import servers
from clients import Scopes
from servers import Cable, Cluster, Refused, Server, slot_of, wait_for


def fault(loses=False, apart=False, hands=True, first=0, quiet=False, unseen=False):
    def mark(method):
        method.marks = {"loses": loses, "apart": apart, "hands": hands, "first": first,
                        "quiet": quiet, "unseen": unseen}
        return method
    return mark


class World:
    """What all have in common; @run is the program's Run: load(n), shells, random."""

    def __init__(self, where, run):
        self.where, self.run, self.random = where, run, run.random

    @classmethod
    def kinds(cls):
        return {name.replace("_", " "): getattr(cls, name) for name in dir(cls)
                if hasattr(getattr(cls, name), "marks")}

    def options(self):
        return "?timeout=3000&authority=sqlite:%s&journal=1" % os.path.join(self.where,
                                                                            "authority.db")

    def scopes(self):
        return [Scopes()]

    def wait_whole(self):
        pass

    def failures(self):
        """Return how often the servers themselves have taken one for dead."""
        return 0

    def end(self):
        pass


class ClusterWorld(World):
    """Three masters and three replicas, a set of scopes on each master."""

    name = "cluster"
    cluster = None

    def start(self):
        self.cluster = Cluster(self.where)
        self.cluster.start()
        self.sets = [Scopes(lambda name, i=i: self.cluster.range_of(i)[0] <= slot_of(name) <
                            self.cluster.range_of(i)[1]) for i in range(3)]

    def scopes(self):
        return self.sets

    def url(self, _client):
        return "redis+cluster://" + ",".join("127.0.0.1:%d" % n.port for n in
                                             self.cluster.nodes) + self.options()

    def wait_whole(self):
        self.cluster.wait_whole()

    def end(self):
        if self.cluster is not None:  # else start() has failed
            self.cluster.end()

    def failures(self):
        texts = (b"Marking node", b"FAIL message received")
        n = 0
        for node in self.cluster.nodes:
            with open(node.path("log"), "rb") as log:
                n += sum(any(text in line for text in texts) for line in log)
        return n

    def victim(self):
        slot = slot_of(self.random.choice(self.sets).pool)
        master = wait_for("a master of slot %d" % slot, lambda: self.cluster.master_of(slot))
        replica = wait_for("its replica", lambda: self.cluster.replica_of(master))
        return master, replica

    def lag(self, master, replica):
        """What is written from now on is at @master alone."""
        replica.pause()
        replica.drop_wire()
        master.ask("CLIENT", "KILL", "TYPE", "replica")
        self.run.load(self.random.randrange(100, 400))

    def wait_promoted(self, replica):
        wait_for("a replica to be master", lambda: replica.info("role") == "master")

    def fail_over(self, replica, *how):
        """Have @replica promoted; others may refuse their votes for some time: ask again."""
        until = 0.0
        while replica.info("role") != "master":
            if time.monotonic() > until:
                try:
                    replica.ask("CLUSTER", "FAILOVER", *how)
                except Refused:  # it is a master just now, or its master is away for a moment
                    pass
                until = time.monotonic() + 6  # a failover that did not come about is given up in 5
            time.sleep(0.01)

    @fault(loses=True, first=1)
    def master_killed_after_lag(self):
        master, replica = self.victim()
        self.lag(master, replica)
        master.kill()
        replica.resume()
        self.wait_promoted(replica)
        master.start()

    @fault(loses=True, apart=True, first=2)
    def takeover_after_lag(self):
        master, replica = self.victim()
        wire = servers.Wire(replica.port)
        self.lag(master, replica)
        wire.send("CLUSTER", "FAILOVER", "TAKEOVER")  # done at once when it runs again
        replica.resume()
        wire.receive()
        wire.close()
        self.wait_promoted(replica)

    @fault(loses=True)
    def master_killed(self):
        master, replica = self.victim()
        master.kill()
        self.wait_promoted(replica)
        master.start()

    @fault(loses=True, apart=True)
    def master_stopped_until_failover(self):
        master, replica = self.victim()
        master.pause()
        self.wait_promoted(replica)
        self.run.load(self.random.randrange(10, 60))
        master.resume()

    @fault(loses=True, apart=True)
    def master_stopped_shortly(self):
        master, _ = self.victim()
        master.pause()
        time.sleep(0.2 + self.random.random())
        master.resume()

    @fault(first=3)
    def failover(self):
        _, replica = self.victim()
        self.fail_over(replica)

    @fault(loses=True, apart=True)
    def failover_by_force(self):
        _, replica = self.victim()
        self.fail_over(replica, "FORCE")

    @fault()
    def failover_of_a_paused_master(self):
        master, replica = self.victim()
        master.ask("CLIENT", "PAUSE", self.random.randrange(300, 900), "WRITE")
        self.fail_over(replica)

    @fault(first=4)
    def slot_moved(self):
        """The slot of a pool goes to another master while calls are made."""
        slot = slot_of(self.random.choice(self.sets).pool)
        source = wait_for("its master", lambda: self.cluster.master_of(slot))
        masters = [n for n in self.cluster.nodes if n.info("role") == "master"]
        target = self.random.choice([n for n in masters if n is not source])
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.ask("CLUSTER", "MYID"))
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.ask("CLUSTER", "MYID"))
        while True:
            keys = source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1)
            if not keys:
                break
            source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 20000, "KEYS", *keys)
            self.run.load(5)
        for node in [target, source] + [m for m in masters if m not in (source, target)]:
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", target.ask("CLUSTER", "MYID"))

    @fault()
    def scripts_flushed(self):
        """Every server forgets the scripts, again and again; at times while one fails over."""
        promoted = self.random.choice((None, self.victim()[1]))
        for i in range(20):
            for node in self.cluster.nodes:
                if node.info("role") == "master":
                    node.ask("SCRIPT", "FLUSH")
            if i == 5 and promoted is not None:
                self.fail_over(promoted)
            self.run.load(5)

    @fault(loses=True)
    def master_reborn_empty(self):
        """A master without persistence comes back before another one is elected."""
        master, _ = self.victim()
        self.run.bare(True)
        master.kill()
        master.remove("dump")  # of when it was a replica
        master.start()
        self.run.set_up()
        self.run.bare(False)

    @fault(hands=False)
    def replica_killed(self):
        _, replica = self.victim()
        replica.kill()
        self.run.load(40)
        replica.start()


class PairWorld(World):
    """A master and its replica. Most clients reach them by one of two cables, the others name both.

    The cables are plugged into the master; when there are two masters each has one.
    """

    name = "pair"

    def start(self):
        self.near, self.far = Cable(), Cable()
        self.master, self.replica = Server(self.where), Server(self.where)
        self.master.start()
        self.replica.start()
        self.follow(self.replica, self.master)
        self.wait_whole()
        self.plug(self.master)

    def url(self, client):
        if client % 3 == 2:
            hosts = "127.0.0.1:%d,127.0.0.1:%d" % (self.master.port, self.replica.port)
        else:
            hosts = "127.0.0.1:%d" % (self.near if client % 3 == 0 else self.far).port
        return "redis://" + hosts + self.options()

    def end(self):
        self.master.end()
        self.replica.end()

    def plug(self, server, far=None):
        self.near.plug(server)
        self.far.plug(far or server)

    def follow(self, replica, master):
        """@replica throws away what it has and copies @master."""
        replica.ask("REPLICAOF", "127.0.0.1", master.port)

    def swap(self):
        self.master, self.replica = self.replica, self.master

    def wait_whole(self):
        wait_for("the replica to follow", lambda: self.master.info("role") == "master" and
                 self.replica.info("master_port") == str(self.master.port) and
                 self.replica.info("master_link_status") == "up" and
                 self.replica.has_all_of(self.master))

    def lag(self):
        self.replica.pause()
        self.replica.drop_wire()
        self.master.ask("CLIENT", "KILL", "TYPE", "replica")
        self.run.load(self.random.randrange(100, 400))

    @fault(loses=True, first=4)
    def master_killed_after_lag(self):
        wire = servers.Wire(self.replica.port)
        self.lag()
        self.master.kill()
        wire.send("REPLICAOF", "NO", "ONE")
        self.replica.resume()
        wire.receive()
        wire.close()
        self.swap()
        self.plug(self.master)
        self.run.load(60)
        self.replica.start("--replicaof", "127.0.0.1 %d" % self.master.port)

    def part(self):
        """The replica is promoted, and clients of the far cable go there."""
        self.replica.ask("REPLICAOF", "NO", "ONE")
        self.plug(self.master, self.replica)
        self.run.load(self.random.randrange(100, 250))

    @fault(loses=True, apart=True, first=2)
    def two_masters(self):
        """The old one is demoted, and what it did since then is thrown away."""
        self.part()
        self.follow(self.master, self.replica)
        self.swap()
        self.plug(self.master)

    @fault(loses=True, apart=True, first=7)
    def there_and_back(self):
        """The far one follows, is promoted a second time, and the near one comes back to it."""
        self.part()
        self.follow(self.replica, self.master)
        self.wait_whole()
        self.plug(self.master)
        self.run.load(60)
        self.lag()
        wire = servers.Wire(self.replica.port)
        wire.send("REPLICAOF", "NO", "ONE")
        self.replica.resume()
        wire.receive()
        wire.close()
        self.plug(self.master, self.replica)
        self.run.load(60)
        self.follow(self.master, self.replica)
        self.swap()
        self.plug(self.master)

    @fault(loses=True, apart=True)
    def master_stopped_until_promotion(self):
        """The old master goes on with the commands that had come, until it is demoted."""
        self.master.pause()
        self.replica.ask("REPLICAOF", "NO", "ONE")
        self.far.plug(self.replica)
        self.run.load(self.random.randrange(20, 60))
        self.master.resume()
        self.run.load(self.random.randrange(20, 100))
        self.follow(self.master, self.replica)
        self.swap()
        self.plug(self.master)

    @fault(loses=True, first=3)
    def old_dump(self):
        """A dump of some time ago is put back."""
        self.master.ask("SAVE")
        shutil.copy(self.master.path("dump.rdb"), self.master.path("old"))
        self.run.load(self.random.randrange(100, 400))
        self.master.kill()
        os.replace(self.master.path("old"), self.master.path("dump.rdb"))
        self.master.start()
        self.master.remove("dump")

    @fault(first=9)
    def failover(self):
        self.master.ask("FAILOVER", "TO", "127.0.0.1", self.replica.port)
        wait_for("the failover", lambda: self.replica.info("role") == "master" and
                 self.master.info("role") == "slave")
        self.swap()
        self.plug(self.master)

    @fault(loses=True, first=8)
    def power_cut_with_everysec(self):
        """The server dies, and mostly the end of its append-only file was not on the disk."""
        self.master.ask("CONFIG", "SET", "appendonly", "yes")
        wait_for("the file", lambda: self.master.info("aof_rewrite_in_progress", "persistence") ==
                 "0" and self.master.info("aof_last_bgrewrite_status", "persistence") == "ok" and
                 self.newest_aof())
        self.run.load(60)
        name = self.newest_aof()
        size = os.path.getsize(name)
        self.run.load(self.random.randrange(100, 400))
        self.master.kill()
        if self.random.random() < 0.7:
            with open(name, "ab") as file:
                file.truncate(min(size, os.path.getsize(name)))
        self.master.start("--appendonly", "yes")
        self.run.load(40)
        self.master.ask("CONFIG", "SET", "appendonly", "no")
        self.master.remove("dump")

    def newest_aof(self):
        """Return the file that the server appends to."""
        found = [os.path.join(place, name) for place, _, names in os.walk(self.master.dir)
                 for name in names if name.endswith(".aof") and ".base." not in name]
        return max(found, key=os.path.getmtime) if found else None

    @fault(loses=True, first=1)
    def killed_without_persistence(self):
        """The server comes back empty, and the application sets up its scopes as at each start."""
        self.run.bare(True)
        self.master.kill()
        self.master.remove("dump")  # of when it was a replica
        self.master.start()
        self.run.set_up()
        self.run.bare(False)

    @fault(loses=True, first=6)
    def emptied_by_mistake(self):
        self.run.bare(True)
        self.master.ask("FLUSHALL")
        self.run.set_up()
        self.run.bare(False)

    # Nothing is lost by these.

    @fault(first=5)
    def restarted_with_everything(self):
        """A dump is written and read, or a file is appended to before each answer."""
        if self.random.random() < 0.5:
            self.master.ask("CONFIG", "SET", "appendfsync", "always")
            self.master.ask("CONFIG", "SET", "appendonly", "yes")
            wait_for("the file", lambda: self.newest_aof() and self.master.info(
                "aof_rewrite_in_progress", "persistence") == "0" and self.master.info(
                    "aof_rewrite_scheduled", "persistence") == "0")
            self.run.load(60)
            self.master.kill()
            self.master.start("--appendonly", "yes", "--appendfsync", "always")
            self.run.load(40)
            self.master.ask("CONFIG", "SET", "appendonly", "no")
            self.master.ask("CONFIG", "SET", "appendfsync", "everysec")
        else:
            try:
                self.master.ask("SHUTDOWN", "SAVE")
            except (OSError, Refused):
                pass
            self.master.process.wait()
            self.master.drop_wire()
            self.master.start()
        self.master.remove("dump")

    @fault()
    def backlog_freed_and_first_replica(self):
        """A master without replicas frees its backlog and takes another replication id."""
        before = self.master.info("master_replid")
        self.master.ask("CONFIG", "SET", "repl-backlog-ttl", "1")
        self.replica.kill()
        wait_for("another id", lambda: self.master.info("master_replid") != before)
        self.run.load(40)
        self.master.ask("CONFIG", "SET", "repl-backlog-ttl", "3600")
        self.replica.start("--replicaof", "127.0.0.1 %d" % self.master.port)

    @fault(hands=False)
    def replica_follows_again(self):
        self.replica.kill()
        self.run.load(40)
        self.replica.start("--replicaof", "127.0.0.1 %d" % self.master.port)


class FileWorld(World):
    """A file of SQLite, and copies of it: what usher-sqlite(7) says in RESTORE, and what it warns of."""

    name = "file"

    def start(self):
        self.file = os.path.join(self.where, "store.db")

    def url(self, _client):
        return "sqlite:" + self.file + self.options() + "&sync=normal"

    def copy(self):
        """Copy the file while no program has it open, and have clients go on."""
        self.run.close_shells()
        shutil.copy(self.file, self.file + ".old")
        self.run.open_shells()
        self.go_on()

    def go_on(self):
        self.run.resume()
        self.run.load(self.random.randrange(100, 400))
        self.run.park()

    def put_back(self):
        """As the manual says, or by a rename."""
        self.run.close_shells()
        for end in ("-wal", "-shm"):
            if os.path.exists(self.file + end):
                os.remove(self.file + end)
        if self.random.random() < 0.5:
            os.replace(self.file, self.file + ".before")
            shutil.copy(self.file + ".old", self.file)
        else:
            os.replace(self.file + ".old", self.file)
        self.run.open_shells()

    def write_over(self):
        """Write the copy over the file; the clock of the file system may be coarse."""
        before = os.stat(self.file).st_mtime_ns
        while True:
            shutil.copyfile(self.file + ".old", self.file)
            if os.stat(self.file).st_mtime_ns != before:
                return

    @fault(loses=True, quiet=True, first=1)
    def older_copy_put_back(self):
        self.copy()
        self.put_back()

    @fault(quiet=True)
    def whole_copy_put_back(self):
        self.run.close_shells()
        shutil.copy(self.file, self.file + ".old")
        self.put_back()

    @fault(loses=True, quiet=True, unseen=True)
    def older_copy_written_over(self):
        """It is not noticed; a journal reports serials that come twice."""
        self.copy()
        self.run.close_shells()
        self.run.abandon()
        self.write_over()
        self.run.open_shells()

    @fault(loses=True, quiet=True)
    def older_copy_written_over_and_renamed(self):
        """What the manual says to do before a program uses the store again."""
        self.copy()
        self.run.close_shells()
        self.write_over()
        shutil.copy(self.file, self.file + ".new")
        os.replace(self.file + ".new", self.file)
        self.run.open_shells()

    @fault(loses=True, quiet=True)
    def copy_written_over_while_open(self):
        """The programs notice it, and a copy is put back as the manual says."""
        self.copy()
        self.write_over()
        self.run.all_unavailable()
        self.put_back()

    @fault(quiet=True)
    def part_removed_while_open(self):
        """The programs notice it, and are started again; what they wrote is in the file."""
        part = self.file + self.random.choice(("-shm", "-wal"))
        self.go_on()
        os.remove(part)
        self.run.all_unavailable()
        self.run.close_shells()
        self.run.open_shells()


WORLDS = {world.name: world for world in (ClusterWorld, PairWorld, FileWorld)}
