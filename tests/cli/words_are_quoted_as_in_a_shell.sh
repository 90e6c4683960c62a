#!/bin/sh
# SPDX-License-Identifier: MIT
# Words of shell lines: quotes, backslashes, escapes, comments, CRLF.  The names come back in
# the answer, so what was understood is seen.
. "$(dirname "$0")/lib.sh"

sed 's/~$//' >quoted <<'EOF'
> number show p 'it is, "so"'
{"status":"missing","epoch":"0","version":0,"due":null,"number":"it is, \"so\"","state":"nodata"}
> number show p "a \"b\" \\ \$ \` c"
{"status":"missing","epoch":"0","version":0,"due":null,"number":"a \"b\" \\ $ ` c","state":"nodata"}
> number show p "\x41\xc3\xa9\x42"
{"status":"missing","epoch":"0","version":0,"due":null,"number":"AéB","state":"nodata"}
> number show p a'b'"c"d\ e\'\"\\
{"status":"missing","epoch":"0","version":0,"due":null,"number":"abcd e'\"\\","state":"nodata"}
> number show p 'a\x41'
{"status":"missing","epoch":"0","version":0,"due":null,"number":"a\\x41","state":"nodata"}
> number show p a\x41
{"status":"missing","epoch":"0","version":0,"due":null,"number":"ax41","state":"nodata"}
>   	 number	show   p    $HOME;*|&<>(   	 ~
{"status":"missing","epoch":"0","version":0,"due":null,"number":"$HOME;*|&<>(","state":"nodata"}
> number show p #1
{"status":"missing","epoch":"0","version":0,"due":null,"number":"#1","state":"nodata"}
> number show p number=now=5
{"status":"missing","epoch":"0","version":0,"due":null,"number":"now=5","state":"nodata"}
> number show p a=b
{"status":"missing","epoch":"0","version":0,"due":null,"number":"a=b","state":"nodata"}
> number show p ''
{"status":"invalid","message":"number is empty"}
> number show p "\x00"
{"status":"invalid","message":"number contains a NUL byte"}
> number show p "1\x002"
{"status":"invalid","message":"number contains a NUL byte"}
> number show "p\x00" 1
{"status":"invalid","message":"line contains a NUL byte"}
> number show p 1 now="1\x00"
{"status":"invalid","message":"line contains a NUL byte"}
> number digest p now="1\x00"
{"status":"invalid","message":"line contains a NUL byte"}
> room set r v "a\x00b" w="\x00"
{"status":"missing","epoch":"0","version":0,"due":null}
> room open r now=1
{"status":"ok","epoch":"E","version":1,"due":null,"state":"open","capacity":0,"linger":0,"ttl":0,"away":0,"grace":0,"log":256,"requests":10000,"presence":0,"push":0}
> room set r v "a\x00b" w="\x00" now=1
{"status":"ok","epoch":"E","version":2,"due":null,"value":"a\u0000b"}
> room get r now=1
{"status":"ok","epoch":"E","version":2,"due":null,"fields":{"v":"a\u0000b","w":"\u0000"}}
> room set r v "x" if="a\x00c" now=1
{"status":"stale","epoch":"E","version":2,"due":null,"value":"a\u0000b"}
> room set r v "x" if="a\x00b" now=1
{"status":"ok","epoch":"E","version":3,"due":null,"value":"x"}
> number show p "\xg0"
{"status":"invalid","message":"line has a backslash in quotes that is not an escape"}
> number show p "\x4"
{"status":"invalid","message":"line has a backslash in quotes that is not an escape"}
> number show p "\q"
{"status":"invalid","message":"line has a backslash in quotes that is not an escape"}
> number show p "a
{"status":"invalid","message":"line has an open \""}
> number show p "a\
{"status":"invalid","message":"line has a backslash in quotes that is not an escape"}
> number show p 'a
{"status":"invalid","message":"line has an open '"}
> number show p a\
{"status":"invalid","message":"line ends in a backslash"}
> number show p "\n"
{"status":"invalid","message":"number contains invalid UTF-8 or a control character"}
> number show p "\xff"
{"status":"invalid","message":"number contains invalid UTF-8 or a control character"}
> number show "p\xff\x01\x80" 1
{"status":"invalid","message":"pool contains invalid UTF-8 or a control character"}
> number "\xff\x01" p
{"status":"invalid","message":"`number` has no verb `\u00ff\u0001`; `usher help number` lists them"}
EOF
talk memory: <quoted

# Comments and blank lines say nothing; CRLF is a line's end; the last line needs none.
printf '# number\n\n   \t\n  # more\r\nnumber show p 1\r\nnumber show p "2"' >in
expect 0 "$USHER" -s memory: shell <<'EOF'
{"status":"missing","epoch":"0","version":0,"due":null,"number":"1","state":"nodata"}
{"status":"missing","epoch":"0","version":0,"due":null,"number":"2","state":"nodata"}
EOF
finish
