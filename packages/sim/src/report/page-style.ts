// How the report looks, in light and in dark, on a screen and on paper. Twelve colours that stay apart for most eyes.

const light = [
  '#2f6fde',
  '#d9622b',
  '#1f9d66',
  '#b0489e',
  '#8a7a12',
  '#0f97b3',
  '#c33c54',
  '#6a55c9',
  '#5b8c2a',
  '#a05a2c',
  '#4d6b85',
  '#777777',
];
const dark = [
  '#6ea8ff',
  '#ff9b66',
  '#4fd39a',
  '#e58ad2',
  '#d8c446',
  '#4fd0ea',
  '#ff8298',
  '#a99bff',
  '#a2d663',
  '#d99a6c',
  '#93b3cf',
  '#aaaaaa',
];

export const colourCount = light.length;

const colours = (palette: readonly string[]): string =>
  palette.map((colour, i) => `--c${i}:${colour};`).join('');

export const pageStyle = `
:root{--paper:#fbfbf9;--card:#ffffff;--ink:#1d2126;--soft:#5d6670;--rule:#e3e5e8;--best:#eaf6ef;--bar:#dfe6f2;${colours(light)}}
@media (prefers-color-scheme:dark){:root{--paper:#14171b;--card:#1b1f25;--ink:#e8eaed;--soft:#9aa4af;--rule:#2c323a;--best:#1c3528;--bar:#2a3547;${colours(dark)}}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1080px;margin:0 auto;padding:40px 24px 80px}
h1{font-size:30px;line-height:1.2;margin:0 0 6px;letter-spacing:-.02em}
h2{font-size:19px;margin:44px 0 4px;letter-spacing:-.01em}
p{margin:4px 0 14px;max-width:76ch}
.soft,.note{color:var(--soft)}
.lead{font-size:18px;max-width:70ch;margin:18px 0 26px}
.facts{display:flex;flex-wrap:wrap;gap:10px 28px;margin:14px 0 0;padding:0;list-style:none;color:var(--soft)}
.facts b{display:block;color:var(--ink);font-size:20px;font-weight:600;line-height:1.3}
.card{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:16px 18px;margin:12px 0}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(420px,1fr));gap:12px}
.pair .card{margin:0}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:13.5px}
th,td{text-align:right;padding:7px 10px;border-bottom:1px solid var(--rule);white-space:nowrap}
th:first-child{text-align:left;position:sticky;left:0;background:var(--card)}
thead th{color:var(--soft);font-weight:500;cursor:help}
tbody tr:last-child th,tbody tr:last-child td{border-bottom:0}
td{position:relative}
td .bar{position:absolute;left:10px;bottom:3px;height:2px;max-width:calc(100% - 20px);background:var(--bar);border-radius:2px}
td.best{background:var(--best);font-weight:600}
.dot{display:inline-block;width:10px;height:10px;border-radius:50%;margin-right:8px;background:currentColor}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:8px 0 2px;font-size:13.5px}
figure{margin:0 0 6px}
figcaption{font-size:13.5px;font-weight:600;margin:6px 0 0}
svg{display:block;width:100%;height:auto}
svg text{font:11px system-ui,sans-serif;fill:var(--soft)}
svg text.name{font-size:12px;fill:var(--ink)}svg .soft{fill:var(--soft)}
svg .grid{stroke:var(--rule);stroke-width:1}
svg .line{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}
svg .line:hover{stroke-width:3.5}
svg .fill{fill:currentColor;opacity:.18;stroke:none}
svg .mark{fill:currentColor;stroke:var(--card);stroke-width:1.5}
svg .range{stroke:var(--rule);stroke-width:3;stroke-linecap:round}
code{font:13px ui-monospace,Menlo,Consolas,monospace;background:var(--card);border:1px solid var(--rule);border-radius:5px;padding:1px 6px}
ul.notes{padding-left:18px;color:var(--soft);max-width:90ch}
${light.map((_, i) => `.c${i}{color:var(--c${i})}`).join('')}
@media print{body{background:#fff}.card{break-inside:avoid}}
`.trim();
