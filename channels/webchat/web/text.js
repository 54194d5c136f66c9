// Text to nodes. What others wrote is never parsed as HTML.

const link = /https?:\/\/[^\s<>"'`]+/gi;

// render returns text with its http and https addresses as links.
export function render(text, newTab) {
  const out = document.createDocumentFragment();
  let from = 0;
  for (const match of text.matchAll(link)) {
    const address = trim(match[0]);
    const url = URL.canParse(address) && new URL(address);
    if (!url || !/^https?:$/.test(url.protocol)) continue;
    out.append(text.slice(from, match.index));
    const a = document.createElement('a');
    a.href = url.href;
    a.target = '_blank';
    a.rel = 'noopener noreferrer nofollow';
    a.textContent = address;
    const unseen = document.createElement('span');
    unseen.className = 'unseen';
    unseen.textContent = ` ${newTab}`;
    a.append(unseen);
    out.append(a);
    from = match.index + address.length;
  }
  out.append(text.slice(from));
  return out;
}

// trim leaves the sentence's punctuation outside, and a bracket that the
// address didn't open.
function trim(address) {
  for (;;) {
    const last = address.at(-1);
    const opens = { ')': '(', ']': '[', '}': '{' }[last];
    const count = (c) => address.split(c).length;
    if (!'.,;:!?*_'.includes(last) && !(opens && count(last) > count(opens))) return address;
    address = address.slice(0, -1);
  }
}
