//! The style sheet of pages, for light and dark screens and for paper.

/// Plain CSS without any reference to the outside.
pub(super) const SHEET: &str = "
:root{--ink:#1b1f24;--muted:#57606a;--line:#dfe3e8;--soft:#f5f7f9;--surface:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--muted:#9da7b3;--line:#2a313a;--soft:#161b22;--surface:#0d1117}}
*{box-sizing:border-box}
body{margin:0;background:var(--surface);color:var(--ink);
font:16px/1.55 Inter,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}
main{max-width:62rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}
h1,h2{overflow-wrap:anywhere}
h1{font-size:1.7rem;line-height:1.25;margin:0 0 1.5rem;letter-spacing:-.01em}
h2{font-size:1.2rem;margin:2.5rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--line)}
p,ul{max-width:46rem;margin:.75rem 0}
code{font:.88em ui-monospace,'SF Mono',Menlo,Consolas,monospace;background:var(--soft);padding:.1em .3em;border-radius:4px}
pre{background:var(--soft);border:1px solid var(--line);border-radius:8px;padding:.9rem 1rem;overflow-x:auto;line-height:1.4}
pre code{background:none;padding:0}
figure{margin:1.25rem 0}
figure svg{display:block;margin-left:-20px;max-width:calc(100% + 20px);height:auto}
figcaption{color:var(--muted);font-size:.9rem;margin-top:.5rem;max-width:46rem}
.wide{overflow:auto;max-height:90vh}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:.4rem 1.1rem .4rem 0;text-align:left;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--muted);font-weight:600;position:sticky;top:0;background:var(--surface)}
th.number,td.number{text-align:right}
td.long{white-space:normal;overflow-wrap:anywhere;min-width:18rem}
tbody tr:last-child td{border-bottom:0}
@media screen and (max-width:40rem){figure{overflow-x:auto}figure svg{margin-left:0;min-width:36rem;max-width:none}}
@media print{main{padding:0;max-width:none}h2,figure,tr{break-inside:avoid}figure svg{margin-left:0;max-width:100%}
pre{white-space:pre-wrap;overflow-wrap:anywhere}.wide{overflow:visible;max-height:none}
table{font-size:.8rem}th,td{white-space:normal;overflow-wrap:anywhere;padding-right:.6rem}th{position:static}}
";
