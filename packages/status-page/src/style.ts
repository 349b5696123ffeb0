import { Html } from "./html.js";

/** The page's only style sheet. Colors have a contrast of at least 4.5 to their background, in both color schemes. */
export const style = new Html(`
:root {
  color-scheme: light dark;
  --page: #f4f6fa; --surface: #fff; --line: #d5dbe5; --text: #1a2233; --note: #55617a; --link: #2f56b0; --head: #1f2f57; --head-text: #fff; --head-link: #c9d8ff;
  --ok: #17693a; --ok-back: #e3f5e9; --warning: #7a4b00; --warning-back: #fff3d6; --error: #a8152b; --error-back: #fdebed; --idle: #55617a; --idle-back: #edf0f5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0e131c; --surface: #171e2b; --line: #2c3648; --text: #e4e9f2; --note: #a0abc0; --link: #8db1ff; --head: #131b2e; --head-text: #f2f5fb; --head-link: #a9c3ff;
    --ok: #6fdd97; --ok-back: #12301f; --warning: #f5c659; --warning-back: #352809; --error: #ff9aa5; --error-back: #3a161d; --idle: #a0abc0; --idle-back: #222b3a;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: 1rem; }
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; overflow-wrap: break-word; }
a { color: var(--link); text-underline-offset: .15em; }
a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 3px; }
main:focus { outline: none; }
.hidden, caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: -999px; top: 0; padding: .5rem 1rem; background: var(--surface); z-index: 1; }
.skip:focus { left: 0; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1.25rem; padding: .75rem max(1rem, calc((100% - 76rem) / 2 + 1rem)); background: var(--head); color: var(--head-text); }
header h1 { margin: 0; font-size: 1.25rem; letter-spacing: .01em; }
header h1::before { content: ""; display: inline-block; width: .95em; height: .95em; margin-right: .45em; vertical-align: -.1em; background: currentColor; clip-path: polygon(44% 0, 44% 62%, 8% 62%, 0 62%, 12% 100%, 76% 100%, 90% 68%, 52% 68%, 52% 60%, 92% 60%, 52% 12%, 52% 0); }
header p { margin: 0; font-size: .875rem; font-variant-numeric: tabular-nums; color: var(--head-link); }
header nav { margin-left: auto; display: flex; flex-wrap: wrap; gap: .25rem 1rem; font-size: .875rem; }
header a { color: var(--head-link); }
header .note { color: var(--head-link); }
header :focus-visible { outline-color: var(--head-link); }
#unreachable { margin: 0; padding: .75rem 1rem; background: var(--error-back); color: var(--error); font-weight: 600; text-align: center; border-bottom: 1px solid currentColor; }
main { max-width: 76rem; margin: 0 auto; padding: 1rem 1rem 3rem; }
section { position: relative; overflow-x: auto; margin: 0 0 1rem; padding: 1rem 1.25rem; background: var(--surface); border: 1px solid var(--line); border-radius: .6rem; }
h2 { margin: 0 0 .6rem; font-size: 1.125rem; line-height: 1.35; }
h2 small { margin-left: .4rem; font-size: .875rem; font-weight: 400; color: var(--note); }
h3 { margin: 1rem 0 .4rem; font-size: 1rem; }
.note, .empty, .more { color: var(--note); font-size: .875rem; }
.empty, .more { margin: .5rem 0 0; }
.overview { border-left: .4rem solid var(--ok); }
.overview.warning { border-left-color: var(--warning); }
.overview.error { border-left-color: var(--error); }
.overview h2 { font-size: 1.5rem; }
.attention { margin: 0 0 1rem; padding: 0; list-style: none; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); gap: .4rem; }
.attention .mark { display: flex; padding: .35rem .75rem; border-radius: .4rem; font-size: 1rem; text-decoration: none; }
.attention .mark:hover { text-decoration: underline; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(10rem, 1fr)); gap: .6rem 1rem; margin: 0; }
dt { color: var(--note); font-size: .8125rem; }
dd { margin: 0; }
.mark { display: inline-flex; align-items: baseline; gap: .4em; padding: .05rem .5rem; border-radius: 1rem; font-size: .875rem; color: var(--idle); background: var(--idle-back); }
.mark::before { content: ""; flex: none; width: .6em; height: .6em; background: currentColor; border-radius: 50%; }
.mark.ok { color: var(--ok); background: var(--ok-back); }
.mark.warning { color: var(--warning); background: var(--warning-back); }
.mark.warning::before { border-radius: 0; clip-path: polygon(50% 0, 100% 100%, 0 100%); }
.mark.error { color: var(--error); background: var(--error-back); font-weight: 600; }
.mark.error::before { border-radius: 0; clip-path: polygon(20% 0, 50% 30%, 80% 0, 100% 20%, 70% 50%, 100% 80%, 80% 100%, 50% 70%, 20% 100%, 0 80%, 30% 50%, 0 20%); }
.mark.idle::before { background: none; border: 2px solid currentColor; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem; margin-bottom: 1rem; }
.tile { display: flex; flex-direction: column; padding: .7rem 1rem; background: var(--surface); border: 1px solid var(--line); border-top: 4px solid var(--ok); border-radius: .6rem; text-decoration: none; color: var(--text); }
a.tile:hover { border-color: var(--link); border-top-color: var(--link); }
.tile.warning { border-top-color: var(--warning); }
.tile.error { border-top-color: var(--error); }
.tile.idle { border-top-color: var(--idle); }
.tile .label { font-size: .8125rem; color: var(--note); }
.tile .value { font-size: 1.3rem; line-height: 1.3; font-weight: 600; font-variant-numeric: tabular-nums; }
.tile.error .value { color: var(--error); }
.tile.warning .value { color: var(--warning); }
table { width: 100%; border-collapse: collapse; font-size: .9375rem; }
th, td { padding: .4rem .75rem .4rem 0; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
thead th { border-top: 0; font-size: .8125rem; font-weight: 600; color: var(--note); white-space: nowrap; }
tbody th { min-width: 9rem; font-weight: 500; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.name, .quote, .place, tbody th { overflow-wrap: anywhere; }
.short, td time { white-space: nowrap; }
.quote { margin: .15rem 0 0; white-space: pre-wrap; }
td .quote { max-width: 40rem; font-size: .875rem; color: var(--error); }
.other { white-space: nowrap; }
.unsubscribed { color: var(--note); }
.faults { margin: 0; padding: 0; list-style: none; }
.faults li { margin: 0 0 .6rem; padding: .5rem .9rem; border-left: .25rem solid var(--idle); background: var(--idle-back); border-radius: 0 .4rem .4rem 0; }
.faults li.error { border-left-color: var(--error); background: var(--error-back); }
.faults li.warning { border-left-color: var(--warning); background: var(--warning-back); }
.faults li p { margin: 0; }
.faults strong { color: var(--idle); }
.faults .error strong { color: var(--error); }
.faults .warning strong { color: var(--warning); }
.faults .note { color: var(--text); }
.faults .quote, .field { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .875rem; }
.faults .quote { margin: .2rem 0; }
.place { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.kinds { display: grid; grid-template-columns: repeat(auto-fill, minmax(16rem, 1fr)); gap: 0 2rem; margin: 0; }
.kinds div { display: flex; justify-content: space-between; gap: 1rem; padding: .3rem 0; border-bottom: 1px solid var(--line); }
.kinds dt { color: var(--text); font-size: .9375rem; }
.kinds dd { white-space: nowrap; font-variant-numeric: tabular-nums; font-weight: 600; }
.links { margin: 0; padding: 0; list-style: none; display: grid; grid-template-columns: repeat(auto-fill, minmax(18rem, 1fr)); gap: .35rem 2rem; }
.links a { margin-right: .3rem; }
@media (max-width: 72rem) {
  main { padding: .75rem .75rem 2rem; }
  section { padding: .9rem; }
  table, tbody, tr, th, td { display: block; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { padding: .6rem 0; border-top: 1px solid var(--line); display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); gap: .15rem .75rem; }
  tbody tr:first-child { border-top: 0; padding-top: 0; }
  th, td, th.number, td.number { border: 0; padding: 0; text-align: left; }
  tbody th, td:has(.quote), td[data-label="Detail"], td[data-label="Other"], td[data-label="Subject"], td[data-label="Location"] { grid-column: 1 / -1; }
  tbody th { font-weight: 600; }
  .short, td time { white-space: normal; }
  td:empty { display: none; }
  td::before { content: attr(data-label) ": "; color: var(--note); font-size: .8125rem; }
  .tiles { grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .5rem; }
  .tile { padding: .5rem .75rem; }
  .facts { grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); }
  .links { grid-template-columns: 1fr; }
}
@media print {
  header nav, .skip, #unreachable { display: none; }
  section { break-inside: avoid-page; }
}
`);
