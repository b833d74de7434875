#include <stddef.h>

#include "chart/page_parts.h"

/* Colours of the series are Okabe and Ito's, darker on white and lighter on black. Paper is light,
 * whatever the screen is. */
const char *const page_style[] = {
    ":root{color-scheme:light;--bg:#f4f6f8;--card:#fff;--ink:#18212c;--soft:#586574;"
    "--line:#dfe4ea;--grid:#e6eaef;--axis:#8d99a8;--mark:#b42318;--link:#0063a5;"
    "--valid:#0b6b4f;--valid-bg:#e3f5ee;--degraded:#8a5300;--degraded-bg:#fdf1da;"
    "--invalid:#a61b1b;--invalid-bg:#fce8e6;"
    "--s1:#0072b2;--s2:#d55e00;--s3:#009e73;--s4:#b5568f;--s5:#b8860b;--s6:#3a9bd9;--s7:#7a5195;"
    "--s8:#6b7280}\n",
    "@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;--bg:#10151b;"
    "--card:#191f27;--ink:#e7ecf2;--soft:#9ba8b7;--line:#2c3540;--grid:#29313b;--axis:#6c7987;"
    "--mark:#ff8f80;--link:#6db8f2;--valid:#5fd3a8;--valid-bg:#12312a;--degraded:#f0b95a;"
    "--degraded-bg:#35290f;--invalid:#ff8f86;--invalid-bg:#3b1a1a;"
    "--s1:#5ab4e8;--s2:#f2904d;--s3:#3cc79b;--s4:#e3a0cb;--s5:#e9c04a;--s6:#9ad7f7;--s7:#b99cf0;"
    "--s8:#aab2bd}}\n",
    "*{box-sizing:border-box}\n",
    "body{margin:0;background:var(--bg);color:var(--ink);"
    "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','DejaVu Sans',Arial,"
    "sans-serif;font-variant-numeric:tabular-nums;-webkit-text-size-adjust:100%}\n",
    "main{max-width:1160px;margin:0 auto;padding:28px 20px 48px}\n",
    "a{color:var(--link)}\n",
    "h1{font-size:1.75rem;line-height:1.2;margin:0 0 6px;letter-spacing:-.01em}\n",
    "h2{font-size:1.4rem;line-height:1.25;margin:0 0 6px}\n",
    "h3{font-size:1.05rem;margin:32px 0 12px}\n",
    "h4{font-size:.95rem;margin:0 0 8px}\n",
    ".brand{font-size:.8rem;letter-spacing:.08em;text-transform:uppercase;color:var(--soft);"
    "margin:0 0 10px}\n",
    ".sub{color:var(--soft);margin:0;overflow-wrap:anywhere}\n",
    ".verdict{display:flex;gap:12px;align-items:flex-start;margin:20px 0;padding:14px 18px;"
    "border-radius:10px;border-left:6px solid}\n",
    ".verdict b{font-size:1.05rem;letter-spacing:.03em}\n",
    ".verdict span{color:var(--ink);overflow-wrap:anywhere;min-width:0}\n",
    ".valid{color:var(--valid);background:var(--valid-bg)}\n",
    ".degraded{color:var(--degraded);background:var(--degraded-bg)}\n",
    ".invalid{color:var(--invalid);background:var(--invalid-bg)}\n",
    ".chip{display:inline-block;padding:1px 9px;border-radius:99px;font-size:.82rem;"
    "font-weight:600;white-space:nowrap}\n",
    ".tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:14px}\n",
    ".card,.tile,figure{background:var(--card);border:1px solid var(--line);border-radius:10px}\n",
    ".tile{padding:14px 16px}\n",
    ".tile p{margin:0;color:var(--soft);font-size:.86rem;overflow-wrap:anywhere}\n",
    ".tile .value{color:var(--ink);font-size:1.65rem;line-height:1.3;font-weight:650;"
    "letter-spacing:-.01em;white-space:nowrap}\n",
    ".tile small{font-size:.95rem;font-weight:500;color:var(--soft)}\n",
    ".charts,.cards{display:grid;gap:14px;"
    "grid-template-columns:repeat(auto-fit,minmax(min(100%,430px),1fr))}\n",
    ".cards{grid-template-columns:repeat(auto-fit,minmax(min(100%,310px),1fr))}\n",
    "figure{margin:0;padding:14px 14px 8px;min-width:0}\n",
    "figcaption{display:flex;flex-wrap:wrap;justify-content:space-between;gap:2px 16px;"
    "font-size:.95rem;margin-bottom:6px}\n",
    "figcaption b{font-weight:600}\n",
    "figure p{margin:2px 0 6px;color:var(--soft);font-size:.84rem}\n",
    ".legend{display:flex;flex-wrap:wrap;gap:2px 14px;color:var(--soft);font-size:.86rem;"
    "align-items:center}\n",
    ".legend i{display:inline-block;width:18px;height:3px;border-radius:2px;margin-right:6px;"
    "vertical-align:middle}\n",
    "figure svg{display:block;width:100%;height:auto}\n",
    ".shapes{position:absolute;width:0;height:0}\n",
    "svg text,svg tspan{font-family:inherit}\n",
    ".card{padding:14px 16px;min-width:0}\n",
    ".scroll{overflow-x:auto;max-width:100%}\n",
    "table{border-collapse:collapse;width:100%;font-size:.92rem}\n",
    "th,td{text-align:left;padding:6px 16px 6px 0;border-bottom:1px solid var(--line);"
    "vertical-align:top}\n",
    "tr:last-child>th,tr:last-child>td{border-bottom:0}\n",
    "thead th{color:var(--soft);font-weight:600;font-size:.84rem;vertical-align:bottom}\n",
    "tbody th{font-weight:500}.scroll tbody th{white-space:nowrap}\n",
    "th:last-child,td:last-child{padding-right:0}\n",
    "td.n,th.n{text-align:right;white-space:nowrap}\n",
    ".pairs th{color:var(--soft);width:11em;padding-right:14px}\n",
    ".pairs td,.words{overflow-wrap:anywhere}\n",
    ".part th{padding-left:18px;font-weight:400}\n",
    "td.words{min-width:15em}\n",
    ".zero{color:var(--soft)}\n",
    ".bad td,.bad th{color:var(--invalid);font-weight:600}\n",
    ".stack{display:flex;height:8px;border-radius:4px;overflow:hidden;background:var(--line);"
    "margin:0 0 8px}\n",
    ".stack i{display:block;height:100%;background:var(--s3)}\n",
    ".stack i.lost{background:var(--mark)}\n",
    ".stack i.soft{background:var(--s5)}\n",
    "td small{display:block;color:var(--soft);font-size:.8rem}\n",
    ".wide{grid-template-columns:1fr}\n",
    ".note{color:var(--soft);font-size:.9rem}\n",
    "details{background:var(--card);border:1px solid var(--line);border-radius:10px;"
    "padding:12px 16px;margin-top:14px}\n",
    "summary{cursor:pointer;font-weight:600}\n",
    "details[open]>summary{margin-bottom:10px}\n",
    ".run{background:none;margin-top:8px;padding:0;overflow-wrap:anywhere}"
    ".run>summary{padding:8px 16px}.run>summary span+span{float:right}"
    ".run[open]>summary{border-bottom:1px solid var(--line)}.run>section{padding:10px 16px 20px}\n",
    "footer{margin-top:48px;color:var(--soft);font-size:.86rem;overflow-wrap:anywhere}\n",
    "@media(max-width:760px){main{padding:18px 12px 32px}h1{font-size:1.4rem}"
    ".sub{font-size:.86rem}.tiles{grid-template-columns:repeat(2,1fr);gap:10px}.tile{padding:10px "
    "12px}"
    ".tile .value{font-size:1.25rem}.tile p{font-size:.78rem}.tile small{font-size:.8rem}"
    "figure{padding:10px 6px 4px}figcaption,figure p{padding-left:6px}"
    ".pairs th{width:7.5em}.card{padding:12px}.run>section{padding:10px 8px 16px}"
    "th,td{padding-right:9px}td small{white-space:normal}.rows thead{display:none}.rows "
    "tr{display:grid;grid-template-columns:1fr 1fr;gap:0 20px;"
    "padding:8px 0;border-bottom:1px solid var(--line)}.rows tr:last-child{border-bottom:0}"
    ".rows th{grid-column:1/-1}.rows th,.rows td{border:0;padding:1px 0}"
    ".rows td{display:flex;justify-content:space-between;gap:8px}"
    ".rows td[data-name]::before{content:attr(data-name);color:var(--soft);font-size:.84rem}"
    ".rows td.words{display:block;grid-column:1/-1;min-width:0}"
    ".rows td.words::before{display:block}}\n",
    "@media print{@page{margin:14mm}:root{--bg:#fff}body{font-size:11px}main{max-width:none;"
    "padding:0}figure,.card,.tile,tr,.verdict{break-inside:avoid}h2,h3{break-after:avoid}"
    ".run{border:0}"
    ".charts,.cards{grid-template-columns:1fr 1fr}.scroll{overflow:visible}"
    ".verdict,.chip,.stack i,.tile{-webkit-print-color-adjust:exact;print-color-adjust:exact}}\n",
    NULL,
};
