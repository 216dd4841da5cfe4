import { copy, type Distortion } from './exchange.ts';

// Distortions of whole responses: other statuses, redirects, bodies and times, with or without the work done.

const statuses = [
  200, 204, 205, 400, 401, 402, 403, 404, 405, 408, 409, 410, 418, 422, 423, 425, 429, 451, 499, 500, 501, 502, 503,
  504, 520, 524, 599,
];
const redirects = [300, 301, 302, 303, 304, 307, 308];

const bodyless = new Set([204, 205, 304]);
const answer = (status: number, body: string, headers: Record<string, string>) =>
  new Response(bodyless.has(status) ? null : body, { status, headers });

const dateOf = (nowMs: number) => ({ date: new Date(nowMs).toUTCString() });

/** Responds with a gateway's status, before any work or after all of it. */
export const anyStatus: Distortion = async ({ random, nowMs }, forward) => {
  if (random.chance(0.5)) await drain(await forward());
  const status = random.pick(statuses);
  const retry = random.chance(0.3) ? { 'retry-after': random.pick(['0', '1', '25', '-1', 'soon']) } : {};
  const body = random.pick(['', '{}', '{"message":"no"}', '<html>busy</html>']);
  return answer(status, body, { 'content-type': 'application/json', ...dateOf(nowMs), ...retry });
};

export const redirected: Distortion = async ({ random, nowMs, url }, forward) => {
  if (random.chance(0.5)) await drain(await forward());
  const location = random.pick([`${url.origin}/login`, `${url.href}/`, url.href]);
  return answer(random.pick(redirects), '', { location, ...dateOf(nowMs) });
};

/** Does the work and responds with an unexpected body. */
export const oddBody: Distortion = async ({ random }, forward) => {
  const response = await forward();
  const text = await response.text();
  const body = random.pick([
    '',
    'null',
    '[]',
    '{}',
    '"ok"',
    '<!doctype html><p>Sign in',
    text.slice(0, text.length / 2),
    `${text}x`,
  ]);
  return copy(response, bodyless.has(response.status) ? null : body);
};

/** Cuts the connection before any work, or after it. */
export const lostLine: Distortion = async ({ random }, forward) => {
  if (random.chance(0.5)) await drain(await forward());
  throw new TypeError('fetch failed', { cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }) });
};

/** Returns a distortion of the Date header: a constant offset, a varying one, or no header. */
export function createWrongDate(offsetMs: number | null): Distortion {
  return async ({ random, nowMs }, forward) => {
    const response = await forward();
    const off = offsetMs ?? random.pick([-400, -2, -0.01, 0.02, 1, 366]) * 86_400_000;
    const text = bodyless.has(response.status) ? null : await response.text();
    const changed = copy(response, text, dateOf(nowMs + off));
    if (random.chance(0.1)) changed.headers.delete('date');
    return changed;
  };
}

/** Carries out a revocation, but its response claims otherwise: that the key was not revoked, or that another key was. */
export const contrary: Distortion = async ({ random }, forward) => {
  const response = await forward();
  const text = await response.text();
  if (!response.ok) return copy(response, text);
  const body = JSON.parse(text) as Record<string, unknown>;
  const change = random.pick([{ revoked: false }, { id: 1 }, { id: Number(body.id) + 1 }, { revoked: 'yes' }]);
  return copy(response, JSON.stringify({ ...body, ...change }));
};

/** Responds that the service is too busy, without doing anything. */
export const busy: Distortion = async ({ random, nowMs }) =>
  answer(random.pick([423, 429, 503]), '{"message":"busy"}', { 'retry-after': '25', ...dateOf(nowMs) });

/** Gives a new key the id of another existing key. */
export const mintOfAnother: Distortion = async ({ random }, forward) => {
  const response = await forward();
  const text = await response.text();
  if (!response.ok) return copy(response, text);
  const body = JSON.parse(text) as Record<string, unknown>;
  return copy(response, JSON.stringify({ ...body, id: random.between(1, Math.max(1, Number(body.id) - 1)) }));
};

async function drain(response: Response): Promise<void> {
  await response.arrayBuffer();
}
