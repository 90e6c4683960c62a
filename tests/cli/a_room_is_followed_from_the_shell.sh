#!/bin/sh
# SPDX-License-Identifier: MIT
# Rooms: every verb with its keys in their order, alike on every store; afterwards nothing is left.
. "$(dirname "$0")/lib.sh"
redis_too

cat >wanted_talk <<'EOF'
> room open r capacity=2 linger=60000 now=1000
{"status":"ok","epoch":"E","version":1,"due":61000,"now":1000,"state":"open","capacity":2,"linger":60000,"ttl":0,"away":0,"grace":0,"log":256,"requests":10000,"presence":0,"push":0}
> room open r now=1000
{"status":"same","epoch":"E","version":1,"due":61000,"now":1000,"state":"open","capacity":2,"linger":60000,"ttl":0,"away":0,"grace":0,"log":256,"requests":10000,"presence":0,"push":0}
> room join r ann mic=on "name=Ann B" now=1001
{"status":"ok","epoch":"E","version":2,"due":61000,"now":1001,"member":"ann","members":1,"state":"here","until":null}
> room join r bob now=1002
{"status":"ok","epoch":"E","version":3,"due":61000,"now":1002,"member":"bob","members":2,"state":"here","until":null}
> room join r cid now=1002
{"status":"full","epoch":"E","version":3,"due":61000,"now":1002,"member":"cid","members":2,"state":"absent","until":null,"message":"the room is full"}
> room set r topic 'a "b"' now=1003
{"status":"ok","epoch":"E","version":4,"due":61000,"now":1003,"value":"a \"b\""}
> room set r topic new if=other now=1003
{"status":"stale","epoch":"E","version":4,"due":61000,"now":1003,"value":"a \"b\""}
> room set r a=1 b=2 if_version=4 now=1003
{"status":"invalid","message":"if-version needs epoch=, as returned with that version"}
> room set r a=1 b=2 if_version=4 epoch=0123456789abcdef now=1003
{"status":"stale","epoch":"E","version":4,"due":61000,"now":1003,"value":null}
> room set r a=1 b=2 now=1003
{"status":"ok","epoch":"E","version":5,"due":61000,"now":1003,"value":"1"}
> room get r now=1003
{"status":"ok","epoch":"E","version":5,"due":61000,"now":1003,"fields":{"a":"1","b":"2","topic":"a \"b\""}}
> room get r topic now=1003
{"status":"ok","epoch":"E","version":5,"due":61000,"now":1003,"value":"a \"b\""}
> room unset r topic now=1003
{"status":"ok","epoch":"E","version":6,"due":61000,"now":1003}
> room all r mic off now=1004
{"status":"ok","epoch":"E","version":7,"due":61000,"now":1004,"value":"off"}
> room member r bob mic on now=1004
{"status":"ok","epoch":"E","version":8,"due":61000,"now":1004,"value":"on"}
> room role r speaker ann if='' now=1005
{"status":"ok","epoch":"E","version":9,"due":61000,"now":1005,"holder":"ann"}
> room role r speaker bob if='' now=1005
{"status":"stale","epoch":"E","version":9,"due":61000,"now":1005,"holder":"ann"}
> room share r ann screen kind=window now=1005
{"status":"ok","epoch":"E","version":10,"due":61000,"now":1005,"share":"screen"}
> room snapshot r now=1005
{"status":"ok","epoch":"E","version":10,"due":61000,"now":1005,"fields":{"a":"1","b":"2"},"members":[{"member":"ann","state":"here","since":1001,"fields":{"mic":"off","name":"Ann B"}},{"member":"bob","state":"here","since":1002,"fields":{"mic":"on"}}],"roles":{"speaker":"ann"},"shares":[{"share":"screen","member":"ann","fields":{"kind":"window"}}],"next":null,"all":{"mic":"off"},"state":"open","mark":1624481953698463}
> room snapshot r max=1 now=1005
{"status":"ok","epoch":"E","version":10,"due":61000,"now":1005,"fields":{"a":"1","b":"2"},"members":[{"member":"ann","state":"here","since":1001,"fields":{"mic":"off","name":"Ann B"}}],"roles":{"speaker":"ann"},"shares":[{"share":"screen","member":"ann","fields":{"kind":"window"}}],"next":2,"all":{"mic":"off"},"state":"open","mark":1624481953698463}
> room alive r ann now=1010
{"status":"ok","epoch":"E","version":10,"due":61000,"now":1010,"member":"ann","members":2,"state":"here","until":null,"told":10,"mark":1624481953698463}
> room leave r ann now=1011
{"status":"ok","epoch":"E","version":11,"due":61000,"now":1011,"member":"ann","members":1,"state":"absent","until":null}
> room leave r ann now=1011
{"status":"same","epoch":"E","version":11,"due":61000,"now":1011,"member":"ann","members":1,"state":"absent","until":null}
> room role r speaker '' now=1011
{"status":"same","epoch":"E","version":11,"due":61000,"now":1011,"holder":null}
> room unshare r screen now=1011
{"status":"same","epoch":"E","version":11,"due":61000,"now":1011,"share":"screen"}
> room changes r since=8 now=1011
{"status":"ok","epoch":"E","version":11,"due":61000,"now":1011,"notices":[{"scope":"room/r","epoch":"E","version":9,"verb":"role","subject":"speaker","from":null,"to":null,"data":{"holder":"ann"},"owner":"ann","time":1005,"was":464442870249491,"mark":2411176560908952},{"scope":"room/r","epoch":"E","version":10,"verb":"share","subject":"screen","from":null,"to":null,"data":{"kind":"window"},"owner":"ann","time":1005,"was":2411176560908952,"mark":1624481953698463},{"scope":"room/r","epoch":"E","version":11,"verb":"leave","subject":"ann","from":"here","to":"absent","data":{},"owner":null,"time":1011,"was":1624481953698463,"mark":3570162151949164}],"more":false}
> room changes r since=99 now=1011
{"status":"stale","epoch":"E","version":11,"due":61000,"now":1011,"from":null,"message":"the version does not exist yet"}
> room kick r bob ban=5000 now=1012
{"status":"ok","epoch":"E","version":12,"due":6012,"now":1012,"member":"bob","members":0,"state":"banned","until":6012}
> room lock r now=1013
{"status":"ok","epoch":"E","version":13,"due":6012,"now":1013,"state":"locked"}
> room unlock r now=1013
{"status":"ok","epoch":"E","version":14,"due":6012,"now":1013,"state":"open"}
> room join r cid now=1014
{"status":"ok","epoch":"E","version":15,"due":6012,"now":1014,"member":"cid","members":1,"state":"here","until":null}
> room sweep r ttl=10 now=1030
{"status":"ok","epoch":"E","version":16,"due":6012,"now":1030,"expired":["cid"],"more":false}
> room show r now=1030
{"status":"ok","epoch":"E","version":16,"due":6012,"now":1030,"state":"open","members":0,"created":1000,"capacity":2,"linger":60000,"ttl":0,"away":0,"grace":0,"log":256,"requests":10000,"presence":0,"push":0}
> room stats r now=1030
{"status":"ok","epoch":"E","version":16,"due":6012,"now":1030,"state":"open","members":0,"created":1000,"capacity":2,"roles":0,"shares":0,"joined_total":3,"left_total":1,"lost_total":1,"kicked_total":1,"changes_total":16}
> room digest r
{"status":"ok","epoch":"E","version":16,"due":6012,"now":T,"digest":"D"}
> room open s now=2000
{"status":"ok","epoch":"E","version":1,"due":null,"state":"open","capacity":0,"linger":0,"ttl":0,"away":0,"grace":0,"log":256,"requests":10000,"presence":0,"push":0}
> room list max=1 now=2000
{"status":"ok","epoch":"0","version":0,"due":null,"rooms":["r"],"next":"r","more":true,"created":1000,"partial":false}
> room list after=r now=2000
{"status":"ok","epoch":"0","version":0,"due":null,"rooms":["s"],"next":null,"more":false,"partial":false}
> room patrol w now=2000
{"status":"ok","epoch":"0","version":0,"due":null,"rooms":["s","r"],"next":null,"more":false,"partial":false}
> room patrol w now=2000
{"status":"ok","epoch":"0","version":0,"due":null,"rooms":[],"next":null,"more":false,"partial":false}
> room close r now=2001
{"status":"ok","epoch":"E","version":18,"due":6012,"now":2001,"state":"closed","erased":19,"more":false}
> room close r now=2001
{"status":"same","epoch":"E","version":18,"due":6012,"now":2001,"state":"closed","erased":0,"more":false}
> room close s now=2001
{"status":"ok","epoch":"E","version":3,"due":null,"state":"closed","erased":1,"more":false}
> room get r now=2001
{"status":"missing","epoch":"E","version":18,"due":6012,"now":2001}
> room digest r
{"status":"missing","epoch":"E","version":18,"due":6012,"now":T}
> room list
{"status":"ok","epoch":"0","version":0,"due":null,"rooms":[],"next":null,"more":false,"partial":false}
> room patrol
{"status":"invalid","message":"worker is missing"}
> room list colour=blue
{"status":"invalid","message":"colour is not an argument of `room list`"}
> room join r
{"status":"invalid","message":"member is missing"}
> room set r mic
{"status":"invalid","message":"value is missing"}
> room set r a=1 a=2
{"status":"invalid","message":"fields have a name twice"}
EOF
for store in $STORES; do
    talk "$store" <wanted_talk
done
finish
