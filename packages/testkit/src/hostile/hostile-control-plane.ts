import { createRandom, type Random, seedOf } from '@keywarden/sandbox';
import { anyStatus, busy, contrary, createWrongDate, lostLine, mintOfAnother, oddBody, redirected } from './answers.ts';
import { createMemory, createReusedIds } from './caches.ts';
import { type Distortion, type Exchange, type Topic, topicOf } from './exchange.ts';
import {
  cappedSilently,
  createCapped,
  createCoarseCursors,
  createEmptyPages,
  createForeign,
  cutShort,
  dropped,
  duplicated,
  reordered,
} from './lists.ts';
import {
  milliseconds,
  missingFields,
  moreDigits,
  oddCreation,
  oddUse,
  otherTypes,
  otherZone,
  wholeSeconds,
} from './records.ts';

export interface HostileControlPlane {
  /** For the client under test. */
  fetch: typeof fetch;
  /** Something else goes wrong from now on: some distortions, each for some topics and with a chance of its own. */
  worsen(): void;
  /** From now on everything is answered as the control plane does. */
  calm(): void;
  /** What replicas that lag show from now on is the present of this moment. */
  refresh(): Promise<void>;
  /** What goes wrong at present, in words. */
  describe(): string;
  /** How often each distortion had its chance and took it. */
  struck: Map<string, number>;
}

export interface HostileOptions {
  random: Random;
  /** The control plane's time in ms. */
  now: () => number;
  /** The way to the control plane. */
  forward?: typeof fetch;
  /** Only these kinds; all by default. */
  only?: readonly string[];
  /** Only what the client under test asks for; all by default. */
  topics?: readonly Topic[];
}

interface Kind {
  name: string;
  distort: Distortion;
  /** Which requests it may meet. */
  topics: readonly Topic[];
  /**
   * Nothing in an answer shows it, so that it may strike a request once and for so long after that, in ms, and then not before the same request was
   * answered whole.
   */
  hiddenForMs?: number;
  /** Where it strikes it strikes always: half of it would contradict itself. */
  isSteady?: boolean;
  /** Once there it stays: ids that were given out are not taken back. */
  isForGood?: boolean;
}

interface Active {
  kind: Kind;
  topics: ReadonlySet<Topic>;
  chance: number;
}

const lists: Topic[] = ['organizations', 'members', 'keys', 'projects', 'operations'];
const reads: Topic[] = [...lists, 'operation', 'identity'];
const all: Topic[] = [...reads, 'mint', 'revoke'];
const hour = 3_600_000;

/**
 * A control plane that is not as its description says, between a client and a true one: what the seed decides goes wrong. No distortion tells a
 * lie that nothing could show, but for the bounds in each kind: those are what docs/INVARIANTS.md assumes of the control plane.
 */
export function createHostileControlPlane({
  random,
  now,
  forward = fetch,
  only,
  topics = all,
}: HostileOptions): HostileControlPlane {
  const memory = createMemory();
  const kinds = makeKinds(random, memory)
    .filter(({ name }) => only === undefined || only.includes(name))
    .map((kind) => ({ ...kind, topics: kind.topics.filter((topic) => topics.includes(topic)) }))
    .filter((kind) => kind.topics.length > 0);
  const struck = new Map<string, number>();
  const hiding = new Map<string, number>();
  let active: Active[] = [];
  let salt = random.below(2 ** 32);
  const asked = new Map<string, number>();

  /** Chance for one request: the same for the same request, the same number of times asked. */
  const chanceOf = (method: string, url: URL): Random => {
    const request = `${method} ${url.pathname}${url.search}`;
    const times = (asked.get(request) ?? 0) + 1;
    asked.set(request, times);
    return createRandom(seedOf(`${salt} ${times} ${request}`));
  };

  /** Whether a kind may strike this list now, where nothing would show it. */
  const mayHide = ({ name, hiddenForMs }: Kind, { url, nowMs }: Exchange): boolean => {
    if (hiddenForMs === undefined) return true;
    const list = `${name} ${url.href}`;
    const since = hiding.get(list);
    if (since === undefined) {
      hiding.set(list, nowMs);
      return true;
    }
    if (nowMs - since < hiddenForMs) return true;
    hiding.delete(list);
    return false;
  };

  const pass = async (exchange: Exchange, rest: Active[]): Promise<Response> => {
    const [first, ...others] = rest;
    if (first === undefined)
      return await memory.remember(
        exchange,
        bare(await forward(exchange.url, { ...exchange.init, redirect: 'manual' })),
      );
    const next = async (change: { url?: URL; init?: RequestInit } = {}) =>
      await pass({ ...exchange, ...change }, others);
    const isMet =
      first.topics.has(topicOf(exchange)) && (first.kind.isSteady === true || exchange.random.chance(first.chance));
    if (!isMet || !mayHide(first.kind, exchange)) return await next();
    struck.set(first.kind.name, (struck.get(first.kind.name) ?? 0) + 1);
    return await first.kind.distort(exchange, next);
  };

  return {
    struck,
    async fetch(input, init) {
      const url = new URL(input instanceof Request ? input.url : input);
      const method = init?.method ?? 'GET';
      return await pass({ method, url, init, random: chanceOf(method, url), nowMs: now() }, active);
    },
    worsen() {
      salt = random.below(2 ** 32);
      active = active.filter(({ kind }) => kind.isForGood === true);
      const count = random.pick([1, 1, 2, 3]);
      for (let each = 0; each < count; each += 1) {
        const kind = random.pick(kinds);
        if (!active.some((other) => other.kind === kind)) active.unshift(activate(random, kind));
      }
    },
    calm() {
      active = active.filter(({ kind }) => kind.isForGood === true);
    },
    refresh: async () => await memory.refresh(async (url, init) => bare(await forward(url, init)), now()),
    describe: () =>
      active.map(({ kind, topics, chance }) => `${kind.name} (${[...topics].join(', ')}; ${chance})`).join(' + ') ||
      'nothing',
  };
}

