#!/bin/sh
# SPDX-License-Identifier: MIT
# Serials by hand: the seed's rule, and numbers without gaps; alike on every store.
. "$(dirname "$0")/lib.sh"
redis_too

cat >wanted_talk <<'EOT'
> serial check ord
{"status":"missing","epoch":"0","version":0,"due":null}
> serial rule ord prefix=O date=%Y%m%d base=1000 max=12 batch=3 now=1699920000000
{"status":"ok","epoch":"E","version":1,"due":null,"prefix":"O","suffix":"","date":"%Y%m%d","width":0,"base":1000,"start":1,"step":1,"radix":10,"check":"none","max":12,"critical":0,"batch":3,"reset":"none","zone":0,"stamp":"take","mode":"queue","overflow":"refuse","lease":300000,"requests":10000,"authority":0,"log":0,"push":0,"cur":0}
> serial fill ord 5 now=1699920000000
{"status":"ok","epoch":"E","version":2,"due":null,"made":5,"left":7}
> serial check ord now=1699920000000
{"status":"ok","epoch":"E","version":2,"due":null,"available":5,"recent":0,"longterm":0,"critical":0,"batch":3,"cur":5,"max":12,"left":7,"taken":0,"target":1,"held":0,"returned":0,"granted":0,"debt":0,"doubt":0}
> serial take ord now=1699920000000
{"status":"ok","epoch":"E","version":3,"due":null,"serials":["O202311141001"]}
> serial take ord n=3 now=1699920000000 req=a
{"status":"ok","epoch":"E","version":4,"due":null,"serials":["O202311141002","O202311141003","O202311141004"]}
> serial take ord n=3 now=1699920000000 req=a
{"status":"ok","epoch":"E","version":4,"due":null,"serials":["O202311141002","O202311141003","O202311141004"],"repeated":true}
> serial take ord n=100 now=1699920000000
{"status":"full","epoch":"E","version":4,"due":null,"serials":[],"left":8,"why":"exhausted"}
> serial take ord n=8 now=1699920000000
{"status":"ok","epoch":"E","version":5,"due":null,"serials":["O202311141005","O202311141006","O202311141007","O202311141008","O202311141009","O202311141010","O202311141011","O202311141012"]}
> serial take ord now=1699920000000
{"status":"empty","epoch":"E","version":5,"due":null,"serials":[],"why":"exhausted"}
> serial fill ord 3 now=1699920000000
{"status":"full","epoch":"E","version":5,"due":null,"made":0,"left":0,"why":"exhausted"}
> serial setmax ord 5 now=1699920000000
{"status":"ok","epoch":"E","version":6,"due":null,"max":17,"cur":12}
> serial take ord n=2 now=1699920000000
{"status":"ok","epoch":"E","version":7,"due":null,"serials":["O202311141013","O202311141014"]}
> serial setmaxcur ord 9007199254740993 now=1699920000000
{"status":"ok","epoch":"E","version":8,"due":null,"cur":"9007199254740993","max":"9007199254740993"}
> serial setmax ord 3 now=1699920000000
{"status":"ok","epoch":"E","version":9,"due":null,"max":"9007199254740996","cur":"9007199254740993"}
> serial take ord now=1699920000000
{"status":"ok","epoch":"E","version":10,"due":null,"serials":["O202311149007199254741994"]}
> serial parse ord O202311141007
{"status":"ok","epoch":"E","version":10,"due":null,"prefix":"O","date":"20231114","number":7,"value":1007,"check":"","suffix":""}
> serial parse ord O202311141x07
{"status":"invalid","message":"serial does not match this rule: its number does not exist"}
> serial rule ord radix=16 now=1699920000000
{"status":"refused","epoch":"E","version":10,"due":null,"why":"kept"}
> serial reserve ord now=1699920000000
{"status":"refused","epoch":"E","version":10,"due":null,"serial":null,"token":"0","until":null,"why":"mode"}
> serial rule inv prefix=INV- date=%Y- width=6 reset=year mode=gapfree check=damm now=1699920000000
{"status":"ok","epoch":"E","version":1,"due":null,"prefix":"INV-","suffix":"","date":"%Y-","width":6,"base":0,"start":1,"step":1,"radix":10,"check":"damm","max":"9223372036854775807","critical":0,"batch":1000,"reset":"year","zone":0,"stamp":"take","mode":"gapfree","overflow":"refuse","lease":300000,"requests":10000,"authority":0,"log":0,"push":0,"cur":0}
> serial reserve inv owner=a now=1699920000000
{"status":"ok","epoch":"E","version":2,"due":1699920300000,"now":T,"serial":"INV-2023-0000012","token":"2","until":1699920300000,"number":1,"state":"held"}
> serial reserve inv lease=1000 now=1699920000000
{"status":"ok","epoch":"E","version":3,"due":1699920001000,"now":T,"serial":"INV-2023-0000020","token":"3","until":1699920001000,"number":2,"state":"held"}
> serial renew inv INV-2023-0000012 token=3 now=1699920000000
{"status":"stale","epoch":"E","version":3,"due":1699920001000,"now":T,"serial":"INV-2023-0000012","until":1699920300000,"number":1,"state":"held","owner":"a"}
> serial renew inv INV-2023-0000012 token=2 now=1699920000000
{"status":"same","epoch":"E","version":3,"due":1699920001000,"now":T,"serial":"INV-2023-0000012","token":"2","until":1699920300000,"number":1,"state":"held"}
> serial return inv INV-2023-0000012 token=2 now=1699920000000
{"status":"ok","epoch":"E","version":4,"due":1699920001000,"now":T,"serial":"INV-2023-0000012","token":"2","until":null,"number":1,"state":"returned"}
> serial return inv INV-2023-0000012 token=2 now=1699920000000
{"status":"same","epoch":"E","version":4,"due":1699920001000,"now":T,"serial":"INV-2023-0000012","token":"2","until":null,"number":1,"state":"returned"}
> serial confirm inv INV-2023-0000012 token=2 now=1699920000000
{"status":"stale","epoch":"E","version":4,"due":1699920001000,"now":T,"serial":"INV-2023-0000012","until":null,"number":1,"state":"returned","owner":null}
> serial show inv INV-2023-0000020 now=1699920000000
{"status":"ok","epoch":"E","version":4,"due":1699920001000,"now":T,"serial":"INV-2023-0000020","token":"3","until":1699920001000,"number":2,"state":"held","owner":null}
> serial show inv INV-2023-0000021
{"status":"invalid","message":"serial has a wrong check digit"}
> serial holds inv now=1699920000000
{"status":"ok","epoch":"E","version":4,"due":1699920001000,"now":T,"holds":[{"serial":"INV-2023-0000020","token":"3","until":1699920001000,"number":2,"state":"held","owner":null},{"serial":"INV-2023-0000012","token":"0","until":null,"number":1,"state":"returned","owner":null}],"more":false,"next":null}
> serial reserve inv now=1699920000000
{"status":"ok","epoch":"E","version":5,"due":1699920001000,"now":T,"serial":"INV-2023-0000012","token":"5","until":1699920300000,"number":1,"state":"held"}
> serial void inv INV-2023-0000012 token=5 now=1699920000000
{"status":"ok","epoch":"E","version":6,"due":1699920001000,"now":T,"serial":"INV-2023-0000012","token":"5","until":null,"number":1,"state":"voided"}
> serial sweep inv now=1699920001000
{"status":"ok","epoch":"E","version":7,"due":null,"expired":1,"more":false}
> serial list
{"status":"ok","epoch":"0","version":0,"due":null,"rules":["inv","ord"]}
> serial delete ord now=1699920001000
{"status":"ok","epoch":"E","version":11,"due":null}
> serial take ord
{"status":"missing","epoch":"E","version":11,"due":null}
> serial digest inv
{"status":"ok","epoch":"E","version":7,"due":null,"digest":"D"}
> serial digest nothing
{"status":"missing","epoch":"0","version":0,"due":null,"digest":"D"}
EOT

