// What both servers share: HTTP, a bounded number of pages, sessions and
// results that are fetched later. The driver is how a library is used.
//
//	driver.page()          a page, from its own context if the server is a fresh one
//	driver.act(page, a)    plays one action and gives its result
//	driver.release(page)   takes a page back once its answer has been sent
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

// Pages hands out what is free, and lets who comes later wait in order.
class Pages {
  constructor(free) {
    this.free = free;
    this.waiting = [];
  }
  async take() {
    return this.free.pop() ?? new Promise((resolve) => this.waiting.push(resolve));
  }
  give(slot) {
    const next = this.waiting.shift();
    if (next) next(slot);
    else this.free.push(slot);
  }
}

export async function serve(driver, n) {
  const pages = new Pages(await Promise.all(Array.from({ length: n }, (_, i) => driver.slot(i))));
  const sessions = new Map(); // id → slot with its page
  const results = new Map(); // task → promise of its answer

  async function play(task) {
    const { id, preserve, close } = task.session ?? {};
    const slot = id ? sessions.get(id) : await pages.take();
    if (!slot) throw new Error(`no session ${id}`);
    slot.page ??= await driver.page(slot);
    const answer = { success: true };
    let end;
    try {
      for (const action of task.actions ?? []) answer.data = (await driver.act(slot.page, action)) ?? { success: true };
      if (preserve || (id && !close)) {
        answer.sessionId = id ?? randomUUID();
        sessions.set(answer.sessionId, slot);
      }
    } finally {
      if (!answer.sessionId) {
        if (id) sessions.delete(id);
        end = () => {
          driver.release(slot);
          pages.give(slot);
        };
      }
    }
    return { answer, end };
  }

  const server = createServer(async (req, res) => {
    const send = (status, body, after) => {
      res.writeHead(status, { 'Content-Type': 'application/json' });
      res.end(JSON.stringify(body), after);
    };
    try {
      const url = new URL(req.url, 'http://localhost');
      if (req.method === 'GET') {
        const id = url.searchParams.get('taskId');
        const answer = await results.get(id);
        results.delete(id);
        return send(200, { ...answer, status: 'complete' });
      }
      const parts = [];
      for await (const part of req) parts.push(part);
      const task = JSON.parse(Buffer.concat(parts));
      if (task.async) {
        const taskId = randomUUID();
        results.set(taskId, play(task).then(({ answer, end }) => (end?.(), answer), (e) => ({ success: false, error: String(e) })));
        return send(200, { success: true, async: true, taskId });
      }
      const { answer, end } = await play(task);
      send(200, answer, end);
    } catch (e) {
      send(500, { success: false, error: String(e?.stack ?? e) });
    }
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${server.address().port}`));
  process.stdin.on('end', async () => {
    await driver.close();
    process.exit(0);
  });
  process.stdin.resume();
}

// settings are what the measuring program says on the command line.
export const settings = JSON.parse(process.argv[2]);

export const viewport = { width: 1280, height: 720 };

// fields reads many elements in one call into the page.
export const fields = (cards, shape) =>
  cards.map((card) =>
    Object.fromEntries(
      Object.entries(shape).map(([key, f]) => {
        const e = card.querySelector(Array.isArray(f) ? f[0] : f);
        return [key, Array.isArray(f) ? e.getAttribute(f[1]) : e.textContent.trim()];
      }),
    ),
  );
