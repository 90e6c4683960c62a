#!/bin/sh
# SPDX-License-Identifier: MIT
# Every verb, byte for byte but for the epoch, alike on every store; and the same state.
. "$(dirname "$0")/lib.sh"
redis_too

cat >wanted_talk <<'EOF'
> number stats p
{"status":"missing","epoch":"0","version":0,"due":null}
> number show p 100
{"status":"missing","epoch":"0","version":0,"due":null,"number":"100","state":"nodata"}
> number list p
{"status":"missing","epoch":"0","version":0,"due":null,"numbers":[],"next":null}
> number set p
{"status":"missing","epoch":"0","version":0,"due":null}
> number call p
{"status":"empty","epoch":"0","version":0,"due":null,"why":"none","next":null}
> number call p number=100
{"status":"missing","epoch":"0","version":0,"due":null,"number":"100","state":"nodata"}
> number hangup p 100
{"status":"missing","epoch":"0","version":0,"due":null,"state":"nodata","until":null}
> number renew p 100 token=1
{"status":"missing","epoch":"0","version":0,"due":null,"state":"nodata","until":null}
> number free p all=1
{"status":"missing","epoch":"0","version":0,"due":null,"freed":0,"more":false}
> number sweep p
{"status":"missing","epoch":"0","version":0,"due":null,"expired":0,"more":false}
> number reg p 100
{"status":"missing","epoch":"0","version":0,"due":null,"state":"nodata"}
> number unreg p 100
{"status":"missing","epoch":"0","version":0,"due":null,"state":"nodata"}
> number del p 100 now=1000
{"status":"same","epoch":"0","version":0,"due":null,"state":"nodata"}
> number add p 100 group=A now=1000
{"status":"ok","epoch":"E","version":1,"due":null,"state":"idle+down"}
> number add p 100 group=B now=1000
{"status":"same","epoch":"E","version":1,"due":null,"state":"idle+down"}
> number call p now=1000
{"status":"empty","epoch":"E","version":1,"due":null,"why":"down","next":null}
> number reg p 100 now=1000
{"status":"ok","epoch":"E","version":2,"due":null,"state":"idle+up"}
> number reg p 100 now=1000
{"status":"same","epoch":"E","version":2,"due":null,"state":"idle+up"}
> number call p owner=a lease=5000 sticky=peer now=1000
{"status":"ok","epoch":"E","version":3,"due":6000,"now":1000,"number":"100","token":"3","until":6000,"state":"busy+up"}
> number call p owner=a now=2000
{"status":"same","epoch":"E","version":3,"due":6000,"now":2000,"number":"100","token":"3","until":6000,"state":"busy+up"}
> number call p owner=b now=2000
{"status":"empty","epoch":"E","version":3,"due":6000,"now":2000,"why":"busy","next":6000}
> number call p number=100 owner=b now=2000
{"status":"refused","epoch":"E","version":3,"due":6000,"now":2000,"number":"100","state":"busy+up","why":"busy","next":6000}
> number show p 100 now=2000
{"status":"ok","epoch":"E","version":3,"due":6000,"now":2000,"number":"100","state":"busy+up","group":"A","owner":"a","token":"3","until":6000,"calls_today":1,"used":1000,"resting":false,"capped":false,"age":1000,"node":null}
> number hangup p 100 token=2 now=2000
{"status":"stale","epoch":"E","version":3,"due":6000,"now":2000,"state":"busy+up","until":6000,"owner":"a"}
> number renew p 100 token=2 now=2000
{"status":"stale","epoch":"E","version":3,"due":6000,"now":2000,"state":"busy+up","until":6000,"owner":"a"}
> number renew p 100 token=3 now=2000 lease=7000
{"status":"ok","epoch":"E","version":4,"due":6000,"now":2000,"state":"busy+up","until":9000}
> number renew p 100 token=3 now=2000 lease=7000
{"status":"same","epoch":"E","version":4,"due":6000,"now":2000,"state":"busy+up","until":9000}
> number unreg p 100 now=2000
{"status":"ok","epoch":"E","version":5,"due":6000,"now":2000,"state":"busy+down"}
> number show p 100 now=2000
{"status":"ok","epoch":"E","version":5,"due":6000,"now":2000,"number":"100","state":"busy+down","group":"A","owner":"a","token":"3","until":9000,"calls_today":1,"used":1000,"resting":false,"capped":false,"age":1000,"node":null}
> number reg p 100 now=2000
{"status":"ok","epoch":"E","version":6,"due":6000,"now":2000,"state":"busy+up"}
> number stats p now=4000
{"status":"ok","epoch":"E","version":6,"due":6000,"now":4000,"total":1,"idle_up":0,"idle_down":0,"busy_up":1,"busy_down":0,"resting":0,"calls_today":1,"refused_today":3,"longest_hold":3000,"capped":0,"mode":"open","calls_total":1,"refused_total":3,"hangups_total":0,"expired_total":0,"freed_total":0}
> number hangup p 100 token=3 rest=3000 now=3000 req=h1
{"status":"ok","epoch":"E","version":7,"due":6000,"now":3000,"state":"idle+up","until":6000}
> number hangup p 100 token=3 rest=3000 now=3000 req=h1
{"status":"ok","epoch":"E","version":7,"due":6000,"now":3000,"state":"idle+up","until":6000,"repeated":true}
> number call p now=3000
{"status":"empty","epoch":"E","version":7,"due":6000,"now":3000,"why":"resting","next":6000}
> number call p number=100 now=3000
{"status":"refused","epoch":"E","version":7,"due":6000,"now":3000,"number":"100","state":"idle+up","why":"resting","next":6000}
> number show p 100 now=3000
{"status":"ok","epoch":"E","version":7,"due":6000,"now":3000,"number":"100","state":"idle+up","group":"A","owner":null,"token":"3","until":6000,"calls_today":1,"used":1000,"resting":true,"capped":false,"age":0,"node":null}
> number show p 100 now=6000
{"status":"ok","epoch":"E","version":7,"due":6000,"now":6000,"number":"100","state":"idle+up","group":"A","owner":null,"token":"3","until":null,"calls_today":1,"used":1000,"resting":false,"capped":false,"age":0,"node":null}
> number sweep p now=6000
{"status":"ok","epoch":"E","version":8,"due":null,"expired":1,"more":false}
> number sweep p now=6000
{"status":"same","epoch":"E","version":8,"due":null,"expired":0,"more":false}
> number set p order=most-recent lease=60000 rest=10 daily=5 zone=60 strict=1 sticky=1000 sticky-max=3 requests=9 now=6000
{"status":"ok","epoch":"E","version":9,"due":null,"order":"most-recent","lease":60000,"rest":10,"daily":5,"zone":60,"strict":1,"sticky":1000,"sticky_max":3,"requests":9,"gap":0,"log":0,"lease_max":0,"outage":0,"mode":"open","push":0}
> number set p strict=1 now=6000
{"status":"same","epoch":"E","version":9,"due":null,"order":"most-recent","lease":60000,"rest":10,"daily":5,"zone":60,"strict":1,"sticky":1000,"sticky_max":3,"requests":9,"gap":0,"log":0,"lease_max":0,"outage":0,"mode":"open","push":0}
> number set p now=6000
{"status":"ok","epoch":"E","version":9,"due":null,"order":"most-recent","lease":60000,"rest":10,"daily":5,"zone":60,"strict":1,"sticky":1000,"sticky_max":3,"requests":9,"gap":0,"log":0,"lease_max":0,"outage":0,"mode":"open","push":0}
> number call p owner=c group=B,A now=6000
{"status":"ok","epoch":"E","version":10,"due":66000,"now":6000,"number":"100","token":"10","until":66000,"state":"busy+up"}
> number call p owner=c group=B now=6000
{"status":"same","epoch":"E","version":10,"due":66000,"now":6000,"number":"100","token":"10","until":66000,"state":"busy+up"}
> number call p owner=d group=B now=6000
{"status":"empty","epoch":"E","version":10,"due":66000,"now":6000,"why":"none","next":null}
> number hangup p 100 now=6000
{"status":"refused","epoch":"E","version":10,"due":66000,"now":6000,"state":"busy+up","until":66000}
> number free p owner=nobody now=6000
{"status":"same","epoch":"E","version":10,"due":66000,"now":6000,"freed":0,"more":false}
> number free p owner=c now=6000
{"status":"ok","epoch":"E","version":11,"due":6010,"now":6000,"freed":1,"more":false}
> number add p 200 now=6000
{"status":"ok","epoch":"E","version":12,"due":6010,"now":6000,"state":"idle+down"}
> number add p 300 group=A now=6000
{"status":"ok","epoch":"E","version":13,"due":6010,"now":6000,"state":"idle+down"}
> number list p now=6000
{"status":"ok","epoch":"E","version":13,"due":6010,"now":6000,"numbers":[{"number":"100","state":"idle+up","group":"A","owner":null,"token":"10","until":6010,"calls_today":2,"used":6000,"resting":true,"capped":false,"age":0,"node":null},{"number":"200","state":"idle+down","group":null,"owner":null,"token":"0","until":null,"calls_today":0,"used":null,"resting":false,"capped":false,"age":0,"node":null},{"number":"300","state":"idle+down","group":"A","owner":null,"token":"0","until":null,"calls_today":0,"used":null,"resting":false,"capped":false,"age":0,"node":null}],"next":null}
> number list p max=1 now=6000
{"status":"ok","epoch":"E","version":13,"due":6010,"now":6000,"numbers":[{"number":"100","state":"idle+up","group":"A","owner":null,"token":"10","until":6010,"calls_today":2,"used":6000,"resting":true,"capped":false,"age":0,"node":null}],"next":"100"}
> number list p after=100 state=idle+down max=1 now=6000
{"status":"ok","epoch":"E","version":13,"due":6010,"now":6000,"numbers":[{"number":"200","state":"idle+down","group":null,"owner":null,"token":"0","until":null,"calls_today":0,"used":null,"resting":false,"capped":false,"age":0,"node":null}],"next":"200"}
> number list p after=200 now=6000
{"status":"ok","epoch":"E","version":13,"due":6010,"now":6000,"numbers":[{"number":"300","state":"idle+down","group":"A","owner":null,"token":"0","until":null,"calls_today":0,"used":null,"resting":false,"capped":false,"age":0,"node":null}],"next":null}
> number list p owner=c now=6000
{"status":"ok","epoch":"E","version":13,"due":6010,"now":6000,"numbers":[],"next":null}
> number del p 200 now=6000
{"status":"ok","epoch":"E","version":14,"due":6010,"now":6000,"state":"nodata"}
> number del p 200 now=6000
{"status":"same","epoch":"E","version":14,"due":6010,"now":6000,"state":"nodata"}
> number show p 200 now=6000
{"status":"missing","epoch":"E","version":14,"due":6010,"now":6000,"number":"200","state":"nodata"}
> number stats p now=6000
{"status":"ok","epoch":"E","version":14,"due":6010,"now":6000,"total":2,"idle_up":1,"idle_down":1,"busy_up":0,"busy_down":0,"resting":1,"calls_today":2,"refused_today":6,"longest_hold":0,"capped":0,"mode":"open","calls_total":2,"refused_total":6,"hangups_total":1,"expired_total":0,"freed_total":1}
> number renew p 300 token=4503599627370496 now=6000
{"status":"lost","message":"the token was issued by a history that the store has lost","from":14}
> number renew p 300 token=4503599627370496 owner=a node=m lease=9000 now=6000
{"status":"ok","epoch":"E","version":15,"due":6010,"now":6000,"state":"busy+down","until":15000,"token":"15"}
> number renew p 300 token=4503599627370496 owner=a node=n lease=9000 now=6000
{"status":"same","epoch":"E","version":15,"due":6010,"now":6000,"state":"busy+down","until":15000,"token":"15"}
> number renew p node=m lease=9500 now=6000
{"status":"ok","epoch":"E","version":16,"due":6010,"now":6000,"renewed":1,"more":false,"next":null}
> number list p node=m now=6000
{"status":"ok","epoch":"E","version":16,"due":6010,"now":6000,"numbers":[{"number":"300","state":"busy+down","group":"A","owner":"a","token":"15","until":15500,"calls_today":1,"used":6000,"resting":false,"capped":false,"age":0,"node":"m"}],"next":null}
> number digest p
{"status":"ok","epoch":"E","version":16,"due":6010,"now":T,"digest":"D"}
> number digest q
{"status":"missing","epoch":"0","version":0,"due":null,"digest":"D"}
> number changes c
{"status":"missing","epoch":"0","version":0,"due":null}
> number add c 1 now=6000
{"status":"ok","epoch":"E","version":1,"due":null,"state":"idle+down"}
> number changes c
{"status":"refused","epoch":"E","version":1,"due":null,"message":"there is no change log: set log=N to keep the last N changes"}
> number set c log=2 lease=500 now=6000
{"status":"ok","epoch":"E","version":2,"due":null,"order":"longest-idle","lease":500,"rest":0,"daily":0,"zone":0,"strict":0,"sticky":604800000,"sticky_max":10000,"requests":10000,"gap":0,"log":2,"lease_max":0,"outage":0,"mode":"open","push":0}
> number reg c 1 now=6000
{"status":"ok","epoch":"E","version":3,"due":null,"state":"idle+up"}
> number changes c since=1 max=1
{"status":"ok","epoch":"E","version":3,"due":null,"notices":[{"scope":"number/c","epoch":"E","version":2,"verb":"set","subject":null,"from":null,"to":null,"data":{"lease":"500","log":"2"},"owner":null,"time":6000}],"more":true}
> number call c owner=ann now=6000
{"status":"ok","epoch":"E","version":4,"due":6500,"now":6000,"number":"1","token":"4","until":6500,"state":"busy+up"}
> number changes c since=1
{"status":"stale","epoch":"E","version":4,"due":6500,"now":T,"from":2}
> number changes c since=5
{"status":"stale","epoch":"E","version":4,"due":6500,"now":T,"from":null,"message":"the version does not exist yet"}
> number changes c since=3
{"status":"ok","epoch":"E","version":4,"due":6500,"now":T,"notices":[{"scope":"number/c","epoch":"E","version":4,"verb":"call","subject":"1","from":"idle+up","to":"busy+up","data":{},"owner":"ann","time":6000,"token":"4","until":6500}],"more":false}
EOF

: >digests
for store in $STORES; do
    talk "$store" <wanted_talk
    sed -n 's/.*"digest":"\([0-9a-f]*\)".*/\1/p' out.txt >>digests
done
if [ "$(sort -u digests | wc -l)" -ne 2 ]; then
    wrong 'the digest of p is the same on every store, and so is that of nothing'
    cat digests
fi
finish