: >digests
for store in $STORES; do
    talk "$store" <wanted_talk
    sed -n 's/.*"digest":"\([0-9a-f]*\)".*/\1/p' out.txt >>digests
done
if [ "$(sort -u digests | wc -l)" -ne 2 ]; then
    wrong 'the digest of a rule is the same on every store'
    cat digests
fi

# for people
lines 0 "$USHER" -s sqlite:people.db serial rule r prefix=A max=3
lines 0 "$USHER" -s sqlite:people.db serial take r n=2
holds out.txt 'ok: A1 A2'
lines 2 "$USHER" -s sqlite:people.db serial take r n=0
expect 2 "$USHER" -s sqlite:people.db serial take r n=1000001 <<'EOF'
! usher: invalid: n is not a number from 1 to 1000000
EOF
expect 1 "$USHER" -s sqlite:people.db serial show s <<'EOF'
missing: there is no rule s
EOF
lines 0 "$USHER" -s sqlite:people.db serial rule s
holds out.txt 'ok: prefix= suffix= date= width=0 base=0 start=1 '
lines 0 "$USHER" -s sqlite:people.db serial list now=5 req=x
holds out.txt 'ok: 2 rules: r s'
expect 1 "$USHER" -s sqlite:people.db serial rule r check=luhn <<'EOF'
refused: base, step, radix, mode and the presence of a check digit cannot change after numbers were made
EOF
lines 0 "$USHER" -s sqlite:people.db serial rule g mode=gapfree
lines 0 "$USHER" -s sqlite:people.db serial reserve g
lines 1 "$USHER" -s sqlite:people.db serial confirm g 1 token=1
holds out.txt 'stale: 1 is not held under token 1: 1 is held until 2'
lines 0 "$USHER" -s sqlite:people.db serial show g 1
holds out.txt 'ok: 1 is held under token 2 until 2'
lines 0 "$USHER" -s sqlite:people.db serial reserve g lease=0
expect 0 "$USHER" -s sqlite:people.db serial holds g n=1 after=0.0.2 <<'EOF'
ok: 1 number; 2 is held
EOF
lines 0 "$USHER" -s sqlite:people.db serial holds g n=1
holds out.txt '; more after 0.0.2'
expect 2 "$USHER" -s sqlite:people.db serial holds g after=2 <<'EOF'
! usher: invalid: after is not the `next` of a page
EOF

