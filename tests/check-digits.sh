#!/bin/sh
# SPDX-License-Identifier: MIT
# Check digits against another implementation: serials of random numbers, as python3-stdnum judges
# them; and its own numbers, as `serial parse` does.  Run by `make check-long'; USHER_SEED=N.
set -eu
usher=${USHER:-./usher}
seed=${USHER_SEED:-$(date +%s)}

# Debian's module is for Debian's python, which may not be the first one.
python=
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import stdnum' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo 'SKIPPED: python3-stdnum is not installed'
    [ "${USHER_NO_SKIP:-0}" = 0 ] || exit 1
    exit 0
fi
echo "USHER_SEED=$seed"
exec "$python" - "$usher" "$seed" <<'EOF'
import json
import random
import subprocess
import sys

from stdnum import damm, luhn, verhoeff
from stdnum.iso7064 import mod_11_2, mod_37_2

usher, seed = sys.argv[1], int(sys.argv[2])
random.seed(seed)
schemes = {'luhn': luhn, 'mod11-2': mod_11_2, 'mod37-2': mod_37_2, 'damm': damm, 'verhoeff': verhoeff}
TAKE = 2000
lines, expected = [], []


def say(line, judge):
    lines.append(line)
    expected.append(judge)


def valid(scheme):
    def judge(answer):
        serials = answer['serials']
        assert len(serials) == TAKE, answer
        for serial in serials:
            assert schemes[scheme].is_valid(serial), (scheme, serial)
        return len(serials)
    return judge


def status(wanted, count):
    def judge(answer):
        assert answer['status'] == wanted, (wanted, answer)
        return count
    return judge


for scheme, other in schemes.items():
    radix = 36 if scheme == 'mod37-2' else 10
    alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'[:radix]
    for rule in range(20):
        name = '%s-%d' % (scheme, rule)
        base, step = random.randrange(10 ** random.randrange(1, 18)), random.randrange(1, 10 ** random.randrange(1, 7))
        say('serial rule %s check=%s radix=%d base=%d step=%d width=%d' % (
            name, scheme, radix, base, step, random.randrange(19, 41)), status('ok', 0))
        say('serial take %s n=%d' % (name, TAKE), valid(scheme))
    # theirs, sound and with one digit changed, which every scheme finds
    say('serial rule p-%s check=%s radix=%d width=10' % (scheme, scheme, radix), status('ok', 0))
    for _ in range(200):
        number = ''.join(random.choice(alphabet) for _ in range(10))
        whole = number + other.calc_check_digit(number)
        say('serial parse p-%s %s' % (scheme, whole), status('ok', 1))
        at = random.randrange(10)
        spoilt = random.choice([c for c in alphabet if c != whole[at]])
        say('serial parse p-%s %s%s%s' % (scheme, whole[:at], spoilt, whole[at + 1:]), status('invalid', 1))

answers = subprocess.run([usher, '-s', 'memory:', '--json', 'shell'], input='\n'.join(lines) + '\n',
                         stdout=subprocess.PIPE, text=True).stdout.splitlines()
assert len(answers) == len(lines), (len(answers), len(lines))
total = sum(judge(json.loads(answer)) for judge, answer in zip(expected, answers))
print('%d numbers, and both say the same of each' % total)
EOF
