// The texts of the page. {name} and {n} are filled in.

const en = {
  ready: 'Online', connecting: 'Connecting…', reconnecting: 'Reconnecting…', typing: 'Writing…',
  placeholder: 'Write a message…', label: 'Your message', send: 'Send', close: 'Close chat', latest: 'New messages',
  hello: 'Hello! How can we help?', hint: 'Write a message to begin.',
  youSaid: 'You:', said: '{name}:', human: 'Team', today: 'Today', yesterday: 'Yesterday',
  sending: 'Sending…', waiting: 'Not sent yet. We keep trying.', choices: 'Your answer',
  stale: 'That question is no longer open.', notYours: 'Only the person who was asked can answer.',
  pressFailed: 'Your answer could not be sent. Please try again.', pressed: 'Answer sent',
  tooLong: 'That message is too long. Please shorten it.', blank: 'Please write something first.',
  refused: 'That message could not be taken.', busy: 'That was a lot at once. We try again in {n} s.',
  expired: 'Your earlier conversation has ended. This is a new one.', newTab: '(opens in a new tab)',
};

const es = {
  ready: 'En línea', connecting: 'Conectando…', reconnecting: 'Reconectando…', typing: 'Escribiendo…',
  placeholder: 'Escribe un mensaje…', label: 'Tu mensaje', send: 'Enviar', close: 'Cerrar el chat', latest: 'Mensajes nuevos',
  hello: '¡Hola! ¿En qué podemos ayudarte?', hint: 'Escribe un mensaje para empezar.',
  youSaid: 'Tú:', said: '{name}:', human: 'Equipo', today: 'Hoy', yesterday: 'Ayer',
  sending: 'Enviando…', waiting: 'Aún no se envió. Seguimos intentando.', choices: 'Tu respuesta',
  stale: 'Esa pregunta ya no está abierta.', notYours: 'Solo puede responder la persona a quien se preguntó.',
  pressFailed: 'No se pudo enviar tu respuesta. Inténtalo de nuevo.', pressed: 'Respuesta enviada',
  tooLong: 'El mensaje es demasiado largo. Acórtalo, por favor.', blank: 'Escribe algo primero.',
  refused: 'No se pudo aceptar el mensaje.', busy: 'Fueron muchos mensajes seguidos. Reintentamos en {n} s.',
  expired: 'Tu conversación anterior terminó. Esta es una nueva.', newTab: '(se abre en otra pestaña)',
};

// texts returns a function from a key to its text in lang, or in English.
export function texts(lang) {
  const table = lang.toLowerCase().split('-')[0] === 'es' ? es : en;
  return (key, values = {}) => table[key].replace(/\{(\w+)\}/g, (_, k) => values[k] ?? '');
}

// uiLang is the language that the texts are shown in.
export function uiLang(lang) {
  return lang.toLowerCase().split('-')[0] === 'es' ? 'es' : 'en';
}
