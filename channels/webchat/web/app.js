// The chat page: puts the parts together.

import { Api } from './api.js';
import { Log } from './log.js';
import { Outbox } from './outbox.js';
import { Stream } from './stream.js';
import { texts, uiLang } from './texts.js';

const $ = (id) => document.getElementById(id);
const framed = window.parent !== window;
// The widget's settings come in the fragment, and count in a frame only: a
// link to the page can't put words into its title.
const given = new URLSearchParams(framed ? location.hash.slice(1) : '');
const { lang: fixedLang, maxText } = document.documentElement.dataset;
const lang = given.get('lang') || fixedLang || navigator.language || 'en';
const t = texts(lang);
const title = given.get('title') || $('title').textContent;

document.documentElement.lang = uiLang(lang);
document.title = title;
$('title').textContent = title;
$('avatar').textContent = [...title.trim()][0]?.toLocaleUpperCase(lang) ?? '';
$('label').textContent = t('label');
$('text').placeholder = t('placeholder');
$('send').ariaLabel = t('send');
$('close').ariaLabel = t('close');
$('latest').querySelector('span').textContent = t('latest');
$('welcome').querySelector('.hello').textContent = t('hello');
$('welcome').querySelector('.hint').textContent = t('hint');

// Status line
let state = 'online';
let typing = false;
function showStatus() {
  $('status').dataset.state = state;
  $('status').textContent = state === 'online' ? t(typing ? 'typing' : 'ready') : t(state);
}
function setState(s) { if (s !== state) { state = s; showStatus(); } }

// Notice beside the input
let noticeTimer;
function notice(text, ms = 0) {
  clearTimeout(noticeTimer);
  $('notice').hidden = !text;
  $('notice').textContent = text;
  if (text && ms) noticeTimer = setTimeout(() => notice(''), ms);
}

// Composer
const text = $('text');
const bytes = (s) => new TextEncoder().encode(s).length;
function fit() {
  text.style.height = 'auto';
  text.style.height = `${text.scrollHeight}px`;
  text.style.overflowY = text.scrollHeight > text.clientHeight + 1 ? 'auto' : 'hidden';
  $('send').disabled = text.value.trim() === '';
}
text.addEventListener('input', () => { fit(); notice(''); });
text.addEventListener('keydown', (e) => {
  // Enter that ends the composing of a character is no Enter of ours.
  if (e.key === 'Enter' && !e.shiftKey && !e.isComposing && e.keyCode !== 229) {
    e.preventDefault();
    $('composer').requestSubmit();
  }
});
$('composer').addEventListener('submit', (e) => {
  e.preventDefault();
  const said = text.value;
  if (said.trim() === '') return;
  if (bytes(said) > Number(maxText)) {
    notice(t('tooLong'));
    return;
  }
  text.value = '';
  fit();
  notice('');
  log.pending(outbox.add(said));
  outbox.run();
  text.focus();
});

const api = new Api({ framed, lang });

const log = new Log({
  el: {
    scroller: $('scroller'), log: $('log'), typing: $('typing'), welcome: $('welcome'), latest: $('latest'),
    onLatest: () => text.focus({ preventScroll: true }),
    onFocusLost: () => text.focus({ preventScroll: true }),
    onTyping: (on) => { if (on !== typing) { typing = on; showStatus(); } },
  },
  t, name: title, lang,
  press: async (button) => {
    const res = await api.call('POST', 'press', { button });
    return res.status === 200 ? res.body : null;
  },
});

let busy = false; // the notice is about waiting
const outbox = new Outbox(api, {
  begun: () => stream.start(0),
  taken: (item, id) => {
    log.taken(item, id);
    if (busy) notice('');
    busy = false;
  },
  waiting: (item, seconds) => {
    log.waiting(item);
    if (!seconds) return;
    busy = true;
    notice(t('busy', { n: seconds }), seconds * 1000);
  },
  rejected: (item, code) => {
    log.rejected(item);
    if (text.value === '') text.value = item.text; // nothing that was typed is lost
    fit();
    notice(t({ too_large: 'tooLong', blank: 'blank' }[code] ?? 'refused'));
  },
  gone: expired,
});

const stream = new Stream(api, {
  state: setState,
  gone: expired,
  event: (name, id, data) => {
    if (name === 'typing') {
      log.typing(data.for_ms);
      return;
    }
    apply(name, data);
    if (name === 'message' && data.from !== 'user') tellParent('message');
  },
});

function apply(name, data) {
  if (name === 'edit') log.edit(data);
  if (name !== 'message') return;
  // The stream may be ahead of the answer to our own message.
  const own = data.from === 'user' && !log.has(data.id) && outbox.inFlight(data.text);
  if (!own || !log.taken(own, data.id)) log.message(data);
}

// expired starts over where the server doesn't know the session any more.
function expired() {
  if (!api.session) return;
  api.forget();
  log.reset();
  notice(t('expired'), 10_000);
  setState('online');
  $('welcome').hidden = false;
}

// load shows what was said before, then goes on live.
async function load() {
  let after = 0;
  await log.history(async () => {
    for (let more = true; more;) {
      const res = await api.call('GET', `messages?after=${after}`);
      if (res.status === 401) return expired();
      if (res.status !== 200) return; // the stream brings it
      for (const e of res.body.events) {
        apply(e.event, e.data);
        after = e.id;
      }
      more = res.body.more === true;
    }
  });
  if (api.session) stream.start(after);
}

// Within the widget
function tellParent(what) { if (framed) window.parent.postMessage({ parley: what }, '*'); }
if (framed) {
  $('close').hidden = false;
  $('close').addEventListener('click', () => tellParent('close'));
  addEventListener('keydown', (e) => { if (e.key === 'Escape') tellParent('close'); });
  addEventListener('message', (e) => { if (e.source === window.parent && e.data?.parley === 'opened') text.focus(); });
}

showStatus();
fit();
const left = outbox.restore();
if (api.session) {
  setState('connecting');
  await load();
}
$('welcome').hidden = $('log').childElementCount > 0 || left.length > 0;
for (const item of left) log.pending(item);
if (left.length > 0) outbox.run();
if (!framed && matchMedia('(hover: hover)').matches) text.focus();
