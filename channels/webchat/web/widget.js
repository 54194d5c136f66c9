// The chat on another site:
//
//   <script src="https://bot.example.com/chat/widget.js" async
//           data-title="La Espiga" data-lang="es" data-position="left"></script>
//
// It adds a button at the corner and, once pressed, a frame with the chat. The
// site has to be listed in channels.NAME.origins. All of it is in a shadow
// root and a constructed style sheet, so that neither the site's styles nor a
// strict Content-Security-Policy gets in its way.
(() => {
  const script = document.currentScript;
  const page = new URL('./', script.src);
  const { title = '', lang = '', position = 'right' } = script.dataset;
  const ui = lang || document.documentElement.lang || navigator.language || 'en';
  const t = ui.toLowerCase().split('-')[0] === 'es'
    ? { open: 'Abrir el chat', close: 'Cerrar el chat', fresh: 'Abrir el chat: hay mensajes nuevos', name: 'Chat' }
    : { open: 'Open chat', close: 'Close chat', fresh: 'Open chat: there are new messages', name: 'Chat' };
  const side = position === 'left' ? 'left' : 'right';

  const css = `
    :host { all: initial; }
    .launch { position: fixed; ${side}: max(20px, env(safe-area-inset-${side})); bottom: max(20px, env(safe-area-inset-bottom));
      z-index: 2147483000; width: 60px; height: 60px; padding: 0; border: 0; border-radius: 50%; cursor: pointer; display: grid; place-items: center;
      background: #136f5f; color: #fff; box-shadow: 0 2px 6px rgb(0 0 0 / 16%), 0 10px 28px rgb(0 0 0 / 22%); transition: transform .15s, background .15s; }
    .launch:hover { background: #0d5a4d; transform: translateY(-1px); }
    .launch:focus-visible { outline: 3px solid #136f5f; outline-offset: 3px; box-shadow: 0 0 0 3px #fff; }
    .launch svg { width: 28px; height: 28px; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
    .launch .x, .launch[aria-expanded=true] .c { display: none; }
    .launch[aria-expanded=true] .x { display: block; }
    .dot { position: absolute; top: 2px; right: 2px; width: 14px; height: 14px; border-radius: 50%; border: 2px solid #fff; background: #d9480f; }
    .dot[hidden] { display: none; }
    iframe { position: fixed; ${side}: max(20px, env(safe-area-inset-${side})); bottom: 96px; z-index: 2147483000; width: 392px; height: min(640px, calc(100dvh - 120px));
      border: 0; border-radius: 18px; background: Canvas; color-scheme: light dark; box-shadow: 0 2px 8px rgb(0 0 0 / 10%), 0 20px 60px rgb(0 0 0 / 26%);
      transition: opacity .18s, transform .18s, visibility .18s; transform-origin: bottom ${side}; }
    iframe.shut { visibility: hidden; opacity: 0; transform: translateY(12px) scale(.98); }
    @media (max-width: 480px) {
      iframe { inset: 0; width: 100%; height: 100dvh; border-radius: 0; }
      .launch[aria-expanded=true] { display: none; }
    }
    @media (prefers-reduced-motion: reduce) { .launch, iframe { transition: none; } }`;

  const host = document.createElement('div');
  const root = host.attachShadow({ mode: 'closed' });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets = [sheet];

  const svg = (cls, d) => {
    const s = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    s.setAttribute('viewBox', '0 0 24 24');
    s.setAttribute('class', cls);
    s.setAttribute('aria-hidden', 'true');
    s.append(document.createElementNS(s.namespaceURI, 'path'));
    s.firstChild.setAttribute('d', d);
    return s;
  };
  const launch = document.createElement('button');
  launch.type = 'button';
  launch.className = 'launch';
  const dot = document.createElement('span');
  dot.className = 'dot';
  dot.hidden = true;
  launch.append(svg('c', 'M21 11.5a8 8 0 0 1-8.5 8 9.6 9.6 0 0 1-3.7-.7L3.5 20.5l1.4-4.3A7.6 7.6 0 0 1 3.5 11.5a8.5 8.5 0 0 1 17.5 0z'),
    svg('x', 'M6 9.5l6 6 6-6'), dot);
  root.append(launch);

  let frame = null;
  let open = false;
  let loaded = false;
  const show = () => {
    launch.setAttribute('aria-expanded', String(open));
    launch.setAttribute('aria-label', open ? t.close : dot.hidden ? t.open : t.fresh);
  };
  const toggle = (want) => {
    open = want;
    if (open && !frame) {
      frame = document.createElement('iframe');
      const given = new URLSearchParams();
      if (title) given.set('title', title);
      if (ui) given.set('lang', ui);
      frame.src = `${page.href}#${given}`;
      frame.title = title || t.name;
      frame.addEventListener('load', () => { loaded = true; if (open) opened(); });
      root.insertBefore(frame, launch);
    }
    if (open) dot.hidden = true;
    frame?.classList.toggle('shut', !open);
    show();
    if (open) opened();
    else launch.focus();
  };
  const opened = () => {
    frame.focus();
    if (loaded) frame.contentWindow.postMessage({ parley: 'opened' }, page.origin);
  };

  launch.addEventListener('click', () => toggle(!open));
  addEventListener('keydown', (e) => { if (e.key === 'Escape' && open) toggle(false); });
  addEventListener('message', (e) => {
    if (!frame || e.source !== frame.contentWindow || e.origin !== page.origin) return;
    if (e.data?.parley === 'close' && open) toggle(false);
    if (e.data?.parley === 'message' && !open) { dot.hidden = false; show(); }
  });

  show();
  const mount = () => document.body.append(host);
  if (document.body) mount(); else addEventListener('DOMContentLoaded', mount);
})();
