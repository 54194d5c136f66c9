// The conversation on the screen.

import { render } from './text.js';

const near = 64; // pixels that still count as the end

export class Log {
  #el; #t; #name; #lang; #press;
  #turns = new Map(); // message id → its parts
  #pending = new Map(); // client id → its parts
  #last = null; // {from, at, day} of the newest turn
  #typingTimer; #quiet = false;

  // el: scroller, log, typing, welcome, latest. press(button) answers with the
  // outcome: {outcome, notice} or null where there was no answer.
  constructor({ el, t, name, lang, press }) {
    this.#el = el; this.#t = t; this.#name = name; this.#lang = lang; this.#press = press;
    el.latest.addEventListener('click', () => { el.latest.hidden = true; this.#toEnd(); el.onLatest(); });
    el.scroller.addEventListener('scroll', () => { if (this.#atEnd()) el.latest.hidden = true; }, { passive: true });
    let end = true;
    el.scroller.addEventListener('scroll', () => { end = this.#atEnd(); }, { passive: true });
    new ResizeObserver(() => { if (end) this.#toEnd(); }).observe(el.scroller);
  }

  // history runs fill without announcing or animating what it adds.
  async history(fill) {
    this.#quiet = true;
    this.#el.log.setAttribute('aria-live', 'off');
    try { await fill(); } finally {
      this.#quiet = false;
      this.#toEnd();
      setTimeout(() => this.#el.log.setAttribute('aria-live', 'polite'), 500);
    }
  }

  has(id) { return this.#turns.has(id); }

  message({ id, from, text, buttons, at }) {
    if (this.#turns.has(id)) return;
    const end = this.#atEnd();
    const turn = this.#add(from, text, at ? new Date(at) : new Date());
    this.#turns.set(id, turn);
    this.#choices(turn, buttons);
    for (const p of this.#pending.values()) this.#el.log.append(p.root); // what isn't taken yet comes last
    if (from !== 'user') this.typing(0);
    this.#settle(end, from !== 'user');
  }

  // edit changes a message. While it is being written (draft) it isn't
  // announced: the last edit is.
  edit({ id, text, buttons, draft }) {
    const turn = this.#turns.get(id);
    if (!turn) return;
    turn.root.ariaBusy = draft ? 'true' : null;
    const end = this.#atEnd();
    const focused = turn.choices?.contains(document.activeElement);
    turn.text.replaceChildren(render(text, this.#t('newTab')));
    this.#choices(turn, buttons);
    if (focused && !turn.choices) this.#el.onFocusLost();
    this.#settle(end, false);
  }

  // pending shows a message that the server hasn't taken yet.
  pending(item) {
    const turn = this.#add('user', item.text, new Date(item.at));
    turn.root.classList.add('waiting');
    turn.meta.classList.add('alive');
    turn.meta.textContent = this.#t('sending');
    this.#pending.set(item.id, turn);
    this.#toEnd();
  }

  waiting(item) {
    const turn = this.#pending.get(item.id);
    if (turn) turn.meta.textContent = this.#t('waiting');
  }

  // taken turns a pending message into the one that the log tells of, unless
  // that is there already. It tells whether there was a pending one.
  taken(item, id) {
    const turn = this.#pending.get(item.id);
    if (!turn) return false;
    this.#pending.delete(item.id);
    if (this.#turns.has(id)) {
      turn.root.remove();
      return true;
    }
    turn.root.classList.remove('waiting');
    turn.meta.classList.remove('alive');
    turn.meta.textContent = this.#time(turn.at);
    this.#turns.set(id, turn);
    return true;
  }

  rejected(item) {
    this.#pending.get(item.id)?.root.remove();
    this.#pending.delete(item.id);
    this.#el.welcome.hidden = this.#turns.size + this.#pending.size > 0;
  }

  // typing shows the dots for so many milliseconds; 0 takes them away.
  typing(ms) {
    const end = this.#atEnd();
    clearTimeout(this.#typingTimer);
    this.#el.typing.hidden = ms <= 0;
    this.#el.onTyping(ms > 0);
    if (ms > 0) this.#typingTimer = setTimeout(() => this.typing(0), Math.min(ms, 60_000));
    if (end) this.#toEnd();
  }

  reset() {
    this.#turns.clear();
    this.#last = null;
    this.#el.log.replaceChildren(...[...this.#pending.values()].map((p) => p.root));
    this.typing(0);
  }

  #add(from, text, at) {
    this.#el.welcome.hidden = true;
    this.#day(at);
    const root = node('div', `turn ${from}`);
    if (this.#last?.from === from && at - this.#last.at < 180_000) root.classList.add('more');
    else if (from === 'human') root.append(node('p', 'by', this.#t('human')));
    if (!this.#quiet) root.classList.add('enter');
    const bubble = node('div', 'bubble');
    const who = { user: this.#t('youSaid'), human: `${this.#t('human')}:` }[from] ?? this.#t('said', { name: this.#name });
    bubble.append(node('span', 'unseen', `${who} `));
    const body = node('span');
    body.dir = 'auto';
    body.append(render(text, this.#t('newTab')));
    bubble.append(body);
    const meta = node('time', 'meta', this.#time(at));
    meta.dateTime = at.toISOString();
    root.append(bubble, meta);
    this.#el.log.append(root);
    this.#last = { ...this.#last, from, at };
    return { root, text: body, meta, at, choices: null };
  }

  #day(at) {
    const day = at.toDateString();
    if (this.#last?.day === day) return;
    const first = !this.#last;
    this.#last = { day };
    const ago = Math.round((new Date(new Date().toDateString()) - new Date(day)) / 86_400_000);
    if (first && ago === 0) return; // a conversation of today needs no date
    const name = ago === 0 ? this.#t('today') : ago === 1 ? this.#t('yesterday')
      : new Intl.DateTimeFormat(this.#lang, { dateStyle: 'long' }).format(at);
    this.#el.log.append(node('p', 'day', name));
  }

  #time(at) { return new Intl.DateTimeFormat(this.#lang, { timeStyle: 'short' }).format(at); }

  #choices(turn, buttons) {
    turn.choices?.remove();
    turn.note?.remove();
    turn.choices = null;
    if (!buttons?.length) return;
    const group = node('div', 'choices');
    group.role = 'group';
    group.ariaLabel = this.#t('choices');
    for (const b of buttons) {
      const button = node('button', b.value === 'yes' ? 'choice main' : 'choice', b.label);
      button.type = 'button';
      button.addEventListener('click', () => this.#pressed(turn, group, button, b.id));
      group.append(button);
    }
    turn.choices = group;
    turn.root.insertBefore(group, turn.meta);
  }

  // pressed shows the press at once and lets no second one through. After
  // "accepted" the buttons stay as they are until the edit takes them away.
  async #pressed(turn, group, button, id) {
    if (group.dataset.pressed) return;
    group.dataset.pressed = 'true';
    turn.note?.remove();
    // aria-disabled keeps the focus where it is; disabled would drop it.
    for (const b of group.children) b.ariaDisabled = 'true';
    button.classList.add('pending');
    const answer = await this.#press(id);
    if (turn.choices !== group) return; // edited away meanwhile
    if (answer?.outcome === 'accepted') {
      if (answer.notice) this.#note(turn, answer.notice);
      return;
    }
    button.classList.remove('pending');
    if (!answer) {
      delete group.dataset.pressed;
      for (const b of group.children) b.ariaDisabled = null;
      this.#note(turn, this.#t('pressFailed'));
      return;
    }
    const focused = group.contains(document.activeElement);
    group.remove();
    turn.choices = null;
    this.#note(turn, answer.notice || this.#t(answer.outcome === 'stale' ? 'stale' : 'notYours'));
    if (focused) this.#el.onFocusLost();
  }

  #note(turn, text) {
    turn.note?.remove();
    turn.note = node('p', 'said', text);
    turn.root.insertBefore(turn.note, turn.meta);
  }

  #atEnd() {
    const s = this.#el.scroller;
    return s.scrollHeight - s.scrollTop - s.clientHeight < near;
  }

  // toEnd jumps: a scroll that takes its time can be overtaken by a message.
  #toEnd() { this.#el.scroller.scrollTo({ top: this.#el.scroller.scrollHeight, behavior: 'instant' }); }

  // settle follows the conversation only where the reader was at its end.
  #settle(end, announce) {
    if (this.#quiet) return;
    if (end) this.#toEnd();
    else if (announce) this.#el.latest.hidden = false;
  }
}

function node(tag, className, text) {
  const el = document.createElement(tag);
  if (className) el.className = className;
  if (text !== undefined) el.textContent = text;
  return el;
}
