// until asks again and again until fn gives something true, and returns it.
// What fn throws counts as not yet, and is told where the time runs out.
export async function until(what, fn, { timeout = 15_000, every = 20 } = {}) {
  const end = Date.now() + timeout;
  for (;;) {
    let last;
    try {
      const got = await fn();
      if (got) return got;
    } catch (err) {
      last = err;
    }
    if (Date.now() > end) throw new Error(`not within ${timeout} ms: ${what}`, { cause: last });
    await new Promise((resolve) => { setTimeout(resolve, every); });
  }
}