# An authority that is none: what it granted is given out, but not in silence.
expect 2 "$USHER" -s 'sqlite:people.db?journal=1' serial take r <<'EOF'
! usher: invalid: open: journal=1 needs authority=, which keeps the journal
EOF
lines 0 "$USHER" -s 'sqlite:people.db?authority=sqlite:granted.db' serial rule a prefix=A
lines 0 "$USHER" -s 'sqlite:people.db?authority=sqlite:granted.db' serial take a
expect 0 "$USHER" -s 'sqlite:people.db?authority=sqlite:.' serial take a <<'EOF'
ok: A2
! usher: the authority cannot be reached: numbers and ids that it granted before are issued: cannot be opened: it is a directory
EOF
lines 0 "$USHER" -s 'sqlite:people.db?authority=sqlite:.' serial setmax a 50000
lines 0 "$USHER" -s sqlite:people.db serial take a n=50000
granted='sqlite:people.db?authority=sqlite:granted.db&journal=1'
lines 0 "$USHER" -s "$granted" serial rule j mode=gapfree prefix=J
lines 0 "$USHER" -s "$granted" serial reserve j owner=bob
lines 0 "$USHER" -s "$granted" serial journal j
holds out.txt ' reserve J1 by bob, version 3 of epoch '
lines 0 "$USHER" -s "$granted" serial reserve j
lines 0 "$USHER" -s "$granted" --json serial journal j since=1 max=1
holds out.txt '{"status":"ok","epoch":"0000000000000000","version":0,"due":null,"rows":[{"row":2,'
holds out.txt '"verb":"reserve","number":2,"n":1,"serial":"J2","owner":null,"period":0,'
lines 2 "$USHER" -s sqlite:people.db serial journal j
finish
