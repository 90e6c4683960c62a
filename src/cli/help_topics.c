/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/help.h"

#include <stddef.h>

/* clang-format off */
const struct help_topic usher__help_topics[] = {
    { "stores", "where things are kept: -s STORE",
"A store is named by a URL: -s STORE, else $USHER_STORE, else sqlite:usher.db.\n"
"\n"
"  memory:                        nothing but this process; gone when it ends\n"
"  sqlite:PATH                    one file, any number of processes on one machine;\n"
"                                 ?sync=full (default), normal or off\n"
"  redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]\n"
"  redis+unix:///PATH             one server, any number of machines\n"
"\n"
"Options follow a ? and are joined by &, as in sqlite:a.db?sync=normal&timeout=2000.\n"
"timeout=MS is how long a command may take (5000).  Odd bytes are written %XX.\n"
"A password on the command line can be seen by others on the machine: use $USHER_STORE.\n"
"All stores give the same answers.\n" },

    { "json", "what programs read: --json, and always in the shell",
"With --json, and always in the shell, each command prints one object on one line:\n"
"\n"
"  {\"status\":\"ok\",\"epoch\":\"9b1c…\",\"version\":3,\"number\":\"100\",\"token\":\"3\",…}\n"
"\n"
"status   see `usher help exit`\n"
"epoch    16 hex digits, drawn when the pool came into being; 0 when there is none\n"
"version  of the pool, one more with every change\n"
"\n"
"Then what the verb answers.  Times are Unix milliseconds, 0 or null where there is none.\n"
"A token is always a string, and so is a number beyond 2^53.  Bytes that are not UTF-8\n"
"stand as \\u00NN.  \"repeated\":true at the end marks the kept answer to a request id.\n"
"When nothing came of it (invalid, unavailable, unknown, lost, nomem), there are only\n"
"status and message.  New keys may come, behind the old ones.\n" },

    { "exit", "status words and exit codes",
"  0  ok           done\n"
"     same         already so; nothing changed\n"
"  1  missing      no such thing in this pool\n"
"     refused      not allowed from the current state\n"
"     empty        nothing is free; the answer says why, and until when if that is known\n"
"     full         a limit is reached\n"
"     stale        the token is not the current one; the answer has the current one\n"
"  2  invalid      wrong words; the message names the argument.  Nothing changed\n"
"  3  unavailable  no store; nothing changed\n"
"     unknown      sent, but not answered: it may have been done.  Repeat it with the same\n"
"                  owner or request id\n"
"     lost         the store went back in time\n"
"     nomem        out of memory; nothing changed\n"
"\n"
"Without --json, the messages of the codes 2 and 3 go to standard error.\n"
"`usher check` ends with 1 when it finds a fault.\n" },

    { "arguments", "names, numbers, now=MS and req=ID",
"Arguments come in the order shown, others as key=value; any may be given as key=value.\n"
"\n"
"Names have 1 to 255 bytes of UTF-8 without control characters; names of pools also no\n"
"braces.  Numbers are decimal and in range: what is not is refused, never cut to fit.\n"
"Durations and times are milliseconds, times since 1970.\n"
"\n"
"Every command takes\n"
"\n"
"  now=MS   the time it is, instead of the store's clock.  A pool's time never goes back\n"
"  req=ID   a request id: if a command with this id has changed the pool within the last\n"
"           hour, its answer is given again and nothing is done\n" },

    { "shell", "many commands: usher shell",
"`usher shell` reads one command a line from standard input, as in\n"
"\n"
"  number call desk owner=ann\n"
"\n"
"and prints one object a line.  Lines that have come already share one transaction or one\n"
"round trip.  It goes on after a bad line and ends with 0 at the end of the input; with -e\n"
"it ends at the first line that is not ok or same, with the exit code of that line.\n"
"\n"
"Words are quoted as in a shell:\n"
"\n"
"  'as it is'   \"with \\\" \\\\ \\$ \\` \\n \\r \\t and any byte as \\x41\"   one\\ word\n"
"\n"
"Lines that begin with # and blank lines do nothing.  A line has at most 1 MiB.\n"
"On a terminal lines can be edited, Tab completes words, and `quit` ends it.\n" },

    { "import", "many numbers: usher number import",
"`usher number import POOL FILE` adds the numbers in FILE (- is standard input), one a line.\n"
"Blanks around a number do not count, nor do lines that begin with #.  up=1 registers the\n"
"numbers as well, group=G puts new ones into a group.\n"
"\n"
"The answer counts what was added, what was there (same) and bad lines.  The first ten bad\n"
"lines are told of on standard error; the good ones are imported all the same.  To repeat an\n"
"import is harmless: a number that is there stays as it is.\n" },

    { "replay", "recorded calls again: usher replay FILE",
"Runs recorded calls through a pool of numbers, in virtual time (now=), in two passes:\n"
"\n"
"  own line   each call takes the line it had, by number, and gives it back when it did.\n"
"             A line never has two calls, so nothing is refused if the record is sound\n"
"  any line   each call takes any line that is free\n"
"\n"
"and reports calls, refusals, the most lines busy at once, changes and changes a second.\n"
"Where the record says how long services took, its callers go through a queue as well, and\n"
"what becomes of them stands beside what became of them then.  A caller asks for an agent\n"
"when it did, with its priority and lane, and hangs up after the patience that it had.\n"
"\n"
"Passes use pools of their own, NAME-own and NAME-any, which must have no numbers in them\n"
"before and have none afterwards, and a queue, NAME-queue, with nobody in it (--pool=NAME,\n"
"replay).  A replay that was interrupted leaves its own: delete it or choose another name.\n"
"\n"
"Every call gets an id from a dispenser, NAME-ids, which is deleted then, and every caller who\n"
"asks for an agent a ticket TK-%Y%m%d-NNNNNN by a rule, NAME-tickets.  Tickets begin again at\n"
"midnight; a later replay on the same store goes on behind them.\n"
"\n"
"  --agents=recorded  each agent of the record from its first to its last service of each day\n"
"                     (in UTC), for all lanes; the last one stays while somebody waits\n"
"  --agents=N         or N agents all the time\n"
"  --zone=MIN         midnight is so many minutes east of the times of the record (0)\n"
"  --format=csv       the format of `usher trace`: a header with the names of the columns;\n"
"                     line, arrival_ms and release_ms must be there; service_ms and\n"
"                     patience_ms for the queue, wait_ms and agent for what became of it\n"
"  --format=technion  the call centre records of the Technion's \"Anonymous Bank\"\n"
"  --report=text|json (json is one object on one line; times in milliseconds)\n"
"  --batch=N          commands that go to the store together, 1 to 256 (256).  A call ends by\n"
"                     hangup with its token, or by free of its owner where the answer with\n"
"                     the token is still to come; with 1, each command waits for the answer\n"
"                     to the one before\n"
"\n"
"Without --format the first line decides.  Times without a zone count as UTC.  The queue is\n"
"played in memory first; the store must answer each command as memory did.\n" },

    { "trace", "made-up calls: usher trace",
"Prints calls as CSV.  The same options give the same bytes on every machine.\n"
"\n"
"  --calls=N            exactly N calls spread over the day by its profile\n"
"  --lambda=PER_HOUR    or a Poisson process of this mean rate (100)\n"
"  --agents=N           no day, but a Poisson process of constant rate lambda for N calls (a\n"
"                       day's worth), whose callers wait for N agents\n"
"  --lines=N            lines; a call that finds all busy is left out (50; with --agents\n"
"                       100000)\n"
"  --service=SECONDS    mean of the service time (180)\n"
"  --mu=PER_HOUR        the same as a rate: what one agent can do in an hour\n"
"  --patience=SECONDS   mean of the time a caller would wait (300)\n"
"  --theta=PER_HOUR     the same as a rate\n"
"  --start=YYYY-MM-DD   the day, in UTC (2024-01-01)\n"
"  --seed=N             (1)\n"
"\n"
"The rate follows the hours of the day (percent of the mean, from midnight):\n"
"\n"
"   10   6   4   4   6  14  40 110 170 210 220 200\n"
"  180 170 180 180 170 150 120 100  70  50  24  12\n"
"\n"
"Service and patience are exponential.  A caller takes the lowest free line and holds it from\n"
"arrival to release.  Without --agents nobody waits: release is arrival plus service, and\n"
"patience, priority (15 % have 1) and lane (service 70 %, sales 20 %, support 10 %) are there\n"
"for whoever lets them wait.  With --agents all agents serve all lanes, priority 1 first, then\n"
"first come first served, and wait_ms and agent say what became of a caller (no agent: it hung\n"
"up): the Erlang A model.  `usher replay --agents=N` comes to the same.\n"
"\n"
"Random numbers are splitmix64, one stream a column; exponential ones are made by von\n"
"Neumann's comparison of uniform ones, which needs no logarithm.\n" },

    { "ids", "integers that never come twice: usher id",
"`usher id create NAME` makes a dispenser, `usher id next NAME` gives its ids in strict order,\n"
"to everybody who uses the store.  With n=K it gives K ids that follow on each other: a\n"
"program takes many at once and gives them out itself (struct usher_ids of the library).\n"
"\n"
"Ids are from start (1) up, by (1) apart, to limit (9223372036854775807).  Several sites that\n"
"share nothing have start=1 by=3, start=2 by=3, start=3 by=3.  At the limit `next` is `full`\n"
"and says how many are left from which on.\n"
"\n"
"Given back is only what is newest: `usher id return NAME FIRST N token=T`, with the token of\n"
"the answer that gave it; else it stays a gap.  Gaps are normal, repetition never is.\n"
"\n"
"A dispenser with managed=1 has its segments from elsewhere, by `install`; when one is used\n"
"up, `next` is `empty`.\n" },

    { "examples", "",
"  usher number add desk 5550100            a pool comes into being with its first number\n"
"  usher number reg desk 5550100            and now it can be given out\n"
"  usher number call desk owner=ann lease=60000\n"
"  usher number renew desk 5550100 token=3\n"
"  usher number hangup desk 5550100 token=3\n"
"  usher number import desk numbers.txt up=1 group=berlin\n"
"  usher number call desk owner=bob group=berlin,*\n"
"  usher number set desk order=random rest=5000 daily=80 zone=60\n"
"  usher --json number list desk state=busy+up\n"
"  usher number free desk owner=dead-node   the calls of a node that died\n"
"  usher -s redis://127.0.0.1 number stats desk\n"
"  usher id create orders start=1000\n"
"  usher id next orders n=10\n"
"  usher tables number --dot | dot -Tsvg >number.svg\n"
"  redis-cli SCRIPT LOAD \"$(usher lua number)\"\n"
"  usher trace --calls=5000 >day.csv && usher replay day.csv\n" },

    { NULL, NULL, NULL },
};
/* clang-format on */