function activate(random: Random, kind: Kind): Active {
  const some = kind.topics.filter(() => random.chance(0.5));
  const isWhole = kind.isForGood === true || some.length === 0 || random.chance(0.4);
  const topics = new Set(isWhole ? kind.topics : some);
  return { kind, topics, chance: random.pick([0.05, 0.3, 1]) };
}

function makeKinds(random: Random, memory: ReturnType<typeof createMemory>): Kind[] {
  const steady = { isSteady: true };
  return [
    { name: 'cache', distort: memory.cache, topics: reads },
    { name: 'lagging replica', distort: memory.replica, topics: reads },
    { name: 'reordered', distort: reordered, topics: lists },
    { name: 'duplicated', distort: duplicated, topics: lists },
    { name: 'dropped', distort: dropped, topics: lists, hiddenForMs: 0 },
    {
      name: 'cut short',
      distort: cutShort,
      topics: ['organizations', 'members', 'keys', 'projects'],
      hiddenForMs: 12 * hour,
    },
    { name: 'foreign rows', distort: createForeign(), topics: ['keys', 'projects', 'operations'] },
    { name: 'empty pages', distort: createEmptyPages(), topics: lists, ...steady },
    {
      name: 'capped',
      distort: createCapped(random.pick([1, 2, 7, 100])),
      topics: ['members', 'projects', 'operations'],
      // A service has one size of pages.
      ...steady,
    },
    { name: 'capped silently', distort: cappedSilently, topics: lists, ...steady },
    { name: 'cursors in milliseconds', distort: createCoarseCursors(3), topics: ['operations'] },
    { name: 'cursors in seconds', distort: createCoarseCursors(0), topics: ['operations'] },
    { name: 'whole seconds', distort: wholeSeconds, topics: [...lists, 'operation'] },
    { name: 'milliseconds', distort: milliseconds, topics: [...lists, 'operation'] },
    { name: 'more digits', distort: moreDigits, topics: [...lists, 'operation'] },
    { name: 'other zones', distort: otherZone, topics: [...lists, 'operation'] },
    { name: 'missing fields', distort: missingFields, topics: [...lists, 'operation'] },
    { name: 'other types', distort: otherTypes, topics: [...lists, 'operation'] },
    { name: 'odd creation', distort: oddCreation, topics: ['keys', 'operations', 'projects', 'organizations'] },
    { name: 'odd use', distort: oddUse, topics: ['keys'] },
    { name: 'reused ids', distort: createReusedIds(), topics: ['keys', 'revoke', 'mint'], ...steady, isForGood: true },
    { name: 'any status', distort: anyStatus, topics: all },
    { name: 'redirects', distort: redirected, topics: all },
    { name: 'odd bodies', distort: oddBody, topics: all },
    { name: 'lost lines', distort: lostLine, topics: all },
    { name: 'wrong Date', distort: createWrongDate(null), topics: all },
    { name: 'a Date a year ahead', distort: createWrongDate(366 * 24 * hour), topics: all, ...steady },
    { name: 'a Date a month behind', distort: createWrongDate(-30 * 24 * hour), topics: all, ...steady },
    { name: 'busy', distort: busy, topics: ['mint', 'revoke'] },
    { name: 'mints of another id', distort: mintOfAnother, topics: ['mint'] },
    { name: 'contrary answers', distort: contrary, topics: ['revoke'] },
  ];
}

/** A sandbox's answer without what shows it to be one: where clocks may be moved on purpose, guards of time are off. */
function bare(response: Response): Response {
  const headers = new Headers(response.headers);
  headers.delete('server');
  const { status } = response;
  return status === 204 ? new Response(null, { status, headers }) : new Response(response.body, { status, headers });
}
