// Loaded beside servers of others' making (import, or node --import): whatever they listen
// on by number is on loopback. A test has no business elsewhere.

import net from 'node:net';

const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (first, ...rest) {
  if (typeof first === 'number' || /^\d+$/.test(first)) return listen.call(this, Number(first), '127.0.0.1', ...rest.filter((a) => typeof a === 'function'));
  if (first?.port !== undefined && first.path === undefined) return listen.call(this, { ...first, host: '127.0.0.1' }, ...rest);
  return listen.call(this, first, ...rest);
};
