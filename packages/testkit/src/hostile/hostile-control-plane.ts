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
  opaqueCursors,
  reordered,
} from './lists.ts';
import {
  lowerCase,
  milliseconds,
  missingFields,
  moreDigits,
  moreFields,
  oddCreation,
  oddUse,
  otherTypes,
  otherZone,
  wholeSeconds,
} from './records.ts';

export interface HostileControlPlane {
  /** For the client under test. */
  fetch: typeof fetch;
  /** Draws new distortions: some kinds, each with some topics and its own chance. */
  worsen(): void;
  /** From now on responses are the control plane's own. */
  calm(): void;
  /** Lagging replicas show the state of this moment from now on. */
  refresh(): Promise<void>;
  /** Describes the current distortions. */
  describe(): string;
  /** How often each distortion was applied. */
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
  /** Only requests about these topics; all by default. */
  topics?: readonly Topic[];
}

interface Kind {
  name: string;
  distort: Distortion;
  /** The requests that it may be applied to. */
  topics: readonly Topic[];
  /**
   * Set if nothing in a response shows the distortion. It may strike a request once and for this long after that, in ms. Then it may strike again
   * only after the same request got an unchanged response.
   */
  hiddenForMs?: number;
  /** Whether it always strikes once drawn: a distortion of half the requests would contradict itself. */
  isSteady?: boolean;
  /** Whether it stays once drawn: ids that were given out are not withdrawn. */
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
 * Returns a layer between a client and a real control plane that deviates from the API description, as the seed decides. Every distortion is
 * detectable, except within the bounds given for each kind. docs/INVARIANTS.md assumes these bounds of the control plane.
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

  /** Returns the chance for one request. It is equal for equal requests that were sent equally often. */
  const chanceOf = (method: string, url: URL): Random => {
    const request = `${method} ${url.pathname}${url.search}`;
    const times = (asked.get(request) ?? 0) + 1;
    asked.set(request, times);
    return createRandom(seedOf(`${salt} ${times} ${request}`));
  };

  /** Returns whether an undetectable kind may be applied to this list now. */
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
      // Every service has one page size.
      ...steady,
    },
    { name: 'capped silently', distort: cappedSilently, topics: lists, ...steady },
    { name: 'cursors in milliseconds', distort: createCoarseCursors(3), topics: ['operations'] },
    { name: 'cursors in seconds', distort: createCoarseCursors(0), topics: ['operations'] },
    {
      name: 'opaque cursors',
      distort: opaqueCursors,
      topics: ['members', 'projects', 'operations'],
      ...steady,
      isForGood: true,
    },
    { name: 'whole seconds', distort: wholeSeconds, topics: [...lists, 'operation'] },
    { name: 'milliseconds', distort: milliseconds, topics: [...lists, 'operation'] },
    { name: 'more digits', distort: moreDigits, topics: [...lists, 'operation'] },
    { name: 'other zones', distort: otherZone, topics: [...lists, 'operation'] },
    { name: 'lower case', distort: lowerCase, topics: [...lists, 'operation'] },
    { name: 'more fields', distort: moreFields, topics: [...lists, 'operation'], ...steady },
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

/** Removes what identifies a response as a sandbox's. Against a sandbox, whose clock may be moved on purpose, the time guards are off. */
function bare(response: Response): Response {
  const headers = new Headers(response.headers);
  headers.delete('server');
  const { status } = response;
  return status === 204 ? new Response(null, { status, headers }) : new Response(response.body, { status, headers });
}
