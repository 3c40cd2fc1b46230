// Keeps a list up to date while its page is open: adds new entries at the top and leaves the others as they are, so
// what a person has opened or selected stays.

const intervalMs = 2_000;
const list = document.getElementById('entries');
const summary = document.getElementById('summary');
const served = new Map([...list.children].map((entry) => [entry.id, entry.outerHTML]));

async function refresh() {
  const response = await fetch(location.href, { headers: { accept: 'text/html' } });
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const fresh = [...page.getElementById('entries').children];
  const kept = new Set(fresh.map(({ id }) => id));
  for (const entry of [...list.children]) if (!kept.has(entry.id)) entry.remove();
  for (const entry of fresh.toReversed()) {
    const shown = document.getElementById(entry.id);
    if (shown !== null && served.get(entry.id) === entry.outerHTML) continue;
    served.set(entry.id, entry.outerHTML);
    if (shown === null) list.prepend(entry);
    else shown.replaceWith(entry);
  }
  return page.getElementById('summary').textContent;
}

/** Changes the text only if it differs, because a screen reader announces every change. */
function say(text) {
  if (summary.textContent !== text) summary.textContent = text;
}

async function repeat() {
  if (!document.hidden) say(await refresh().catch(() => 'The sandbox does not respond. This page keeps trying.'));
  setTimeout(repeat, intervalMs);
}
setTimeout(repeat, intervalMs);
