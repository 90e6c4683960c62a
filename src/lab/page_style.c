/* SPDX-License-Identifier: MIT */
/* The style of a page, and its beginning and end.  On paper it is light and without the tables of
 * plots. */
#include "config.h"

#include "lab/page.h"

/* Blue is the replay, orange the record; shape and dashes say the same without colour. */
static const char *const style[] = {
    ":root{--bg:#fff;--text:#111b24;--dim:#4a5a69;--line:#d8dfe5;--rec:#b3540a;"
    "--rep:#1467ad;--grey:#8793a0;--ok:#0b6b57;--no:#a3241d;--h1:#eaf2f9;--h2:#bcd6ec;"
    "--h3:#7fb0da;--h4:#2f78b7;--h5:#0c3f70;--tl:#111b24;--td:#fff;--h0:#f3f5f7}\n",
    "@media(prefers-color-scheme:dark){:root{--bg:#11171d;--text:#eaf0f5;--dim:#a3b3c2;"
    "--line:#2b3743;--rec:#f2a35e;--rep:#69b4ef;--grey:#8493a1;--ok:#5ad1b3;--no:#ff9c84;"
    "--h1:#16222d;--h2:#1d4468;--h3:#2f78b7;--h4:#7fb0da;--h5:#d9eaf8;--tl:#fff;"
    "--td:#0b1a28;--h0:#171d23}}\n",
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1180px;padding:28px 30px 60px;"
    "background:var(--bg);color:var(--text);"
    "font:16px/1.5 system-ui,\"Segoe UI\",Roboto,\"Noto Sans\",\"DejaVu Sans\",sans-serif;"
    "font-variant-numeric:tabular-nums}\n",
    "h1{overflow-wrap:anywhere;font-size:1.9rem;line-height:1.2;margin:0 0 .3rem}h2{"
    "font-size:1.25rem;margin:2.6rem 0 .2rem;padding-top:.6rem;"
    "border-top:2px solid var(--line)}p{margin:.3rem 0 .8rem;max-width:75ch}"
    ".sub,figcaption,caption,.note{color:var(--dim);font-size:.9rem}\n",
    "dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(230px,1fr));gap:14px;"
    "margin:1.4rem 0}dl div{border:1px solid var(--line);border-radius:8px;"
    "padding:10px 16px}dt{color:var(--dim);font-size:.9rem}dd{margin:0;font-size:1.25rem;"
    "white-space:nowrap}dd span{color:var(--rec)}dd b{color:var(--rep);font-size:1.9rem}"
    "dd i{color:var(--dim);font-style:normal}\n",
    "table{border-collapse:collapse;font-size:.92rem;margin:.5rem 0}th,td{"
    "padding:.22rem .8rem;text-align:right;border-bottom:1px solid var(--line);"
    "white-space:nowrap}thead th{color:var(--dim);font-weight:500;vertical-align:bottom;"
    "white-space:normal}tbody th{text-align:left;font-weight:500}thead th:first-child{"
    "text-align:left}.keys tbody th:first-child{padding-left:0}\n",
    ".rec{color:var(--rec)}.rep{color:var(--rep)}text.s{text-anchor:start!important}.up{color:var(--ok);font-weight:600}.up::after{content:\" \\2713\"}.dn{"
    "color:var(--no);font-weight:600}.dn::after{content:\" !\"}\n",
    "figure{margin:.8rem 0;min-width:0}svg{display:block;width:100%;height:auto}details{"
    "margin:.4rem 0;overflow-x:auto}summary{cursor:pointer;color:var(--dim);"
    "font-size:.9rem;width:fit-content}summary:focus-visible{"
    "outline:3px solid var(--rep)}\n",
    ".two{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:10px 34px;"
    "align-items:start}.kf{"
    "grid-template-columns:minmax(0,1.4fr) minmax(0,1fr)}@media screen and (max-width:860px){.two{"
    "grid-template-columns:minmax(0,1fr)}body{padding:16px}figure,.keys{overflow-x:auto}"
    "figure svg{min-width:520px}table{font-size:.85rem}th,td{padding:.2rem .45rem}"
    "tbody th{white-space:normal}}\n",
    ".key{display:flex;flex-wrap:wrap;gap:.2rem 1.4rem;font-size:.9rem;color:var(--dim)}"
    ".key span{display:inline-flex;align-items:center;gap:.45em}.key svg{width:1.9em;"
    "height:.85em;flex:none}\n",
    "text{font-size:12px;fill:var(--text)}text.l,tspan.l{fill:var(--dim)}text.c{"
    "text-anchor:middle}text.e{text-anchor:end}text.b{font-weight:700;font-size:14px;"
    "text-anchor:end}text.b2{font-weight:700;fill:var(--text)}text.b2 tspan{"
    "font-weight:400}\n",
    ".grid{stroke:var(--line);stroke-width:1}.ax,.tk{stroke:var(--grey);stroke-width:1;"
    "fill:none}.rl,.pl,.gl,.kl,.al,.cl{fill:none;stroke-width:2;stroke-linejoin:round}"
    ".rl{stroke:var(--rec);stroke-dasharray:5 3}.pl{stroke:var(--rep)}.gl{"
    "stroke:var(--grey);stroke-width:1.5}.kl{stroke:var(--text);stroke-width:1.3}\n",
    ".ra,.raf{fill:var(--rec)}.pa,.paf{fill:var(--rep)}.raf,.paf{opacity:.16}.gaf,.kaf{"
    "fill:var(--grey);opacity:.18}.rd{fill:var(--rec)}.pd{fill:var(--rep)}.rb{"
    "fill:var(--rec);opacity:.75}.kb{fill:var(--rep)}.err{stroke:var(--text);"
    "stroke-width:1.3}\n",
    ".tgt{stroke:var(--text);stroke-width:1;stroke-dasharray:2 3;fill:none}.al{"
    "stroke:var(--text);stroke-width:1.5}.cl{stroke:var(--grey);stroke-dasharray:7 4}.md{"
    "fill:var(--bg);stroke:var(--rep);stroke-width:2}.ring{fill:none;stroke:var(--text);"
    "stroke-width:2}\n",
    ".h0{fill:var(--h0)}.h1{fill:var(--h1)}.h2{fill:var(--h2)}.h3{fill:var(--h3)}.h4{"
    "fill:var(--h4)}.h5{fill:var(--h5)}.t1,.t2,.t3{fill:var(--tl)!important}.t4,.t5{"
    "fill:var(--td)!important}\n",
    "@media print{:root{--bg:#fff;--text:#000;--dim:#333;--line:#ccc;--rec:#b3540a;"
    "--rep:#1467ad;--grey:#777;--ok:#0b6b57;--no:#a3241d;--h1:#eaf2f9;--h2:#bcd6ec;"
    "--h3:#7fb0da;--h4:#2f78b7;--h5:#0c3f70;--tl:#000;--td:#fff;--h0:#f3f5f7}*{"
    "-webkit-print-color-adjust:exact;print-color-adjust:exact}@page{size:A4;margin:13mm}"
    "body{font-size:10.5pt;padding:0;max-width:none}figure,dl,.keys{break-inside:avoid}"
    "h2,h2+p,.key{break-after:avoid}h2{margin-top:1.4rem}.two{gap:6px 18px}.kf{"
    "grid-template-columns:1.5fr 1fr}.kf .note{max-width:30ch}.two table{font-size:8pt}"
    ".two th,.two td{padding:.15rem .4rem}details{display:none}dd b{font-size:1.4rem}dl{"
    "grid-template-columns:repeat(4,1fr);gap:8px}dl div{padding:6px 10px}dd{"
    "font-size:1rem}}\n",
};

void usher__page_begin(struct page *p, FILE *out, const char *title)
{
    p->out = out;
    p->plots = 0;
    fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
          "<meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"data:,\">"
          "<title>",
          out);
    usher__page_text(out, title);
    fputs("</title><style>\n", out);
    for (size_t i = 0; i < sizeof style / sizeof *style; i++)
        fputs(style[i], out);
    fputs("</style></head><body>\n", out);
}

void usher__page_end(struct page *p)
{
    fputs("</body></html>\n", p->out);
}
